// The least a program can do: load a method and execute it in a loop. Prints nanoseconds an iteration, inputs not
// counted.
#include <dlfcn.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t thread_count);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

int main(int argc, char** argv) {
  if (argc != 5) {
    return 2;
  }
  const std::string libraries = argv[1];
  const int warmup = std::atoi(argv[3]);
  const int iterations = std::atoi(argv[4]);
  for (const char* name : {"kernels_optimized", "kernels_quantized", "backend_xnnpack"}) {
    if (dlopen((libraries + "/libexecutorch_" + name + ".so").c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      return 4;
    }
  }
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(1);
  executorch::extension::Module module(argv[2], executorch::extension::Module::LoadMode::Mmap);
  const auto meta = module.method_meta("forward");
  const auto info = meta.ok() ? meta->input_tensor_meta(0) : executorch::runtime::Error::InvalidProgram;
  if (!info.ok() || module.load_forward() != executorch::runtime::Error::Ok) {
    return 6;
  }
  std::vector<float> ones(info->nbytes() / sizeof(float), 1.0F);
  const std::vector<executorch::aten::SizesType> sizes(info->sizes().begin(), info->sizes().end());
  auto input = executorch::extension::from_blob(ones.data(), sizes);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  auto* method = module.method("forward").get();
#pragma GCC diagnostic pop
  if (method->set_input(*input, 0) != executorch::runtime::Error::Ok) {
    return 7;
  }
  for (int i = 0; i < warmup; ++i) {
    (void)method->execute();
  }
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < iterations; ++i) {
    (void)method->execute();
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  std::printf("%.1f\n", spent.count() / iterations);
}
