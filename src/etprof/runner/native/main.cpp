// One process, one block: hide features, load, warm up, time without a tracer, trace, write down what happened.

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cpu_state.h"
#include "cpu_time.h"
#include "crash_note.h"
#include "failure.h"
#include "hiding.h"
#include "load_log.h"
#include "load_options.h"
#include "options.h"
#include "peaks.h"
#include "program.h"
#include "result.h"
#include "sampler.h"
#include "sha256.h"
#include "threadpool.h"
#include "work.h"

namespace etprof {
namespace {

constexpr size_t kSteadyWindow = 3;
constexpr double kSteadyTolerance = 0.02;
// A trace of so many inferences is still read in a second or two.
constexpr size_t kMostSampledInferences = 20000;

int64_t median_of_window(const std::vector<int64_t>& times, size_t end) {
  std::array<int64_t, kSteadyWindow> window{};
  std::copy_n(times.begin() + static_cast<std::ptrdiff_t>(end - kSteadyWindow), kSteadyWindow, window.begin());
  std::sort(window.begin(), window.end());
  return window[kSteadyWindow / 2];
}

bool is_steady(const std::vector<int64_t>& times) {
  if (times.size() < 2 * kSteadyWindow) {
    return false;
  }
  const auto last = static_cast<double>(median_of_window(times, times.size()));
  const auto before = static_cast<double>(median_of_window(times, times.size() - kSteadyWindow));
  return std::abs(last - before) <= kSteadyTolerance * before;
}

void warm_up(Work& work, const Options& options, Result& result) {
  const auto minimum = static_cast<size_t>(options.warmup);
  const auto maximum = static_cast<size_t>(options.warmup_max);
  while (result.warmup_ns.size() < minimum) {
    result.warmup_ns.push_back(work.run_ns());
  }
  if (maximum <= minimum) {
    return;
  }
  while (!is_steady(result.warmup_ns) && result.warmup_ns.size() < maximum) {
    result.warmup_ns.push_back(work.run_ns());
  }
  result.warmup_steady = is_steady(result.warmup_ns);
}

void run_times(Work& work, int64_t (Work::*run)(), long count, std::vector<int64_t>& times) {
  times.reserve(static_cast<size_t>(count));
  for (long i = 0; i < count; ++i) {
    times.push_back((work.*run)());
  }
}

// What is read around the iterations is outside of every clock. It is read when the machine is warm, not when the
// process starts: a frequency governor raises an idle core's frequency.
void run_timed(Work& work, const Options& options, Result& result) {
  work.prepare(static_cast<size_t>(options.num_executions));
  result.cpu_before = read_cpu_state(result.cpu_affinity);
  const CpuTimeReading start = read_cpu_time();
  run_times(work, &Work::run_timed_ns, options.num_executions, result.latency_ns);
  const CpuTimeReading end = read_cpu_time();
  result.cpu_after = read_cpu_state(result.cpu_affinity);
  if (options.num_executions > 0) {
    result.cpu_time = cpu_time_between(start, end);
  }
}

void write_outputs(Work& work, const Options& options, Result& result) {
  if (!work.has_run()) {
    work.run_ns();
  }
  if (!options.steps_path.empty()) {
    work.write_steps(options.steps_path);
  }
  if (!options.outputs_path.empty() && mkdir(options.outputs_path.c_str(), 0777) != 0 && errno != EEXIST) {
    throw Failure(ExitCode::kNotWritten,
                  "Cannot create the folder " + options.outputs_path + ": " + std::strerror(errno) + ".");
  }
  for (const KeptOutput& kept : work.first_outputs()) {
    const std::string number = std::to_string(result.outputs.size());
    Output output{kept.dtype, kept.shape, kept.bytes ? sha256_hex(kept.bytes->data(), kept.bytes->size()) : "", ""};
    if (kept.bytes && !options.outputs_path.empty()) {
      output.file = "output_" + number + ".bin";
      write_file(options.outputs_path + "/" + output.file, kept.bytes->data(), kept.bytes->size());
    }
    if (kept.bytes && !options.output_file.empty()) {
      write_file(options.output_file + "-" + number + ".bin", kept.bytes->data(), kept.bytes->size());
    }
    result.outputs.push_back(output);
  }
}

// More iterations than requested where those end too soon for enough samples.
void run_sampled(Work& work, const Options& options, std::vector<int64_t>& times) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(options.sample_ms);
  Sampler sampler({options.sample_rate, options.sample_buffer});
  run_times(work, &Work::run_traced_ns, options.traced_executions, times);
  while (std::chrono::steady_clock::now() < until && times.size() * work.traced_count() < kMostSampledInferences) {
    times.push_back(work.run_traced_ns());
  }
  sampler.write(options.kernel_samples);
}

void trace(const Options& options, Result& result) {
  executorch::etdump::ETDumpGen tracer;
  const std::unique_ptr<Work> work = load_work(options, &tracer, nullptr);
  if (options.kernel_samples.empty()) {
    run_times(*work, &Work::run_traced_ns, options.traced_executions, result.traced_ns);
  } else {
    run_sampled(*work, options, result.traced_ns);
  }
  const executorch::etdump::ETDumpResult dump = tracer.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> data(dump.buf, &std::free);
  if (dump.buf == nullptr || dump.size == 0) {
    throw Failure(ExitCode::kNotWritten, "ExecuTorch recorded no ETDump: this build has no event tracer.");
  }
  write_file(options.etdump_path, dump.buf, dump.size);
}

void set_threads(const Options& options, Result& result) {
  auto* pool = executorch::extension::threadpool::get_threadpool();
  if (pool == nullptr) {
    throw Failure(ExitCode::kLibraryMissing, "ExecuTorch has no thread pool.");
  }
  if (options.cpu_threads > 0) {
    pool->_unsafe_reset_threadpool(static_cast<uint32_t>(options.cpu_threads));
  }
  result.threads = static_cast<int64_t>(pool->get_thread_count());
  if (options.cpu_threads > 0 && result.threads != options.cpu_threads) {
    throw Failure(ExitCode::kExecutionFailed, "The thread pool has " + std::to_string(*result.threads) +
                                                  " threads, not the " + std::to_string(options.cpu_threads) +
                                                  " requested.");
  }
}

// Before time is spent on results that could not be stored.
void check_writable(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (!path.empty() && access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Failure(ExitCode::kNotWritten, "Cannot write " + path + ": " + std::strerror(errno) + ".");
  }
}

// Whoever measures a cold start wants to know whether the file really left.
void prepare_page_cache(const Options& options, Result& result) {
  if (options.page_cache == "in") {
    fill_page_cache(options.model_path);
  } else if (options.page_cache == "out") {
    drop_page_cache(options.model_path);
  }
  result.cached_share = read_cached_share(options.model_path);
}

void run_block(const Options& options, std::optional<int64_t> process_ns, Result& result) {
  LoadLog log;
  const auto enter = [&](const char* stage) {
    result.stages = log.stages();
    result.planned_bytes = log.planned_bytes();
    update_crash_note(options.result_path, stage, result);
  };
  log.set_files(options.model_path, find_cache_path(options.load_options));
  log.note("process", process_ns);
  enter("starting");
  for (const std::string& path :
       {options.result_path, options.etdump_path, options.outputs_path, options.output_file,
        options.kernel_samples, options.steps_path}) {
    check_writable(path);
  }
  // What an earlier run left must not be taken for this one's.
  std::remove(options.result_path.c_str());
  std::remove(options.etdump_path.c_str());
  std::remove(options.kernel_samples.c_str());
  std::remove(options.steps_path.c_str());
  collect_runtime_messages();
  result.cpu_affinity = read_affinity();
  const IsaView view = hide_features(options.hide_isa);
  result.features_seen = view.seen;
  result.features_hidden = view.hidden;
  result.isa_proof = view.proof;
  log.begin();
  load_kernel_libraries();
  log.end("libraries");
  set_load_options(options.load_options);
  set_threads(options, result);

  enter("loading the model");
  verify_program(options.model_path);
  prepare_page_cache(options, result);
  log.begin();
  const std::unique_ptr<Work> work = load_work(options, nullptr, &log);
  result.load_ns = log.duration_ns("program") + log.duration_ns("method");
  result.method_name = work->method_name();

  enter("warming up");
  warm_up(*work, options, result);
  result.sequences_agree = work->sequences_agree();
  enter("running timed iterations");
  run_timed(*work, options, result);
  log.note("steady");
  enter("writing the outputs");
  write_outputs(*work, options, result);
  // Before the tracer loads the model a second time.
  result.peak_bytes = log.peak_bytes();
  enter("running traced iterations");
  if (options.traced_executions > 0) {
    trace(options, result);
  }
}

void write_result(const Options& options, const Result& result, const std::string& error) {
  const ResultText text = render(result);
  const std::string whole = text.head + escape_json(error) + text.tail;
  if (options.result_path.empty()) {
    std::fwrite(whole.data(), 1, whole.size(), stdout);
  } else {
    write_file(options.result_path, whole.data(), whole.size());
  }
}

void write_peaks(const Options& options) {
  check_writable(options.result_path);
  const auto cores = static_cast<long>(read_affinity().size());
  // macOS has no cores that a process may use; there it may use all.
  const long usable = cores > 0 ? cores : static_cast<long>(std::thread::hardware_concurrency());
  const std::string text = measure_peaks(options.peaks, options.cpu_threads > 0 ? options.cpu_threads : usable);
  if (options.result_path.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_file(options.result_path, text.data(), text.size());
  }
}

int complain(const Failure& failure) {
  std::fprintf(stderr, "error: %s\n", failure.what());
  return static_cast<int>(failure.code);
}

int run(int argc, char** argv) {
  const auto entered = std::chrono::steady_clock::now();
  Options options;
  try {
    options = parse_options(argc, argv);
  } catch (const Failure& failure) {
    return complain(failure);
  }
  if (options.help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (options.peaks >= 0) {
    try {
      write_peaks(options);
    } catch (const Failure& failure) {
      return complain(failure);
    }
    return 0;
  }
  Result result;
  result.method_name = options.method_name;
  std::string error;
  int code = 0;
  try {
    run_block(options, options.exec_clock > 0 ? measure_process_start(entered) : std::nullopt, result);
  } catch (const Failure& failure) {
    error = failure.what();
    code = complain(failure);
  } catch (const std::bad_alloc&) {
    error = "The model needs more memory than is available.";
    code = complain(Failure(ExitCode::kModelInvalid, error));
  }
  try {
    write_result(options, result, error);
  } catch (const Failure& failure) {
    return complain(failure);
  }
  return code;
}

}  // namespace
}  // namespace etprof

int main(int argc, char** argv) {
  const int code = etprof::run(argc, argv);
  // Without unloading anything: the result is written, and nothing that happens now may spoil it.
  std::fflush(nullptr);
  std::_Exit(code);
}
