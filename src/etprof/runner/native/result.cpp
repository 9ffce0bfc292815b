#include "result.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "failure.h"

namespace etprof {
namespace {

std::string to_json(const CpuState& state);
std::string to_json(const CpuTime& time);
std::string to_json(const ThreadTime& thread);
std::string to_json(const Output& output);
std::string to_json(const LoadStage& stage);
std::string to_json(int64_t number) { return std::to_string(number); }
std::string to_json(bool yes) { return yes ? "true" : "false"; }
std::string to_json(const std::string& text) { return "\"" + escape_json(text) + "\""; }

std::string to_json(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", number);
  return text;
}

template <typename T>
std::string to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : "null";
}

template <typename T>
std::string to_json(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    text += (text.size() > 1 ? "," : "") + to_json(value);
  }
  return text + "]";
}

std::string to_json(const std::map<int, int64_t>& values) {
  std::string text = "{";
  for (const auto& [key, value] : values) {
    text += (text.size() > 1 ? ",\"" : "\"") + std::to_string(key) + "\":" + to_json(value);
  }
  return text + "}";
}

std::string to_json(const CpuState& state) {
  return "{\"frequencies_khz\":" + to_json(state.frequencies_khz) + ",\"load_average\":" + to_json(state.load_average) +
         ",\"temperature_c\":" + to_json(state.temperature_c) + ",\"throttling\":" + to_json(state.throttling) + "}";
}

std::string to_json(const CpuTime& time) {
  return "{\"wall_ns\":" + to_json(time.wall_ns) + ",\"cpu_ns\":" + to_json(time.cpu_ns) +
         ",\"threads\":" + to_json(time.threads) + "}";
}

std::string to_json(const ThreadTime& thread) {
  return "{\"ran_ns\":" + to_json(thread.ran_ns) + ",\"waited_ns\":" + to_json(thread.waited_ns) +
         ",\"core_before\":" + to_json(thread.core_before) + ",\"core_after\":" + to_json(thread.core_after) + "}";
}

std::string to_json(const Output& output) {
  return "{\"dtype\":" + to_json(output.dtype) + ",\"shape\":" + to_json(output.shape) +
         ",\"sha256\":" + to_json(output.sha256) + ",\"file\":" + to_json(output.file) + "}";
}

std::string to_json(const LoadStage& stage) {
  const MemoryReading& memory = stage.memory;
  return "{\"name\":" + to_json(stage.name) + ",\"duration_ns\":" + to_json(stage.duration_ns) +
         ",\"peak_bytes\":" + to_json(stage.peak_bytes) + ",\"rss_bytes\":" + to_json(memory.rss_bytes) +
         ",\"pss_bytes\":" + to_json(memory.pss_bytes) + ",\"model_bytes\":" + to_json(memory.model_bytes) +
         ",\"library_bytes\":" + to_json(memory.library_bytes) + ",\"cache_bytes\":" + to_json(memory.cache_bytes) +
         ",\"file_bytes\":" + to_json(memory.file_bytes) +
         ",\"anonymous_bytes\":" + to_json(memory.anonymous_bytes) + "}";
}

template <typename T>
std::string field(const char* name, const T& value) {
  return std::string(",\"") + name + "\":" + to_json(value);
}

// How many bytes the character at `at` has, or zero where the text is not UTF-8.
size_t utf8_length(const std::string& text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || (static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) {
      return 0;
    }
  }
  return length;
}

}  // namespace

std::string escape_json(const std::string& text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    const char c = text[at];
    if (length == 0) {
      escaped += '?';
    } else if (c == '"' || c == '\\') {
      escaped += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", c);
      escaped += code;
    } else {
      escaped += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return escaped;
}

ResultText render(const Result& r) {
  ResultText text;
  text.head = "{\"schema_version\":2,\"runner\":\"native\"" + field("runner_version", std::string(ETPROF_VERSION)) +
              field("executorch_version", std::string(ETPROF_EXECUTORCH_VERSION)) + ",\"error\":\"";
  text.tail = "\"" + field("method_name", r.method_name) + field("threads", r.threads) +
              field("cpu_affinity", std::vector<int64_t>(r.cpu_affinity.begin(), r.cpu_affinity.end())) +
              field("features_seen", r.features_seen) + field("features_hidden", r.features_hidden) +
              field("isa_proof", r.isa_proof) + field("load_ns", r.load_ns) + field("warmup_ns", r.warmup_ns) +
              field("warmup_steady", r.warmup_steady) + field("latency_ns", r.latency_ns) +
              field("traced_ns", r.traced_ns) + field("peak_bytes", r.peak_bytes) + field("stages", r.stages) +
              field("planned_bytes", r.planned_bytes) + field("cached_share", r.cached_share) +
              field("cpu_before", r.cpu_before) +
              field("cpu_after", r.cpu_after) + field("cpu_time", r.cpu_time) + field("outputs", r.outputs) +
              field("sequences_agree", r.sequences_agree) + "}\n";
  return text;
}

void write_file(const std::string& path, const void* data, size_t size) {
  const std::string temporary = path + ".part";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  bool written = file != nullptr && std::fwrite(data, 1, size, file) == size;
  written = file != nullptr && std::fclose(file) == 0 && written;
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    throw Failure(ExitCode::kNotWritten, "Cannot write " + path + ": " + reason + ".");
  }
}

}  // namespace etprof
