#include "load_log.h"

#include <algorithm>
#include <cstring>

#include "cpu_state.h"

namespace etprof {
namespace {

using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;

// What a buffer needs to tell the log before its memory goes.
struct Watched {
  LoadLog* log;
  FreeableBuffer buffer;
};

void release(void* context, void*, size_t) {
  const std::unique_ptr<Watched> watched(static_cast<Watched*>(context));
  watched->log->before_release();
  watched->buffer.Free();
}

class WatchedLoader final : public DataLoader {
 public:
  WatchedLoader(std::unique_ptr<DataLoader> loader, LoadLog& log) : loader_(std::move(loader)), log_(log) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& info) const override {
    auto loaded = loader_->load(offset, size, info);
    if (!loaded.ok()) {
      return loaded.error();
    }
    auto watched = std::make_unique<Watched>(Watched{&log_, std::move(*loaded)});
    const void* data = watched->buffer.data();
    return FreeableBuffer(data, size, release, watched.release());
  }

  Error load_into(size_t offset, size_t size, const SegmentInfo& info, void* buffer) const override {
    return loader_->load_into(offset, size, info, buffer);
  }

  Result<size_t> size() const override { return loader_->size(); }

 private:
  std::unique_ptr<DataLoader> loader_;
  LoadLog& log_;
};

}  // namespace

void LoadLog::set_files(const std::string& model_path, const std::string& cache_path) {
  model_path_ = model_path;
  cache_path_ = cache_path;
}

void LoadLog::note(const char* stage, std::optional<int64_t> duration_ns) { add(stage, duration_ns); }

void LoadLog::begin() {
  reset_peak();
  spent_ = std::chrono::nanoseconds(0);
  began_ = std::chrono::steady_clock::now();
}

void LoadLog::end(const char* stage) {
  const auto taken = std::chrono::steady_clock::now() - began_ - spent_;
  // Backends pack weights while a method is loaded; before that only the check of the file's header gives parts back.
  if (fullest_ && std::strcmp(stage, "method") == 0) {
    LoadStage* packing = find("packing");
    if (packing == nullptr) {
      stages_.push_back({"packing", std::nullopt, std::nullopt, *fullest_});
    } else if (fullest_->rss_bytes.value_or(0) > packing->memory.rss_bytes.value_or(0)) {
      packing->memory = *fullest_;
    }
  }
  fullest_.reset();
  add(stage, std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count());
  begin();
}

void LoadLog::add(const char* stage, std::optional<int64_t> duration_ns) {
  LoadStage* known = find(stage);
  if (known == nullptr) {
    stages_.push_back({stage, duration_ns, read_peak_bytes(), read()});
    return;
  }
  // The methods of a workload are loaded one after the other: before them is before the first, after them after the last.
  known->duration_ns = known->duration_ns.value_or(0) + duration_ns.value_or(0);
  known->peak_bytes = std::max(known->peak_bytes, read_peak_bytes());
  if (std::strcmp(stage, "method") == 0) {
    known->memory = read();
  }
}

LoadStage* LoadLog::find(const char* stage) {
  const auto found =
      std::find_if(stages_.begin(), stages_.end(), [&](const LoadStage& each) { return each.name == stage; });
  return found == stages_.end() ? nullptr : &*found;
}

MemoryReading LoadLog::read() const { return read_memory(model_path_, cache_path_); }

std::unique_ptr<DataLoader> LoadLog::watch(std::unique_ptr<DataLoader> loader) {
  return std::make_unique<WatchedLoader>(std::move(loader), *this);
}

void LoadLog::before_release() {
  const auto start = std::chrono::steady_clock::now();
  // Of many parts that are given back one after the other, the first is when the most is resident.
  const int64_t pages = read_rss_pages();
  if (!fullest_ || pages > most_pages_) {
    fullest_ = read();
    most_pages_ = pages;
  }
  spent_ += std::chrono::steady_clock::now() - start;
}

int64_t LoadLog::duration_ns(const char* stage) const {
  for (const LoadStage& each : stages_) {
    if (each.name == stage && each.duration_ns) {
      return *each.duration_ns;
    }
  }
  return 0;
}

std::optional<int64_t> LoadLog::peak_bytes() const {
  std::optional<int64_t> highest = read_peak_bytes();
  for (const LoadStage& each : stages_) {
    // The system counts resident pages with a delay of a few dozen, so that what was read page by page may be more.
    const int64_t most = std::max(each.peak_bytes.value_or(0), each.memory.rss_bytes.value_or(0));
    if (most > highest.value_or(0)) {
      highest = most;
    }
  }
  return highest;
}

}  // namespace etprof
