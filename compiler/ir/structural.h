// Structural equality and hash: equal up to the names of variables, buffers and the function; block names count, as in
// TVM traces do.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Variables and buffers correspond one to one, in order of first appearance; free ones must be the same object. Floats
// compare by bits.
bool StructuralEqual(const Expr& a, const Expr& b);
bool StructuralEqual(const Stmt& a, const Stmt& b);
bool StructuralEqual(const PrimFunc& a, const PrimFunc& b);
// Equal objects have equal hashes. For dedupe inside one process; never stored. Free variables hash by address.
uint64_t StructuralHash(const Expr& e);
uint64_t StructuralHash(const Stmt& s);
uint64_t StructuralHash(const PrimFunc& func);

}  // namespace lathe
