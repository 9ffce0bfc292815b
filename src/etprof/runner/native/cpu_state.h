// What the process and the machine say about themselves around a measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace etprof {

struct CpuState {
  std::vector<int64_t> frequencies_khz;
  std::optional<double> load_average;
  std::optional<double> temperature_c;
};

CpuState read_cpu_state();
std::vector<int> read_affinity();
std::optional<int64_t> read_peak_bytes();

}  // namespace etprof
