// One loaded method of a .pte, with everything it needs to stay loaded.
#pragma once

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aligned.h"
#include "load_log.h"
#include "tensors.h"

namespace etprof {

// Opens the kernels and the XNNPACK backend, which are beside the thread pool's library.
void load_kernel_libraries();

// ExecuTorch's own words on what went wrong last.
void collect_runtime_messages();

// Checks the file from end to end, which loading does not.
void verify_program(const std::string& model_path);

// Planned buffers that several methods have in common, by index. The first method that has one gives it its memory.
struct Arena {
  AlignedBytes memory;
  size_t size = 0;
};
using Arenas = std::map<size_t, Arena>;

class LoadedMethod {
 public:
  // An empty method name means `forward`, or the only one. The tracer may be null; it has to outlive this object.
  // So have the log of what loading takes and the arenas of several methods, which may be null too.
  LoadedMethod(const std::string& model_path, const std::string& method_name, executorch::runtime::EventTracer* tracer,
               LoadLog* log = nullptr, Arenas* arenas = nullptr);

  std::string name() const { return method_->method_meta().name(); }
  executorch::runtime::MethodMeta meta() const { return method_->method_meta(); }

  // The first inference of another method is the one that counts.
  void stop_logging() { log_ = nullptr; }

  // Inputs are set again before each run, outside of the clock: planned memory may be reused by intermediate values.
  int64_t run_ns(const std::vector<Input>& inputs);

  // Before the first run: its outputs are to be kept. Those of later runs depend on how many there were where a model
  // keeps state.
  void keep_first_outputs() { keeps_outputs_ = true; }
  bool has_run() const { return has_run_; }
  const std::vector<KeptOutput>& first_outputs() const { return first_outputs_; }
  // Those of the latest run.
  std::vector<KeptOutput> copy_outputs() const;

  // Before the first run, once all methods are loaded: what planned memory holds is what `reset_state` is to bring back.
  void remember_state();
  void reset_state();

 private:
  executorch::runtime::Span<uint8_t> plan_buffer(size_t index, size_t size, Arenas* arenas);
  void give_outputs_memory(const executorch::runtime::MethodMeta& meta);
  void note_planned(size_t size);

  LoadLog* log_;
  std::unique_ptr<executorch::runtime::DataLoader> loader_;
  std::unique_ptr<executorch::runtime::Program> program_;
  executorch::extension::MallocMemoryAllocator method_memory_;
  executorch::extension::MallocMemoryAllocator temporary_memory_;
  std::vector<AlignedBytes> planned_;
  std::vector<executorch::runtime::Span<uint8_t>> planned_spans_;
  std::unique_ptr<executorch::runtime::HierarchicalAllocator> planned_memory_;
  std::unique_ptr<executorch::runtime::MemoryManager> memory_;
  std::unique_ptr<executorch::runtime::Method> method_;
  bool keeps_outputs_ = false;
  bool has_run_ = false;
  std::vector<KeptOutput> first_outputs_;
  // Of each planned buffer what it held before the first run; empty where that was zeros. Nothing where nobody asked.
  std::vector<std::vector<uint8_t>> initial_;
};

}  // namespace etprof
