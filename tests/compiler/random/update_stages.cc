#include <algorithm>

#include "tests/compiler/random/stages.h"

namespace lathe {
namespace {

bool IsRowWise(const Draft& draft, const Array& array) {
  return !draft.shared || array.shape[0] == draft.shared->extent;
}

// Stores a random value, which does not read `out`, at `indices` of it.
Body Overwriting(Draft& draft, Array& out, const std::vector<Point>& points, std::vector<Expr> indices) {
  return Body{draft.Store(out, draft.RandomValue(points, out.buffer->dtype), std::move(indices))};
}

// One dimension of a store: how many points write it, and where point v does. Distinct points, distinct elements.
struct Placement {
  Dim extent;
  int64_t factor = 1, offset = 0;
  bool is_mirrored = false;
};

Placement DrawPlacement(Draft& draft, const Dim& dim) {
  if (!dim.is_constant() || dim.constant < 2) return {.extent = dim, .is_mirrored = draft.Percent(20)};
  const int64_t size = dim.constant;
  switch (draft.Below(6)) {
    case 0:  // Every other element.
      return {.extent = {0, size / 2}, .factor = 2, .offset = int64_t(draft.Below(2))};
    case 1: {  // The elements from `offset` on, as a cache is filled.
      const int64_t offset = 1 + int64_t(draft.Below(uint64_t(size - 1)));
      return {.extent = {0, size - offset}, .offset = offset};
    }
    case 2:  // One element.
      return {.extent = {0, 1}, .offset = int64_t(draft.Below(uint64_t(size)))};
    case 3:
      return {.extent = dim, .is_mirrored = true};
    default:
      return {.extent = dim};
  }
}

Expr Place(const Draft& draft, const Placement& placement, const Expr& point) {
  if (placement.is_mirrored) return draft.ToExpr(placement.extent) - 1 - point;
  return point * placement.factor + placement.offset;
}

}  // namespace

bool AddInPlace(Draft& draft) {
  Array* out = draft.PickWritable([&](const Array& a) { return IsRowWise(draft, a); });
  if (out == nullptr) return false;
  draft.being_written = out;
  draft.Add(MakeNest(draft, SpatialAxes(out->shape), {.may_skip = true}, [&](const std::vector<Point>& points) {
    const DataType type = out->buffer->dtype;
    const std::vector<Expr> indices = IndicesOf(points, points.size());
    const Bounded old = {Load(out->buffer, indices), out->bound};
    return Body{draft.Store(*out, draft.Combine(old, draft.RandomValue(points, type)), indices)};
  }));
  draft.being_written = nullptr;
  return true;
}

bool AddOverwrite(Draft& draft) {
  Array* out = draft.PickWritable([&](const Array& a) { return IsRowWise(draft, a); });
  if (out == nullptr) return false;
  std::vector<Placement> placements;
  Shape extents;
  for (size_t d = 0; d < out->shape.size(); ++d) {
    placements.push_back(draft.shared && d == 0 ? Placement{out->shape[0]} : DrawPlacement(draft, out->shape[d]));
    extents.push_back(placements.back().extent);
  }
  draft.being_written = out;
  draft.Add(MakeNest(draft, SpatialAxes(extents), {.may_skip = true, .may_repeat = true},
                     [&](const std::vector<Point>& points) {
                       std::vector<Expr> indices;
                       for (size_t d = 0; d < points.size(); ++d)
                         indices.push_back(Place(draft, placements[d], points[d].index));
                       return Overwriting(draft, *out, points, std::move(indices));
                     }));
  draft.being_written = nullptr;
  return true;
}

bool AddScatter(Draft& draft) {
  Array* out = draft.PickWritable([&](const Array& a) { return !draft.shared && a.shape[0].is_constant(); });
  if (out == nullptr) return false;
  const bool is_permutation = draft.Percent(50);  // Else elements are hit several times, in order.
  const Dim length = is_permutation ? out->shape[0] : Dim{0, int64_t(2 + draft.Below(6))};
  std::vector<Axis> axes = SpatialAxes(out->shape);
  axes[0] = {length, is_permutation ? IterKind::kSpatial : draft.Percent(50) ? IterKind::kOpaque : IterKind::kScan};
  const Buffer where = draft.IndexBuffer(length, out->shape[0], is_permutation);
  draft.being_written = out;
  const NestFreedom freedom{.may_skip = true, .may_reorder = is_permutation};
  draft.Add(MakeNest(draft, axes, freedom, [&](const std::vector<Point>& points) {
    std::vector<Expr> indices = IndicesOf(points, points.size());
    indices[0] = Load(where, {indices[0]});
    if (draft.Percent(60)) return Overwriting(draft, *out, points, std::move(indices));
    const Bounded old{Load(out->buffer, indices), out->bound};
    return Body{draft.Store(*out, draft.Combine(old, draft.RandomValue(points, out->buffer->dtype)), indices)};
  }));
  draft.being_written = nullptr;
  return true;
}

bool AddScan(Draft& draft) {
  Array* out = draft.PickWritable([&](const Array& a) { return IsRowWise(draft, a) && a.shape.size() == 1; });
  if (out == nullptr) return false;
  const Axis axis{out->shape[0], draft.Percent(50) ? IterKind::kScan : IterKind::kOpaque};
  draft.being_written = out;
  draft.Add(MakeNest(draft, {axis}, {.may_reorder = false}, [&](const std::vector<Point>& points) {
    const Expr& v = points[0].index;
    const Bounded before{Load(out->buffer, {Max(v - 1, 0)}), out->bound};
    return Body{draft.Store(*out, draft.Combine(before, draft.RandomValue(points, out->buffer->dtype)), {v})};
  }));
  draft.being_written = nullptr;
  return true;
}

// B[i] = A[i]; A[i] = B[n - 1 - i]: moving the one into the other reads what has been overwritten.
bool AddSwap(Draft& draft) {
  Array* array = draft.PickWritable([&](const Array& a) { return !draft.shared; });
  if (array == nullptr) return false;
  Array& copy = draft.NewArray(array->shape, array->buffer->dtype);
  const auto move = [&](Array& from, Array& to, bool mirrored) {
    draft.Add(MakeNest(draft, SpatialAxes(from.shape), {.may_repeat = true}, [&](const std::vector<Point>& points) {
      const std::vector<Expr> at = IndicesOf(points, points.size());
      std::vector<Expr> source = at;
      if (mirrored) source.back() = draft.ToExpr(from.shape.back()) - 1 - at.back();
      return Body{draft.Store(to, {Load(from.buffer, source), from.bound}, at)};
    }));
  };
  array->is_read = copy.is_read = true;
  move(*array, copy, false);
  move(copy, *array, draft.Percent(70));
  copy.filled = Array::Filled::kAll;
  return true;
}

}  // namespace lathe
