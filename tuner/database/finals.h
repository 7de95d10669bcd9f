// Who is measured again before one becomes the best of its key, and who wins. Pure.
//
// The fastest of many short measurements is the luckiest of them: its time is too good, and often another candidate is
// faster. So those that may be the fastest are measured again, in rounds, all of them in turns, by a policy that takes
// its time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tuner/database/rows.h"

namespace lathe {

inline constexpr int64_t kFinalRounds = 3;
inline constexpr size_t kMostFinalists = 4;

// `history`: everything known under a key, in any order; `best`: what is best of it now, if anything. The record by
// which each finalist is known, fastest first: those whose interval reaches the fastest's, and the best. What was known
// when the best won its final, and was not in it, was left out then and stays so. `untuned` has the last place whatever
// its time was, since reports compare the best with it: two times that were not measured in turns cannot be compared.
// Empty: nothing is left to be decided.
std::vector<TuningRecord> ChooseFinalists(std::span<const TuningRecord> history,
                                          const std::optional<TuningRecord>& best,
                                          const std::optional<Digest>& untuned = std::nullopt);

// Of the rounds of one final (records of one key with a final_round): the record that is the median of its candidate's
// rounds, of the candidate whose median is the smallest. A candidate that failed in any round never wins. Nullopt:
// nobody does.
std::optional<size_t> BestOfFinals(std::span<const TuningRecord> rounds);

}  // namespace lathe
