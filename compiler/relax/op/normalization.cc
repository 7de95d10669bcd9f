// softmax, log_softmax, layer_norm, lrn; batch_norm and dropout, which SimplifyInference takes away.
#include <fmt/format.h>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

StatusOr<StructInfo> InferSoftmax(const Call& call) {
  ASSIGN_OR_RETURN(TensorStructInfo info, TensorInfo(call, 0));
  if (!info.dtype.is_float())
    return ArgumentError(call, "argument is " + info.dtype.ToString() + ", floating point required");
  RETURN_IF_ERROR(NormalizeAxis(call, IntAttr(call.attrs, "axis", -1), info.ndim).status());
  return StructInfo(std::move(info));
}

// The steps that softmax and log_softmax share, named as TOPI names them.
class SoftmaxParts {
 public:
  SoftmaxParts(te::ComputeBuilder& builder, const Call& call)
      : builder_(builder), data_(MakeInputs(builder, call, {"data"})[0]), shape_(data_->shape) {
    const int64_t axis = IntAttr(call.attrs, "axis", -1);
    axis_ = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape_.size()) : axis);
    for (size_t i = 0; i < shape_.size(); ++i) {
      if (i != axis_) outer_.push_back(shape_[i]);
    }
  }
  Buffer MaxElement() {
    return builder_.Reduce("T_softmax_maxelem", outer_, {shape_[axis_]}, te::Combiner::kMax,
                           [&](const te::Axes& point, const te::Axes& k) { return Load(data_, Insert(point, k[0])); });
  }
  // exp(data - max): 0 for the elements that are -infinity.
  PrimExpr ExpAt(const Buffer& max, const te::Axes& point) {
    return lathe::MakeCall(AccumulatorType(data_->dtype), "exp", {WideAt(point) - LoadWide(max, Remove(point))});
  }
  Buffer SumOf(const std::function<PrimExpr(const te::Axes&)>& element) {
    return builder_.Reduce("T_softmax_expsum", outer_, {shape_[axis_]}, te::Combiner::kSum,
                           [&](const te::Axes& point, const te::Axes& k) { return element(Insert(point, k[0])); });
  }
  Buffer FirstIndex(const Buffer& max) {
    return builder_.Reduce(
        "T_first_index", outer_, {shape_[axis_]}, te::Combiner::kMin, [&](const te::Axes& point, const te::Axes& k) {
          return MakeSelect(lathe::Equal(Load(data_, Insert(point, k[0])), Load(max, point)), k[0], shape_[axis_]);
        });
  }
  PrimExpr WideAt(const te::Axes& point) const { return LoadWide(data_, point); }
  PrimExpr Position(const te::Axes& point) const { return point[axis_]; }
  te::Axes Insert(te::Axes outer, const PrimExpr& k) const {
    outer.insert(outer.begin() + static_cast<std::ptrdiff_t>(axis_), k);
    return outer;
  }
  te::Axes Remove(te::Axes point) const {
    point.erase(point.begin() + static_cast<std::ptrdiff_t>(axis_));
    return point;
  }
  const Buffer& data() const { return data_; }
  const PrimShape& shape() const { return shape_; }

 private:
  te::ComputeBuilder& builder_;
  Buffer data_;
  PrimShape shape_, outer_;
  size_t axis_ = 0;
};

StatusOr<PrimFunc> LegalizeSoftmax(const Call& call, const StructInfo&) {
  te::ComputeBuilder builder;
  SoftmaxParts parts(builder, call);
  const Buffer max = parts.MaxElement();
  const Buffer exp =
      builder.Compute("T_softmax_exp", parts.shape(), [&](const te::Axes& point) { return parts.ExpAt(max, point); });
  const Buffer sum = parts.SumOf([&](const te::Axes& point) { return Load(exp, point); });
  return builder.Build("softmax", builder.Compute("T_softmax_norm", parts.shape(), [&](const te::Axes& point) {
    // One quotient for a row: the sum is 1 at least.
    return MakeCast(parts.data()->dtype, Load(exp, point) * (ConstOf(sum->dtype, 1) / Load(sum, parts.Remove(point))));
  }));
}

StatusOr<PrimFunc> LegalizeLogSoftmax(const Call& call, const StructInfo&) {
  te::ComputeBuilder builder;
  SoftmaxParts parts(builder, call);
  const Buffer max = parts.MaxElement();
  const Buffer sum = parts.SumOf([&](const te::Axes& point) { return parts.ExpAt(max, point); });
  return builder.Build("log_softmax", builder.Compute("T_log_softmax", parts.shape(), [&](const te::Axes& point) {
    const te::Axes outer = parts.Remove(point);
    return MakeCast(parts.data()->dtype, parts.WideAt(point) - LoadWide(max, outer) -
                                             lathe::MakeCall(sum->dtype, "log", {Load(sum, outer)}));
  }));
}

// 1 at the first of the greatest elements, 0 elsewhere.
StatusOr<PrimFunc> LegalizeHardmax(const Call& call, const StructInfo&) {
  te::ComputeBuilder builder;
  SoftmaxParts parts(builder, call);
  const Buffer max = parts.MaxElement();
  const Buffer first = parts.FirstIndex(max);
  return builder.Build("hardmax", builder.Compute("T_hardmax", parts.shape(), [&](const te::Axes& point) {
    const DataType type = parts.data()->dtype;
    return MakeSelect(lathe::Equal(parts.Position(point), Load(first, parts.Remove(point))), ConstOf(type, 1),
                      ConstOf(type, 0));
  }));
}

// Data, gamma and beta; the latter have the extents of the normalized axes, which are the last ones.
StatusOr<StructInfo> InferLayerNorm(const Call& call) {
  ASSIGN_OR_RETURN(TensorStructInfo data, TensorInfo(call, 0));
  if (!data.dtype.is_float())
    return ArgumentError(call, "data is " + data.dtype.ToString() + ", floating point required");
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalizeAxes(call, "axes", data.ndim));
  if (axes.empty() || axes.front() != data.ndim - static_cast<int64_t>(axes.size()))
    return ArgumentError(call, "axes are not the last ones");
  const PrimShape normalized(data.shape->begin() + axes.front(), data.shape->end());
  for (size_t i : {1, 2}) {
    ASSIGN_OR_RETURN(const TensorStructInfo parameter, TensorInfo(call, i));
    const TensorStructInfo wanted{normalized, data.dtype, static_cast<int>(normalized.size())};
    if (ToText(parameter) != ToText(wanted))
      return ArgumentError(call, fmt::format("argument {} is {}, {} required", i, ToText(parameter), ToText(wanted)));
  }
  return StructInfo(std::move(data));
}

// (data - mean) / sqrt(variance + epsilon) * gamma + beta. The variance is the mean of squared differences: the mean of
// squares less the squared mean has no digits left where the mean is large.
StatusOr<PrimFunc> LegalizeLayerNorm(const Call& call, const StructInfo&) {
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data", "gamma", "beta"});
  const Buffer& data = inputs[0];
  const size_t num_outer = data->shape.size() - inputs[1]->shape.size();
  const PrimShape outer(data->shape.begin(), data->shape.begin() + num_outer), &inner = inputs[1]->shape;
  PrimExpr count = 1;
  for (const PrimExpr& extent : inner) count = count * extent;
  count = MakeCast(AccumulatorType(data->dtype), count);
  const auto joined = [](te::Axes point, const te::Axes& k) {
    point.insert(point.end(), k.begin(), k.end());
    return point;
  };
  const auto row = [&](const te::Axes& point) { return te::Axes(point.begin(), point.begin() + num_outer); };
  const auto element = [&](const te::Axes& point) { return te::Axes(point.begin() + num_outer, point.end()); };
  const auto mean_of = [&](const std::string& name, const std::function<PrimExpr(const te::Axes&)>& value) {
    const Buffer sum =
        builder.Reduce(name + "_sum", outer, inner, te::Combiner::kSum,
                       [&](const te::Axes& point, const te::Axes& k) { return value(joined(point, k)); });
    return builder.Compute(name, outer, [&](const te::Axes& point) { return Load(sum, point) / count; });
  };
  const Buffer mean = mean_of("T_mean", [&](const te::Axes& point) { return LoadWide(data, point); });
  const auto difference = [&](const te::Axes& point) { return LoadWide(data, point) - Load(mean, row(point)); };
  const Buffer variance =
      mean_of("T_variance", [&](const te::Axes& point) { return difference(point) * difference(point); });
  const PrimExpr epsilon = ConstOf(variance->dtype, FloatAttr(call.attrs, "epsilon", 1e-5));
  return builder.Build("layer_norm", builder.Compute("T_layer_norm", data->shape, [&](const te::Axes& point) {
    const PrimExpr scale = lathe::MakeCall(variance->dtype, "rsqrt", {Load(variance, row(point)) + epsilon});
    return MakeCast(data->dtype, difference(point) * scale * LoadWide(inputs[1], element(point)) +
                                     LoadWide(inputs[2], element(point)));
  }));
}

StatusOr<StructInfo> InferLrn(const Call& call) {
  ASSIGN_OR_RETURN(TensorStructInfo info, TensorInfo(call, 0));
  if (info.ndim < 3 || !info.dtype.is_float())
    return ArgumentError(call, fmt::format("data is {}, floats of at least 3 dimensions required", ToText(info)));
  const int64_t size = IntAttr(call.attrs, "size", 5);
  if (size < 1 || size > (1 << 20)) return ArgumentError(call, fmt::format("size is {}, 1 to 2^20 required", size));
  return StructInfo(std::move(info));
}

// base ^ exponent; the usual exponents without logarithms.
PrimExpr Power(const PrimExpr& base, double exponent) {
  const auto sqrt = [&](const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "sqrt", {x}); };
  if (exponent == 1) return base;
  if (exponent == 0.5) return sqrt(base);
  if (exponent == 0.75) return sqrt(base) * sqrt(sqrt(base));
  return lathe::MakeCall(base.dtype(), "pow", {base, ConstOf(base.dtype(), exponent)});
}

// data / (bias + alpha / size * (sum of squares over `size` channels around)) ^ beta; the window has (size - 1) / 2
// channels below.
StatusOr<PrimFunc> LegalizeLrn(const Call& call, const StructInfo&) {
  const int64_t size = IntAttr(call.attrs, "size", 5), below = (size - 1) / 2;
  const double alpha = FloatAttr(call.attrs, "alpha", 1e-4), beta = FloatAttr(call.attrs, "beta", 0.75),
               bias = FloatAttr(call.attrs, "bias", 1);
  te::ComputeBuilder builder;
  const Buffer data = MakeInputs(builder, call, {"data"})[0];
  const DataType type = data->dtype;
  std::vector<int64_t> begins(data->shape.size(), 0), ends(data->shape.size(), 0);
  begins[1] = below;
  ends[1] = size - 1 - below;
  const Buffer padded = PadBuffer(builder, data, begins, ends, ConstOf(type, 0));
  const Buffer sum = builder.Reduce("sqr_sum", data->shape, {PrimExpr(size)}, te::Combiner::kSum,
                                    [&](te::Axes point, const te::Axes& k) {
                                      point[1] = point[1] + k[0];
                                      return LoadWide(padded, point) * LoadWide(padded, point);
                                    });
  return builder.Build("lrn", builder.Compute("T_divide", data->shape, [&](const te::Axes& point) {
    const PrimExpr mean = ConstOf(sum->dtype, alpha / static_cast<double>(size)) * Load(sum, point);
    return MakeCast(type, LoadWide(data, point) / Power(ConstOf(sum->dtype, bias) + mean, beta));
  }));
}

StatusOr<StructInfo> InferBatchNorm(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo data, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(call, IntAttr(call.attrs, "axis", 1), data.ndim));
  for (size_t i = 1; i < 5; ++i) {
    ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, i));
    if (!SameShape(*info.shape, {(*data.shape)[axis]})) {
      return ArgumentError(call, fmt::format("argument {} is {}, [{}] required", i, ToText(info),
                                             ToText(PrimShape{(*data.shape)[axis]})));
    }
  }
  return StructInfo(TupleStructInfo{{data, call.args[3].struct_info(), call.args[4].struct_info()}});
}

StatusOr<StructInfo> InferDropout(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo data, TensorInfo(call, 0));
  return StructInfo(TupleStructInfo{{data, MakeTensorInfo(*data.shape, DataType::Bool())}});
}

constexpr Op kNormalizationOps[] = {
    {"nn.batch_norm", 5, OpPatternKind::kBroadcast, InferBatchNorm, nullptr, "batch_norm"},
    {"nn.dropout", 1, OpPatternKind::kElemWise, InferDropout, nullptr, "dropout"},
    {"nn.hardmax", 1, OpPatternKind::kOpaque, InferSoftmax, LegalizeHardmax, "hardmax"},
    {"nn.layer_norm", 3, OpPatternKind::kOpaque, InferLayerNorm, LegalizeLayerNorm, "layer_norm"},
    {"nn.log_softmax", 1, OpPatternKind::kOpaque, InferSoftmax, LegalizeLogSoftmax, "log_softmax"},
    {"nn.lrn", 1, OpPatternKind::kOpaque, InferLrn, LegalizeLrn, "lrn"},
    {"nn.softmax", 1, OpPatternKind::kOpaque, InferSoftmax, LegalizeSoftmax, "softmax"},
};

}  // namespace

std::span<const Op> NormalizationOps() { return kNormalizationOps; }

}  // namespace lathe::relax
