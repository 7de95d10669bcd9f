#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Puts data-parallel blocks into their consumers (TVM's AutoInline): every one that can be inlined, except into a
// reduction that uses a value more than once or computes much for it, and except padding into anything but plain
// element-wise code. Then chains of element-wise blocks behind a reduction are one block. Records the primitives it
// used.
Status AutoInline(Schedule& schedule);

// Whether the block in this row is one of them; what the primitive refuses stays, all the same.
bool ShouldInline(const Schedule& schedule, int row);

}  // namespace lathe
