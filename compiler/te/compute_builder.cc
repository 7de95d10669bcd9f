#include "compiler/te/compute_builder.h"

#include "compiler/script/complete.h"
#include "support/check.h"

namespace lathe::te {
namespace {

// One loop and the iter var that it drives.
struct LoopAxis {
  Var loop_var;
  IterVar iter;
};

void AddAxes(const std::vector<Expr>& extents, IterKind kind, const std::vector<std::string>& names,
             std::string_view prefix, std::vector<LoopAxis>& axes, Axes& point) {
  for (size_t i = 0; i < extents.size(); ++i) {
    const std::string name = i < names.size() ? names[i] : std::string(prefix) + std::to_string(i);
    const DataType type = extents[i].dtype();
    const Var iter("v_" + name, type);
    axes.push_back({Var(name, type), {{IntConst(type, 0), extents[i]}, iter, kind}});
    point.push_back(iter);
  }
}

Stmt MakeNest(const std::string& name, const std::vector<LoopAxis>& axes, std::optional<Stmt> init, Stmt body) {
  BlockNode block{.name = name, .init = std::move(init), .body = std::move(body)};
  std::vector<Expr> values;
  for (const LoopAxis& axis : axes) {
    block.iter_vars.push_back(axis.iter);
    values.push_back(axis.loop_var);
  }
  AccessRegions regions = DetectAccessRegions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  Stmt nest = BlockRealize{std::move(values), True(), Block(std::move(block))};
  for (size_t i = axes.size(); i-- > 0;) nest = MakeFor(axes[i].loop_var, axes[i].iter.domain.extent, std::move(nest));
  return nest;
}

Expr Combine(Combiner combiner, const Expr& a, const Expr& b) {
  switch (combiner) {
    case Combiner::kSum:
      return a + b;
    case Combiner::kMax:
      return Max(a, b);
    case Combiner::kMin:
      return Min(a, b);
  }
  CHECK(false) << "combiner " << static_cast<int>(combiner);
  return a;
}

}  // namespace

Expr Identity(Combiner combiner, DataType type) {
  switch (combiner) {
    case Combiner::kSum:
      return type.is_float() ? FloatConst(type, 0) : IntConst(type, 0);
    case Combiner::kMax:
      return MakeCall(type, "min_value", {});
    case Combiner::kMin:
      return MakeCall(type, "max_value", {});
  }
  CHECK(false) << "combiner " << static_cast<int>(combiner);
  return 0;
}

Buffer ComputeBuilder::Input(std::string name, std::vector<Expr> shape, DataType dtype) {
  inputs_.push_back(MakeBuffer(std::move(name), std::move(shape), dtype));
  return inputs_.back();
}

Buffer ComputeBuilder::Compute(const std::string& name, const std::vector<Expr>& shape, const PointValue& value,
                               const AxisNames& names) {
  std::vector<LoopAxis> axes;
  Axes point;
  AddAxes(shape, IterKind::kSpatial, names.spatial, "ax", axes, point);
  const Expr element = value(point);
  const Buffer buffer = MakeBuffer(name, shape, element.dtype());
  nests_.push_back(MakeNest(name, axes, std::nullopt, MakeStore(buffer, element, point)));
  computed_.push_back(buffer);
  return buffer;
}

Buffer ComputeBuilder::Reduce(const std::string& name, const std::vector<Expr>& shape, const std::vector<Expr>& extents,
                              Combiner combiner, const ReducedValue& value, const AxisNames& names) {
  std::vector<LoopAxis> axes;
  Axes point, reduced;
  AddAxes(shape, IterKind::kSpatial, names.spatial, "ax", axes, point);
  AddAxes(extents, IterKind::kReduce, names.reduced, "k", axes, reduced);
  const Expr element = value(point, reduced);
  const Buffer buffer = MakeBuffer(name, shape, element.dtype());
  const Stmt init = MakeStore(buffer, Identity(combiner, element.dtype()), point);
  const Stmt update = MakeStore(buffer, Combine(combiner, Load(buffer, point), element), point);
  nests_.push_back(MakeNest(name, axes, init, update));
  computed_.push_back(buffer);
  return buffer;
}

PrimFunc ComputeBuilder::Build(std::string name, const Buffer& output) const {
  std::vector<Param> params(inputs_.begin(), inputs_.end());
  params.emplace_back(output);
  std::vector<Buffer> intermediates;
  for (const Buffer& buffer : computed_) {
    if (!buffer.same_as(output)) intermediates.push_back(buffer);
  }
  const PrimFunc func = MakePrimFunc(std::move(name), params, MakeSeq(nests_));
  return WithUniqueBlockNames(Complete(func, std::move(intermediates)));
}

}  // namespace lathe::te
