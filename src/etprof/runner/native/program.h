// One loaded method of a .pte, with everything it needs to stay loaded.
#pragma once

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <memory>
#include <string>
#include <vector>

#include "tensors.h"

namespace etprof {

// Opens the kernels and the XNNPACK backend, which are beside the thread pool's library.
void load_kernel_libraries();

// ExecuTorch's own words on what went wrong last.
void collect_runtime_messages();

// Checks the file from end to end, which loading does not.
void verify_program(const std::string& model_path);

class LoadedMethod {
 public:
  // An empty method name means `forward`, or the only one. The tracer may be null; it has to outlive this object.
  LoadedMethod(const std::string& model_path, const std::string& method_name, executorch::runtime::EventTracer* tracer);

  std::string name() const { return method_->method_meta().name(); }
  executorch::runtime::MethodMeta meta() const { return method_->method_meta(); }

  // Inputs are set again before each run, outside of the clock: planned memory may be reused by intermediate values.
  int64_t run_ns(const std::vector<Input>& inputs);

  // Before the first run: its outputs are to be kept. Those of later runs depend on how many there were where a model
  // keeps state.
  void keep_first_outputs() { keeps_outputs_ = true; }
  bool has_run() const { return has_run_; }
  const std::vector<KeptOutput>& first_outputs() const { return first_outputs_; }

 private:
  struct AlignedDelete {
    void operator()(uint8_t* memory) const;
  };
  void give_outputs_memory(const executorch::runtime::MethodMeta& meta);
  void keep_outputs();

  std::unique_ptr<executorch::extension::MmapDataLoader> loader_;
  std::unique_ptr<executorch::runtime::Program> program_;
  executorch::extension::MallocMemoryAllocator method_memory_;
  executorch::extension::MallocMemoryAllocator temporary_memory_;
  std::vector<std::unique_ptr<uint8_t, AlignedDelete>> planned_;
  std::vector<executorch::runtime::Span<uint8_t>> planned_spans_;
  std::unique_ptr<executorch::runtime::HierarchicalAllocator> planned_memory_;
  std::unique_ptr<executorch::runtime::MemoryManager> memory_;
  std::unique_ptr<executorch::runtime::Method> method_;
  bool keeps_outputs_ = false;
  bool has_run_ = false;
  std::vector<KeptOutput> first_outputs_;
};

}  // namespace etprof
