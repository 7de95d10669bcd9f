// lathe model: trains a ranking model on a database, and says where one comes from.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/database_path.h"
#include "cli/report_error.h"
#include "cli/verbs.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/training_set.h"

namespace lathe {
namespace {

struct ModelOptions {
  std::string database, out, model;
};

std::string Describe(const TrainedFrom& from) {
  std::vector<std::string> targets;
  for (const TargetKind& kind : from.targets)
    targets.push_back(fmt::format("{} vector registers of {} bits", kind.registers, kind.vector_bits));
  return fmt::format("{} records of {} workloads, for {}; digest {}", from.num_records, from.num_workloads,
                     fmt::join(targets, ", "), from.records.ToHex().substr(0, 12));
}

StatusOr<std::vector<CostSample>> ReadAllSamples(const std::string& database) {
  std::error_code error;
  if (!std::filesystem::exists(database, error))
    return NotFound(fmt::format("open {}: no database there yet; --db names another", database));
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::OpenReadOnly(database));
  ASSIGN_OR_RETURN(const std::vector<TuningKey> keys, ListKeys(*store));
  std::vector<CostSample> samples;
  for (size_t i = 0; i < keys.size(); ++i) {
    StatusOr<TaskSamples> read = ReadSamples(*store, keys[i], i);
    if (!read.ok()) {
      fmt::print(stderr, "lathe: skipped {}: {}\n", keys[i].workload.ToHex().substr(0, 12), read.status().message());
      continue;
    }
    for (CostSample& sample : read->samples) samples.push_back(std::move(sample));
  }
  return samples;
}

Status Train(const ModelOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<CostSample> samples, ReadAllSamples(DatabasePath(options.database)));
  ASSIGN_OR_RETURN(const BaseModel model, BaseModel::Train(samples));
  RETURN_IF_ERROR(WriteWholeFile(options.out, model.ToText()));
  fmt::print(stderr, "lathe: trained from {}\n", Describe(model.trained_from()));
  return OkStatus();
}

Status Show(const ModelOptions& options) {
  if (options.model.empty()) {
    const std::shared_ptr<const BaseModel> built_in = BuiltInBaseModel();
    fmt::print("{}\n", built_in == nullptr ? "none: searches begin with the draft estimate"
                                           : Describe(built_in->trained_from()));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const BaseModel> model, ReadBaseModel(options.model));
  fmt::print("{}\n", Describe(model->trained_from()));
  return OkStatus();
}

}  // namespace

void AddModel(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ModelOptions>();
  CLI::App* verb = app.add_subcommand("model", "Train a ranking model on a database, or say where one comes from");
  verb->require_subcommand(1);
  CLI::App* train = verb->add_subcommand("train", "Learn from every record of a database");
  train->add_option("--db", options->database, "the database file");
  train->add_option("--out", options->out, "where the model goes (docs/formats/cost_model.md)")->required();
  train->callback([options, &exit_code] { exit_code = EndVerb(Train(*options)); });
  CLI::App* show = verb->add_subcommand("show", "What a model was trained from");
  show->add_option("MODEL", options->model, "a file that `model train` wrote; none: the one that searches begin with");
  show->callback([options, &exit_code] { exit_code = EndVerb(Show(*options)); });
}

}  // namespace lathe
