#include "compiler/stage/stage_group.h"

#include <algorithm>
#include <unordered_map>

#include "support/status_macros.h"

namespace lathe::te {
namespace {

using OperationSet = std::vector<Operation>;
bool IsIn(const OperationSet& set, const Operation& op) { return std::find(set.begin(), set.end(), op) != set.end(); }

// The operations on the ways from inputs to outputs.
class PathFinder {
 public:
  PathFinder(const OperationSet& inputs, bool include_inputs) : inputs_(inputs), include_inputs_(include_inputs) {}
  OperationSet found;  // Each after what it reads.

  bool Visit(const Operation& op) {
    const auto [known, is_new] = reaches_.emplace(op.get(), false);
    if (!is_new) return known->second;
    bool reaches = IsIn(inputs_, op);
    if (!reaches)
      for (const Tensor& tensor : op->InputTensors()) reaches |= Visit(tensor.op());
    if (reaches && (include_inputs_ || !IsIn(inputs_, op))) found.push_back(op);
    return reaches_[op.get()] = reaches;
  }

 private:
  const OperationSet& inputs_;
  const bool include_inputs_;
  std::unordered_map<const OperationNode*, bool> reaches_;
};

StageGroup* CommonOf(StageGroup* a, StageGroup* b, StageGroup* (*parent)(StageGroup*)) {
  for (; a != nullptr; a = parent(a))
    if (a->Holds(b)) return a;
  return nullptr;
}

}  // namespace

bool StageGroup::Holds(const StageGroup* group) const {
  for (; group != nullptr; group = group->parent_)
    if (group == this) return true;
  return false;
}

Status StageGroup::ComputeAt(const Stage& consumer, const IterVar& axis) {
  RETURN_IF_ERROR(consumer.CheckTakes(parent_, axis));
  if (Holds(consumer.group()))
    return InvalidArgument("compute_at: the group holds stage \"" + consumer.op()->name() +
                           "\"; name one that reads it");
  attached_ = Stage::Attachment{&consumer, axis};
  return OkStatus();
}

StageGroup*& StageSchedule::GroupOf(const Operation& op) {
  Stage* stage = Find(op);
  return stage == nullptr ? outside_group_[op.get()] : stage->group_;
}

// How many members each group has among `operations`; groups that are in them as a whole are members of theirs.
StageSchedule::GroupCounts StageSchedule::CountMembers(const std::vector<Operation>& operations,
                                                       const StageGroup* parent) {
  GroupCounts counts;
  std::vector<StageGroup*> whole;
  const auto count = [&](StageGroup* group) {
    if (group != nullptr && group != parent && ++counts[group] == group->num_children_) whole.push_back(group);
  };
  for (const Operation& op : operations) count(GroupOf(op));
  while (!whole.empty()) {
    StageGroup* group = whole.back();
    whole.pop_back();
    count(group->parent_);
  }
  return counts;
}

void StageSchedule::MoveInto(StageGroup& group, StageGroup*& place) {
  if (place != group.parent_) return;
  if (place != nullptr) --place->num_children_;
  ++group.num_children_;
  place = &group;
}

StatusOr<StageGroup*> StageSchedule::CreateGroup(const std::vector<Operation>& outputs,
                                                 const std::vector<Operation>& inputs, bool include_inputs) {
  PathFinder paths(inputs, include_inputs);
  for (const Operation& output : outputs) paths.Visit(output);
  if (paths.found.empty()) return InvalidArgument("create_group: nothing computes the outputs from the inputs");
  StageGroup* parent = GroupOf(paths.found[0]);
  for (const Operation& op : paths.found)
    parent = CommonOf(parent, GroupOf(op), [](StageGroup* group) { return group->parent_; });
  const GroupCounts counts = CountMembers(paths.found, parent);
  for (const auto& [group, count] : counts)
    if (group->num_children_ != count)
      return InvalidArgument("create_group: a group that is there has some of the stages and others; take all of it");
  groups_.emplace_back(new StageGroup);
  StageGroup& made = *groups_.back();
  made.parent_ = parent;
  if (parent != nullptr) ++parent->num_children_;
  for (const auto& [group, count] : counts) MoveInto(made, group->parent_);
  for (const Operation& op : paths.found) MoveInto(made, GroupOf(op));
  for (const Operation& op : paths.found) {
    Stage* stage = Find(op);
    const bool is_outside = stage != nullptr && stage->attached_ && !made.Holds(stage->attached_->consumer->group());
    if (is_outside) stage->ComputeRoot();  // All stays inside of the group.
  }
  return &made;
}

// The updates of scans and what their steps compute before.
void StageSchedule::GroupSteps() {
  for (const std::unique_ptr<Stage>& stage : stages_) {
    const ScanOp* scan = stage->op_->As<ScanOp>();
    if (scan == nullptr) continue;
    std::vector<Operation> updates, inputs;
    for (const Tensor& update : scan->update) updates.push_back(update.op());
    for (const auto* tensors : {&scan->state, &scan->inputs})
      for (const Tensor& tensor : *tensors) inputs.push_back(tensor.op());
    StatusOr<StageGroup*> group = CreateGroup(updates, inputs, false);
    if (group.ok()) (*group)->scan_ = stage.get();  // Else the updates read nothing of these.
  }
}

}  // namespace lathe::te
