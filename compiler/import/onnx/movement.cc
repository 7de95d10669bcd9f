// Operators that move elements: Concat, Gather, Pad, Reshape and the like.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/onnx/operators.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;
using relax::MakeIntsAttr;

NodeOutputs Concat(const OnnxNode& node) {
  if (node.opset() >= 4 && !node.Has("axis")) return node.Error("attribute axis is missing");
  ASSIGN_OR_RETURN(const std::vector<int64_t> first, node.Shape(0));
  const auto rank = static_cast<int64_t>(first.size());
  const int64_t axis = node.Int("axis", 1) < 0 ? node.Int("axis", 1) + rank : node.Int("axis", 1);
  if (axis < 0 || axis >= rank) return node.Error(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  std::vector<Expr> tensors;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const Expr tensor, node.Input(i));
    ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(i));
    const bool is_empty = static_cast<int64_t>(shape.size()) == rank && shape[axis] == 0;
    if (!is_empty || (i + 1 == node.num_inputs() && tensors.empty())) tensors.push_back(tensor);
  }
  if (tensors.size() == 1) return OneOutput(tensors[0]);
  return OneOutput(node.Emit("concat", {relax::MakeTuple(tensors)}, {{"axis", axis}}));
}

// 0 keeps the extent (unless allowzero), one -1 takes what is left.
StatusOr<std::vector<int64_t>> ResolveShape(const OnnxNode& node, const std::vector<int64_t>& from,
                                            std::vector<int64_t> to) {
  const bool allow_zero = node.opset() >= 14 && node.Int("allowzero", 0) != 0;
  const std::string asked = fmt::format("[{}]", fmt::join(to, ", "));
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !allow_zero) {
      if (i >= from.size())
        return node.Error(
            fmt::format("shape {} keeps dimension {} of a tensor with {} dimensions", asked, i, from.size()));
      to[i] = from[i];
    }
    if (to[i] == -1 && !open) {
      open = i;
    } else if (to[i] < 0 || __builtin_mul_overflow(known, to[i], &known)) {
      return node.Error(fmt::format("shape {} is not valid", asked));
    }
  }
  const int64_t total = relax::ElementCount(from).value_or(0);
  if (open) {
    if (known == 0 || total % known != 0)
      return node.Error(
          fmt::format("shape {} does not divide the {} elements of [{}]", asked, total, fmt::join(from, ", ")));
    to[*open] = total / known;
  }
  return to;
}

NodeOutputs Reshape(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> from, node.Shape(0));
  ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> asked, node.IntsAttrOrInput("shape", 1, 5));
  if (!asked) return node.Error("the shape is missing");
  ASSIGN_OR_RETURN(const std::vector<int64_t> to, ResolveShape(node, from, *asked));
  return OneOutput(node.Reshape(x, to));
}

NodeOutputs Flatten(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = node.Int("axis", 1) < 0 ? node.Int("axis", 1) + rank : node.Int("axis", 1);
  if (axis < 0 || axis > rank) return node.Error(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  std::vector<int64_t> flat = {1, 1};
  for (int64_t i = 0; i < rank; ++i) flat[i < axis ? 0 : 1] *= shape[i];
  return OneOutput(node.Reshape(x, flat));
}

NodeOutputs Squeeze(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> axes, node.IntsAttrOrInput("axes", 1, 13));
  AttrMap attrs;
  if (axes && !axes->empty()) attrs["axis"] = MakeIntsAttr(*axes);
  return OneOutput(node.Emit("squeeze", {x}, std::move(attrs)));
}

NodeOutputs Unsqueeze(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> axes, node.IntsAttrOrInput("axes", 1, 13));
  if (!axes) return node.Error("axes are missing");
  if (axes->size() > 16) return node.Error(fmt::format("{} axes, at most 16", axes->size()));
  return OneOutput(node.Emit("expand_dims", {x}, {{"axis", MakeIntsAttr(*axes)}}));
}

NodeOutputs Transpose(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  std::vector<int64_t> perm = node.Ints("perm");
  if (!node.Has("perm")) {
    for (size_t i = shape.size(); i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  return OneOutput(node.Emit("permute_dims", {x}, {{"axes", MakeIntsAttr(perm)}}));
}

NodeOutputs Gather(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const Expr indices, node.Input(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = node.Int("axis", 0) < 0 ? node.Int("axis", 0) + rank : node.Int("axis", 0);
  if (axis < 0 || axis >= rank) return node.Error(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  if (const relax::TensorData* constant = relax::AsConstant(indices)) {
    for (const int64_t index : constant->ToInts()) {
      if (index < -shape[axis] || index >= shape[axis])
        return node.Error(fmt::format("index {} of an axis of {} elements", index, shape[axis]));
    }
  }
  return OneOutput(node.Emit("take", {x, indices}, {{"axis", axis}}));
}

// numpy's clipping of one slice; INT64_MAX and the like mean "to the end".
void ClipSlice(int64_t extent, int64_t step, int64_t& begin, int64_t& end) {
  if (begin < 0) begin = begin < -extent ? -1 : begin + extent;
  if (end < 0) end = end < -extent ? -1 : end + extent;
  begin = step > 0 ? std::clamp<int64_t>(begin, 0, extent)
                   : std::clamp<int64_t>(begin, 0, std::max<int64_t>(extent - 1, 0));
  end = step > 0 ? std::clamp<int64_t>(end, 0, extent) : std::clamp<int64_t>(end, -1, extent);
}

NodeOutputs Slice(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> begin, node.IntsAttrOrInput("starts", 1, 10));
  ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> end, node.IntsAttrOrInput("ends", 2, 10));
  ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> axes, node.IntsAttrOrInput("axes", 3, 10));
  ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> steps, node.IntsAttrOrInput("steps", 4, 10));
  if (!begin || !end) return node.Error("starts or ends are missing");
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < begin->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps || node.opset() < 10) steps.emplace(begin->size(), 1);
  if (end->size() != begin->size() || axes->size() != begin->size() || steps->size() != begin->size())
    return node.Error("starts, ends, axes and steps differ in number");
  for (size_t i = 0; i < axes->size(); ++i) {
    int64_t& axis = (*axes)[i];
    const auto rank = static_cast<int64_t>(shape.size());
    if (axis < -rank || axis >= rank)
      return node.Error(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
    axis = axis < 0 ? axis + rank : axis;
    const int64_t step = (*steps)[i];
    if (step == 0 || step < -INT32_MAX) return node.Error(fmt::format("step {}", step));
    (*steps)[i] = std::min<int64_t>(step, INT32_MAX);
    ClipSlice(shape[axis], step, (*begin)[i], (*end)[i]);
  }
  return OneOutput(node.Emit("strided_slice", {x},
                             {{"axes", MakeIntsAttr(*axes)},
                              {"begin", MakeIntsAttr(*begin)},
                              {"end", MakeIntsAttr(*end)},
                              {"strides", MakeIntsAttr(*steps)}}));
}

// The extents of the parts along an axis of `extent`: those asked for, an attribute before opset 13, or as many equal
// ones as there are outputs, of which the last may be smaller since opset 18.
StatusOr<std::vector<int64_t>> PartsOf(const OnnxNode& node, int64_t extent) {
  const auto num_parts = static_cast<int64_t>(node.num_outputs());
  if (num_parts == 0) return node.Error("there is no output");
  ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> parts, node.IntsAttrOrInput("split", 1, 13));
  if (node.opset() >= 18 && !parts && node.Int("num_outputs", num_parts) != num_parts)
    return node.Error(fmt::format("num_outputs is {}, there are {}", node.Int("num_outputs", 0), num_parts));
  if (!parts) {
    const int64_t part = (extent + num_parts - 1) / num_parts;
    const int64_t last = extent - part * (num_parts - 1);
    if (last < 0 || (node.opset() < 18 && last != part))
      return node.Error(fmt::format("{} elements are not {} equal parts; say split", extent, num_parts));
    parts.emplace(num_parts - 1, part);
    parts->push_back(last);
  }
  int64_t left = extent;
  for (const int64_t part : *parts) left = part < 0 || part > left ? -1 : left - part;
  if (left != 0 || static_cast<int64_t>(parts->size()) != num_parts)
    return node.Error(fmt::format("split [{}] makes no {} outputs of an axis of {} elements", fmt::join(*parts, ", "),
                                  num_parts, extent));
  return *std::move(parts);
}

NodeOutputs Split(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = node.Int("axis", 0) < 0 ? node.Int("axis", 0) + rank : node.Int("axis", 0);
  if (axis < 0 || axis >= rank) return node.Error(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  ASSIGN_OR_RETURN(const std::vector<int64_t> parts, PartsOf(node, shape[axis]));
  std::vector<Expr> outputs;
  int64_t begin = 0;
  for (const int64_t part : parts) {
    ASSIGN_OR_RETURN(const Expr output, node.Emit("strided_slice", {x},
                                                  {{"axes", MakeIntsAttr({axis})},
                                                   {"begin", MakeIntsAttr({begin})},
                                                   {"end", MakeIntsAttr({begin + part})},
                                                   {"strides", MakeIntsAttr({1})}}));
    outputs.push_back(output);
    begin += part;
  }
  return outputs;
}

// Attribute "paddings" in opset 1, "pads" before 11, then an input; axes since 18.
NodeOutputs Pad(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  const size_t rank = shape.size();
  ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> pads,
                   node.IntsAttrOrInput(node.opset() < 2 ? "paddings" : "pads", 1, 11));
  if (!pads) return node.Error("pads are missing");
  std::vector<int64_t> axes;
  if (node.opset() >= 18 && node.HasInput(3)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(3));
  } else {
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (pads->size() != 2 * axes.size()) return node.Error(fmt::format("{} pads for {} axes", pads->size(), axes.size()));
  std::vector<int64_t> widths(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i];
    if (axis < 0 || axis >= static_cast<int64_t>(rank))
      return node.Error(fmt::format("axis {} of a tensor with {} dimensions", axes[i], rank));
    for (const int64_t pad : {(*pads)[i], (*pads)[axes.size() + i]}) {
      if (pad < -INT32_MAX || pad > INT32_MAX) return node.Error(fmt::format("pad {}", pad));
    }
    widths[axis] = (*pads)[i];
    widths[rank + axis] = (*pads)[axes.size() + i];
  }
  double value = node.opset() < 11 ? node.Float("value", 0) : 0;
  if (node.opset() >= 11 && node.HasInput(2)) {
    ASSIGN_OR_RETURN(const relax::TensorData data, node.ConstantInput(2));
    if (data.num_elements() != 1)
      return node.Error(fmt::format("constant_value has {} elements, 1 required", data.num_elements()));
    value = data.ToDoubles()[0];
  }
  return OneOutput(node.Emit(
      "nn.pad", {x},
      {{"pad_width", MakeIntsAttr(widths)}, {"pad_mode", node.String("mode", "constant")}, {"pad_value", value}}));
}

constexpr OnnxOperator kMovementRows[] = {
    {"Concat", Concat},       {"Flatten", Flatten},     {"Gather", Gather}, {"Pad", Pad},
    {"Reshape", Reshape},     {"Slice", Slice},         {"Split", Split},   {"Squeeze", Squeeze},
    {"Transpose", Transpose}, {"Unsqueeze", Unsqueeze},
};

}  // namespace

std::span<const OnnxOperator> OnnxMovements() { return kMovementRows; }

}  // namespace lathe
