// Which threads share memory: one copy of "shared" for the threads of a block, one of "global" for all.
#pragma once

#include <string_view>

namespace lathe {

// Whether iterations of a loop bound to `thread_axis` share one copy of a buffer of storage `scope`.
bool IsSharedByThreads(std::string_view scope, std::string_view thread_axis);

}  // namespace lathe
