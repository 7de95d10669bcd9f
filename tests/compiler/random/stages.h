// What random programs consist of. Each function adds one statement to the draft, or says false where nothing there
// fits. Private to this folder.
#pragma once

#include "tests/compiler/random/nest.h"

namespace lathe {

// A new array from others: elementwise, stencil, transposed, padded, gathered.
bool AddMap(Draft& draft);
// Several arrays in one block, conditions, lets and loops in a block's body (block_stages.cc).
bool AddTwoOutputs(Draft& draft);
bool AddBranchInBlock(Draft& draft);
bool AddLetInBlock(Draft& draft);
bool AddLoopInBlock(Draft& draft);
bool AddLocalTile(Draft& draft);
bool AddReadView(Draft& draft);
bool AddWriteView(Draft& draft);
bool AddRowBuffer(Draft& draft);  // In a shared loop only: written anew, or once, by its iterations.
// Reductions with init; accumulation into what is there (reduction_stages.cc).
bool AddReduction(Draft& draft);
bool AddMatmul(Draft& draft);
bool AddAccumulation(Draft& draft);
// Two blocks with an array that nobody else reads, or one plain product (pair_stages.cc).
bool AddProduct(Draft& draft);        // Mostly with something added to it.
bool AddSlidingWindow(Draft& draft);  // Neighbours of what the first block makes.
// Arrays that exist already are written again, in part or whole (update_stages.cc).
bool AddInPlace(Draft& draft);
bool AddOverwrite(Draft& draft);
bool AddScatter(Draft& draft);
bool AddScan(Draft& draft);
bool AddSwap(Draft& draft);

}  // namespace lathe
