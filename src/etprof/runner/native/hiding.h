// Hides CPU features from XNNPACK: clears them in cpuinfo's table, after proving that it is laid out as expected.
#pragma once

#include <string>
#include <vector>

namespace etprof {

struct IsaView {
  std::vector<std::string> seen;
  std::vector<std::string> hidden;
  std::string proof;
};

// Must run before the XNNPACK library is loaded: XNNPACK reads the table once, then.
IsaView hide_features(const std::vector<std::string>& requested);

}  // namespace etprof
