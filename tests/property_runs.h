// How often a property test tries: as often as it says, or at most $LATHE_PROPERTY_RUNS times. The sanitizer presets
// set the variable: a run costs ten times as much there, and what a sanitizer can find shows in the first runs.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace lathe {

// `cost`: what one run of this test costs, in runs of an ordinary one.
inline int PropertyRuns(int usual, int cost = 1) {
  const char* most = std::getenv("LATHE_PROPERTY_RUNS");
  const int limit = most != nullptr ? std::atoi(most) : 0;
  return limit > 0 ? std::min(std::max(limit / cost, 1), usual) : usual;
}

// False if fewer runs than `usual` were asked for: then counts over all runs prove nothing.
inline bool AllRuns(int usual) { return PropertyRuns(usual) == usual; }

}  // namespace lathe
