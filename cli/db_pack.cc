// lathe db pack: the best schedules of chosen networks and targets in one file (docs/formats/pack.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "cli/database_path.h"
#include "cli/db_merge.h"
#include "cli/network.h"
#include "cli/report_error.h"
#include "cli/tune_workloads.h"
#include "cli/verbs.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/database/pack.h"

namespace lathe {
namespace {

struct PackFlags {
  std::vector<std::string> files, targets{"auto"};
  NetworkFlags network;
  std::string database, output;
};

// What a pack is asked for: by workload, its name and the targets that some file needs it for.
struct PackedTask {
  std::string name;
  std::vector<std::string> targets;
};

StatusOr<std::map<Digest, PackedTask>> ReadTasks(const PackFlags& flags) {
  std::map<Digest, PackedTask> wanted;
  for (const std::string& text : flags.targets) {
    ASSIGN_OR_RETURN(const Target target, Target::Parse(text));
    for (const std::string& file : flags.files) {
      ASSIGN_OR_RETURN(const Workloads workloads, ReadWorkloads({.path = file, .network = flags.network}, target));
      for (const Function& function : workloads.functions) {
        PackedTask& one = wanted.try_emplace(function.workload, PackedTask{function.func.name, {}}).first->second;
        if (std::ranges::find(one.targets, target.ToString()) == one.targets.end())
          one.targets.push_back(target.ToString());
      }
    }
  }
  return wanted;
}

struct Packed {
  Pack pack;
  int found = 0;
  std::vector<std::string> missing;  // In words.
};

Status AddTask(Store& store, const Digest& workload, const PackedTask& wanted, Packed& packed) {
  ASSIGN_OR_RETURN(const std::vector<TuningRecord> best, store.ListBest(workload));
  const std::vector<TuningRecord> chosen = ChooseForPack(best, wanted.targets);
  for (const std::string& target : wanted.targets) {
    const bool is_there = std::ranges::any_of(chosen, [&](const auto& record) { return record.key.target == target; });
    packed.found += is_there;
    if (!is_there)
      packed.missing.push_back(fmt::format("MISS {} {} for {}", wanted.name, workload.ToHex().substr(0, 12), target));
  }
  if (chosen.empty()) return OkStatus();
  ASSIGN_OR_RETURN(Workload stored, store.GetWorkload(workload));
  packed.pack.workloads.push_back(std::move(stored));
  packed.pack.records.insert(packed.pack.records.end(), chosen.begin(), chosen.end());
  return OkStatus();
}

StatusOr<int> RunPack(const PackFlags& flags) {
  ASSIGN_OR_RETURN(const auto wanted, ReadTasks(flags));
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, OpenSchedules(DatabasePath(flags.database)));
  Packed packed;
  for (const auto& [workload, one] : wanted) RETURN_IF_ERROR(AddTask(*store, workload, one, packed));
  for (const std::string& words : packed.missing) fmt::print(stderr, "{}\n", words);
  if (packed.found == 0)
    return NotFound("pack: nothing of this was tuned for these targets; `lathe tune` it first, or name other targets");
  RETURN_IF_ERROR(WriteAside(flags.output, WritePack(packed.pack)));
  fmt::print(stderr, "lathe: {}: {} of {} schedules\nnext: lathe compile MODEL.onnx -o MODEL.so --db {}\n",
             flags.output, packed.found, packed.found + static_cast<int>(packed.missing.size()), flags.output);
  return kExitOk;
}

}  // namespace

void AddDbPack(CLI::App& db, int& exit_code) {
  const auto flags = std::make_shared<PackFlags>();
  CLI::App* pack =
      db.add_subcommand("pack", "Write the best schedules of networks into one file, which --db takes for a database");
  pack->add_option("FILE", flags->files, "MODEL.onnx or FUNC.py, one or more")->required();
  pack->add_option("--target", flags->targets, "TVM target string or tag; may be said again; auto asks this machine")
      ->allow_extra_args(false)
      ->capture_default_str();
  AddNetworkShapeFlags(*pack, flags->network);
  pack->add_option("--db", flags->database, "the database file, or another pack");
  pack->add_option("-o,--output", flags->output, "the file to write")->required();
  pack->callback([flags, &exit_code] {
    const StatusOr<int> code = RunPack(*flags);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
