// Two blocks that belong together, or one that an intrinsic describes: what some primitives work on and chance hardly
// ever makes. What goes between the two stays between them.
#include "tests/compiler/random/stages.h"

namespace lathe {
namespace {

// Sums of `count` products of elements of two arrays are exact.
bool FitsProducts(const Array& a, const Array& b, int64_t count) {
  return a.filled == Array::Filled::kAll && b.filled == Array::Filled::kAll && a.buffer->dtype == b.buffer->dtype &&
         a.bound * b.bound * count <= Draft::Limit(a.buffer->dtype);
}
bool IsMatrix(const Array& a) { return a.shape.size() == 2 && a.shape[1].is_constant(); }

// out[i, j] = the sum over k of a[i, k] * b[j, k], with nothing around the product.
Array& AddPlainProduct(Draft& draft, Array& a, Array& b) {
  Array& out = draft.NewArray({a.shape[0], b.shape[0]}, a.buffer->dtype);
  std::vector<Axis> axes = SpatialAxes(out.shape);
  axes.push_back({a.shape[1], IterKind::kReduce});
  a.is_read = b.is_read = out.is_written = true;
  out.bound = a.bound * b.bound * a.shape[1].constant;
  draft.Add(MakeNest(draft, axes, {.is_plain = draft.Percent(70)}, [&](const std::vector<Point>& points) {
    const std::vector<Expr> at = IndicesOf(points, 2);
    const Expr x = Load(a.buffer, {points[0].index, points[2].index});
    const Expr y = Load(b.buffer, {points[1].index, points[2].index});
    Body body{MakeStore(out.buffer, Load(out.buffer, at) + x * y, at)};
    body.init = MakeStore(out.buffer, draft.Constant(out.buffer->dtype, 0).value, at);
    return body;
  }));
  return out;
}

}  // namespace

bool AddProduct(Draft& draft) {
  if (draft.shared) return false;
  Array* a = draft.PickReadable(IsMatrix);
  if (a == nullptr) a = &draft.NewInput({draft.RandomDim(), {0, int64_t(2 + draft.Below(4))}}, ParamRole::Kind::kData);
  const auto fits = [&](const Array& x) {
    return IsMatrix(x) && x.shape[1] == a->shape[1] && FitsProducts(*a, x, a->shape[1].constant);
  };
  Array* b = draft.PickReadable([&](const Array& x) { return &x != a && fits(x); });
  if (b == nullptr) b = &draft.NewInput({draft.RandomDim(), a->shape[1]}, ParamRole::Kind::kData);
  if (!fits(*b)) b = a;
  if (!fits(*b)) return false;
  Array& sum = AddPlainProduct(draft, *a, *b);
  if (draft.Percent(30)) {
    sum.filled = Array::Filled::kAll;
    return true;
  }
  sum.is_read = true;
  Array& out = draft.NewArray(sum.shape, sum.buffer->dtype);
  draft.Add(
      MakeNest(draft, SpatialAxes(out.shape), {.is_plain = draft.Percent(70)}, [&](const std::vector<Point>& points) {
        const std::vector<Expr> at = IndicesOf(points, 2);
        const int64_t room = Draft::Limit(out.buffer->dtype) - sum.bound;
        const Bounded bias = draft.Clamp(draft.RandomValue(points, out.buffer->dtype), std::max<int64_t>(room, 0));
        const Expr made = Load(sum.buffer, at);
        out.bound = sum.bound + bias.bound;
        return Body{MakeStore(out.buffer, draft.Percent(50) ? made + bias.value : bias.value + made, at)};
      }));
  out.is_written = true;
  out.filled = Array::Filled::kAll;
  return true;
}

bool AddSlidingWindow(Draft& draft) {
  if (draft.shared) return false;
  const int64_t size = 4 + int64_t(draft.Below(6)), taps = 2 + int64_t(draft.Below(2));
  Shape shape{{0, size}}, fewer{{0, size - taps + 1}};
  if (draft.Percent(50)) {
    shape.push_back(draft.RandomDim());
    fewer.push_back(shape.back());
  }
  const DataType type = draft.RandomType();
  Array& made = draft.NewArray(shape, type);
  draft.Add(MakeNest(draft, SpatialAxes(shape), {.is_plain = draft.Percent(70)}, [&](const std::vector<Point>& points) {
    const Bounded value = draft.Clamp(draft.RandomValue(points, type), 20);
    return Body{draft.Store(made, value, IndicesOf(points, shape.size()))};
  }));
  made.is_read = true;
  Array& out = draft.NewArray(fewer, type);
  draft.Add(MakeNest(draft, SpatialAxes(fewer), {.is_plain = draft.Percent(70)}, [&](const std::vector<Point>& points) {
    std::vector<Expr> at = IndicesOf(points, shape.size());
    const Expr first = at[0];
    Bounded sum{Load(made.buffer, at), made.bound};
    for (int64_t tap = 1; tap < taps; ++tap) {
      at[0] = first + tap;
      sum = {sum.value + Load(made.buffer, at), sum.bound + made.bound};
    }
    return Body{draft.Store(out, sum, IndicesOf(points, fewer.size()))};
  }));
  out.filled = Array::Filled::kAll;
  return true;
}

}  // namespace lathe
