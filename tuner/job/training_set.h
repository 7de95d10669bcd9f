// What a database can teach a cost model: its records as samples.
#pragma once

#include <vector>

#include "tuner/cost_model/cost_model.h"
#include "tuner/database/store.h"
#include "tuner/search/search_strategy.h"

namespace lathe {

// What was measured under one key.
struct TaskSamples {
  TuneTask task;
  std::vector<Digest> traces;       // Of the samples, one each.
  std::vector<CostSample> samples;  // Each trace once, as a search measured it first; in the order of the results.
};

// All keys that have a best record, in the order of their workloads' digests.
StatusOr<std::vector<TuningKey>> ListKeys(Store& store);

// The samples of `key`; their CostSample::task is `number`. Traces that this build cannot replay are left out.
StatusOr<TaskSamples> ReadSamples(Store& store, const TuningKey& key, uint64_t number);

}  // namespace lathe
