#include "tuner/database/store.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "support/status_macros.h"

namespace lathe {
namespace {

// 0 is the best; what has no time is ordered by age.
std::tuple<int, double, int64_t> PlaceOf(const TuningRecord& record) {
  const int rank = record.status == TrialState::kOk         ? 0
                   : record.status == TrialState::kNoisy    ? 1
                   : record.status == TrialState::kCensored ? 2
                                                            : 3;
  return {rank, record.timings ? record.timings->median_ns : 0, record.id};
}

// The ids of those that are kept of a history that is longer than `most`, in order.
std::vector<int64_t> ChooseIds(std::vector<RecordOutcome> outcomes, size_t most) {
  std::set<int64_t> chosen;
  for (const RecordOutcome& outcome : outcomes)
    if (outcome.final_round > 0) chosen.insert(outcome.id);
  for (size_t i = 0; i < most / 2; ++i) chosen.insert(outcomes[i * outcomes.size() / (most / 2)].id);
  std::erase_if(outcomes, [](const RecordOutcome& outcome) { return !IsTimed(outcome.status) || outcome.late; });
  const auto time = [](const RecordOutcome& outcome) { return std::pair(outcome.median_ns, outcome.id); };
  const size_t fastest = std::min(most / 2, outcomes.size());
  std::ranges::partial_sort(outcomes, outcomes.begin() + static_cast<std::ptrdiff_t>(fastest), {}, time);
  for (size_t i = 0; i < fastest; ++i) chosen.insert(outcomes[i].id);
  return {chosen.begin(), chosen.end()};
}

StatusOr<std::vector<RecordOutcome>> Outcomes(Store& store, const TuningKey& key, const OutcomeFilter& filter) {
  ASSIGN_OR_RETURN(const int64_t about, store.CountMeasured(key));
  std::vector<RecordOutcome> outcomes;
  outcomes.reserve(static_cast<size_t>(about));
  for (Page page{.limit = 10'000};;) {
    ASSIGN_OR_RETURN(const std::vector<RecordOutcome> rows, store.ListOutcomes(key, page));
    std::ranges::copy_if(rows, std::back_inserter(outcomes), filter);
    if (rows.size() < static_cast<size_t>(page.limit)) return outcomes;
    page.after_id = rows.back().id;
  }
}

}  // namespace

Status ForEachTrial(Store& store, const TrialFilter& filter, const std::function<void(const TrialRow&)>& visit) {
  for (Page page{.limit = 1000};;) {
    ASSIGN_OR_RETURN(const std::vector<TrialRow> trials, store.ListTrials(filter, page));
    for (const TrialRow& trial : trials) visit(trial);
    if (trials.size() < static_cast<size_t>(page.limit)) return OkStatus();
    page.after_id = trials.back().id;
  }
}

StatusOr<std::vector<TuningRecord>> WholeHistory(Store& store, const TuningKey& key) {
  std::vector<TuningRecord> history;
  for (Page page{.limit = 1000};;) {
    ASSIGN_OR_RETURN(std::vector<TuningRecord> records, store.History(key, page));
    const bool is_last = records.size() < static_cast<size_t>(page.limit);
    std::move(records.begin(), records.end(), std::back_inserter(history));
    if (is_last) break;
    page.after_id = history.back().id;
  }
  std::ranges::sort(history, {}, PlaceOf);
  return history;
}

StatusOr<PartOfHistory> SomeHistory(Store& store, const TuningKey& key, size_t most, const std::optional<Digest>& also,
                                    const OutcomeFilter& filter) {
  CHECK(most >= 2) << most;
  ASSIGN_OR_RETURN(std::vector<RecordOutcome> outcomes, Outcomes(store, key, filter));
  std::set<int64_t> of_also;
  if (also && outcomes.size() > most) {
    ASSIGN_OR_RETURN(const std::vector<TuningRecord> records, store.RecordsOf(key, *also));
    for (const TuningRecord& record : records) of_also.insert(record.id);
  }
  PartOfHistory part{.is_whole = outcomes.size() <= most};
  std::vector<int64_t> ids;
  for (const RecordOutcome& outcome : outcomes)
    if (part.is_whole || of_also.contains(outcome.id)) ids.push_back(outcome.id);
  if (!part.is_whole) {
    const std::vector<int64_t> chosen = ChooseIds(std::move(outcomes), most);
    ids.insert(ids.end(), chosen.begin(), chosen.end());
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }
  ASSIGN_OR_RETURN(part.records, store.ReadRecords(ids));
  std::ranges::sort(part.records, {}, PlaceOf);
  return part;
}

StatusOr<std::optional<TrialRow>> Store::ClaimForBuild(std::string_view worker, int64_t slot,
                                                       const TrialFilter& filter) {
  ASSIGN_OR_RETURN(std::vector<TrialRow> trials, ClaimBuilds(worker, slot, filter, 1));
  return trials.empty() ? std::nullopt : std::optional(std::move(trials.front()));
}

StatusOr<std::optional<TrialRow>> Store::ClaimForMeasure(int64_t device_id, int64_t epoch, const TrialFilter& filter) {
  const MeasureClaim claim{device_id, epoch, filter};
  return ClaimMeasurements(std::span(&claim, 1)).front();
}

}  // namespace lathe
