// Reductions over attribute `axis` (all axes where it is missing), with keepdims.
#include <algorithm>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

StatusOr<StructInfo> InferReduce(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalizeAxes(call, "axis", info.ndim));
  PrimShape shape;
  for (int64_t i = 0; i < info.ndim; ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      shape.push_back((*info.shape)[i]);
    } else if (BoolAttr(call.attrs, "keepdims", false)) {
      shape.push_back(1);
    }
  }
  return TensorResult(call, std::move(shape), info.dtype);
}

StatusOr<Buffer> ReduceAxes(te::ComputeBuilder& builder, const Call& call, const StructInfo& result,
                            te::Combiner combiner, const std::string& name, PrimExpr& count) {
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data"});
  const Buffer& data = inputs[0];
  const auto rank = static_cast<int64_t>(data->shape.size());
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalizeAxes(call, "axis", rank));
  const bool keepdims = BoolAttr(call.attrs, "keepdims", false);
  PrimShape extents;
  for (const int64_t axis : axes) {
    extents.push_back(data->shape[axis]);
    count = count * data->shape[axis];
  }
  return builder.Reduce(name, *result.As<TensorStructInfo>()->shape, extents, combiner,
                        [&](const te::Axes& point, const te::Axes& reduced) {
                          te::Axes from;
                          size_t kept = 0, gone = 0;
                          for (int64_t i = 0; i < rank; ++i) {
                            const bool is_reduced = std::binary_search(axes.begin(), axes.end(), i);
                            from.push_back(is_reduced ? reduced[gone++] : point[kept]);
                            if (!is_reduced || keepdims) ++kept;
                          }
                          return combiner == te::Combiner::kSum ? LoadWide(data, from) : Load(data, from);
                        });
}

template <te::Combiner kCombiner>
StatusOr<PrimFunc> LegalizeReduce(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  PrimExpr count = 1;
  const std::string name(call.op->kernel_name);
  ASSIGN_OR_RETURN(const Buffer out, ReduceAxes(builder, call, result, kCombiner, "T_" + name, count));
  return builder.Build(name, ConvertTo(builder, out, result.As<TensorStructInfo>()->dtype));
}

StatusOr<PrimFunc> LegalizeMean(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  PrimExpr count = 1;
  ASSIGN_OR_RETURN(const Buffer sum, ReduceAxes(builder, call, result, te::Combiner::kSum, "T_sum", count));
  const int64_t* constant = AsIntConst(count);
  const PrimExpr divisor =
      constant != nullptr ? ConstOf(sum->dtype, static_cast<double>(*constant)) : MakeCast(sum->dtype, count);
  const DataType type = result.As<TensorStructInfo>()->dtype;
  return builder.Build("mean", builder.Compute("T_divide", sum->shape, [&](const te::Axes& point) {
    return MakeCast(type, Load(sum, point) / divisor);
  }));
}

constexpr OpPatternKind kReducePattern = OpPatternKind::kCommReduce;
constexpr Op kReductionOps[] = {
    {"max", 1, kReducePattern, InferReduce, LegalizeReduce<te::Combiner::kMax>, "max"},
    {"mean", 1, kReducePattern, InferReduce, LegalizeMean, "mean"},
    {"min", 1, kReducePattern, InferReduce, LegalizeReduce<te::Combiner::kMin>, "min"},
    {"sum", 1, kReducePattern, InferReduce, LegalizeReduce<te::Combiner::kSum>, "sum"},
};

}  // namespace

std::span<const Op> ReductionOps() { return kReductionOps; }

}  // namespace lathe::relax
