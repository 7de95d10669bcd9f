#include "tuner/build/compile_network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "compiler/relax/executor_plan.h"
#include "compiler/script/canonical.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"
#include "tuner/search/untuned_schedule.h"

namespace lathe {
namespace {

// A file that goes when it is no longer needed.
class TemporaryFile {
 public:
  static StatusOr<TemporaryFile> Write(std::string path, std::string_view bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      const std::string why = std::strerror(errno);
      std::remove(path.c_str());
      return ResourceExhausted(
          fmt::format("write {} ({} bytes): {}; free some space or choose another folder", path, bytes.size(), why));
    }
    return TemporaryFile(std::move(path));
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// How one PrimFunc of the network is to be built.
StatusOr<KernelSource> SourceOf(const PrimFunc& func, const Target& target, const std::optional<KnownSchedule>& known) {
  if (known) return KernelSource{func.name, known->workload_text, known->trace_json};
  ASSIGN_OR_RETURN(const Schedule untuned, UntunedSchedule(func, target));
  return KernelSource{func.name, Print(func), untuned.trace().ToJson()};
}

Status ToStatus(const BuildError& error, const std::string& output_path) {
  return Status(error.code, fmt::format("compile {}: {}: {}", output_path, BuildErrorName(error.kind), error.message));
}

// Builds each kernel with a known schedule by itself; recorded ones that fail give way to the default one. Returns how
// many did.
StatusOr<int> ReplaceWhatDoesNotBuild(const relax::IRModule& module, const Target& target, BuilderProcess& builder,
                                      Duration timeout, BuildSpec& spec, CompiledNetwork& network) {
  int num_replaced = 0;
  for (size_t i = 0; i < spec.kernels.size(); ++i) {
    NetworkKernel& kernel = network.kernels[i];
    if (kernel.source == ScheduleSource::kMiss) continue;
    const std::string path = spec.output_path + kKernelPart;
    const BuildResult result =
        builder.BuildAndWait({.kernels = {spec.kernels[i]}, .target = spec.target, .output_path = path}, timeout);
    std::remove(path.c_str());
    const BuildError* error = std::get_if<BuildError>(&result.outcome);
    if (error == nullptr) continue;
    if (kernel.source == ScheduleSource::kGiven)
      return FailedPrecondition(fmt::format("compile {}: given schedule of {}: {}: {}", spec.output_path, kernel.name,
                                            BuildErrorName(error->kind), error->message));
    ASSIGN_OR_RETURN(spec.kernels[i], SourceOf(*module.Find(kernel.name), target, std::nullopt));
    kernel.source = ScheduleSource::kMiss;
    kernel.best_ns = 0;
    kernel.why = error->message;
    kernel.is_refused = true;
    ++num_replaced;
  }
  return num_replaced;
}

}  // namespace

std::string_view ScheduleSourceName(ScheduleSource source) {
  static constexpr std::string_view kNames[] = {"HIT", "STALE", "MISS", "GIVEN"};
  return kNames[static_cast<int>(source)];
}

int NetworkPlan::NumMissed() const {
  return static_cast<int>(std::ranges::count(kernels, ScheduleSource::kMiss, &NetworkKernel::source));
}

Digest NetworkPlan::ContentDigest() const {
  Sha256Stream stream;
  const auto add = [&](std::string_view part) {  // With its length, so that no part runs into the next.
    stream.Update(std::to_string(part.size()) + "\n");
    stream.Update(part);
  };
  add("lathe.network_plan/1");
  add(target);
  for (const KernelSource& source : sources) {
    add(source.name);
    add(source.text);
    add(source.trace_json);
  }
  add(graph);
  add(constants);
  return stream.Finish();
}

namespace {

Status AddKernel(const PrimFunc& func, const std::string& name, const Target& target, const ScheduleLookup& lookup,
                 NetworkPlan& plan) {
  NetworkKernel kernel{name, WorkloadDigest(func), 1};
  ASSIGN_OR_RETURN(LookupAnswer answer, lookup(kernel.workload));
  const std::optional<KnownSchedule>& known = answer.schedule;
  kernel.why = std::move(answer.why);
  if (known) {
    kernel.source = known->source;
    kernel.best_ns = known->best_ns;
  }
  ASSIGN_OR_RETURN(KernelSource source, SourceOf(func, target, known));
  plan.sources.push_back(std::move(source));
  plan.kernels.push_back(std::move(kernel));
  return OkStatus();
}

StatusOr<NetworkPlan> PlanKernels(const relax::IRModule& module, const Target& target, const ScheduleLookup& lookup) {
  NetworkPlan plan{.target = target.ToString()};
  for (const PrimFunc& func : module.prim_funcs) RETURN_IF_ERROR(AddKernel(func, func.name, target, lookup, plan));
  return plan;
}

}  // namespace

StatusOr<NetworkPlan> PlanNetwork(const relax::IRModule& module, const Target& target, const ScheduleLookup& lookup) {
  if (module.functions.empty()) return PlanKernels(module, target, lookup);
  ASSIGN_OR_RETURN(const relax::ExecutorPlan executor_plan, relax::MakeExecutorPlan(module));
  NetworkPlan plan{.target = target.ToString()};
  std::map<std::string, size_t> index;  // Of the kernel in plan.kernels.
  for (const relax::PlanCall& call : executor_plan.calls) {
    const auto [found, is_new] = index.emplace(call.kernel, plan.kernels.size());
    if (!is_new) {
      ++plan.kernels[found->second].calls;
      continue;
    }
    const PrimFunc* func = module.Find(call.kernel);
    if (func == nullptr)
      return InternalError(fmt::format("plan network: it calls \"{}\", which the module has not", call.kernel));
    RETURN_IF_ERROR(AddKernel(*func, call.kernel, target, lookup, plan));
  }
  ASSIGN_OR_RETURN(plan.graph, relax::SerializeGraph(executor_plan));
  plan.constants = relax::SerializeConstants(executor_plan);
  return plan;
}

StatusOr<CompiledNetwork> CompileNetwork(const relax::IRModule& module, const Target& target, NetworkPlan plan,
                                         BuilderProcess& builder, const std::string& output_path, Duration timeout) {
  CompiledNetwork network{{}, std::move(plan.kernels)};
  ASSIGN_OR_RETURN(const TemporaryFile graph, TemporaryFile::Write(output_path + kGraphPart, plan.graph));
  ASSIGN_OR_RETURN(const TemporaryFile constants, TemporaryFile::Write(output_path + kConstantsPart, plan.constants));
  BuildSpec spec{.kernels = std::move(plan.sources), .target = plan.target, .output_path = output_path};
  if (!plan.graph.empty()) spec.sections = {{".lathe.graph", graph.path()}, {".lathe.const", constants.path()}};
  BuildResult result = builder.BuildAndWait(spec, timeout);
  if (std::holds_alternative<BuildError>(result.outcome)) {
    ASSIGN_OR_RETURN(const int num_replaced, ReplaceWhatDoesNotBuild(module, target, builder, timeout, spec, network));
    if (num_replaced > 0) result = builder.BuildAndWait(spec, timeout);
  }
  if (const BuildError* error = std::get_if<BuildError>(&result.outcome)) return ToStatus(*error, output_path);
  network.artifact = std::get<BuildArtifact>(std::move(result.outcome));
  return network;
}

}  // namespace lathe
