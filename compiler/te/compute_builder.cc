#include "compiler/te/compute_builder.h"

#include "compiler/te/nest.h"
#include "support/check.h"

namespace lathe::te {
namespace {

std::vector<std::string> NamesOf(const std::vector<std::string>& names, std::string_view prefix, size_t count) {
  std::vector<std::string> all(names.begin(), names.begin() + static_cast<int64_t>(std::min(names.size(), count)));
  while (all.size() < count) all.push_back(std::string(prefix) + std::to_string(all.size()));
  return all;
}

ComputeOptions OptionsOf(const std::string& name, const std::vector<std::string>& names, size_t ndim) {
  return {.name = name, .tag = "", .attrs = {}, .axis_names = NamesOf(names, "ax", ndim), .layout_free = {}};
}

}  // namespace

Expr Identity(Combiner combiner, DataType type) {
  if (combiner == Combiner::kMax) return MakeCall(type, "min_value", {});
  if (combiner == Combiner::kMin) return MakeCall(type, "max_value", {});
  return NamedReducer(combiner, type).identity_element.front();
}

Buffer ComputeBuilder::Add(const Tensor& tensor) {
  computed_.push_back(tensor);
  return tensor.buffer();
}

Buffer ComputeBuilder::Input(std::string name, std::vector<Expr> shape, DataType dtype) {
  inputs_.push_back(Placeholder(std::move(shape), dtype, std::move(name)).buffer());
  return inputs_.back();
}

Buffer ComputeBuilder::Compute(const std::string& name, const std::vector<Expr>& shape, const PointValue& value,
                               const AxisNames& names) {
  return Add(te::Compute(shape, value, OptionsOf(name, names.spatial, shape.size())));
}

Buffer ComputeBuilder::Reduce(const std::string& name, const std::vector<Expr>& shape, const std::vector<Expr>& extents,
                              Combiner combiner, const ReducedValue& value, const AxisNames& names) {
  if (extents.empty()) return Compute(name, shape, [&](const Axes& point) { return value(point, {}); }, names);
  const std::vector<std::string> reduced_names = NamesOf(names.reduced, "k", extents.size());
  std::vector<IterVar> axis;
  Axes reduced;
  for (size_t i = 0; i < extents.size(); ++i) {
    axis.push_back(ReduceAxis({IntConst(extents[i].dtype(), 0), extents[i]}, reduced_names[i]));
    reduced.push_back(axis.back().var);
  }
  const auto reduction = [&](const Axes& point) {
    const Expr element = value(point, reduced);
    CommReducer reducer = NamedReducer(combiner, element.dtype());
    reducer.identity_element = {Identity(combiner, element.dtype())};
    return MakeReduce(reducer, {element}, axis).value().front();
  };
  return Add(te::Compute(shape, reduction, OptionsOf(name, names.spatial, shape.size())));
}

PrimFunc ComputeBuilder::Build(std::string name, const Buffer& output) const {
  std::vector<Param> params(inputs_.begin(), inputs_.end());
  params.emplace_back(output);
  std::vector<Stmt> nests;
  std::vector<Buffer> computed;
  for (const Tensor& tensor : computed_) {
    computed.push_back(tensor.buffer());
    nests.push_back(MakeNest(*tensor.op(), {tensor.buffer()}, [](const Expr& e) { return e; }));
  }
  return AssembleFunc(std::move(name), params, nests, computed, {});
}

}  // namespace lathe::te
