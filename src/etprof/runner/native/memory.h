// What this process holds in memory, and what of a file the system holds, as the system tells it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace etprof {

// Resident memory by what backs it; the parts add up to `rss_bytes`. Without parts where the system tells none.
struct MemoryReading {
  std::optional<int64_t> rss_bytes;
  std::optional<int64_t> pss_bytes;
  std::optional<int64_t> model_bytes;
  std::optional<int64_t> library_bytes;
  std::optional<int64_t> cache_bytes;
  std::optional<int64_t> file_bytes;
  std::optional<int64_t> anonymous_bytes;
};

// `peak_bytes` is the most resident memory since the end of the stage before.
struct LoadStage {
  std::string name;
  std::optional<int64_t> duration_ns;
  std::optional<int64_t> peak_bytes;
  MemoryReading memory;
};

// `cache_path` may be empty.
MemoryReading read_memory(const std::string& model_path, const std::string& cache_path);

// Resident memory alone, which is cheap; zero where the system does not tell.
int64_t read_rss_pages();

// Lets the system's record of the peak begin again; where it does not allow that, the peak stays that of the whole.
void reset_peak();

// From exec to `entered`, the start of main: starts this program again, once, to know when that was. Nothing where the
// system does not allow it.
std::optional<int64_t> measure_process_start(std::chrono::steady_clock::time_point entered);

// Puts the file into the page cache, or out of it.
void fill_page_cache(const std::string& path);
void drop_page_cache(const std::string& path);
// The share of the file that is in the page cache; nothing where the system does not tell.
std::optional<double> read_cached_share(const std::string& path);

}  // namespace etprof
