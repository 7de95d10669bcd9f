// One run: a farm, clients that have jobs tuned, faults, an end to the faults, and what came of it all.
#pragma once

#include "support/status.h"
#include "tests/e2e/chaos/history_check.h"
#include "tests/e2e/chaos/plan.h"

namespace lathe::chaos {

struct ChaosOptions {
  uint64_t seed = 0;
  Duration faults_for = std::chrono::seconds(90);
  std::string folder;  // Made if it is not there; stays.
  std::string only;    // Of the plan's faults those whose words have this in them; empty: all.
  Bounds bounds;
};

struct ChaosReport {
  History history;
  Books books;
  std::vector<std::string> broken;  // Promises; empty: none.
  std::string Summary() const;      // A line of numbers.
};

// Prints each fault with its second as it happens. An error: the farm could not be set up.
StatusOr<ChaosReport> RunChaos(const ChaosOptions& options);

}  // namespace lathe::chaos
