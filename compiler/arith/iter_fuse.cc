// Sums of splits as one iterator: scales without gaps, or constrained or overlapping ones where that is allowed.
#include <algorithm>

#include "compiler/arith/iter_rewriter.h"
#include "compiler/arith/linear.h"

namespace lathe {
namespace {

int NumFactors(const Expr& e) {
  const Binary* op = e.As<Binary>();
  return op != nullptr && op->op == BinaryOp::kMul ? NumFactors(op->a) + NumFactors(op->b) : 1;
}

bool IsOne(const Expr& e) { return IsConstInt(e, 1); }

}  // namespace

Expr IterRewriter::Times(const Expr& a, const Expr& b) const {
  if (IsOne(b)) return a;
  if (IsOne(a)) return b;
  const Expr product = a * b;
  return AsIntConst(product) != nullptr || IsVar(product) ? product : analyzer_.Simplify(product);
}

// ---- Finding parts by their scale -------------------------------------------------------------------------------

// The part with the smallest scale among the first `end`: by value, or, where all are symbolic, by number of factors.
std::optional<size_t> IterRewriter::FindBase(const IterSumExpr& sum, const std::vector<bool>& used,
                                             const IterMark* source, size_t end) const {
  const auto is_open = [&](size_t i) { return !used[i] && (source == nullptr || sum.args[i].source.get() == source); };
  std::optional<size_t> best;
  for (size_t i = end; i-- > 0;) {
    const int64_t* scale = AsIntConst(sum.args[i].scale);
    if (!is_open(i) || scale == nullptr) continue;
    const int64_t* lowest = best ? AsIntConst(sum.args[*best].scale) : nullptr;
    const bool is_unit_tie =
        lowest != nullptr && *scale == *lowest && IsOne(sum.args[i].extent) && !IsOne(sum.args[*best].extent);
    if (lowest == nullptr || *scale < *lowest || is_unit_tie) best = i;
  }
  if (best) return best;
  for (size_t i = end; i-- > 0;) {
    if (is_open(i) && (!best || NumFactors(sum.args[i].scale) < NumFactors(sum.args[*best].scale))) best = i;
  }
  return best;
}

// Iterators of extent 1 come first: they do not change what scale is expected next.
std::optional<size_t> IterRewriter::FindScale(const IterSumExpr& sum, const std::vector<bool>& used, const Expr& scale,
                                              const IterMark* source, size_t end) const {
  std::optional<size_t> found;
  for (size_t i = end; i-- > 0;) {
    if (used[i] || (source != nullptr && sum.args[i].source.get() != source)) continue;
    if (found && !IsOne(sum.args[i].extent)) continue;
    if (!analyzer_.CanProveEqual(sum.args[i].scale, scale)) continue;
    if (IsOne(sum.args[i].extent)) return i;
    found = i;
  }
  return found;
}

// The largest scale that is at most `scale`, and not negative.
std::optional<size_t> IterRewriter::FindScaleBelow(const IterSumExpr& sum, const std::vector<bool>& used,
                                                   const Expr& scale) const {
  std::optional<size_t> found;
  for (size_t i = sum.args.size(); i-- > 0;) {
    const Expr& mine = sum.args[i].scale;
    if (used[i] || !analyzer_.CanProveGreaterEqual(scale - mine, 0) || !analyzer_.CanProveGreaterEqual(mine, 0))
      continue;
    if (!found || analyzer_.CanProveLess(sum.args[*found].scale - mine, 0)) found = i;
  }
  return found;
}

// ---- Pieces of one mark -----------------------------------------------------------------------------------------

// ((x // (c*s)) % m) * s + (x // c) % s = (x // c) % (m*s), also under a common scale.
IterSumExpr IterRewriter::JoinPieces(const IterSumExpr& sum) {
  const auto is_shared = [&](const IterSplitExpr& split) {
    return std::count_if(sum.args.begin(), sum.args.end(),
                         [&](const IterSplitExpr& other) { return other.source == split.source; }) > 1;
  };
  if (std::none_of(sum.args.begin(), sum.args.end(), is_shared)) return sum;
  std::vector<bool> used(sum.args.size(), false);
  std::vector<IterSplitExpr> joined;  // Innermost first.
  for (size_t end = sum.args.size(); end > 0;) {
    if (used[end - 1]) {
      --end;
      continue;
    }
    const IterMark* source = sum.args[end - 1].source.get();
    size_t at = *FindBase(sum, used, source, end);
    used[at] = true;
    IterSplitExpr low = sum.args[at];
    while (const auto next = FindScale(sum, used, Times(low.extent, low.scale), source, end)) {
      const IterSplitExpr& high = sum.args[*next];
      if (!analyzer_.CanProveEqual(high.lower_factor, Times(low.lower_factor, low.extent))) break;
      used[*next] = true;
      low.extent = Times(high.extent, low.extent);
    }
    joined.push_back(std::move(low));
  }
  return {{joined.rbegin(), joined.rend()}, sum.base};
}

// ---- Fusing -----------------------------------------------------------------------------------------------------

struct IterRewriter::Fusing {
  std::vector<bool> used;
  Expr base_scale;
  Expr expected_scale;                            // Of the next part, so that there are no gaps.
  Expr extra_base, overlap;                       // From constraints; what parts lie over each other.
  std::vector<IterSplitExpr> flattened, grouped;  // Innermost first; constrained parts are one in `grouped`.
};

IterRewriter::FusedMark* IterRewriter::FindFused(const std::vector<IterSplitExpr>& flattened) {
  for (const auto& fused : fused_) {
    if (std::equal(flattened.begin(), flattened.end(), fused->flattened.begin(), fused->flattened.end(),
                   [](const IterSplitExpr& a, const IterSplitExpr& b) {
                     return IsSamePiece(a, b) && SameExpr(a.scale, b.scale);
                   }))
      return fused.get();
  }
  return nullptr;
}

const IterRewriter::FusedMark* IterRewriter::LongestConstraintFrom(const IterSplitExpr& split) const {
  const FusedMark* longest = nullptr;
  for (const FusedMark* fused : constrained_) {
    if (!IsSamePiece(split, fused->flattened.back())) continue;
    if (longest == nullptr || longest->flattened.size() < fused->flattened.size()) longest = fused;
  }
  return longest;
}

bool IterRewriter::FuseConstrained(const IterSumExpr& sum, const FusedMark& constrained, Fusing& state) {
  const Expr unit = state.expected_scale;
  for (size_t i = constrained.flattened.size(); i-- > 0;) {
    const IterSplitExpr& part = constrained.flattened[i];
    size_t at = 0;
    while (at < sum.args.size() && (state.used[at] || !IsSamePiece(sum.args[at], part) ||
                                    !analyzer_.CanProveEqual(Times(part.scale, unit), sum.args[at].scale)))
      ++at;
    if (at == sum.args.size()) return false;
    state.used[at] = true;
    state.flattened.push_back(sum.args[at]);
  }
  if (ProductOverflows(constrained.mark->extent, unit)) return false;
  IterSplitExpr whole = WholeSplit(constrained.mark);
  whole.scale = analyzer_.Simplify(FloorDiv(unit, state.base_scale));
  state.grouped.push_back(std::move(whole));
  state.extra_base = state.extra_base + constrained.offset * unit;
  state.expected_scale = Times(constrained.mark->extent, unit);
  return true;
}

// Takes the part, or the constrained parts, that lie next above those taken already.
bool IterRewriter::FuseNext(const IterSumExpr& sum, Fusing& state) {
  const size_t end = sum.args.size();
  std::optional<size_t> at = state.flattened.empty() ? FindBase(sum, state.used, nullptr, end)
                                                     : FindScale(sum, state.used, state.expected_scale, nullptr, end);
  if (!at && options_.level != IterMapLevel::kBijective && IsOne(state.base_scale)) {
    at = FindScaleBelow(sum, state.used, state.expected_scale);
    if (at) {
      state.overlap = state.overlap + (state.expected_scale - sum.args[*at].scale);
      state.expected_scale = sum.args[*at].scale;
    }
  }
  if (!at) return false;
  IterSplitExpr part = sum.args[*at];
  if (const FusedMark* constrained = LongestConstraintFrom(part)) return FuseConstrained(sum, *constrained, state);
  if (ProductOverflows(part.extent, state.expected_scale)) return false;
  state.used[*at] = true;
  state.expected_scale = Times(part.extent, state.expected_scale);
  if (!IsOne(state.base_scale)) part.scale = analyzer_.Simplify(FloorDiv(part.scale, state.base_scale));
  state.flattened.push_back(part);
  state.grouped.push_back(std::move(part));
  return true;
}

std::optional<IterSumExpr> IterRewriter::Fuse(IterSumExpr sum, bool may_skip) {
  const size_t num_pieces = sum.args.size();
  sum = JoinPieces(sum);
  if (may_skip && sum.args.size() <= 1 && sum.args.size() < num_pieces) return sum;
  std::vector<bool> used(sum.args.size(), false);
  const std::optional<size_t> base = FindBase(sum, used, nullptr, sum.args.size());
  if (!base) return std::nullopt;
  const Expr zero = IntConst(sum.dtype(), 0), base_scale = sum.args[*base].scale;
  Fusing state{std::move(used), base_scale, base_scale, zero, zero, {}, {}};
  while (state.flattened.size() < sum.args.size()) {
    if (!FuseNext(sum, state)) return std::nullopt;
  }
  std::reverse(state.flattened.begin(), state.flattened.end());
  std::reverse(state.grouped.begin(), state.grouped.end());
  const FusedMark* fused = FindFused(state.flattened);
  if (fused != nullptr) {
    if (!analyzer_.CanProveEqual(state.extra_base, fused->offset * base_scale)) return std::nullopt;
  } else {
    Expr extent = state.expected_scale;
    if (!IsOne(base_scale) || !IsConstInt(state.overlap, 0))
      extent = analyzer_.Simplify(FloorDiv(extent, base_scale) + state.overlap);
    auto mark = std::make_shared<IterMark>(IterMark{IterSumExpr{std::move(state.grouped), zero}, extent});
    fused_.push_back(std::make_unique<FusedMark>(FusedMark{
        std::move(state.flattened), std::move(mark), analyzer_.Simplify(FloorDiv(state.extra_base, base_scale))}));
    fused = fused_.back().get();
  }
  IterSplitExpr whole = WholeSplit(fused->mark);
  whole.scale = base_scale;
  return IterSumExpr{{std::move(whole)}, sum.base + state.extra_base};
}

// ---- Constraints ------------------------------------------------------------------------------------------------

Status IterRewriter::AddConstraint(const IterConstraint& constraint) {
  Value value = Visit(constraint.iter);
  if (!errors_.empty()) return FailedPrecondition("iter map: predicate: " + errors_.front());
  if (value.sum.args.empty()) return OkStatus();
  // An iterator of one value may stand in the base.
  VarMap trivial;
  for (const auto& [var, range] : iters_) {
    if (IsTrivial(range)) trivial.insert_or_assign(var.get(), range.min);
  }
  const Expr base = analyzer_.Simplify(Substitute(value.sum.base, trivial));
  value.sum.base = IntConst(value.sum.dtype(), 0);
  const std::optional<IterSumExpr> whole = Fuse(value.sum, false);
  if (!whole || !IsOne(whole->args[0].scale))
    return FailedPrecondition("iter map: the predicate bounds iterators that cannot be fused into one");
  const auto found = std::find_if(fused_.begin(), fused_.end(),
                                  [&](const auto& fused) { return fused->mark == whole->args[0].source; });
  FusedMark& fused = **found;
  const Expr first = fused.offset;
  Expr low = first, high = first + fused.mark->extent;
  if (constraint.low) low = analyzer_.Simplify(Max(*constraint.low - base, low));
  if (constraint.high) {
    const Expr bound = *constraint.high - base;
    high = analyzer_.CanProve(LessEqual(bound, high)) ? bound : analyzer_.Simplify(Min(bound, high));
  }
  IterSumExpr source = std::get<IterSumExpr>(fused.mark->source);
  source.base = analyzer_.Simplify(source.base - (low - first));
  const Expr extent = analyzer_.Simplify(high - low);
  if (const int64_t* value = AsIntConst(extent); value != nullptr && *value <= 0)
    return FailedPrecondition("iter map: the predicate is never true");
  fused.mark = std::make_shared<IterMark>(IterMark{std::move(source), extent});
  fused.offset = low;
  constrained_.push_back(&fused);
  return OkStatus();
}

Status IterRewriter::CheckConstraints() const {
  const auto contains = [](const FusedMark& fused, const IterSplitExpr& part) {
    return std::any_of(fused.flattened.begin(), fused.flattened.end(),
                       [&](const IterSplitExpr& other) { return IsSamePiece(part, other); });
  };
  for (size_t i = 0; i < constrained_.size(); ++i) {
    for (size_t j = i + 1; j < constrained_.size(); ++j) {
      const auto& parts = constrained_[i]->flattened;
      const auto num_shared =
          std::count_if(parts.begin(), parts.end(), [&](const auto& part) { return contains(*constrained_[j], part); });
      if (num_shared != 0 && static_cast<size_t>(num_shared) != parts.size())
        return FailedPrecondition("iter map: two bounds of the predicate share some iterators, but neither all");
    }
  }
  return OkStatus();
}

}  // namespace lathe
