// The operations by which a warp computes with tiles: wmma fragments, ldmatrix, mma.sync. Private to this folder.
//
// A fragment is memory of the warp (scope "wmma.*"), element (row, column) of its matrix at row * columns + column; the
// first lane works for all. Of "warp" memory each lane has its own registers, and which element of a tile lies in which
// register of which lane is what the PTX ISA says.
#pragma once

#include "compiler/interpreter/code.h"

namespace lathe {

bool IsTileCall(const Call& call);
StatusOr<StmtCodePtr> CompileTileCall(const Call& call, Scope& scope);

}  // namespace lathe
