#include "compiler/arith/iter_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/linear.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using MarkPtr = std::shared_ptr<const IterMark>;

Status NotAffine(std::string what) { return FailedPrecondition("iter map: " + std::move(what)); }

bool SamePiece(const IterSplitExpr& a, const IterSplitExpr& b) {
  return a.source == b.source && a.lower_factor == b.lower_factor && a.extent == b.extent;
}

bool IsOneVar(const Expr& e, const IterDomain& iters, size_t* index) {
  for (size_t i = 0; i < iters.size(); ++i) {
    if (!iters[i].first.same_as(e)) continue;
    *index = i;
    return true;
  }
  return false;
}

// A fused iterator: the sum of its parts in units of the smallest scale. Constrained ones take only the values in [low,
// low + extent).
struct FusedMark {
  std::vector<IterSplitExpr> parts;  // Largest scale first; the last has scale 1.
  int64_t low = 0;
  MarkPtr mark;
  bool is_constrained = false;
};

class Detector {
 public:
  Detector(const IterDomain& iters, IterMapLevel level, const Analyzer& outer)
      : level_(level), analyzer_(Analyzer::Under(outer)) {
    DefineIters(iters);
  }

  Status AddPredicate(const Expr& predicate);
  StatusOr<IterSumExpr> Detect(const Expr& index);
  Status CheckUse(const std::vector<IterSumExpr>& indices) const;

 private:
  struct Input {
    Var var, counter;
    MarkPtr mark;
  };  // `counter` runs from 0 in the place of `var`.

  void DefineIters(const IterDomain& iters);
  bool UsesIters(const Expr& e) const {
    return UsesVar(e, [&](const ExprNode* var) { return FindInput(var) != nullptr; });
  }
  const Input* FindInput(const ExprNode* counter) const {
    for (const Input& input : inputs_) {
      if (input.counter.get() == counter) return &input;
    }
    return nullptr;
  }
  Expr Prepare(const Expr& e) const { return analyzer_.Simplify(renamed_.empty() ? e : Substitute(e, renamed_)); }
  LinearForm Form(const Expr& e) const { return Canonicalizer(analyzer_).Form(e); }

  StatusOr<IterSumExpr> ToSum(const LinearForm& form, DataType type);
  StatusOr<IterSplitExpr> ToSplit(const Term& term);
  StatusOr<MarkPtr> FuseSource(const Expr& source);
  Status AddConstraint(const Expr& condition);
  void ReplaceConstrained(IterSumExpr& sum) const;
  // Scales in order and without gaps or overlap, counted from the smallest; the fused extent.
  StatusOr<int64_t> DenseExtent(const IterSumExpr& sum) const;
  StatusOr<FusedMark*> Fuse(const std::vector<IterSplitExpr>& parts);
  Status CheckMark(const IterMark& mark, std::vector<IterSplitExpr> used) const;

  const IterMapLevel level_;
  Analyzer analyzer_;
  std::vector<Input> inputs_;
  VarMap renamed_;
  std::vector<std::unique_ptr<FusedMark>> fused_;  // Sources before what is built on them.
};

void Detector::DefineIters(const IterDomain& iters) {
  inputs_.reserve(iters.size());
  for (const auto& [var, range] : iters) {
    const bool is_from_zero = IsConstInt(range.min, 0);
    const int64_t* extent = AsIntConst(range.extent);
    if (extent != nullptr && *extent == 1) {
      analyzer_.Bind(var, range);
      continue;
    }
    auto mark = std::make_shared<IterMark>(
        IterMark{var, extent != nullptr ? *extent : kSymbolicExtent, std::nullopt, range.min});
    if (extent == nullptr) mark->symbolic_extent = range.extent;
    const Var counter = is_from_zero ? var : Var(var.name(), var.dtype());
    if (!is_from_zero) renamed_.insert_or_assign(var.get(), counter + range.min);
    analyzer_.Bind(counter, Range{IntConst(var.dtype(), 0), range.extent});
    inputs_.push_back({var, counter, std::move(mark)});
  }
}

// ---- From expressions to sums of splits -------------------------------------------------------------------------

StatusOr<IterSumExpr> Detector::ToSum(const LinearForm& form, DataType type) {
  IterSumExpr sum;
  if (!FitsIn(form, type)) return NotAffine("coefficients overflow");
  LinearForm base;
  base.constant = form.constant;
  for (const Term& term : form.terms) {
    if (!UsesIters(term.source)) {
      base.terms.push_back(term);
      continue;
    }
    ASSIGN_OR_RETURN(IterSplitExpr split, ToSplit(term));
    sum.args.push_back(std::move(split));
  }
  sum.base = FormToExpr(base, type);
  std::stable_sort(sum.args.begin(), sum.args.end(), [](const IterSplitExpr& a, const IterSplitExpr& b) {
    return std::abs(a.scale) > std::abs(b.scale);
  });
  return sum;
}

StatusOr<IterSplitExpr> Detector::ToSplit(const Term& term) {
  MarkPtr mark;
  if (const Input* input = FindInput(term.source.get())) {
    mark = input->mark;
  } else {
    ASSIGN_OR_RETURN(mark, FuseSource(term.source));
  }
  IterSplitExpr split{mark, term.lower, mark->extent, term.scale};
  if (term.is_whole()) return split;
  if (mark->extent == kSymbolicExtent) return NotAffine("an iterator of symbolic extent is divided");
  const int64_t upper = term.upper == kNoUpper || term.upper >= mark->extent ? mark->extent : term.upper;
  if (mark->extent % upper != 0 || upper % term.lower != 0) {
    return NotAffine(fmt::format("an iterator of extent {} is split at {} and {}, which do not divide it", mark->extent,
                                 term.lower, upper));
  }
  split.extent = upper / term.lower;
  return split;
}

// An expression below // or %: a sum that has to be one fused iterator.
StatusOr<MarkPtr> Detector::FuseSource(const Expr& source) {
  const Binary* op = source.As<Binary>();
  if (op == nullptr || op->op == BinaryOp::kMin || op->op == BinaryOp::kMax)
    return NotAffine("an index is no sum, quotient or remainder of iterators");
  const LinearForm form = Form(source);
  if (form.terms.size() == 1 && form.terms[0].is_whole() && SameExpr(form.terms[0].source, source)) {
    return NotAffine("an index multiplies or divides an iterator by something that is no constant");
  }
  ASSIGN_OR_RETURN(IterSumExpr sum, ToSum(form, source.dtype()));
  ReplaceConstrained(sum);
  if (!IsConstInt(sum.base, 0)) return NotAffine("an iterator is divided after an offset was added");
  if (sum.args.size() == 1 && sum.args[0].scale == 1 && sum.args[0].lower_factor == 1 &&
      sum.args[0].extent == sum.args[0].source->extent) {
    return sum.args[0].source;
  }
  if (sum.args.empty() || sum.args.back().scale != 1)
    return NotAffine("an iterator with gaps between its values is divided");
  ASSIGN_OR_RETURN(FusedMark * fused, Fuse(sum.args));
  return fused->mark;
}

StatusOr<int64_t> Detector::DenseExtent(const IterSumExpr& sum) const {
  int64_t expected = sum.args.back().scale;
  const int64_t unit = expected;
  for (size_t i = sum.args.size(); i-- > 0;) {
    const IterSplitExpr& arg = sum.args[i];
    if (arg.scale != expected || expected <= 0) {
      return NotAffine(
          fmt::format("fused iterators overlap or leave gaps: scale {}, expected {}", arg.scale, expected));
    }
    if (arg.extent == kSymbolicExtent) {
      if (i == 0) return kSymbolicExtent;
      return NotAffine("an iterator of symbolic extent is not the outermost of a sum");
    }
    if (__builtin_mul_overflow(expected, arg.extent, &expected)) return NotAffine("the extent overflows");
  }
  return expected / unit;
}

// `parts`: dense, smallest scale 1. The mark for equal parts is made once, so that its pieces meet.
StatusOr<FusedMark*> Detector::Fuse(const std::vector<IterSplitExpr>& parts) {
  for (const auto& fused : fused_) {
    if (std::equal(
            parts.begin(), parts.end(), fused->parts.begin(), fused->parts.end(),
            [](const IterSplitExpr& a, const IterSplitExpr& b) { return SamePiece(a, b) && a.scale == b.scale; })) {
      return fused.get();
    }
  }
  ASSIGN_OR_RETURN(const int64_t extent, DenseExtent(IterSumExpr{parts, 0}));
  auto mark = std::make_shared<IterMark>(IterMark{IterSumExpr{parts, 0}, extent, std::nullopt, 0});
  if (extent == kSymbolicExtent) mark->symbolic_extent = *parts[0].source->symbolic_extent * parts[0].scale;
  fused_.push_back(std::make_unique<FusedMark>(FusedMark{parts, 0, std::move(mark), false}));
  return fused_.back().get();
}

// ---- Predicates -------------------------------------------------------------------------------------------------

Status Detector::AddPredicate(const Expr& predicate) {
  std::vector<Expr> open{Prepare(predicate)};
  while (!open.empty()) {
    const Expr condition = open.back();
    open.pop_back();
    if (const int64_t* value = AsIntConst(condition)) {
      if (*value == 0) return NotAffine("the predicate is never true");
      continue;
    }
    const Binary* op = condition.As<Binary>();
    if (op != nullptr && op->op == BinaryOp::kAnd) {
      open.push_back(op->a);
      open.push_back(op->b);
    } else if (UsesIters(condition)) {
      RETURN_IF_ERROR(AddConstraint(condition));
    }
  }
  return OkStatus();
}

// sum < c or c <= sum, over iterators that together make a dense range.
Status Detector::AddConstraint(const Expr& condition) {
  const Binary* op = condition.As<Binary>();
  if (op == nullptr || !IsIndexType(op->a.dtype()) || (op->op != BinaryOp::kLT && op->op != BinaryOp::kLE)) {
    return NotAffine("the predicate is no conjunction of bounds on iterators");
  }
  LinearForm difference = Combine(Form(op->a), Form(op->b), -1);  // difference + slack <= 0
  if (op->op == BinaryOp::kLT) difference.AddConstant(1);
  if (!FitsIn(difference, op->a.dtype()) || difference.terms.empty())
    return NotAffine("the predicate has no iterator or overflows");
  const bool is_upper = difference.terms[0].scale > 0;
  if (!is_upper) difference.Scale(-1);
  const int64_t bound = -difference.constant;  // Now sum <= bound or, if not is_upper, sum >= bound.
  difference.constant = 0;
  ASSIGN_OR_RETURN(IterSumExpr sum, ToSum(difference, op->a.dtype()));
  if (!IsConstInt(sum.base, 0) || sum.args.empty() || sum.args.back().scale != 1) {
    return NotAffine("the predicate compares iterators with something that is no constant");
  }
  ASSIGN_OR_RETURN(FusedMark * fused, Fuse(sum.args));
  if (fused->mark->extent == kSymbolicExtent) return NotAffine("the predicate bounds an iterator of symbolic extent");
  int64_t low = fused->low, end = low + fused->mark->extent;
  if (is_upper && bound < end - 1) end = bound + 1;
  if (!is_upper) low = std::max(low, bound);
  if (end <= low) return NotAffine("the predicate is never true");
  fused->low = low;
  fused->is_constrained = true;
  fused->mark = std::make_shared<IterMark>(
      IterMark{IterSumExpr{sum.args, IntConst(op->a.dtype(), -low)}, end - low, std::nullopt, 0});
  return OkStatus();
}

// Where a sum contains all parts of a constrained iterator in proportion, puts that iterator in their place.
void Detector::ReplaceConstrained(IterSumExpr& sum) const {
  for (const auto& fused : fused_) {
    if (!fused->is_constrained) continue;
    std::vector<size_t> places;
    int64_t unit = 0;
    for (const IterSplitExpr& part : fused->parts) {
      for (size_t i = 0; i < sum.args.size(); ++i) {
        if (!SamePiece(part, sum.args[i]) || sum.args[i].scale % part.scale != 0) continue;
        if (unit == 0) unit = sum.args[i].scale / part.scale;
        if (sum.args[i].scale == unit * part.scale) places.push_back(i);
      }
    }
    if (places.size() != fused->parts.size()) continue;
    std::sort(places.begin(), places.end());
    for (size_t i = places.size(); i-- > 0;) sum.args.erase(sum.args.begin() + places[i]);
    sum.base = sum.base + IntConst(sum.base.dtype(), fused->low * unit);
    const IterSplitExpr whole{fused->mark, 1, fused->mark->extent, unit};
    if (whole.extent == 1) continue;  // One value left: the base has it.
    const auto place = std::find_if(sum.args.begin(), sum.args.end(),
                                    [&](const IterSplitExpr& arg) { return std::abs(arg.scale) < std::abs(unit); });
    sum.args.insert(place, whole);
  }
}

// ---- Indices ----------------------------------------------------------------------------------------------------

StatusOr<IterSumExpr> Detector::Detect(const Expr& index) {
  if (!IsIndexType(index.dtype())) return NotAffine("an index is no 32- or 64-bit integer");
  ASSIGN_OR_RETURN(IterSumExpr sum, ToSum(Form(renamed_.empty() ? index : Prepare(index)), index.dtype()));
  ReplaceConstrained(sum);
  if (level_ == IterMapLevel::kNoCheck || sum.args.size() <= 1) return sum;
  const int64_t unit = sum.args.back().scale;
  if (level_ == IterMapLevel::kInjective) {
    int64_t reach = 0;  // The largest value of the smaller parts.
    for (size_t i = sum.args.size(); i-- > 0;) {
      const IterSplitExpr& arg = sum.args[i];
      if (arg.scale <= reach || unit <= 0) return NotAffine("iterators of one index overlap");
      if (arg.extent == kSymbolicExtent && i != 0)
        return NotAffine("an iterator of symbolic extent is not the outermost of a sum");
      int64_t span;
      if (arg.extent == kSymbolicExtent) continue;
      if (__builtin_mul_overflow(arg.scale, arg.extent - 1, &span) || __builtin_add_overflow(reach, span, &reach))
        return NotAffine("an index overflows");
    }
    return sum;
  }
  RETURN_IF_ERROR(DenseExtent(sum).status());
  for (IterSplitExpr& arg : sum.args) arg.scale /= unit;
  ASSIGN_OR_RETURN(FusedMark * fused, Fuse(sum.args));
  return IterSumExpr{{IterSplitExpr{fused->mark, 1, fused->mark->extent, unit}}, sum.base};
}

// How the pieces of one iterator may be used: none twice, and, where the map is to be injective, all of them.
Status Detector::CheckMark(const IterMark& mark, std::vector<IterSplitExpr> used) const {
  std::sort(used.begin(), used.end(),
            [](const IterSplitExpr& a, const IterSplitExpr& b) { return a.lower_factor < b.lower_factor; });
  const bool must_be_complete = level_ != IterMapLevel::kSurjective;
  int64_t expected = 1;
  for (const IterSplitExpr& split : used) {
    if (expected == kSymbolicExtent || split.lower_factor < expected) return NotAffine("two indices share an iterator");
    if (split.lower_factor % expected != 0) return NotAffine("pieces of an iterator do not nest");
    if (must_be_complete && split.lower_factor != expected) return NotAffine("a part of an iterator reaches no index");
    expected = split.extent == kSymbolicExtent ? kSymbolicExtent : split.lower_factor * split.extent;
  }
  if (must_be_complete && expected != mark.extent) return NotAffine("an iterator, or a part of it, reaches no index");
  return OkStatus();
}

Status Detector::CheckUse(const std::vector<IterSumExpr>& indices) const {
  if (level_ == IterMapLevel::kNoCheck) return OkStatus();
  std::vector<IterSplitExpr> used;
  for (const IterSumExpr& sum : indices) used.insert(used.end(), sum.args.begin(), sum.args.end());
  const auto take = [&](const MarkPtr& mark) {
    std::vector<IterSplitExpr> pieces;
    std::erase_if(used, [&](const IterSplitExpr& split) {
      if (split.source != mark) return false;
      pieces.push_back(split);
      return true;
    });
    return pieces;
  };
  for (size_t i = fused_.size(); i-- > 0;) {
    const FusedMark& fused = *fused_[i];
    std::vector<IterSplitExpr> pieces = take(fused.mark);
    if (pieces.empty() && !fused.is_constrained) continue;
    if (fused.mark->extent != 1) RETURN_IF_ERROR(CheckMark(*fused.mark, std::move(pieces)));
    used.insert(used.end(), fused.parts.begin(), fused.parts.end());
  }
  for (const Input& input : inputs_) RETURN_IF_ERROR(CheckMark(*input.mark, take(input.mark)));
  if (!used.empty()) return NotAffine("an index uses iterators that the predicate binds together");
  return OkStatus();
}

// Every index is one iterator, each a different one: no expression has to be looked into.
std::optional<IterMapResult> DetectTrivial(const std::vector<Expr>& indices, const IterDomain& iters,
                                           IterMapLevel level) {
  IterMapResult result;
  uint64_t seen = 0;
  if (iters.size() > 64) return std::nullopt;
  for (const Expr& index : indices) {
    size_t i;
    if (!IsOneVar(index, iters, &i)) return std::nullopt;
    if (((seen >> i) & 1) != 0) return std::nullopt;
    seen |= uint64_t{1} << i;
    const auto& [var, range] = iters[i];
    const int64_t* extent = AsIntConst(range.extent);
    if (extent != nullptr && *extent <= 0) return std::nullopt;
    IterSumExpr sum{{}, range.min};
    if (extent == nullptr || *extent != 1) {
      auto mark = std::make_shared<IterMark>(
          IterMark{var, extent != nullptr ? *extent : kSymbolicExtent, std::nullopt, range.min});
      if (extent == nullptr) mark->symbolic_extent = range.extent;
      const int64_t count = mark->extent;
      sum.args.push_back({std::move(mark), 1, count, 1});
    }
    result.indices.push_back(std::move(sum));
  }
  for (size_t i = 0; i < iters.size() && level != IterMapLevel::kSurjective && level != IterMapLevel::kNoCheck; ++i) {
    if (((seen >> i) & 1) == 0 && !IsConstInt(iters[i].second.extent, 1)) return std::nullopt;
  }
  return result;
}

}  // namespace

StatusOr<IterMapResult> DetectIterMap(const std::vector<Expr>& indices, const IterDomain& input_iters,
                                      const Expr& predicate, IterMapLevel level, const Analyzer& analyzer) {
  for (const auto& [var, range] : input_iters) {
    const int64_t* extent = AsIntConst(range.extent);
    if (extent != nullptr && *extent <= 0)
      return NotAffine(fmt::format("iterator \"{}\" has extent {}", var.name(), *extent));
    if (!IsIndexType(var.dtype()))
      return NotAffine(fmt::format("iterator \"{}\" is {}", var.name(), var.dtype().ToString()));
  }
  const bool has_no_predicate = AsIntConst(predicate) != nullptr && *AsIntConst(predicate) != 0;
  if (has_no_predicate) {
    if (std::optional<IterMapResult> trivial = DetectTrivial(indices, input_iters, level)) return *std::move(trivial);
  }
  Detector detector(input_iters, level, analyzer);
  if (!has_no_predicate) RETURN_IF_ERROR(detector.AddPredicate(predicate));
  IterMapResult result;
  for (size_t i = 0; i < indices.size(); ++i) {
    StatusOr<IterSumExpr> sum = detector.Detect(indices[i]);
    if (!sum.ok()) return sum.status().WithContext(fmt::format("index {}", i));
    result.indices.push_back(*std::move(sum));
  }
  RETURN_IF_ERROR(detector.CheckUse(result.indices));
  return result;
}

bool IsTrivialBinding(const BlockRealize& realize, const IterDomain& loops) {
  if (!IsConstInt(realize.predicate, 1)) return false;
  std::vector<bool> seen(loops.size(), false);
  for (const Expr& value : realize.iter_values) {
    size_t i;
    if (!IsOneVar(value, loops, &i) || seen[i]) return false;
    seen[i] = true;
  }
  return true;
}

bool IsAffineBinding(const BlockRealize& realize, const IterDomain& loops, const Analyzer& analyzer) {
  if (IsTrivialBinding(realize, loops)) return true;
  const StatusOr<IterMapResult> map =
      DetectIterMap(realize.iter_values, loops, realize.predicate, IterMapLevel::kSurjective, analyzer);
  if (!map.ok()) return false;
  return std::all_of(map->indices.begin(), map->indices.end(),
                     [](const IterSumExpr& sum) { return sum.args.empty() || sum.args[0].scale == 1; });
}

}  // namespace lathe
