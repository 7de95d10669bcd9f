#include "compiler/ir/dot_call.h"

#include <algorithm>
#include <iterator>

namespace lathe {
namespace {

// How a part of a number is read.
enum class Part : uint8_t { kUnsigned, kSigned, kBFloat };
struct Row {
  DotInstruction instruction;
  Part a, b;
  int num_parts;           // Of the arguments, for each lane of the result.
  bool saturates = false;  // To the result's type.
};

constexpr Part kU = Part::kUnsigned, kS = Part::kSigned, kB = Part::kBFloat;
constexpr DataType Int(int bits, int lanes) { return DataType::Int(bits, lanes); }

constexpr Row kRows[] = {
    {{"llvm.x86.avx512.vpdpbusd.512", "avx512vnni", Int(32, 16), Int(32, 16), true}, kU, kS, 4},
    {{"llvm.x86.avx512.vpdpbusd.256", "avxvnni", Int(32, 8), Int(32, 8), true}, kU, kS, 4},
    {{"llvm.x86.avx512.vpdpbusd.128", "avxvnni", Int(32, 4), Int(32, 4), true}, kU, kS, 4},
    {{"llvm.x86.avx512.vpdpwssd.512", "avx512vnni", Int(32, 16), Int(32, 16), true}, kS, kS, 2},
    {{"llvm.x86.avx512.vpdpwssd.256", "avxvnni", Int(32, 8), Int(32, 8), true}, kS, kS, 2},
    {{"llvm.x86.avx512bf16.dpbf16ps.512", "avx512bf16", DataType::Float(32, 16), DataType::BFloat(32), true},
     kB,
     kB,
     2},
    {{"llvm.x86.avx512.pmaddubs.w.512", "avx512bw", Int(16, 32), Int(8, 64), false}, kU, kS, 2, true},
    {{"llvm.x86.avx512.pmaddw.d.512", "avx512bw", Int(32, 16), Int(16, 32), false}, kS, kS, 2},
    {{"llvm.aarch64.neon.sdot", "dotprod", Int(32, 4), Int(8, 16), true}, kS, kS, 4},
    {{"llvm.aarch64.neon.udot", "dotprod", Int(32, 4), Int(8, 16), true}, kU, kU, 4},
};

using Args = std::span<const Expr>;

// LLVM's integers have no sign.
bool AreSame(DataType a, DataType b) {
  return a == b || (a.is_int() && b.is_int() && a.bits == b.bits && a.lanes == b.lanes);
}

// LLVM's own name of a function for several types has these behind it: "llvm.aarch64.neon.sdot.v4i32.v16i8".
bool IsNamed(const DotInstruction& it, std::string_view name) {
  return name.starts_with(it.name) && (name.size() == it.name.size() || name[it.name.size()] == '.');
}

const Row* FindRow(std::string_view name, DataType type, Args args) {
  const auto is_it = [&](const Row& row) {
    const DotInstruction& it = row.instruction;
    const size_t first = it.has_sum ? 1 : 0;
    return IsNamed(it, name) && args.size() == first + 2 && AreSame(type, it.result) &&
           (first == 0 || AreSame(args[0].dtype(), it.result)) && AreSame(args[first].dtype(), it.argument) &&
           AreSame(args[first + 1].dtype(), it.argument);
  };
  const auto found = std::find_if(std::begin(kRows), std::end(kRows), is_it);
  return found == std::end(kRows) ? nullptr : &*found;
}

Expr Bits(std::string_view op, const Expr& a, int64_t b) {
  return MakeCall(a.dtype(), op, {a, IntConst(a.dtype(), b)});
}

// Part `i` of each of the numbers, which are integers as wide as the result's.
Expr PartOf(const Expr& numbers, int i, const Row& row, Part part) {
  const DataType result = row.instruction.result;
  const int width = result.bits / row.num_parts, above = result.bits - width;
  const Expr last = i + 1 == row.num_parts ? numbers : Bits("shift_left", numbers, above - width * i);
  if (part == Part::kBFloat)
    return MakeCall(result, "reinterpret", {i == 0 ? last : Bits("bitwise_and", last, -(int64_t{1} << width))});
  const Expr first = Bits("shift_right", last, above);
  return MakeCast(DataType::Int(32, result.lanes),
                  part == Part::kSigned ? first : Bits("bitwise_and", first, (int64_t{1} << width) - 1));
}

Expr Saturated(const Expr& sum, DataType type) {
  const int64_t most = (int64_t{1} << (type.bits - 1)) - 1;
  return MakeCast(type, Max(Min(sum, IntConst(sum.dtype(), most)), IntConst(sum.dtype(), -most - 1)));
}

}  // namespace

std::optional<Expr> DotCall(std::string_view name, DataType type, Args args) {
  const Row* row = FindRow(name, type, args);
  if (row == nullptr) return std::nullopt;
  const DotInstruction& it = row->instruction;
  const DataType whole = DataType::Int(it.result.bits, it.result.lanes);
  const auto numbers = [&](const Expr& e) { return e.dtype() == whole ? e : MakeCall(whole, "reinterpret", {e}); };
  const Expr a = numbers(args[args.size() - 2]), b = numbers(args[args.size() - 1]);
  std::optional<Expr> sum;
  if (it.has_sum) sum = AreSame(args[0].dtype(), whole) ? MakeCast(whole, args[0]) : args[0];
  for (int i = row->num_parts; i-- > 0;) {
    const Expr product = PartOf(a, i, *row, row->a) * PartOf(b, i, *row, row->b);
    sum = sum ? *sum + product : product;
  }
  return MakeCast(type, row->saturates ? Saturated(*sum, it.result) : *sum);
}

std::optional<DotUse> AsDotInstruction(const Expr& e) {
  const Call* call = e.As<Call>();
  if (call == nullptr || !call->op->name.starts_with("call_llvm") || call->args.size() < 2) return std::nullopt;
  const StringImm* name = call->args[0].As<StringImm>();
  if (name == nullptr) return std::nullopt;
  Args args = Args(call->args).subspan(1);
  if (args[0].dtype() == DataType::UInt(32)) args = args.subspan(1);  // TVM 0.18's number of types that overload it.
  const Row* row = FindRow(name->value, e.dtype(), args);
  return row == nullptr ? std::nullopt : std::optional(DotUse{&row->instruction, args});
}

}  // namespace lathe
