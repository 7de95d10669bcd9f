// Evolution of decisions under a learned cost model, with coordinate descent around the best measured candidates.
#pragma once

#include <memory>

#include "tuner/cost_model/cost_model.h"
#include "tuner/search/decisions.h"
#include "tuner/search/search_strategy.h"

namespace lathe {

struct EvolutionaryOptions {
  int population = 128;           // Parents of the next generation: the best of the archive.
  int archive = 4096;             // Candidates that were replayed and not measured yet, judged again by each new model.
  int generations = 3;            // Per round.
  int round = 16;                 // Candidates ranked at a time, and results between two updates of the model.
  double crossover = 0.15;        // Of the children; the others are mutations.
  double random_share = 0.08;     // Of a round: drawn blindly. 0.25 until something is measured.
  double uncertain_share = 0.15;  // Of a round: by score plus uncertainty.
  double descent_share =
      0.25;  // Of a round: neighbours of the best measured; twice as many once two rounds brought nothing.
  MutationShares mutation;
  uint64_t model_task = 0;  // What the model knows this task by; 0: from the workload's digest.
  ModelReportSink on_update = nullptr;
};

// `task` and `model` outlive the strategy; strategies of several tasks may share one model on one thread. Same seed,
// same calls, same candidates. A round costs some hundred replays, so a call of Propose now and then takes longer than
// the others.
std::unique_ptr<SearchStrategy> MakeEvolutionarySearch(const TuneTask& task, CostModel& model, uint64_t seed,
                                                       EvolutionaryOptions options = {});

}  // namespace lathe
