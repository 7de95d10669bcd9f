// Convolutions with any number of spatial dimensions.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// "VALID": none. "SAME": so that a stride of 1 keeps the extents. Numbers: one for all sides; one per dimension; or one
// per dimension before, then after.
using Padding = std::variant<std::string, std::vector<int64_t>>;

struct ConvOptions {
  std::vector<int64_t> strides, dilation;  // One for all dimensions, or one per dimension.
  Padding padding = std::string("VALID");
  int64_t groups = 1;
  // Letters N, C and of W, HW, DHW; of the kernel O, I and the same. Empty kernel layout: TVM's for the data layout.
  std::string data_layout, kernel_layout;
  std::optional<DataType> out_dtype;   // Of the products and their sum; default: data's.
  bool is_kernel_layout_free = false;  // Nobody else depends on how the kernel lies in memory.
};

// Result: as data, with as many channels as the kernel says.
StatusOr<Tensor> Conv(const Tensor& data, const Tensor& kernel, const ConvOptions& options);
// One kernel per channel and multiplier: NCHW data with (C, M, H, W), NHWC with (H, W, C, M).
StatusOr<Tensor> DepthwiseConv2d(const Tensor& data, const Tensor& kernel, const ConvOptions& options);
// Channels in blocks: data (N, C/c, H, W, c), kernel (O/o, I/i, H, W, i, o), result (N, O/o, H, W, o).
StatusOr<Tensor> Conv2dNCHWc(const Tensor& data, const Tensor& kernel, const ConvOptions& options);
// The gradient of Conv to its data. Data NC..., kernel (I, O/groups, ...); `output_padding` per dimension, less than
// its stride.
StatusOr<Tensor> ConvTranspose(const Tensor& data, const Tensor& kernel, const ConvOptions& options,
                               const std::vector<int64_t>& output_padding);

}  // namespace lathe::topi
