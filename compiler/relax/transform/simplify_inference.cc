#include "compiler/relax/transform/simplify_inference.h"

#include <cmath>
#include <numeric>

#include "compiler/interpreter/tensor.h"
#include "compiler/relax/op.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// y = x * scale[c] + shift[c]
struct ChannelAffine {
  std::vector<double> scale, shift;
};

std::optional<ChannelAffine> ConstantAffine(const Call& norm) {
  std::vector<std::vector<double>> stats;  // gamma, beta, mean, variance
  for (size_t i = 1; i < 5; ++i) {
    const TensorData* data = AsConstant(norm.args[i]);
    if (data == nullptr) return std::nullopt;
    stats.push_back(data->ToDoubles());
  }
  const double epsilon = FloatAttr(norm.attrs, "epsilon", 1e-5);
  ChannelAffine affine;
  for (size_t c = 0; c < stats[0].size(); ++c) {
    affine.scale.push_back(stats[0][c] / std::sqrt(stats[3][c] + epsilon));
    affine.shift.push_back(stats[1][c] - stats[2][c] * affine.scale.back());
  }
  return affine;
}

Expr ConstantOf(DataType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  return MakeConstant(TensorData(dtype, shape, Tensor::FromDoubles(dtype, shape, values).data));
}

// [1, ..., C, ..., 1] that broadcasts along `axis` of a tensor with `rank` dimensions.
Expr PerChannel(DataType dtype, const std::vector<double>& values, size_t axis, size_t rank) {
  std::vector<int64_t> shape(rank, 1);
  shape[axis] = static_cast<int64_t>(values.size());
  return ConstantOf(dtype, std::move(shape), values);
}

// The data, and a mask that keeps everything.
StatusOr<Expr> WithoutDropout(const Call& call) {
  const std::optional<std::vector<int64_t>> shape = ConstantShapeOf(call.args[0].struct_info());
  if (!shape) return Unimplemented("nn.dropout of a symbolic shape");
  const std::byte kept{1};
  return MakeTuple({call.args[0], MakeConstant(TensorData::Filled(DataType::Bool(), *shape, {&kept, 1}))});
}

int64_t NumElements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

bool IsConv(const Call* call) { return call != nullptr && IsConvolution(*call); }
bool IsOp(const Call* call, std::string_view name) {
  return call != nullptr && call->op != nullptr && call->op->name == name;
}

class Simplifier {
 public:
  explicit Simplifier(const Function& func) : uses_(CountUses(func)) {
    VisitBindings(func, [&](const Binding& binding) { producers_.emplace(binding.var.get(), binding.value); });
  }

  StatusOr<Expr> Rewrite(const Binding& original, const Expr& value, BlockBuilder& builder) {
    const Call* call = value.As<Call>();
    if (IsOp(call, "nn.dropout")) return WithoutDropout(*call);
    if (IsOp(call, "divide")) return DivideOnce(original, value, builder);
    if (!IsOp(call, "nn.batch_norm")) return value;
    ASSIGN_OR_RETURN(const std::optional<Expr> folded, FoldIntoConv(*original.value.As<Call>(), *call, builder));
    if (folded) return MakeTuple({*folded, call->args[3], call->args[4]});
    ASSIGN_OR_RETURN(const Expr expanded, Expand(*call, builder));
    return MakeTuple({expanded, call->args[3], call->args[4]});
  }

 private:
  const Call* SoleProducer(const Expr& original_var) const {
    const auto uses = uses_.find(original_var.get());
    const auto producer = producers_.find(original_var.get());
    return uses == uses_.end() || uses->second != 1 || producer == producers_.end() ? nullptr
                                                                                    : producer->second.As<Call>();
  }

  // x / sqrt(v), of fewer v than x, as norms have it: x * (1 / sqrt(v)).
  StatusOr<Expr> DivideOnce(const Binding& original, const Expr& value, BlockBuilder& builder) const {
    const Call& divide = *value.As<Call>();
    const auto producer = producers_.find(original.value.As<Call>()->args[1].get());
    const auto elements = ConstantShapeOf(value.struct_info()), roots = ConstantShapeOf(divide.args[1].struct_info());
    const bool is_root = producer != producers_.end() && IsOp(producer->second.As<Call>(), "sqrt");
    if (!is_root || !elements || !roots || NumElements(*roots) >= NumElements(*elements)) return value;
    const DataType type = value.struct_info().As<TensorStructInfo>()->dtype;
    const std::string name = original.var.name() + "_factor";
    ASSIGN_OR_RETURN(const Var factor, builder.EmitCall("divide", {MakeScalar(type, 1), divide.args[1]}, {}, name));
    return MakeCall("multiply", {divide.args[0], factor});
  }

  // `original` names variables as the function had them, `norm` as they are now.
  StatusOr<std::optional<Expr>> FoldIntoConv(const Call& original, const Call& norm, BlockBuilder& builder) {
    const Call* producer = SoleProducer(original.args[0]);
    const Expr* now = builder.Lookup(norm.args[0]);
    if (producer == nullptr || now == nullptr || IntAttr(norm.attrs, "axis", 1) != 1) return std::optional<Expr>();
    std::vector<double> bias;
    if (IsOp(producer, "add")) {  // conv + constant bias
      const Call* add = now->As<Call>();
      const TensorData* constant = AsConstant(add->args[1]);
      if (constant == nullptr || !IsPerChannel(*constant, norm)) return std::optional<Expr>();
      bias = constant->ToDoubles();
      producer = SoleProducer(producer->args[0]);
      now = builder.Lookup(add->args[0]);
    }
    const Call* conv = now == nullptr ? nullptr : now->As<Call>();
    const std::optional<ChannelAffine> affine = ConstantAffine(norm);
    if (!IsConv(producer) || !IsConv(conv) || !affine) return std::optional<Expr>();
    const TensorData* weight = AsConstant(conv->args[1]);
    if (weight == nullptr || weight->shape()[0] != static_cast<int64_t>(affine->scale.size()))
      return std::optional<Expr>();
    return EmitFolded(*conv, *weight, *affine, bias, builder);
  }

  static bool IsPerChannel(const TensorData& bias, const Call& norm) {
    const int64_t channels = AsConstant(norm.args[1]) == nullptr ? -1 : AsConstant(norm.args[1])->num_elements();
    return bias.shape().size() >= 2 && bias.shape()[1] == channels && bias.num_elements() == channels;
  }

  static StatusOr<std::optional<Expr>> EmitFolded(const Call& conv, const TensorData& weight,
                                                  const ChannelAffine& affine, const std::vector<double>& bias,
                                                  BlockBuilder& builder) {
    std::vector<double> scaled = weight.ToDoubles(), shift = affine.shift;
    const size_t channels = affine.scale.size(), per_channel = channels == 0 ? 0 : scaled.size() / channels;
    for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= affine.scale[i / per_channel];
    for (size_t c = 0; c < bias.size(); ++c) shift[c] += bias[c] * affine.scale[c];
    ASSIGN_OR_RETURN(const Var out,
                     builder.EmitCall(conv.op->name, {conv.args[0], ConstantOf(weight.dtype(), weight.shape(), scaled)},
                                      conv.attrs));
    const size_t rank = static_cast<size_t>(out.struct_info().As<TensorStructInfo>()->ndim);
    ASSIGN_OR_RETURN(const Var sum, builder.EmitCall("add", {out, PerChannel(weight.dtype(), shift, 1, rank)}));
    return std::optional<Expr>(sum);
  }

  static StatusOr<Expr> Expand(const Call& norm, BlockBuilder& builder) {
    const TensorStructInfo& data = *norm.args[0].struct_info().As<TensorStructInfo>();
    const auto rank = static_cast<size_t>(data.ndim);
    const int64_t axis = IntAttr(norm.attrs, "axis", 1);
    const size_t channel_axis = axis < 0 ? rank + axis : axis;
    if (const std::optional<ChannelAffine> affine = ConstantAffine(norm)) {
      ASSIGN_OR_RETURN(
          const Var product,
          builder.EmitCall("multiply", {norm.args[0], PerChannel(data.dtype, affine->scale, channel_axis, rank)}));
      ASSIGN_OR_RETURN(const Var sum,
                       builder.EmitCall("add", {product, PerChannel(data.dtype, affine->shift, channel_axis, rank)}));
      return sum;
    }
    PrimShape shape(rank, 1);
    shape[channel_axis] = (*data.shape)[channel_axis];
    const auto spread = [&](const Expr& e) { return builder.EmitCall("reshape", {e, MakeShape(shape)}); };
    ASSIGN_OR_RETURN(
        const Var variance,
        builder.EmitCall("add", {norm.args[4], MakeScalar(data.dtype, FloatAttr(norm.attrs, "epsilon", 1e-5))}));
    ASSIGN_OR_RETURN(const Var deviation, builder.EmitCall("sqrt", {variance}));
    ASSIGN_OR_RETURN(const Var scale, builder.EmitCall("divide", {norm.args[1], deviation}));
    ASSIGN_OR_RETURN(const Var offset, builder.EmitCall("multiply", {norm.args[3], scale}));
    ASSIGN_OR_RETURN(const Var shift, builder.EmitCall("subtract", {norm.args[2], offset}));
    ASSIGN_OR_RETURN(const Var wide_scale, spread(scale));
    ASSIGN_OR_RETURN(const Var wide_shift, spread(shift));
    ASSIGN_OR_RETURN(const Var product, builder.EmitCall("multiply", {norm.args[0], wide_scale}));
    ASSIGN_OR_RETURN(const Var sum, builder.EmitCall("add", {product, wide_shift}));
    return sum;
  }

  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, Expr> producers_;
};

}  // namespace

StatusOr<IRModule> SimplifyInference(IRModule module) {
  for (Function& func : module.functions) {
    Simplifier simplifier(func);
    ASSIGN_OR_RETURN(func,
                     RewriteBindings(func, [&](const Binding& original, const Expr& value, BlockBuilder& builder) {
                       return simplifier.Rewrite(original, value, builder);
                     }));
  }
  return module;
}

}  // namespace lathe::relax
