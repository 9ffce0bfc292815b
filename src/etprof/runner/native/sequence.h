// The methods of a workload, loaded, and passes through its phases.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "load_log.h"
#include "program.h"
#include "workload.h"

namespace etprof {

class Sequence {
 public:
  // Tracer and log may be null. They and the workload, whose data is put in the order of the program's tensors, have to
  // outlive this object.
  Sequence(const std::string& model_path, Workload& workload, executorch::runtime::EventTracer* tracer, LoadLog* log);

  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // One pass through all phases, from fresh state. The time is that from its start to its end without resets; `steps`
  // may be null, or has room for the time of each step.
  int64_t run_ns(int64_t* steps) { return run(nullptr, steps, false); }
  // The same without the steps that are not to be traced.
  int64_t run_traced_ns() { return run(nullptr, nullptr, true); }
  // The same with the outputs of the last step of each phase, which are copied while no clock runs.
  int64_t run_kept_ns(std::vector<KeptOutput>& kept, int64_t* steps) { return run(&kept, steps, false); }

  // The methods, each once, with commas between them.
  std::string method_names() const;

 private:
  struct Part {
    const Phase* phase;
    LoadedMethod* method;
    std::vector<Input> inputs;
    std::vector<size_t> slice_bytes;
  };
  void reset();
  void add_part(Workload& workload, const Phase& phase);
  int64_t run_step(Part& part, size_t index);
  int64_t run(std::vector<KeptOutput>* kept, int64_t* steps, bool traced_only);

  const Workload& workload_;
  Arenas arenas_;
  // In the order in which phases name them.
  std::vector<std::unique_ptr<LoadedMethod>> methods_;
  std::map<std::string, LoadedMethod*> by_name_;
  std::vector<Part> parts_;
  bool has_run_ = false;
};

}  // namespace etprof
