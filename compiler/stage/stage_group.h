// Groups of stages that take one place together.
#pragma once

#include <optional>

#include "compiler/stage/stage_schedule.h"

namespace lathe::te {

// Made by StageSchedule::CreateGroup, and lives as long as that schedule. Its place is that of all members that have
// none of their own, those of groups in it included.
class StageGroup {
 public:
  const StageGroup* parent() const { return parent_; }
  size_t num_child_stages() const { return num_children_; }  // Members, a group inside counting as one.
  const std::optional<Stage::Attachment>& attached() const { return attached_; }
  const Stage* scan() const { return scan_; }  // Whose steps compute it; nullptr: none.
  bool Holds(const StageGroup* group) const;   // Or is it.

  // As Stage::ComputeAt.
  Status ComputeAt(const Stage& consumer, const IterVar& axis);
  void ComputeRoot() { attached_.reset(); }

 private:
  friend class StageSchedule;
  StageGroup* parent_ = nullptr;
  size_t num_children_ = 0;
  std::optional<Stage::Attachment> attached_;
  const Stage* scan_ = nullptr;
};

}  // namespace lathe::te
