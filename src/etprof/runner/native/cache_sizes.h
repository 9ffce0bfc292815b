// The sizes of the caches of this CPU's fastest core.
#pragma once

#include <cstddef>

namespace etprof {

// `last_level` is 0 where there is no cache behind the second that is known.
struct CacheSizes {
  size_t l1 = 32 << 10;
  size_t l2 = 256 << 10;
  size_t last_level = 0;
};

CacheSizes read_cache_sizes();

}  // namespace etprof
