// A whole farm under virtual time: the real core, gateway, store, device sessions and workers; clients, disks, builds
// and runners are simulated. What it checks: docs/decisions/0056-simulator.md.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "tests/sim/plan.h"

namespace lathe::sim {

struct Outcome {
  std::optional<std::string> broken;  // The promise that was; nullopt: all were kept.
  std::deque<std::string> history;    // What happened last, if it was asked for.
  int64_t results = 0;                // Records in the store at the end.
  double seconds = 0;                 // Virtual.
};
Outcome Simulate(const Plan& plan, bool keeps_history = false);

// The plan with as few faults as possible under which a promise, any, is still broken.
Plan Minimized(const Plan& plan);

}  // namespace lathe::sim
