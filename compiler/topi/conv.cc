#include "compiler/topi/conv.h"

#include <algorithm>

#include "compiler/te/reduction.h"
#include "compiler/topi/pad.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

struct Sides {
  std::vector<int64_t> before, after;
};

std::string OneOf(size_t dim) { return std::string("DHW").substr(3 - dim); }

StatusOr<std::vector<int64_t>> PerDim(std::string_view op, const char* what, const std::vector<int64_t>& given,
                                      size_t dim) {
  std::vector<int64_t> all = given.empty() ? std::vector<int64_t>{1} : given;
  if (all.size() == 1) all.resize(dim, all[0]);
  if (all.size() == dim && std::all_of(all.begin(), all.end(), [](int64_t n) { return n >= 1; })) return all;
  return OperatorError(op, std::string(what) + ": expected 1 or " + std::to_string(dim) + " numbers of at least 1");
}

// `windows` are the extents of the kernel with its dilation.
StatusOr<Sides> SidesOf(std::string_view op, const Padding& padding, const std::vector<int64_t>& windows) {
  const size_t dim = windows.size();
  Sides sides{std::vector<int64_t>(dim, 0), std::vector<int64_t>(dim, 0)};
  if (const std::string* rule = std::get_if<std::string>(&padding)) {
    if (*rule != "VALID" && *rule != "SAME")
      return OperatorError(op, "padding: no rule \"" + *rule + "\"; choose \"VALID\", \"SAME\" or numbers");
    for (size_t i = 0; i < dim && *rule == "SAME"; ++i) {
      sides.before[i] = windows[i] / 2;
      sides.after[i] = (windows[i] - 1) / 2;
    }
    return sides;
  }
  std::vector<int64_t> all = std::get<std::vector<int64_t>>(padding);
  if (all.empty()) all = {0};
  if (all.size() == 1) all.resize(dim, all[0]);
  if (all.size() == dim) all.insert(all.end(), all.begin(), all.end());
  if (all.size() != 2 * dim || std::any_of(all.begin(), all.end(), [](int64_t n) { return n < 0; }))
    return OperatorError(op, "padding: expected 1, " + std::to_string(dim) + " or " + std::to_string(2 * dim) +
                                 " numbers that are not negative");
  const auto middle = all.begin() + static_cast<int64_t>(dim);
  return Sides{{all.begin(), middle}, {middle, all.end()}};
}

// Where a layout has its letters.
struct Places {
  size_t batch, channel;
  std::vector<size_t> spatial;
};

StatusOr<Places> PlacesOf(std::string_view op, const std::string& layout, const std::string& letters, size_t dim) {
  Places places{layout.find(letters[0]), layout.find(letters[1]), {}};
  for (const char c : OneOf(dim)) places.spatial.push_back(layout.find(c));
  std::string sorted = layout, wanted = letters + OneOf(dim);
  std::sort(sorted.begin(), sorted.end());
  std::sort(wanted.begin(), wanted.end());
  if (sorted == wanted) return places;
  return OperatorError(op, "layout \"" + layout + "\" is no order of the letters " + letters + OneOf(dim));
}

std::string DefaultKernelLayout(const std::string& data_layout, size_t dim) {
  if (data_layout == "NHWC") return "HWIO";
  if (data_layout.ends_with("N")) return OneOf(dim) + "IO";
  return data_layout.ends_with("C") ? OneOf(dim) + "IO" : "OI" + OneOf(dim);
}

// A convolution whose options are checked.
struct ConvPlan {
  size_t dim;
  Places data, kernel;
  std::vector<int64_t> strides, dilation, windows;
  Sides sides;
  std::string op, data_layout, kernel_layout;
  DataType type;
};

StatusOr<std::vector<int64_t>> KernelWindows(std::string_view op, const Tensor& kernel,
                                             const std::vector<size_t>& places, const std::vector<int64_t>& dilation) {
  std::vector<int64_t> windows;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t* extent = AsIntConst(kernel.shape()[places[i]]);
    if (extent == nullptr || *extent < 1) return OperatorError(op, "an extent of the kernel is no positive number");
    windows.push_back((*extent - 1) * dilation[i] + 1);
  }
  return windows;
}

StatusOr<ConvPlan> PlanConv(const Tensor& data, const Tensor& kernel, const ConvOptions& options) {
  if (data.ndim() < 3 || data.ndim() > 5)
    return OperatorError(
        "nn.conv", "data \"" + data.name() + "\" has " + std::to_string(data.ndim()) + " dimensions, expected 3 to 5");
  ConvPlan plan{.dim = data.ndim() - 2};
  plan.op = "nn.conv" + std::to_string(plan.dim) + "d";
  RETURN_IF_ERROR(CheckNdim(plan.op, "kernel", kernel, data.ndim()));
  plan.data_layout = options.data_layout.empty() ? "NC" + OneOf(plan.dim) : options.data_layout;
  plan.kernel_layout =
      options.kernel_layout.empty() ? DefaultKernelLayout(plan.data_layout, plan.dim) : options.kernel_layout;
  ASSIGN_OR_RETURN(plan.data, PlacesOf(plan.op, plan.data_layout, "NC", plan.dim));
  ASSIGN_OR_RETURN(plan.kernel, PlacesOf(plan.op, plan.kernel_layout, "OI", plan.dim));
  ASSIGN_OR_RETURN(plan.strides, PerDim(plan.op, "strides", options.strides, plan.dim));
  ASSIGN_OR_RETURN(plan.dilation, PerDim(plan.op, "dilation", options.dilation, plan.dim));
  ASSIGN_OR_RETURN(plan.windows, KernelWindows(plan.op, kernel, plan.kernel.spatial, plan.dilation));
  ASSIGN_OR_RETURN(plan.sides, SidesOf(plan.op, options.padding, plan.windows));
  plan.type = options.out_dtype.value_or(data.dtype());
  return plan;
}

Status CheckChannels(const ConvPlan& plan, const Tensor& data, const Tensor& kernel, int64_t groups) {
  if (groups < 1) return OperatorError(plan.op, "the number of groups is " + std::to_string(groups));
  const Expr &in = data.shape()[plan.data.channel], &per_group = kernel.shape()[plan.kernel.channel];
  const Expr& out = kernel.shape()[plan.kernel.batch];
  if (!MayEqual(in, per_group * Expr(groups)))
    return OperatorError(plan.op, "data has " + std::to_string(*AsIntConst(in)) + " channels, the kernel " +
                                      std::to_string(*AsIntConst(per_group)) + " for each of " +
                                      std::to_string(groups) + " groups");
  if (AsIntConst(out) != nullptr && *AsIntConst(out) % groups != 0)
    return OperatorError(plan.op, std::to_string(groups) + " groups do not divide " + std::to_string(*AsIntConst(out)) +
                                      " channels of the result");
  return OkStatus();
}

Expr OutExtent(const Expr& in, int64_t sides, int64_t window, int64_t stride) {
  return FloorDiv(in + Expr(sides - window), stride) + Expr(1);
}

Status CheckFits(std::string_view op, const Expr& out) {
  if (AsIntConst(out) == nullptr || *AsIntConst(out) >= 1) return OkStatus();
  return OperatorError(op, "the kernel is larger than the padded data");
}

Sides AtPlaces(const Sides& sides, const std::vector<size_t>& places, size_t ndim) {
  Sides all{std::vector<int64_t>(ndim, 0), std::vector<int64_t>(ndim, 0)};
  for (size_t i = 0; i < places.size(); ++i) {
    all.before[places[i]] = sides.before[i];
    all.after[places[i]] = sides.after[i];
  }
  return all;
}

StatusOr<Tensor> PadData(const Tensor& data, const ConvPlan& plan, const std::string& name) {
  const Sides sides = AtPlaces(plan.sides, plan.data.spatial, data.ndim());
  return Pad(data, sides.before, sides.after, std::nullopt, {.name = name});
}

Expr As(DataType type, const Expr& e) { return e.dtype() == type ? e : MakeCast(type, e); }

// Reduction axes in the order of the kernel's layout: the channel and a window's dimensions.
struct ConvAxes {
  IterVar channel;
  std::vector<IterVar> window;
  std::vector<IterVar> ordered;
};

ConvAxes AxesOf(const ConvPlan& plan, const Tensor& kernel) {
  constexpr const char* kNames[] = {"ry", "rx", "rz"};
  ConvAxes axes{te::ReduceAxisTo(kernel.shape()[plan.kernel.channel], "rc"), {}, {}};
  for (size_t i = 0; i < plan.dim; ++i)
    axes.window.push_back(te::ReduceAxisTo(kernel.shape()[plan.kernel.spatial[i]], kNames[i]));
  for (size_t place = 0; place < kernel.ndim(); ++place) {
    if (place == plan.kernel.channel) axes.ordered.push_back(axes.channel);
    for (size_t i = 0; i < plan.dim; ++i) {
      if (place == plan.kernel.spatial[i]) axes.ordered.push_back(axes.window[i]);
    }
  }
  return axes;
}

Expr ConvElement(const ConvPlan& plan, const Tensor& padded, const Tensor& kernel, int64_t groups, const ConvAxes& axes,
                 const Point& at) {
  Point d(padded.ndim(), 0), w(kernel.ndim(), 0);
  const Expr out = at[plan.data.channel];
  const Expr group = FloorDiv(out, FloorDiv(kernel.shape()[plan.kernel.batch], groups));
  d[plan.data.batch] = at[plan.data.batch];
  d[plan.data.channel] =
      groups == 1 ? Expr(axes.channel.var) : group * kernel.shape()[plan.kernel.channel] + axes.channel.var;
  w[plan.kernel.batch] = out;
  w[plan.kernel.channel] = axes.channel.var;
  for (size_t i = 0; i < plan.dim; ++i) {
    d[plan.data.spatial[i]] =
        at[plan.data.spatial[i]] * Expr(plan.strides[i]) + axes.window[i].var * Expr(plan.dilation[i]);
    w[plan.kernel.spatial[i]] = axes.window[i].var;
  }
  return te::ReduceOver(te::Combiner::kSum, As(plan.type, padded(d)) * As(plan.type, kernel(w)), axes.ordered);
}

std::vector<std::string> LoopNames(const ConvPlan& plan) {
  constexpr const char* kSpatial[] = {"yy", "xx", "zz"};
  std::vector<std::string> names(plan.dim + 2);
  names[plan.data.batch] = "nn";
  names[plan.data.channel] = "ff";
  for (size_t i = 0; i < plan.dim; ++i) names[plan.data.spatial[i]] = kSpatial[i];
  return names;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

StatusOr<Shape> ConvShape(const ConvPlan& plan, const Tensor& data, const Expr& channels) {
  Shape shape = data.shape();
  shape[plan.data.channel] = channels;
  for (size_t i = 0; i < plan.dim; ++i) {
    Expr& extent = shape[plan.data.spatial[i]];
    extent = OutExtent(extent, plan.sides.before[i] + plan.sides.after[i], plan.windows[i], plan.strides[i]);
    RETURN_IF_ERROR(CheckFits(plan.op, extent));
  }
  return shape;
}

}  // namespace

StatusOr<Tensor> Conv(const Tensor& data, const Tensor& kernel, const ConvOptions& options) {
  ASSIGN_OR_RETURN(const ConvPlan plan, PlanConv(data, kernel, options));
  RETURN_IF_ERROR(CheckChannels(plan, data, kernel, options.groups));
  ASSIGN_OR_RETURN(const Shape shape, ConvShape(plan, data, kernel.shape()[plan.kernel.batch]));
  ASSIGN_OR_RETURN(const Tensor padded, PadData(data, plan, "pad_temp"));
  const ConvAxes axes = AxesOf(plan, kernel);
  const std::string name =
      (options.groups > 1 ? "group_conv" : "conv") + std::to_string(plan.dim) + "d_" + Lower(plan.data_layout);
  return te::Compute(shape,
                     [&](const Point& at) { return ConvElement(plan, padded, kernel, options.groups, axes, at); },
                     {.name = name,
                      .tag = name,
                      .attrs = {},
                      .axis_names = LoopNames(plan),
                      .layout_free = options.is_kernel_layout_free ? std::vector{kernel} : std::vector<Tensor>{}});
}

StatusOr<Tensor> DepthwiseConv2d(const Tensor& data, const Tensor& kernel, const ConvOptions& options) {
  const bool is_nchw = options.data_layout.empty() || options.data_layout == "NCHW";
  if (!is_nchw && options.data_layout != "NHWC")
    return OperatorError("nn.depthwise_conv2d", "no layout \"" + options.data_layout + "\"; choose NCHW or NHWC");
  RETURN_IF_ERROR(CheckNdim("nn.depthwise_conv2d", "data", data, 4));
  ConvOptions plain = options;
  plain.kernel_layout = is_nchw ? "OIHW" : "HWOI";  // O counts channels, I what each of them becomes.
  ASSIGN_OR_RETURN(ConvPlan plan, PlanConv(data, kernel, plain));
  plan.op = "nn.depthwise_conv2d";
  const Expr &channels = kernel.shape()[plan.kernel.batch], &multiplier = kernel.shape()[plan.kernel.channel];
  if (!MayEqual(data.shape()[plan.data.channel], channels))
    return OperatorError(plan.op, "data and kernel have different numbers of channels");
  ASSIGN_OR_RETURN(const Shape shape, ConvShape(plan, data, channels * multiplier));
  ASSIGN_OR_RETURN(const Tensor padded, PadData(data, plan, "PaddedInput"));
  const IterVar di = te::ReduceAxisTo(kernel.shape()[plan.kernel.spatial[0]], "di");
  const IterVar dj = te::ReduceAxisTo(kernel.shape()[plan.kernel.spatial[1]], "dj");
  const auto element = [&](const Point& at) {
    Point d = at, w(4, 0);
    const Expr out = at[plan.data.channel];
    d[plan.data.channel] = w[plan.kernel.batch] = FloorDiv(out, multiplier);
    w[plan.kernel.channel] = FloorMod(out, multiplier);
    for (size_t i = 0; i < 2; ++i) {
      const Expr offset = i == 0 ? di.var : dj.var;
      Expr& place = d[plan.data.spatial[i]];
      place = place * Expr(plan.strides[i]) + offset * Expr(plan.dilation[i]);
      w[plan.kernel.spatial[i]] = offset;
    }
    return te::ReduceOver(te::Combiner::kSum, As(plan.type, padded(d)) * As(plan.type, kernel(w)), {di, dj});
  };
  const std::vector<std::string> names =
      is_nchw ? std::vector<std::string>{"b", "c", "i", "j"} : std::vector<std::string>{"b", "i", "j", "c"};
  return te::Compute(shape, element,
                     {.name = "DepthwiseConv2d",
                      .tag = is_nchw ? "depthwise_conv2d_nchw" : "depthwise_conv2d_nhwc",
                      .attrs = {},
                      .axis_names = names,
                      .layout_free = {}});
}

StatusOr<Tensor> Conv2dNCHWc(const Tensor& data, const Tensor& kernel, const ConvOptions& options) {
  constexpr const char* kOp = "nn.conv2d_NCHWc";
  RETURN_IF_ERROR(CheckNdim(kOp, "data", data, 5));
  RETURN_IF_ERROR(CheckNdim(kOp, "kernel", kernel, 6));
  const Shape &d = data.shape(), &w = kernel.shape();
  if (!MayEqual(d[1] * d[4], w[1] * w[4]))
    return OperatorError(kOp, "data and kernel have different numbers of channels");
  if (AsIntConst(d[4]) == nullptr || AsIntConst(w[4]) == nullptr || *AsIntConst(d[4]) != *AsIntConst(w[4]))
    return OperatorError(kOp, "data and kernel have channel blocks of different sizes");
  ASSIGN_OR_RETURN(const std::vector<int64_t> strides, PerDim(kOp, "strides", options.strides, 2));
  ASSIGN_OR_RETURN(const std::vector<int64_t> dilation, PerDim(kOp, "dilation", options.dilation, 2));
  ASSIGN_OR_RETURN(const std::vector<int64_t> windows, KernelWindows(kOp, kernel, {2, 3}, dilation));
  ASSIGN_OR_RETURN(const Sides sides, SidesOf(kOp, options.padding, windows));
  Shape shape = {d[0], w[0], d[2], d[3], w[5]};
  for (size_t i = 0; i < 2; ++i) {
    shape[2 + i] = OutExtent(d[2 + i], sides.before[i] + sides.after[i], windows[i], strides[i]);
    RETURN_IF_ERROR(CheckFits(kOp, shape[2 + i]));
  }
  const Sides all = AtPlaces(sides, {2, 3}, 5);
  ASSIGN_OR_RETURN(const Tensor padded, Pad(data, all.before, all.after, std::nullopt, {.name = "data_pad"}));
  const IterVar ic = te::ReduceAxisTo(d[1] * d[4], "ic"), kh = te::ReduceAxisTo(w[2], "kh"),
                kw = te::ReduceAxisTo(w[3], "kw");
  const DataType type = options.out_dtype.value_or(data.dtype());
  const auto element = [&](const Point& at) {
    const Expr outer = FloorDiv(ic.var, d[4]), inner = FloorMod(ic.var, d[4]);
    const Expr y = at[2] * Expr(strides[0]) + kh.var * Expr(dilation[0]);
    const Expr x = at[3] * Expr(strides[1]) + kw.var * Expr(dilation[1]);
    return te::ReduceOver(
        te::Combiner::kSum,
        As(type, padded({at[0], outer, y, x, inner})) * As(type, kernel({at[1], outer, kh.var, kw.var, inner, at[4]})),
        {ic, kh, kw});
  };
  return te::Compute(shape, element,
                     {.name = "conv2d_NCHWc",
                      .tag = "conv2d_NCHWc",
                      .attrs = {},
                      .axis_names = {"n", "oc_chunk", "oh", "ow", "oc_block"},
                      .layout_free = {}});
}

namespace {

Status CheckTransposed(const ConvPlan& plan, const Tensor& data, const Tensor& kernel, int64_t groups,
                       const std::vector<int64_t>& output_padding) {
  const Expr &in = data.shape()[1], &kernel_in = kernel.shape()[0];
  if (!MayEqual(in, kernel_in)) return OperatorError(plan.op, "data and kernel have different numbers of channels");
  if (groups < 1 || (AsIntConst(in) != nullptr && *AsIntConst(in) % groups != 0))
    return OperatorError(plan.op, "the number of groups does not divide the channels of data");
  if (output_padding.size() != plan.dim) return OperatorError(plan.op, "expected an output padding per dimension");
  for (size_t i = 0; i < plan.dim; ++i) {
    if (output_padding[i] < 0 || output_padding[i] >= plan.strides[i])
      return OperatorError(plan.op, "an output padding is not less than its stride");
    if (plan.sides.before[i] >= plan.windows[i] || plan.sides.after[i] >= plan.windows[i])
      return OperatorError(plan.op, "a padding is not less than the extent of the kernel");
  }
  return OkStatus();
}

// The kernel with result channels before data channels, its dimensions reversed.
Tensor TurnKernel(const Tensor& kernel, int64_t groups) {
  Shape shape = kernel.shape();
  std::swap(shape[0], shape[1]);
  const std::vector<std::string> names =
      groups == 1 ? std::vector<std::string>{"o", "i"} : std::vector<std::string>{"i", "o"};
  return te::Compute(shape,
                     [&](Point at) {
                       std::swap(at[0], at[1]);
                       for (size_t i = 2; i < at.size(); ++i) at[i] = kernel.shape()[i] - Expr(1) - at[i];
                       return kernel(at);
                     },
                     {.name = "kernel_transform", .tag = "", .attrs = {}, .axis_names = names, .layout_free = {}});
}

}  // namespace

StatusOr<Tensor> ConvTranspose(const Tensor& data, const Tensor& kernel, const ConvOptions& options,
                               const std::vector<int64_t>& output_padding) {
  ConvOptions plain = options;
  if (data.ndim() >= 3 && data.ndim() <= 5) plain.kernel_layout = "OI" + OneOf(data.ndim() - 2);
  plain.data_layout.clear();
  plain.dilation.clear();
  ASSIGN_OR_RETURN(ConvPlan plan, PlanConv(data, kernel, plain));
  plan.op += "_transpose";
  RETURN_IF_ERROR(CheckTransposed(plan, data, kernel, options.groups, output_padding));
  std::vector<int64_t> spread = {1, 1}, before = {0, 0}, after = {0, 0};
  for (size_t i = 0; i < plan.dim; ++i) {
    spread.push_back(plan.strides[i]);
    before.push_back(plan.windows[i] - 1 - plan.sides.before[i]);
    after.push_back(plan.windows[i] - 1 - plan.sides.after[i] + output_padding[i]);
  }
  ASSIGN_OR_RETURN(const Tensor dilated, Dilate(data, spread, NumberOf(data.dtype(), 0), "data_dilate"));
  ASSIGN_OR_RETURN(const Tensor padded, Pad(dilated, before, after, std::nullopt, {.name = "data_pad"}));
  const Tensor turned = TurnKernel(kernel, options.groups);
  const Expr per_group = turned.shape()[0], in_per_group = FloorDiv(data.shape()[1], options.groups);
  Shape shape = {data.shape()[0], per_group * Expr(options.groups)};
  std::vector<IterVar> axes = {te::ReduceAxisTo(in_per_group, "dc")};
  constexpr const char* kNames[] = {"dd", "dh", "dw"};
  for (size_t i = 2; i < kernel.ndim(); ++i) {
    axes.push_back(te::ReduceAxisTo(kernel.shape()[i], kNames[i + 3 - kernel.ndim()]));
    shape.push_back(padded.shape()[i] - kernel.shape()[i] + Expr(1));
    RETURN_IF_ERROR(CheckFits(plan.op, shape.back()));
  }
  const auto element = [&](const Point& at) {
    const bool is_grouped = options.groups > 1;
    const Expr first = is_grouped ? FloorDiv(at[1], per_group) * in_per_group + axes[0].var : Expr(axes[0].var);
    Point d = {at[0], first}, w = {is_grouped ? FloorMod(at[1], per_group) : at[1], first};
    for (size_t i = 1; i < axes.size(); ++i) {
      d.push_back(at[i + 1] + axes[i].var);
      w.push_back(axes[i].var);
    }
    return te::ReduceOver(te::Combiner::kSum, As(plan.type, padded(d)) * As(plan.type, turned(w)), axes);
  };
  return te::Compute(shape, element, {.name = "compute", .tag = plan.op.substr(3) + "_nc" + Lower(OneOf(plan.dim))});
}

}  // namespace lathe::topi
