// The way from the start of the process to steady inferences: how long each stage took, and what memory is held then.
#pragma once

#include <executorch/runtime/core/data_loader.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory.h"

namespace etprof {

// Reading memory takes a millisecond, which is in no duration.
class LoadLog {
 public:
  // `cache_path` is the file that the backend keeps packed weights in, or empty.
  void set_files(const std::string& model_path, const std::string& cache_path);

  // A stage with a duration that was measured elsewhere, or none.
  void note(const char* stage, std::optional<int64_t> duration_ns = std::nullopt);
  void begin();
  void end(const char* stage);

  // A loader that reads memory before a part of the file is given back: then the most of it is resident.
  std::unique_ptr<executorch::runtime::DataLoader> watch(std::unique_ptr<executorch::runtime::DataLoader> loader);
  void before_release();

  void add_planned(size_t bytes) { planned_bytes_ = planned_bytes_.value_or(0) + static_cast<int64_t>(bytes); }

  const std::vector<LoadStage>& stages() const { return stages_; }
  std::optional<int64_t> planned_bytes() const { return planned_bytes_; }
  // Of a stage that has ended.
  int64_t duration_ns(const char* stage) const;
  // The highest peak of all stages; the system's own is lost where it was reset after each.
  std::optional<int64_t> peak_bytes() const;

 private:
  MemoryReading read() const;
  void add(const char* stage, std::optional<int64_t> duration_ns);
  LoadStage* find(const char* stage);

  std::string model_path_;
  std::string cache_path_;
  std::vector<LoadStage> stages_;
  std::optional<MemoryReading> fullest_;
  int64_t most_pages_ = 0;
  std::optional<int64_t> planned_bytes_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::nanoseconds spent_{0};
};

}  // namespace etprof
