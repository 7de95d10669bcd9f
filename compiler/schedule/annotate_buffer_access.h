#pragma once

#include "compiler/arith/index_map.h"
#include "compiler/schedule/buffer_site.h"
#include "compiler/schedule/trace_map.h"

namespace lathe {

// Says which region `block` reads or writes of its buffer_index-th buffer there, whatever its body shows: `ranges` maps
// its iter vars to begin and end of each dimension in turn. The block's annotation explicit_read_region or
// explicit_write_region lists the buffers for which it was said. The caller answers for it: primitives believe it.
Status AnnotateBufferAccess(Schedule& schedule, BlockRV block, int buffer_index, BufferSide side,
                            const TraceMap& ranges);

}  // namespace lathe
