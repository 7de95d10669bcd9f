// Writes TVMScript (docs/formats/tvmscript.md). parse(print(x)) is structurally x, and keeps every block's and
// function's name.
//
// Sugar (T.grid, T.axis.remap, infix operators, an implicit root block) is used exactly where the parser's rules give
// the node back.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace lathe {

std::string Print(const IRModule& module);  // A whole file, imports included.
std::string Print(const PrimFunc& func);    // "@T.prim_func ...", without imports.
// Excerpts for messages and dumps. Names of free variables and buffers stand as they are; what is printed need not
// parse alone.
std::string Print(const Stmt& stmt);
std::string Print(const Expr& expr);
std::string Print(const BufferRegion& region);

}  // namespace lathe
