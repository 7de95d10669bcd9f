// Functions that nobody scheduled get threads: of each innermost block the data-parallel loops become one, which is
// split into blocks and threads.
//   for i in range(4096): B(i)  -->  for blockIdx_x, threadIdx_x of (4, 1024): B(i)   and "tir.is_scheduled"
#pragma once

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Blocks below a loop that is bound already stay; without data-parallel loops a block runs on one thread. More than 256
// blocks of threads are 256, each with a loop. Errors: of the schedule's primitives; a block whose loops are not one
// per iter var.
StatusOr<IRModule> DefaultGPUSchedule(IRModule module, int64_t max_threads);

}  // namespace lathe
