// ExecuTorch's thread pool library exports these names, but its wheel ships no header that declares them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::extension::threadpool {

class ThreadPool final {
 public:
  size_t get_thread_count() const;
  bool _unsafe_reset_threadpool(uint32_t thread_count);
};

ThreadPool* get_threadpool();

}  // namespace executorch::extension::threadpool
