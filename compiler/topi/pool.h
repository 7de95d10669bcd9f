// Windows of elements, combined.
#pragma once

#include <string>

#include "compiler/topi/operand.h"

namespace lathe::topi {

struct PoolOptions {
  std::vector<int64_t> kernel, strides, dilation;  // One per spatial dimension.
  std::vector<int64_t> padding;                    // Per spatial dimension before, then after.
  std::string pool_type;                           // "max" or "avg".
  bool ceil_mode = false;                          // Windows that reach over the end count.
  std::string layout;                              // Its letters D, H, W say which dimensions are spatial.
  bool count_include_pad = true;                   // In averages.
};
StatusOr<Tensor> Pool(const Tensor& x, const PoolOptions& options);

// Windows such that the result has these extents; of equal or neighbouring sizes, which may overlap by one.
StatusOr<Tensor> AdaptivePool(const Tensor& x, const std::vector<int64_t>& output_size, const std::string& pool_type,
                              const std::string& layout);

}  // namespace lathe::topi
