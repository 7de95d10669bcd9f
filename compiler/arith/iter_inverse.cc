// From indices back to iterators.
#include <algorithm>

#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"

namespace lathe {
namespace {

using MarkPtr = std::shared_ptr<const IterMark>;

// Marks in the order in which values reach them: fused ones before their parts.
void ListMarks(const MarkPtr& mark, std::vector<MarkPtr>& marks) {
  if (std::find(marks.begin(), marks.end(), mark) != marks.end()) return;
  if (const IterSumExpr* sum = std::get_if<IterSumExpr>(&mark->source)) {
    for (const IterSplitExpr& part : sum->args) ListMarks(part.source, marks);
  }
  marks.push_back(mark);
}

class Inverter {
 public:
  explicit Inverter(const Analyzer& analyzer) : analyzer_(analyzer) {}

  // `value` is what `sum` evaluates to: hands each part its digit. The parts lie above each other without overlap.
  void Spread(const IterSumExpr& sum, const Expr& value) {
    Expr rest = analyzer_.Simplify(value - sum.base);
    const DataType type = rest.dtype();
    for (size_t i = 0; i < sum.args.size(); ++i) {
      const IterSplitExpr& part = sum.args[i];
      Expr digit = part.scale == -1 ? IntConst(type, 0) - rest : FloorDiv(rest, IntConst(type, part.scale));
      if (i + 1 < sum.args.size()) rest = FloorMod(rest, IntConst(type, part.scale));
      Add(part.source, digit * IntConst(type, part.lower_factor));
    }
  }
  const Expr* ValueOf(const MarkPtr& mark) const {
    const auto found = values_.find(mark.get());
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  void Add(const MarkPtr& mark, const Expr& part) {
    const auto [place, is_new] = values_.emplace(mark.get(), part);
    if (!is_new) place->second = place->second + part;
  }

  const Analyzer& analyzer_;
  std::unordered_map<const IterMark*, Expr> values_;
};

}  // namespace

StatusOr<VarMap> InverseAffineMap(const IterMapResult& map, const std::vector<Expr>& outputs,
                                  const Analyzer& analyzer) {
  if (outputs.size() != map.indices.size()) {
    return FailedPrecondition("inverse of iter map: " + std::to_string(outputs.size()) + " outputs, " +
                              std::to_string(map.indices.size()) + " indices");
  }
  Inverter inverter(analyzer);
  std::vector<MarkPtr> marks;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const IterSplitExpr& part : map.indices[i].args) {
      if (part.scale <= 0 && map.indices[i].args.size() > 1)
        return FailedPrecondition("inverse of iter map: an iterator runs backwards in a sum");
      ListMarks(part.source, marks);
    }
    inverter.Spread(map.indices[i], outputs[i]);
  }
  VarMap result;
  for (size_t i = marks.size(); i-- > 0;) {
    const Expr* value = inverter.ValueOf(marks[i]);
    if (value == nullptr)
      return FailedPrecondition("inverse of iter map: a part of an iterator is in no index; use a bijective map");
    const Expr mark_value = *value;
    if (const IterSumExpr* sum = std::get_if<IterSumExpr>(&marks[i]->source)) {
      inverter.Spread(*sum, mark_value);
      continue;
    }
    const Var& var = std::get<Var>(marks[i]->source);
    Expr solved = analyzer.Simplify(mark_value + marks[i]->min);
    if (solved.dtype() != var.dtype()) solved = MakeCast(var.dtype(), solved);
    result.insert_or_assign(var.get(), std::move(solved));
  }
  return result;
}

namespace {

Expr MarkToExpr(const IterMark& mark, DataType dtype) {
  if (const IterSumExpr* sum = std::get_if<IterSumExpr>(&mark.source)) return ToExpr(*sum, dtype);
  const Expr value = std::get<Var>(mark.source) - mark.min;
  return value.dtype() == dtype ? value : MakeCast(dtype, value);
}

}  // namespace

Expr ToExpr(const IterSplitExpr& split, DataType dtype) {
  Expr value = MarkToExpr(*split.source, dtype);
  const bool reaches_top = split.extent == kSymbolicExtent || split.lower_factor * split.extent == split.source->extent;
  if (!reaches_top) value = FloorMod(value, IntConst(dtype, split.lower_factor * split.extent));
  return FloorDiv(value, IntConst(dtype, split.lower_factor)) * IntConst(dtype, split.scale);
}

Expr ToExpr(const IterSumExpr& sum, DataType dtype) {
  Expr total = IntConst(dtype, 0);
  for (const IterSplitExpr& arg : sum.args) total = total + ToExpr(arg, dtype);
  return total + sum.base;
}

}  // namespace lathe
