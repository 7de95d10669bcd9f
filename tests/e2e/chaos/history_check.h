// The promises of a farm, held against what was seen of it: the same ones as tests/sim checks under virtual time.
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/chaos/history.h"

namespace lathe::chaos {

struct Bounds {
  double settle_s = 240;            // From the end of the faults to the end of every job.
  double requeue_s = 35;            // From a board's death until its trials are nobody's or somebody else's.
  int64_t overlap_ns = 20'000'000;  // Time that two processes of trials may both run between two looks at one board:
                                    // the next one is made ready while one is measured.
  int64_t descriptors = 200;        // Of a server at rest.
  int64_t resident_bytes = int64_t{768} << 20;
};

// Each broken promise in words; empty: all were kept.
//   - No acknowledged record is lost: what a client was told of a trial is what the database says; a measurement that a
//     device wrote down is recorded. None is there twice, each trial has the one record that ended it.
//   - Budgets are spent to the trial, and every job whose number a client was told ends in DONE, in time; or
//     in CANCELLED, if the client was told so; or in FAILED, if its search was killed twice.
//   - What a watcher sees never goes back: cursors rise, counters do not fall, no trial ends twice.
//   - No two processes of trials run on one board. A dead board's trials are not its own for long.
//   - No process ends but those that were killed, none is left behind, and a server at rest holds little.
std::vector<std::string> BrokenPromises(const History& history, const Books& books, const Bounds& bounds = {});

}  // namespace lathe::chaos
