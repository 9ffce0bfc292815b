#include "code_map.h"

#include <algorithm>
#include <cstring>

namespace etprof {
namespace {

// One instruction on x86-64. On Arm also those after it: they are executed too, up to the next branch, and an emulator
// delivers signals only where such a run of instructions begins.
#ifdef __aarch64__
constexpr uint64_t kCodeBytes = 256;
#else
constexpr uint64_t kCodeBytes = 16;
#endif

#if defined(__x86_64__)
constexpr char kSystemCall[] = "\x0f\x05";
#elif defined(__APPLE__)
constexpr char kSystemCall[] = "\x01\x10\x00\xd4";
#else
constexpr char kSystemCall[] = "\x01\x00\x00\xd4";
#endif
constexpr uint64_t kSystemCallBytes = sizeof(kSystemCall) - 1;

bool is_system_call(const char* code) { return std::memcmp(code, kSystemCall, kSystemCallBytes) == 0; }

bool is_kernel_name(const char* name) {
  const bool kleidi = std::strncmp(name, "kai_run_", 8) == 0;
  const bool xnnpack = std::strncmp(name, "xnn_", 4) == 0 && std::strstr(name, "_ukernel_") != nullptr;
  return (kleidi || xnnpack) && std::strstr(name, "_get_mr") == nullptr && std::strstr(name, "_get_nr") == nullptr;
}

}  // namespace

CodeMap::CodeMap() {
  find_libraries();
  std::sort(kernel_names_.begin(), kernel_names_.end());
}

Location CodeMap::locate(uint64_t address) const {
  Location found;
  found.offset = address;
  for (const Segment& segment : segments_) {
    if (address < segment.start || address >= segment.end) {
      continue;
    }
    const char* code = reinterpret_cast<const char*>(address);
    found.library = segment.library;
    found.offset = address - segment.base;
    found.code.assign(code, std::min(kCodeBytes, segment.end - address));
    const uint64_t before = address - segment.start;
    found.in_system = (segment.end - address >= kSystemCallBytes && is_system_call(code)) ||
                      (before >= kSystemCallBytes && is_system_call(code - kSystemCallBytes));
    find_function(address, segment, found);
    break;
  }
  return found;
}

void CodeMap::add_kernel_name(const char* name) {
  if (is_kernel_name(name)) {
    kernel_names_.emplace_back(name);
  }
}

}  // namespace etprof
