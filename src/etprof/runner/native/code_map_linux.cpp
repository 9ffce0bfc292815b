#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unwind.h>

#include <algorithm>

#include "code_map.h"

namespace etprof {
namespace {

struct Dynamic {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* gnu_hash = nullptr;
};

// Some C libraries relocate these pointers in place, others leave them relative to the library.
const void* at(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<const void*>(value < base ? base + value : value);
}

Dynamic read_dynamic(const dl_phdr_info& info) {
  Dynamic found;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) {
      continue;
    }
    auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const void* target = at(info.dlpi_addr, entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) {
        found.symbols = static_cast<const ElfW(Sym)*>(target);
      } else if (entry->d_tag == DT_STRTAB) {
        found.names = static_cast<const char*>(target);
      } else if (entry->d_tag == DT_GNU_HASH) {
        found.gnu_hash = static_cast<const uint32_t*>(target);
      }
    }
  }
  return found;
}

// The table itself does not say how long it is: its last symbol is the end of the last hash chain.
uint32_t count_symbols(const uint32_t* hash) {
  const uint32_t buckets = hash[0];
  const uint32_t first = hash[1];
  const uint32_t* bucket = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  uint32_t last = buckets == 0 ? 0 : *std::max_element(bucket, bucket + buckets);
  if (last < first) {
    return first;
  }
  while ((chain[last - first] & 1) == 0) {
    ++last;
  }
  return last + 1;
}

template <typename Visit>
void visit_functions(const dl_phdr_info& info, Visit visit) {
  const Dynamic dynamic = read_dynamic(info);
  if (dynamic.symbols == nullptr || dynamic.names == nullptr || dynamic.gnu_hash == nullptr) {
    return;
  }
  const uint32_t count = count_symbols(dynamic.gnu_hash);
  for (uint32_t i = 0; i < count; ++i) {
    const ElfW(Sym)& symbol = dynamic.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 15) == STT_FUNC) {
      visit(dynamic.names + symbol.st_name);
    }
  }
}

}  // namespace

void CodeMap::find_libraries() {
  const auto visit = [](dl_phdr_info* info, size_t, void* data) {
    auto& map = *static_cast<CodeMap*>(data);
    // The program itself has no name here. Folders are left out: the file may travel to another machine.
    const std::string path = info->dlpi_name[0] == '\0' ? "etprof_runner" : info->dlpi_name;
    const std::string name = path.substr(path.rfind('/') + 1);
    const int library = static_cast<int>(map.libraries_.size());
    map.libraries_.push_back(name);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
        const uint64_t start = info->dlpi_addr + header.p_vaddr;
        map.segments_.push_back({start, start + header.p_memsz, info->dlpi_addr, library});
      }
    }
    if (name.find("libexecutorch") != std::string::npos) {
      visit_functions(*info, [&](const char* function) { map.add_kernel_name(function); });
    }
    return 0;
  };
  dl_iterate_phdr(visit, this);
}

void CodeMap::find_function(uint64_t address, const Segment& segment, Location& found) const {
  // It looks up the address before the one it is given, as that of a call.
  void* function = _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(address + 1));
  if (function != nullptr) {
    found.function = static_cast<int64_t>(reinterpret_cast<uint64_t>(function) - segment.base);
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) != 0 && info.dli_sname != nullptr) {
    found.symbol = info.dli_sname;
    found.function = static_cast<int64_t>(reinterpret_cast<uint64_t>(info.dli_saddr) - segment.base);
  }
}

}  // namespace etprof
