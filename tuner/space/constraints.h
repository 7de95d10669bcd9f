// Which candidates are worth a build.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// Whether a candidate may be built for a CPU: its register tile fits the target, its unrolled extents are sane.
// FailedPrecondition says which bound it breaks. Cheap: nothing is lowered.
Status CheckConstraints(const Schedule& candidate, const Target& target);

}  // namespace lathe
