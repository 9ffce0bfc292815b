#include "reported_features.h"

#include "isa_table.h"

#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__linux__)
#include <fstream>
#include <set>
#include <sstream>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace etprof {

#if defined(__linux__) && defined(__aarch64__)

std::vector<std::pair<std::string, bool>> read_reported_features() {
  std::vector<std::pair<std::string, bool>> reported;
  for (const ReportedField& field : kLinuxReported) {
    reported.emplace_back(field.name, getauxval(field.entry) >> field.bit & 1);
  }
  return reported;
}

#elif defined(__linux__)

std::vector<std::pair<std::string, bool>> read_reported_features() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(cpuinfo, line);) {
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) {
        flags.insert(word);
      }
    }
  }
  std::vector<std::pair<std::string, bool>> reported;
  for (const ReportedField& field : kLinuxReported) {
    if (!flags.empty()) {
      reported.emplace_back(field.name, flags.count(field.word) > 0);
    }
  }
  return reported;
}

#elif defined(__APPLE__)

std::vector<std::pair<std::string, bool>> read_reported_features() {
  std::vector<std::pair<std::string, bool>> reported;
  for (const ReportedField& field : kMacosReported) {
    int value = 0;
    size_t size = sizeof(value);
    const std::string name = std::string("hw.optional.arm.") + field.word;
    // A name that this macOS does not know is a feature it does not report as present.
    const bool known = sysctlbyname(name.c_str(), &value, &size, nullptr, 0) == 0;
    reported.emplace_back(field.name, known && value == 1);
  }
  return reported;
}

#else
#error "etprof_runner knows Linux and macOS only."
#endif

}  // namespace etprof
