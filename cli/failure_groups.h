// Failed trials grouped by reason. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/lathe/v1/tuning.pb.h"

namespace lathe {

// Trials whose state and words are the same, numbers aside.
struct FailureGroup {
  std::string state;
  std::string words;               // Of the first of them: the compiler's or the runner's.
  std::vector<int64_t> trial_ids;  // In order.
};

// The largest group first.
std::vector<FailureGroup> GroupFailures(const std::vector<v1::Trial>& failed);

}  // namespace lathe
