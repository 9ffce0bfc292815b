#include "load_options.h"


#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "failure.h"

namespace etprof {
namespace {

using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::LoadBackendOptionsMap;

constexpr const char* kBackend = "XnnpackBackend";
constexpr const char* kCachePath = "packed_cache_path";

enum class Kind { kBool, kInt, kText };

struct Known {
  const char* name;
  Kind kind;
};

// The names that ExecuTorch 1.5's backend compares with; its wheel ships no header that declares them.
constexpr Known kKnown[] = {
    {"workspace_sharing_mode", Kind::kInt}, {"weight_cache_enabled", Kind::kBool}, {kCachePath, Kind::kText}};

// Backends keep no copy.
std::vector<BackendOption> chosen;
LoadBackendOptionsMap by_backend;

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw Failure(ExitCode::kUsage, "The load option '" + option + "' " + why + ".");
}

const Known& find_known(const std::string& option, const std::string& name) {
  for (const Known& known : kKnown) {
    if (name == known.name) {
      return known;
    }
  }
  refuse(option, "is unknown to XNNPACK");
}

BackendOption parse(const std::string& option) {
  const size_t equals = option.find('=');
  const std::string name = option.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  const Known& known = find_known(option, name);
  BackendOption parsed;
  std::strncpy(parsed.key, name.c_str(), sizeof(parsed.key) - 1);
  if (known.kind == Kind::kBool) {
    if (value != "true" && value != "false") {
      refuse(option, "takes true or false");
    }
    parsed.value = value == "true";
  } else if (known.kind == Kind::kInt) {
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || number < 0 || number > 2) {
      refuse(option, "takes 0, 1 or 2");
    }
    parsed.value = static_cast<int>(number);
  } else {
    std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
    if (value.empty() || value.size() >= text.size()) {
      refuse(option, "takes a path of at most " + std::to_string(text.size() - 1) + " bytes");
    }
    std::copy(value.begin(), value.end(), text.begin());
    parsed.value = text;
  }
  return parsed;
}

}  // namespace

void set_load_options(const std::vector<std::string>& options) {
  chosen.clear();
  for (const std::string& option : options) {
    chosen.push_back(parse(option));
  }
  if (by_backend.set_options(kBackend, {chosen.data(), chosen.size()}) != Error::Ok) {
    throw Failure(ExitCode::kUsage, "ExecuTorch takes no load options for XNNPACK.");
  }
}

const LoadBackendOptionsMap& load_options() { return by_backend; }

std::string find_cache_path(const std::vector<std::string>& options) {
  const std::string start = std::string(kCachePath) + "=";
  for (const std::string& option : options) {
    if (option.rfind(start, 0) == 0) {
      return option.substr(start.size());
    }
  }
  return "";
}

}  // namespace etprof
