#include "tuner/database/finals.h"

#include <algorithm>
#include <map>

namespace lathe {
namespace {

// Short measurements of one kernel, each in a process of its own, differ by more than the interval of each says.
constexpr double kScreeningSpread = 1.03;

// What is known of one candidate.
struct Candidate {
  std::vector<const TuningRecord*> rounds;  // Of finals.
  const TuningRecord* screened = nullptr;
  bool has_failed = false;  // In a final.

  const TuningRecord* known_by() const { return rounds.empty() ? screened : rounds[rounds.size() / 2]; }
};

bool IsFaster(const TuningRecord* a, const TuningRecord* b) { return a->timings->median_ns < b->timings->median_ns; }

bool IsBetterScreening(const TuningRecord& a, const TuningRecord& b) {
  return a.status != b.status ? a.status == TrialState::kOk : IsFaster(&a, &b);
}

void Note(const TuningRecord& record, Candidate& candidate) {
  if (record.final_round > 0) {
    if (record.late) return;
    if (IsTimed(record.status))
      candidate.rounds.push_back(&record);
    else
      candidate.has_failed = true;
  } else if (IsTimed(record.status) &&
             (candidate.screened == nullptr || IsBetterScreening(record, *candidate.screened))) {
    candidate.screened = &record;
  }
}

std::map<Digest, Candidate> CandidatesOf(std::span<const TuningRecord> records) {
  std::map<Digest, Candidate> candidates;
  for (const TuningRecord& record : records) Note(record, candidates[record.trace_digest]);
  for (auto& [trace, candidate] : candidates) std::sort(candidate.rounds.begin(), candidate.rounds.end(), IsFaster);
  return candidates;
}

// Gives the last places to those of `others` whose candidates have none.
void AddOthers(std::vector<const TuningRecord*> others, std::vector<const TuningRecord*>& chosen) {
  std::erase_if(others, [&](const TuningRecord* other) {
    return other == nullptr || std::any_of(chosen.begin(), chosen.end(), [&](const TuningRecord* record) {
             return record->trace_digest == other->trace_digest;
           });
  });
  chosen.resize(std::min(chosen.size(), kMostFinalists - others.size()));
  chosen.insert(chosen.end(), others.begin(), others.end());
}

}  // namespace

std::vector<TuningRecord> ChooseFinalists(std::span<const TuningRecord> history,
                                          const std::optional<TuningRecord>& best,
                                          const std::optional<Digest>& untuned) {
  const std::map<Digest, Candidate> candidates = CandidatesOf(history);
  std::vector<const TuningRecord*> chosen;
  const bool is_decided = best && best->final_round > 0;
  for (const auto& [trace, candidate] : candidates) {
    const TuningRecord* known = candidate.known_by();
    if (candidate.has_failed || known == nullptr) continue;
    const bool was_left_out = is_decided && candidate.rounds.empty() && known->id < best->id;
    if (!was_left_out) chosen.push_back(known);
  }
  if (chosen.empty()) return {};
  std::sort(chosen.begin(), chosen.end(), IsFaster);
  const auto compared = std::find_if(chosen.begin(), chosen.end(),
                                     [&](const TuningRecord* record) { return record->trace_digest == untuned; });
  const TuningRecord* const also = compared == chosen.end() ? nullptr : *compared;
  const double reach = kScreeningSpread * chosen.front()->timings->ci_high_ns;
  std::erase_if(chosen, [&](const TuningRecord* record) { return record->timings->ci_low_ns > reach; });
  if (chosen.size() > kMostFinalists) chosen.resize(kMostFinalists);
  const bool is_same = is_decided && also != nullptr && also->trace_digest == best->trace_digest;
  AddOthers({is_decided ? &*best : nullptr, is_same ? nullptr : also}, chosen);
  if (is_decided) {
    const auto is_known = [](const TuningRecord* record) { return record->final_round > 0; };
    if (std::all_of(chosen.begin(), chosen.end(), is_known)) return {};
  }
  std::vector<TuningRecord> finalists;
  for (const TuningRecord* record : chosen) finalists.push_back(*record);
  return finalists;
}

std::optional<size_t> BestOfFinals(std::span<const TuningRecord> rounds) {
  const TuningRecord* best = nullptr;
  for (const auto& [trace, candidate] : CandidatesOf(rounds)) {
    if (candidate.has_failed || candidate.rounds.empty()) continue;
    const TuningRecord* median = candidate.known_by();
    if (best == nullptr || IsFaster(median, best)) best = median;
  }
  return best == nullptr ? std::nullopt : std::optional(static_cast<size_t>(best - rounds.data()));
}

}  // namespace lathe
