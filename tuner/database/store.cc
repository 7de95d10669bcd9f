#include "tuner/database/store.h"

#include <algorithm>
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

}  // namespace lathe
