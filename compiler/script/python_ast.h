// The syntax tree of the part of Python that TVMScript is written in. It knows nothing of TensorIR, so every dialect
// shares it.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/script/lexer.h"

namespace lathe {

enum class PyExprKind : uint8_t {
  kName,    // text
  kInt,     // int_value
  kFloat,   // float_value
  kString,  // string_value
  kTrue,
  kFalse,
  kNone,
  kAttribute,  // items[0] . text
  kCall,       // items[0] ( items[1..] ); the last keywords.size() items have these names
  kSubscript,  // items[0] [ items[1..] ]
  kSlice,      // items[0] : items[1] (: items[2])
  kTuple,
  kList,
  kDict,         // key, value, key, value ...
  kUnary,        // text: "-", "+", "~", "not"
  kBinary,       // items[0] text items[1]
  kCompare,      // a < b <= c: items a, b, c; operators "<", "<="
  kLogical,      // items joined by text: "and", "or"
  kConditional,  // items[0] if items[1] else items[2]
  kLambda,       // lambda keywords: items[0]
  kStar,         // *items[0], an argument or element
  kForeign,      // Python that only an evaluator reads: comprehensions, formatted strings ...
};

struct PyExpr {
  PyExprKind kind = PyExprKind::kName;
  uint32_t offset = 0;          // Where errors point.
  uint32_t begin = 0, end = 0;  // Its text in the source.
  int height = 1;               // Of the IR it stands for, at most.
  std::string_view text;
  std::string string_value;
  uint64_t int_value = 0;
  double float_value = 0;
  std::vector<const PyExpr*> items;
  std::vector<std::string_view> keywords;
  std::vector<std::string_view> operators;
};

enum class PyStmtKind : uint8_t {
  kExpr,    // value
  kAssign,  // target = value; target : annotation = value; target text= value
  kFor,     // for target in value: body
  kWhile,   // while value: body
  kIf,      // if value: body else: orelse (elif: one kIf in orelse)
  kWith,    // with value as target: body
  kAssert,  // assert value, message
  kPass,
  kReturn,    // return value
  kFunction,  // def text(params) -> annotation: body
  kClass,     // class text: body
  kImport,    // from text import names: (name as written, alias)
};

// kKeyword: after `*`; kRest: *args, without a name a bare `*`; kKeywords: **options.
enum class PyParamKind { kPlain, kKeyword, kRest, kKeywords };
struct PyParam {
  std::string_view name;
  uint32_t offset = 0;
  const PyExpr* annotation = nullptr;
  const PyExpr* otherwise = nullptr;  // The default.
  PyParamKind kind = PyParamKind::kPlain;
};

struct PyStmt {
  PyStmtKind kind = PyStmtKind::kPass;
  uint32_t offset = 0;
  std::string_view text;  // Name of a function, class or module, or the operator of an augmented assignment ("+").
  const PyExpr* target = nullptr;
  const PyExpr* annotation = nullptr;
  const PyExpr* value = nullptr;
  const PyExpr* message = nullptr;
  std::vector<const PyStmt*> body, orelse;
  std::vector<PyParam> params;
  std::vector<const PyExpr*> decorators;
  std::vector<std::pair<std::string_view, std::string_view>> names;
};

// A file. The nodes live in two flat stores, so that dropping a deep tree needs no deep stack.
struct PyFile {
  std::deque<PyExpr> exprs;
  std::deque<PyStmt> stmts;
  std::vector<const PyStmt*> body;
};

// How deep expressions and statements may be nested: every walk over IR recurses, and a hostile text must not end the
// process.
inline constexpr int kMaxNesting = 1000;

StatusOr<PyFile> ParsePython(const Source& source);

}  // namespace lathe
