#include <libproc.h>
#include <mach/mach.h>
#include <sys/proc_info.h>
#include <sys/time.h>
#include <unistd.h>

#include "memory.h"

namespace etprof {

// macOS tells the whole only: what backs the pages is known to its own tools.
MemoryReading read_memory(const std::string&, const std::string&) {
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  if (task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count) != KERN_SUCCESS) {
    return {};
  }
  MemoryReading reading;
  reading.rss_bytes = static_cast<int64_t>(info.resident_size);
  return reading;
}

int64_t read_rss_pages() { return 0; }

void reset_peak() {}

// The system keeps the wall clock of the start, so that nothing has to be started again.
std::optional<int64_t> measure_process_start(std::chrono::steady_clock::time_point entered) {
  proc_bsdinfo info{};
  timeval now{};
  if (proc_pidinfo(getpid(), PROC_PIDTBSDINFO, 0, &info, sizeof(info)) != sizeof(info) ||
      gettimeofday(&now, nullptr) != 0) {
    return std::nullopt;
  }
  const auto since_entered =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - entered).count();
  const int64_t seconds = static_cast<int64_t>(now.tv_sec) - static_cast<int64_t>(info.pbi_start_tvsec);
  const int64_t micros = static_cast<int64_t>(now.tv_usec) - static_cast<int64_t>(info.pbi_start_tvusec);
  return (seconds * 1000000 + micros) * 1000 - since_entered;
}

// macOS has no call that takes one file out of its cache.
void fill_page_cache(const std::string&) {}
void drop_page_cache(const std::string&) {}
std::optional<double> read_cached_share(const std::string&) { return std::nullopt; }

}  // namespace etprof
