// Asking a schedule for handles.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// The only block of that name in function `func_name`; "" is the function worked on. NotFound lists the names there
// are.
StatusOr<BlockRV> GetBlock(Schedule& schedule, const std::string& name, const std::string& func_name = "");
// The loops between the block and its scope, outermost first.
StatusOr<std::vector<LoopRV>> GetLoops(Schedule& schedule, BlockRV block);
// Blocks directly below, in order of the text.
StatusOr<std::vector<BlockRV>> GetChildBlocks(Schedule& schedule, BlockRV block);
StatusOr<std::vector<BlockRV>> GetLoopChildBlocks(Schedule& schedule, LoopRV loop);
// Blocks directly below that write a buffer which `scope_block` does not allocate.
StatusOr<std::vector<BlockRV>> GetOutputBlocks(Schedule& schedule, BlockRV scope_block);
// Blocks of the same scope that wrote before what it reads or writes; that later read or write what it writes.
StatusOr<std::vector<BlockRV>> GetProducers(Schedule& schedule, BlockRV block);
StatusOr<std::vector<BlockRV>> GetConsumers(Schedule& schedule, BlockRV block);

}  // namespace lathe
