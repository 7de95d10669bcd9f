#include "tuner/database/store.h"

#include "support/status_macros.h"

namespace lathe {

Status ForEachTrial(Store& store, const TrialFilter& filter, const std::function<void(const TrialRow&)>& visit) {
  for (Page page{.limit = 1000};;) {
    ASSIGN_OR_RETURN(const std::vector<TrialRow> trials, store.ListTrials(filter, page));
    for (const TrialRow& trial : trials) visit(trial);
    if (trials.size() < static_cast<size_t>(page.limit)) return OkStatus();
    page.after_id = trials.back().id;
  }
}

}  // namespace lathe
