// Short loops that keep one kind of pipeline full, or one level of the memory busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etprof {

// Every multiply-add is one times one: the sum of the accumulators is the number of those that were executed.
struct ComputeLoop {
  const char* name;
  // The features of the CPU that it needs, with spaces between them.
  const char* features;
  uint64_t instructions;
  // Of one iteration. Where the length of a vector is the CPU's choice, it is asked for.
  uint64_t (*macs)();
  double (*run)(uint64_t iterations);
};

// Sizes are multiples of kMemoryStep. `copy` reads the first half and writes the second.
struct MemoryLoop {
  const char* features;
  void (*read)(char* data, size_t bytes, uint64_t repeats);
  void (*write)(char* data, size_t bytes, uint64_t repeats);
  void (*copy)(char* data, size_t bytes, uint64_t repeats);
};

constexpr size_t kMemoryStep = 1024;
constexpr uint64_t kAdditions = 64;

const std::vector<ComputeLoop>& compute_loops();
// The widest vectors first.
const std::vector<MemoryLoop>& memory_loops();
// A chain of kAdditions additions in each iteration, of which a core executes one in each cycle.
void add_in_a_chain(uint64_t iterations);

template <typename Lane>
double sum_lanes(const void* data, size_t bytes) {
  double sum = 0;
  for (size_t i = 0; i < bytes / sizeof(Lane); ++i) {
    sum += static_cast<double>(static_cast<const Lane*>(data)[i]);
  }
  return sum;
}

}  // namespace etprof
