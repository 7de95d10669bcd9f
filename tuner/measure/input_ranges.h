// Which integers may stand in the inputs of a function: those that are indices, or bounds of loops around them, have to
// lead into the buffers that they index. Pure.
#pragma once

#include <vector>

#include "compiler/ir/stmt.h"
#include "runner/input_generator.h"

namespace lathe {

// For every integer parameter, buffer or scalar, that decides where something is read or written: from 0 to the largest
// number (the extent less 1, or that halved as often as it takes) with which all indices are shown to be in range; to
// the extent less 1 where nothing is shown, as when a condition guards them. Extents that are no constants ask for
// nothing.
std::vector<ParamRange> InputRangesOf(const PrimFunc& func);

}  // namespace lathe
