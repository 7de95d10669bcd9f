// lathe run: runs a compiled network, on given or random inputs, and compares with expected outputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/report_error.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "compiler/import/onnx/tensor_file.h"
#include "runtime/executor.h"
#include "runtime/input_generator.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr uint64_t kWorkspaceLimitBytes = uint64_t{1} << 30;

struct RunOptions {
  std::string file, data;
  double rtol = 1e-3, atol = 1e-5;
  int repeat = 1, threads = 1;
  bool is_json = false;
};

Status ToStatus(const RuntimeError& error) { return Status(static_cast<StatusCode>(error.code), error.message); }

std::string ShapeText(std::span<const int64_t> shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

StatusOr<std::vector<NDArray>> RandomInputs(const Executor& executor) {
  std::vector<NDArray> arrays;
  for (const TensorInfo& info : executor.inputs()) {
    RuntimeResult<NDArray> array = NDArray::Create(info.dtype, info.shape);
    if (!array.ok()) return ToStatus(array.error());
    FillInput(1, static_cast<uint32_t>(arrays.size()), info.dtype, array->data(), 0, array->num_elements());
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

StatusOr<std::vector<NDArray>> GivenInputs(const Executor& executor, const TensorSet& set) {
  if (set.inputs.size() != executor.inputs().size()) {
    return InvalidArgument(fmt::format("run: {} inputs are given, the network has {}", set.inputs.size(), executor.inputs().size()));
  }
  std::vector<NDArray> arrays;
  for (size_t i = 0; i < set.inputs.size(); ++i) {
    const TensorInfo& info = executor.inputs()[i];
    if (set.inputs[i].shape() != info.shape || static_cast<int64_t>(set.inputs[i].bytes().size()) != set.inputs[i].num_elements() * info.dtype.bytes()) {
      return InvalidArgument(fmt::format("run: input {} \"{}\" is {} {}, the network takes {}", i, info.name, set.inputs[i].dtype().ToString(),
                                         ShapeText(set.inputs[i].shape()), ShapeText(info.shape)));
    }
    RuntimeResult<NDArray> array = NDArray::Create(info.dtype, info.shape);
    if (!array.ok()) return ToStatus(array.error());
    std::memcpy(array->data(), set.inputs[i].bytes().data(), set.inputs[i].bytes().size());
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

// Where the outputs differ most from what is expected; OK if |y - e| <= atol + rtol * |e| everywhere.
Status Compare(const std::vector<NDArray>& outputs, const TensorSet& set, const RunOptions& options) {
  if (outputs.size() < set.outputs.size()) return FailedPrecondition(fmt::format("compare: {} outputs are expected, the network has {}", set.outputs.size(), outputs.size()));
  for (size_t i = 0; i < set.outputs.size(); ++i) {
    if (outputs[i].shape() != set.outputs[i].shape()) {
      return FailedPrecondition(fmt::format("compare output {}: shape {}, {} is expected", i, ShapeText(outputs[i].shape()), ShapeText(set.outputs[i].shape())));
    }
    const std::vector<double> expected = set.outputs[i].ToDoubles();
    std::vector<std::byte> bytes(outputs[i].size_bytes());
    std::memcpy(bytes.data(), outputs[i].data(), bytes.size());
    const std::vector<double> actual = relax::TensorData(set.outputs[i].dtype(), set.outputs[i].shape(), std::move(bytes)).ToDoubles();
    size_t worst = 0, wrong = 0;
    double worst_ratio = 0;
    for (size_t k = 0; k < expected.size(); ++k) {
      const double error = std::abs(actual[k] - expected[k]), allowed = options.atol + options.rtol * std::abs(expected[k]);
      if (error <= allowed) continue;
      ++wrong;
      const double ratio = std::isnan(error) ? INFINITY : error / allowed;
      if (ratio < worst_ratio) continue;
      worst_ratio = ratio;
      worst = k;
    }
    if (wrong > 0) {
      return FailedPrecondition(fmt::format("compare output {}: {} of {} elements differ; the worst is element {}: {}, {} is expected (allowed {:.3g})", i, wrong,
                                            expected.size(), worst, actual[worst], expected[worst], options.atol + options.rtol * std::abs(expected[worst])));
    }
  }
  return OkStatus();
}

StatusOr<int> Run(const RunOptions& options) {
  RuntimeResult<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(options.threads);
  if (!pool.ok()) return ToStatus(pool.error());
  RuntimeResult<Executor> executor = Executor::Load(options.file, **pool, kWorkspaceLimitBytes);
  if (!executor.ok()) return ToStatus(executor.error());
  TensorSet set;
  std::vector<NDArray> inputs;
  if (options.data.empty()) {
    ASSIGN_OR_RETURN(inputs, RandomInputs(*executor));
  } else {
    ASSIGN_OR_RETURN(set, ReadTensorSet(options.data));
    ASSIGN_OR_RETURN(inputs, GivenInputs(*executor, set));
  }
  std::vector<TensorView> views;
  for (NDArray& input : inputs) views.push_back(input.view());
  std::vector<double> times_ns;
  std::vector<NDArray> outputs;
  for (int i = 0; i < options.repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    RuntimeResult<std::vector<NDArray>> result = executor->Run(views);
    if (!result.ok()) return ToStatus(result.error());
    times_ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    outputs = *std::move(result);
  }
  std::nth_element(times_ns.begin(), times_ns.begin() + times_ns.size() / 2, times_ns.end());
  const double median = times_ns[times_ns.size() / 2];
  RETURN_IF_ERROR(Compare(outputs, set, options));
  nlohmann::json json = {{"median_ms", median / 1e6}, {"repeat", options.repeat}, {"threads", options.threads}, {"checked_outputs", set.outputs.size()}, {"outputs", nlohmann::json::array()}};
  for (size_t i = 0; i < outputs.size(); ++i) json["outputs"].push_back({{"name", executor->outputs()[i].name}, {"shape", outputs[i].shape()}});
  if (options.is_json) {
    std::fputs((json.dump(2) + "\n").c_str(), stdout);
  } else {
    std::printf("%s: %s per inference (median of %d, %d %s)%s\n", options.file.c_str(), FormatTime(median).c_str(), options.repeat, options.threads,
                options.threads == 1 ? "thread" : "threads", set.outputs.empty() ? "" : fmt::format("; {} outputs as expected", set.outputs.size()).c_str());
  }
  return kExitOk;
}

}  // namespace

void AddRun(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run a compiled network");
  verb->add_option("NETWORK", options->file, "What `lathe compile` wrote")->required();
  verb->add_option("--data", options->data, "Folder with input_*.pb and output_*.pb, as in ONNX test cases; default: random inputs");
  verb->add_option("--rtol", options->rtol, "Allowed difference relative to the expected value")->capture_default_str();
  verb->add_option("--atol", options->atol, "Allowed absolute difference")->capture_default_str();
  verb->add_option("--repeat", options->repeat, "Inferences to time")->check(CLI::PositiveNumber)->capture_default_str();
  verb->add_option("--threads", options->threads, "Threads to use")->check(CLI::PositiveNumber)->capture_default_str();
  verb->add_flag("--json", options->is_json, "Print the result as JSON");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
