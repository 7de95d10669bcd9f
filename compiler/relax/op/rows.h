// The rows of the operator table, one function per file of this folder; relax/op.cc puts them together.
#pragma once

#include <span>

#include "compiler/relax/op.h"

namespace lathe::relax {

std::span<const Op> BinaryOps();
std::span<const Op> ConvolutionOps();
std::span<const Op> ManipulateOps();
std::span<const Op> MatrixOps();
std::span<const Op> NormalizationOps();
std::span<const Op> PadOps();
std::span<const Op> PoolingOps();
std::span<const Op> ReductionOps();
std::span<const Op> UnaryOps();
std::span<const Op> WinogradOps();

}  // namespace lathe::relax
