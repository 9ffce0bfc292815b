// What the operating system says this CPU can do, in cpuinfo's names.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace etprof {

std::vector<std::pair<std::string, bool>> read_reported_features();

}  // namespace etprof
