// Structural comparison of any node, and where two differ.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/module.h"

namespace lathe {

// Both are for Expr, Stmt, Block, Buffer, BufferRegion, MatchBufferRegion, Range, IterVar, CommReducer, PrimFunc and
// IRModule, whose functions correspond by name. With `map_free_vars` free variables and buffers correspond one to one,
// too.

// Names of blocks are not compared, as in TVM, nor where a buffer over memory that is there is declared, or whether it
// is, nor whether memory and the buffer over it are allocated at once. Where the two differ first, as
// ".body.block.iter_vars[0].dom"; nullopt if they are equal.
template <typename T>
std::optional<std::string> FirstDifference(const T& a, const T& b, bool map_free_vars = false);
// Equal for nodes without a difference.
template <typename T>
uint64_t StructuralHashOf(const T& node, bool map_free_vars = false);

}  // namespace lathe
