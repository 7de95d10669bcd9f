// TVM's region cover.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Whether block `consumer` reads of buffers that its scope writes before it only what has surely been written in the
// same iteration of the loops around it and the writer: for each innermost loop (or scope) that it shares with writers,
// what they write for certain below it, together, covers what the consumer reads below it. Writes under conditions
// count where the conditions are known to hold; what is written outside of blocks covers nothing. A loop may run not
// at all unless its extent is known. Ask Schedule::IsRegionCover, which remembers.
bool IsRegionCovered(const Schedule& schedule, int consumer);

}  // namespace lathe
