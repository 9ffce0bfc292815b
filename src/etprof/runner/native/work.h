// What one iteration of a block executes: a method with its inputs, or a sequence of a workload's steps.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load_log.h"
#include "options.h"
#include "tensors.h"

namespace etprof {

class Work {
 public:
  virtual ~Work() = default;

  virtual std::string method_name() const = 0;
  // Outputs of the first iteration are kept where none of it is timed; later ones depend on state.
  virtual int64_t run_ns() = 0;
  // Room for what `run_timed_ns` keeps, so that it allocates nothing.
  virtual void prepare(size_t /*timed*/) {}
  virtual int64_t run_timed_ns() { return run_ns(); }
  virtual int64_t run_traced_ns() { return run_ns(); }
  // Inferences in a traced iteration.
  virtual size_t traced_count() const { return 1; }
  virtual bool has_run() const = 0;
  virtual const std::vector<KeptOutput>& first_outputs() const = 0;
  // Whether the second iteration had the same outputs as the first, where that was looked at.
  virtual std::optional<bool> sequences_agree() const { return std::nullopt; }
  virtual void write_steps(const std::string& /*path*/) const {}
};

// Tracer and log may be null; they have to outlive the work.
std::unique_ptr<Work> load_work(const Options& options, executorch::runtime::EventTracer* tracer, LoadLog* log);

}  // namespace etprof
