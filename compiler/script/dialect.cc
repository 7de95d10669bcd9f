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
constexpr std::string_view kIterKinds[] = {"spatial",        "reduce",   "scan",       "opaque",       "thread_index",
                                           "virtual_thread", "unrolled", "vectorized", "parallelized", "tensorized"};
constexpr std::string_view kAxisTypes[] = {"DataPar",       "CommReduce", "Ordered",    "Opaque",       "ThreadIndex",
                                           "VirtualThread", "Unrolled",   "Vectorized", "Parallelized", "Tensorized"};
constexpr size_t kNumBlockKinds = 4;
constexpr std::string_view kIterLetters = "SRCO";

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
  const std::optional<IterKind> kind = IndexIn<IterKind>(kIterKinds, spelling);
  return kind && static_cast<size_t>(*kind) < kNumBlockKinds ? kind : std::nullopt;
}
std::string_view NameOfAxisType(IterKind kind) { return kAxisTypes[static_cast<size_t>(kind)]; }
std::optional<IterKind> AxisTypeOf(std::string_view name) { return IndexIn<IterKind>(kAxisTypes, name); }
char RemapLetter(IterKind kind) { return kIterLetters[static_cast<size_t>(kind)]; }

std::span<const std::string_view> ParamsOf(const Op& op) {
  static constexpr std::string_view kChoice[] = {"cond", "t", "f"}, kPair[] = {"x1", "x2"};
  static constexpr std::string_view kValues[] = {"x", "y", "z"}, kScaled[] = {"x", "y", "q", "s"};
  static constexpr std::string_view kPairOps[] = {"atan2", "copysign", "fmod", "hypot", "ldexp", "nextafter"};
  if (op.name == "if_then_else") return kChoice;
  if (op.name == "q_multiply_shift") return kScaled;
  if (std::find(std::begin(kPairOps), std::end(kPairOps), op.name) != std::end(kPairOps)) return kPair;
  const size_t count = op.num_args < 0 || op.num_args > 3 ? 0 : static_cast<size_t>(op.num_args);
  return std::span(kValues).first(count);
}
bool TakesTypeFirst(const Op& op) { return op.result == OpResult::kNamed; }
size_t FirstMatchedArg(const Op& op) { return op.name == "if_then_else" ? 1 : 0; }

namespace {

// Of an operation whose arguments are of one type.
std::optional<DataType> InferFromFirst(const Op& op, std::span<const Expr> args) {
  const size_t first = FirstMatchedArg(op);
  if (args.size() <= first) return std::nullopt;
  const DataType type = args[first].dtype();
  if (op.name == "ldexp") return type;  // The exponent is an int.
  if (op.name == "if_then_else" && !args[0].dtype().is_bool()) return std::nullopt;
  if (args.size() > first + 1 && type.code == DataType::Code::kHandle) return std::nullopt;
  for (const Expr& arg : args.subspan(first)) {
    if (arg.dtype() != type) return std::nullopt;
  }
  if (op.is_float_only && !type.is_float() && !type.is_int()) return std::nullopt;  // Of integers as in TVM: no code.
  if (op.result == OpResult::kPredicate) return DataType::Bool().shaped_as(type);
  return op.result == OpResult::kElement ? type.element() : type;
}

}  // namespace

std::optional<DataType> InferCallType(const Op& op, std::span<const Expr> args) {
  switch (op.result) {
    case OpResult::kNamed:
      return std::nullopt;
    case OpResult::kFirst:
    case OpResult::kElement:
    case OpResult::kPredicate:
      return InferFromFirst(op, args);
    case OpResult::kSecond:
      return args.size() < 2 ? std::nullopt : std::optional(args[1].dtype());
    case OpResult::kBool:
      return DataType::Bool();
    case OpResult::kInt32:
      return DataType::Int(32);
    case OpResult::kUInt32:
      return DataType::UInt(32);
    case OpResult::kHandle:
      return DataType::Handle();
    case OpResult::kVoid:
      return DataType::Void();
  }
  return std::nullopt;
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
  if (const BlockRealize* realize = body.As<BlockRealize>()) return !realize->block->iter_vars.empty();
  bool has_block = false;
  const std::function<void(const Stmt&)> look = [&](const Stmt& stmt) {
    has_block = has_block || stmt.As<BlockRealize>() != nullptr;
  };
  PostOrderVisit(body, look);
  return has_block;
}

}  // namespace lathe
