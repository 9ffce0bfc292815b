// What this CPU can do at most: multiply-adds by kind of instruction, and bytes by level of the memory.
#pragma once

#include <string>

namespace etprof {

// Checks the loops, then measures each `passes` times at one thread, at twice as many and so on up to `threads`.
// The result is JSON; without passes it has no times.
std::string measure_peaks(long passes, long threads);

}  // namespace etprof
