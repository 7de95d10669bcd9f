// Narrow floats from and to wider ones by operations on their bits, as TVM writes them.
#pragma once

#include "compiler/ir/expr.h"
#include "support/status.h"

namespace lathe {

DataType UIntOf(DataType type);  // Unsigned integers of the same bits and lanes.

// `value` in the type, of as many lanes, rounded to the nearest, ties to even; from a float with other exponents what
// is too small becomes 0. Neither infinities nor NaN are looked at. InvalidArgument: a float of 8 bits whose numbers
// are not those of e4m3fn or e5m2.
//   bfloat16 A --> T.reinterpret("float32", T.Cast("uint32", T.reinterpret("uint16", A)) << T.uint32(16))
StatusOr<Expr> ConvertFloat(const Expr& value, DataType type);

}  // namespace lathe
