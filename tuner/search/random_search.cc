#include <unordered_set>

#include "support/status_macros.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/target_space.h"

namespace lathe {

StatusOr<MeasureCandidate> MakeCandidate(const TuneTask& task, const ScheduleTrace& trace, uint64_t seed) {
  if (task.before_replay && !task.before_replay()) return Cancelled("replay a candidate: the search was given up");
  ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(task.func, seed));
  RETURN_IF_ERROR(trace.Replay(schedule));
  RETURN_IF_ERROR(SpaceOf(task.target).check(schedule, task.target));
  MeasureCandidate candidate{schedule.trace(), schedule.trace().ToJson(), {}, schedule.func(), 0, seed};
  candidate.trace_digest = Sha256(candidate.trace_json);
  return candidate;
}

namespace {

constexpr int kTriesPerCandidate =
    200;  // Draws that break a constraint or repeat are common; replaying one takes well below a millisecond.

class RandomSearch : public SearchStrategy {
 public:
  RandomSearch(const TuneTask& task, uint64_t seed) : task_(task), random_(seed) {}

  std::vector<MeasureCandidate> Propose(int count) override {
    std::vector<MeasureCandidate> candidates;
    for (int tries = 0; static_cast<int>(candidates.size()) < count && tries < count * kTriesPerCandidate; ++tries) {
      const Sketch& sketch = task_.sketches[random_.Below(task_.sketches.size())];
      StatusOr<MeasureCandidate> candidate = MakeCandidate(task_, sketch.trace, random_.Next());
      if (candidate.ok() && seen_.insert(candidate->trace_digest).second) candidates.push_back(*std::move(candidate));
    }
    return candidates;
  }
  std::vector<MeasureCandidate> Adopt(std::span<const ScheduleTrace> traces, int count) override {
    std::vector<MeasureCandidate> candidates;
    for (size_t i = 0; i < traces.size() && static_cast<int>(candidates.size()) < count; ++i) {
      StatusOr<MeasureCandidate> candidate = MakeCandidate(task_, traces[i], 0);
      if (candidate.ok() && seen_.insert(candidate->trace_digest).second) candidates.push_back(*std::move(candidate));
    }
    return candidates;
  }
  void Observe(const MeasuredCandidate& measured) override { seen_.insert(measured.trace_digest); }
  void Recall(std::span<const MeasuredCandidate> measured) override {
    for (const MeasuredCandidate& one : measured) Observe(one);
  }
  void Exclude(std::vector<Digest> traces) override { seen_.insert(traces.begin(), traces.end()); }

 private:
  const TuneTask& task_;
  Random random_;
  std::unordered_set<Digest, DigestHash> seen_;
};

}  // namespace

std::unique_ptr<SearchStrategy> MakeRandomSearch(const TuneTask& task, uint64_t seed) {
  return std::make_unique<RandomSearch>(task, seed);
}

}  // namespace lathe
