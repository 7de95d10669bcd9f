// Operators that put elements around or between those of a tensor.
#pragma once

#include <string>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// Of a dimension with elements around it: which of its bounds an index is compared with.
enum class PadAsks { kBothSides, kPaddedSides };
// `before[i]` and `after[i]` elements `value` around dimension i; fewer numbers: 0. Dimensions with 0 on both sides are
// not asked. `after` empty: as `before`.
StatusOr<Tensor> Pad(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                     std::optional<Expr> value = std::nullopt, te::ComputeOptions options = {.name = "PadInput"},
                     PadAsks asks = PadAsks::kBothSides);
// The elements next to the edge, in mirror order: "REFLECT" leaves the edge itself out, "SYMMETRIC" repeats it.
StatusOr<Tensor> MirrorPad(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                           const std::string& mode, const std::string& name = "MirrorPadInput");
// strides[i] - 1 elements `value` between neighbours along dimension i.
StatusOr<Tensor> Dilate(const Tensor& x, const std::vector<int64_t>& strides, const Expr& value,
                        const std::string& name = "DilatedInput");

}  // namespace lathe::topi
