#include "work.h"

#include <cstring>

#include "program.h"
#include "result.h"
#include "sequence.h"
#include "workload.h"

namespace etprof {
namespace {

constexpr char kStepsMagic[] = "ETSTEPS1";

class MethodWork final : public Work {
 public:
  MethodWork(const Options& options, executorch::runtime::EventTracer* tracer, LoadLog* log)
      : method_(options.model_path, options.method_name, tracer, log),
        inputs_(build_inputs(method_.meta(), options.inputs, options.input_shapes)) {
    if (tracer == nullptr) {
      method_.keep_first_outputs();
    }
  }

  std::string method_name() const override { return method_.name(); }
  int64_t run_ns() override { return method_.run_ns(inputs_); }
  bool has_run() const override { return method_.has_run(); }
  const std::vector<KeptOutput>& first_outputs() const override { return method_.first_outputs(); }

 private:
  LoadedMethod method_;
  const std::vector<Input> inputs_;
};

bool are_equal(const std::vector<KeptOutput>& some, const std::vector<KeptOutput>& others) {
  bool same = some.size() == others.size();
  for (size_t i = 0; same && i < some.size(); ++i) {
    same = some[i].dtype == others[i].dtype && some[i].shape == others[i].shape && some[i].bytes == others[i].bytes;
  }
  return same;
}

class SequenceWork final : public Work {
 public:
  SequenceWork(const Options& options, executorch::runtime::EventTracer* tracer, LoadLog* log)
      : workload_(read_workload(options.workload)), sequence_(options.model_path, workload_, tracer, log) {}

  std::string method_name() const override { return sequence_.method_names(); }

  int64_t run_ns() override {
    if (run_ >= 2) {
      return sequence_.run_ns(nullptr);
    }
    std::vector<KeptOutput> outputs;
    const int64_t taken = sequence_.run_kept_ns(outputs, nullptr);
    if (++run_ == 1) {
      first_outputs_ = std::move(outputs);
    } else {
      agree_ = are_equal(first_outputs_, outputs);
    }
    return taken;
  }

  void prepare(size_t timed) override { steps_.assign(timed * workload_.step_count(), 0); }

  int64_t run_timed_ns() override {
    int64_t* steps = steps_.data() + timed_++ * workload_.step_count();
    const bool is_first = run_ == 0;
    run_ = 2;
    return is_first ? sequence_.run_kept_ns(first_outputs_, steps) : sequence_.run_ns(steps);
  }

  int64_t run_traced_ns() override { return sequence_.run_traced_ns(); }
  size_t traced_count() const override { return workload_.traced_count(); }
  bool has_run() const override { return run_ > 0; }
  const std::vector<KeptOutput>& first_outputs() const override { return first_outputs_; }
  std::optional<bool> sequences_agree() const override { return agree_; }

  void write_steps(const std::string& path) const override {
    const int64_t counts[] = {static_cast<int64_t>(timed_), static_cast<int64_t>(workload_.step_count())};
    const size_t magic = std::strlen(kStepsMagic);
    std::vector<uint8_t> bytes(magic + sizeof(counts) + steps_.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), kStepsMagic, magic);
    std::memcpy(bytes.data() + magic, counts, sizeof(counts));
    if (!steps_.empty()) {
      std::memcpy(bytes.data() + magic + sizeof(counts), steps_.data(), steps_.size() * sizeof(int64_t));
    }
    write_file(path, bytes.data(), bytes.size());
  }

 private:
  Workload workload_;
  Sequence sequence_;
  // Sequences so far, as far as it matters: the second is compared with the first where neither is timed.
  int run_ = 0;
  size_t timed_ = 0;
  std::vector<int64_t> steps_;
  std::vector<KeptOutput> first_outputs_;
  std::optional<bool> agree_;
};

}  // namespace

std::unique_ptr<Work> load_work(const Options& options, executorch::runtime::EventTracer* tracer, LoadLog* log) {
  if (options.workload.empty()) {
    return std::make_unique<MethodWork>(options, tracer, log);
  }
  return std::make_unique<SequenceWork>(options, tracer, log);
}

}  // namespace etprof
