// Names of blocked layouts, as in TVM: a letter is a dimension; a number and a small letter at the end are so many
// neighbours along it. Images "NCHW16c" are [N, C / 16, H, W, 16]; weights "OIHW16i8o" [O / 8, I / 16, H, W, 16, 8];
// "NK16n4k" are the panels of a dense layer, [N / 16, K / 4, 16, 4].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/relax/tensor_data.h"

namespace lathe::relax {

// "OIHW", 16, 'o' -> "OIHW16o".
std::string BlockedLayout(std::string_view plain, int64_t block, char axis);
// 'o' of "OIHW16i8o" -> 8; 0: the layout has no such block.
int64_t BlockOf(std::string_view layout, char axis);

// Weights [O, I, spatial...] as [O / out, I / in, spatial..., in, out]; a block of 0 is none. O is filled up with
// zeros, `in` must divide I.
TensorData BlockWeights(const TensorData& weight, int64_t in, int64_t out);

}  // namespace lathe::relax
