#include "cli/given_schedules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/relax/extract_tasks.h"
#include "compiler/schedule/trace.h"
#include "compiler/script/printer.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

StatusOr<std::map<std::string, ScheduleTrace>> ReadGiven(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  StatusOr<std::map<std::string, ScheduleTrace>> traces = TracesFromPython(text);
  if (!traces.ok()) return traces.status().WithContext("read " + path);
  return traces;
}

Status CheckAllAreKernels(const std::map<std::string, ScheduleTrace>& traces,
                          const std::vector<relax::ExtractedTask>& tasks, const std::string& path) {
  std::vector<std::string> names;
  for (const relax::ExtractedTask& task : tasks) names.push_back(task.name);
  for (const auto& [name, trace] : traces) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return InvalidArgument(fmt::format("read {}: \"{}\" is no kernel of the network; its kernels: {}", path, name,
                                       fmt::join(names, ", ")));
  }
  return OkStatus();
}

}  // namespace

StatusOr<ScheduleLookup> LookupGiven(const relax::IRModule& module, const std::string& path, ScheduleLookup otherwise) {
  ASSIGN_OR_RETURN(const auto traces, ReadGiven(path));
  ASSIGN_OR_RETURN(const std::vector<relax::ExtractedTask> tasks, relax::ExtractTasks(module));
  RETURN_IF_ERROR(CheckAllAreKernels(traces, tasks, path));
  std::map<Digest, KnownSchedule> given;
  for (const relax::ExtractedTask& task : tasks) {
    const auto found = traces.find(task.name);
    if (found == traces.end()) continue;
    given.emplace(task.workload, KnownSchedule{Print(task.func), found->second.ToJson(), ScheduleSource::kGiven});
  }
  return ScheduleLookup([given, otherwise](const Digest& workload) -> StatusOr<LookupAnswer> {
    const auto found = given.find(workload);
    if (found == given.end()) return otherwise(workload);
    return LookupAnswer{found->second, ""};
  });
}

}  // namespace lathe
