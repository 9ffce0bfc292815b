// Makes sure that a process stopped by a signal still leaves its result and a sentence behind.
#pragma once

#include <string>

#include "result.h"

namespace etprof {

// What to say if the process crashes or is asked to stop from now on. Without a path only the sentence is written, to
// standard error.
void update_crash_note(const std::string& result_path, const char* stage, const Result& result);

}  // namespace etprof
