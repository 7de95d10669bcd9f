// Is a result the expected one? And if not: where, and by how much.
#pragma once

#include <string_view>
#include <vector>

#include "tests/reference/tensor.h"

namespace lathe::reference {

// y is right if |y - e| <= atol + rtol * |e|. The defaults are those of ONNX's own test runner.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
};

// OK if type and shape are equal and every element is right; NaN matches NaN, an infinity itself, integers are exact.
// Otherwise kFailedPrecondition with the element that is furthest out and the number of wrong ones:
//   compare "logits" at [0, 17]: 2.5 and expected 2.25 differ by 0.25, 0.00235 allowed; 3 of 1000 elements differ
Status Compare(std::string_view name, const Tensor& actual, const Tensor& expected, const Tolerance& tolerance = {});

// The first failure among pairs of outputs; a different number of them is one.
Status CompareAll(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                  const Tolerance& tolerance = {});

}  // namespace lathe::reference
