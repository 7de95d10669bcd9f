#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Every access gets one index: the element's position counted from the buffer's elem_offset, row-major or by the
// buffer's strides. Allocated buffers become one-dimensional; parameters keep their shape, which callers check
// arguments against. An index is int32 unless it might not fit: then its arithmetic is done in int64. After
// LowerOpaqueBlock, before VectorizeLoop. Memory of vectors, as StorageRewrite makes, becomes memory of their elements.
//   A[i, j] of shape (64, 48)                  -->  A[i*48 + j]
//   A[i] of shape (6,) and dtype float32x8     -->  A[i*8:i*8 + 8] of shape (48,)
StatusOr<PrimFunc> FlattenBuffer(PrimFunc func);

// As TVM's pass of this name: parameters, too, through a declared flat buffer each; indices are simplified and keep
// their types; axis separators cut what stays dimensions. Booleans become bytes, as TVM 0.18 keeps them:
//   B[i, j] = A[i, j]  -->  B_1[i*8 + j] = T.Cast("int8", T.Cast("bool", A_1[i*8 + j]))
StatusOr<PrimFunc> FlattenBufferAndParams(PrimFunc func);

}  // namespace lathe
