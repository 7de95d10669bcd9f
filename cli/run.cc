// lathe run: runs a compiled network, on given or random inputs, and compares with expected outputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/compare_outputs.h"
#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/run_network.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "compiler/import/onnx/tensor_file.h"
#include "rpc/device/runtime_status.h"
#include "runtime/artifact.h"
#include "runtime/cpu_features.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct RunOptions {
  std::string file, data;
  OutputTolerance tolerance;
  int repeat = 0, threads = 0;  // 0: as many as it takes; those that the artifact was compiled for.
  bool shows_kernels = false, is_json = false;
};

StatusOr<std::vector<NDArray>> GivenInputs(const Executor& executor, const TensorSet& set, const RunOptions& options) {
  if (set.inputs.size() != executor.inputs().size()) {
    return InvalidArgument(fmt::format("run: {} holds {} inputs (input_0.pb ...), the network has {}", options.data,
                                       set.inputs.size(), executor.inputs().size()));
  }
  std::vector<NDArray> arrays;
  for (size_t i = 0; i < set.inputs.size(); ++i) {
    const TensorInfo& info = executor.inputs()[i];
    const std::vector<int64_t> shape = set.inputs[i].shape();
    const std::string given = TensorText(set.inputs[i].dtype().ToString(), shape),
                      required = TensorText(info.dtype.Name(), info.ConstantShape().value_or(shape));
    if (given != required) {
      return InvalidArgument(fmt::format(
          "run: {}/input_{}.pb is {}, the network's input \"{}\" is {}; compile with --input-shape for another shape",
          options.data, i, given, info.name, required));
    }
    RuntimeResult<NDArray> array = NDArray::Create(info.dtype, shape);
    if (!array.ok()) return FromRuntime(array.error());
    std::memcpy(array->data(), set.inputs[i].bytes().data(), set.inputs[i].bytes().size());
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

// What is compared: every expected output there is. Says where none or not all are there, which must not look like
// success.
Status Compare(const Executor& executor, const std::vector<NDArray>& outputs, const TensorSet& set,
               const RunOptions& options) {
  if (options.data.empty()) return OkStatus();
  if (outputs.size() < set.outputs.size())
    return FailedPrecondition(fmt::format("compare {}: {} outputs expected, the network has {}", options.data,
                                          set.outputs.size(), outputs.size()));
  if (set.outputs.size() < outputs.size()) {
    std::fprintf(stderr, "lathe: %s holds %zu of %zu expected outputs (output_0.pb ...); only they are compared\n",
                 options.data.c_str(), set.outputs.size(), outputs.size());
  }
  for (size_t i = 0; i < set.outputs.size(); ++i) {
    RETURN_IF_ERROR(CompareOutput(executor.outputs()[i].name, outputs[i], set.outputs[i], options.tolerance)
                        .WithContext(fmt::format("compare {}", options.data)));
  }
  return OkStatus();
}

// Those that its target names, as far as this process has CPUs for them.
StatusOr<int> ThreadsOf(const std::string& file) {
  const RuntimeResult<Artifact> artifact = Artifact::Open(file);
  if (!artifact.ok()) return FromRuntime(artifact.error()).WithContext(fmt::format("run {}", file));
  return std::clamp(artifact->meta().num_cores(), 1, static_cast<int>(AvailableCpus().size()));
}

double MedianOf(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// A call of a kernel within an inference, where its data is as warm as the network leaves it.
struct CallTimes {
  std::string kernel;
  std::vector<double> ns;  // By inference.
};

// One inference at a time, timed; the first one pays for cold caches and pages and is left out.
class Stopwatch {
 public:
  Stopwatch(Executor& executor, std::span<const TensorView> inputs, bool times_calls)
      : executor_(executor), inputs_(inputs), times_calls_(times_calls) {}

  // `repeat` inferences; 0: five, and more for as long as a third of a second lasts.
  Status Run(int repeat) {
    constexpr int kLeast = 5, kMost = 1000;
    constexpr double kEnoughNs = 3e8;
    RETURN_IF_ERROR(Time().status());
    calls_.clear();
    double total_ns = 0;
    const auto is_enough = [&] {
      const int count = static_cast<int>(times_ns_.size());
      return repeat > 0 ? count == repeat : count >= kLeast && (total_ns >= kEnoughNs || count == kMost);
    };
    while (!is_enough()) {
      ASSIGN_OR_RETURN(const double time_ns, Time());
      times_ns_.push_back(time_ns);
      total_ns += time_ns;
    }
    return OkStatus();
  }
  size_t count() const { return times_ns_.size(); }
  double MedianNs() const { return MedianOf(times_ns_); }
  const std::vector<CallTimes>& calls() const { return calls_; }
  const std::vector<NDArray>& outputs() const { return outputs_; }

 private:
  StatusOr<double> Time() {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<KernelTime> times;
    RuntimeResult<std::vector<NDArray>> result = executor_.Run(inputs_, times_calls_ ? &times : nullptr);
    const auto end = std::chrono::steady_clock::now();
    if (!result.ok()) return FromRuntime(result.error());
    if (calls_.empty())
      for (const KernelTime& time : times) calls_.push_back({*time.kernel, {}});
    for (size_t i = 0; i < times.size(); ++i) calls_[i].ns.push_back(static_cast<double>(times[i].nanoseconds));
    if (outputs_.empty()) outputs_ = *std::move(result);  // Of the first inference: a state may change the next one's.
    return std::chrono::duration<double, std::nano>(end - begin).count();
  }

  Executor& executor_;
  const std::span<const TensorView> inputs_;
  const bool times_calls_;
  std::vector<double> times_ns_;
  std::vector<CallTimes> calls_;  // In the order of an inference.
  std::vector<NDArray> outputs_;
};

void PrintCalls(const std::vector<CallTimes>& calls, double inference_ns) {
  for (const CallTimes& call : calls) {
    const double ns = MedianOf(call.ns);
    std::printf("  %5.1f %%  %10s  %s\n", 100 * ns / inference_ns, FormatNs(ns).c_str(), call.kernel.c_str());
  }
}

nlohmann::ordered_json JsonOf(const std::vector<CallTimes>& calls) {
  auto json = nlohmann::ordered_json::array();
  for (const CallTimes& call : calls) json.push_back({{"kernel", call.kernel}, {"median_ns", MedianOf(call.ns)}});
  return json;
}

StatusOr<int> Run(const RunOptions& options) {
  int threads = options.threads;
  if (threads == 0) {
    ASSIGN_OR_RETURN(threads, ThreadsOf(options.file));
  }
  RuntimeResult<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(threads);
  if (!pool.ok()) return FromRuntime(pool.error());
  RuntimeResult<Executor> executor = Executor::Load(options.file, **pool, kWorkspaceLimitBytes);
  if (!executor.ok()) return FromRuntime(executor.error()).WithContext(fmt::format("run {}", options.file));
  TensorSet set;
  std::vector<NDArray> inputs;
  if (options.data.empty()) {
    ASSIGN_OR_RETURN(inputs, RandomInputs(*executor));
  } else {
    ASSIGN_OR_RETURN(set, ReadTensorSet(options.data));
    ASSIGN_OR_RETURN(inputs, GivenInputs(*executor, set, options));
  }
  const std::vector<TensorView> views = ViewsOf(inputs);
  Stopwatch stopwatch(*executor, views, options.shows_kernels);
  RETURN_IF_ERROR(stopwatch.Run(options.repeat));
  const std::vector<NDArray>& outputs = stopwatch.outputs();
  const double median = stopwatch.MedianNs();
  RETURN_IF_ERROR(Compare(*executor, outputs, set, options));
  nlohmann::ordered_json json = {{"median_ms", median / 1e6},
                                 {"repeat", stopwatch.count()},
                                 {"threads", threads},
                                 {"checked_outputs", set.outputs.size()},
                                 {"outputs", nlohmann::ordered_json::array()}};
  for (size_t i = 0; i < outputs.size(); ++i)
    json["outputs"].push_back({{"name", executor->outputs()[i].name}, {"shape", outputs[i].shape()}});
  if (options.shows_kernels) json["kernels"] = JsonOf(stopwatch.calls());
  if (options.is_json) {
    PrintJson(json);
  } else {
    std::printf("%s: %s per inference (median of %zu, %d %s)%s\n", options.file.c_str(), FormatNs(median).c_str(),
                stopwatch.count(), threads, threads == 1 ? "thread" : "threads",
                set.outputs.empty() ? "" : fmt::format("; {} outputs as expected", set.outputs.size()).c_str());
    PrintCalls(stopwatch.calls(), median);
  }
  return kExitOk;
}

}  // namespace

void AddRun(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run a compiled network");
  verb->add_option("NETWORK", options->file, "What `lathe compile` wrote")->required();
  verb->add_option("--data", options->data,
                   "Folder with input_*.pb and output_*.pb, as in ONNX test cases; default: random inputs");
  verb->add_option("--rtol", options->tolerance.rtol, "Allowed difference relative to the expected value")
      ->capture_default_str();
  verb->add_option("--atol", options->tolerance.atol, "Allowed absolute difference")->capture_default_str();
  verb->add_option("--repeat", options->repeat,
                   "Inferences to time, after one that is not; default: 5, and more within a third of a second")
      ->check(WholeNumber(1, kMostRepeats));
  verb->add_option("--threads", options->threads,
                   "Threads to use; default: those of the target that the network was compiled for")
      ->check(WholeNumber(1, std::numeric_limits<int>::max()));
  verb->add_flag(
      "--kernels", options->shows_kernels,
      "Also time each call of a kernel within the inferences: its data is as warm there as the network leaves "
      "it");
  verb->add_flag("--json", options->is_json, "Print the result as JSON");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
