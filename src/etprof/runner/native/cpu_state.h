// What the process and the machine say about themselves around a measurement.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace etprof {

struct CpuState {
  // By number of the core; a core that is offline or has no frequency of its own is not in it.
  std::map<int, int64_t> frequencies_khz;
  std::optional<double> load_average;
  std::optional<double> temperature_c;
  // The system's own level, where it has one: 0 is none.
  std::optional<int64_t> throttling;
};

// The frequencies are those of the given cores. `root` is put in front of /sys and /proc.
CpuState read_cpu_state(const std::vector<int>& cores, const std::string& root = "");
std::vector<int> read_affinity();
std::optional<int64_t> read_peak_bytes();

}  // namespace etprof
