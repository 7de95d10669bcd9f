#include "compiler/script/dialect.h"

#include <algorithm>
#include <iterator>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Row number = value of the enum.
constexpr BinarySpelling kBinary[] = {
    {BinaryOp::kAdd, "+", 9, "Add", ""},
    {BinaryOp::kSub, "-", 9, "Sub", ""},
    {BinaryOp::kMul, "*", 10, "Mul", ""},
    {BinaryOp::kDiv, "/", 10, "Div", "truncdiv"},
    {BinaryOp::kFloorDiv, "//", 10, "FloorDiv", "floordiv"},
    {BinaryOp::kFloorMod, "%", 10, "FloorMod", "floormod"},
    {BinaryOp::kTruncMod, "", 0, "Mod", "truncmod"},
    {BinaryOp::kMin, "", 0, "Min", "min"},
    {BinaryOp::kMax, "", 0, "Max", "max"},
    {BinaryOp::kEQ, "==", 4, "EQ", ""},
    {BinaryOp::kNE, "!=", 4, "NE", ""},
    {BinaryOp::kLT, "<", 4, "LT", ""},
    {BinaryOp::kLE, "<=", 4, "LE", ""},
    {BinaryOp::kGT, ">", 4, "GT", ""},
    {BinaryOp::kGE, ">=", 4, "GE", ""},
    {BinaryOp::kAnd, "and", 2, "And", ""},
    {BinaryOp::kOr, "or", 1, "Or", ""},
};
constexpr std::string_view kForKinds[] = {"serial", "parallel", "vectorized", "unroll", "thread_binding"};
constexpr std::string_view kIterKinds[] = {"spatial", "reduce", "scan", "opaque"};
constexpr std::string_view kIterLetters = "SRCO";

constexpr std::string_view kTypeFirst[] = {"infinity",   "max_value", "min_value",     "reinterpret",
                                           "vectorhigh", "vectorlow", "vectorcombine", "undef"};
constexpr std::string_view kFloatOnly[] = {"acos", "acosh", "asin",    "asinh", "atan", "atan2", "atanh", "cos",
                                           "cosh", "erf",   "exp",     "exp10", "exp2", "log",   "log10", "log1p",
                                           "log2", "rsqrt", "sigmoid", "sin",   "sinh", "sqrt",  "tan",   "tanh"};
constexpr std::string_view kPredicates[] = {"isnan", "isinf", "isfinite", "likely", "assume"};

template <size_t N>
bool IsOneOf(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}
template <typename Enum, size_t N>
std::optional<Enum> IndexIn(const std::string_view (&names)[N], std::string_view name) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

}  // namespace

const BinarySpelling& SpellingOf(BinaryOp op) { return kBinary[static_cast<size_t>(op)]; }
std::span<const BinarySpelling> BinarySpellings() { return kBinary; }
bool HasInfix(BinaryOp op, DataType operand) {
  if (op == BinaryOp::kDiv) return operand.is_float();
  if (op == BinaryOp::kAnd || op == BinaryOp::kOr) return operand.is_bool();
  return !SpellingOf(op).infix.empty();
}

std::string_view SpellingOf(ForKind kind) { return kForKinds[static_cast<size_t>(kind)]; }
std::optional<ForKind> ForKindOf(std::string_view spelling) {
  if (spelling == "unrolled") return ForKind::kUnrolled;
  return IndexIn<ForKind>(kForKinds, spelling);
}
std::string_view SpellingOf(IterKind kind) { return kIterKinds[static_cast<size_t>(kind)]; }
std::optional<IterKind> IterKindOf(std::string_view spelling) {
  if (spelling.size() == 1 && kIterLetters.find(spelling[0]) != std::string_view::npos)
    return static_cast<IterKind>(kIterLetters.find(spelling[0]));
  return IndexIn<IterKind>(kIterKinds, spelling);
}
char RemapLetter(IterKind kind) { return kIterLetters[static_cast<size_t>(kind)]; }

bool TakesTypeFirst(const Op& op) { return IsOneOf(kTypeFirst, op.name); }
size_t FirstMatchedArg(const Op& op) { return op.name == "if_then_else" ? 1 : 0; }

std::optional<DataType> InferCallType(const Op& op, std::span<const Expr> args) {
  if (TakesTypeFirst(op)) return std::nullopt;
  if (op.name == "tvm_storage_sync") return kIndexType;
  if (args.size() <= FirstMatchedArg(op)) return std::nullopt;
  const DataType type = args[FirstMatchedArg(op)].dtype();
  if (op.name == "ldexp") return type;  // The exponent is an int.
  if (op.name == "if_then_else" && !args[0].dtype().is_bool()) return std::nullopt;
  if (args.size() > FirstMatchedArg(op) + 1 && type.code == DataType::Code::kHandle) return std::nullopt;
  for (const Expr& arg : args.subspan(FirstMatchedArg(op))) {
    if (arg.dtype() != type) return std::nullopt;
  }
  if (IsOneOf(kFloatOnly, op.name) && !type.is_float()) return std::nullopt;
  if (IsOneOf(kPredicates, op.name)) return DataType::Bool(type.lanes);
  if (op.name == "vector_reduce_add") return type.element();
  return type;
}

Range RangeFromEnds(const Expr& begin, const Expr& end) {
  const Binary* sum = end.As<Binary>();
  if (sum != nullptr && sum->op == BinaryOp::kAdd && StructuralEqual(sum->a, begin)) return {begin, sum->b};
  return {begin, end - begin};
}

std::optional<Expr> EndOf(const Range& range) {
  if (range.min.dtype() != range.extent.dtype() || !range.min.dtype().is_int() || !range.min.dtype().is_scalar())
    return std::nullopt;
  const Expr folded = range.min + range.extent;
  if (StructuralEqual(RangeFromEnds(range.min, folded).extent, range.extent)) return folded;
  return MakeBinary(BinaryOp::kAdd, range.min, range.extent);
}

bool SameRange(const Range& a, const Range& b) {
  return StructuralEqual(a.min, b.min) && StructuralEqual(a.extent, b.extent);
}

bool NeedsRootBlock(const Stmt& body) {
  if (const BlockRealize* realize = body.As<BlockRealize>()) {
    return !realize->block->iter_vars.empty() || realize->block->name != kRootBlockName;
  }
  bool has_block = false;
  const std::function<void(const Stmt&)> look = [&](const Stmt& stmt) {
    has_block = has_block || stmt.As<BlockRealize>() != nullptr;
  };
  PostOrderVisit(body, look);
  return has_block;
}

}  // namespace lathe
