#include "tuner/search/untuned_schedule.h"

#include "support/status_macros.h"
#include "tuner/search/decisions.h"
#include "tuner/search/population.h"
#include "tuner/space/default_schedule.h"

namespace lathe {
namespace {

constexpr size_t kDrawn =
    32;  // Candidates, over all sketches; 16 to 128 of them made no difference that was measurable.
constexpr int kDescents = 2;  // Times that all neighbours of the best are looked at.

double DraftOf(const Member& member) { return member.features[kDraftColumn]; }

void KeepBetter(std::optional<Member> found, std::optional<Member>& best) {
  if (found && (!best || DraftOf(*found) < DraftOf(*best))) best = std::move(found);
}

// nullopt: there is nothing to choose.
std::optional<Member> BestByDraft(const TuneTask& task) {
  MemberFactory factory(task);
  std::optional<Member> best;
  std::vector<int> open;  // Sketches that leave something to decide.
  for (int i = 0; i < static_cast<int>(task.sketches.size()); ++i) {
    std::optional<Member> first = factory.Make(i, task.sketches[static_cast<size_t>(i)].trace, 0);
    if (!first || !first->trace.decisions().empty()) open.push_back(i);
    KeepBetter(std::move(first), best);
  }
  for (size_t draw = 1; draw <= kDrawn && !open.empty(); ++draw) {
    const int sketch = open[draw % open.size()];
    KeepBetter(factory.Make(sketch, task.sketches[static_cast<size_t>(sketch)].trace, draw), best);
  }
  for (int i = 0; best && i < kDescents; ++i) {
    const Member from = *best;
    for (const ScheduleTrace& near : Neighbours(from.trace))
      KeepBetter(factory.Make(from.sketch, near, from.seed), best);
    if (DraftOf(*best) == DraftOf(from)) break;
  }
  return open.empty() ? std::nullopt : best;
}

}  // namespace

StatusOr<Schedule> UntunedSchedule(const PrimFunc& workload, const Target& target) {
  TuneTask task{{}, workload, target, {}, 0};
  ASSIGN_OR_RETURN(task.sketches, MakePostOrderApply()->Generate(workload, target));
  const std::optional<Member> best = BestByDraft(task);
  if (!best) return DefaultSchedule(workload, target);
  ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(workload));
  schedule.Seed(best->seed);
  RETURN_IF_ERROR(best->trace.Replay(schedule));
  return schedule;
}

}  // namespace lathe
