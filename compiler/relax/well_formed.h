// What every pass may rely on and must keep.
#pragma once

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

// A-normal form (arguments are atoms, values are calls, fields or atoms); variables defined once and before use;
// dataflow variables stay in their block; function names unique; call_tir names a PrimFunc with as many parameters as
// arguments and one result, and their shapes and types agree. kInternal "well-formed @main lv3: ...": what it finds is
// our own mistake, but a pass reports it instead of ending the process.
Status CheckWellFormed(const IRModule& module);

}  // namespace lathe::relax
