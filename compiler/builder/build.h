// One build, start to end, in this process. Only lathe-builder calls it: LLVM may abort, and lld is not thread-safe.
#pragma once

#include "compiler/builder/build_spec.h"

namespace lathe {

BuildResult Build(const BuildSpec& spec);

}  // namespace lathe
