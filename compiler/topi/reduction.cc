#include "compiler/topi/reduction.h"

#include <algorithm>

#include "support/status_macros.h"

namespace lathe::topi {
namespace {

// How a reduction reads its operand.
struct Reducing {
  std::vector<int64_t> axes;
  std::vector<IterVar> iters;  // One per axis, "k<axis>".
  Shape result;
  bool keepdims;

  bool Has(int64_t axis) const { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }
  // The element of an operand with `ndim` dimensions.
  Point ElementAt(const Point& at, size_t ndim) const {
    Point element;
    size_t next = 0, next_iter = 0;
    for (size_t i = 0; i < ndim; ++i) {
      const bool is_reduced = Has(static_cast<int64_t>(i));
      element.push_back(is_reduced ? Expr(iters[next_iter++].var) : at[next]);
      if (!is_reduced || keepdims) ++next;
    }
    return element;
  }
};

StatusOr<Reducing> PlanReduction(std::string_view op, const Tensor& x, const std::vector<int64_t>& axes,
                                 bool keepdims) {
  if (x.ndim() == 0) return OperatorError(op, "\"" + x.name() + "\" has no dimension to reduce");
  Reducing plan{{}, {}, {}, keepdims};
  ASSIGN_OR_RETURN(plan.axes, NormalizeAxes(op, axes, static_cast<int64_t>(x.ndim())));
  for (size_t i = 0; i < x.ndim(); ++i) {
    const Expr& extent = x.shape()[i];
    if (!plan.Has(static_cast<int64_t>(i))) {
      plan.result.push_back(extent);
      continue;
    }
    plan.iters.push_back(te::ReduceAxisTo(extent, "k" + std::to_string(i)));
    if (keepdims) plan.result.push_back(IntConst(extent.dtype(), 1));
  }
  return plan;
}

// The index into the reduced elements.
Expr FlatIndex(const Reducing& plan) {
  if (plan.iters.empty()) return 0;
  Expr index = plan.iters.front().var;
  for (size_t i = 1; i < plan.iters.size(); ++i) index = index * plan.iters[i].domain.extent + plan.iters[i].var;
  return index;
}

StatusOr<CommReducer> ArgReducer(bool is_max, bool select_last_index, DataType index, DataType value) {
  const auto combine = [&](const Point& x, const Point& y) {
    const BinaryOp better = is_max ? BinaryOp::kGT : BinaryOp::kLT;
    const Expr is_better = MakeBinary(better, x[1], y[1]);
    const Expr is_first = MakeBinary(select_last_index ? BinaryOp::kGT : BinaryOp::kLT, x[0], y[0]);
    const Expr keeps = MakeBinary(BinaryOp::kOr, is_better, And(Equal(x[1], y[1]), is_first));
    return Point{MakeSelect(keeps, x[0], y[0]), MakeSelect(is_better, x[1], y[1])};
  };
  const auto identity = [&](const std::vector<DataType>& types) {
    return Point{IntConst(types[0], -1), is_max ? te::MinValue(types[1]) : te::MaxValue(types[1])};
  };
  return te::MakeReducer({index, value}, combine, identity, is_max ? "argmax" : "argmin");
}

}  // namespace

StatusOr<Tensor> ReduceAlong(std::string_view op, te::Combiner combiner, const Tensor& x,
                             const std::vector<int64_t>& axes, bool keepdims) {
  const bool is_logical = combiner == te::Combiner::kAll || combiner == te::Combiner::kAny;
  if (is_logical != x.dtype().is_bool())
    return OperatorError(op, "\"" + x.name() + "\" is " + x.dtype().ToString() + "; cast it first");
  ASSIGN_OR_RETURN(const Reducing plan, PlanReduction(op, x, axes, keepdims));
  return te::Compute(
      plan.result,
      [&](const Point& at) { return te::ReduceOver(combiner, x(plan.ElementAt(at, x.ndim())), plan.iters); },
      Ax(x.name() + "_red", kCommReduce, plan.result.size()));
}

StatusOr<Tensor> ArgReduce(std::string_view op, bool is_max, const Tensor& x, const std::vector<int64_t>& axes,
                           bool keepdims, bool select_last_index) {
  ASSIGN_OR_RETURN(const Reducing plan, PlanReduction(op, x, axes, keepdims));
  const Expr index = FlatIndex(plan);
  ASSIGN_OR_RETURN(const CommReducer reducer, ArgReducer(is_max, select_last_index, index.dtype(), x.dtype()));
  const std::vector<Tensor> found = te::ComputeSeveral(
      plan.result,
      [&](const Point& at) {
        return te::MakeReduce(reducer, {index, x(plan.ElementAt(at, x.ndim()))}, plan.iters).value();
      },
      Ax(x.name() + "_red_temp", kCommReduceIdx, plan.result.size()));
  return te::Compute(
      plan.result, [&](const Point& at) { return found[0](at); },
      Ax(x.name() + "_red", kCommReduceIdx, plan.result.size()));
}

}  // namespace lathe::topi
