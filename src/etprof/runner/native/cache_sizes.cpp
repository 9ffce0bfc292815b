#include "cache_sizes.h"

#include <algorithm>
#include <fstream>
#include <string>

#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

namespace etprof {

#ifdef __APPLE__

namespace {

size_t ask(const char* name) {
  int64_t value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value > 0 ? static_cast<size_t>(value) : 0;
}

}  // namespace

// `perflevel0` are the fastest cores. The cache of the whole chip is not reported.
CacheSizes read_cache_sizes() {
  CacheSizes sizes;
  sizes.l1 = std::max(ask("hw.perflevel0.l1dcachesize"), sizes.l1);
  sizes.l2 = std::max(ask("hw.perflevel0.l2cachesize"), sizes.l2);
  return sizes;
}

#else

namespace {

constexpr int kMaxCores = 64;
constexpr int kMaxCaches = 8;

// 32K or 1M, as Linux spells it.
size_t read_size(const std::string& path) {
  std::ifstream file(path);
  size_t size = 0;
  char unit = ' ';
  file >> size >> unit;
  return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
}

}  // namespace

CacheSizes read_cache_sizes() {
  size_t found[5] = {};
  for (int core = 0; core < kMaxCores; ++core) {
    for (int index = 0; index < kMaxCaches; ++index) {
      const std::string folder =
          "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index" + std::to_string(index);
      size_t level = 0;
      std::string type;
      std::ifstream(folder + "/level") >> level;
      std::ifstream(folder + "/type") >> type;
      if (level >= 1 && level <= 4 && type != "Instruction") {
        found[level] = std::max(found[level], read_size(folder + "/size"));
      }
    }
  }
  CacheSizes sizes;
  sizes.l1 = found[1] ? found[1] : sizes.l1;
  sizes.l2 = found[2] ? found[2] : sizes.l2;
  sizes.last_level = std::max(found[3], found[4]);
  return sizes;
}

#endif

}  // namespace etprof
