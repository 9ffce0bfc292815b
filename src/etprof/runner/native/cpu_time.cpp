#include "cpu_time.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>

namespace etprof {
namespace {

// The fields of /proc/self/task/N/stat between the program's name and the core the thread was last on.
constexpr int kFieldsBeforeCore = 36;

int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

std::optional<int64_t> read_core(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string line;
  std::getline(file, line);
  // The name is in parentheses and may hold spaces and parentheses of its own.
  size_t at = line.rfind(')');
  for (int field = 0; field <= kFieldsBeforeCore && at != std::string::npos; ++field) {
    at = line.find(' ', at + 1);
  }
  return at == std::string::npos ? std::nullopt : std::optional<int64_t>(std::strtoll(line.c_str() + at, nullptr, 10));
}

// Only Linux has this folder.
std::map<int64_t, CpuTimeReading::Thread> read_threads() {
  std::map<int64_t, CpuTimeReading::Thread> threads;
  const std::string root = "/proc/self/task/";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(root.c_str()), [](DIR* open) { return closedir(open); });
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const std::string task = root + entry->d_name;
    CpuTimeReading::Thread thread;
    int64_t waited_ns = 0;
    if (entry->d_name[0] != '.' && std::ifstream(task + "/schedstat") >> thread.ran_ns >> waited_ns) {
      thread.waited_ns = waited_ns;
      thread.core = read_core(task);
      threads[std::strtoll(entry->d_name, nullptr, 10)] = thread;
    }
  }
  return threads;
}

}  // namespace

CpuTimeReading read_cpu_time() {
  CpuTimeReading reading;
  // The main thread has the number of the process, and it is the one that executes models.
  reading.caller = getpid();
  reading.threads = read_threads();
  // The counters of a running thread are up to a tick old; its clock is not.
  reading.threads[reading.caller].ran_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
  reading.cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  reading.wall_ns = read_clock(CLOCK_MONOTONIC);
  return reading;
}

CpuTime cpu_time_between(const CpuTimeReading& before, const CpuTimeReading& after) {
  CpuTime time{after.wall_ns - before.wall_ns, after.cpu_ns - before.cpu_ns, {}};
  for (const auto& [number, end] : after.threads) {
    const auto found = before.threads.find(number);
    const CpuTimeReading::Thread start = found == before.threads.end() ? CpuTimeReading::Thread() : found->second;
    ThreadTime thread{end.ran_ns - start.ran_ns, end.waited_ns, start.core, end.core};
    if (thread.waited_ns) {
      thread.waited_ns = *end.waited_ns - start.waited_ns.value_or(0);
    }
    if (number == after.caller) {
      time.threads.insert(time.threads.begin(), thread);
    } else if (thread.ran_ns > 0) {
      time.threads.push_back(thread);
    }
  }
  return time;
}

}  // namespace etprof
