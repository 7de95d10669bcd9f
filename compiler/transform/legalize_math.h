#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// exp, tanh, erf, sin, pow ... of floats become arithmetic (float_math.h), so that every code generator, and the
// interpreter, computes them the same way; 16-bit floats are computed in float32 and rounded once. What machines have
// an instruction for stays: abs, ceil, copysign, floor, fma, fmod, fmuladd, nearbyint, scalef, sqrt, trunc.
//   B[i] = T.sigmoid(A[i])   -->   B[i] = T.Let(1 / (1 + ...), where={clamped: T.min(T.max(-A[i], -105), 89.5)})
// After vectorize_loop, for what comes out is about lanes, and after the simplifiers, which need not look into it;
// before unique_names. Operands of which no such code is known (integers, two types) stay, and code generation refuses
// them by name.
PrimFunc LegalizeMath(PrimFunc func);

}  // namespace lathe
