#include "tuner/cost_model/base_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/cost_model/pair_boosting.h"

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBuiltIn =
#include "base_model.inc"
    ;
constexpr int kFormat = 2;  // 1 was binary, and XGBoost's.
constexpr size_t kMostTrees = 1000;
constexpr std::string_view kTrainAnew = "; train it anew with `lathe model train`";

size_t ColumnOf(std::string_view name) {
  const std::vector<std::string>& names = FeatureNames();
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::vector<SampleLabel> LabelsOf(std::span<const CostSample> samples) {
  std::map<uint64_t, size_t> tasks;
  std::vector<SampleLabel> labels;
  for (const CostSample& sample : samples) {
    const size_t task = tasks.try_emplace(sample.task, tasks.size()).first->second;
    labels.push_back({task, sample.outcome, sample.median_ns});
  }
  return labels;
}

template <typename T>
void Append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

TrainedFrom Describe(std::span<const CostSample> samples) {
  std::string bytes;
  std::set<uint64_t> tasks;
  std::set<TargetKind> targets;
  for (const CostSample& sample : samples) {
    for (const float value : sample.features) Append(bytes, value);
    Append(bytes, sample.task);
    Append(bytes, sample.outcome);
    Append(bytes, sample.median_ns);
    tasks.insert(sample.task);
    targets.insert(TargetKindOf(sample.features));
  }
  return {.records = Sha256(bytes),
          .num_records = static_cast<int64_t>(samples.size()),
          .num_workloads = static_cast<int64_t>(tasks.size()),
          .targets = {targets.begin(), targets.end()}};
}

StatusOr<std::vector<RegressionTree>> Boost(std::span<const CostSample> samples, std::span<const RankedPair> pairs,
                                            std::span<const double> estimate, const BaseModelOptions& options) {
  std::vector<float> values;
  for (const CostSample& sample : samples) values.insert(values.end(), sample.features.begin(), sample.features.end());
  ASSIGN_OR_RETURN(const BoosterMatrix matrix, BoosterMatrix::Make(values, kFeatureCount));
  ASSIGN_OR_RETURN(Booster booster, Booster::Make({.max_depth = options.max_depth,
                                                   .learning_rate = options.learning_rate,
                                                   .min_child_weight = options.min_child_weight,
                                                   .seed = options.seed}));
  RETURN_IF_ERROR(BoostOnPairs(booster, matrix, pairs, estimate, options.trees));
  ASSIGN_OR_RETURN(const std::string json, booster.ToJson());
  return ReadXgbTrees(json);
}

std::string TreeLine(const RegressionTree& tree) {
  std::string line = "[";
  for (const TreeNode& node : tree)
    line += fmt::format("{}[{},{},{}]", &node == tree.data() ? "" : ",", node.column, node.value, node.left);
  return line + "]\n";
}

StatusOr<RegressionTree> ReadTree(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  RegressionTree tree;
  bool is_right = json.is_array();
  for (size_t i = 0; is_right && i < json.size(); ++i) {
    const Json& node = json[i];
    is_right = node.is_array() && node.size() == 3 && node[0].is_number_integer() && node[1].is_number() &&
               node[2].is_number_unsigned();
    if (is_right) tree.push_back({node[0].get<int32_t>(), node[1].get<float>(), node[2].get<uint32_t>()});
  }
  if (is_right && IsSound(tree, kFeatureCount)) return tree;
  return DataLoss(fmt::format("read model: a tree is not one: {}{}", line.substr(0, 60), kTrainAnew));
}

Json HeaderOf(const TrainedFrom& from, double draft_weight, const Digest& digest, size_t trees) {
  Json targets = Json::array();
  for (const TargetKind& kind : from.targets)
    targets.push_back({{"vector_bits", kind.vector_bits}, {"registers", kind.registers}});
  return {{"lathe_model", kFormat},       {"features", kFeatureVersion},
          {"records", from.num_records},  {"workloads", from.num_workloads},
          {"targets", targets},           {"trained_from", from.records.ToHex()},
          {"draft_weight", draft_weight}, {"trees", trees},
          {"digest", digest.ToHex()}};
}

// What the first line of a model says.
struct Header {
  TrainedFrom from;
  double draft_weight = 0;
  size_t trees = 0;
  Digest digest;
};

StatusOr<Header> ReadHeader(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("lathe_model"))
    return InvalidArgument(fmt::format("read model: not a model of Lathe's{}", kTrainAnew));
  try {
    const int format = json.at("lathe_model").get<int>(), features = json.at("features").get<int>();
    if (format != kFormat || features != kFeatureVersion) {
      return InvalidArgument(
          fmt::format("read model: format {} for features {}, this build reads format {} for features {}{}", format,
                      features, kFormat, kFeatureVersion, kTrainAnew));
    }
    Header header;
    header.from.num_records = json.at("records").get<int64_t>();
    header.from.num_workloads = json.at("workloads").get<int64_t>();
    for (const Json& kind : json.at("targets"))
      header.from.targets.push_back({kind.at("vector_bits").get<int>(), kind.at("registers").get<int>()});
    ASSIGN_OR_RETURN(header.from.records, Digest::FromHex(json.at("trained_from").get<std::string>()));
    header.draft_weight = json.at("draft_weight").get<double>();
    header.trees = json.at("trees").get<size_t>();
    ASSIGN_OR_RETURN(header.digest, Digest::FromHex(json.at("digest").get<std::string>()));
    return header;
  } catch (const nlohmann::json::exception& error) {
    return DataLoss(fmt::format("read model: its first line lacks a field: {}{}", error.what(), kTrainAnew));
  }
}

}  // namespace

TargetKind TargetKindOf(const FeatureRow& row) {
  static const size_t bits = ColumnOf("target.vector_bits"), registers = ColumnOf("target.registers");
  return {static_cast<int>(std::lround(std::exp2(row[bits]) - 1)), static_cast<int>(std::lround(row[registers]))};
}

StatusOr<BaseModel> BaseModel::Train(std::span<const CostSample> samples, const BaseModelOptions& options) {
  std::vector<double> draft;
  for (const CostSample& sample : samples) {
    RETURN_IF_ERROR(CheckRow(sample.features));
    draft.push_back(-double{sample.features[kDraftColumn]});
  }
  const std::vector<RankedPair> pairs = DrawPairs(LabelsOf(samples), options.pairs_per_row, Random(options.seed));
  if (pairs.empty()) {
    return FailedPrecondition(
        fmt::format("train model: of {} records no two of a workload have times that differ; tune something first",
                    samples.size()));
  }
  BaseModel model;
  model.trained_from_ = Describe(samples);
  model.draft_weight_ = FitEstimateWeight(pairs, draft);
  for (double& score : draft) score *= model.draft_weight_;
  ASSIGN_OR_RETURN(model.trees_, Boost(samples, pairs, draft, options));
  return model;
}

StatusOr<BaseModel> BaseModel::FromText(std::string_view text) {
  const size_t end = std::min(text.find('\n'), text.size());
  ASSIGN_OR_RETURN(Header header, ReadHeader(text.substr(0, end)));
  std::string_view rest = text.substr(std::min(text.size(), end + 1));
  if (Sha256(rest) != header.digest)
    return DataLoss(fmt::format("read model: its digest does not match its trees{}", kTrainAnew));
  if (!std::isfinite(header.draft_weight) || header.draft_weight < 0 || header.trees > kMostTrees)
    return DataLoss(fmt::format("read model: a number of its first line is out of range{}", kTrainAnew));
  BaseModel model;
  model.trained_from_ = std::move(header.from);
  model.draft_weight_ = header.draft_weight;
  while (!rest.empty()) {
    const size_t line = std::min(rest.find('\n'), rest.size());
    ASSIGN_OR_RETURN(RegressionTree tree, ReadTree(rest.substr(0, line)));
    model.trees_.push_back(std::move(tree));
    rest.remove_prefix(std::min(rest.size(), line + 1));
  }
  if (model.trees_.size() == header.trees) return model;
  return DataLoss(
      fmt::format("read model: {} trees where {} are announced{}", model.trees_.size(), header.trees, kTrainAnew));
}

std::string BaseModel::ToText() const {
  std::string lines;
  for (const RegressionTree& tree : trees_) lines += TreeLine(tree);
  return HeaderOf(trained_from_, draft_weight_, Sha256(lines), trees_.size()).dump() + "\n" + lines;
}

StatusOr<std::vector<double>> BaseModel::Score(std::span<const FeatureRow> rows) const {
  std::vector<double> scores;
  scores.reserve(rows.size());
  for (const FeatureRow& row : rows) {
    RETURN_IF_ERROR(CheckRow(row));
    const double draft = -double{row[kDraftColumn]};
    const bool is_known =
        std::binary_search(trained_from_.targets.begin(), trained_from_.targets.end(), TargetKindOf(row));
    scores.push_back(is_known ? draft_weight_ * draft + SumOfTrees(trees_, row) : draft);
  }
  return scores;
}

StatusOr<std::shared_ptr<const BaseModel>> ReadBaseModel(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  StatusOr<BaseModel> model = BaseModel::FromText(text);
  if (!model.ok()) return model.status().WithContext(path);
  return std::make_shared<const BaseModel>(*std::move(model));
}

std::shared_ptr<const BaseModel> BuiltInBaseModel() {
  static const std::shared_ptr<const BaseModel> built_in = []() -> std::shared_ptr<const BaseModel> {
    StatusOr<BaseModel> model = BaseModel::FromText(kBuiltIn);
    return model.ok() ? std::make_shared<const BaseModel>(*std::move(model)) : nullptr;
  }();
  return built_in;
}

}  // namespace lathe
