// The shape of the tables in isa_table.h, which are generated from isa.py so that both languages read one source.
#pragma once

#include <cstddef>

namespace etprof {

struct IsaField {
  const char* name;
  size_t offset;
  bool ambiguous;
};

struct IsaGroup {
  const char* name;
  // Separated by spaces.
  const char* members;
};

struct ReportedField {
  const char* name;
  // How the operating system calls it: a word of /proc/cpuinfo, a name below hw.optional.arm, or nothing.
  const char* word;
  // Or where it is in the auxiliary vector.
  unsigned long entry;
  int bit;
};

}  // namespace etprof
