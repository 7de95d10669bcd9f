#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Attaches `value` to the block or loop under `key`; replaced if it is there.
Status Annotate(Schedule& schedule, BlockRV block, const std::string& key, const Attr& value);
Status Annotate(Schedule& schedule, LoopRV loop, const std::string& key, const Attr& value);
Status Annotate(Schedule& schedule, BlockRV block, const std::string& key, VarRV value);  // The sampled number.
Status Annotate(Schedule& schedule, LoopRV loop, const std::string& key, VarRV value);
// A list with sampled numbers in it.
Status Annotate(Schedule& schedule, BlockRV block, const std::string& key, const TraceItems& items);
Status Annotate(Schedule& schedule, LoopRV loop, const std::string& key, const TraceItems& items);
// Takes it away; NotFound if it is not there.
Status Unannotate(Schedule& schedule, BlockRV block, const std::string& key);
Status Unannotate(Schedule& schedule, LoopRV loop, const std::string& key);
// Marks the end of what a search records: the rest of the trace is computed from the annotations.
Status EnterPostproc(Schedule& schedule);

}  // namespace lathe
