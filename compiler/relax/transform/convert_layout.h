// Lays images out in blocks of channels, [N, C, H, W] as [N, C / b, H, W, b] ("NCHW16c"), from the first convolution
// with constant weights to where somebody wants them as they were. A vector then holds the b channels of one pixel:
// neither strides nor borders nor the width of a map have to do with lanes.
//
//   conv2d(x, w), relu, max_pool2d  -->  conv2d(x, w as OIHW16o), out_layout "NCHW16c"; relu; max_pool2d, layout
//   "NCHW16c"; permute_dims; reshape
//
// b is the target's float32 lanes, or half of them where those do not divide the channels. A convolution reads images
// in either layout, and writes blocks where they divide its output channels; depthwise convolutions, element-wise
// operators, pools, reductions over whole maps and concatenations of channels take the layout that they are given.
// Of one pixel both layouts are the same. A function in which more would be moved between layouts than is won stays as
// it is. docs/decisions/0036-images-in-blocks-of-channels.md says why.
#pragma once

#include "compiler/relax/module.h"
#include "compiler/relax/transform/alter_op_layout.h"
#include "support/status.h"

namespace lathe::relax {

StatusOr<IRModule> ConvertLayout(IRModule module, const LayoutTarget& target);

}  // namespace lathe::relax
