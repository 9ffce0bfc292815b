// The ways a block can end, each with an exit code of its own.
#pragma once

#include <stdexcept>
#include <string>

namespace etprof {

enum class ExitCode : int {
  kDone = 0,
  kUsage = 2,
  kHidingRefused = 3,
  kLibraryMissing = 4,
  kModelUnreadable = 5,
  kModelInvalid = 6,
  kInputsWrong = 7,
  kExecutionFailed = 8,
  kNotWritten = 9,
  kCrashed = 70,
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode exit_code, const std::string& sentence) : std::runtime_error(sentence), code(exit_code) {}
  const ExitCode code;
};

}  // namespace etprof
