#include "tests/compiler/random/stages.h"

namespace lathe {
namespace {

constexpr int64_t kMaxSymbol = 9;

enum class Combiner : uint8_t { kAdd, kMax, kMin, kMul };

struct Reduction {
  Combiner combiner;
  int64_t identity;
};

Reduction Draw(Draft& draft) {
  switch (draft.Below(6)) {
    case 0:
      return {Combiner::kMax, -100};
    case 1:
      return {Combiner::kMin, 100};
    case 2:
      return {Combiner::kMul, 1};
    default:
      return {Combiner::kAdd, 0};
  }
}

Expr Apply(Combiner combiner, const Expr& sum, const Expr& term) {
  switch (combiner) {
    case Combiner::kMax:
      return Max(sum, term);
    case Combiner::kMin:
      return Min(sum, term);
    case Combiner::kMul:
      return sum * term;
    case Combiner::kAdd:
      break;
  }
  return sum + term;
}

int64_t NumTerms(const std::vector<Axis>& axes, size_t num_spatial) {
  int64_t count = 1;
  for (size_t i = num_spatial; i < axes.size(); ++i) count *= axes[i].extent.At(kMaxSymbol);
  return count;
}

// `term` made small enough that `count` of them stay exact.
Bounded Fitting(Draft& draft, const Bounded& term, const Reduction& reduction, int64_t count) {
  const int64_t limit = draft.Limit(term.value.dtype());
  switch (reduction.combiner) {
    case Combiner::kAdd: {
      const Bounded fitting = draft.Clamp(term, std::max<int64_t>(limit / count, 1));
      return {fitting.value, fitting.bound * count};
    }
    case Combiner::kMul:
      return draft.Clamp(term, 1);
    default:
      return {draft.Clamp(term, 100).value, 100};
  }
}

// Adds out[spatial] = combiner over the reduce axes of a value that `make` draws.
bool AddReductionOver(Draft& draft, const Shape& shape, const Shape& reduced, DataType type,
                      const std::function<Bounded(const std::vector<Point>&)>& make) {
  const Reduction reduction = Draw(draft);
  std::vector<Axis> axes = SpatialAxes(shape);
  for (const Dim& dim : reduced) axes.push_back({dim, IterKind::kReduce});
  const int64_t count = NumTerms(axes, shape.size());
  if (reduction.combiner == Combiner::kAdd && count > draft.Limit(type)) return false;
  Array& out = draft.NewArray(shape, type);
  draft.Add(MakeNest(draft, axes, {}, [&](const std::vector<Point>& points) {
    const std::vector<Expr> indices = IndicesOf(points, shape.size());
    const Bounded term = Fitting(draft, make(points), reduction, count);
    out.bound = std::max(term.bound, std::abs(reduction.identity));
    const Expr sum = Load(out.buffer, indices);
    Body body{MakeStore(out.buffer, Apply(reduction.combiner, sum, term.value), indices)};
    body.init = MakeStore(out.buffer, draft.Constant(type, reduction.identity).value, indices);
    return body;
  }));
  out.is_written = true;
  out.filled = draft.shared ? Array::Filled::kRowsSoFar : Array::Filled::kAll;
  return true;
}

bool IsRowWise(const Draft& draft, const Shape& shape) { return !draft.shared || shape[0] == draft.shared->extent; }

}  // namespace

bool AddReduction(Draft& draft) {
  const Shape shape = draft.RandomShape();
  if (!IsRowWise(draft, shape)) return false;
  Shape reduced = {draft.RandomDim()};
  if (draft.Percent(25)) reduced.push_back({0, int64_t(2 + draft.Below(2))});
  const DataType type = draft.RandomType();
  return AddReductionOver(draft, shape, reduced, type, [&](const std::vector<Point>& points) {
    std::vector<Point> order = points;  // The reduced axes index the last dimensions, as in most programs.
    Array* source = draft.PickReadable();
    if (source == nullptr) return draft.Constant(type, 1);
    const size_t rank = source->shape.size();
    if (source->filled == Array::Filled::kAll && rank < points.size() && draft.Percent(70))
      order.erase(order.begin(), order.end() - std::ptrdiff_t(rank));
    return draft.Read(*source, order, type);
  });
}

bool AddMatmul(Draft& draft) {
  const auto is_matrix = [](const Array& a) { return a.filled == Array::Filled::kAll && a.shape.size() == 2; };
  Array *a = draft.PickReadable(is_matrix), *b = nullptr;
  if (a != nullptr) b = draft.PickReadable([&](const Array& x) { return is_matrix(x) && x.shape[1] == a->shape[1]; });
  if (b == nullptr || !IsRowWise(draft, {a->shape[0]})) return false;
  const DataType type = draft.RandomType();
  const int64_t limit = draft.Limit(type) >= 1000 ? 8 : 4;
  a->is_read = b->is_read = true;
  return AddReductionOver(
      draft, {a->shape[0], b->shape[0]}, {a->shape[1]}, type, [&](const std::vector<Point>& points) {
        const auto load = [&](Array& x, size_t row) {
          return draft.Clamp(draft.Convert({Load(x.buffer, {points[row].index, points[2].index}), x.bound}, type),
                             limit);
        };
        const Bounded x = load(*a, 0), y = load(*b, 1);
        return Bounded{x.value * y.value, x.bound * y.bound};
      });
}

bool AddAccumulation(Draft& draft) {  // No init: out += ..., clamped, so the order counts and no axis is spatial alone.
  Array* out = draft.PickWritable([&](const Array& a) { return IsRowWise(draft, a.shape); });
  if (out == nullptr) return false;
  const bool is_exact = draft.Percent(60);  // max: any order, and an element that many instances update.
  std::vector<Axis> axes = SpatialAxes(out->shape);
  axes.push_back({{0, int64_t(2 + draft.Below(4))}, is_exact ? IterKind::kReduce : IterKind::kOpaque});
  draft.being_written = out;
  draft.Add(MakeNest(draft, axes, {.may_skip = true, .may_reorder = is_exact}, [&](const std::vector<Point>& points) {
    const DataType type = out->buffer->dtype;
    const std::vector<Expr> indices = IndicesOf(points, out->shape.size());
    const Bounded term = draft.Clamp(draft.RandomValue(points, type), out->bound);
    const Expr sum = Load(out->buffer, indices);
    if (is_exact) return Body{draft.Store(*out, {Max(sum, term.value), out->bound}, indices)};
    const Bounded half = draft.Clamp(term, std::max<int64_t>(draft.Limit(type) - out->bound, 0));
    return Body{draft.Store(*out, {sum + half.value, out->bound + half.bound}, indices)};
  }));
  draft.being_written = nullptr;
  return true;
}

}  // namespace lathe
