#include "cli/tune_workloads.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "cli/network.h"
#include "compiler/relax/extract_tasks.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

StatusOr<Workloads> ReadNetwork(const TuneFile& file, const Target& target) {
  Workloads workloads;
  ASSIGN_OR_RETURN(workloads.network, LoadNetwork(file.path, file.network, target, /*opt_level=*/3));
  ASSIGN_OR_RETURN(std::vector<relax::ExtractedTask> tasks, relax::ExtractTasks(*workloads.network));
  for (relax::ExtractedTask& task : tasks) {
    PrimFunc func = std::move(task.func);
    func.name = task.name;
    workloads.functions.push_back({std::move(func), task.workload, task.weight});
  }
  return workloads;
}

// What looks like a program of Python is often one.
Status WithHint(const Status& status) {
  constexpr std::string_view kHint =
      "; the file is read, not run: only T.prim_func and I.ir_module belong in it; save func.script() or "
      "sch.mod.script() as a file of its own";
  return Status(status.code(), status.message() + std::string(kHint));
}

StatusOr<Workloads> ReadScript(const TuneFile& file) {
  ASSIGN_OR_RETURN(const IRModule module, ReadFunctions(file.path));
  Workloads workloads;
  for (const PrimFunc& func : module.prim_funcs) {
    const Digest workload = WorkloadDigest(func);
    const bool is_known = std::any_of(workloads.functions.begin(), workloads.functions.end(),
                                      [&](const Function& f) { return f.workload == workload; });
    if (!is_known) workloads.functions.push_back({func, workload});
  }
  return workloads;
}

}  // namespace

StatusOr<IRModule> ReadFunctions(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  StatusOr<IRModule> module = ParseModule(text, path);
  if (!module.ok()) return WithHint(module.status());
  return module;
}

StatusOr<Workloads> ReadWorkloads(const TuneFile& file, const Target& target) {
  StatusOr<Workloads> read = IsOnnxFile(file.path) ? ReadNetwork(file, target) : ReadScript(file);
  if (!read.ok()) return read;
  Workloads workloads = *std::move(read);
  std::vector<Function>& functions = workloads.functions;
  std::string names;
  for (const Function& function : functions) names += (names.empty() ? "" : ", ") + function.func.name;
  std::erase_if(functions, [&](const Function& function) {
    return fnmatch(file.tasks.c_str(), function.func.name.c_str(), 0) != 0;
  });
  if (functions.empty()) {
    return InvalidArgument(
        names.empty() ? fmt::format("read {}: no T.prim_func in it; nothing can be tuned", file.path)
                      : fmt::format("--tasks \"{}\": fits no function of {}; it has {}", file.tasks, file.path, names));
  }
  return workloads;
}

}  // namespace lathe
