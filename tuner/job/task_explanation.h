// Why the best schedule of a task is the best, and how the search came to it, from what the Store keeps. Pure but for
// ExplainTask.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/database/store.h"
#include "tuner/search/search_strategy.h"

namespace lathe {

// One way to schedule the workload.
struct SketchStory {
  std::string made_by;  // The space, and what in it.
  double choices = 0;   // Lists of decisions that it has; those that a constraint refuses count.
  double accepted = 0;  // Share of random ones that replay and pass the constraints.
  int64_t trials = 0;   // Measured, with or without a time.
  double best_ns = 0;   // 0: none has a time.
};

// One value of one part of a decision, over the timed candidates of the best one's sketch.
struct ValueStory {
  std::string value;
  int64_t trials = 0;
  double best_ns = 0, median_ns = 0;
};
struct DecisionStory {
  std::string name;                // 'tile of loop "j" of "matmul", factor 4 of 4'
  std::string chosen;              // By the best.
  std::vector<ValueStory> values;  // The one with the fastest candidate first.
  // Share of the variance of log time that the value alone explains, less what as many values would explain by chance
  // (adjusted R squared); 0 with fewer than kFewestForShares candidates.
  double share = 0;
};
inline constexpr size_t kFewestForShares = 12;

// A timed candidate that differs from the best in one decision.
struct NeighbourStory {
  std::string name, chosen, other;  // 'tile of ...', "[4, 1, 2, 16]", "[4, 2, 1, 16]"
  double median_ns = 0;
};

struct TaskExplanation {
  double flops = 0, floor_ns = 0;      // Of one call: operations; the time by the device's peak. 0: unknown.
  double untuned_ns = 0, best_ns = 0;  // 0: none. The best as it was screened, like those that it is compared with.
  double best_final_ns = 0;            // As its finals measured it; 0: there were none.
  int best_sketch = -1;                // -1: of none of the task's sketches, or no best.
  int64_t best_after = 0;              // It was the result with this number, from 1.
  std::string best_trace;              // Its calls in Python.
  // What the draft estimate says of the best: which bound is the largest ("compute", "l2", ...), and the share of its
  // cycles that arithmetic needs.
  std::string bound_by;
  double compute_share = 0;
  std::vector<SketchStory> sketches;
  std::map<std::string, int64_t> outcomes;  // By TrialStateName.
  std::vector<double> result_ns;            // In the order in which results came in; 0: it has no time.
  std::vector<ModelRound> rounds;
  std::vector<DecisionStory> decisions;    // The one that explains most first; those with one value only are left out.
  std::vector<NeighbourStory> neighbours;  // Fastest first.
};

// `history`: every record under the task's key, in any order; `best`: what is best of it.
TaskExplanation Explain(const TuneTask& task, std::vector<TuningRecord> history,
                        const std::optional<TuningRecord>& best);

// Of a task of the Store, with what its job's search said of the model, and the peak that devices of its class have
// said.
StatusOr<TaskExplanation> ExplainTask(Store& store, const TaskRow& task);

}  // namespace lathe
