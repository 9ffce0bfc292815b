// A workload as etprof writes it for its runners: phases, and the bytes of every input of every step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aligned.h"
#include "options.h"

namespace etprof {

// One input of a phase. Its steps take `slices` tensors in turn, which lie one after the other from `offset` on.
struct PhaseInput {
  Shape shape;
  size_t offset = 0;
  size_t slices = 1;
};

struct Phase {
  std::string name;
  std::string method;
  bool resets = false;
  size_t repeats = 1;
  // Which of its steps a traced sequence has.
  std::vector<size_t> traced;
  std::vector<PhaseInput> inputs;
};

struct Workload {
  // Whether any method keeps values between inferences.
  bool has_state = false;
  // Planned buffers, by index, that all methods have in common.
  std::vector<size_t> shared;
  std::vector<Phase> phases;
  AlignedBytes data;
  size_t data_bytes = 0;

  size_t step_count() const;
  size_t traced_count() const;
};

Workload read_workload(const std::string& path);

}  // namespace etprof
