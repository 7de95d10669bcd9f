// Is an output right? Compares with a float64 reference and says where and by how much it is not.
#pragma once

#include <span>
#include <string>

#include "runtime/ndarray.h"

namespace lathe {

struct CompareResult {
  bool ok = true;
  double max_error = 0;  // Largest |got - expected| over the elements where both are finite.
  std::string message;   // Where !ok: the first wrong element and how many there are.
};

// Right: |got - expected| <= tolerance + eps(got) * |expected|, the latter for the rounding of what was stored; or both
// NaN; or the same infinity. `expected` has one value per scalar element, in order. A reference with elements of which
// none is finite proves nothing and is an error.
CompareResult CompareOutput(const std::string& name, const TensorView& got, std::span<const double> expected,
                            double tolerance);

}  // namespace lathe
