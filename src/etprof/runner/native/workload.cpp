#include "workload.h"

#include <cstring>
#include <sstream>

#include "failure.h"
#include "tensors.h"

namespace etprof {
namespace {

constexpr const char* kFirstLine = "etprof workload 1";
constexpr size_t kMostRepeats = 1000000000;
// Kernels may read a little beyond the end of a tensor.
constexpr size_t kPadding = 64;

[[noreturn]] void refuse(const std::string& path, const std::string& line) {
  throw Failure(ExitCode::kInputsWrong, path + " is not a workload that etprof wrote: '" + line.substr(0, 80) + "'.");
}

std::vector<size_t> parse_numbers(const std::string& text) {
  std::vector<size_t> numbers;
  std::istringstream words(text);
  for (size_t number = 0; words >> number;) {
    numbers.push_back(number);
  }
  return numbers;
}

std::string rest_of(std::istringstream& words) {
  std::string rest;
  std::getline(words >> std::ws, rest);
  return rest;
}

bool parse_line(const std::string& line, Workload& workload) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  if (kind == "state") {
    workload.has_state = rest_of(words) == "1";
  } else if (kind == "shared") {
    workload.shared = parse_numbers(rest_of(words));
  } else if (kind == "phase") {
    Phase phase;
    if (!(words >> phase.resets >> phase.repeats) || phase.repeats == 0 || phase.repeats > kMostRepeats) {
      return false;
    }
    phase.name = rest_of(words);
    workload.phases.push_back(phase);
  } else if (workload.phases.empty()) {
    return false;
  } else if (kind == "method") {
    workload.phases.back().method = rest_of(words);
  } else if (kind == "trace") {
    workload.phases.back().traced = parse_numbers(rest_of(words));
  } else if (kind == "input") {
    PhaseInput input;
    std::string shape;
    if (!(words >> shape >> input.offset >> input.slices)) {
      return false;
    }
    input.shape = parse_shape(shape);
    workload.phases.back().inputs.push_back(input);
  } else {
    return false;
  }
  return true;
}

void check(const Workload& workload, const std::string& path) {
  if (workload.phases.empty()) {
    refuse(path, "it has no phases");
  }
  for (const Phase& phase : workload.phases) {
    for (const size_t index : phase.traced) {
      if (index >= phase.repeats) {
        refuse(path, phase.name);
      }
    }
    for (const PhaseInput& input : phase.inputs) {
      if (input.slices == 0 || input.offset > workload.data_bytes) {
        refuse(path, phase.name);
      }
    }
  }
}

}  // namespace

size_t Workload::step_count() const {
  size_t count = 0;
  for (const Phase& phase : phases) {
    count += phase.repeats;
  }
  return count;
}

size_t Workload::traced_count() const {
  size_t count = 0;
  for (const Phase& phase : phases) {
    count += phase.traced.size();
  }
  return count;
}

Workload read_workload(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  Workload workload;
  size_t at = 0;
  for (size_t number = 0;; ++number) {
    const void* found = at < bytes.size() ? std::memchr(bytes.data() + at, '\n', bytes.size() - at) : nullptr;
    if (found == nullptr) {
      refuse(path, "it has no data");
    }
    const auto end = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data());
    const std::string line(reinterpret_cast<const char*>(bytes.data()) + at, end - at);
    at = end + 1;
    if (line == "data") {
      break;
    }
    if (number == 0 ? line != kFirstLine : !parse_line(line, workload)) {
      refuse(path, line);
    }
  }
  workload.data_bytes = bytes.size() - at;
  workload.data = allocate_aligned(workload.data_bytes + kPadding);
  std::memcpy(workload.data.get(), bytes.data() + at, workload.data_bytes);
  check(workload, path);
  return workload;
}

}  // namespace etprof
