// Reads from a Mach-O file, a program or library of macOS, where its functions begin and what they are called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace etprof {

// Offsets are from the beginning of the image in memory. Without a symbol the name is empty.
struct MachFunction {
  uint64_t start;
  uint64_t end;
  std::string name;
};

struct MachImage {
  // As 32 hexadecimal digits; empty where the file has none.
  std::string uuid;
  // In the order of their addresses.
  std::vector<MachFunction> functions;

  // The function that this offset lies in, or null.
  const MachFunction* find(uint64_t offset) const;
};

// The images for arm64 and arm64e in these bytes: one, or several of a universal file; none where they are no Mach-O
// file of 64 bits, or contradict themselves. Whatever the bytes are, nothing outside of them is read.
std::vector<MachImage> read_mach_o(const uint8_t* data, size_t size);

}  // namespace etprof
