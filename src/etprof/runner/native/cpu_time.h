// How long the threads of this process ran, and how long they were ready to run and had no core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace etprof {

struct ThreadTime {
  int64_t ran_ns = 0;
  std::optional<int64_t> waited_ns;
  std::optional<int64_t> core_before;
  std::optional<int64_t> core_after;
};

struct CpuTime {
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;
  // Those that ran, this one first.
  std::vector<ThreadTime> threads;
};

// The clocks and the scheduler's counters of every thread so far.
struct CpuTimeReading {
  struct Thread {
    int64_t ran_ns = 0;
    std::optional<int64_t> waited_ns;
    std::optional<int64_t> core;
  };

  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;
  int64_t caller = 0;
  std::map<int64_t, Thread> threads;
};

CpuTimeReading read_cpu_time();
CpuTime cpu_time_between(const CpuTimeReading& before, const CpuTimeReading& after);

}  // namespace etprof
