#include <dirent.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "failure.h"
#include "thread_sampling.h"

// Older C libraries keep the field's place but not its name.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace etprof {
namespace {

constexpr int kSignal = SIGPROF;
constexpr int64_t kSecondNs = 1000000000;

// Everything the handler touches. It only reads the clock and writes to memory that is already there.
std::atomic<SampleBuffer*> active{nullptr};
std::atomic<int> inside{0};

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
  if (SampleBuffer* buffer = active.load()) {
    buffer->overruns.fetch_add(static_cast<uint64_t>(info->si_overrun > 0 ? info->si_overrun : 0));
    buffer->add({sampling_clock_ns(), program_counter(context), static_cast<uint32_t>(info->si_value.sival_int)});
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

std::vector<uint64_t> list_threads() {
  std::vector<uint64_t> threads;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = folder != nullptr ? readdir(folder) : nullptr) {
    const int thread = std::atoi(entry->d_name);
    if (thread > 0 && !blocks_signal(thread)) {
      threads.push_back(static_cast<uint64_t>(thread));
    }
  }
  if (folder != nullptr) {
    closedir(folder);
  }
  return threads;
}

}  // namespace

int64_t sampling_clock_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * kSecondNs + time.tv_nsec;
}

struct ThreadSampling::State {
  std::vector<uint64_t> threads = list_threads();
  std::vector<timer_t> timers;
  int64_t interval_ns = 0;

  void start_timer(size_t index) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kSignal;
    event.sigev_notify_thread_id = static_cast<int>(threads[index]);
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
  }
};

ThreadSampling::ThreadSampling(SampleBuffer& buffer, int64_t interval_ns) : state_(new State) {
  state_->interval_ns = interval_ns;
  struct sigaction action {};
  action.sa_sigaction = on_timer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(kSignal, &action, nullptr);
  active.store(&buffer);
  try {
    for (size_t i = 0; i < state_->threads.size(); ++i) {
      state_->start_timer(i);
    }
  } catch (const Failure&) {
    state_->stop();
    throw;
  }
}

ThreadSampling::~ThreadSampling() { state_->stop(); }

void ThreadSampling::stop() { state_->stop(); }

const std::vector<uint64_t>& ThreadSampling::threads() const { return state_->threads; }

uint64_t ThreadSampling::main_thread() const { return static_cast<uint64_t>(getpid()); }

}  // namespace etprof
