// Random TensorIR for tests: from a seed, a PrimFunc that is well-formed and may be executed: every access is in
// bounds, no loop is endless, no divisor zero, nothing is read before it is written, and iterations of parallel loops
// do not meet. Parameters are plain arrays; all extents are small. Integers may wrap; floats may become inf or NaN in
// kAnything.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

enum class RandomIrMode {
  // A chain of two to five blocks over intermediate buffers: elementwise, transposed, reduction, stencil, padding;
  // every block complete or a
  // reduction, iter vars bound to loop variables, reads and writes exact. float32, int32 or int64; float values stay
  // finite and moderate.
  kSchedulable,
  // Every kind of statement, expression and block field, all dtypes, names that clash or are no identifiers.
  kAnything,
};

// The last buffers of the parameters are outputs. In kAnything a parameter may be a scalar; any value of it is fine.
PrimFunc RandomPrimFunc(uint64_t seed, RandomIrMode mode);

// As kAnything, with buffers of symbolic shape, strides and offset; they are declared but not accessed.
PrimFunc RandomSymbolicPrimFunc(uint64_t seed);

}  // namespace lathe
