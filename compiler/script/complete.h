// What a text may leave out of a function and TensorIR wants to have.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

struct AccessRegions {
  std::vector<BufferRegion> reads, writes;
};

// What init and body of `block` touch, in terms of its iter vars and of variables defined outside: variables of inner
// loops are relaxed over their range, a child block counts by its reads and writes. Conditions cut those ranges; an
// element that integers in memory choose (A[idx[vi]]) stays that element; of a view counts the part of its source.
// Buffers allocated inside are left out; so are, in `reads`, written buffers where the block has an init. Where no
// bound is found, a dimension is touched as a whole. One region per buffer, in order of appearance. What is done
// through a buffer that the block declares over the data of one of `owners`, or with that data itself, touches the
// whole owner.
using DataOwners = std::unordered_map<const ExprNode*, Buffer>;  // By BufferNode::data.
AccessRegions DetectAccessRegions(const BlockNode& block, const DataOwners& owners = {});
// Makes what it reads and writes from that.
void RecomputeRegions(BlockNode& block);

// What a block without iter vars is that is all of a body: below the root, or, in what programs write, as in TVM, the
// root itself.
enum class LoneBlock : uint8_t { kIsChild, kIsRoot };
// The function with a root block, if it has blocks or `root_allocs`. A function without blocks (lowered form) stays as
// it is.
PrimFunc Complete(PrimFunc func, std::vector<Buffer> root_allocs = {}, LoneBlock lone = LoneBlock::kIsChild);
// For functions that are put together, whose blocks a space is to find by name: the second "C" becomes "C_1".
PrimFunc WithUniqueBlockNames(PrimFunc func);

}  // namespace lathe
