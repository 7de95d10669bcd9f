// Iterators whose extent a divisor does not divide are padded, once for all their uses.
#include <algorithm>

#include "compiler/arith/iter_rewriter.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

struct Factors {
  Expr symbols;
  int64_t constant;
};
Factors FactorsOf(const Expr& e) {
  if (const int64_t* value = AsIntConst(e)) return {IntConst(e.dtype(), 1), *value};
  const Binary* op = e.As<Binary>();
  if (op != nullptr && op->op == BinaryOp::kMul) {
    if (const int64_t* value = AsIntConst(op->b)) return {op->a, *value};
    if (const int64_t* value = AsIntConst(op->a)) return {op->b, *value};
  }
  return {e, 1};
}

// A common multiple: the least one as far as can be proved.
Expr CommonMultiple(const Expr& a, const Expr& b, const Analyzer& analyzer) {
  const Factors x = FactorsOf(a), y = FactorsOf(b);
  int64_t multiple;
  if (__builtin_mul_overflow(x.constant, y.constant / GreatestCommonDivisor(x.constant, y.constant), &multiple))
    multiple = IntBound::kPosInf;
  const Expr constant = IntConst(b.dtype(), multiple);
  if (IsDivisible(analyzer, x.symbols, y.symbols)) return x.symbols * constant;
  if (IsDivisible(analyzer, y.symbols, x.symbols)) return y.symbols * constant;
  return x.symbols * y.symbols * constant;
}

constexpr int64_t kMaxPaddingFactor = int64_t{1} << 28;  // No iterator is padded to more; int32 holds its multiples.

Expr Or(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kOr, a, b); }
Expr Differs(const Expr& a, int64_t b) { return FoldBinary(BinaryOp::kNE, a, IntConst(a.dtype(), b)); }

}  // namespace

bool IterRewriter::IsTop(const IterSplitExpr& split) const {
  return analyzer_.CanProve(LessEqual(split.source->extent, Times(split.lower_factor, split.extent)));
}

std::optional<IterRewriter::Padded> IterRewriter::Pad(IterSplitExpr split, const Expr& base, const Expr& divisor) {
  const Expr left = analyzer_.Simplify(FloorMod(base, divisor));
  const bool fits = IsConstInt(left, 0) && IsDivisible(analyzer_, split.extent, divisor);
  if (!fits && !IsTop(split)) split = WholeSplit(MarkOfPiece(split));  // Padding below its wrap would move values.
  if (notes_padding_) return NotePadding(std::move(split), left, fits, divisor);
  const auto refuse = [&](const char* why) -> std::optional<Padded> {
    errors_.push_back(why);
    return std::nullopt;
  };
  const auto found = paddings_.find(split.source.get());
  const bool is_padded =
      found != paddings_.end() &&
      !(IsConstInt(found->second.left, 0) && IsDivisible(analyzer_, split.source->extent, found->second.factor));
  if (!is_padded) {
    if (!IsConstInt(left, 0))
      return refuse("an iterator is divided after an offset was added that the divisor does not divide");
    return Padded{std::move(split), left};
  }
  Padding& padding = found->second;
  const Expr shift = analyzer_.Simplify(Times(base, split.lower_factor) - padding.left);
  if (!IsDivisible(analyzer_, padding.left, split.lower_factor) ||
      !IsDivisible(analyzer_, shift, Times(divisor, split.lower_factor)))
    return refuse("one iterator is divided with different offsets");
  if (padding.padded == nullptr) MakePadded(split.source, padding);
  split.source = padding.padded;
  split.extent = analyzer_.Simplify(FloorDiv(padding.padded->extent, split.lower_factor));
  const Expr before = analyzer_.Simplify(FloorDiv(padding.left, split.lower_factor));
  return Padded{std::move(split), before};
}

// Quotients of a padded iterator are padded with it: the offsets add up, in units of the mark.
IterRewriter::Padded IterRewriter::NotePadding(IterSplitExpr split, const Expr& left, bool fits, const Expr& divisor) {
  Padding& padding = paddings_[split.source.get()];
  const Expr step = Times(divisor, split.lower_factor);
  padding.factor = CommonMultiple(padding.factor, step, analyzer_);
  if (const int64_t* factor = AsIntConst(padding.factor); factor != nullptr && *factor > kMaxPaddingFactor)
    errors_.push_back("an iterator would have to be padded beyond all bounds");
  Expr offset = Times(left, split.lower_factor);
  const auto below = std::find_if(padding.offsets.begin(), padding.offsets.end(), [&](const auto& item) {
    return analyzer_.CanProveEqual(item.first, split.lower_factor);
  });
  if (below != padding.offsets.end()) offset = analyzer_.Simplify(offset + below->second);
  padding.offsets.emplace_back(step, offset);
  if (fits) return {std::move(split), left};
  needs_padding_ = true;
  padding.left = Max(padding.left, offset);
  split.extent = RoundUp(left + split.extent, divisor);
  return {std::move(split), left};
}

Expr IterRewriter::RoundUp(const Expr& edge, const Expr& factor) const {
  if (IsDivisible(analyzer_, edge, factor)) return edge;
  return analyzer_.Simplify(FloorDiv(edge + (factor - 1), factor) * factor);
}

// mark + left lies in [0, padded extent); the first and the last values of that range are the padding's.
void IterRewriter::MakePadded(const IterMarkPtr& mark, Padding& padding) {
  const Expr edge = mark->extent + padding.left;
  const IterSumExpr source{{WholeSplit(mark)}, padding.left};
  padding.padded = std::make_shared<IterMark>(IterMark{source, RoundUp(edge, padding.factor)});
  unpadded_.emplace(padding.padded.get(), mark);
  const Expr value = ToExpr(source, analyzer_);
  const Expr block = FloorDiv(value, padding.factor), place = FloorMod(value, padding.factor);
  const Expr is_left = And(Differs(padding.left, 0), And(Equal(block, 0), Less(place, padding.left)));
  const Expr rest = FloorMod(edge, padding.factor);
  const Expr is_right =
      And(Differs(rest, 0), And(Equal(block, FloorDiv(edge, padding.factor)), LessEqual(rest, place)));
  padding_predicate_ = Or(padding_predicate_, Or(is_left, is_right));
}

// A piece of an iterator that is divided further, though not evenly: an iterator of its own.
IterMarkPtr IterRewriter::MarkOfPiece(const IterSplitExpr& piece) {
  for (const auto& [known, mark] : piece_marks_) {
    if (IsSamePiece(known, piece) && SameExpr(known.scale, piece.scale)) return mark;
  }
  auto mark =
      std::make_shared<IterMark>(IterMark{IterSumExpr{{piece}, IntConst(piece.extent.dtype(), 0)}, piece.extent});
  piece_marks_.emplace_back(piece, mark);
  return mark;
}

}  // namespace lathe
