// Samples what every computing thread executes, and writes it down beside the ETDump that says which operator ran.
#pragma once

#include <memory>
#include <string>

namespace etprof {

struct SamplingOptions {
  long rate_hz = 1000;
  long capacity = 1 << 20;
};

// One per process at a time. Threads that start later are not sampled.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void stop();
  // Stops first. The format is described in docs/reference/file-formats.md.
  void write(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etprof
