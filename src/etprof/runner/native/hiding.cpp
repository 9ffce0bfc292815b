#include "hiding.h"

#include <dlfcn.h>
#ifdef __GLIBC__
#include <link.h>
#endif

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>

#include "failure.h"
#include "isa_table.h"
#include "reported_features.h"

namespace etprof {
namespace {

using Reported = std::vector<std::pair<std::string, bool>>;

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

const IsaField& field_of(const std::string& name) {
  return *std::find_if(std::begin(kFields), std::end(kFields), [&](const IsaField& f) { return name == f.name; });
}

std::set<std::string> resolve(const std::vector<std::string>& requested) {
  std::set<std::string> wanted;
  for (const std::string& name : requested) {
    const auto* group =
        std::find_if(std::begin(kGroups), std::end(kGroups), [&](const IsaGroup& g) { return name == g.name; });
    if (group == std::end(kGroups)) {
      std::vector<std::string> known;
      for (const IsaGroup& g : kGroups) {
        known.emplace_back(g.name);
      }
      throw Failure(ExitCode::kUsage, std::string("--hide_isa: there is no ") + name + " on " + kArchitecture +
                                          ". Known here: " + join(known) + ".");
    }
    std::istringstream members(group->members);
    for (std::string member; members >> member;) {
      wanted.insert(member);
    }
  }
  return wanted;
}

// The size of the table where the loader knows it, zero elsewhere.
size_t symbol_size([[maybe_unused]] const void* symbol) {
#ifdef __GLIBC__
  Dl_info info{};
  void* entry = nullptr;
  if (dladdr1(symbol, &info, &entry, RTLD_DL_SYMENT) != 0 && entry != nullptr && info.dli_saddr == symbol) {
    return static_cast<const ElfW(Sym)*>(entry)->st_size;
  }
#endif
  return 0;
}

// The first thing that contradicts the layout, as a phrase; empty when the layout is proven.
std::string find_disagreement(const uint8_t* table, const Reported& strict) {
  const size_t size = symbol_size(table);
  if (size != 0 && size != kTableBytes) {
    return "cpuinfo's table has " + std::to_string(size) + " bytes, not the expected " + std::to_string(kTableBytes);
  }
  if (strict.size() < kMinimumAgreements) {
    return "the operating system reports only " + std::to_string(strict.size()) +
           " features, too few to prove cpuinfo's layout";
  }
  for (const IsaField& field : kFields) {
    if (table[field.offset] > 1) {
      return std::string("cpuinfo's field '") + field.name + "' holds " + std::to_string(table[field.offset]) +
             ", not 0 or 1";
    }
  }
  for (const auto& [name, present] : strict) {
    if ((table[field_of(name).offset] != 0) != present) {
      return "the operating system says '" + name + "' is " + (present ? "present" : "absent") +
             ", cpuinfo's table says otherwise";
    }
  }
  if (std::none_of(strict.begin(), strict.end(), [](const auto& f) { return f.second; })) {
    return "the operating system reports no feature as present, so nothing proves cpuinfo's layout";
  }
  return "";
}

uint8_t* find_table() {
  // By name at run time: a direct reference would make the linker copy the table into this program.
  auto* initialize = reinterpret_cast<bool (*)()>(dlsym(RTLD_DEFAULT, "cpuinfo_initialize"));
  auto* table = static_cast<uint8_t*>(dlsym(RTLD_DEFAULT, "cpuinfo_isa"));
  return initialize != nullptr && initialize() ? table : nullptr;
}

}  // namespace

IsaView hide_features(const std::vector<std::string>& requested) {
  const std::set<std::string> wanted = resolve(requested);
  uint8_t* const table = find_table();
  if (table == nullptr && !requested.empty()) {
    throw Failure(ExitCode::kHidingRefused, "cpuinfo could not identify this CPU, so no feature can be hidden.");
  }
  if (table == nullptr) {
    return {{}, {}, "unproven: cpuinfo could not identify this CPU"};
  }
  Reported strict = read_reported_features();
  strict.erase(std::remove_if(strict.begin(), strict.end(), [](const auto& f) { return field_of(f.first).ambiguous; }),
               strict.end());
  const std::string disagreement = find_disagreement(table, strict);
  if (!disagreement.empty() && !requested.empty()) {
    throw Failure(ExitCode::kHidingRefused, "Refusing to hide " + join(requested) + ": " + disagreement + ".");
  }
  if (!disagreement.empty()) {
    return {{}, {}, "unproven: " + disagreement};
  }
  IsaView view{{}, {}, std::to_string(strict.size()) + " features agree with the operating system"};
  for (const IsaField& field : kFields) {
    if (table[field.offset] != 0) {
      view.seen.emplace_back(field.name);
      if (wanted.count(field.name) > 0) {
        view.hidden.emplace_back(field.name);
      }
    }
  }
  if (!requested.empty() && view.hidden.empty()) {
    throw Failure(ExitCode::kHidingRefused, "Nothing to hide: this CPU has none of " + join(requested) + ".");
  }
  for (const std::string& name : view.hidden) {
    table[field_of(name).offset] = 0;
  }
  return view;
}

}  // namespace etprof
