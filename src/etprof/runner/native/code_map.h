// What is in memory where a thread was sampled: library, function, name, and the machine code itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etprof {

struct Location {
  int library = -1;
  uint64_t offset = 0;
  // Where the function begins, from the library's unwind table or symbol table; negative where neither knows.
  int64_t function = -1;
  std::string symbol;
  std::string code;
  // The thread had left for the system: it stands at a system call or right behind one.
  bool in_system = false;
};

class CodeMap {
 public:
  CodeMap();

  Location locate(uint64_t address) const;
  const std::vector<std::string>& libraries() const { return libraries_; }
  // Names of compute kernels in the dynamic symbol tables of ExecuTorch's libraries, sorted.
  const std::vector<std::string>& kernel_names() const { return kernel_names_; }

 private:
  struct Segment {
    uint64_t start;
    uint64_t end;
    uint64_t base;
    int library;
  };

  std::vector<std::string> libraries_;
  std::vector<std::string> kernel_names_;
  std::vector<Segment> segments_;
};

}  // namespace etprof
