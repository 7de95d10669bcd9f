#include "tuner/search/sketch_trials.h"

#include <algorithm>

namespace lathe {

void SketchTrials::Proposed(int sketch) {
  if (IsOfTask(sketch)) ++trials_[static_cast<size_t>(sketch)].proposed;
}

void SketchTrials::Failed(int sketch) {
  if (IsOfTask(sketch)) ++trials_[static_cast<size_t>(sketch)].failed;
}

std::vector<int> SketchTrials::Owed(size_t count) const {
  std::vector<int> counted;
  for (const Trials& trials : trials_) counted.push_back(trials.proposed - std::min(trials.failed, kForgivenFailures));
  std::vector<int> owed;
  while (owed.size() < count && !counted.empty()) {
    const auto fewest = std::min_element(counted.begin(), counted.end());
    if (*fewest >= kTrialsPerSketch) break;
    ++*fewest;
    owed.push_back(static_cast<int>(fewest - counted.begin()));
  }
  return owed;
}

}  // namespace lathe
