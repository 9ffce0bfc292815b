#include "program.h"

#include <dlfcn.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "failure.h"
#include "load_options.h"

namespace etprof {
namespace {

using executorch::extension::MmapDataLoader;
using executorch::runtime::Error;
using executorch::runtime::Program;

#ifdef __APPLE__
constexpr const char* kLibrarySuffix = ".dylib";
#else
constexpr const char* kLibrarySuffix = ".so";
#endif

std::string last_message;

void remember_message(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t, const char* message,
                      size_t length) {
  if (level == et_pal_log_level_t::kError || level == et_pal_log_level_t::kFatal) {
    last_message.assign(message, length);
    std::fprintf(stderr, "executorch: %s\n", last_message.c_str());
  }
}

std::string reason(Error error) {
  const std::string name = executorch::runtime::to_string(error);
  return last_message.empty() ? name : last_message + " (" + name + ")";
}

[[noreturn]] void fail_to_load(const std::string& model_path, Error error) {
  throw Failure(ExitCode::kModelInvalid, "ExecuTorch cannot load " + model_path + ": " + reason(error) + ".");
}

std::unique_ptr<MmapDataLoader> open_model(const std::string& model_path) {
  struct stat status {};
  errno = 0;
  if (stat(model_path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    const std::string why = errno != 0 ? std::strerror(errno) : "it is not a file";
    throw Failure(ExitCode::kModelUnreadable, "Cannot read the model " + model_path + ": " + why + ".");
  }
  auto loader = MmapDataLoader::from(model_path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  if (!loader.ok()) {
    throw Failure(ExitCode::kModelUnreadable,
                  "Cannot read the model " + model_path + ": " + reason(loader.error()) + ".");
  }
  return std::make_unique<MmapDataLoader>(std::move(*loader));
}

std::string find_method(const Program& program, const std::string& model_path, const std::string& asked) {
  const std::string wanted = asked.empty() ? "forward" : asked;
  std::string known;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const auto name = program.get_method_name(i);
    if (name.ok() && (wanted == *name || (asked.empty() && program.num_methods() == 1))) {
      return *name;
    }
    known += (known.empty() ? "" : ", ") + std::string(name.ok() ? *name : "?");
  }
  throw Failure(ExitCode::kModelInvalid, model_path + " has no method '" + wanted + "', only: " + known + ".");
}

}  // namespace

void collect_runtime_messages() {
  executorch::runtime::runtime_init();
  executorch::runtime::register_pal(executorch::runtime::PalImpl::create(remember_message, "etprof_runner"));
}

void load_kernel_libraries() {
  Dl_info info{};
  void* neighbour = dlsym(RTLD_DEFAULT, "cpuinfo_initialize");
  if (neighbour == nullptr || dladdr(neighbour, &info) == 0) {
    throw Failure(ExitCode::kLibraryMissing, "ExecuTorch's thread pool library is not loaded.");
  }
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  for (const char* name : {"kernels_optimized", "kernels_quantized", "backend_xnnpack"}) {
    const std::string library = folder + "libexecutorch_" + name + kLibrarySuffix;
    if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      throw Failure(ExitCode::kLibraryMissing, std::string("Cannot load ") + library + ": " + dlerror() + ".");
    }
  }
}

void verify_program(const std::string& model_path) {
  const auto loader = open_model(model_path);
  const auto program = Program::load(loader.get(), Program::Verification::InternalConsistency);
  if (!program.ok()) {
    fail_to_load(model_path, program.error());
  }
}

LoadedMethod::LoadedMethod(const std::string& model_path, const std::string& method_name,
                           executorch::runtime::EventTracer* tracer, LoadLog* log, Arenas* arenas)
    : log_(log), loader_(log != nullptr ? log->watch(open_model(model_path)) : open_model(model_path)) {
  auto program = Program::load(loader_.get());
  if (!program.ok()) {
    fail_to_load(model_path, program.error());
  }
  program_ = std::make_unique<Program>(std::move(*program));
  if (log_ != nullptr) {
    log_->end("program");
  }
  const std::string name = find_method(*program_, model_path, method_name);
  const auto meta = program_->method_meta(name.c_str());
  if (!meta.ok()) {
    fail_to_load(model_path, meta.error());
  }
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const auto size = meta->memory_planned_buffer_size(i);
    if (!size.ok() || *size < 0) {
      fail_to_load(model_path, Error::InvalidProgram);
    }
    planned_spans_.push_back(plan_buffer(i, static_cast<size_t>(*size), arenas));
  }
  planned_memory_ = std::make_unique<executorch::runtime::HierarchicalAllocator>(
      executorch::runtime::Span<executorch::runtime::Span<uint8_t>>(planned_spans_.data(), planned_spans_.size()));
  memory_ =
      std::make_unique<executorch::runtime::MemoryManager>(&method_memory_, planned_memory_.get(), &temporary_memory_);
  auto method = program_->load_method(name.c_str(), memory_.get(), tracer, nullptr, &load_options());
  if (!method.ok()) {
    fail_to_load(model_path, method.error());
  }
  method_ = std::make_unique<executorch::runtime::Method>(std::move(*method));
  give_outputs_memory(*meta);
  if (log_ != nullptr) {
    log_->end("method");
  }
}

executorch::runtime::Span<uint8_t> LoadedMethod::plan_buffer(size_t index, size_t size, Arenas* arenas) {
  const auto shared = arenas != nullptr ? arenas->find(index) : Arenas::iterator{};
  if (arenas == nullptr || shared == arenas->end()) {
    planned_.push_back(allocate_aligned(size));
    note_planned(size);
    return {planned_.back().get(), size};
  }
  Arena& arena = shared->second;
  if (!arena.memory) {
    arena = {allocate_aligned(size), size};
    note_planned(size);
  }
  if (arena.size < size) {
    throw Failure(ExitCode::kModelInvalid, "The methods of the model plan a shared buffer with different sizes.");
  }
  return {arena.memory.get(), size};
}

void LoadedMethod::remember_state() {
  for (const auto& span : planned_spans_) {
    const bool is_zero = std::all_of(span.begin(), span.end(), [](uint8_t byte) { return byte == 0; });
    initial_.emplace_back(is_zero ? std::vector<uint8_t>() : std::vector<uint8_t>(span.begin(), span.end()));
  }
}

void LoadedMethod::reset_state() {
  for (size_t i = 0; i < initial_.size(); ++i) {
    if (initial_[i].empty()) {
      std::memset(planned_spans_[i].data(), 0, planned_spans_[i].size());
    } else {
      std::memcpy(planned_spans_[i].data(), initial_[i].data(), initial_[i].size());
    }
  }
}

void LoadedMethod::note_planned(size_t size) {
  if (log_ != nullptr) {
    log_->add_planned(size);
  }
}

// An exporter may leave outputs to whoever runs the program.
void LoadedMethod::give_outputs_memory(const executorch::runtime::MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const auto info = meta.output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned()) {
      continue;
    }
    const size_t size = std::max<size_t>(info->nbytes(), 1);
    planned_.push_back(allocate_aligned(size));
    note_planned(size);
    const Error status = method_->set_output_data_ptr(planned_.back().get(), size, i);
    if (status != Error::Ok) {
      throw Failure(ExitCode::kModelInvalid,
                    "Output " + std::to_string(i) + " of the model cannot be given memory: " + reason(status) + ".");
    }
  }
}

int64_t LoadedMethod::run_ns(const std::vector<Input>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Error status = method_->set_input(inputs[i].value, i);
    if (status != Error::Ok) {
      throw Failure(ExitCode::kInputsWrong,
                    "The model refuses input " + std::to_string(i) + ": " + reason(status) + ".");
    }
  }
  if (!has_run_ && log_ != nullptr) {
    log_->note("inputs");
    log_->begin();
  }
  const auto start = std::chrono::steady_clock::now();
  const Error status = method_->execute();
  const auto end = std::chrono::steady_clock::now();
  if (status != Error::Ok) {
    throw Failure(ExitCode::kExecutionFailed, "The model failed while running: " + reason(status) + ".");
  }
  if (!has_run_ && log_ != nullptr) {
    log_->end("first inference");
  }
  if (!has_run_ && keeps_outputs_) {
    first_outputs_ = copy_outputs();
  }
  has_run_ = true;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
}

std::vector<KeptOutput> LoadedMethod::copy_outputs() const {
  std::vector<executorch::runtime::EValue> values(method_->outputs_size());
  const Error status = method_->get_outputs(values.data(), values.size());
  if (status != Error::Ok) {
    throw Failure(ExitCode::kExecutionFailed, "The model's outputs cannot be read: " + reason(status) + ".");
  }
  std::vector<KeptOutput> outputs;
  for (const auto& value : values) {
    outputs.push_back(keep_output(value));
  }
  return outputs;
}

}  // namespace etprof
