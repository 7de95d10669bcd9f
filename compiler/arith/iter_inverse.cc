// From indices back to iterators.
#include <algorithm>

#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Marks in the order in which values reach them: fused ones before their parts.
void ListMarks(const IterMarkPtr& mark, std::vector<IterMarkPtr>& marks) {
  if (std::find(marks.begin(), marks.end(), mark) != marks.end()) return;
  if (const IterSumExpr* sum = std::get_if<IterSumExpr>(&mark->source)) {
    for (const IterSplitExpr& part : sum->args) ListMarks(part.source, marks);
  }
  marks.push_back(mark);
}

class Inverter {
 public:
  explicit Inverter(const Analyzer& analyzer) : analyzer_(analyzer) {}

  // `value` is what `sum` evaluates to: hands each part its digit.
  Status Spread(const IterSumExpr& sum, const Expr& value);
  const Expr& ValueOf(const IterMarkPtr& mark) const { return values_.at(mark.get()); }

 private:
  Status CheckDense(const IterSumExpr& sum) const;
  void Add(const IterMarkPtr& mark, const Expr& part) {
    const auto [place, is_new] = values_.emplace(mark.get(), part);
    if (!is_new) place->second = place->second + part;
  }

  const Analyzer& analyzer_;
  std::unordered_map<const IterMark*, Expr> values_;
};

Status Inverter::CheckDense(const IterSumExpr& sum) const {
  Expr expected = sum.args.back().scale;
  for (size_t i = sum.args.size(); i-- > 0;) {
    if (!analyzer_.CanProveEqual(sum.args[i].scale, expected))
      return FailedPrecondition(
          "inverse of iter map: the parts of an index overlap or leave gaps; use a bijective map");
    expected = expected * sum.args[i].extent;
  }
  return OkStatus();
}

Status Inverter::Spread(const IterSumExpr& sum, const Expr& value) {
  const Expr rest = analyzer_.Simplify(value - sum.base);
  if (sum.args.size() == 1) {
    const IterSplitExpr& part = sum.args[0];
    const Expr digit = IsConstInt(part.scale, -1) ? IntConst(rest.dtype(), 0) - rest : FloorDiv(rest, part.scale);
    Add(part.source, digit * part.lower_factor);
    return OkStatus();
  }
  if (sum.args.empty()) return OkStatus();
  RETURN_IF_ERROR(CheckDense(sum));
  for (size_t i = sum.args.size(); i-- > 0;) {
    const IterSplitExpr& part = sum.args[i];
    Expr digit = FloorDiv(rest, part.scale);
    if (i > 0) digit = FloorMod(digit, part.extent);
    Add(part.source, digit * part.lower_factor);
  }
  return OkStatus();
}

// The variable that `source` is, or is less its minimum.
struct InputVar {
  Var var;
  Expr min;
};
InputVar InputOf(const Expr& source) {
  if (const Binary* op = source.As<Binary>()) return {Var(op->a), op->b};
  return {Var(source), IntConst(source.dtype(), 0)};
}

}  // namespace

StatusOr<VarMap> InverseAffineIterMap(const std::vector<IterSumExpr>& indices, const std::vector<Expr>& outputs,
                                      const Analyzer& analyzer) {
  if (outputs.size() != indices.size()) {
    return FailedPrecondition("inverse of iter map: " + std::to_string(outputs.size()) + " outputs, " +
                              std::to_string(indices.size()) + " indices; give one output per index");
  }
  Inverter inverter(analyzer);
  std::vector<IterMarkPtr> marks;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const IterSplitExpr& part : indices[i].args) ListMarks(part.source, marks);
    RETURN_IF_ERROR(inverter.Spread(indices[i], outputs[i]));
  }
  VarMap result;
  for (size_t i = marks.size(); i-- > 0;) {
    const Expr value = inverter.ValueOf(marks[i]);
    if (const IterSumExpr* sum = std::get_if<IterSumExpr>(&marks[i]->source)) {
      RETURN_IF_ERROR(inverter.Spread(*sum, value));
      continue;
    }
    const InputVar input = InputOf(std::get<Expr>(marks[i]->source));
    Expr solved = analyzer.Simplify(value + input.min);
    if (solved.dtype() != input.var.dtype()) solved = MakeCast(input.var.dtype(), solved);
    result.insert_or_assign(input.var.get(), std::move(solved));
  }
  return result;
}

}  // namespace lathe
