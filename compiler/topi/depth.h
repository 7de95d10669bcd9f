// Blocks of pixels as channels, and back.
#pragma once

#include <string>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// Of x in the layout "NCHW" or "NHWC": each block of block_size by block_size pixels becomes one with more channels.
StatusOr<Tensor> SpaceToDepth(const Tensor& x, int64_t block_size, const std::string& layout);
// The other way. Mode "DCR": the place in the block counts before the channel of the result; any other ("CRD", "CDR"):
// after it, as in TVM.
StatusOr<Tensor> DepthToSpace(const Tensor& x, int64_t block_size, const std::string& layout, const std::string& mode);

}  // namespace lathe::topi
