// What is in memory where a thread was sampled: library, function, name, and the machine code itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace etprof {

struct Location {
  int library = -1;
  uint64_t offset = 0;
  // Where the function begins, from the library's own tables; negative where they do not say.
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
  // Names of compute kernels in the symbol tables of ExecuTorch's libraries, sorted.
  const std::vector<std::string>& kernel_names() const { return kernel_names_; }

 private:
  // Executable memory; `base` is where its library begins.
  struct Segment {
    uint64_t start;
    uint64_t end;
    uint64_t base;
    int library;
  };
  struct Tables;

  void find_libraries();
  void find_function(uint64_t address, const Segment& segment, Location& found) const;
  void add_kernel_name(const char* name);

  std::vector<std::string> libraries_;
  std::vector<std::string> kernel_names_;
  std::vector<Segment> segments_;
  // What is read from files, where the system does not keep it in memory.
  std::shared_ptr<Tables> tables_;
};

}  // namespace etprof
