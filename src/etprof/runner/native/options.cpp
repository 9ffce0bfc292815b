#include "options.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>

#include "failure.h"
#include "isa_table.h"

namespace etprof {
namespace {

constexpr long kMaxThreads = 1024;
constexpr long kMaxIterations = 10000000;
constexpr long kMaxSampleRate = 20000;
constexpr long kMaxSampleMs = 600000;
constexpr long kMaxSamples = 1 << 26;
constexpr long kMaxSize = 0x7fffffff;
constexpr long kMaxPasses = 1000;

struct Flag {
  const char* name;
  const char* value;
  const char* help;
  std::function<void(Options&, const std::string&)> set;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start <= list.size()) {
    const size_t comma = std::min(list.find(',', start), list.size());
    if (comma > start) {
      parts.push_back(list.substr(start, comma - start));
    }
    start = comma + 1;
  }
  return parts;
}

std::function<void(Options&, const std::string&)> number(const char* name, long Options::*field, long low, long high) {
  return [=](Options& options, const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || errno != 0 || value < low || value > high) {
      throw Failure(ExitCode::kUsage, std::string("--") + name + " takes a whole number from " + std::to_string(low) +
                                          " to " + std::to_string(high) + ", not '" + text + "'.");
    }
    options.*field = value;
  };
}

std::function<void(Options&, const std::string&)> text(std::string Options::*field) {
  return [=](Options& options, const std::string& value) { options.*field = value; };
}

std::function<void(Options&, const std::string&)> list(std::vector<std::string> Options::*field) {
  return [=](Options& options, const std::string& value) { options.*field = split(value); };
}

void set_shapes(Options& options, const std::string& text) {
  options.input_shapes.clear();
  for (const std::string& shape : split(text)) {
    options.input_shapes.push_back(parse_shape(shape));
  }
}

void set_page_cache(Options& options, const std::string& text) {
  if (text != "in" && text != "out") {
    throw Failure(ExitCode::kUsage, "--page_cache takes in or out, not '" + text + "'.");
  }
  options.page_cache = text;
}

const std::vector<Flag>& flags() {
  static const std::vector<Flag> all = {
      {"model_path", "FILE", "the .pte to run", text(&Options::model_path)},
      {"method_name", "NAME", "the method to run; default: forward, or the only one", text(&Options::method_name)},
      {"inputs", "FILE,FILE", "raw little-endian bytes of each input; default: every element is 1",
       list(&Options::inputs)},
      {"input_shapes", "SHAPE,SHAPE", "such as 1x3x224x224 or scalar; default: the largest the program allows",
       set_shapes},
      {"workload", "FILE", "phases and their inputs, as etprof writes them, in place of one method and its inputs",
       text(&Options::workload)},
      {"steps_path", "FILE", "where the times of a workload's steps go", text(&Options::steps_path)},
      {"num_executions", "N", "timed iterations, without a tracer; default: 1",
       number("num_executions", &Options::num_executions, 0, kMaxIterations)},
      {"warmup", "N", "iterations before them, at least; default: 0",
       number("warmup", &Options::warmup, 0, kMaxIterations)},
      {"warmup_max", "N", "and at most, ending when times are steady; default: --warmup, steady or not",
       number("warmup_max", &Options::warmup_max, 0, kMaxIterations)},
      {"traced_executions", "N",
       "iterations with ETDump, after the timed ones; default: --num_executions with\n"
       "                           --etdump_path, else 0",
       number("traced_executions", &Options::traced_executions, 0, kMaxIterations)},
      {"cpu_threads", "N", "threads in the pool; default: ExecuTorch's own choice (-1)",
       number("cpu_threads", &Options::cpu_threads, -1, kMaxThreads)},
      {"etdump_path", "FILE", "where the ETDump goes", text(&Options::etdump_path)},
      {"result_path", "FILE", "where the result (JSON) goes; default: standard output", text(&Options::result_path)},
      {"outputs_path", "DIR", "folder for the raw bytes of each output, output_0.bin and so on",
       text(&Options::outputs_path)},
      {"output_file", "BASE", "the same as BASE-0.bin and so on, as the stock executor_runner names them",
       text(&Options::output_file)},
      {"hide_isa", "NAME,NAME", "CPU features XNNPACK must not see", list(&Options::hide_isa)},
      {"load_options", "NAME=VALUE,NAME=VALUE", "options of the XNNPACK backend, set before the model is loaded",
       list(&Options::load_options)},
      {"page_cache", "in|out", "put the model into the page cache before it is loaded, or out of it; default: neither",
       set_page_cache},
      {"exec_clock", "0|1", "start again once, to measure how long the start of a process takes; default: 0",
       number("exec_clock", &Options::exec_clock, 0, 1)},
      {"kernel_samples", "FILE", "where samples of what executes during traced iterations go",
       text(&Options::kernel_samples)},
      {"sample_rate", "HZ", "samples a second of each thread; default: 1000",
       number("sample_rate", &Options::sample_rate, 1, kMaxSampleRate)},
      {"sample_ms", "MS", "trace more iterations until sampled this long; default: 1000",
       number("sample_ms", &Options::sample_ms, 0, kMaxSampleMs)},
      {"sample_buffer", "N", "samples kept at most, later ones are counted as dropped; default: 1048576",
       number("sample_buffer", &Options::sample_buffer, 1, kMaxSamples)},
      {"peaks", "N",
       "run no model: measure N times what this CPU can do at up to --cpu_threads threads;\n"
       "                           0 checks the loops and measures nothing",
       number("peaks", &Options::peaks, 0, kMaxPasses)},
  };
  return all;
}

const Flag& find_flag(const std::string& name) {
  for (const Flag& flag : flags()) {
    if (name == flag.name) {
      return flag;
    }
  }
  throw Failure(ExitCode::kUsage, "There is no flag --" + name + ". --help lists them.");
}

void check(const Options& options) {
  if (options.model_path.empty() && options.peaks < 0) {
    throw Failure(ExitCode::kUsage, "Name the model with --model_path FILE. --help lists all flags.");
  }
  if (options.cpu_threads == 0) {
    throw Failure(ExitCode::kUsage, "--cpu_threads takes 1 or more, or -1 for ExecuTorch's own choice.");
  }
  if (!options.workload.empty() && !(options.inputs.empty() && options.input_shapes.empty())) {
    throw Failure(ExitCode::kUsage, "--workload names its own inputs: omit --inputs and --input_shapes.");
  }
  if (options.traced_executions > 0 && options.etdump_path.empty()) {
    throw Failure(ExitCode::kUsage, "--traced_executions needs --etdump_path FILE to write to.");
  }
  if (!options.kernel_samples.empty() && (options.etdump_path.empty() || options.traced_executions == 0)) {
    throw Failure(ExitCode::kUsage, "--kernel_samples needs traced iterations: give --etdump_path FILE.");
  }
}

}  // namespace

Shape parse_shape(const std::string& text) {
  Shape shape;
  const char* at = text.c_str();
  for (bool more = text != "scalar"; more;) {
    char* end = nullptr;
    errno = 0;
    const long size = std::strtol(at, &end, 10);
    more = *end == 'x';
    if (end == at || errno != 0 || size < 0 || size > kMaxSize || (*end != '\0' && !more)) {
      throw Failure(ExitCode::kUsage, "--input_shapes takes shapes such as 1x3x224x224 or scalar, not '" + text + "'.");
    }
    shape.push_back(static_cast<int32_t>(size));
    at = end + 1;
  }
  return shape;
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help") {
      options.help = true;
      return options;
    }
    if (word.rfind("--", 0) != 0) {
      throw Failure(ExitCode::kUsage, "'" + word + "' is not a flag. --help lists them.");
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const Flag& flag = find_flag(name);
    if (equals == std::string::npos && i + 1 == argc) {
      throw Failure(ExitCode::kUsage, "--" + name + " needs a value (" + flag.value + ").");
    }
    flag.set(options, equals == std::string::npos ? argv[++i] : word.substr(equals + 1));
  }
  check(options);
  if (options.traced_executions < 0) {
    options.traced_executions = options.etdump_path.empty() ? 0 : options.num_executions;
  }
  return options;
}

std::string help_text() {
  std::string help =
      "etprof_runner: runs a .pte in one process: load, warm up, time, trace. Writes its result as JSON.\n\nFlags:\n";
  for (const Flag& flag : flags()) {
    std::string head = std::string("  --") + flag.name + " " + flag.value;
    head.resize(std::max<size_t>(head.size() + 1, 27), ' ');
    help += head + flag.help + "\n";
  }
  help += "  --help                   this text\n\nWhat can be hidden on " + std::string(kArchitecture) + ":";
  for (const IsaGroup& group : kGroups) {
    help += std::string(" ") + group.name;
  }
  return help +
         "\n\n"
         "Exit codes: 0 done, 2 wrong usage, 3 features cannot be hidden, 4 an ExecuTorch library cannot be loaded,\n"
         "5 the model cannot be read, 6 the model is invalid or needs what is not available, 7 an input does not fit the\n"
         "model, 8 the model failed while running, 9 a file cannot be written, 70 stopped by a signal.\n";
}

}  // namespace etprof
