#include "peaks.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache_sizes.h"
#include "failure.h"
#include "peak_loops.h"
#include "reported_features.h"

namespace etprof {
namespace {

using Clock = std::chrono::steady_clock;

// All passes together, with what is not timed: with the buffers well within the ten seconds that are promised. On a busy
// machine passes are left out, down to so many of each.
constexpr double kTotalSeconds = 7.0;
constexpr long kFewestPasses = 5;
constexpr double kLongestPassSeconds = 0.01;
constexpr double kShortestPassSeconds = 0.001;
// Before a pass is timed: the core changes its frequency for wide vectors.
constexpr double kWarmUpShare = 0.25;
constexpr uint64_t kCheckedIterations = 100;
constexpr uint64_t kIterationsAtOnce = 5000;
constexpr size_t kBytesAtOnce = 1 << 20;
constexpr size_t kLeastMemoryBytes = 64 << 20;
constexpr size_t kMostMemoryBytes = 512 << 20;

bool has_all(const char* features) {
  static const auto reported = read_reported_features();
  std::istringstream names(features);
  for (std::string name; names >> name;) {
    const auto found =
        std::find_if(reported.begin(), reported.end(), [&](const auto& feature) { return feature.first == name; });
    if (found == reported.end() || !found->second) {
      return false;
    }
  }
  return true;
}

std::string format(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", number);
  return text;
}

// Memory of its own pages, in use from the start.
class Buffer {
 public:
  explicit Buffer(size_t bytes)
      : bytes_(bytes), data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)) {
    if (data_ == MAP_FAILED) {
      throw Failure(ExitCode::kExecutionFailed, "The device has too little memory to measure its bandwidth.");
    }
#ifdef MADV_HUGEPAGE
    madvise(data_, bytes_, MADV_HUGEPAGE);
#endif
    std::memset(data_, 1, bytes_);
  }
  ~Buffer() { munmap(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  size_t bytes_;
  void* data_;
};

// One quantity at one thread count. `work` does a little on a thread and says how much; `rates` are in units per ns.
struct Measurement {
  std::string head;
  std::function<double(size_t thread)> work;
  std::vector<double> rates;
};

// Of this thread alone: while another process has its core, it does nothing and its time stands still.
double read_thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double run_pass(const Measurement& measurement, size_t thread, double seconds) {
  const auto until = [](double wait) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
  };
  for (const auto warm = until(kWarmUpShare * seconds); Clock::now() < warm;) {
    measurement.work(thread);
  }
  double done = 0;
  const double start = read_thread_ns();
  for (const auto end = until(seconds); done == 0 || Clock::now() < end;) {
    done += measurement.work(thread);
  }
  return done / (read_thread_ns() - start);
}

// Threads that do each pass together and stay busy between passes, as those of a model do.
class Team {
 public:
  explicit Team(size_t threads) : rates_(threads) {
    for (size_t i = 1; i < threads; ++i) {
      workers_.emplace_back([this, i] { serve(i); });
    }
  }
  ~Team() {
    measurement_ = nullptr;
    round_.fetch_add(1);
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // The sum over the threads: each has its own time, since cores may differ.
  double run(const Measurement& measurement, double seconds) {
    measurement_ = &measurement;
    seconds_ = seconds;
    left_.store(workers_.size());
    round_.fetch_add(1);
    rates_[0] = run_pass(measurement, 0, seconds);
    while (left_.load() > 0) {
      std::this_thread::yield();
    }
    double sum = 0;
    for (const double rate : rates_) {
      sum += rate;
    }
    return sum;
  }

 private:
  void serve(size_t thread) {
    for (uint64_t seen = 0;;) {
      while (round_.load() == seen) {
        std::this_thread::yield();
      }
      ++seen;
      if (measurement_ == nullptr) {
        return;
      }
      rates_[thread] = run_pass(*measurement_, thread, seconds_);
      left_.fetch_sub(1);
    }
  }

  std::vector<std::thread> workers_;
  std::vector<double> rates_;
  const Measurement* measurement_ = nullptr;
  double seconds_ = 0;
  std::atomic<uint64_t> round_{0};
  std::atomic<size_t> left_{0};
};

void check(const ComputeLoop& loop) {
  const double expected = static_cast<double>(kCheckedIterations * loop.macs());
  const double sum = loop.run(kCheckedIterations);
  if (sum != expected) {
    throw Failure(ExitCode::kExecutionFailed, std::string("The loop ") + loop.name + " added up to " + format(sum) +
                                                  ", not to " + format(expected) + ".");
  }
}

void check(const MemoryLoop& loop) {
  std::vector<char> data(4 * kMemoryStep);
  for (size_t i = 0; i < data.size() / 2; ++i) {
    data[i] = static_cast<char>(i * 7 + i / 256);
  }
  loop.copy(data.data(), data.size(), 2);
  if (std::memcmp(data.data(), data.data() + data.size() / 2, data.size() / 2) != 0) {
    throw Failure(ExitCode::kExecutionFailed, "The loop that copies memory did not copy it.");
  }
}

std::vector<ComputeLoop> find_loops() {
  std::vector<ComputeLoop> found;
  for (const ComputeLoop& loop : compute_loops()) {
    if (has_all(loop.features)) {
      check(loop);
      found.push_back(loop);
    }
  }
  return found;
}

MemoryLoop find_memory_loop() {
  const auto& all = memory_loops();
  const MemoryLoop loop = *std::find_if(all.begin(), all.end(), [](const auto& l) { return has_all(l.features); });
  check(loop);
  return loop;
}

struct Level {
  const char* name;
  // Of each thread.
  size_t bytes;
};

size_t round_down(size_t bytes) { return std::max(bytes / kMemoryStep, size_t{1}) * kMemoryStep; }

std::vector<Level> list_levels(const CacheSizes& caches, size_t threads) {
  const size_t physical = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t wanted = std::max(4 * std::max(caches.last_level, caches.l2), kLeastMemoryBytes);
  const size_t memory = std::min({wanted, kMostMemoryBytes, physical / 4});
  std::vector<Level> levels = {{"L1", round_down(caches.l1 / 2)}, {"L2", round_down(caches.l2 / 2)}};
  if (caches.last_level > caches.l2) {
    levels.push_back({"last level", round_down(std::max(caches.last_level / 4 / threads, 2 * caches.l2))});
  }
  levels.push_back({"memory", round_down(memory / threads)});
  return levels;
}

// A part of the thread's data at a time; in the next call, the part behind it.
double touch(void (*loop)(char*, size_t, uint64_t), char* data, size_t bytes, size_t& at) {
  if (bytes <= kBytesAtOnce) {
    const uint64_t repeats = kBytesAtOnce / bytes;
    loop(data, bytes, repeats);
    return static_cast<double>(bytes * repeats);
  }
  at = at + kBytesAtOnce > bytes ? 0 : at;
  loop(data + at, kBytesAtOnce, 1);
  at += kBytesAtOnce;
  return static_cast<double>(kBytesAtOnce);
}

std::vector<Measurement> list_measurements(const std::vector<ComputeLoop>& loops, const MemoryLoop& memory,
                                           const std::vector<Level>& levels, char* data, size_t threads) {
  const std::string count = ",\"threads\":" + std::to_string(threads);
  std::vector<Measurement> all;
  for (const ComputeLoop& loop : loops) {
    const double macs = static_cast<double>(kIterationsAtOnce * loop.macs());
    all.push_back({std::string("\"loop\":\"") + loop.name + "\"" + count,
                   [run = loop.run, macs](size_t) {
                     run(kIterationsAtOnce);
                     return macs;
                   },
                   {}});
  }
  if (threads == 1) {
    all.push_back({"\"loop\":\"clock\"" + count,
                   [](size_t) {
                     add_in_a_chain(kIterationsAtOnce);
                     return static_cast<double>(kIterationsAtOnce * kAdditions);
                   },
                   {}});
  }
  for (const Level& level : levels) {
    const std::pair<const char*, void (*)(char*, size_t, uint64_t)> kinds[] = {
        {"read", memory.read}, {"write", memory.write}, {"copy", memory.copy}};
    for (const auto& [kind, loop] : kinds) {
      auto places = std::make_shared<std::vector<size_t>>(threads);
      // Threads in caches of their own are kept apart, too.
      const size_t stride = std::max(level.bytes, kBytesAtOnce);
      all.push_back({std::string("\"level\":\"") + level.name + "\",\"access\":\"" + kind + "\"" + count,
                     [loop = loop, data, bytes = level.bytes, stride, places](size_t thread) {
                       return touch(loop, data + thread * stride, bytes, (*places)[thread]);
                     },
                     {}});
    }
  }
  return all;
}

std::vector<size_t> list_counts(size_t most) {
  std::vector<size_t> counts;
  for (size_t count = 1; count < most; count *= 2) {
    counts.push_back(count);
  }
  counts.push_back(most);
  return counts;
}

// Pass after pass over all quantities, so that a disturbance meets few passes of each.
void measure_at(size_t threads, long passes, double share, std::vector<Measurement>& all) {
  const double total = kTotalSeconds * share;
  const double each = total / (1 + kWarmUpShare) / static_cast<double>(passes) / static_cast<double>(all.size());
  const double seconds = std::min(std::max(each, kShortestPassSeconds), kLongestPassSeconds);
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(total));
  Team team(threads);
  for (long pass = 0; pass < passes && (pass < kFewestPasses || Clock::now() < end); ++pass) {
    for (Measurement& measurement : all) {
      measurement.rates.push_back(team.run(measurement, seconds));
    }
  }
}

std::string render(const std::vector<double>& rates) {
  std::string text;
  for (const double rate : rates) {
    text += (text.empty() ? "" : ",") + format(rate);
  }
  return "[" + text + "]";
}

std::string render(const std::vector<ComputeLoop>& loops) {
  std::string text;
  for (const ComputeLoop& loop : loops) {
    text += std::string(text.empty() ? "" : ",") + "{\"name\":\"" + loop.name +
            "\",\"instructions\":" + std::to_string(loop.instructions * kCheckedIterations) +
            ",\"macs\":" + std::to_string(loop.macs() * kCheckedIterations) +
            ",\"sum\":" + format(loop.run(kCheckedIterations)) + "}";
  }
  return "[" + text + "]";
}

size_t total_bytes(const std::vector<Level>& levels, size_t threads) {
  size_t most = 0;
  for (const Level& level : levels) {
    most = std::max(most, threads * std::max(level.bytes, kBytesAtOnce));
  }
  return most;
}

}  // namespace

std::string measure_peaks(long passes, long threads) {
  const std::vector<ComputeLoop> loops = find_loops();
  const MemoryLoop memory = find_memory_loop();
  const CacheSizes caches = read_cache_sizes();
  std::string measured;
  const std::vector<size_t> counts = list_counts(static_cast<size_t>(std::max(threads, 1L)));
  for (const size_t count : passes > 0 ? counts : std::vector<size_t>{}) {
    const std::vector<Level> levels = list_levels(caches, count);
    const Buffer buffer(total_bytes(levels, count));
    std::vector<Measurement> all = list_measurements(loops, memory, levels, buffer.data(), count);
    measure_at(count, passes, 1.0 / static_cast<double>(counts.size()), all);
    for (const Measurement& each : all) {
      measured += (measured.empty() ? "{" : ",{") + each.head + ",\"rates\":" + render(each.rates) + "}";
    }
  }
  return "{\"schema_version\":1,\"caches\":{\"L1\":" + std::to_string(caches.l1) + ",\"L2\":" +
         std::to_string(caches.l2) + ",\"last level\":" + std::to_string(caches.last_level) +
         "},\"checked\":" + render(loops) + ",\"measured\":[" + measured + "]}\n";
}

}  // namespace etprof
