// What the attribute "target" of a function says.
#pragma once

#include <string>

#include "compiler/ir/stmt.h"

namespace lathe {

std::string TargetKind(const AttrMap& attrs);  // "cuda", "llvm" ...; empty: there is none.

}  // namespace lathe
