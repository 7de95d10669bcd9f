// The candidates of one task that were replayed, passed the constraints and wait to be measured.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "tuner/cost_model/cost_model.h"
#include "tuner/search/search_strategy.h"

namespace lathe {

// What ranking needs; the scheduled function is made anew for the few that are proposed.
struct Member {
  int sketch = 0;       // Members of one sketch can be crossed. A trace of no known sketch has a number of its own.
  ScheduleTrace trace;  // Every decision made.
  FeatureRow features;
  uint64_t seed = 0;
  double score = 0, uncertainty = 0;
};

// Makes members out of traces; each list of decisions and each scheduled function once.
class MemberFactory {
 public:
  explicit MemberFactory(const TuneTask& task);

  // Replays `trace` of `sketch`; what it leaves open is drawn from `seed`. nullopt where the replay or a constraint
  // fails, or the result was made before. Decisions that were tried before cost no replay.
  std::optional<Member> Make(int sketch, const ScheduleTrace& trace, uint64_t seed);
  // As Make, for a trace from elsewhere; also when it was made before.
  std::optional<Member> Recall(const ScheduleTrace& trace);
  // What the member's trace makes of the workload; nullopt if the task gives up.
  std::optional<PrimFunc> FuncOf(const Member& member) const;

 private:
  std::optional<Schedule> Replay(const ScheduleTrace& trace, uint64_t seed) const;
  Member Describe(int sketch, const Schedule& schedule, uint64_t seed) const;
  int SketchOf(const ScheduleTrace& trace);
  uint64_t KeyOf(int sketch, const ScheduleTrace& trace) const;

  const TuneTask& task_;
  std::optional<Schedule> unscheduled_;  // What every replay starts from; nullopt if the workload cannot be scheduled.
  std::unordered_set<uint64_t> tried_;   // Decisions.
  std::unordered_set<uint64_t> functions_;  // Structural hashes.
  std::vector<ScheduleTrace> foreign_;      // Sketches that came from elsewhere.
};

// Sets the scores of all members. Where the model fails, the draft estimate stands in.
void ScoreMembers(const CostModel& model, std::vector<Member>& members);

// Takes up to `count` members out of `members`, best `rank` first, each at least `distance` decisions away from those
// in `taken`; when there are too few, nearer ones too. Appends to `taken`.
void TakeBest(std::vector<Member>& members, size_t count, double distance, double (*rank)(const Member&),
              std::vector<Member>& taken);

}  // namespace lathe
