// Where stages are computed, and which memory their results have for that. For StageSchedule alone.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/stage/stage_schedule.h"

namespace lathe::te {

// What runs together: blocks of threads, threads of a block.
enum class ThreadRank : int8_t { kNone = -1, kBlock = 0, kThread = 1 };

// As the stages are now.
class StagePlaces {
 public:
  explicit StagePlaces(const std::vector<const Stage*>& stages);

  struct Place {
    const Stage* around = nullptr;  // nullptr: before everything.
    const ExprNode* axis = nullptr;
  };
  Place PlaceOf(const Stage& stage) const;
  // The loops around a stage, innermost first.
  std::vector<IterVar> PathOf(const Stage& stage) const;
  // The thread axis that an axis is bound to; nullptr: none.
  const IterVar* ThreadOf(const IterVar& axis) const;
  const std::string& TagOf(const IterVar& axis) const;  // Of the thread, or of the axis itself.
  static ThreadRank RankOf(const std::string& tag);
  // What was said, else as wide as the threads around: "shared" below blocks of threads, "local" below threads.
  std::string ScopeOf(const Stage& stage) const;

 private:
  std::unordered_map<const OperationNode*, const Stage*> scan_of_;  // Of what its steps compute.
  std::unordered_map<const ExprNode*, IterVar> threads_;            // Of the axes that are bound.
};

}  // namespace lathe::te
