#include "tests/compiler/random/nest.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"

namespace lathe {
namespace {

struct Loop {
  Var var;
  Expr min, extent;
  IterKind kind = IterKind::kSpatial;  // Of the axis that it feeds.
  bool depends = false;                // Its extent is no constant of the nest.
  bool is_reduce() const { return kind != IterKind::kSpatial; }
};

class NestMaker {
 public:
  NestMaker(Draft& draft, const std::vector<Axis>& axes, const NestFreedom& freedom)
      : draft_(draft), axes_(axes), freedom_(freedom), type_(draft.IndexType()) {}

  Stmt Run(const MakeBody& make) {
    if (freedom_.is_plain) return RunPlain(make);
    for (size_t i = 0; i < axes_.size(); ++i) i += BindFrom(i);
    MaybeRepeat();
    MaybeShuffle();
    MaybeDependOnOuter();
    Stmt nest = Realize(make);
    const size_t num_outer = PickOuterBlock();
    for (size_t i = loops_.size(); i-- > num_outer;) nest = Wrap(loops_[i], nest);
    if (num_outer != kNoOuterBlock) nest = InOuterBlock(num_outer, nest);
    for (size_t i = std::min(num_outer, loops_.size()); i-- > 0;) nest = Wrap(loops_[i], nest);
    return nest;
  }

 private:
  Stmt RunPlain(const MakeBody& make) {
    for (const Axis& axis : axes_) BindOneToOne(axis);
    Stmt nest = Realize(make);
    for (size_t i = loops_.size(); i-- > 0;)
      nest = For{loops_[i].var, loops_[i].min, loops_[i].extent, ForKind::kSerial, "", {}, nest};
    return nest;
  }

  static constexpr size_t kNoOuterBlock = SIZE_MAX;

  // ---- Binding axes

  // Binds axis i, and perhaps the next; returns how many more than one.
  size_t BindFrom(size_t i) {
    if (i == 0 && draft_.shared) return BindToRow(axes_[0]), 0;
    if (i + 1 < axes_.size() && axes_[i].kind == axes_[i + 1].kind && draft_.Percent(10) && BindFused(i)) return 1;
    const Axis& axis = axes_[i];
    switch (draft_.Below(16)) {
      case 0:
      case 1:
        BindTiled(axis);
        break;
      case 2:
        BindShifted(axis);
        break;
      case 3:
        BindShiftedDomain(axis);
        break;
      case 4:
        if (!BindMirrored(axis)) BindOneToOne(axis);
        break;
      case 5:
        if (!BindOverlapping(axis)) BindOneToOne(axis);
        break;
      case 6:
        BindByLet(axis);
        break;
      case 7:
        if (!draft_.Percent(30) || !BindByLoad(axis)) BindOneToOne(axis);
        break;
      default:
        BindOneToOne(axis);
    }
    return 0;
  }
  DataType TypeOf(const Axis& axis) const { return axis.extent.is_constant() ? type_ : draft_.symbol()->dtype(); }
  Expr ExtentOf(const Axis& axis) const {
    return axis.extent.is_constant() ? IntConst(TypeOf(axis), axis.extent.constant) : draft_.ToExpr(axis.extent);
  }
  Var AddLoop(const char* name, const Axis& axis, Expr min, Expr extent) {
    loops_.push_back({draft_.NewVar(name, TypeOf(axis)), std::move(min), std::move(extent), axis.kind});
    return loops_.back().var;
  }
  Var AddLoop(const char* name, const Axis& axis, const Expr& extent) {
    return AddLoop(name, axis, IntConst(TypeOf(axis), 0), extent);
  }
  // The iter var runs over [low, low + extent), the point is counted from `low`.
  void BindTo(const Axis& axis, const Expr& value, int64_t low = 0) {
    const DataType type = value.dtype();
    const Var var = draft_.NewVar("v", type);
    Expr extent = draft_.ToExpr(axis.extent);
    if (axis.extent.is_constant()) extent = IntConst(type, axis.extent.constant);
    iters_.push_back({{IntConst(type, low), extent}, var, axis.kind});
    values_.push_back(value);
    points_.push_back({low == 0 ? Expr(var) : Expr(var) - low, axis.extent});
  }
  void BindToRow(const Axis& axis) {
    const Expr& row = draft_.shared->row;
    BindTo(axis, row.dtype() == TypeOf(axis) || axis.extent.is_constant() ? row : MakeCast(TypeOf(axis), row));
  }
  void Require(const Expr& condition) { predicate_ = predicate_ ? And(*predicate_, condition) : condition; }

  void BindOneToOne(const Axis& axis) {
    const Var i = AddLoop("i", axis, ExtentOf(axis));
    if (freedom_.may_skip && axis.kind == IterKind::kSpatial && draft_.Percent(20))
      Require(Less(i, 1 + int64_t(draft_.Below(3))));
    BindTo(axis, i);
  }
  void BindTiled(const Axis& axis) {
    const int64_t tile = 2 + int64_t(draft_.Below(3));
    const Var outer = AddLoop("i", axis, FloorDiv(ExtentOf(axis) + (tile - 1), tile));
    const Var inner = AddLoop("i", axis, IntConst(TypeOf(axis), tile));
    const Expr value = Expr(outer) * tile + inner;
    if (!axis.extent.is_constant() || axis.extent.constant % tile != 0) Require(Less(value, ExtentOf(axis)));
    BindTo(axis, value);
  }
  bool BindFused(size_t i) {
    const Axis &a = axes_[i], &b = axes_[i + 1];
    if (!a.extent.is_constant() || !b.extent.is_constant()) return false;
    const Expr width = IntConst(type_, b.extent.constant);
    const Var fused = AddLoop("f", a, IntConst(type_, a.extent.constant * b.extent.constant));
    BindTo(a, FloorDiv(fused, width));
    BindTo(b, FloorMod(fused, width));
    return true;
  }
  void BindShifted(const Axis& axis) {
    const int64_t low = 1 + int64_t(draft_.Below(3));
    BindTo(axis, Expr(AddLoop("i", axis, IntConst(TypeOf(axis), low), ExtentOf(axis))) - low);
  }
  void BindShiftedDomain(const Axis& axis) {
    const int64_t low = 1 + int64_t(draft_.Below(3));
    BindTo(axis, Expr(AddLoop("i", axis, ExtentOf(axis))) + low, low);
  }
  bool BindMirrored(const Axis& axis) {
    if (axis.kind != IterKind::kSpatial || !freedom_.may_reorder) return false;
    BindTo(axis, ExtentOf(axis) - 1 - Expr(AddLoop("i", axis, ExtentOf(axis))));
    return true;
  }
  bool BindOverlapping(const Axis& axis) {  // Tiles of 3, two apart.
    const int64_t extent = axis.extent.constant;
    const bool is_reducing =
        std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return a.kind != IterKind::kSpatial; });
    if (!axis.extent.is_constant() || extent < 3 || extent % 2 == 0 || is_reducing || !freedom_.may_repeat)
      return false;
    is_overlapping_ = true;
    const Var outer = AddLoop("i", axis, IntConst(type_, (extent - 1) / 2));
    BindTo(axis, Expr(outer) * 2 + AddLoop("i", axis, IntConst(type_, 3)));
    return true;
  }
  void BindByLet(const Axis& axis) {
    const Var i = AddLoop("i", axis, ExtentOf(axis));
    lets_.emplace_back(draft_.NewVar("x", TypeOf(axis)), Expr(i));
    BindTo(axis, lets_.back().first);
  }
  bool BindByLoad(const Axis& axis) {
    if (axis.kind != IterKind::kSpatial || !freedom_.may_reorder || !axis.extent.is_plain()) return false;
    const Var i = AddLoop("i", axis, ExtentOf(axis));
    BindTo(axis, MakeCast(TypeOf(axis), Load(draft_.IndexBuffer(axis.extent, axis.extent, true), {i})));
    return true;
  }

  // ---- Loops

  void MaybeRepeat() {
    if (!freedom_.may_repeat || !draft_.Percent(4)) return;
    const Loop loop{draft_.NewVar("r"), 0, 2, IterKind::kReduce};
    loops_.insert(loops_.begin() + std::ptrdiff_t(draft_.Below(loops_.size() + 1)), loop);
  }
  void MaybeShuffle() {
    if (!freedom_.may_reorder || !draft_.Percent(30)) return;
    for (size_t i = loops_.size(); i > 1; --i) std::swap(loops_[i - 1], loops_[draft_.Below(i)]);
  }
  // for k in range(i + 1), or as many as a buffer says: only for an axis that is its loop, and the last ones are left
  // out.
  void MaybeDependOnOuter() {
    if (loops_.empty() || !draft_.Percent(15)) return;
    Loop& loop = loops_.back();
    const auto* extent = AsIntConst(loop.extent);
    const bool may_shrink = loop.is_reduce() || freedom_.may_skip;
    if (extent == nullptr || !IsConstInt(loop.min, 0) || !may_shrink || loop.var.name()[0] != 'i') return;
    if (draft_.Percent(50) && loops_.size() > 1) {
      const Loop& outer = loops_[draft_.Below(loops_.size() - 1)];
      const auto* limit = AsIntConst(outer.extent);
      if (limit == nullptr || *limit > *extent || !IsConstInt(outer.min, 0)) return;
      if (outer.var.dtype() != loop.var.dtype()) return;
      loop.extent = Expr(outer.var) + 1;
    } else {
      const Buffer counts = draft_.IndexBuffer({0, 1}, {0, *extent}, false);
      loop.extent = MakeCast(loop.var.dtype(), Load(counts, {0})) + 1;
    }
    loop.depends = true;
  }
  Stmt Wrap(const Loop& loop, Stmt body) {
    if (draft_.Percent(7)) body = IfThenElse{Condition(loop), body, {}};
    return For{loop.var, loop.min, loop.extent, ForKind::kSerial, "", {}, std::move(body)};
  }
  // One that always holds, unless instances may be left out.
  Expr Condition(const Loop& loop) {
    const bool may_fail = freedom_.may_skip && !loop.is_reduce();
    const auto* extent = AsIntConst(loop.extent);
    if (may_fail && extent != nullptr && IsConstInt(loop.min, 0) && draft_.Percent(50)) {
      const Buffer flags = draft_.IndexBuffer({0, *extent}, {0, 2}, false);
      const Expr flag = Load(flags, {loop.var});
      return Less(IntConst(flag.dtype(), 0), flag);
    }
    return Less(loop.var, may_fail ? Expr(1 + int64_t(draft_.Below(4))) : loop.min + loop.extent);
  }

  // ---- Blocks

  Stmt MakeBlock(std::vector<IterVar> iters, std::vector<Expr> values, const Expr& predicate, Body body) {
    BlockNode block{.name = draft_.BlockName(),
                    .iter_vars = std::move(iters),
                    .alloc_buffers = std::move(body.allocs),
                    .match_buffers = std::move(body.matches),
                    .init = std::move(body.init),
                    .body = std::move(body.stmt)};
    RecomputeRegions(block);
    return BlockRealize{std::move(values), predicate, Block(std::move(block))};
  }
  Stmt Realize(const MakeBody& make) {
    Stmt stmt = MakeBlock(iters_, values_, predicate_.value_or(True()), make(points_));
    for (const auto& [var, value] : lets_) stmt = LetStmt{value, var, stmt};
    return stmt;
  }
  size_t PickOuterBlock() {
    if (is_overlapping_ || !draft_.Percent(12)) return kNoOuterBlock;  // Instances of a block do not overlap.
    size_t most = 0;
    while (most < loops_.size() && !loops_[most].depends) ++most;
    return draft_.Below(most + 1);
  }
  // Everything around `nest` reaches it through iter vars of a block.
  Stmt InOuterBlock(size_t num_loops, const Stmt& nest) {
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    VarMap inside;
    const auto bind = [&](const Expr& loop_var, const Range& domain, IterKind kind) {
      const Var var = draft_.NewVar("vo", loop_var.dtype());
      iters.push_back({domain, var, kind});
      values.push_back(loop_var);
      inside.emplace(loop_var.get(), var);
    };
    if (draft_.shared) {
      const Expr& row = draft_.shared->row;
      bind(row, {IntConst(row.dtype(), 0), draft_.ToExpr(draft_.shared->extent)}, axes_[0].kind);
    }
    for (size_t i = 0; i < num_loops; ++i) bind(loops_[i].var, {loops_[i].min, loops_[i].extent}, loops_[i].kind);
    return MakeBlock(std::move(iters), std::move(values), True(), {.stmt = Substitute(nest, inside)});
  }

  Draft& draft_;
  const std::vector<Axis>& axes_;
  NestFreedom freedom_;
  DataType type_;
  std::vector<Loop> loops_;
  std::vector<IterVar> iters_;
  std::vector<Expr> values_;
  std::vector<Point> points_;
  std::vector<std::pair<Var, Expr>> lets_;
  std::optional<Expr> predicate_;
  bool is_overlapping_ = false;
};

}  // namespace

Stmt MakeNest(Draft& draft, const std::vector<Axis>& axes, const NestFreedom& freedom, const MakeBody& make) {
  return NestMaker(draft, axes, freedom).Run(make);
}

std::vector<Axis> SpatialAxes(const Shape& shape) {
  std::vector<Axis> axes;
  for (const Dim& dim : shape) axes.push_back({dim});
  return axes;
}

std::vector<Expr> IndicesOf(const std::vector<Point>& points, size_t count) {
  std::vector<Expr> indices;
  for (size_t i = 0; i < count; ++i) indices.push_back(points[i].index);
  return indices;
}

}  // namespace lathe
