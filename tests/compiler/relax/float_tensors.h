// What the tests of this folder write often: float32 and tensors of it.
#pragma once

#include "compiler/relax/struct_info.h"

namespace lathe::relax {

inline constexpr DataType kF32 = DataType::Float(32);
inline TensorStructInfo F32(const std::vector<int64_t>& shape) { return MakeTensorInfo(shape, kF32); }

}  // namespace lathe::relax
