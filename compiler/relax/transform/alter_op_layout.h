// Lays constant weights out for vectors of output channels: conv weights OI<spatial> become [O/b][I]<spatial>[b]
// ("OIHW16o"), dense weights [N, K] become [N/b][K][b] ("NK16n"). A kernel then reads b output channels with one vector
// load. Data keeps its layout.
//
// b is the largest of lanes, lanes/2 ... 4 that divides O (O / groups for grouped convolutions); where none does and O
// > lanes, O is padded with zeros to a multiple of lanes. Depthwise and tiny convolutions stay plain.
// Weights of a dense layer that a dot-product instruction of the target multiplies become its panels, [N/b][K/p][b][p]
// ("NK16n4k"), where b and p divide N and K.
// docs/decisions/0008-weights-laid-out-before-tuning.md says why.
#pragma once

#include <utility>
#include <vector>

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

// An instruction that adds the products of `parts` neighbours, of types `a` and `b`, to each of `lanes` sums of type
// `c`.
struct DotShape {
  DataType a, b, c;
  int64_t lanes, parts;
};

// What a target computes with.
struct LayoutTarget {
  LayoutTarget(int64_t lanes, std::vector<DotShape> dots = {}) : lanes(lanes), dots(std::move(dots)) {}  // NOLINT
  int64_t lanes;                    // Of float32, in a vector.
  std::vector<DotShape> dots;       // That it has, the widest first.
  bool allows_winograd = false;     // Sums in another order, which are less exact (op/winograd.h).
  int64_t cache_bytes = 512 << 10;  // Of a core's second cache.
};

StatusOr<IRModule> AlterOpLayout(IRModule module, const LayoutTarget& target);

// The block for `channels` outputs per group: all lanes where at most an eighth as many zeros is added; 0: leave plain.
int64_t ChooseBlock(int64_t channels, int64_t groups, int64_t lanes);

}  // namespace lathe::relax
