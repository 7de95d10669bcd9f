#include "tests/compiler/random/stages.h"

namespace lathe {

namespace {

// Zero where the last axis is near one of its ends.
Bounded Pad(Draft& draft, const Bounded& value, const std::vector<Point>& points) {
  const Point& point = points.back();
  const Expr first = IntConst(point.index.dtype(), int64_t(draft.Below(2)));
  const Expr end = MakeCast(point.index.dtype(), draft.ToExpr(point.extent)) - IntConst(point.index.dtype(), 1);
  const DataType type = value.value.dtype();
  const Bounded inside = draft.Clamp(value, std::min<int64_t>(value.bound, 1));
  const Expr zero = type.is_float() ? FloatConst(type, 0) : IntConst(type, 0);
  const Expr condition = And(LessEqual(first, point.index), Less(point.index, end));
  return {MakeCall(type, "if_then_else", {condition, inside.value, zero}), inside.bound};
}

}  // namespace

bool AddMap(Draft& draft) {
  const Shape shape = draft.RandomShape();
  if (draft.shared && shape[0] != draft.shared->extent) return false;
  const DataType type = draft.RandomType();
  const bool is_padding = draft.Percent(15);
  Array& out = draft.NewArray(shape, type);
  draft.Add(MakeNest(draft, SpatialAxes(shape), {.may_repeat = true}, [&](const std::vector<Point>& points) {
    const Bounded value = draft.RandomValue(points, type);
    return Body{draft.Store(out, is_padding ? Pad(draft, value, points) : value, IndicesOf(points, shape.size()))};
  }));
  out.filled = draft.shared ? Array::Filled::kRowsSoFar : Array::Filled::kAll;
  return true;
}

}  // namespace lathe
