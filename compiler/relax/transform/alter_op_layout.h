// Lays constant weights out for vectors of output channels: conv weights OI<spatial> become [O/b][I]<spatial>[b]
// ("OIHW16o"), dense weights [N, K] become [N/b][K][b] ("NK16n"). A kernel then reads b output channels with one vector
// load. Data keeps its layout.
//
// b is the largest of lanes, lanes/2 ... 4 that divides O (O / groups for grouped convolutions); where none does and O
// > lanes, O is padded with zeros to a multiple of lanes. Depthwise and tiny convolutions stay plain.
// docs/decisions/0008-weights-laid-out-before-tuning.md says why.
#pragma once

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

StatusOr<IRModule> AlterOpLayout(IRModule module, int64_t lanes);

// The block for `channels` outputs per group: all lanes where at most an eighth as many zeros is added; 0: leave plain.
int64_t ChooseBlock(int64_t channels, int64_t groups, int64_t lanes);

}  // namespace lathe::relax
