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
#include "support/status_macros.h"

namespace lathe {
namespace {

struct RunOptions {
  std::string file, data;
  OutputTolerance tolerance;
  int repeat = 1, threads = 1;
  bool is_json = false;
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

StatusOr<int> Run(const RunOptions& options) {
  RuntimeResult<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(options.threads);
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
  std::vector<double> times_ns;
  std::vector<NDArray> outputs;
  for (int i = 0; i < options.repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    RuntimeResult<std::vector<NDArray>> result = executor->Run(views);
    if (!result.ok()) return FromRuntime(result.error());
    times_ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    outputs = *std::move(result);
  }
  std::nth_element(times_ns.begin(), times_ns.begin() + times_ns.size() / 2, times_ns.end());
  const double median = times_ns[times_ns.size() / 2];
  RETURN_IF_ERROR(Compare(*executor, outputs, set, options));
  nlohmann::ordered_json json = {{"median_ms", median / 1e6},
                                 {"repeat", options.repeat},
                                 {"threads", options.threads},
                                 {"checked_outputs", set.outputs.size()},
                                 {"outputs", nlohmann::ordered_json::array()}};
  for (size_t i = 0; i < outputs.size(); ++i)
    json["outputs"].push_back({{"name", executor->outputs()[i].name}, {"shape", outputs[i].shape()}});
  if (options.is_json) {
    PrintJson(json);
  } else {
    std::printf("%s: %s per inference (median of %d, %d %s)%s\n", options.file.c_str(), FormatNs(median).c_str(),
                options.repeat, options.threads, options.threads == 1 ? "thread" : "threads",
                set.outputs.empty() ? "" : fmt::format("; {} outputs as expected", set.outputs.size()).c_str());
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
  verb->add_option("--repeat", options->repeat, "Inferences to time")
      ->check(WholeNumber(1, kMostRepeats))
      ->capture_default_str();
  verb->add_option("--threads", options->threads, "Threads to use")
      ->check(WholeNumber(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  verb->add_flag("--json", options->is_json, "Print the result as JSON");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
