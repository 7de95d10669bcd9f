// Marks where a function and its loops begin and end, for profilers.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

struct ProfileOptions {
  bool only_siblings = true;   // Loops that stand in a row with others inside of a loop; else those of max_depth.
  int64_t max_depth = 0;       // Loops around a loop, at most; without only_siblings.
  int64_t min_height = 1;      // Loops below each other inside of a loop, at least.
  bool marks_function = true;  // Id of the function.
};

// T.start_profile_intrinsic(id) before and T.end_profile_intrinsic(id) after. `next_id` is the function's id; its loops
// take the following ones, outer loops first, marked or not.
PrimFunc InstrumentProfileIntrinsics(PrimFunc func, const ProfileOptions& options, int64_t& next_id);

}  // namespace lathe
