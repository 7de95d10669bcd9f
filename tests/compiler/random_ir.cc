#include "tests/compiler/random_ir.h"

#include "compiler/script/complete.h"
#include "support/random.h"

namespace lathe {
namespace {

const DataType kF32 = DataType::Float(32);

Stmt RealizeBlock(std::string name, std::vector<IterVar> iters, std::vector<Expr> values, Stmt body,
                  std::optional<Stmt> init = {}, Expr predicate = True()) {
  BlockNode block{
      .name = std::move(name), .iter_vars = std::move(iters), .init = std::move(init), .body = std::move(body)};
  AccessRegions regions = DetectAccessRegions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  return BlockRealize{std::move(values), std::move(predicate), Block(std::move(block))};
}

Expr Constant(DataType type, int64_t value) {
  return type.is_float() ? FloatConst(type, double(value)) : IntConst(type, value);
}

// ---- kSchedulable --------------------------------------------------------------------------------------------------

class SchedulableMaker {
 public:
  explicit SchedulableMaker(uint64_t seed) : random_(seed) {}

  PrimFunc Run() {
    constexpr int kNumTypes = 4;
    const DataType types[kNumTypes] = {kF32, kF32, DataType::Int(32), DataType::Int(64)};
    type_ = types[random_.Below(kNumTypes)];
    const int num_inputs = 1 + int(random_.Below(2)), num_stages = 2 + int(random_.Below(4));
    for (int i = 0; i < num_inputs; ++i) AddBuffer("A" + std::to_string(i), RandomShape());
    std::vector<Param> params(buffers_.begin(), buffers_.end());
    std::vector<Stmt> stages;
    for (int i = 0; i < num_stages; ++i) stages.push_back(Stage(i));
    params.emplace_back(buffers_.back());
    const std::vector<Buffer> allocs(buffers_.begin() + num_inputs, buffers_.end() - 1);
    return Complete(PrimFunc{"main", std::move(params), {}, MakeSeq(std::move(stages))}, allocs);
  }

 private:
  using Shape = std::vector<int64_t>;
  Shape RandomShape() {
    Shape shape;
    const size_t rank = 1 + random_.Below(3);
    for (size_t i = 0; i < rank; ++i) shape.push_back(2 + int64_t(random_.Below(7)));
    return shape;
  }
  Buffer AddBuffer(std::string name, const Shape& shape) {
    buffers_.push_back(MakeBuffer(std::move(name), {shape.begin(), shape.end()}, type_));
    return buffers_.back();
  }
  static Shape ShapeOf(const Buffer& buffer) { return *ConstantShape(buffer->shape); }

  Expr Combine(const Expr& a, const Expr& b) {
    switch (random_.Below(5)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return Max(a, b);
      case 3:
        return Min(a, b);
      default:
        return a + b * Constant(type_, 2);
    }
  }
  Expr Unary(const Expr& a) {
    if (type_.is_float()) {
      constexpr const char* kOps[] = {"tanh", "sigmoid", "abs"};
      if (random_.Below(2) == 0) return MakeCall(type_, kOps[random_.Below(3)], {a});
      return MakeSelect(Less(a, Constant(type_, 0)), a * FloatConst(type_, 0.5), a);
    }
    return random_.Below(2) == 0 ? FloorDiv(a, Constant(type_, 3)) : Max(a, Constant(type_, 0));
  }
  Expr Squash(const Expr& a) { return type_.is_float() ? a * FloatConst(type_, 0.25) : a; }

  // Loops around a block whose iter vars are bound to them one to one.
  Stmt Nest(const std::string& name, const Shape& extents, size_t num_spatial,
            const std::function<std::pair<std::optional<Stmt>, Stmt>(const std::vector<Var>&)>& make) {
    std::vector<Var> loops, vars;
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    for (size_t i = 0; i < extents.size(); ++i) {
      loops.emplace_back("i" + std::to_string(i));
      vars.emplace_back("v" + std::to_string(i));
      iters.push_back({{0, Expr(extents[i])}, vars[i], i < num_spatial ? IterKind::kSpatial : IterKind::kReduce});
      values.push_back(loops[i]);
    }
    auto [init, body] = make(vars);
    Stmt nest = RealizeBlock(name, std::move(iters), std::move(values), std::move(body), std::move(init));
    for (size_t i = extents.size(); i-- > 0;) nest = MakeFor(loops[i], extents[i], nest);
    return nest;
  }

  Stmt Stage(int number) {
    const std::string name = "B" + std::to_string(number);
    const Buffer source = buffers_[random_.Below(2) == 0 ? buffers_.size() - 1 : random_.Below(buffers_.size())];
    switch (random_.Below(6)) {
      case 0:
        return Reduce(name, source);
      case 1:
        return Stencil(name, source);
      case 2:
        return Pad(name, source);
      case 3:
        return Transpose(name, source);
      case 4:
        return MatmulOrElementwise(name, source);
      default:
        return Elementwise(name, source);
    }
  }
  Stmt Elementwise(const std::string& name, const Buffer& source) {
    const Buffer out = AddBuffer(name, ShapeOf(source));
    const Buffer other = PickSameRank(source);
    return Nest(name, ShapeOf(source), source->shape.size(), [&](const std::vector<Var>& v) {
      const std::vector<Expr> index(v.begin(), v.end());
      std::vector<Expr>
          wrapped;  // Another shape is read modulo its extents, or at its first element where an extent is 1.
      for (size_t i = 0; i < index.size(); ++i) wrapped.push_back(Min(index[i], other->shape[i] - 1));
      const Expr a = Load(source, index);
      const Expr value =
          other.same_as(source) ? Unary(a) : Combine(a, Load(other, SameShape(source, other) ? index : wrapped));
      return std::pair(std::optional<Stmt>(), MakeStore(out, Squash(value), index));
    });
  }
  bool SameShape(const Buffer& a, const Buffer& b) { return ShapeOf(a) == ShapeOf(b); }
  Buffer PickSameRank(const Buffer& source) {
    std::vector<Buffer> fitting = {source};
    for (size_t i = 0; i + 1 < buffers_.size(); ++i) {
      if (buffers_[i]->shape.size() == source->shape.size()) fitting.push_back(buffers_[i]);
    }
    return fitting[random_.Below(fitting.size())];
  }
  Stmt Transpose(const std::string& name, const Buffer& source) {
    Shape shape = ShapeOf(source);
    std::reverse(shape.begin(), shape.end());
    const Buffer out = AddBuffer(name, shape);
    return Nest(name, shape, shape.size(), [&](const std::vector<Var>& v) {
      const std::vector<Expr> index(v.begin(), v.end());
      return std::pair(std::optional<Stmt>(), MakeStore(out, Load(source, {index.rbegin(), index.rend()}), index));
    });
  }
  Stmt Reduce(const std::string& name,
              const Buffer& source) {  // Over the last dimension; a rank of 1 leaves one element.
    Shape extents = ShapeOf(source), shape = extents;
    shape.pop_back();
    if (shape.empty()) {
      shape = {1};
      extents.insert(extents.begin(), 1);
    }
    const Buffer out = AddBuffer(name, shape);
    const bool is_sum = random_.Below(2) == 0;
    return Nest(name, extents, shape.size(), [&](const std::vector<Var>& v) {
      const std::vector<Expr> all(v.begin(), v.end()), index(v.begin(), v.begin() + shape.size());
      const Expr a = Load(source, {all.end() - std::ptrdiff_t(source->shape.size()), all.end()}),
                 sum = Load(out, index);
      return std::pair(std::optional<Stmt>(MakeStore(out, Constant(type_, is_sum ? 0 : -1000000), index)),
                       MakeStore(out, is_sum ? sum + Squash(a) : Max(sum, a), index));
    });
  }
  Stmt MatmulOrElementwise(const std::string& name, const Buffer& source) {
    if (source->shape.size() != 2) return Elementwise(name, source);
    const Shape extents = ShapeOf(source);
    const Buffer out = AddBuffer(name, {extents[0], extents[0]});
    return Nest(name, {extents[0], extents[0], extents[1]}, 2, [&](const std::vector<Var>& v) {
      const Expr product = Load(source, {v[0], v[2]}) * Load(source, {v[1], v[2]}), sum = Load(out, {v[0], v[1]});
      return std::pair(std::optional<Stmt>(MakeStore(out, Constant(type_, 0), {v[0], v[1]})),
                       MakeStore(out, sum + Squash(product), {v[0], v[1]}));
    });
  }
  Stmt Stencil(const std::string& name,
               const Buffer& source) {  // A window of 2 over the first dimension, as loads or as a reduction.
    Shape shape = ShapeOf(source);
    if (shape[0] < 2) return Elementwise(name, source);
    shape[0] -= 1;
    const Buffer out = AddBuffer(name, shape);
    const bool as_reduction = random_.Below(2) == 0;
    Shape extents = shape;
    if (as_reduction) extents.push_back(2);
    return Nest(name, extents, shape.size(), [&](const std::vector<Var>& v) {
      const std::vector<Expr> index(v.begin(), v.begin() + std::ptrdiff_t(shape.size()));
      const auto at = [&](const Expr& shift) {
        std::vector<Expr> moved = index;
        moved[0] = moved[0] + shift;
        return Load(source, moved);
      };
      if (!as_reduction) return std::pair(std::optional<Stmt>(), MakeStore(out, Combine(at(0), at(1)), index));
      return std::pair(std::optional<Stmt>(MakeStore(out, Constant(type_, 0), index)),
                       MakeStore(out, Load(out, index) + Squash(at(v.back())), index));
    });
  }
  Stmt Pad(const std::string& name, const Buffer& source) {
    Shape shape = ShapeOf(source);
    const int64_t inner = shape[0];
    shape[0] += 2;
    const Buffer out = AddBuffer(name, shape);
    return Nest(name, shape, shape.size(), [&](const std::vector<Var>& v) {
      const std::vector<Expr> index(v.begin(), v.end());
      std::vector<Expr> moved = index;
      moved[0] = moved[0] - 1;
      const Expr inside = And(LessEqual(1, index[0]), Less(index[0], inner + 1));
      return std::pair(
          std::optional<Stmt>(),
          MakeStore(out, MakeCall(type_, "if_then_else", {inside, Load(source, moved), Constant(type_, 0)}), index));
    });
  }

  Random random_;
  DataType type_;
  std::vector<Buffer> buffers_;
};

}  // namespace

PrimFunc RandomAnyPrimFunc(uint64_t seed, bool symbolic);  // random_any_ir.cc

PrimFunc RandomPrimFunc(uint64_t seed, RandomIrMode mode) {
  return mode == RandomIrMode::kSchedulable ? SchedulableMaker(seed).Run() : RandomAnyPrimFunc(seed, false);
}
PrimFunc RandomSymbolicPrimFunc(uint64_t seed) { return RandomAnyPrimFunc(seed, true); }

}  // namespace lathe
