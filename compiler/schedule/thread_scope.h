// Which threads share memory: one copy of "shared" for the threads of a block, one of "global" for all.
#pragma once

#include <string_view>

#include "compiler/arith/iter_map.h"

namespace lathe {

class Schedule;

// Whether iterations of a loop bound to `thread_axis` share one copy of a buffer of storage `scope`.
bool IsSharedByThreads(std::string_view scope, std::string_view thread_axis);

// The threads around `loop`, itself included, that use one copy of a buffer of storage `scope` together: what any of
// them needs of it is made before all. None of "global": memory of the whole device is not waited for.
IterDomain ThreadsThatShare(const Schedule& schedule, int loop, std::string_view scope);

}  // namespace lathe
