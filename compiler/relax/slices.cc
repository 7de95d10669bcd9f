#include "compiler/relax/slices.h"

#include <algorithm>

#include "compiler/relax/op.h"

namespace lathe::relax {
namespace {

int64_t BytesOf(const StructInfo& info) { return info.As<TensorStructInfo>()->dtype.bytes(); }
size_t AxisOf(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

std::optional<std::vector<int64_t>> JoinedAt(const Call& concat) {
  std::vector<int64_t> offsets;
  int64_t end = 0;
  for (const Expr& tensor : TensorArgs(concat)) {
    const std::optional<std::vector<int64_t>> shape = ConstantShapeOf(tensor.struct_info());
    if (!shape) return std::nullopt;
    const auto axis = shape->begin() + AxisOf(IntAttr(concat.attrs, "axis", 0), shape->size());
    if (std::any_of(shape->begin(), axis, [](int64_t extent) { return extent != 1; })) return std::nullopt;
    offsets.push_back(end);
    end += ElementCount(*shape).value_or(0) * BytesOf(tensor.struct_info());
  }
  return offsets;
}

// From the innermost axis on: whole axes, one that may be cut, then single indices.
std::optional<int64_t> CutAt(const Call& slice, const StructInfo& result) {
  const std::optional<std::vector<int64_t>> from = ConstantShapeOf(slice.args[0].struct_info()),
                                            to = ConstantShapeOf(result);
  if (!from || !to) return std::nullopt;
  const std::vector<int64_t> axes = IntsAttr(slice.attrs, "axes"), begins = IntsAttr(slice.attrs, "begin"),
                             strides = IntsAttr(slice.attrs, "strides");
  std::vector<int64_t> first(from->size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = AxisOf(axes[i], from->size());
    if (strides[i] != 1 && (*to)[axis] > 1) return std::nullopt;
    first[axis] = begins[i];
  }
  bool is_cut = false;
  int64_t at = 0, stride = 1;
  for (size_t axis = from->size(); axis-- > 0;) {
    if (is_cut && (*to)[axis] != 1) return std::nullopt;
    is_cut = is_cut || (*to)[axis] != (*from)[axis];
    at += first[axis] * stride;
    stride *= (*from)[axis];
  }
  return at * BytesOf(result);
}

}  // namespace

AttrMap SliceAttrs(const Call& call, const StructInfo& result) {
  if (call.op == &GetOp("concat")) {
    const std::optional<std::vector<int64_t>> offsets = JoinedAt(call);
    if (offsets) return {{kJoinedAtAttr, MakeIntsAttr(*offsets)}};
  } else if (call.op == &GetOp("strided_slice")) {
    const std::optional<int64_t> offset = CutAt(call, result);
    if (offset) return {{kCutAtAttr, *offset}};
  }
  return {};
}

}  // namespace lathe::relax
