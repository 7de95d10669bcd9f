// What the parser and the printer must agree on: spellings of operators, loops and axes, and the rules by which the
// parser fills in what a text leaves out. The printer leaves a thing out exactly where the rule gives it back.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compiler/ir/stmt.h"

namespace lathe {

// Infix and `folding` spellings convert types and fold constants (FoldBinary); `exact` does neither.
struct BinarySpelling {
  BinaryOp op;
  std::string_view infix;    // "+"; empty if Python has none.
  int precedence;            // Of the infix form; larger binds tighter.
  std::string_view exact;    // T.Add
  std::string_view folding;  // T.floordiv; empty if there is none.
};
inline constexpr int kOrPrecedence = 1, kAndPrecedence = 2, kNotPrecedence = 3, kComparePrecedence = 4,
                     kAddPrecedence = 9, kMulPrecedence = 10, kUnaryPrecedence = 11, kAtomPrecedence = 13;
const BinarySpelling& SpellingOf(BinaryOp op);
std::span<const BinarySpelling> BinarySpellings();
// Whether `a infix b` means a node of `op`: "/" is for floats only.
bool HasInfix(BinaryOp op, DataType operand);

std::string_view SpellingOf(ForKind kind);  // "serial" ...
std::optional<ForKind> ForKindOf(std::string_view spelling);
std::string_view SpellingOf(IterKind kind);                     // "spatial" ...
std::optional<IterKind> IterKindOf(std::string_view spelling);  // Short forms, too: "S".
char RemapLetter(IterKind kind);                                // 'S', of the first four.
// As T.iter_var writes them: "DataPar", "ThreadIndex", "CommReduce" ...
std::string_view NameOfAxisType(IterKind kind);
std::optional<IterKind> AxisTypeOf(std::string_view name);

// The attribute that T.launch_thread of the axis stands for.
inline std::string_view LaunchKey(std::string_view thread_tag) {
  return thread_tag == "vthread" || thread_tag.starts_with("vthread.") ? "virtual_thread" : "thread_extent";
}

// The type of T.name(args), where nothing else is said. nullopt: the call must be written with its type
// (T.call_intrin).
std::optional<DataType> InferCallType(const Op& op, std::span<const Expr> args);
// What the parameters of an operation are called; none of those that take any number of arguments.
std::span<const std::string_view> ParamsOf(const Op& op);
bool TakesTypeFirst(const Op& op);  // T.reinterpret("float32", x), T.infinity("float32").
inline bool MatchesArgs(const Op& op) { return op.result <= OpResult::kPredicate && op.result != OpResult::kNamed; }
size_t FirstMatchedArg(const Op& op);

// TVM has an operation of floats for abs: tir.fabs.
inline std::string_view TvmNameOf(const Op& op) { return op.name == "abs" ? "fabs" : op.name; }
inline const Op* FindOpOfTvm(std::string_view name) { return FindOp(name == "fabs" ? "abs" : name); }

// [begin, end): `end` - `begin` folded, or x where `end` is begin + x.
Range RangeFromEnds(const Expr& begin, const Expr& end);
// `end` such that RangeFromEnds(begin, end) is `range`, if there is one.
std::optional<Expr> EndOf(const Range& range);
bool SameRange(const Range& a, const Range& b);

// Where a function's body must be wrapped in a root block: blocks that no root block holds.
bool NeedsRootBlock(const Stmt& body);
inline constexpr std::string_view kRootBlockName = "root";

}  // namespace lathe
