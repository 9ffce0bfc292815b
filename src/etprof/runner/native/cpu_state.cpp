#include "cpu_state.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#ifdef __linux__
#include <sched.h>
#else
#include <sys/resource.h>
#endif

namespace etprof {
namespace {

constexpr int kMaxThermalZones = 256;

std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) {
    return number;
  }
  return std::nullopt;
}

}  // namespace

CpuState read_cpu_state() {
  CpuState state;
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  for (long core = 0; core < cores; ++core) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(core);
    if (const auto khz = read_number(folder + "/cpufreq/scaling_cur_freq")) {
      state.frequencies_khz.push_back(*khz);
    }
  }
  for (int zone = 0; zone < kMaxThermalZones; ++zone) {
    const std::string folder = "/sys/class/thermal/thermal_zone" + std::to_string(zone);
    if (access(folder.c_str(), F_OK) != 0) {
      break;
    }
    if (const auto millidegrees = read_number(folder + "/temp")) {
      state.temperature_c = std::max(state.temperature_c.value_or(-1e9), double(*millidegrees) / 1000.0);
    }
  }
  // getloadavg is missing from older Android; the file is there on every Linux.
#ifdef __linux__
  double load = 0;
  if (std::ifstream("/proc/loadavg") >> load) {
    state.load_average = load;
  }
#else
  double load = 0;
  if (getloadavg(&load, 1) == 1) {
    state.load_average = load;
  }
#endif
  return state;
}

std::vector<int> read_affinity() {
  std::vector<int> cores;
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) {
        cores.push_back(core);
      }
    }
  }
#endif
  return cores;
}

std::optional<int64_t> read_peak_bytes() {
#ifdef __linux__
  // Not getrusage: its maximum starts with the size of the process that started this one.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) {
      return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
    }
  }
  return std::nullopt;
#else
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
#endif
}

}  // namespace etprof
