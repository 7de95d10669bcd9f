#include "tests/reference/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"

namespace lathe::reference {
namespace {

constexpr int64_t kMaxAttribute = int64_t{1} << 24;

// The attribute, or `absent` once per axis; each value in [low, kMaxAttribute].
StatusOr<Dims> PerAxis(const Node& node, std::string_view name, size_t count, int64_t absent, int64_t low) {
  Dims values = node.Ints(name);
  if (values.empty()) values.assign(count, absent);
  const bool legal =
      std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= low && v <= kMaxAttribute; });
  if (values.size() != count || !legal) {
    return InvalidArgument(
        fmt::format("attribute {} is {}, {} values of at least {} required", name, DimsText(values), count, low));
  }
  return values;
}

// SAME: as many outputs as strides fit into the input; the odd padding element goes to the end (UPPER) or the begin
// (LOWER).
void PadForSameSize(Window& w, size_t axis, bool upper) {
  w.output[axis] = (w.input[axis] + w.strides[axis] - 1) / w.strides[axis];
  const int64_t extent = (w.kernel[axis] - 1) * w.dilations[axis] + 1;
  const int64_t total = std::max<int64_t>(0, (w.output[axis] - 1) * w.strides[axis] + extent - w.input[axis]);
  w.pads_begin[axis] = upper ? total / 2 : total - total / 2;
  w.pads_end[axis] = total - w.pads_begin[axis];
}

Status SizeOutput(Window& w, size_t axis, bool ceil_mode) {
  const int64_t extent = (w.kernel[axis] - 1) * w.dilations[axis] + 1;
  const int64_t room = w.input[axis] + w.pads_begin[axis] + w.pads_end[axis] - extent;
  if (room < 0) {
    return InvalidArgument(
        fmt::format("spatial axis {}: window of {} does not fit into {} elements with padding {} + {}", axis, extent,
                    w.input[axis], w.pads_begin[axis], w.pads_end[axis]));
  }
  const int64_t stride = w.strides[axis];
  w.output[axis] = (ceil_mode ? room + stride - 1 : room) / stride + 1;
  // The window that rounding up adds must start inside the input or the padding before it.
  if (ceil_mode && (w.output[axis] - 1) * stride >= w.input[axis] + w.pads_begin[axis]) --w.output[axis];
  return OkStatus();
}

}  // namespace

StatusOr<Window> MakeWindow(const Node& node, Dims input, Dims kernel) {
  const size_t rank = input.size();
  if (kernel.size() != rank ||
      std::any_of(kernel.begin(), kernel.end(), [](int64_t k) { return k < 1 || k > kMaxAttribute; })) {
    return InvalidArgument(fmt::format("kernel_shape is {}, {} positive values required", DimsText(kernel), rank));
  }
  Window w{.input = std::move(input), .kernel = std::move(kernel), .output = Dims(rank)};
  ASSIGN_OR_RETURN(w.strides, PerAxis(node, "strides", rank, 1, 1));
  ASSIGN_OR_RETURN(w.dilations, PerAxis(node, "dilations", rank, 1, 1));
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  const bool upper = auto_pad == "SAME_UPPER", lower = auto_pad == "SAME_LOWER";
  if (!upper && !lower && auto_pad != "NOTSET" && auto_pad != "VALID") {
    return InvalidArgument(
        fmt::format("attribute auto_pad is \"{}\"; NOTSET, VALID, SAME_UPPER or SAME_LOWER required", auto_pad));
  }
  Dims pads(2 * rank, 0);  // Begins, then ends.
  if (auto_pad == "NOTSET") {
    ASSIGN_OR_RETURN(pads, PerAxis(node, "pads", 2 * rank, 0, 0));
  }
  w.pads_begin.assign(pads.begin(), pads.begin() + rank);
  w.pads_end.assign(pads.begin() + rank, pads.end());
  for (size_t axis = 0; axis < rank; ++axis) {
    if (upper || lower) {
      PadForSameSize(w, axis, upper);
    } else {
      RETURN_IF_ERROR(SizeOutput(w, axis, node.Int("ceil_mode", 0) != 0));
    }
  }
  return w;
}

StatusOr<std::vector<int64_t>> WindowTable(const Window& w) {
  Dims shape = w.output;
  shape.insert(shape.end(), w.kernel.begin(), w.kernel.end());
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(shape));
  const size_t rank = w.input.size();
  const int64_t taps = Product(w.kernel);
  const Dims strides = Strides(w.input);
  std::vector<int64_t> table(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t output = i / taps, tap = i % taps, index = 0;
    for (size_t a = rank; a-- > 0; output /= w.output[a], tap /= w.kernel[a]) {
      const int64_t at = output % w.output[a] * w.strides[a] - w.pads_begin[a] + tap % w.kernel[a] * w.dilations[a];
      if (at >= w.input[a] + w.pads_end[a]) index = kOverhang;
      if (index >= 0) index = at >= 0 && at < w.input[a] ? index + at * strides[a] : kPadding;
    }
    table[i] = index;
  }
  return table;
}

}  // namespace lathe::reference
