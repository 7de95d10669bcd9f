#include "cli/network.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/run_network.h"
#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/relax/pipeline.h"
#include "compiler/schedule/builtin_intrin.h"
#include "rpc/device/runtime_status.h"
#include "support/status_macros.h"
#include "tuner/measure/child_program.h"
#include "tuner/measure/parse_workload.h"
#include "tuner/service/api.h"

namespace lathe {
namespace {

void SayWhatIsFrozen(const relax::IRModule& module) {
  const AttrMap& attrs = module.functions[0].attrs;
  const auto frozen = attrs.find("frozen_inputs");
  if (frozen == attrs.end()) return;
  std::string names;
  for (const Attr& name : std::get<std::vector<Attr>>(frozen->second))
    names += (names.empty() ? "\"" : ", \"") + std::get<std::string>(name) + "\"";
  fmt::print(stderr, "lathe: inputs with default values are constants from now on: {}\n", names);
}

relax::LayoutTarget LayoutTargetOf(const Target& target, const NetworkFlags& flags) {
  relax::LayoutTarget layouts(target.register_file().lanes(32));
  layouts.allows_winograd = flags.winograd;
  layouts.cache_bytes = target.cache_sizes().l2_bytes;
  for (const DotIntrin& dot : DotIntrins())
    if (target.Has(dot.feature)) layouts.dots.push_back({dot.a, dot.b, dot.c, dot.lanes, dot.parts});
  return layouts;
}

}  // namespace

void AddNetworkFlags(CLI::App& verb, std::string& target, NetworkFlags& network) {
  verb.add_option("--target", target, "TVM target string or tag; auto asks this machine")->capture_default_str();
  AddNetworkShapeFlags(verb, network);
}

void AddNetworkShapeFlags(CLI::App& verb, NetworkFlags& network) {
  verb.add_option("--input-shape", network.input_shapes,
                  "NAME=1,3,224,224: for inputs whose shape the model leaves open");
  verb.add_flag(
      "--winograd", network.winograd,
      "3 x 3 convolutions may be computed by Winograd's algorithm: fewer multiplications, errors of some 1e-5 "
      "of the largest value");
}

bool IsOnnxFile(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (extension == ".onnx" || extension == ".py") return extension == ".onnx";
  std::ifstream file(path, std::ios::binary);
  return file.get() == 0x08;  // Field 1 of a ModelProto, its IR version; no TVMScript begins so.
}

StatusOr<std::map<std::string, std::vector<int64_t>>> ParseInputShapes(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    std::vector<int64_t> shape;
    std::istringstream numbers(equals == std::string::npos ? "" : text.substr(equals + 1));
    for (std::string number; std::getline(numbers, number, ',');) {
      char* end = nullptr;
      const long long extent = std::strtoll(number.c_str(), &end, 10);
      if (number.empty() || *end != '\0' || extent < 1)
        shape.assign(1, -1);
      else
        shape.push_back(extent);
    }
    if (equals == std::string::npos || equals == 0 || shape.empty() || shape[0] < 1) {
      return InvalidArgument(fmt::format("--input-shape \"{}\": NAME=1,3,224,224 is required", text));
    }
    shapes[text.substr(0, equals)] = shape;
  }
  return shapes;
}

StatusOr<relax::IRModule> LoadNetwork(const std::string& path, const NetworkFlags& flags, const Target& target,
                                      int opt_level) {
  OnnxImportOptions options;
  ASSIGN_OR_RETURN(options.input_shapes, ParseInputShapes(flags.input_shapes));
  ASSIGN_OR_RETURN(relax::IRModule module, ImportOnnx(path, options));
  SayWhatIsFrozen(module);
  return relax::OptimizeForTuning(std::move(module), LayoutTargetOf(target, flags), opt_level);
}

namespace {

// What stands in the place of a record for the target: the first three targets that there are records for.
std::string WhyMissed(const v1::ListBestResponse& best) {
  std::vector<std::string> targets;
  for (const v1::Record& record : best.records()) {
    const std::string text = fmt::format("\"{}\"", record.key().target());
    if (record.has_timings() && std::find(targets.begin(), targets.end(), text) == targets.end())
      targets.push_back(text);
  }
  if (targets.empty()) return "not tuned";
  if (targets.size() > 3) targets.resize(3), targets.push_back("...");
  return fmt::format("tuned for {}", fmt::join(targets, ", "));
}

bool IsCurrent(const v1::Record& record) {
  const StatusOr<CodegenVersion> version = CodegenVersion::Parse(record.key().codegen_version());
  return version.ok() && version->llvm_major == kCodegenVersion / 1000 && version->revision == kCodegenVersion % 1000;
}

// Of this code generator before others, then the fastest; the first of equal ones.
const v1::Record* BestFor(const std::string& target, const v1::ListBestResponse& best) {
  const v1::Record* chosen = nullptr;
  const auto rank = [](const v1::Record& r) { return std::pair(!IsCurrent(r), r.timings().median_ns()); };
  for (const v1::Record& record : best.records()) {
    if (record.key().target() != target || !record.has_timings()) continue;
    if (chosen == nullptr || rank(record) < rank(*chosen)) chosen = &record;
  }
  return chosen;
}

}  // namespace

ScheduleLookup LookupIn(ScheduleApi& schedules, const Target& target) {
  return [&schedules, text = target.ToString()](const Digest& digest) -> StatusOr<LookupAnswer> {
    v1::ListBestRequest request;
    request.set_workload(std::string(digest.raw()));
    ASSIGN_OR_RETURN(const v1::ListBestResponse listed, schedules.ListBest(request));
    const v1::Record* best = BestFor(text, listed);
    if (best == nullptr) return LookupAnswer{std::nullopt, WhyMissed(listed)};
    v1::FindWorkloadRequest find;
    find.set_hex_prefix(digest.ToHex());
    ASSIGN_OR_RETURN(const v1::FindWorkloadResponse found, schedules.FindWorkload(find));
    const v1::Workload& workload = found.workload();
    RETURN_IF_ERROR(ParseWorkload(digest, workload.name(), workload.text()).status());
    const ScheduleSource source = IsCurrent(*best) ? ScheduleSource::kHit : ScheduleSource::kStale;
    return LookupAnswer{KnownSchedule{workload.text(), best->trace_json(), source, best->timings().median_ns()}, ""};
  };
}

ScheduleLookup KnowsNothing(std::string why) {
  return [why = std::move(why)](const Digest&) -> StatusOr<LookupAnswer> { return LookupAnswer{std::nullopt, why}; };
}

StatusOr<CompiledNetwork> BuildNetwork(const relax::IRModule& module, const Target& target,
                                       const ScheduleLookup& lookup, const std::string& output_path) {
  ASSIGN_OR_RETURN(NetworkPlan plan, PlanNetwork(module, target, lookup));
  BuilderProcess builder({.program = ProgramBeside("lathe-builder")});
  return CompileNetwork(module, target, std::move(plan), builder, output_path, kNetworkBuildTimeout);
}

StatusOr<std::vector<double>> TimeNetworks(const std::vector<std::string>& paths, const std::vector<int>& cpus,
                                           int repeats) {
  RuntimeResult<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(static_cast<int>(cpus.size()), cpus);
  if (!pool.ok()) return FromRuntime(pool.error());
  std::vector<Executor> executors;
  for (const std::string& path : paths) {
    RuntimeResult<Executor> executor = Executor::Load(path, **pool, kWorkspaceLimitBytes);
    if (!executor.ok()) return FromRuntime(executor.error());
    executors.push_back(*std::move(executor));
  }
  ASSIGN_OR_RETURN(std::vector<NDArray> arrays, RandomInputs(executors.front()));
  const std::vector<TensorView> inputs = ViewsOf(arrays);
  std::vector<std::vector<double>> samples(paths.size());
  for (int i = 0; i <= repeats; ++i) {
    for (size_t k = 0; k < executors.size(); ++k) {
      const auto begin = std::chrono::steady_clock::now();
      const auto outputs = executors[k].Run(inputs);
      if (!outputs.ok()) return FromRuntime(outputs.error());
      const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      if (i > 0) samples[k].push_back(ms);  // The first one warms up.
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& times : samples) {
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    medians.push_back(times[times.size() / 2]);
  }
  return medians;
}

}  // namespace lathe
