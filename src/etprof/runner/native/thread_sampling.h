// Reads the program counter of every computing thread again and again: by timers on Linux, by a thread on macOS.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace etprof {

struct Sample {
  int64_t time_ns;
  uint64_t address;
  uint32_t thread;
};

struct SampleBuffer {
  std::vector<Sample> samples;
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> overruns{0};

  // For a signal handler, or while a thread is suspended: it only writes to memory that is already there.
  void add(const Sample& sample) {
    const uint64_t slot = next.fetch_add(1);
    if (slot < samples.size()) {
      samples[slot] = sample;
    }
  }
};

int64_t sampling_clock_ns();

// Starts at once. Threads that start later are not sampled.
class ThreadSampling {
 public:
  ThreadSampling(SampleBuffer& buffer, int64_t interval_ns);
  ~ThreadSampling();
  ThreadSampling(const ThreadSampling&) = delete;
  ThreadSampling& operator=(const ThreadSampling&) = delete;

  // Afterwards nothing is added to the buffer.
  void stop();
  // As the system numbers them; a sample has the place in this list.
  const std::vector<uint64_t>& threads() const;
  uint64_t main_thread() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etprof
