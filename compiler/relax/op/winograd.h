// Winograd's minimal filtering for 3 x 3 convolutions (A. Lavin, S. Gray: Fast algorithms for convolutional neural
// networks, 2015): of an output tile of m x m pixels, Y = A^T [(G g G^T) * (B^T d B)] A, with (m + 2)^2 products
// instead of 9 m^2. Three operators, images in blocks of channels:
//   nn.winograd_data_pack  [N, C/b, H, W, b] -> [m+2, m+2, N, C/b, tiles, tiles, b]    B^T d B
//   nn.winograd_bgemm      that, [m+2, m+2, K/b, C/b, b, b]  -> [m+2, m+2, N, K/b, tiles, tiles, b]
//   nn.winograd_inverse    that -> [N, K/b, H, W, b]                                   A^T M A
// In float32 the result differs from the direct sum by some 1e-6 (m = 2) and 1e-5 (m = 4) of the largest value.
#pragma once

#include "compiler/relax/tensor_data.h"

namespace lathe::relax {

// A convolution of C to K channels with H x W pixels as its result.
struct WinogradShape {
  int64_t in_channels, out_channels, rows, columns;
};
// The tile, 2 or 4, by which it is estimated to cost the least, counted in multiply-adds; 0: the direct sum.
int64_t ChooseWinogradTile(const WinogradShape& shape);

// float32 weights [K, C, 3, 3] as G g G^T, [m+2, m+2, K/out, C/in, in, out], computed in float64.
TensorData WinogradWeights(const TensorData& weight, int64_t tile, int64_t in_block, int64_t out_block);

}  // namespace lathe::relax
