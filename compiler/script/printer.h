// Writes TVMScript (docs/formats/tvmscript.md). parse(print(x)) is structurally x, and keeps every block's and
// function's name.
//
// Sugar (T.grid, T.axis.remap, infix operators, an implicit root block) is used exactly where the parser's rules give
// the node back.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace lathe {

// What blocks and their buffers are called: T.block as in TVM 0.18, or T.sblock as TVM prints today. Today's TVM has no
// word for some statements (T.allocate, a let with a scope of its own): those stay as they were.
enum class Spelling { kV018, kToday };
std::string Print(const IRModule& module, Spelling spelling = Spelling::kV018);  // A whole file, imports included.
std::string Print(const PrimFunc& func, Spelling spelling = Spelling::kV018);    // "@T.prim_func ...", no imports.
// Excerpts for messages and dumps. Names of free variables and buffers stand as they are; what is printed need not
// parse alone.
std::string Print(const Stmt& stmt);
std::string Print(const Expr& expr);
std::string Print(const BufferRegion& region);

}  // namespace lathe
