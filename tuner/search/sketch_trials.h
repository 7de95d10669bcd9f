// Which sketches of a task are owed trials before the cost model alone decides. Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

namespace lathe {

inline constexpr int kTrialsPerSketch = 3;   // That do not fail: what the draft thinks least of may be the fastest.
inline constexpr int kForgivenFailures = 6;  // Of a sketch; more of them count as trials, since it may do nothing else.

class SketchTrials {
 public:
  explicit SketchTrials(size_t num_sketches) : trials_(num_sketches) {}

  // A candidate of the sketch was proposed, or one that was proposed failed. Numbers of no sketch of the task count
  // nowhere.
  void Proposed(int sketch);
  void Failed(int sketch);

  // The sketches of up to `count` trials that are owed, those with the fewest trials first; one entry per trial.
  std::vector<int> Owed(size_t count) const;

 private:
  struct Trials {
    int proposed = 0, failed = 0;
  };
  bool IsOfTask(int sketch) const { return sketch >= 0 && static_cast<size_t>(sketch) < trials_.size(); }

  std::vector<Trials> trials_;
};

}  // namespace lathe
