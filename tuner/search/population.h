// The candidates of one task that were replayed, passed the constraints and wait to be measured.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tuner/cost_model/cost_model.h"
#include "tuner/search/search_strategy.h"
#include "tuner/search/shared_replay.h"

namespace lathe {

// What a model learns from it: a time that is none is a failure.
CostSample::Outcome OutcomeOf(const MeasuredCandidate& measured);

// What ranking needs; the scheduled function is made anew for the few that are proposed.
struct Member {
  int sketch = 0;       // Members of one sketch can be crossed. A trace of no known sketch has a number of its own.
  ScheduleTrace trace;  // Every decision made.
  FeatureRow features;
  uint64_t seed = 0;
  int64_t stores = 0;  // That its unrolled loops write out: what building it costs goes by them.
  double score = 0, uncertainty = 0;
};

// A trace of the sketch, to be replayed.
struct PlannedMember {
  int sketch = 0;
  ScheduleTrace trace;
};

// Makes members out of traces; each list of decisions and each scheduled function once.
class MemberFactory {
 public:
  explicit MemberFactory(const TuneTask& task);

  // Replays `trace` of `sketch`; what it leaves open is drawn from `seed`. nullopt where the replay or a constraint
  // fails, or the result was made before. Decisions that were tried before cost no replay.
  std::optional<Member> Make(int sketch, const ScheduleTrace& trace, uint64_t seed);
  // Makes those of `planned` that Make can, in the order of their decisions: they share the most of their replays then.
  // Seeds are drawn from `random`.
  std::vector<Member> MakeAll(std::vector<PlannedMember> planned, Random& random);
  // As Make, for a trace from elsewhere; also when it was made before.
  std::optional<Member> Recall(const ScheduleTrace& trace);
  // What the member's trace makes of the workload; nullopt if the task gives up.
  std::optional<PrimFunc> FuncOf(const Member& member);

 private:
  // `sketch` has a number already.
  std::optional<Schedule> Replay(int sketch, const ScheduleTrace& trace, uint64_t seed);
  bool MayReplay() const { return unscheduled_ && (!task_.before_replay || task_.before_replay()); }
  Member Describe(int sketch, const Schedule& schedule, uint64_t seed) const;
  int SketchOf(const ScheduleTrace& trace);
  uint64_t KeyOf(int sketch, const ScheduleTrace& trace) const;

  const TuneTask& task_;
  std::optional<Schedule> unscheduled_;  // What every replay starts from; nullopt if the workload cannot be scheduled.
  std::unordered_set<uint64_t> tried_;   // Decisions.
  std::unordered_set<uint64_t> functions_;         // Structural hashes.
  std::vector<ScheduleTrace> foreign_;             // Sketches that came from elsewhere.
  std::unordered_map<int, SharedReplay> replays_;  // By sketch.
};

// Sets the scores of all members. Where the model fails, the draft estimate stands in.
void ScoreMembers(const CostModel& model, std::vector<Member>& members);

// Takes up to `count` members out of `members`, best `rank` first, each at least `distance` decisions away from those
// in `taken`; when there are too few, nearer ones too. One whose code is less than half as long may pass a few that
// are ranked before it: no model tells these apart, and what is built is paid for. Appends to `taken`.
void TakeBest(std::vector<Member>& members, size_t count, double distance, double (*rank)(const Member&),
              std::vector<Member>& taken);

}  // namespace lathe
