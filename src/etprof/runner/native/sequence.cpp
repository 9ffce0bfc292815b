#include "sequence.h"

#include <chrono>

#include "failure.h"

namespace etprof {
namespace {

using Clock = std::chrono::steady_clock;

int64_t since(Clock::time_point began) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
}

}  // namespace

Sequence::Sequence(const std::string& model_path, Workload& workload, executorch::runtime::EventTracer* tracer,
                   LoadLog* log)
    : workload_(workload) {
  for (const size_t index : workload.shared) {
    arenas_[index];
  }
  for (const Phase& phase : workload.phases) {
    if (by_name_.count(phase.method) != 0) {
      continue;
    }
    methods_.push_back(std::make_unique<LoadedMethod>(model_path, phase.method, tracer, log, &arenas_));
    by_name_[phase.method] = methods_.back().get();
    if (methods_.size() > 1) {
      methods_.back()->stop_logging();
    }
  }
  for (const auto& method : methods_) {
    if (workload.has_state) {
      method->remember_state();
    }
  }
  for (const Phase& phase : workload.phases) {
    add_part(workload, phase);
  }
}

std::string Sequence::method_names() const {
  std::string names;
  for (const auto& method : methods_) {
    names += (names.empty() ? "" : ", ") + method->name();
  }
  return names;
}

void Sequence::add_part(Workload& workload, const Phase& phase) {
  Part part{&phase, by_name_[phase.method], {}, {}};
  const auto meta = part.method->meta();
  if (meta.num_inputs() != phase.inputs.size()) {
    throw Failure(ExitCode::kInputsWrong, "The phase " + phase.name + " names " + std::to_string(phase.inputs.size()) +
                                              " inputs, the model takes " + std::to_string(meta.num_inputs()) + ".");
  }
  for (size_t i = 0; i < phase.inputs.size(); ++i) {
    const PhaseInput& given = phase.inputs[i];
    part.inputs.push_back(build_view(meta, i, given.shape, workload.data.get() + given.offset, given.slices,
                                     workload.data_bytes - given.offset));
    part.slice_bytes.push_back(part.inputs.back().tensor->nbytes());
  }
  parts_.push_back(std::move(part));
}

void Sequence::reset() {
  for (const auto& method : methods_) {
    method->reset_state();
  }
}

int64_t Sequence::run_step(Part& part, size_t index) {
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    const PhaseInput& given = part.phase->inputs[i];
    part.inputs[i].tensor->set_data(workload_.data.get() + given.offset +
                                    (index % given.slices) * part.slice_bytes[i]);
  }
  return part.method->run_ns(part.inputs);
}

int64_t Sequence::run(std::vector<KeptOutput>* kept, int64_t* steps, bool traced_only) {
  int64_t total = 0;
  reset();
  auto began = Clock::now();
  for (Part& part : parts_) {
    const Phase& phase = *part.phase;
    if (phase.resets && &part != parts_.data()) {
      total += since(began);
      reset();
      began = Clock::now();
    }
    const size_t count = traced_only ? phase.traced.size() : phase.repeats;
    for (size_t i = 0; i < count; ++i) {
      const int64_t taken = run_step(part, traced_only ? phase.traced[i] : i);
      if (!has_run_) {
        // What the log read around the first inference is no part of the sequence.
        began = Clock::now() - std::chrono::nanoseconds(taken);
        has_run_ = true;
      }
      if (steps != nullptr) {
        *steps++ = taken;
      }
    }
    if (kept != nullptr) {
      total += since(began);
      for (KeptOutput& output : part.method->copy_outputs()) {
        kept->push_back(std::move(output));
      }
      began = Clock::now();
    }
  }
  return total + since(began);
}

}  // namespace etprof
