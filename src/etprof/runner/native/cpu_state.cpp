#include "cpu_state.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "thermal_table.h"

#ifdef __linux__
#include <sched.h>
#else
#include <mach/mach.h>

// Of <notify.h>, which compilers for macOS on other systems lack. Zero is success.
extern "C" uint32_t notify_register_check(const char* name, int* token);
extern "C" uint32_t notify_get_state(int token, uint64_t* state);
extern "C" uint32_t notify_cancel(int token);
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

bool is_cpu_zone(const std::string& folder) {
  std::ifstream file(folder + "/type");
  std::string type;
  std::getline(file, type);
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(std::begin(kCpuZones), std::end(kCpuZones),
                     [&](const char* pattern) { return fnmatch(pattern, type.c_str(), 0) == 0; });
}

// Only CPU zones are read: a battery's or a modem's can take tens of milliseconds.
std::optional<double> read_temperature(const std::string& root) {
  std::optional<double> highest;
  for (int zone = 0; zone < kMaxThermalZones; ++zone) {
    const std::string folder = root + "/sys/class/thermal/thermal_zone" + std::to_string(zone);
    if (!is_cpu_zone(folder)) {
      continue;
    }
    const double degrees = static_cast<double>(read_number(folder + "/temp").value_or(0)) / 1000.0;
    if (degrees >= kLowestC && degrees <= kHighestC && std::abs(degrees) >= kAboutZeroC) {
      highest = std::max(highest.value_or(degrees), degrees);
    }
  }
  return highest;
}

#ifdef __APPLE__
// What macOS calls thermal pressure: 0 nominal, 1 moderate, 2 heavy, 3 trapping, 4 sleeping. No temperature can be read
// there without privileges.
std::optional<int64_t> read_thermal_pressure() {
  int token = 0;
  uint64_t level = 0;
  if (notify_register_check("com.apple.system.thermalpressurelevel", &token) != 0) {
    return std::nullopt;
  }
  const bool is_known = notify_get_state(token, &level) == 0;
  notify_cancel(token);
  return is_known ? std::make_optional(static_cast<int64_t>(level)) : std::nullopt;
}
#endif

}  // namespace

CpuState read_cpu_state(const std::vector<int>& cores, const std::string& root) {
  CpuState state;
  // First, while the cores still have the frequency that they worked at.
  for (const int core : cores) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(core);
    if (const auto khz = read_number(folder + "/cpufreq/scaling_cur_freq")) {
      state.frequencies_khz[core] = *khz;
    }
  }
  state.temperature_c = read_temperature(root);
  // getloadavg is missing from older Android; the file is there on every Linux.
#ifdef __linux__
  double load = 0;
  if (std::ifstream(root + "/proc/loadavg") >> load) {
    state.load_average = load;
  }
#else
  double load = 0;
  if (getloadavg(&load, 1) == 1) {
    state.load_average = load;
  }
  state.throttling = read_thermal_pressure();
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
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  const auto said = task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count);
  return said == KERN_SUCCESS ? std::make_optional(static_cast<int64_t>(info.resident_size_peak)) : std::nullopt;
#endif
}

}  // namespace etprof
