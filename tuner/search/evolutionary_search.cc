#include "tuner/search/evolutionary_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tuner/search/population.h"
#include "tuner/search/sketch_trials.h"

namespace lathe {
namespace {

constexpr double kShareOfElites = 0.25;  // Of the parents, the best measured come on top of the population.
constexpr size_t kDescentCentres = 3;    // Best measured candidates whose neighbours are looked at.
constexpr size_t kMaxNeighbours = 48;    // Replayed per round: single moves,
constexpr size_t kMaxCoupled = 48;       // and two at once.
constexpr double kApart = 2.5;           // Decisions between two candidates of a round: more than one factor 2 moved.
constexpr int kFirstRandomShare = 4;     // One in this many, until something is measured.
constexpr int kDryDraws = 64;            // Random draws in a row without anything new: the space is exhausted.
constexpr size_t kOwedShare = 2;         // One in this many is for sketches that are owed trials, at most.
constexpr size_t kDrawnIfOwed = 8;       // Of a sketch that is owed a trial and has no candidate.

double Score(const Member& member) { return member.score; }
double Optimism(const Member& member) { return member.score + 1.5 * member.uncertainty; }

void Append(std::vector<Member> members, std::vector<Member>& to) {
  for (Member& member : members) to.push_back(std::move(member));
}

// What was measured with a time.
struct Elite {
  int sketch;
  ScheduleTrace trace;
  double median_ns;
};

class EvolutionarySearch : public SearchStrategy {
 public:
  EvolutionarySearch(const TuneTask& task, CostModel& model, uint64_t seed, EvolutionaryOptions options)
      : task_(task),
        model_(model),
        options_(std::move(options)),
        random_(seed),
        factory_(task),
        trials_(task.keeps_to_sketches ? task.sketches.size() : 0) {
    if (options_.model_task == 0)
      std::memcpy(&options_.model_task, task.workload.bytes.data(), sizeof(options_.model_task));
  }

  std::vector<MeasureCandidate> Propose(int count) override {
    std::vector<MeasureCandidate> candidates;
    while (static_cast<int>(candidates.size()) < count) {
      if (queue_.empty()) Evolve(std::max(options_.round, count - static_cast<int>(candidates.size())));
      if (queue_.empty()) break;
      Member member = std::move(queue_.back());
      queue_.pop_back();
      if (IsKnown(member)) continue;  // An earlier run measured it.
      std::optional<MeasureCandidate> candidate = HandOut(std::move(member));
      if (!candidate) break;
      candidates.push_back(*std::move(candidate));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.predicted > b.predicted; });
    return candidates;
  }

  std::vector<MeasureCandidate> Adopt(std::span<const ScheduleTrace> traces, int count) override {
    std::vector<Member> members, later;
    for (const ScheduleTrace& trace : traces) {
      std::optional<Member> member = factory_.Recall(trace);
      if (member && MayBreed(member->sketch)) members.push_back(*std::move(member));
    }
    ScoreMembers(model_, members);
    std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    std::vector<MeasureCandidate> candidates;
    for (Member& member : members) {
      if (IsKnown(member)) continue;
      if (static_cast<int>(candidates.size()) >= count) {
        later.push_back(std::move(member));
      } else if (std::optional<MeasureCandidate> candidate = HandOut(std::move(member))) {
        candidates.push_back(*std::move(candidate));
      }
    }
    Join(std::move(later));
    return candidates;
  }

  void Observe(const MeasuredCandidate& measured) override {
    Note(measured);
    if (static_cast<int>(samples_.size()) >= options_.round) UpdateModel();
  }

  void Recall(std::span<const MeasuredCandidate> measured) override {
    for (const MeasuredCandidate& one : measured) Note(one);
    if (static_cast<int>(samples_.size()) >= options_.round) UpdateModel();
  }

  void Exclude(std::vector<Digest> traces) override { excluded_ = std::move(traces); }

 private:
  struct Known {
    Member member;
    std::optional<CostSample::Outcome> outcome;
  };

  // For the next update of the model.
  void Note(const MeasuredCandidate& measured) {
    auto known = known_.find(measured.trace_digest);
    if (known == known_.end()) {
      const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(measured.trace_json);
      std::optional<Member> member;
      if (trace.ok()) member = factory_.Recall(*trace);
      if (!member) return;  // Of another workload or an older space: nothing to learn from.
      trials_.Proposed(member->sketch);
      known = known_.emplace(measured.trace_digest, Known{*std::move(member), std::nullopt}).first;
    }
    const CostSample::Outcome outcome = OutcomeOf(measured);
    // Told twice, or a worse word on what has a time already.
    if (known->second.outcome == outcome || known->second.outcome == CostSample::Outcome::kTimed) return;
    known->second.outcome = outcome;
    const Member& member = known->second.member;
    if (outcome == CostSample::Outcome::kFailed) trials_.Failed(member.sketch);
    samples_.push_back({member.features, options_.model_task, outcome, measured.median_ns});
    if (outcome == CostSample::Outcome::kTimed) AddElite({member.sketch, member.trace, measured.median_ns});
  }

  bool IsKnown(const Member& member) const {
    const Digest digest = Sha256(member.trace.ToJson());
    return known_.contains(digest) || std::binary_search(excluded_.begin(), excluded_.end(), digest);
  }

  // nullopt if the task gives up.
  std::optional<MeasureCandidate> HandOut(Member member) {
    std::optional<PrimFunc> func = factory_.FuncOf(member);
    if (!func) return std::nullopt;
    MeasureCandidate candidate{member.trace, member.trace.ToJson(), {}, *std::move(func), member.score, member.seed};
    candidate.trace_digest = Sha256(candidate.trace_json);
    trials_.Proposed(member.sketch);
    known_.emplace(candidate.trace_digest, Known{std::move(member), std::nullopt});
    return candidate;
  }

  bool MayBreed(int sketch) const {
    return !task_.keeps_to_sketches || static_cast<size_t>(sketch) < task_.sketches.size();
  }

  void AddElite(Elite elite) {
    if (!MayBreed(elite.sketch)) return;
    const auto slower = [](const Elite& a, const Elite& b) { return a.median_ns < b.median_ns; };
    if (elites_.empty() || elite.median_ns < elites_.front().median_ns) improved_ = true;
    elites_.insert(std::upper_bound(elites_.begin(), elites_.end(), elite, slower), std::move(elite));
    const size_t most = static_cast<size_t>(std::max(4.0, options_.population * kShareOfElites));
    if (elites_.size() > most) elites_.pop_back();
  }

  void UpdateModel() {
    const StatusOr<ModelReport> report = model_.Update(samples_);
    samples_.clear();
    rounds_without_gain_ = improved_ ? 0 : rounds_without_gain_ + 1;
    improved_ = false;
    // What was ranked by the old model is ranked again.
    for (Member& member : queue_) pool_.push_back(std::move(member));
    queue_.clear();
    is_pool_scored_ = false;
    if (report.ok() && options_.on_update) options_.on_update(*report);
  }

  // ---- One round

  // Fills the queue with up to `count` candidates, in random order: whoever takes only some of them gets a fair part of
  // each kind.
  void Evolve(int count) {
    const size_t wanted = static_cast<size_t>(count);
    const size_t blind =
        elites_.empty() ? std::max<size_t>(1, wanted / kFirstRandomShare) : Share(wanted, options_.random_share);
    std::vector<Member> fresh = DrawRandom(blind + (pool_.empty() ? options_.population : options_.population / 8));
    std::vector<Member> picked;
    std::vector<Member> blindly_picked;
    while (blindly_picked.size() < blind && !fresh.empty()) {
      blindly_picked.push_back(std::move(fresh.back()));
      fresh.pop_back();
    }
    if (!std::exchange(is_pool_scored_, true)) ScoreMembers(model_, pool_);
    Join(std::move(fresh));
    for (int generation = 0; generation < options_.generations; ++generation) {
      std::vector<Member> children = Breed();
      if (children.empty()) break;
      Join(std::move(children));
    }
    TakeOwed(wanted / kOwedShare, picked);
    const double descent = options_.descent_share * (rounds_without_gain_ >= 2 ? 2 : 1);
    if (!elites_.empty()) {
      std::vector<Member> neighbours = DrawNeighbours();
      ScoreMembers(model_, neighbours);
      TakeBest(neighbours, Share(wanted, descent), 0, Score, picked);
      Join(std::move(neighbours));
      TakeBest(pool_, Share(wanted, options_.uncertain_share), kApart, Optimism, picked);
    }
    const size_t so_far = picked.size() + blindly_picked.size();
    if (so_far < wanted) TakeBest(pool_, wanted - so_far, kApart, Score, picked);
    ScoreMembers(model_, blindly_picked);
    for (Member& member : blindly_picked) picked.push_back(std::move(member));
    for (size_t i = picked.size(); i > 1; --i) std::swap(picked[i - 1], picked[random_.Below(i)]);
    queue_ = std::move(picked);
  }

  static size_t Share(size_t count, double share) {
    return static_cast<size_t>(std::lround(static_cast<double>(count) * share));
  }

  // The archive has its best first; beyond its size the worst by today's model go.
  void Join(std::vector<Member> members) {
    ScoreMembers(model_, members);
    for (Member& member : members) pool_.push_back(std::move(member));
    std::stable_sort(pool_.begin(), pool_.end(), [](const Member& a, const Member& b) { return a.score > b.score; });
    const size_t most = static_cast<size_t>(std::max(options_.archive, options_.population));
    if (pool_.size() > most) pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(most), pool_.end());
  }

  std::vector<Member> DrawRandom(size_t count) {
    std::vector<Member> members;
    if (task_.sketches.empty()) return members;
    const size_t most = 8 * count + kDryDraws;
    int dry = 0;
    for (size_t tries = 0; members.size() < count && tries < most && dry < kDryDraws; ++tries) {
      const int sketch = static_cast<int>(random_.Below(task_.sketches.size()));
      std::optional<Member> member = factory_.Make(sketch, task_.sketches[sketch].trace, random_.Next());
      dry = member ? 0 : dry + 1;
      if (member) members.push_back(*std::move(member));
    }
    return members;
  }

  // For each trial that a sketch is owed the best that the model knows of it.
  void TakeOwed(size_t count, std::vector<Member>& picked) {
    for (const int sketch : trials_.Owed(count)) {
      auto best = BestOf(sketch);
      if (best == pool_.end()) {
        Join(DrawOf(sketch, kDrawnIfOwed));
        best = BestOf(sketch);
      }
      if (best == pool_.end()) continue;  // Its space is exhausted, or its constraints refuse all.
      picked.push_back(std::move(*best));
      pool_.erase(best);
    }
  }

  std::vector<Member>::iterator BestOf(int sketch) {
    return std::find_if(pool_.begin(), pool_.end(), [&](const Member& member) { return member.sketch == sketch; });
  }

  std::vector<Member> DrawOf(int sketch, size_t tries) {
    std::vector<Member> members;
    for (size_t i = 0; i < tries; ++i) {
      std::optional<Member> member =
          factory_.Make(sketch, task_.sketches[static_cast<size_t>(sketch)].trace, random_.Next());
      if (member) members.push_back(*std::move(member));
    }
    return members;
  }

  // The best measured come first, then the population: a parent is the best of three drawn, measured ones winning by
  // their time.
  struct Parent {
    int sketch;
    const ScheduleTrace* trace;
  };
  Parent DrawParent() {
    const size_t elites = elites_.size();
    const bool from_elites = elites > 0 && (pool_.empty() || random_.Unit() < 0.4);
    const size_t count = from_elites ? elites : std::min<size_t>(pool_.size(), options_.population);
    size_t best = random_.Below(count);
    for (int i = 0; i < 2; ++i) {
      const size_t other = random_.Below(count);
      const bool is_better = from_elites ? other < best : pool_[other].score > pool_[best].score;
      if (is_better) best = other;
    }
    if (from_elites) return {elites_[best].sketch, &elites_[best].trace};
    return {pool_[best].sketch, &pool_[best].trace};
  }

  std::optional<ScheduleTrace> BreedOne(const Parent& parent) {
    if (random_.Unit() < options_.crossover) {
      for (int tries = 0; tries < 4; ++tries) {
        const Parent other = DrawParent();
        if (other.sketch == parent.sketch && other.trace != parent.trace)
          return Crossover(*parent.trace, *other.trace, random_);
      }
    }
    return Mutate(*parent.trace, options_.mutation, random_);
  }

  std::vector<Member> Breed() {
    std::vector<Member> children;
    if (pool_.empty() && elites_.empty()) return children;
    const size_t wanted = static_cast<size_t>(options_.population);
    for (size_t tries = 0; children.size() < wanted && tries < 3 * wanted;) {
      std::vector<PlannedMember> planned;
      for (size_t missing = wanted - children.size(); missing > 0 && tries < 3 * wanted; --missing, ++tries) {
        const Parent parent = DrawParent();
        if (std::optional<ScheduleTrace> trace = BreedOne(parent))
          planned.push_back({parent.sketch, *std::move(trace)});
      }
      Append(factory_.MakeAll(std::move(planned), random_), children);
    }
    return children;
  }

  // Around the best measured: what is one move away, the centres in turns, then what is two moves away at once, drawn;
  // a tile of 14 x 2 becomes one of 7 x 4 by no single move that is better on the way.
  std::vector<Member> DrawNeighbours() {
    const size_t centres = std::min(elites_.size(), kDescentCentres);
    std::vector<std::vector<ScheduleTrace>> singles(centres);
    for (size_t i = 0; i < centres; ++i) {
      singles[i] = Neighbours(elites_[i].trace);
      for (size_t k = singles[i].size(); k > 1; --k) std::swap(singles[i][k - 1], singles[i][random_.Below(k)]);
    }
    std::vector<Member> members;
    for (bool is_any_left = true; is_any_left && members.size() < kMaxNeighbours;) {
      std::vector<PlannedMember> planned = TakeInTurns(singles, kMaxNeighbours - members.size());
      is_any_left = !planned.empty();
      Append(factory_.MakeAll(std::move(planned), random_), members);
    }
    Append(factory_.MakeAll(DrawCoupled(centres), random_), members);
    return members;
  }

  // Up to `count` of the last of each of `singles`, which are around the best measured; they are gone from there.
  std::vector<PlannedMember> TakeInTurns(std::vector<std::vector<ScheduleTrace>>& singles, size_t count) const {
    std::vector<PlannedMember> planned;
    for (bool is_any_left = true; is_any_left && planned.size() < count;) {
      is_any_left = false;
      for (size_t i = 0; i < singles.size(); ++i) {
        if (singles[i].empty()) continue;
        is_any_left = true;
        planned.push_back({elites_[i].sketch, std::move(singles[i].back())});
        singles[i].pop_back();
      }
    }
    return planned;
  }

  std::vector<PlannedMember> DrawCoupled(size_t centres) {
    std::vector<PlannedMember> planned;
    for (size_t i = 0; i < kMaxCoupled; ++i) {
      const Elite& centre = elites_[i % centres];
      std::optional<ScheduleTrace> trace = MutateTwice(centre.trace, random_);
      if (trace) planned.push_back({centre.sketch, *std::move(trace)});
    }
    return planned;
  }

  const TuneTask& task_;
  CostModel& model_;
  EvolutionaryOptions options_;
  Random random_;
  MemberFactory factory_;
  SketchTrials trials_;                                  // Empty where no sketch is owed any.
  std::vector<Member> pool_;                             // The archive: not proposed yet.
  bool is_pool_scored_ = true;                           // By the model as it is now.
  std::vector<Member> queue_;                            // The rest of this round.
  std::vector<Elite> elites_;                            // Fastest first.
  std::unordered_map<Digest, Known, DigestHash> known_;  // Proposed or observed.
  std::vector<Digest> excluded_;                         // In order.
  std::vector<CostSample> samples_;                      // Since the last update.
  bool improved_ = false;
  int rounds_without_gain_ = 0;
};

}  // namespace

std::unique_ptr<SearchStrategy> MakeEvolutionarySearch(const TuneTask& task, CostModel& model, uint64_t seed,
                                                       EvolutionaryOptions options) {
  return std::make_unique<EvolutionarySearch>(task, model, seed, std::move(options));
}

}  // namespace lathe
