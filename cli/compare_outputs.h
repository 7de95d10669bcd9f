// Is a network's output the expected one? And if not: where, and by how much.
#pragma once

#include <string>

#include "compiler/relax/tensor_data.h"
#include "runtime/ndarray.h"
#include "support/status.h"

namespace lathe {

struct OutputTolerance {
  double rtol = 1e-3, atol = 1e-5;
};

// "float32 (1, 3, 224, 224)"
std::string TensorText(const std::string& dtype, std::span<const int64_t> shape);

// OK if type and shape are equal and |y - e| <= atol + rtol * |e| for every element; NaN matches NaN, an infinity
// itself. Else FailedPrecondition: output "logits": 3 of 1000 elements differ; the worst, at [0, 17], is 2.5, 2.25
// expected: it differs by 0.25, 0.00235 allowed
Status CompareOutput(const std::string& name, const NDArray& actual, const relax::TensorData& expected,
                     const OutputTolerance& tolerance);

}  // namespace lathe
