#include "tuner/search/population.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/structural.h"
#include "compiler/ir/unrolled_stores.h"
#include "tuner/search/decisions.h"
#include "tuner/space/target_space.h"

namespace lathe {
namespace {

constexpr size_t kAlike = 8;  // Ranks in a row that count as equal where code is much longer.

bool IsNear(const Member& member, const std::vector<Member>& taken, double distance) {
  return distance > 0 && std::any_of(taken.begin(), taken.end(), [&](const Member& other) {
           return other.sketch == member.sketch && DecisionDistance(other.trace, member.trace) < distance;
         });
}

// Of `ranked`, those that are out left out; who is too near to one of `taken` is out from then on.
std::optional<size_t> NextBest(const std::vector<Member>& ranked, const std::vector<Member>& taken, double distance,
                               std::vector<bool>& is_out) {
  std::optional<size_t> best;
  size_t seen = 0;
  for (size_t i = 0; i < ranked.size() && seen < kAlike; ++i) {
    if (!is_out[i] && IsNear(ranked[i], taken, distance)) is_out[i] = true;
    if (is_out[i]) continue;
    ++seen;
    if (!best || 2 * ranked[i].stores < ranked[*best].stores) best = i;
  }
  return best;
}

}  // namespace

CostSample::Outcome OutcomeOf(const MeasuredCandidate& measured) {
  const bool has_time = std::isfinite(measured.median_ns) && measured.median_ns > 0;
  if (measured.outcome == MeasuredCandidate::Outcome::kFailed || !has_time) return CostSample::Outcome::kFailed;
  return measured.outcome == MeasuredCandidate::Outcome::kTimed ? CostSample::Outcome::kTimed
                                                                : CostSample::Outcome::kCensored;
}

uint64_t MemberFactory::KeyOf(int sketch, const ScheduleTrace& trace) const {
  return Random::Mix(DecisionHash(trace) + static_cast<uint64_t>(sketch) * 0x9e3779b97f4a7c15u);
}

MemberFactory::MemberFactory(const TuneTask& task) : task_(task) {
  StatusOr<Schedule> schedule = Schedule::Create(task.func);
  if (schedule.ok()) unscheduled_ = *std::move(schedule);
}

std::optional<Schedule> MemberFactory::Replay(int sketch, const ScheduleTrace& trace, uint64_t seed) {
  if (!MayReplay()) return std::nullopt;
  StatusOr<Schedule> schedule = replays_.try_emplace(sketch, *unscheduled_).first->second.Replay(trace, seed);
  if (!schedule.ok() || !SpaceOf(task_.target).check(*schedule, task_.target).ok()) return std::nullopt;
  return *std::move(schedule);
}

Member MemberFactory::Describe(int sketch, const Schedule& schedule, uint64_t seed) const {
  return {sketch, schedule.trace(), SpaceOf(task_.target).features(schedule.func(), task_.target), seed,
          CountUnrolledStores(schedule.func().body)};
}

std::optional<Member> MemberFactory::Make(int sketch, const ScheduleTrace& trace, uint64_t seed) {
  const bool is_complete = !trace.decisions().empty();
  if (is_complete && !tried_.insert(KeyOf(sketch, trace)).second) return std::nullopt;
  const std::optional<Schedule> schedule = Replay(sketch, trace, seed);
  if (!schedule) return std::nullopt;
  // What was drawn, or repaired, is known only now.
  const uint64_t key = KeyOf(sketch, schedule->trace());
  const bool is_new = tried_.insert(key).second || (is_complete && key == KeyOf(sketch, trace));
  if (!is_new || !functions_.insert(StructuralHash(schedule->func())).second) return std::nullopt;
  return Describe(sketch, *schedule, seed);
}

std::vector<Member> MemberFactory::MakeAll(std::vector<PlannedMember> planned, Random& random) {
  std::stable_sort(planned.begin(), planned.end(), [](const PlannedMember& a, const PlannedMember& b) {
    return a.sketch != b.sketch ? a.sketch < b.sketch : a.trace.decisions() < b.trace.decisions();
  });
  std::vector<Member> members;
  for (const PlannedMember& plan : planned) {
    std::optional<Member> member = Make(plan.sketch, plan.trace, random.Next());
    if (member) members.push_back(*std::move(member));
  }
  return members;
}

std::optional<Member> MemberFactory::Recall(const ScheduleTrace& trace) {
  if (!MayReplay()) return std::nullopt;
  Schedule schedule = *unscheduled_;
  schedule.Seed(0);
  if (!trace.Replay(schedule).ok() || !SpaceOf(task_.target).check(schedule, task_.target).ok()) return std::nullopt;
  const int sketch = SketchOf(schedule.trace());
  tried_.insert(KeyOf(sketch, schedule.trace()));
  functions_.insert(StructuralHash(schedule.func()));
  return Describe(sketch, schedule, 0);
}

std::optional<PrimFunc> MemberFactory::FuncOf(const Member& member) {
  const std::optional<Schedule> schedule = Replay(member.sketch, member.trace, member.seed);
  return schedule ? std::optional(schedule->func()) : std::nullopt;
}

int MemberFactory::SketchOf(const ScheduleTrace& trace) {
  if (const int sketch = FindSketch(task_.sketches, trace); sketch >= 0) return sketch;
  for (size_t i = 0; i < foreign_.size(); ++i)
    if (IsSameSketch(foreign_[i], trace)) return static_cast<int>(task_.sketches.size() + i);
  foreign_.push_back(trace);
  return static_cast<int>(task_.sketches.size() + foreign_.size() - 1);
}

void ScoreMembers(const CostModel& model, std::vector<Member>& members) {
  std::vector<FeatureRow> rows;
  rows.reserve(members.size());
  for (const Member& member : members) rows.push_back(member.features);
  const StatusOr<std::vector<Prediction>> predictions = model.Predict(rows);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].score = predictions.ok() ? (*predictions)[i].score : -double{members[i].features[kDraftColumn]};
    members[i].uncertainty = predictions.ok() ? (*predictions)[i].uncertainty : 0;
  }
}

void TakeBest(std::vector<Member>& members, size_t count, double distance, double (*rank)(const Member&),
              std::vector<Member>& taken) {
  std::stable_sort(members.begin(), members.end(), [&](const Member& a, const Member& b) { return rank(a) > rank(b); });
  std::vector<bool> is_taken(members.size(), false);
  size_t left = std::min(count, members.size());
  for (const double required : {distance, 0.0}) {
    std::vector<bool> is_out = is_taken;
    while (left > 0) {
      const std::optional<size_t> next = NextBest(members, taken, required, is_out);
      if (!next) break;
      is_out[*next] = is_taken[*next] = true;
      taken.push_back(std::move(members[*next]));
      --left;
    }
  }
  std::vector<Member> rest;
  for (size_t i = 0; i < members.size(); ++i)
    if (!is_taken[i]) rest.push_back(std::move(members[i]));
  members = std::move(rest);
}

}  // namespace lathe
