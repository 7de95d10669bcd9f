// Whether the pieces of each mark are independent and, where it is demanded, cover it.
#include <algorithm>

#include "compiler/arith/iter_rewriter.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class UseCollector {
 public:
  std::vector<MarkUse> uses;

  void AddSum(const IterSumExpr& sum) {
    for (const IterSplitExpr& split : sum.args) {
      AddMark(split.source);
      Find(split.source)->splits.push_back(split);
    }
  }

 private:
  std::vector<MarkUse>::iterator Find(const IterMarkPtr& mark) {
    return std::find_if(uses.begin(), uses.end(), [&](const MarkUse& use) { return use.mark == mark; });
  }
  void AddMark(const IterMarkPtr& mark) {
    if (Find(mark) != uses.end()) return;
    uses.push_back({mark, {}});
    if (const IterSumExpr* sum = std::get_if<IterSumExpr>(&mark->source)) AddSum(*sum);
  }
};

Status Refuse(const char* what) { return FailedPrecondition(std::string("iter map: ") + what); }

}  // namespace

std::vector<MarkUse> CollectMarkUses(const std::vector<IterSumExpr>& indices) {
  UseCollector collector;
  for (const IterSumExpr& sum : indices) collector.AddSum(sum);
  return std::move(collector.uses);
}

// From the innermost piece outwards each begins where the one before ends. Below the bijective level pieces may be left
// out: what follows then begins at a multiple of where it could.
Status IterRewriter::CheckSplits(const MarkUse& use) const {
  if (use.splits.size() == 1 && IsConstInt(use.splits[0].lower_factor, 1))
    return CheckExtent(use, use.splits[0].extent);
  std::vector<const IterSplitExpr*> open;
  for (const IterSplitExpr& split : use.splits) open.push_back(&split);
  Expr covered = IntConst(use.mark->extent.dtype(), 1);
  while (!open.empty()) {
    auto next = std::find_if(open.begin(), open.end(), [&](const IterSplitExpr* split) {
      return analyzer_.CanProveEqual(split->lower_factor, covered);
    });
    if (next == open.end()) {
      const bool are_above = std::all_of(open.begin(), open.end(), [&](const IterSplitExpr* split) {
        return IsDivisible(analyzer_, split->lower_factor, covered);
      });
      if (options_.level == IterMapLevel::kBijective || !are_above)
        return Refuse("indices share an iterator, or leave a part of it out");
      next = std::min_element(open.begin(), open.end(), [&](const IterSplitExpr* a, const IterSplitExpr* b) {
        return !analyzer_.CanProveEqual(a->lower_factor, b->lower_factor) &&
               IsDivisible(analyzer_, b->lower_factor, a->lower_factor);
      });
    }
    covered = Times((*next)->lower_factor, (*next)->extent);
    open.erase(next);
  }
  return CheckExtent(use, covered);
}

Status IterRewriter::CheckExtent(const MarkUse& use, const Expr& covered) const {
  const bool is_all = analyzer_.CanProveEqual(covered, use.mark->extent);
  const bool divides = is_all || IsDivisible(analyzer_, use.mark->extent, covered);
  const auto found = unpadded_.find(use.mark.get());
  if (options_.level == IterMapLevel::kBijective) {
    if (found != unpadded_.end()) return Refuse("a bijective map pads no iterator");
    return is_all ? OkStatus() : Refuse("the indices do not use all of an iterator");
  }
  if (found == unpadded_.end())
    return divides ? OkStatus() : Refuse("an iterator is split by what does not divide its extent");
  if (options_.level == IterMapLevel::kNoCheck) return OkStatus();
  // Points of the padding are reached only if there is an iteration for them.
  const bool is_reached = analyzer_.CanProve(LessEqual(covered, found->second->extent));
  if (is_all && use.splits.size() != 1) return Refuse("several indices use a padded iterator");
  if (is_all && !is_reached && analyzer_.CanProveEqual(use.splits[0].extent, covered))
    return Refuse("an index covers more than the iterator that was padded for it");
  if (!is_all && !divides) return Refuse("an iterator is split by what does not divide its padded extent");
  if (!is_all && !is_reached) return Refuse("the indices cover more than the iterator that was padded for them");
  return OkStatus();
}

Status IterRewriter::CheckMapping(const std::vector<IterSumExpr>& indices) const {
  const std::vector<MarkUse> uses = CollectMarkUses(indices);
  const auto is_used = [&](const IterMarkPtr& mark) {
    return std::any_of(uses.begin(), uses.end(), [&](const MarkUse& use) { return use.mark == mark; });
  };
  for (const MarkUse& use : uses) RETURN_IF_ERROR(CheckSplits(use));
  if (options_.level == IterMapLevel::kNoCheck) return OkStatus();
  for (const FusedMark* constrained : constrained_) {
    if (is_used(constrained->mark)) continue;
    const std::vector<MarkUse> below = CollectMarkUses({IterSumExpr{constrained->flattened}});
    if (std::any_of(below.begin(), below.end(), [&](const MarkUse& use) { return is_used(use.mark); }))
      return Refuse("the predicate bounds iterators together that the indices use apart");
  }
  if (options_.level == IterMapLevel::kSurjective) return OkStatus();
  for (size_t i = 0; i < iters_.size(); ++i) {
    if (IsConstInt(iters_[i].second.extent, 1)) continue;
    if (input_marks_[i] == nullptr || !is_used(input_marks_[i])) return Refuse("an iterator reaches no index");
  }
  return OkStatus();
}

}  // namespace lathe
