#include "compiler/topi/normalize.h"

#include <algorithm>

#include "compiler/te/reduction.h"
#include "compiler/topi/broadcast.h"
#include "compiler/topi/elementwise.h"
#include "compiler/topi/pad.h"
#include "compiler/topi/reduction.h"
#include "compiler/topi/transform.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

Expr Op(const char* name, const Expr& x) { return MakeCall(x.dtype(), name, {x}); }

// What sums of such elements are taken in: a sum of float16 ends at 65504.
DataType SumTypeOf(DataType type) { return type.bits < 32 ? DataType::Float(32) : type; }
Expr Wide(const Expr& e) { return MakeCast(SumTypeOf(e.dtype()), e); }

Tensor CastAs(const Tensor& x, DataType type) {
  return te::Compute(
      x.shape(), [&](const Point& at) { return MakeCast(type, x(at)); }, Ax("T_cast", kElementwise, x.ndim()));
}

Status CheckFloat(std::string_view op, const Tensor& x) {
  if (x.dtype().is_float()) return OkStatus();
  return OperatorError(op, "\"" + x.name() + "\" is " + x.dtype().ToString() + ", not a float; cast it first");
}

// A softmax's parts along dimension `d`.
struct AlongAxis {
  size_t d;
  Expr extent;
  Shape others;
  Point Rest(const Point& at) const {
    Point rest = at;
    rest.erase(rest.begin() + static_cast<int64_t>(d));
    return rest;
  }
  Point With(Point rest, const Expr& index) const {
    rest.insert(rest.begin() + static_cast<int64_t>(d), index);
    return rest;
  }
  Tensor Reduce(te::Combiner combiner, const std::string& name,
                const std::function<Expr(const Point& at, const Point& rest)>& value) const {
    const IterVar k = te::ReduceAxisTo(extent, "k");
    return te::Compute(others,
                       [&](const Point& rest) { return te::ReduceOver(combiner, value(With(rest, k.var), rest), {k}); },
                       {.name = name});
  }
};

StatusOr<AlongAxis> Along(std::string_view op, const Tensor& x, int64_t axis) {
  RETURN_IF_ERROR(CheckFloat(op, x));
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis(op, axis, static_cast<int64_t>(x.ndim())));
  AlongAxis along{static_cast<size_t>(dim), x.shape()[static_cast<size_t>(dim)], {}};
  along.others = along.Rest(x.shape());
  return along;
}

AttrMap AxisAttr(const AlongAxis& along) { return {{"axis", static_cast<int64_t>(along.d)}}; }

// Which dimensions a norm works over.
struct Norm {
  std::vector<int64_t> axes;
  std::vector<IterVar> iters;
  Shape others;
  Expr count;  // Of the elements in one mean, in the type of their sum.
  bool Has(size_t i) const { return std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end(); }
  Point Rest(const Point& at) const { return Pick(at, false); }
  Point Inner(const Point& at) const { return Pick(at, true); }
  Point Pick(const Point& at, bool inner) const {
    Point picked;
    for (size_t i = 0; i < at.size(); ++i) {
      if (Has(i) == inner) picked.push_back(at[i]);
    }
    return picked;
  }
  Point Element(const Point& rest, size_t ndim) const {
    Point at;
    size_t outer = 0, inner = 0;
    for (size_t i = 0; i < ndim; ++i) at.push_back(Has(i) ? Expr(iters[inner++].var) : rest[outer++]);
    return at;
  }
};

StatusOr<Norm> PlanNorm(std::string_view op, const Tensor& x, const std::vector<int64_t>& axes) {
  RETURN_IF_ERROR(CheckFloat(op, x));
  if (x.ndim() == 0 || axes.empty()) return OperatorError(op, "no axes to take the mean over");
  Norm norm{{}, {}, {}, 1};
  ASSIGN_OR_RETURN(norm.axes, NormalizeAxes(op, axes, static_cast<int64_t>(x.ndim())));
  const DataType type = SumTypeOf(x.dtype());
  Expr count = NumberOf(type, 1);
  for (size_t i = 0; i < x.ndim(); ++i) {
    const Expr& extent = x.shape()[i];
    if (!norm.Has(i)) {
      norm.others.push_back(extent);
      continue;
    }
    norm.iters.push_back(te::ReduceAxisTo(extent, "k" + std::to_string(i)));
    const int64_t* number = AsIntConst(extent);
    count = count * (number != nullptr ? NumberOf(type, static_cast<double>(*number)) : MakeCast(type, extent));
  }
  norm.count = count;
  return norm;
}

Tensor MeanPart(const Norm& norm, const std::string& name, size_t ndim,
                const std::function<Expr(const Point&, const Point&)>& value) {
  return te::Compute(
      norm.others,
      [&](const Point& rest) {
        return te::ReduceOver(te::Combiner::kSum, value(norm.Element(rest, ndim), rest), norm.iters);
      },
      Ax(name, kCommReduce, norm.others.size()));
}

// The sums of x and of its squares in one pass.
std::vector<Tensor> SumsAndSquares(const Norm& norm, const Tensor& x, const std::string& name) {
  const DataType type = SumTypeOf(x.dtype());
  const CommReducer reducer =
      te::MakeReducer(
          {type, type}, [](const Point& a, const Point& b) { return Point{a[0] + b[0], a[1] + b[1]}; },
          [](const std::vector<DataType>& types) { return Point{NumberOf(types[0], 0), NumberOf(types[1], 0)}; })
          .value();
  return te::ComputeSeveral(
      norm.others,
      [&](const Point& rest) {
        const Expr e = Wide(x(norm.Element(rest, x.ndim())));
        return te::MakeReduce(reducer, {e, e * e}, norm.iters).value();
      },
      Ax(name, kCommReduceIdx, norm.others.size()));
}

// (e - mean) * rsqrt(mean of squares - mean^2 + epsilon), in the type of the sums
Expr Normalized(const Norm& norm, const Expr& e, const std::vector<Tensor>& sums, const Point& rest, double epsilon) {
  const Expr mean = sums[0](rest) / norm.count;
  const Expr variance = sums[1](rest) / norm.count - mean * mean;
  return (Wide(e) - mean) * Op("rsqrt", variance + NumberOf(mean.dtype(), epsilon));
}

Status CheckPerChannel(std::string_view op, const Tensor& x, int64_t axis, const std::vector<Tensor>& parameters) {
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis(op, axis, static_cast<int64_t>(x.ndim())));
  for (const Tensor& p : parameters) {
    RETURN_IF_ERROR(CheckNdim(op, "parameter", p, 1));
    if (p.dtype() != x.dtype() || !MayEqual(p.shape()[0], x.shape()[static_cast<size_t>(dim)]))
      return OperatorError(
          op, "parameter \"" + p.name() + "\" has another type than the data or not one element per channel");
  }
  return OkStatus();
}

StatusOr<Tensor> Both(std::string_view op, const Operand& a, const Operand& b) {
  ASSIGN_OR_RETURN(const Operand result, Binary(op, a, b));
  return std::get<Tensor>(result);
}

}  // namespace

StatusOr<Tensor> Softmax(const Tensor& x, int64_t axis) {
  ASSIGN_OR_RETURN(const AlongAxis along, Along("nn.softmax", x, axis));
  const Tensor greatest =
      along.Reduce(te::Combiner::kMax, "T_softmax_maxelem", [&](const Point& at, const Point&) { return x(at); });
  const Tensor power =
      te::Compute(x.shape(), [&](const Point& at) { return Op("exp", x(at) - greatest(along.Rest(at))); },
                  {.name = "T_softmax_exp"});
  const Tensor sum =
      along.Reduce(te::Combiner::kSum, "T_softmax_expsum", [&](const Point& at, const Point&) { return power(at); });
  return te::Compute(x.shape(), [&](const Point& at) { return power(at) / sum(along.Rest(at)); },
                     {.name = "T_softmax_norm", .tag = "softmax_output", .attrs = AxisAttr(along)});
}

StatusOr<Tensor> LogSoftmax(const Tensor& x, int64_t axis) {
  ASSIGN_OR_RETURN(const AlongAxis along, Along("nn.log_softmax", x, axis));
  const Tensor greatest =
      along.Reduce(te::Combiner::kMax, "T_softmax_maxelem", [&](const Point& at, const Point&) { return x(at); });
  const Tensor sum = along.Reduce(te::Combiner::kSum, "compute", [&](const Point& at, const Point& rest) {
    return Op("exp", x(at) - greatest(rest));
  });
  return te::Compute(x.shape(),
                     [&](const Point& at) {
                       const Point rest = along.Rest(at);
                       return x(at) - greatest(rest) - Op("log", sum(rest));
                     },
                     {.name = "compute", .tag = "log_softmax_output", .attrs = AxisAttr(along)});
}

StatusOr<Tensor> BatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                           const Tensor& variance, int64_t axis, double epsilon, bool center, bool scale) {
  RETURN_IF_ERROR(CheckFloat("nn.batch_norm", x));
  RETURN_IF_ERROR(CheckPerChannel("nn.batch_norm", x, axis, {gamma, beta, mean, variance}));
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("nn.batch_norm", axis, static_cast<int64_t>(x.ndim())));
  Shape shape(x.ndim(), 1);
  shape[static_cast<size_t>(dim)] = x.shape()[static_cast<size_t>(dim)];
  ASSIGN_OR_RETURN(const Tensor m, Reshape(mean, shape));
  ASSIGN_OR_RETURN(const Tensor centred, Both("subtract", x, m));
  ASSIGN_OR_RETURN(const Tensor v, Reshape(variance, shape));
  ASSIGN_OR_RETURN(const Tensor raised, Both("add", v, NumberOf(x.dtype(), epsilon)));
  ASSIGN_OR_RETURN(const Tensor deviation, Unary("sqrt", raised));
  ASSIGN_OR_RETURN(Tensor result, Both("divide", centred, deviation));
  if (scale) {
    ASSIGN_OR_RETURN(const Tensor g, Reshape(gamma, shape));
    ASSIGN_OR_RETURN(result, Both("multiply", result, g));
  }
  if (center) {
    ASSIGN_OR_RETURN(const Tensor b, Reshape(beta, shape));
    ASSIGN_OR_RETURN(result, Both("add", result, b));
  }
  return result;
}

StatusOr<Tensor> LayerNorm(const Tensor& x, const Tensor& gamma, std::optional<Tensor> beta,
                           const std::vector<int64_t>& axes, double epsilon) {
  ASSIGN_OR_RETURN(const Norm norm, PlanNorm("nn.layer_norm", x, axes));
  RETURN_IF_ERROR(CheckNdim("nn.layer_norm", "gamma", gamma, norm.axes.size()));
  if (beta) RETURN_IF_ERROR(CheckNdim("nn.layer_norm", "beta", *beta, norm.axes.size()));
  const Tensor sum =
      MeanPart(norm, x.name() + "_sum", x.ndim(), [&](const Point& at, const Point&) { return Wide(x(at)); });
  const Tensor mean = te::Compute(
      norm.others, [&](const Point& rest) { return sum(rest) / norm.count; },
      Ax(x.name() + "_mean", kInjective, norm.others.size()));
  const Tensor squares = MeanPart(norm, x.name() + "_var_sum", x.ndim(), [&](const Point& at, const Point& rest) {
    return (Wide(x(at)) - mean(rest)) * (Wide(x(at)) - mean(rest));
  });
  return te::Compute(
      x.shape(),
      [&](const Point& at) {
        const Point rest = norm.Rest(at);
        const Expr variance = squares(rest) / norm.count;
        const Expr unit = (Wide(x(at)) - mean(rest)) * Op("rsqrt", variance + NumberOf(mean.dtype(), epsilon));
        const Expr scaled = MakeCast(x.dtype(), unit) * gamma(norm.Inner(at));
        return beta ? scaled + (*beta)(norm.Inner(at)) : scaled;
      },
      Ax("T_layer_norm", kInjective, x.ndim()));
}

StatusOr<Tensor> InstanceNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, int64_t channel_axis,
                              const std::vector<int64_t>& axes, double epsilon) {
  ASSIGN_OR_RETURN(const Norm norm, PlanNorm("nn.instance_norm", x, axes));
  RETURN_IF_ERROR(CheckPerChannel("nn.instance_norm", x, channel_axis, {gamma, beta}));
  ASSIGN_OR_RETURN(const int64_t c, NormalizeAxis("nn.instance_norm", channel_axis, static_cast<int64_t>(x.ndim())));
  const std::vector<Tensor> sums = SumsAndSquares(norm, x, x.name() + "_red_temp");
  return te::Compute(
      x.shape(),
      [&](const Point& at) {
        const Expr& channel = at[static_cast<size_t>(c)];
        const Expr unit = Normalized(norm, x(at), sums, norm.Rest(at), epsilon);
        return MakeCast(x.dtype(), unit) * gamma({channel}) + beta({channel});
      },
      Ax("T_instance_norm", kInjective, x.ndim()));
}

StatusOr<Tensor> GroupNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, int64_t num_groups,
                           int64_t channel_axis, const std::vector<int64_t>& axes, double epsilon) {
  constexpr const char* kOp = "nn.group_norm";
  RETURN_IF_ERROR(CheckPerChannel(kOp, x, channel_axis, {gamma, beta}));
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis(kOp, channel_axis, static_cast<int64_t>(x.ndim())));
  const size_t c = static_cast<size_t>(dim);
  const int64_t* channels = AsIntConst(x.shape()[c]);
  if (num_groups < 1 || channels == nullptr || *channels % num_groups != 0)
    return OperatorError(kOp, std::to_string(num_groups) + " groups do not divide the channels");
  Shape shape = x.shape();
  shape[c] = Expr(*channels / num_groups);
  shape.insert(shape.begin() + dim, Expr(num_groups));
  std::vector<int64_t> inner = {dim + 1};
  ASSIGN_OR_RETURN(const std::vector<int64_t> given, NormalizeAxes(kOp, axes, static_cast<int64_t>(x.ndim())));
  for (const int64_t axis : given) inner.push_back(axis < dim ? axis : axis + 1);
  ASSIGN_OR_RETURN(Tensor grouped, Reshape(x, shape));
  if (SumTypeOf(x.dtype()) != x.dtype()) grouped = CastAs(grouped, SumTypeOf(x.dtype()));
  ASSIGN_OR_RETURN(const Norm norm, PlanNorm(kOp, grouped, inner));
  const std::vector<Tensor> sums = SumsAndSquares(norm, grouped, x.name() + "_red_temp");
  ASSIGN_OR_RETURN(const Tensor g, Reshape(gamma, {shape[c], shape[c + 1]}));
  ASSIGN_OR_RETURN(const Tensor b, Reshape(beta, {shape[c], shape[c + 1]}));
  const Tensor result = te::Compute(
      shape,
      [&](const Point& at) {
        const Point channel = {at[c], at[c + 1]};
        const Expr unit = Normalized(norm, grouped(at), sums, norm.Rest(at), epsilon);
        return MakeCast(x.dtype(), unit) * g(channel) + b(channel);
      },
      Ax("T_group_norm", kInjective, shape.size()));
  return Reshape(result, x.shape());
}

StatusOr<Tensor> RmsNorm(const Tensor& x, const Tensor& weight, const std::vector<int64_t>& axes, double epsilon) {
  RETURN_IF_ERROR(CheckFloat("nn.rms_norm", x));
  const Tensor wide = CastAs(x, DataType::Float(32));
  ASSIGN_OR_RETURN(const Norm norm, PlanNorm("nn.rms_norm", wide, axes));
  RETURN_IF_ERROR(CheckNdim("nn.rms_norm", "weight", weight, norm.axes.size()));
  ASSIGN_OR_RETURN(const Tensor square, Both("multiply", wide, wide));
  ASSIGN_OR_RETURN(const Tensor sum, ReduceAlong("nn.rms_norm", te::Combiner::kSum, square, norm.axes, false));
  const Tensor factor = te::Compute(
      norm.others,
      [&](const Point& rest) { return Op("rsqrt", sum(rest) / norm.count + NumberOf(DataType::Float(32), epsilon)); },
      Ax("rsqrt", kInjective, norm.others.size()));
  const Tensor scale = CastAs(weight, DataType::Float(32));
  const Tensor result = te::Compute(
      x.shape(), [&](const Point& at) { return factor(norm.Rest(at)) * wide(at) * scale(norm.Inner(at)); },
      Ax("T_rms_norm", kInjective, x.ndim()));
  return CastAs(result, x.dtype());
}

StatusOr<Tensor> LocalResponseNorm(const Tensor& x, int64_t size, int64_t axis, float alpha, float beta, float bias) {
  RETURN_IF_ERROR(CheckFloat("nn.lrn", x));
  RETURN_IF_ERROR(CheckNdim("nn.lrn", "data", x, 4));
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("nn.lrn", axis, 4));
  if (size < 1 || size % 2 == 0) return OperatorError("nn.lrn", "the size is no positive odd number");
  const size_t d = static_cast<size_t>(dim);
  std::vector<int64_t> border(4, 0);
  border[d] = size / 2;
  ASSIGN_OR_RETURN(const Tensor padded, Pad(x, border, border, std::nullopt, Ax("pad_data", kInjective, 4)));
  const IterVar k = te::ReduceAxis({0, size}, "rxs");
  const Tensor sum = te::Compute(
      x.shape(),
      [&](Point at) {
        at[d] = at[d] + k.var;
        return te::ReduceOver(te::Combiner::kSum, padded(at) * padded(at), {k});
      },
      Ax("tensor", kCommReduce, 4));
  const auto number = [&](double value) { return NumberOf(x.dtype(), value); };
  const Tensor scale = te::Compute(
      x.shape(),
      [&](const Point& at) {
        const Expr base = number(bias) + number(alpha) * sum(at) / number(static_cast<double>(size));
        return MakeCall(x.dtype(), "pow", {base, number(beta)});
      },
      Ax("tensor", kElementwise, 4));
  return Both("divide", x, scale);
}

}  // namespace lathe::topi
