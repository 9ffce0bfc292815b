#include <mach/mach.h>
#include <mach/mach_time.h>
#include <pthread.h>
#include <pthread/qos.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>

#include "failure.h"
#include "thread_sampling.h"

namespace etprof {
namespace {

// After each sample the threads run for at least so many times as long as it took: sampling costs a tenth at most.
constexpr int64_t kRest = 9;
// Addresses of a process have 47 bits. The bits above may hold a signature of the pointer.
constexpr uint64_t kAddressBits = (uint64_t{1} << 47) - 1;

[[noreturn]] void refuse(const char* reason) {
  throw Failure(ExitCode::kExecutionFailed, std::string("Kernels cannot be sampled: ") + reason + ".");
}

uint64_t thread_number(thread_act_t port) {
  thread_identifier_info_data_t info{};
  mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
  const auto said = thread_info(port, THREAD_IDENTIFIER_INFO, reinterpret_cast<thread_info_t>(&info), &count);
  return said == KERN_SUCCESS ? info.thread_id : 0;
}

void wait_until(int64_t time_ns) {
  mach_timebase_info_data_t base{};
  mach_timebase_info(&base);
  const int64_t left_ns = time_ns - sampling_clock_ns();
  if (left_ns > 0) {
    mach_wait_until(mach_absolute_time() + static_cast<uint64_t>(left_ns) * base.denom / base.numer);
  }
}

}  // namespace

// The clock of C++'s steady_clock, which ExecuTorch's traces use. Reading it takes neither lock nor system call.
int64_t sampling_clock_ns() { return static_cast<int64_t>(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW)); }

struct ThreadSampling::State {
  SampleBuffer& buffer;
  const int64_t interval_ns;
  std::vector<thread_act_t> ports;
  std::vector<uint64_t> numbers;
  uint64_t main_number = 0;
  std::atomic<bool> is_over{false};
  std::thread sampler;

  State(SampleBuffer& target, int64_t interval) : buffer(target), interval_ns(interval) {}

  ~State() {
    stop();
    for (const thread_act_t port : ports) {
      mach_port_deallocate(mach_task_self(), port);
    }
  }

  // Before the sampling thread starts, so that it is not among them.
  void list_threads() {
    thread_act_array_t found = nullptr;
    mach_msg_type_number_t count = 0;
    if (task_threads(mach_task_self(), &found, &count) != KERN_SUCCESS) {
      refuse("the system does not list the threads");
    }
    ports.assign(found, found + count);
    vm_deallocate(mach_task_self(), reinterpret_cast<vm_address_t>(found), count * sizeof(*found));
    for (const thread_act_t port : ports) {
      numbers.push_back(thread_number(port));
    }
    pthread_threadid_np(nullptr, &main_number);
  }

  // Between suspending and resuming nothing may wait for the suspended thread: no memory is allocated, no lock taken,
  // no message printed, and no function called for the first time, which could make the loader take a lock.
  void take(size_t index) {
    const thread_act_t port = ports[index];
    arm_thread_state64_t state{};
    mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
    // A thread that has ended in the meantime cannot be suspended.
    if (thread_suspend(port) != KERN_SUCCESS) {
      return;
    }
    const int64_t time_ns = sampling_clock_ns();
    const kern_return_t said =
        thread_get_state(port, ARM_THREAD_STATE64, reinterpret_cast<thread_state_t>(&state), &count);
    thread_resume(port);
    if (said == KERN_SUCCESS) {
      buffer.add({time_ns, static_cast<uint64_t>(arm_thread_state64_get_pc(state)) & kAddressBits,
                  static_cast<uint32_t>(index)});
    }
  }

  // Each function of `take` once, with a thread that does not exist: the loader has then found all of them.
  static void bind_functions() {
    arm_thread_state64_t state{};
    mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
    thread_suspend(MACH_PORT_NULL);
    thread_get_state(MACH_PORT_NULL, ARM_THREAD_STATE64, reinterpret_cast<thread_state_t>(&state), &count);
    thread_resume(MACH_PORT_NULL);
    sampling_clock_ns();
  }

  // One thread at a time, in turn. Ticks that pass meanwhile, or are left out because of the cost, are counted.
  void run() {
    pthread_setname_np("etprof sampler");
    // The system delays the timers of threads that matter less.
    pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);
    bind_functions();
    const int64_t step_ns = std::max<int64_t>(interval_ns / static_cast<int64_t>(ports.size()), 1);
    int64_t due_ns = sampling_clock_ns() + step_ns;
    for (size_t turn = 0; !is_over.load(); ++turn) {
      wait_until(due_ns);
      const int64_t began_ns = sampling_clock_ns();
      take(turn % ports.size());
      const int64_t ended_ns = sampling_clock_ns();
      const int64_t free_ns = ended_ns + (ended_ns - began_ns) * kRest;
      const int64_t steps = 1 + std::max<int64_t>(free_ns - due_ns, 0) / step_ns;
      buffer.overruns.fetch_add(static_cast<uint64_t>(steps - 1));
      due_ns += steps * step_ns;
    }
  }

  void stop() {
    is_over.store(true);
    if (sampler.joinable()) {
      sampler.join();
    }
  }
};

ThreadSampling::ThreadSampling(SampleBuffer& buffer, int64_t interval_ns) : state_(new State(buffer, interval_ns)) {
  state_->list_threads();
  try {
    state_->sampler = std::thread([this] { state_->run(); });
  } catch (const std::system_error&) {
    refuse("the system starts no further thread");
  }
}

ThreadSampling::~ThreadSampling() = default;

void ThreadSampling::stop() { state_->stop(); }

const std::vector<uint64_t>& ThreadSampling::threads() const { return state_->numbers; }

uint64_t ThreadSampling::main_thread() const { return state_->main_number; }

}  // namespace etprof
