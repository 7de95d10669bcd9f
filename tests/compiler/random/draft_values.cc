// Expressions of a random program: values from arrays, and the many ways to index them.
#include <algorithm>

#include "tests/compiler/random/draft.h"

namespace lathe {
namespace {

Expr Number(DataType type, int64_t value) {
  return type.is_float() ? FloatConst(type, double(value)) : IntConst(type, value);
}

}  // namespace

// ---- Arithmetic

Bounded Draft::Constant(DataType type, int64_t value) { return {Number(type, value), std::abs(value)}; }

Bounded Draft::Clamp(const Bounded& a, int64_t bound) {
  if (a.bound <= bound) return a;
  const DataType type = a.value.dtype();
  return {Max(Min(a.value, Number(type, bound)), Number(type, -bound)), bound};
}

Bounded Draft::Convert(const Bounded& a, DataType type) {
  if (a.value.dtype() == type) return a;
  const Bounded fitting = Clamp(a, Limit(type));
  return {MakeCast(type, fitting.value), fitting.bound};
}

Bounded Draft::Combine(const Bounded& a, const Bounded& b) {
  const int64_t limit = Limit(a.value.dtype());
  const int64_t larger = std::max(a.bound, b.bound);
  switch (Below(7)) {
    case 0:
      return {Max(a.value, b.value), larger};
    case 1:
      return {Min(a.value, b.value), larger};
    case 2:
      if (a.bound + b.bound <= limit) return {a.value - b.value, a.bound + b.bound};
      break;
    case 3:
      if (a.bound * b.bound <= limit) return {a.value * b.value, a.bound * b.bound};
      break;
    case 4:
      return {MakeSelect(Less(a.value, b.value), b.value, a.value), larger};
    case 5:
      if (a.bound + 2 * b.bound <= limit)
        return {a.value + b.value * Number(a.value.dtype(), 2), a.bound + 2 * b.bound};
      break;
    default:
      break;
  }
  const Bounded x = Clamp(a, limit / 4), y = Clamp(b, limit / 4);
  return {x.value + y.value, x.bound + y.bound};
}

Bounded Draft::Unary(const Bounded& a) {
  const DataType type = a.value.dtype();
  switch (Below(4)) {
    case 0:
      return {MakeCall(type, "abs", {a.value}), a.bound};
    case 1:
      if (type.is_float()) break;
      return {FloorDiv(a.value, Number(type, 3)), a.bound};
    case 2:
      return {MakeSelect(Less(a.value, Number(type, 0)), Number(type, 1), a.value), std::max<int64_t>(a.bound, 1)};
    default:
      break;
  }
  return {Max(a.value, Number(type, 0)), a.bound};
}

Bounded Draft::RandomValue(const std::vector<Point>& points, DataType type) {
  Array* source = PickReadable();
  const Bounded a = source != nullptr ? Read(*source, points, type) : Constant(type, int64_t(Below(5)));
  if (Percent(30)) return Unary(a);
  if (Percent(30)) return Combine(a, Constant(type, 1 + int64_t(Below(3))));
  Array* other = Percent(60) ? PickReadable() : nullptr;
  return other != nullptr ? Combine(a, Read(*other, points, type)) : a;
}

// ---- Reading

namespace {

// Where `inside` does not hold the load would be out of bounds: T.if_then_else leaves it out, Select needs `safe`.
struct Padded {
  Expr inside, index, safe;
};

}  // namespace

Bounded Draft::Read(Array& array, const std::vector<Point>& points, DataType type) {
  array.is_read = true;
  const bool by_rows = array.filled == Array::Filled::kRowsSoFar;
  std::vector<Expr> indices;
  for (size_t d = 0; d < array.shape.size(); ++d)
    indices.push_back(ReadIndex(array.shape[d], points, d, by_rows && d == 0));
  std::optional<Padded> padded;
  const size_t d = Below(array.shape.size());
  if (Percent(12) && d < points.size()) {
    const Expr& point = points[d].index;
    const Expr top = ToExpr(array.shape[d]);
    padded = Padded{And(LessEqual(1, point), LessEqual(point, top)), point - 1, Max(Min(point - 1, top - 1), 0)};
    indices[d] = padded->index;
  }
  Expr value = Load(array.buffer, indices);
  if (padded) {
    const Expr zero = Number(value.dtype(), 0);
    if (Percent(60)) {
      value = MakeCall(value.dtype(), "if_then_else", {padded->inside, value, zero});
    } else {
      indices[d] = padded->safe;
      value = MakeSelect(padded->inside, Load(array.buffer, indices), zero);
    }
  }
  return Convert({value, array.bound}, type);
}

Expr Draft::ReadIndex(const Dim& dim, const std::vector<Point>& points, size_t d, bool rows_so_far) {
  if (rows_so_far) return Percent(60) ? points[0].index : Max(points[0].index - 1, 0);
  if (dim == Dim{0, 1}) return 0;
  if (points.empty()) return Percent(50) ? Expr(0) : ToExpr(dim) - 1;
  if (!dim.is_constant()) return SymbolicDimIndex(dim, d < points.size() ? points[d] : Pick(points));
  return ConstantDimIndex(dim, points, d);
}

Expr Draft::Gathered(const Dim& dim, const Point& point) {
  if (!point.extent.is_plain()) return Min(point.index, ToExpr(dim) - 1);
  return Load(IndexBuffer(point.extent, dim, false), {point.index});
}

Expr Draft::SymbolicDimIndex(const Dim& dim, const Point& point) {
  const Expr last = ToExpr(dim) - 1;
  if (point.extent != dim) return Min(point.index, last);
  switch (Below(10)) {
    case 0:
      return Max(point.index - 1, 0);
    case 1:
      return Min(point.index + 1, last);
    case 2:
      return last - point.index;
    case 3:
      return Gathered(dim, point);
    default:
      return point.index;
  }
}

Expr Draft::ConstantDimIndex(const Dim& dim, const std::vector<Point>& points, size_t d) {
  const int64_t size = dim.constant;
  const Point& point = d < points.size() && !Percent(20) ? points[d] : Pick(points);
  const Expr& v = point.index;
  if (!point.extent.is_constant()) return Percent(50) ? Min(v, size - 1) : FloorMod(v, size);
  const int64_t extent = point.extent.constant;
  switch (Below(20)) {
    case 0:
      return Min(v + 1, size - 1);
    case 1:
      return Min(Max(v - 1, 0), size - 1);
    case 2:
      if (extent <= size) return size - 1 - v;
      break;
    case 3:
    case 4:
      if ((extent - 1) / 2 < size) return FloorDiv(v, 2);
      break;
    case 5:
      return FloorMod(v, std::min<int64_t>(size, 2 + int64_t(Below(3))));
    case 6:
    case 7:
      if (2 * extent <= size) return v * 2 + int64_t(Below(2));
      break;
    case 8:
    case 9:
      if (extent < size) return v + (1 + int64_t(Below(uint64_t(size - extent))));
      break;
    case 10:
    case 11:
    case 12: {
      const Point& other = Pick(points);
      if (other.extent.is_constant() && extent + other.extent.constant - 1 <= size) return v + other.index;
      break;
    }
    case 13:
      return Gathered(dim, point);
    case 14:
      return int64_t(Below(uint64_t(size)));
    default:
      break;
  }
  if (extent <= size) return v;
  return Percent(50) ? FloorMod(v, size) : Min(v, size - 1);
}

}  // namespace lathe
