// matmul with numpy's batch broadcasting, and dense: x [..., K] times weights [N, K], blocked [N/b, K, b] ("NK16n"), or
// in panels [N/b, K/p, b, p] ("NK16n4k"). Factors have one type, which the result has, or `out_dtype` says in which one
// they are multiplied and added up.
#include <fmt/format.h>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/layout.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// What a product of `type` by `other` is made in: what the call says, and then types may differ; else their one type.
StatusOr<DataType> ResultType(const Call& call, DataType type, DataType other) {
  const std::string name = StringAttr(call.attrs, "out_dtype", "");
  if (!name.empty()) return DataType::Parse(name);
  if (type == other) return type;
  return ArgumentError(
      call, fmt::format("factors are {} and {}; one type required, or out_dtype", type.ToString(), other.ToString()));
}
// In the type of the product's sum.
PrimExpr LoadFactor(const Buffer& buffer, const te::Axes& point, const Call& call, DataType result) {
  return call.attrs.contains("out_dtype") ? MakeCast(AccumulatorType(result), Load(buffer, point))
                                          : LoadWide(buffer, point);
}

StatusOr<StructInfo> InferDense(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo x, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const TensorStructInfo w, TensorInfo(call, 1));
  const std::string layout = StringAttr(call.attrs, "weight_layout", "");
  const int64_t block = BlockOf(layout, 'n'), parts = BlockOf(layout, 'k');
  if (x.ndim < 1 || w.ndim != 2 + (block > 0 ? 1 : 0) + (parts > 0 ? 1 : 0) ||
      !SameShape({x.shape->back()}, {parts > 0 ? (*w.shape)[1] * PrimExpr(parts) : (*w.shape)[1]})) {
    return ArgumentError(call, fmt::format("x is {} and weights are {}; [..., K] and [N, K] of one type required",
                                           ToText(x), ToText(w)));
  }
  ASSIGN_OR_RETURN(const DataType type, ResultType(call, x.dtype, w.dtype));
  PrimShape shape = *x.shape;
  shape.back() = block > 0 ? PrimExpr(IntAttr(call.attrs, "units", 0)) : (*w.shape)[0];
  return TensorResult(call, std::move(shape), type);
}

te::Axes WeightAt(const PrimExpr& column, const PrimExpr& k, const std::string& layout) {
  const int64_t columns = BlockOf(layout, 'n'), parts = BlockOf(layout, 'k');
  if (columns == 0) return {column, k};
  if (parts == 0) return {FloorDiv(column, columns), k, FloorMod(column, columns)};
  return {FloorDiv(column, columns), FloorDiv(k, parts), FloorMod(column, columns), FloorMod(k, parts)};
}

StatusOr<PrimFunc> LegalizeDense(const Call& call, const StructInfo& result) {
  const std::string layout = StringAttr(call.attrs, "weight_layout", "");
  const DataType type = result.As<TensorStructInfo>()->dtype;
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data", "weight"});
  const auto product = [&](const te::Axes& point, const te::Axes& reduced) {
    te::Axes row(point.begin(), point.end() - 1);
    row.push_back(reduced[0]);
    return LoadFactor(inputs[0], row, call, type) *
           LoadFactor(inputs[1], WeightAt(point.back(), reduced[0], layout), call, type);
  };
  const Buffer out = builder.Reduce(
      "T_matmul_NT", *result.As<TensorStructInfo>()->shape, {inputs[0]->shape.back()}, te::Combiner::kSum, product,
      {inputs[0]->shape.size() == 2 ? std::vector<std::string>{"i", "j"} : std::vector<std::string>{}, {"k"}});
  return builder.Build("dense", ConvertTo(builder, out, type));
}

StatusOr<PrimShape> BroadcastBatch(const Call& call, const PrimShape& a, const PrimShape& b) {
  const size_t batch = std::max(a.size(), b.size()) - 2;
  PrimShape shape;
  for (size_t i = 0; i < batch; ++i) {
    const auto at = [&](const PrimShape& s) {
      return i + s.size() < batch + 2 ? PrimExpr(1) : s[i + s.size() - batch - 2];
    };
    const PrimExpr x = at(a), y = at(b);
    if (!IsConstInt(x, 1) && !IsConstInt(y, 1) && !SameShape({x}, {y})) {
      return ArgumentError(call, fmt::format("batches of {} and {} do not broadcast", ToText(a), ToText(b)));
    }
    shape.push_back(IsConstInt(x, 1) ? y : x);
  }
  return shape;
}

StatusOr<StructInfo> InferMatmul(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo a, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const TensorStructInfo b, TensorInfo(call, 1));
  if (a.ndim < 2 || b.ndim < 2 || !SameShape({a.shape->back()}, {(*b.shape)[b.ndim - 2]})) {
    return ArgumentError(call, fmt::format("operands are {} and {}; [..., M, K] and [..., K, N] of one type required",
                                           ToText(a), ToText(b)));
  }
  ASSIGN_OR_RETURN(const DataType type, ResultType(call, a.dtype, b.dtype));
  ASSIGN_OR_RETURN(PrimShape shape, BroadcastBatch(call, *a.shape, *b.shape));
  shape.push_back((*a.shape)[a.ndim - 2]);
  shape.push_back(b.shape->back());
  return TensorResult(call, std::move(shape), type);
}

StatusOr<PrimFunc> LegalizeMatmul(const Call& call, const StructInfo& result) {
  const DataType type = result.As<TensorStructInfo>()->dtype;
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"A", "B"});
  const auto load = [&](const Buffer& buffer, const te::Axes& point, const PrimExpr& row, const PrimExpr& column) {
    const size_t batch = buffer->shape.size() - 2, skip = point.size() - buffer->shape.size();
    te::Axes indices;
    for (size_t i = 0; i < batch; ++i)
      indices.push_back(IsConstInt(buffer->shape[i], 1) ? PrimExpr(0) : point[skip + i]);
    indices.push_back(row);
    indices.push_back(column);
    return LoadFactor(buffer, indices, call, type);
  };
  const auto product = [&](const te::Axes& point, const te::Axes& k) {
    return load(inputs[0], point, point[point.size() - 2], k[0]) * load(inputs[1], point, k[0], point.back());
  };
  const Buffer out = builder.Reduce("matmul", *result.As<TensorStructInfo>()->shape, {inputs[0]->shape.back()},
                                    te::Combiner::kSum, product);
  return builder.Build("matmul", ConvertTo(builder, out, type));
}

constexpr Op kMatrixOps[] = {
    {"matmul", 2, OpPatternKind::kOutEWiseFusable, InferMatmul, LegalizeMatmul, "matmul"},
    {"nn.dense", 2, OpPatternKind::kOutEWiseFusable, InferDense, LegalizeDense, "dense"},
};

}  // namespace

std::span<const Op> MatrixOps() { return kMatrixOps; }

}  // namespace lathe::relax
