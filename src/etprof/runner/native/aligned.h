// Memory that kernels may load whole vectors from.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace etprof {

constexpr std::align_val_t kBufferAlignment{64};

struct AlignedDelete {
  void operator()(uint8_t* memory) const { ::operator delete(memory, kBufferAlignment); }
};

using AlignedBytes = std::unique_ptr<uint8_t, AlignedDelete>;

// Filled with zeros.
inline AlignedBytes allocate_aligned(size_t size) {
  AlignedBytes memory(static_cast<uint8_t*>(::operator new(size, kBufferAlignment)));
  std::memset(memory.get(), 0, size);
  return memory;
}

}  // namespace etprof
