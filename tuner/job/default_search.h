// How jobs are searched where nobody says otherwise.
#pragma once

#include <memory>

#include "tuner/cost_model/base_model.h"
#include "tuner/job/job_search.h"

namespace lathe {

// Evolution under a cost model of XGBoost. One model for all tasks of a job: what is learned from one helps to rank
// another. It begins with what other workloads taught.
StrategyFactory EvolutionUnderXgb(std::shared_ptr<const BaseModel> base);

}  // namespace lathe
