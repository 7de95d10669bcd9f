#include "compiler/arith/iter_rewriter.h"

#include <algorithm>

#include "compiler/arith/linear.h"

namespace lathe {

bool IsDivisible(const Analyzer& analyzer, const Expr& a, const Expr& b) {
  const int64_t *x = AsIntConst(a), *y = AsIntConst(b);
  if (y != nullptr && *y == 0) return false;
  if (x != nullptr && y != nullptr) return *x % *y == 0;
  return analyzer.CanProveEqual(a, b) || analyzer.CanProve(Equal(FloorMod(a, b), 0));
}

bool ProductOverflows(const Expr& a, const Expr& b) {
  const int64_t *x = AsIntConst(a), *y = AsIntConst(b);
  int64_t product;
  if (x == nullptr || y == nullptr) return false;
  const IntBound type = TypeBound(a.dtype().bits > b.dtype().bits ? a.dtype() : b.dtype());
  return __builtin_mul_overflow(*x, *y, &product) || !type.Contains(product);
}

bool IsSamePiece(const IterSplitExpr& a, const IterSplitExpr& b) {
  return a.source == b.source && SameExpr(a.lower_factor, b.lower_factor) && SameExpr(a.extent, b.extent);
}

IterSplitExpr WholeSplit(IterMarkPtr mark) {
  const Expr one = IntConst(mark->extent.dtype(), 1), extent = mark->extent;
  return {std::move(mark), one, extent, one};
}

IterSumExpr IterRewriter::SumOfInput(size_t i) {
  const auto& [var, range] = iters_[i];
  if (IsTrivial(range)) return {{}, range.min};
  const bool is_from_zero = IsConstInt(range.min, 0);
  if (input_marks_[i] == nullptr) {
    Expr extent = range.extent;
    if (extent.dtype() != var.dtype() && AsIntConst(extent) != nullptr)
      extent = IntConst(var.dtype(), *AsIntConst(extent));
    input_marks_[i] = std::make_shared<IterMark>(IterMark{is_from_zero ? Expr(var) : var - range.min, extent});
  }
  return {{WholeSplit(input_marks_[i])}, is_from_zero ? IntConst(var.dtype(), 0) : range.min};
}

// ---- Expressions ------------------------------------------------------------------------------------------------

bool IterRewriter::UsesIters(const Expr& e) const {
  return UsesVar(e, [&](const ExprNode* used) {
    return std::any_of(iters_.begin(), iters_.end(), [&](const auto& item) { return item.first.get() == used; });
  });
}

IterRewriter::Value IterRewriter::Unresolved(const Expr& e, std::string why) {
  errors_.push_back(std::move(why));
  return {{{}, e}, false};
}

IterRewriter::Value IterRewriter::Visit(const Expr& e) {
  if (IsVar(e)) {
    for (size_t i = 0; i < iters_.size(); ++i) {
      if (iters_[i].first.same_as(e)) return {SumOfInput(i), true};
    }
    return {{{}, e}, false};
  }
  const Binary* op = e.As<Binary>();
  if (op != nullptr && IsIndexType(e.dtype())) {
    switch (op->op) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
        return VisitSum(e, *op);
      case BinaryOp::kMul:
        return VisitMul(e, *op);
      case BinaryOp::kFloorDiv:
      case BinaryOp::kFloorMod:
        return VisitDivision(e, *op);
      default:
        break;
    }
  }
  if (UsesIters(e)) return Unresolved(e, "an index is no sum, multiple, quotient or remainder of iterators");
  return {{{}, e}, false};
}

namespace {

void AddSplit(IterSumExpr& sum, IterSplitExpr split, bool is_minus) {
  if (is_minus) split.scale = IntConst(split.scale.dtype(), 0) - split.scale;
  for (size_t i = 0; i < sum.args.size(); ++i) {
    if (!IsSamePiece(sum.args[i], split)) continue;
    sum.args[i].scale = sum.args[i].scale + split.scale;
    if (IsConstInt(sum.args[i].scale, 0)) sum.args.erase(sum.args.begin() + i);
    return;
  }
  sum.args.push_back(std::move(split));
}

}  // namespace

IterRewriter::Value IterRewriter::VisitSum(const Expr& e, const Binary& op) {
  Value a = Visit(op.a);
  const Value b = Visit(op.b);
  if (!a.is_iter && !b.is_iter) return {{{}, e}, false};
  const bool is_minus = op.op == BinaryOp::kSub;
  for (const IterSplitExpr& split : b.sum.args) AddSplit(a.sum, split, is_minus);
  a.sum.base = is_minus ? a.sum.base - b.sum.base : a.sum.base + b.sum.base;
  a.is_iter = true;
  return a;
}

IterRewriter::Value IterRewriter::VisitMul(const Expr& e, const Binary& op) {
  Value a = Visit(op.a), b = Visit(op.b);
  if (!a.is_iter && !b.is_iter) return {{{}, e}, false};
  if (a.is_iter && b.is_iter) {
    if (!a.sum.args.empty() && !b.sum.args.empty()) return Unresolved(e, "an index multiplies two iterators");
    if (b.sum.args.empty()) b.is_iter = false;
  }
  if (!a.is_iter || (b.is_iter && a.sum.args.empty())) std::swap(a, b);
  const Expr& factor = b.sum.base;
  for (IterSplitExpr& split : a.sum.args) split.scale = split.scale * factor;
  std::erase_if(a.sum.args, [](const IterSplitExpr& split) { return IsConstInt(split.scale, 0); });
  a.sum.base = a.sum.base * factor;
  return a;
}

IterRewriter::Value IterRewriter::VisitDivision(const Expr& e, const Binary& op) {
  const Value a = Visit(op.a), b = Visit(op.b);
  if (!a.is_iter && !b.is_iter) return {{{}, e}, false};
  if (b.is_iter) return Unresolved(e, "an index divides by an iterator");
  const Expr divisor = IsVar(b.sum.base) ? b.sum.base : analyzer_.Simplify(b.sum.base);
  if (const int64_t* value = AsIntConst(divisor); value != nullptr && *value <= 0)
    return Unresolved(e, "an index divides an iterator by what is not positive");
  std::optional<IterSumExpr> dividend = Dividend(a);
  if (!dividend) return {{{}, e}, false};
  const IterSplitExpr& split = dividend->args[0];
  const std::optional<Value> result = op.op == BinaryOp::kFloorDiv ? DivideSplit(split, dividend->base, divisor)
                                                                   : ModuloSplit(split, dividend->base, divisor);
  return result ? *result : Value{{{}, e}, false};
}

std::optional<IterSumExpr> IterRewriter::Dividend(const Value& value) {
  if (value.sum.args.empty()) return std::nullopt;  // A trivial iterator: the expression stays as it is.
  if (value.sum.args.size() == 1) return value.sum;
  std::optional<IterSumExpr> fused = Fuse(value.sum, true);
  if (!fused) errors_.push_back("a sum of iterators that is divided is no fused iterator: they overlap or leave gaps");
  return fused;
}

// ---- Quotients and remainders -----------------------------------------------------------------------------------

bool IterRewriter::TakeOutScale(IterSplitExpr& split, Expr& base, Expr& divisor, const char* what) {
  const Expr scale = split.scale;
  const bool is_zero = IsConstInt(base, 0);
  if (!IsDivisible(analyzer_, divisor, scale) || (!is_zero && !IsDivisible(analyzer_, base, scale))) {
    errors_.push_back(std::string("an index takes the ") + what +
                      " of a multiple of an iterator by what neither divides the factor nor is a multiple of it");
    return false;
  }
  divisor = analyzer_.Simplify(FloorDiv(divisor, scale));
  if (const int64_t* left = AsIntConst(divisor); left != nullptr && *left < 1) {
    errors_.push_back(std::string("an index takes the ") + what + " of an iterator that runs downwards");
    return false;
  }
  if (!is_zero) base = analyzer_.Simplify(FloorDiv(base, scale));
  return true;
}

std::optional<IterRewriter::Value> IterRewriter::DivideSplit(IterSplitExpr split, Expr base, Expr divisor) {
  if (ProductOverflows(split.lower_factor, divisor)) {
    errors_.push_back("a divisor overflows");
    return std::nullopt;
  }
  if (IsConstInt(divisor, 1)) return Value{{{split}, base}, true};
  if (!IsConstInt(split.scale, 1)) {
    const bool is_zero = IsConstInt(base, 0);
    if (IsDivisible(analyzer_, split.scale, divisor) && (is_zero || IsDivisible(analyzer_, base, divisor))) {
      split.scale = analyzer_.Simplify(FloorDiv(split.scale, divisor));
      return Value{{{split}, is_zero ? base : analyzer_.Simplify(FloorDiv(base, divisor))}, true};
    }
    if (!TakeOutScale(split, base, divisor, "quotient")) return std::nullopt;
    split.scale = IntConst(divisor.dtype(), 1);
  }
  const std::optional<Padded> padded = Pad(std::move(split), base, divisor);
  if (!padded) return std::nullopt;
  // What is left of the base when the padding has taken it up to a multiple of the divisor.
  const Expr rest = analyzer_.Simplify(FloorDiv(base - padded->left, divisor));
  const IterSplitExpr& whole = padded->split;
  const auto ceiling = [&] { return analyzer_.Simplify(FloorDiv(whole.extent + (divisor - 1), divisor)); };
  if (IsDivisible(analyzer_, whole.extent, divisor)) {
    const IterSplitExpr part{whole.source, Times(whole.lower_factor, divisor),
                             analyzer_.Simplify(FloorDiv(whole.extent, divisor)), whole.scale};
    return Value{{{part}, rest}, true};
  }
  if (IsConstInt(whole.lower_factor, 1) && analyzer_.CanProveEqual(whole.extent, whole.source->extent))
    return Value{{{IterSplitExpr{whole.source, divisor, ceiling(), whole.scale}}, rest}, true};
  const IterSplitExpr part{MarkOfPiece(whole), divisor, ceiling(), IntConst(divisor.dtype(), 1)};
  return Value{{{part}, rest}, true};
}

std::optional<IterRewriter::Value> IterRewriter::ModuloSplit(IterSplitExpr split, Expr base, Expr divisor) {
  const Value zero{{{}, IntConst(base.dtype(), 0)}, true};
  if (IsConstInt(divisor, 1)) return zero;
  const Expr scale = split.scale;
  if (!IsConstInt(scale, 1)) {
    if (IsDivisible(analyzer_, scale, divisor) && IsDivisible(analyzer_, base, divisor)) return zero;
    if (!TakeOutScale(split, base, divisor, "remainder")) return std::nullopt;
    split.scale = IntConst(divisor.dtype(), 1);
  }
  const std::optional<Padded> padded = Pad(std::move(split), base, divisor);
  if (!padded) return std::nullopt;
  const IterSplitExpr part{padded->split.source, padded->split.lower_factor, divisor, scale};
  return Value{{{part}, IntConst(base.dtype(), 0)}, true};
}

// ---- Indices ----------------------------------------------------------------------------------------------------

StatusOr<IterSumExpr> IterRewriter::Finish(Value value) {
  if (errors_.empty() && !value.sum.args.empty()) {
    std::optional<IterSumExpr> fused = Fuse(value.sum, true);
    if (!fused) errors_.push_back("fused iterators overlap or leave gaps");
    if (fused) value.sum = *std::move(fused);
  }
  if (!errors_.empty()) return FailedPrecondition("iter map: " + errors_.front());
  return std::move(value.sum);
}

StatusOr<IterSumExpr> IterRewriter::Rewrite(const Expr& index) { return Finish(Visit(index)); }

StatusOr<IterSumExpr> IterRewriter::RewriteAndNotePadding(const Expr& index) {
  notes_padding_ = true;
  Value value = Visit(index);
  notes_padding_ = false;
  return Finish(std::move(value));
}

namespace {

// A scale as product of symbols and a constant factor: the order in which sums list their parts.
struct ScaleRank {
  int64_t constant = 1, num_symbols = 0;
};
void AddFactors(const Expr& e, ScaleRank& rank) {
  const Binary* op = e.As<Binary>();
  if (op != nullptr && op->op == BinaryOp::kMul) {
    AddFactors(op->a, rank);
    return AddFactors(op->b, rank);
  }
  if (const int64_t* value = AsIntConst(e))
    rank.constant *= *value;
  else
    ++rank.num_symbols;
}
ScaleRank RankOf(const Expr& scale) {
  ScaleRank rank;
  AddFactors(scale, rank);
  return rank;
}

}  // namespace

IterSumExpr IterRewriter::RewriteToSum(const Expr& index) {
  IterSumExpr sum = Visit(index).sum;
  if (sum.args.empty()) return sum;
  sum = JoinPieces(sum);
  std::stable_sort(sum.args.begin(), sum.args.end(), [](const IterSplitExpr& a, const IterSplitExpr& b) {
    const ScaleRank x = RankOf(a.scale), y = RankOf(b.scale);
    return std::pair(x.constant, x.num_symbols) > std::pair(y.constant, y.num_symbols);
  });
  return sum;
}

}  // namespace lathe
