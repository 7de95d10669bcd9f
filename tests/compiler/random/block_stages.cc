#include "compiler/ir/visitor.h"
#include "tests/compiler/random/stages.h"

namespace lathe {
namespace {

// A new array whose rows the shared loop makes, or as a whole.
Array* NewFilling(Draft& draft, Shape& shape) {
  shape = draft.RandomShape();
  if (draft.shared && shape[0] != draft.shared->extent) return nullptr;
  return &draft.NewArray(shape, draft.RandomType());
}
void MarkFilled(const Draft& draft, Array& array) {
  array.filled = draft.shared ? Array::Filled::kRowsSoFar : Array::Filled::kAll;
}

Stmt SerialLoop(const Var& var, const Expr& extent, Stmt body) {
  return For{var, IntConst(var.dtype(), 0), MakeCast(var.dtype(), extent), ForKind::kSerial, "", {}, std::move(body)};
}

// A nest over `shape` whose block's body is what `make` says.
void AddFilling(Draft& draft, const Shape& shape, const MakeBody& make) {
  draft.Add(MakeNest(draft, SpatialAxes(shape), {.may_repeat = true}, make));
}

Expr RandomCondition(Draft& draft, const std::vector<Point>& points) {
  if (draft.Percent(50)) {
    const Bounded value = draft.RandomValue(points, DataType::Int(32));
    return Less(value.value, int64_t(draft.Below(3)));
  }
  return Less(draft.Pick(points).index, 1 + int64_t(draft.Below(5)));
}

}  // namespace

bool AddTwoOutputs(Draft& draft) {
  Shape shape;
  Array* first = NewFilling(draft, shape);
  if (first == nullptr) return false;
  Array& second = draft.NewArray(shape, draft.RandomType());
  AddFilling(draft, shape, [&](const std::vector<Point>& points) {
    const std::vector<Expr> indices = IndicesOf(points, points.size());
    const Stmt one = draft.Store(*first, draft.RandomValue(points, first->buffer->dtype), indices);
    if (draft.Percent(50)) {
      const Bounded made = draft.Convert({Load(first->buffer, indices), first->bound}, second.buffer->dtype);
      return Body{MakeSeq({one, draft.Store(second, draft.Unary(made), indices)})};
    }
    return Body{MakeSeq({one, draft.Store(second, draft.RandomValue(points, second.buffer->dtype), indices)})};
  });
  MarkFilled(draft, *first);
  MarkFilled(draft, second);
  return true;
}

bool AddBranchInBlock(Draft& draft) {
  Shape shape;
  Array* out = NewFilling(draft, shape);
  if (out == nullptr) return false;
  AddFilling(draft, shape, [&](const std::vector<Point>& points) {
    const std::vector<Expr> indices = IndicesOf(points, points.size());
    const Expr condition = RandomCondition(draft, points);
    const Stmt yes = draft.Store(*out, draft.RandomValue(points, out->buffer->dtype), indices);
    return Body{IfThenElse{condition, yes, draft.Store(*out, draft.RandomValue(points, out->buffer->dtype), indices)}};
  });
  MarkFilled(draft, *out);
  return true;
}

bool AddLetInBlock(Draft& draft) {
  Shape shape;
  Array* out = NewFilling(draft, shape);
  if (out == nullptr) return false;
  AddFilling(draft, shape, [&](const std::vector<Point>& points) {
    const Bounded value = draft.RandomValue(points, out->buffer->dtype);
    const Var x = draft.NewVar("x", out->buffer->dtype);
    const Bounded twice = draft.Combine({x, value.bound}, {x, value.bound});
    return Body{LetStmt{value.value, x, draft.Store(*out, twice, IndicesOf(points, points.size()))}};
  });
  MarkFilled(draft, *out);
  return true;
}

// A loop in the body: it fills the last dimension, or sums up there what others make reduce axes of.
bool AddLoopInBlock(Draft& draft) {
  Shape shape;
  Array* out = NewFilling(draft, shape);
  if (out == nullptr) return false;
  const bool fills = shape.size() > 1 && draft.Percent(50);
  Shape outer = shape;
  if (fills) outer.pop_back();
  AddFilling(draft, outer, [&](const std::vector<Point>& points) {
    const DataType type = out->buffer->dtype;
    const Var k = draft.NewVar("k");
    std::vector<Point> all = points;
    std::vector<Expr> indices = IndicesOf(points, points.size());
    if (fills) {
      all.push_back({k, shape.back()});
      indices.push_back(k);
      return Body{SerialLoop(k, draft.ToExpr(shape.back()), draft.Store(*out, draft.RandomValue(all, type), indices))};
    }
    const int64_t count = 2 + int64_t(draft.Below(3));
    all.push_back({k, {0, count}});
    const Stmt zero = draft.Store(*out, draft.Constant(type, 0), indices);
    const Bounded term = draft.Clamp(draft.RandomValue(all, type), draft.Limit(type) / 8);
    out->bound = term.bound * count;
    const Stmt add = MakeStore(out->buffer, Load(out->buffer, indices) + term.value, indices);
    return Body{MakeSeq({zero, SerialLoop(k, count, add)})};
  });
  MarkFilled(draft, *out);
  return true;
}

// The block computes a few elements into a buffer of its own, then uses them.
bool AddLocalTile(Draft& draft) {
  Shape shape;
  Array* out = NewFilling(draft, shape);
  if (out == nullptr) return false;
  AddFilling(draft, shape, [&](const std::vector<Point>& points) {
    const DataType type = out->buffer->dtype;
    const int64_t size = 2 + int64_t(draft.Below(3));
    const Buffer tile = MakeBuffer("tile", {size}, type, draft.Percent(50) ? "local" : "global");
    const Var k = draft.NewVar("k"), m = draft.NewVar("m");
    std::vector<Point> all = points;
    all.push_back({k, {0, size}});
    const Bounded value = draft.Clamp(draft.RandomValue(all, type), draft.Limit(type) / 8);
    const Stmt fill = SerialLoop(k, size, MakeStore(tile, value.value, {k}));
    const std::vector<Expr> indices = IndicesOf(points, points.size());
    const Stmt first = draft.Store(*out, {Load(tile, {0}), value.bound}, indices);
    out->bound = value.bound * (size + 1);
    const Stmt add = MakeStore(out->buffer, Load(out->buffer, indices) + Load(tile, {size - 1 - Expr(m)}), indices);
    return Body{.stmt = MakeSeq({fill, first, SerialLoop(m, size, add)}), .allocs = {tile}};
  });
  MarkFilled(draft, *out);
  return true;
}

namespace {

// The last dimension of `array` at the leading indices `lead`, as a buffer of one dimension, or of all with extents 1.
MatchBufferRegion RowView(Draft& draft, const Array& array, const std::vector<Expr>& lead) {
  std::vector<Range> region;
  for (const Expr& index : lead) region.push_back({index, IntConst(index.dtype(), 1)});
  const Expr width = draft.ToExpr(array.shape.back());
  region.push_back({IntConst(width.dtype(), 0), width});
  BufferNode view{.name = "view", .dtype = array.buffer->dtype};
  if (draft.Percent(50)) {
    for (size_t i = 0; i < lead.size(); ++i) view.shape.push_back(1);
  }
  view.shape.push_back(width);
  view.strides.assign(view.shape.size(), 1);
  for (Expr& stride : view.strides) stride = draft.NewVar("s");
  view.elem_offset = draft.NewVar("o");
  return {Buffer(std::move(view)), {array.buffer, std::move(region)}};
}

std::vector<Expr> InView(const MatchBufferRegion& view, const Expr& index) {
  std::vector<Expr> indices(view.buffer->shape.size(), Expr(0));
  indices.back() = index;
  return indices;
}

}  // namespace

bool AddReadView(Draft& draft) {
  Shape shape;
  Array* source = draft.PickReadable([](const Array& a) { return a.filled == Array::Filled::kAll; });
  Array* out = source == nullptr ? nullptr : NewFilling(draft, shape);
  if (out == nullptr) return false;
  source->is_read = true;
  AddFilling(draft, shape, [&](const std::vector<Point>& points) {
    std::vector<Expr> lead;
    for (size_t d = 0; d + 1 < source->shape.size(); ++d)
      lead.push_back(draft.ReadIndex(source->shape[d], points, d, false));
    const MatchBufferRegion view = RowView(draft, *source, lead);
    const Expr last = draft.ReadIndex(source->shape.back(), points, points.size() - 1, false);
    const Bounded value = draft.Convert({Load(view.buffer, InView(view, last)), source->bound}, out->buffer->dtype);
    return Body{.stmt = draft.Store(*out, draft.Unary(value), IndicesOf(points, points.size())), .matches = {view}};
  });
  MarkFilled(draft, *out);
  return true;
}

bool AddWriteView(Draft& draft) {
  Shape shape;
  Array* out = NewFilling(draft, shape);
  if (out == nullptr) return false;
  const Shape outer(shape.begin(), shape.end() - (draft.shared && shape.size() == 1 ? 0 : 1));
  if (draft.shared && shape.size() == 1) return false;
  AddFilling(draft, outer, [&](const std::vector<Point>& points) {
    const MatchBufferRegion view = RowView(draft, *out, IndicesOf(points, points.size()));
    const Var k = draft.NewVar("k");
    std::vector<Point> all = points;
    all.push_back({k, shape.back()});
    Bounded value = draft.RandomValue(all, out->buffer->dtype);
    out->bound = std::min(value.bound, draft.Limit(out->buffer->dtype));
    value = draft.Clamp(value, out->bound);
    const Stmt store = MakeStore(view.buffer, value.value, InView(view, k));
    return Body{.stmt = SerialLoop(k, draft.ToExpr(shape.back()), store), .matches = {view}};
  });
  out->is_written = true;
  MarkFilled(draft, *out);
  return true;
}

namespace {

// Gives the outermost block a further condition.
class PredicateAdder : public StmtExprMutator {
 public:
  explicit PredicateAdder(Expr condition) : condition_(std::move(condition)) {}

 protected:
  Stmt VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    return BlockRealize{realize.iter_values, And(realize.predicate, condition_), realize.block};
  }

 private:
  Expr condition_;
};

}  // namespace

// In a shared loop: an array without the loop's dimension, made anew in each iteration or only in the first.
bool AddRowBuffer(Draft& draft) {
  if (!draft.shared) return false;
  const Shape shape = {{0, int64_t(1 + draft.Below(5))}};
  Array& out = draft.NewArray(shape, draft.RandomType());
  const bool once = draft.Percent(40);
  const SharedLoop shared = *draft.shared;
  std::vector<Axis> axes = {{shared.extent, IterKind::kOpaque}, {shape[0]}};
  if (once) {
    axes.erase(axes.begin());
    draft.shared.reset();
  }
  Stmt nest = MakeNest(draft, axes, {}, [&](const std::vector<Point>& points) {
    return Body{draft.Store(out, draft.RandomValue(points, out.buffer->dtype), {points.back().index})};
  });
  draft.shared = shared;
  if (once)
    nest = draft.Percent(50) ? IfThenElse{Less(shared.row, 1), nest, {}} : PredicateAdder(Less(shared.row, 1))(nest);
  draft.Add(nest);
  out.filled = Array::Filled::kAll;
  return true;
}

}  // namespace lathe
