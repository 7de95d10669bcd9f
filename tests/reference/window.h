// The sliding window that convolution and pooling share: which input element each tap sees.
#pragma once

#include "tests/reference/node.h"

namespace lathe::reference {

// Sizes per spatial axis. The window of output o starts at o * stride - pad_begin; tap k lies k * dilation further.
struct Window {
  Dims input, kernel, strides, dilations, pads_begin, pads_end, output;
};

// From attributes strides, dilations, pads, auto_pad and ceil_mode.
StatusOr<Window> MakeWindow(const Node& node, Dims input, Dims kernel);

inline constexpr int64_t kPadding = -1;   // In the padding.
inline constexpr int64_t kOverhang = -2;  // Beyond it: ceil_mode's last window may stick out.

// [output position][tap], both row-major: the flat index of the input element, or one of the two codes above.
StatusOr<std::vector<int64_t>> WindowTable(const Window& window);

}  // namespace lathe::reference
