// lathe compile: a network into one shared object, with the best schedules that the database knows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/compile_report.h"
#include "cli/database_path.h"
#include "cli/given_schedules.h"
#include "cli/message_json.h"
#include "cli/network.h"
#include "cli/place.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/tune_workloads.h"
#include "cli/verbs.h"
#include "compiler/script/printer.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/build/kernel_header.h"
#include "tuner/database/pack.h"
#include "tuner/measure/child_program.h"

namespace lathe {
namespace {

constexpr size_t kLongestNetworkName = 250;

struct CompileOptions {
  std::string file, output, target = "auto", schedules, report;
  Place place;
  NetworkFlags network;
  int opt_level = 3;
  bool is_json = false, fails_on_miss = false;
};

// Where schedules are looked up; nullopt: nobody named a place, and the user has none.
StatusOr<std::optional<Session>> OpenPlace(const Place& place) {
  if (place.server.empty()) {
    const std::string database = DatabasePath(place.database);
    const bool exists = std::filesystem::exists(database);
    if (!exists && place.database.empty()) return std::optional<Session>();
    if (!exists)
      return NotFound(fmt::format("open {}: no such file; tune something first or check the path", database));
  }
  ASSIGN_OR_RETURN(Session session, Session::Open(place, Access::kRead));
  return std::optional<Session>(std::move(session));
}

// The command that makes what is missing.
std::string TuneCommand(const CompileOptions& options, const NetworkPlan& plan) {
  std::string network = fmt::format("{} --target \"{}\"", options.file, plan.target);
  for (const std::string& shape : options.network.input_shapes) network += " --input-shape " + shape;
  if (options.network.winograd) network += " --winograd";
  std::string tune = "`lathe tune " + network;
  for (const NetworkKernel& kernel : plan.kernels)
    if (plan.NumMissed() == 1 && kernel.source == ScheduleSource::kMiss) tune += " --tasks " + kernel.name;
  if (!options.place.server.empty()) return tune + " --server " + options.place.server + "` tunes it";
  if (options.place.database.empty()) return tune + "` tunes it";
  if (!IsPack(options.place.database)) return tune + " --db " + options.place.database + "` tunes it";
  return tune + "` tunes it, then `lathe db pack " + network + " -o " + options.place.database + "`";
}

// Of all that decides the bytes of the artifact: also of the program that builds it.
StatusOr<Digest> InputsOf(const NetworkPlan& plan, const std::string& builder) {
  ASSIGN_OR_RETURN(const std::string program, ReadWholeFile(builder));
  return Sha256(plan.ContentDigest().ToHex() + Sha256(program).ToHex());
}

Status CheckFlagsOfKernels(const CompileOptions& options) {
  const char* flag = !options.network.input_shapes.empty() ? "--input-shape"
                     : options.network.winograd            ? "--winograd"
                     : !options.schedules.empty()          ? "--schedules"
                                                           : nullptr;
  if (flag == nullptr) return OkStatus();
  return InvalidArgument(
      fmt::format("compile {}: {} is of networks, these are kernels; leave it out", options.file, flag));
}

// A network; or the functions of a FUNC.py, which become kernels without a graph.
StatusOr<relax::IRModule> Load(const CompileOptions& options, const Target& target) {
  if (IsOnnxFile(options.file)) return LoadNetwork(options.file, options.network, target, options.opt_level);
  RETURN_IF_ERROR(CheckFlagsOfKernels(options));
  ASSIGN_OR_RETURN(IRModule functions, ReadFunctions(options.file));
  if (functions.prim_funcs.empty())
    return InvalidArgument(fmt::format("compile {}: no T.prim_func in it; nothing can be built", options.file));
  relax::IRModule module;
  module.prim_funcs = std::move(functions.prim_funcs);
  return module;
}

std::string HeaderPath(const std::string& library) {
  return std::filesystem::path(library).replace_extension(".h").string();
}

// Left alone where it says the same already: programs that include it are not compiled again.
Status WriteHeader(const std::string& path, const std::string& text) {
  const StatusOr<std::string> there = ReadWholeFile(path);
  return there.ok() && *there == text ? OkStatus() : WriteAside(path, text);
}

// What the server or the owner of the database shall know was asked for in vain. A build does not depend on it.
Status ReportMisses(const CompileOptions& options, const relax::IRModule& module, const NetworkPlan& plan) {
  v1::ReportAskedRequest request;
  const std::string network = std::filesystem::path(options.file).filename().string();
  for (const NetworkKernel& kernel : plan.kernels) {
    if (kernel.source != ScheduleSource::kMiss) continue;
    v1::AskedWorkload& asked = *request.add_asked();
    asked.mutable_workload()->set_text(Print(IRModule{{*module.Find(kernel.name)}}));
    asked.set_target(plan.target);
    asked.set_network(Shorten(network, kLongestNetworkName));
    asked.set_weight(kernel.calls);
  }
  if (request.asked().empty()) return OkStatus();
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kWrite));
  return session.schedules().ReportAsked(request).status();
}

// Packs are not told: nobody would read it there. Nor is the user's own database, unless it is named.
void ReportMissesIfNamed(const CompileOptions& options, const relax::IRModule& module, const NetworkPlan& plan) {
  const Place& place = options.place;
  if (place.server.empty() && (place.database.empty() || IsPack(place.database))) return;
  const Status status = ReportMisses(options, module, plan);
  if (!status.ok()) LogLine(fmt::format("the misses are not recorded: {}", status.message()));
}

StatusOr<CompiledNetwork> BuildUnlessThere(const relax::IRModule& module, const Target& target, NetworkPlan plan,
                                           const Digest& inputs, const CompileOptions& options) {
  const std::string output = AbsolutePath(options.output);
  if (!options.report.empty()) {
    const StatusOr<std::string> report = ReadWholeFile(options.report);
    const auto artifact = report.ok() ? AlreadyBuilt(*report, inputs, output) : std::nullopt;
    if (artifact) {
      LogLine(fmt::format("{}: up to date", options.output));
      return CompiledNetwork{*artifact, std::move(plan.kernels)};
    }
  }
  ASSIGN_OR_RETURN(const std::string place, OutputFile(output));
  BuilderProcess builder({.program = ProgramBeside("lathe-builder")});
  return CompileNetwork(module, target, std::move(plan), builder, place, kNetworkBuildTimeout);
}

StatusOr<NetworkPlan> Plan(const CompileOptions& options, const relax::IRModule& module, const Target& target) {
  ASSIGN_OR_RETURN(std::optional<Session> session, OpenPlace(options.place));
  ScheduleLookup lookup = session ? LookupIn(session->schedules(), target) : KnowsNothing("there is no database");
  if (!options.schedules.empty()) {
    ASSIGN_OR_RETURN(lookup, LookupGiven(module, options.schedules, std::move(lookup)));
  }
  ASSIGN_OR_RETURN(NetworkPlan plan, PlanNetwork(module, target, lookup));
  ReportMissesIfNamed(options, module, plan);
  return plan;
}

// Of kernels; "" of a network.
StatusOr<std::string> HeaderOf(const relax::IRModule& module, const Target& target, const std::string& library) {
  if (!module.functions.empty()) return std::string();
  return KernelHeader(module.prim_funcs, target.ToString(), std::filesystem::path(library).stem().string());
}

// Says what was built, and writes what stands beside it.
Status Tell(const CompileOptions& options, const CompiledNetwork& network, const Digest& inputs,
            const std::string& header) {
  const std::string path = network.artifact.path;
  nlohmann::ordered_json report = ReportOf(network, inputs);
  if (!header.empty()) {
    RETURN_IF_ERROR(WriteHeader(HeaderPath(path), header));
    report["header"] = HeaderPath(path);
  }
  if (options.is_json)
    PrintJson(report);
  else
    PrintKernels(network.kernels);
  PrintSummary(network, header.empty() ? "lathe run " + path : "include " + HeaderPath(path));
  if (options.report.empty()) return OkStatus();
  return WriteAside(options.report, report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

StatusOr<int> Run(const CompileOptions& options) {
  ASSIGN_OR_RETURN(const Target target, Target::Parse(options.target));
  ASSIGN_OR_RETURN(const std::string output, OutputFile(AbsolutePath(options.output)));
  std::error_code error;
  if (std::filesystem::equivalent(output, options.file, error))
    return InvalidArgument(fmt::format("write {}: it is the model itself; name another file", options.output));
  ASSIGN_OR_RETURN(const relax::IRModule module, Load(options, target));
  ASSIGN_OR_RETURN(const std::string header, HeaderOf(module, target, output));
  ASSIGN_OR_RETURN(NetworkPlan plan, Plan(options, module, target));
  const std::string command = TuneCommand(options, plan);
  if (options.fails_on_miss && plan.NumMissed() > 0) {
    PrintKernels(plan.kernels);
    return MissError(options.file, plan.target, plan.kernels, command);
  }
  ASSIGN_OR_RETURN(const Digest inputs, InputsOf(plan, ProgramBeside("lathe-builder")));
  ASSIGN_OR_RETURN(const CompiledNetwork network, BuildUnlessThere(module, target, std::move(plan), inputs, options));
  if (options.fails_on_miss && std::ranges::any_of(network.kernels, &NetworkKernel::is_refused)) {
    std::filesystem::remove(output, error);
    return MissError(options.file, target.ToString(), network.kernels, command);
  }
  RETURN_IF_ERROR(Tell(options, network, inputs, header));
  return kExitOk;
}

}  // namespace

void AddCompile(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CompileOptions>();
  CLI::App* verb =
      app.add_subcommand("compile", "Compile a network, or kernels for a C program, with the best known schedules");
  verb->add_option("MODEL", options->file, "MODEL.onnx, or FUNC.py: a library of kernels, with a C header beside it")
      ->required();
  verb->add_option("-o,--output", options->output, "The shared object to write")->required();
  AddNetworkFlags(*verb, options->target, options->network);
  verb->add_option("--opt-level", options->opt_level, "0: operators on their own ... 3: fused, weights laid out")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  AddPlaceFlags(*verb, options->place);
  verb->add_option("--schedules", options->schedules,
                   "FILE.py: schedules to take for the kernels that it names, as `lathe show --schedules` prints them");
  verb->add_flag("--fail-on-miss", options->fails_on_miss,
                 "Build nothing, and exit with 3, where a kernel has no known schedule");
  verb->add_option("--report", options->report,
                   "Also write the JSON document to this file; if it says that the output was built from the same "
                   "model, schedules and compiler, nothing is built");
  verb->add_flag("--json", options->is_json, "Print the kernels as JSON");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
