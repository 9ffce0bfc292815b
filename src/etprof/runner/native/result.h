// What a block has to say, and its form on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpu_state.h"
#include "cpu_time.h"
#include "memory.h"

namespace etprof {

struct Output {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string sha256;
  std::string file;
};

// Empty means not known, or not reached.
struct Result {
  std::string method_name;
  std::optional<int64_t> threads;
  std::vector<int> cpu_affinity;
  std::vector<std::string> features_seen;
  std::vector<std::string> features_hidden;
  std::string isa_proof;
  std::optional<int64_t> load_ns;
  std::vector<int64_t> warmup_ns;
  std::optional<bool> warmup_steady;
  std::vector<int64_t> latency_ns;
  std::vector<int64_t> traced_ns;
  std::optional<int64_t> peak_bytes;
  std::vector<LoadStage> stages;
  std::optional<int64_t> planned_bytes;
  std::optional<double> cached_share;
  std::optional<CpuState> cpu_before;
  std::optional<CpuState> cpu_after;
  std::optional<CpuTime> cpu_time;
  std::vector<Output> outputs;
  std::optional<bool> sequences_agree;
};

// The JSON text around the error's sentence, so that a signal handler can put them together without allocating.
struct ResultText {
  std::string head;
  std::string tail;
};

ResultText render(const Result& result);
std::string escape_json(const std::string& text);

// Writes to a temporary name and renames, so that a reader never sees an incomplete file.
void write_file(const std::string& path, const void* data, size_t size);

}  // namespace etprof
