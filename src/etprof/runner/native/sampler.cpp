#include "sampler.h"

#include <executorch/runtime/platform/platform.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "code_map.h"
#include "failure.h"
#include "result.h"
#include "thread_sampling.h"

namespace etprof {
namespace {

constexpr int64_t kSecondNs = 1000000000;
constexpr int kClockReadings = 20;
constexpr int64_t kClockDriftNs = 100000;

// How far the clock of the ETDump, which samples are laid over, is behind ours; by the quickest of a few readings.
int64_t trace_clock_lag_ns() {
  const auto ratio = executorch::runtime::pal_ticks_to_ns_multiplier();
  int64_t lag_ns = 0;
  int64_t quickest_ns = kSecondNs;
  for (int i = 0; i < kClockReadings; ++i) {
    const int64_t before = sampling_clock_ns();
    const auto ticks = static_cast<int64_t>(executorch::runtime::pal_current_ticks());
    const int64_t after = sampling_clock_ns();
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
  SampleBuffer buffer;
  std::unique_ptr<ThreadSampling> threads;
  int64_t interval_ns = 0;
  int64_t lag_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  void stop() {
    threads->stop();
    if (end_ns == 0) {
      end_ns = sampling_clock_ns();
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
  for (const uint64_t thread : threads->threads()) {
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
         ",\"overruns\":" + std::to_string(buffer.overruns.load()) +
         ",\"main_thread\":" + std::to_string(threads->main_thread()) +
         ",\"threads\":[" + thread_ids + "],\"libraries\":" + quoted_list(map.libraries()) +
         ",\"kernel_names\":" + quoted_list(map.kernel_names()) + ",\"locations\":[" + locations + "]}\n" + times +
         places + owners;
}

Sampler::Sampler(const SamplingOptions& options) : state_(new State) {
  state_->lag_ns = trace_clock_lag_ns();
  // A little shorter than asked for, so that it is no multiple of how long an inference takes.
  state_->interval_ns = kSecondNs / options.rate_hz * 331 / 332;
  state_->buffer.samples.resize(static_cast<size_t>(options.capacity));
  state_->start_ns = sampling_clock_ns();
  state_->threads = std::make_unique<ThreadSampling>(state_->buffer, state_->interval_ns);
}

Sampler::~Sampler() = default;

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
