#include "sampler.h"

#include "failure.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dirent.h>
#include <executorch/runtime/platform/platform.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unordered_map>
#include <vector>

#include "code_map.h"
#include "result.h"

// Older C libraries keep the field's place but not its name.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace etprof {
namespace {

constexpr int kSignal = SIGPROF;
constexpr int64_t kSecondNs = 1000000000;
constexpr int kClockReadings = 20;
constexpr int64_t kClockDriftNs = 100000;

struct Sample {
  int64_t time_ns;
  uint64_t address;
  uint32_t thread;
};

// Everything the handler touches. It only reads the clock and writes to memory that is already there.
struct Buffer {
  std::vector<Sample> samples;
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> overruns{0};
};

std::atomic<Buffer*> active{nullptr};
std::atomic<int> inside{0};

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * kSecondNs + time.tv_nsec;
}

uint64_t program_counter(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uint64_t>(machine.gregs[REG_RIP]);
#else
  return machine.pc;
#endif
}

void on_timer(int, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  inside.fetch_add(1);
  if (Buffer* buffer = active.load()) {
    buffer->overruns.fetch_add(static_cast<uint64_t>(info->si_overrun > 0 ? info->si_overrun : 0));
    const uint64_t slot = buffer->next.fetch_add(1);
    if (slot < buffer->samples.size()) {
      buffer->samples[slot] = {now_ns(), program_counter(context), static_cast<uint32_t>(info->si_value.sival_int)};
    }
  }
  inside.fetch_sub(1);
  errno = kept_errno;
}

// A thread that blocks the signal does not compute; an emulator has such threads beside the program's own.
bool blocks_signal(int thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/status";
  std::FILE* file = std::fopen(path.c_str(), "r");
  unsigned long long blocked = 0;
  char line[256];
  while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "SigBlk: %llx", &blocked) == 1) {
      break;
    }
  }
  if (file != nullptr) {
    std::fclose(file);
  }
  return (blocked >> (kSignal - 1) & 1) != 0;
}

std::vector<int> list_threads() {
  std::vector<int> threads;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = folder != nullptr ? readdir(folder) : nullptr) {
    const int thread = std::atoi(entry->d_name);
    if (thread > 0 && !blocks_signal(thread)) {
      threads.push_back(thread);
    }
  }
  if (folder != nullptr) {
    closedir(folder);
  }
  return threads;
}

// How far the clock of the ETDump, which samples are laid over, is behind ours; by the quickest of a few readings.
int64_t trace_clock_lag_ns() {
  const auto ratio = executorch::runtime::pal_ticks_to_ns_multiplier();
  int64_t lag_ns = 0;
  int64_t quickest_ns = kSecondNs;
  for (int i = 0; i < kClockReadings; ++i) {
    const int64_t before = now_ns();
    const auto ticks = static_cast<int64_t>(executorch::runtime::pal_current_ticks());
    const int64_t after = now_ns();
    if (after - before < quickest_ns) {
      quickest_ns = after - before;
      const auto traced_ns = ticks * static_cast<int64_t>(ratio.numerator) / static_cast<int64_t>(ratio.denominator);
      lag_ns = before + quickest_ns / 2 - traced_ns;
    }
  }
  return lag_ns;
}

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string hex(const std::string& bytes) {
  std::string text;
  char digits[3];
  for (const char byte : bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

std::string quoted_list(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) {
    text += (text.size() > 1 ? ",\"" : "\"") + escape_json(value) + "\"";
  }
  return text + "]";
}

std::string to_json(const Location& location) {
  return "[" + std::to_string(location.library) + "," + std::to_string(location.offset) + "," +
         std::to_string(location.function) + ",\"" + escape_json(location.symbol) + "\",\"" + hex(location.code) +
         "\"," + (location.in_system ? "1" : "0") + "]";
}

}  // namespace

struct Sampler::State {
  Buffer buffer;
  std::vector<int> threads;
  std::vector<timer_t> timers;
  int64_t interval_ns = 0;
  int64_t lag_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  void start_timer(size_t index) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kSignal;
    event.sigev_notify_thread_id = threads[index];
    event.sigev_value.sival_int = static_cast<int>(index);
    timer_t timer{};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
      throw Failure(ExitCode::kExecutionFailed,
                    std::string("Kernels cannot be sampled: a thread gets no timer: ") + std::strerror(errno) + ".");
    }
    timers.push_back(timer);
    // Threads take turns, so that they do not all stop at the same moment.
    itimerspec times{};
    const auto turn = static_cast<int64_t>(index);
    const int64_t first_ns = interval_ns + interval_ns * turn / static_cast<int64_t>(threads.size());
    times.it_interval = {static_cast<time_t>(interval_ns / kSecondNs), static_cast<long>(interval_ns % kSecondNs)};
    times.it_value = {static_cast<time_t>(first_ns / kSecondNs), static_cast<long>(first_ns % kSecondNs)};
    timer_settime(timer, 0, &times, nullptr);
  }

  void stop() {
    for (const timer_t timer : timers) {
      timer_delete(timer);
    }
    timers.clear();
    active.store(nullptr);
    while (inside.load() != 0) {
      usleep(100);
    }
    // Not the default action: a signal that is still on its way would end the process.
    signal(kSignal, SIG_IGN);
    if (end_ns == 0) {
      end_ns = now_ns();
    }
  }

  std::string render() const;
};

std::string Sampler::State::render() const {
  const CodeMap map;
  const uint64_t taken = buffer.next.load();
  const size_t kept = static_cast<size_t>(taken < buffer.samples.size() ? taken : buffer.samples.size());
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::string locations;
  std::string times;
  std::string places;
  std::string owners;
  for (size_t i = 0; i < kept; ++i) {
    const Sample& sample = buffer.samples[i];
    const auto [entry, is_new] = numbers.emplace(sample.address, static_cast<uint32_t>(numbers.size()));
    if (is_new) {
      locations += (locations.empty() ? "" : ",") + to_json(map.locate(sample.address));
    }
    append(times, sample.time_ns - lag_ns);
    append(places, entry->second);
    append(owners, static_cast<uint16_t>(sample.thread));
  }
  std::string thread_ids;
  for (const int thread : threads) {
    thread_ids += (thread_ids.empty() ? "" : ",") + std::to_string(thread);
  }
#if defined(__x86_64__)
  const char* architecture = "x86_64";
#else
  const char* architecture = "arm64";
#endif
  return std::string("{\"format\":\"etprof kernel samples\",\"schema_version\":1,\"architecture\":\"") + architecture +
         "\",\"interval_ns\":" + std::to_string(interval_ns) +
         ",\"start_ns\":" + std::to_string(start_ns - lag_ns) + ",\"end_ns\":" + std::to_string(end_ns - lag_ns) +
         ",\"samples\":" + std::to_string(kept) + ",\"dropped\":" + std::to_string(taken - kept) +
         ",\"overruns\":" + std::to_string(buffer.overruns.load()) + ",\"main_thread\":" + std::to_string(getpid()) +
         ",\"threads\":[" + thread_ids + "],\"libraries\":" + quoted_list(map.libraries()) +
         ",\"kernel_names\":" + quoted_list(map.kernel_names()) + ",\"locations\":[" + locations + "]}\n" + times +
         places + owners;
}

Sampler::Sampler(const SamplingOptions& options) : state_(new State) {
  state_->lag_ns = trace_clock_lag_ns();
  // A little shorter than asked for, so that it is no multiple of how long an inference takes.
  state_->interval_ns = kSecondNs / options.rate_hz * 331 / 332;
  state_->buffer.samples.resize(static_cast<size_t>(options.capacity));
  state_->threads = list_threads();
  struct sigaction action {};
  action.sa_sigaction = on_timer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(kSignal, &action, nullptr);
  state_->start_ns = now_ns();
  active.store(&state_->buffer);
  try {
    for (size_t i = 0; i < state_->threads.size(); ++i) {
      state_->start_timer(i);
    }
  } catch (const Failure&) {
    state_->stop();
    delete state_;
    throw;
  }
}

Sampler::~Sampler() {
  state_->stop();
  delete state_;
}

void Sampler::stop() { state_->stop(); }

void Sampler::write(const std::string& path) {
  state_->stop();
  if (std::abs(trace_clock_lag_ns() - state_->lag_ns) > kClockDriftNs) {
    throw Failure(ExitCode::kExecutionFailed,
                  "Kernels cannot be sampled: the clock of this ExecuTorch's traces runs at another rate.");
  }
  const std::string bytes = state_->render();
  write_file(path, bytes.data(), bytes.size());
}

}  // namespace etprof

#else

namespace etprof {

struct Sampler::State {};

Sampler::Sampler(const SamplingOptions&) : state_(nullptr) {
  throw Failure(ExitCode::kUsage,
                "--kernel_samples needs Linux on x86-64 or AArch64: no other system has a timer for each thread.");
}
Sampler::~Sampler() = default;
void Sampler::stop() {}
void Sampler::write(const std::string&) {}

}  // namespace etprof

#endif
