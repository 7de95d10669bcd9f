// Every operator that has a kernel becomes call_tir of a PrimFunc; views become R.reshape, which costs nothing when
// memory is planned. Constants without dimensions become numbers inside the PrimFunc. Equal PrimFuncs are made once. A
// call that only copies what lies together in memory says so (slices.h).
#pragma once

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

StatusOr<IRModule> LegalizeOps(IRModule module);

}  // namespace lathe::relax
