// Writes TVMScript (docs/formats/tvmscript.md). parse(print(x)) is structurally x, and keeps every block's and
// function's name.
//
// Sugar (T.grid, T.axis.remap, infix operators, an implicit root block) is used exactly where the parser's rules give
// the node back.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/module.h"

namespace lathe {

// What blocks and their buffers are called: T.block as in TVM 0.18, or T.sblock as TVM prints today. Today's TVM has no
// word for some statements (T.allocate, a let with a scope of its own): those stay as they were.
enum class Spelling { kV018, kToday };
struct PrintOptions {
  Spelling spelling = Spelling::kV018;
  // What else TVM's printer does and ours does not need: comments for the imports and the implicit root block, element
  // types left out where they are float32, calls as statements, strides named by texts, free variables declared.
  bool as_tvm = false;
  bool syntax_sugar = true;  // T.grid, T.axis.remap, the implicit root block.
  std::string name;          // Of the function or class, instead of its own.
  std::string tir_prefix = "T", ir_prefix = "I";
  int indent_spaces = 4;
  DataType int_dtype = kIndexType;              // Of numbers that are written without a type.
  std::optional<DataType> float_dtype;          // Likewise; none: every float has its type.
  DataType buffer_dtype = DataType::Float(32);  // Of buffers whose type is left out, as_tvm.
  bool verbose_expr = false;                    // An expression alone: what it needs is declared before.
};
std::string Print(const IRModule& module, const PrintOptions& options = {});  // A whole file, imports included.
std::string Print(const PrimFunc& func, const PrintOptions& options = {});    // "@T.prim_func ...", no imports.
std::string Print(const Stmt& stmt, const PrintOptions& options);
std::string Print(const Block& block, const PrintOptions& options);  // Bound to nothing.
std::string Print(const Expr& expr, const PrintOptions& options);
std::string Print(const IterVar& axis, const PrintOptions& options);
std::string Print(const CommReducer& reducer, const PrintOptions& options);
std::string Print(const Buffer& buffer, const PrintOptions& options);  // Its name.
std::string Print(const BufferRegion& region, const PrintOptions& options);
std::string Print(const MatchBufferRegion& match, const PrintOptions& options);
// Excerpts for messages and dumps. Names of free variables and buffers stand as they are; what is printed need not
// parse alone.
std::string Print(const Stmt& stmt);
std::string Print(const Expr& expr);
std::string Print(const BufferRegion& region);

}  // namespace lathe
