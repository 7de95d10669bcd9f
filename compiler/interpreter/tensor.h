// Arguments of interpreted functions: dense arrays in host memory, row-major, each element in the bytes its dtype has
// in a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/data_type.h"

namespace lathe {

struct Tensor {
  DataType dtype;               // Sub-byte integers take one byte per element.
  std::vector<int64_t> shape;   // Empty: a scalar, one element.
  std::vector<std::byte> data;  // At least NumElements() * dtype.bytes(); more where the function's buffer has strides.
  bool is_initialized = true;   // False: reading an element before the function wrote it is a fault.

  static Tensor Zeros(DataType dtype, std::vector<int64_t> shape);
  // Values are rounded or wrapped to `dtype`; CHECKs that there are as many as the shape says.
  static Tensor FromDoubles(DataType dtype, std::vector<int64_t> shape, const std::vector<double>& values);
  static Tensor FromInts(DataType dtype, std::vector<int64_t> shape, const std::vector<int64_t>& values);
  // An output whose content means nothing before the function writes it.
  static Tensor Uninitialized(DataType dtype, std::vector<int64_t> shape);

  int64_t NumElements() const;
  std::vector<double> ToDoubles() const;  // Any dtype but handle; 64-bit integers above 2^53 lose digits.
};

}  // namespace lathe
