#include "tuner/job/default_search.h"

#include "tuner/search/evolutionary_search.h"

namespace lathe {

StrategyFactory EvolutionUnderXgb(std::shared_ptr<const BaseModel> base) {
  const std::shared_ptr<CostModel> model = MakeXgbModel({}, std::move(base));
  return [model](const TuneTask& task, uint64_t seed, ModelReportSink on_update) {
    return MakeEvolutionarySearch(task, *model, seed, {.on_update = std::move(on_update)});
  };
}

}  // namespace lathe
