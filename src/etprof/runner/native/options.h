// The command line: stock executor_runner flags and ours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etprof {

using Shape = std::vector<int32_t>;

struct Options {
  std::string model_path;
  std::string method_name;
  std::vector<std::string> inputs;
  std::vector<Shape> input_shapes;
  std::string workload;
  std::string steps_path;
  long num_executions = 1;
  long warmup = 0;
  long warmup_max = 0;
  long traced_executions = -1;
  long cpu_threads = -1;
  std::string etdump_path;
  std::string result_path;
  std::string outputs_path;
  std::string output_file;
  std::vector<std::string> hide_isa;
  std::vector<std::string> load_options;
  std::string page_cache;
  long exec_clock = 0;
  std::string kernel_samples;
  long sample_rate = 1000;
  long sample_ms = 1000;
  long sample_buffer = 1 << 20;
  long peaks = -1;
  bool help = false;
};

// Sizes with an x between them; the empty shape is called scalar.
Shape parse_shape(const std::string& text);

Options parse_options(int argc, char** argv);
std::string help_text();

}  // namespace etprof
