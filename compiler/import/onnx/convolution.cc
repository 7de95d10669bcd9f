// Conv and the pools.
#include <fmt/format.h>

#include "compiler/import/onnx/operators.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;
using relax::MakeIntsAttr;

// Attributes that say how a window slides, checked for number and size; `kernel` has one extent per spatial dimension.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
};

StatusOr<std::vector<int64_t>> IntsOr(const OnnxNode& node, std::string_view name, size_t count, int64_t absent) {
  std::vector<int64_t> values = node.Ints(name);
  if (values.empty()) values.assign(count, absent);
  if (values.size() != count)
    return node.Error(fmt::format("{} has {} values, {} required", name, values.size(), count));
  for (const int64_t value : values) {
    if (value < 0 || value > INT32_MAX)
      return node.Error(fmt::format("{} has the value {}, 0 to 2^31 - 1 required", name, value));
  }
  return values;
}

// SAME_UPPER puts the odd element at the end, SAME_LOWER at the begin.
Status ApplyAutoPad(const OnnxNode& node, const std::vector<int64_t>& data, Window& window) {
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  const size_t rank = window.kernel.size();
  if (auto_pad == "NOTSET" || auto_pad.empty()) return OkStatus();
  if (auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER" && auto_pad != "VALID")
    return node.Error(fmt::format("auto_pad \"{}\" is unknown", auto_pad));
  window.pads.assign(2 * rank, 0);
  if (auto_pad == "VALID") return OkStatus();
  for (size_t i = 0; i < rank; ++i) {
    const int64_t stride = std::max<int64_t>(window.strides[i], 1), extent = data[i + 2],
                  out = (extent + stride - 1) / stride;
    const int64_t total =
        std::max<int64_t>((out - 1) * stride + (window.kernel[i] - 1) * window.dilations[i] + 1 - extent, 0);
    const int64_t less = total / 2, more = total - less;
    window.pads[i] = auto_pad == "SAME_UPPER" ? less : more;
    window.pads[rank + i] = auto_pad == "SAME_UPPER" ? more : less;
  }
  return OkStatus();
}

StatusOr<Window> ReadWindow(const OnnxNode& node, const std::vector<int64_t>& data, std::vector<int64_t> kernel) {
  const size_t rank = data.size() < 2 ? 0 : data.size() - 2;
  if (rank < 1 || rank > 3) return node.Error(fmt::format("data has {} dimensions, 3 to 5 required", data.size()));
  Window window;
  window.kernel = node.Ints("kernel_shape");
  if (window.kernel.empty()) window.kernel = kernel;
  if (window.kernel.size() != rank || (!kernel.empty() && window.kernel != kernel)) {
    return node.Error(fmt::format("kernel_shape [{}] does not fit {} spatial dimensions and the weights",
                                  fmt::join(window.kernel, ", "), rank));
  }
  ASSIGN_OR_RETURN(window.strides, IntsOr(node, "strides", rank, 1));
  ASSIGN_OR_RETURN(window.dilations, IntsOr(node, "dilations", rank, 1));
  ASSIGN_OR_RETURN(window.pads, IntsOr(node, "pads", 2 * rank, 0));
  RETURN_IF_ERROR(ApplyAutoPad(node, data, window));
  return window;
}

NodeOutputs Conv(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr data, node.Input(0));
  ASSIGN_OR_RETURN(const Expr weight, node.Input(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> weight_shape, node.Shape(1));
  if (weight_shape.size() != shape.size() || shape.size() < 3)
    return node.Error(fmt::format("data has {} dimensions, weights {}", shape.size(), weight_shape.size()));
  ASSIGN_OR_RETURN(const Window window, ReadWindow(node, shape, {weight_shape.begin() + 2, weight_shape.end()}));
  AttrMap attrs = {{"strides", MakeIntsAttr(window.strides)},
                   {"dilation", MakeIntsAttr(window.dilations)},
                   {"padding", MakeIntsAttr(window.pads)},
                   {"groups", node.Int("group", 1)}};
  ASSIGN_OR_RETURN(const Expr out,
                   node.Emit(fmt::format("nn.conv{}d", shape.size() - 2), {data, weight}, std::move(attrs)));
  if (!node.HasInput(2)) return OneOutput(out);
  ASSIGN_OR_RETURN(const Expr bias, node.Input(2));
  std::vector<int64_t> bias_shape(shape.size(), 1);
  bias_shape[1] = weight_shape[0];
  ASSIGN_OR_RETURN(const Expr spread, node.Reshape(bias, bias_shape));
  return OneOutput(node.Emit("add", {out, spread}));
}

NodeOutputs Pool(const OnnxNode& node, std::string_view kind, AttrMap attrs) {
  ASSIGN_OR_RETURN(const Expr data, node.Input(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  ASSIGN_OR_RETURN(const Window window, ReadWindow(node, shape, {}));
  attrs["pool_size"] = MakeIntsAttr(window.kernel);
  attrs["strides"] = MakeIntsAttr(window.strides);
  attrs["dilation"] = MakeIntsAttr(window.dilations);
  attrs["padding"] = MakeIntsAttr(window.pads);
  attrs["ceil_mode"] = node.Int("ceil_mode", 0) != 0;
  return OneOutput(node.Emit(fmt::format("nn.{}_pool{}d", kind, shape.size() - 2), {data}, std::move(attrs)));
}

NodeOutputs MaxPool(const OnnxNode& node) {
  if (node.WantsOutput(1)) return node.Error("output Indices is not supported");
  return Pool(node, "max", {});
}

NodeOutputs AveragePool(const OnnxNode& node) {
  return Pool(node, "avg", {{"count_include_pad", node.Int("count_include_pad", 0) != 0}});
}

NodeOutputs GlobalPool(const OnnxNode& node, std::string_view op) {
  ASSIGN_OR_RETURN(const Expr data, node.Input(0));
  return OneOutput(node.Emit(op, {data}));
}
NodeOutputs GlobalAveragePool(const OnnxNode& node) { return GlobalPool(node, "nn.adaptive_avg_pool"); }
NodeOutputs GlobalMaxPool(const OnnxNode& node) { return GlobalPool(node, "nn.adaptive_max_pool"); }

constexpr OnnxOperator kConvolutionRows[] = {
    {"AveragePool", AveragePool},     {"Conv", Conv},       {"GlobalAveragePool", GlobalAveragePool},
    {"GlobalMaxPool", GlobalMaxPool}, {"MaxPool", MaxPool},
};

}  // namespace

std::span<const OnnxOperator> OnnxConvolutions() { return kConvolutionRows; }

}  // namespace lathe
