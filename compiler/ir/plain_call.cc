#include "compiler/ir/plain_call.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "compiler/ir/dot_call.h"

namespace lathe {
namespace {

using Args = std::span<const Expr>;
struct Named {
  std::string_view name;
  std::string_view op;
};
// Of floats, by their names in the C library and in LLVM; "" where the operation is called so too.
constexpr Named kFloatFunctions[] = {
    {"acos", ""},     {"acosh", ""},         {"asin", ""},      {"asinh", ""},
    {"atan", ""},     {"atan2", ""},         {"atanh", ""},     {"ceil", ""},
    {"copysign", ""}, {"cos", ""},           {"cosh", ""},      {"erf", ""},
    {"exp", ""},      {"exp10", ""},         {"exp2", ""},      {"fabs", "abs"},
    {"floor", ""},    {"fma", ""},           {"fmod", ""},      {"fmuladd", "fma"},
    {"hypot", ""},    {"ldexp", ""},         {"log", ""},       {"log10", ""},
    {"log1p", ""},    {"log2", ""},          {"nearbyint", ""}, {"nextafter", ""},
    {"pow", ""},      {"rint", "nearbyint"}, {"round", ""},     {"roundeven", "nearbyint"},
    {"sin", ""},      {"sinh", ""},          {"sqrt", ""},      {"tan", ""},
    {"tanh", ""},     {"trunc", ""},
};

Expr CallOf(DataType type, std::string_view op, Args args) { return MakeCall(type, op, {args.begin(), args.end()}); }
Expr As(DataType type, const Expr& e) { return MakeCast(type.shaped_as(e.dtype()), e); }
Expr WithSign(const Expr& e) { return As(DataType::Int(e.dtype().bits), e); }
Expr WithoutSign(const Expr& e) { return As(DataType::UInt(e.dtype().bits), e); }
Expr Number(const Expr& like, int64_t value) { return IntConst(like.dtype(), value); }
Expr Bits(std::string_view op, Expr a, Expr b) {
  MatchTypes(a, b);
  return MakeCall(a.dtype(), op, {a, b});
}

// C's fmin and fmax: where one is NaN, the other.
Expr OtherThanNan(const Expr& is_better, const Expr& a, const Expr& b) {
  const Expr is_nan = MakeCall(DataType::Bool().shaped_as(b.dtype()), "isnan", {b});
  return MakeSelect(MakeBinary(BinaryOp::kOr, is_nan, is_better), a, b);
}
Expr MinNum(Args args) { return OtherThanNan(MakeBinary(BinaryOp::kLT, args[0], args[1]), args[0], args[1]); }
Expr MaxNum(Args args) { return OtherThanNan(MakeBinary(BinaryOp::kGT, args[0], args[1]), args[0], args[1]); }

Expr PowInt(Args args) {
  const DataType type = args[0].dtype();
  const int64_t* power = AsIntConst(args[1]);
  const Expr exponent = power != nullptr ? FloatConst(type, static_cast<double>(*power))
                                         : MakeCast(type.shaped_as(args[1].dtype()), args[1]);
  return MakeCall(type, "pow", {args[0], exponent});
}

Expr LeadingZeros(Args args) {
  return MakeCast(args[0].dtype(), MakeCall(DataType::Int(32).shaped_as(args[0].dtype()), "clz", {args[0]}));
}
// As many as there are bits below the lowest one.
Expr TrailingZeros(Args args) {
  const Expr& x = args[0];
  const Expr below = Bits("bitwise_and", MakeCall(x.dtype(), "bitwise_not", {x}), x - Number(x, 1));
  return MakeCall(x.dtype(), "popcount", {below});
}

// Of numbers of up to 32 bits: computed in 64 and brought to the nearest end.
Expr Saturated(BinaryOp op, DataType type, Args args) {
  const DataType wide = DataType::Int(64).shaped_as(args[0].dtype());
  const bool is_signed = type.is_signed_int();
  const int64_t most = (int64_t{1} << (type.bits - (is_signed ? 1 : 0))) - 1, least = is_signed ? -most - 1 : 0;
  const auto widened = [&](const Expr& e) { return MakeCast(wide, MakeCast(type, e)); };
  const Expr value = MakeBinary(op, widened(args[0]), widened(args[1]));
  return MakeCast(args[0].dtype(), Max(Min(value, IntConst(wide, most)), IntConst(wide, least)));
}
template <BinaryOp op, bool is_signed>
Expr SaturatedOf(Args args) {
  const DataType given = args[0].dtype();
  return Saturated(op, (is_signed ? DataType::Int(given.bits) : DataType::UInt(given.bits)).shaped_as(given), args);
}
template <BinaryOp op>
Expr OfUnsigned(Args args) {
  return MakeCast(args[0].dtype(), MakeBinary(op, WithoutSign(args[0]), WithoutSign(args[1])));
}
template <BinaryOp op>
Expr OfSigned(Args args) {
  return MakeCast(args[0].dtype(), MakeBinary(op, WithSign(args[0]), WithSign(args[1])));
}
Expr Magnitude(Args args) {
  return MakeCast(args[0].dtype(), MakeCall(WithSign(args[0]).dtype(), "abs", {WithSign(args[0])}));
}
Expr Ones(Args args) { return MakeCall(args[0].dtype(), "popcount", {args[0]}); }

// What no operation is; `bits` are the most that its integers may have, 0: of floats.
struct Made {
  std::string_view name;
  size_t num_args;
  int bits;
  Expr (*make)(Args args);
};
constexpr Made kOfC[] = {
    {"abs", 1, 32, Magnitude},  {"fmax", 2, 0, MaxNum},      {"fmin", 2, 0, MinNum},
    {"labs", 1, 64, Magnitude}, {"llabs", 1, 64, Magnitude},
};
constexpr Made kOfLlvm[] = {
    {"abs", 2, 64, Magnitude},
    {"ctlz", 2, 64, LeadingZeros},
    {"ctpop", 1, 64, Ones},
    {"cttz", 2, 64, TrailingZeros},
    {"maxnum", 2, 0, MaxNum},
    {"minnum", 2, 0, MinNum},
    {"powi", 2, 0, PowInt},
    {"sadd.sat", 2, 32, SaturatedOf<BinaryOp::kAdd, true>},
    {"smax", 2, 64, OfSigned<BinaryOp::kMax>},
    {"smin", 2, 64, OfSigned<BinaryOp::kMin>},
    {"ssub.sat", 2, 32, SaturatedOf<BinaryOp::kSub, true>},
    {"uadd.sat", 2, 32, SaturatedOf<BinaryOp::kAdd, false>},
    {"umax", 2, 64, OfUnsigned<BinaryOp::kMax>},
    {"umin", 2, 64, OfUnsigned<BinaryOp::kMin>},
    {"usub.sat", 2, 32, SaturatedOf<BinaryOp::kSub, false>},
};

// Exponents are integers, flags are booleans; anything else is of the first one's type.
bool FitsFirst(Args args, bool has_exponent) {
  const auto fits = [&](const Expr& arg) {
    return arg.dtype() == args[0].dtype() || (has_exponent && arg.dtype().is_int()) || arg.dtype().is_bool();
  };
  return std::all_of(args.begin(), args.end(), fits);
}

const Made* FindMade(std::span<const Made> table, std::string_view name) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const Made& each) { return each.name == name; });
  return row == table.end() ? nullptr : &*row;
}
bool Takes(const Made& row, DataType type, Args args) {
  const bool fits = row.bits == 0 ? type.is_float() : type.is_int() && type.bits <= row.bits;
  return fits && args.size() == row.num_args && FitsFirst(args, row.name == "powi");
}

std::string_view FloatOp(std::string_view name) {
  const auto* row = std::find_if(std::begin(kFloatFunctions), std::end(kFloatFunctions),
                                 [&](const Named& each) { return each.name == name; });
  return row == std::end(kFloatFunctions) ? "" : row->op.empty() ? row->name : row->op;
}
std::optional<Expr> FloatCall(std::string_view name, DataType type, Args args) {
  const std::string_view op = FloatOp(name);
  if (op.empty() || !type.is_float() || static_cast<int>(args.size()) != FindOp(op)->num_args) return std::nullopt;
  if (!FitsFirst(args, op == "ldexp")) return std::nullopt;
  return CallOf(type, op, args);
}

std::optional<Expr> FunctionCall(std::span<const Made> table, std::string_view name, DataType type, Args args) {
  if (args.empty() || args[0].dtype() != type) return std::nullopt;
  const Made* made = FindMade(table, name);
  if (made == nullptr) return FloatCall(name, type, args);
  return Takes(*made, type, args) ? std::optional(made->make(args)) : std::nullopt;
}

// "sqrt" is of float64, "sqrtf" of float32.
std::optional<Expr> CLibraryCall(std::string_view name, DataType type, Args args) {
  if (!type.is_float()) return FunctionCall(kOfC, name, type, args);
  if (type.code != DataType::Code::kFloat || type.bits < 32) return std::nullopt;
  if (type.bits == 32 && !name.ends_with("f")) return std::nullopt;
  if (type.bits == 32) name.remove_suffix(1);
  return FunctionCall(kOfC, name, type, args);
}

// "llvm.fabs", also "llvm.fabs.f32"; TVM 0.18 writes the number of types that overload it before the arguments.
std::optional<Expr> LlvmCall(std::string_view name, DataType type, Args args) {
  if (!name.starts_with("llvm.") || args.empty()) return std::nullopt;
  const std::string_view whole = name;
  name.remove_prefix(5);
  const auto of = [&](std::string_view base, Args given) { return FunctionCall(kOfLlvm, base, type, given); };
  const std::string_view base = name.substr(0, name.rfind('.'));
  for (const Args given : {args, args[0].dtype() == DataType::UInt(32) ? args.subspan(1) : Args()}) {
    if (std::optional<Expr> dot = DotCall(whole, type, given)) return dot;
    if (std::optional<Expr> plain = of(name, given)) return plain;
    if (std::optional<Expr> plain = of(base, given)) return plain;
  }
  return std::nullopt;
}

std::optional<Expr> NamedCall(const Call& call, DataType type) {
  const StringImm* name = call.args.empty() ? nullptr : call.args[0].As<StringImm>();
  if (name == nullptr) return std::nullopt;
  const Args args = Args(call.args).subspan(1);
  return call.op->name.starts_with("call_llvm") ? LlvmCall(name->value, type, args)
                                                : CLibraryCall(name->value, type, args);
}

Expr Wide(const Expr& e) { return As(DataType::Int(64), e); }
// x * y / 2^shift, rounded to nearest, of numbers of 64 bits.
Expr RoundedProduct(const Expr& x, const Expr& y, const Expr& shift, DataType type) {
  const Expr one = Number(shift, 1);
  const Expr half = Bits("shift_left", one, shift - one);
  return MakeCast(type, Bits("shift_right", x * y + half, shift));
}
// x * y * 2^s, of fixed-point numbers with q bits behind the point.
Expr MultiplyShift(Args args, DataType type) {
  const Expr q = Wide(args[2]), s = Wide(args[3]), zero = Number(s, 0);
  const Expr shifted = Bits("shift_left", Wide(args[0]), Max(s, zero));
  return RoundedProduct(shifted, Wide(args[1]), q + Max(zero - s, zero), type);
}
// The same with a shift to the left and one to the right; conditions say which are done.
Expr MultiplyShiftPerAxis(Args args, DataType type) {
  const Expr left = Wide(args[2]), right = Wide(args[3]), q = Wide(args[4]);
  const Expr by_left = MakeSelect(args[5], left, Number(left, 0)),
             by_right = MakeSelect(args[6], right, Number(right, 0));
  return RoundedProduct(Bits("shift_left", Wide(args[0]), by_left), Wide(args[1]), q + by_right, type);
}
// x * 2^y: the whole part of y moves the exponent.
Expr ScaledByFloat(Args args, DataType type) {
  const Expr whole = MakeCall(type, "floor", {args[1]});
  const Expr scaled = MakeCall(type, "ldexp", {args[0], As(DataType::Int(32), whole)});
  return scaled * MakeCall(type, "exp2", {args[1] - whole});
}

bool AreInt32(Args args) {
  const auto is_int32 = [](const Expr& e) { return e.dtype().element() == DataType::Int(32) || e.dtype().is_bool(); };
  return std::all_of(args.begin(), args.end(), is_int32);
}
std::optional<Expr> RareCall(const Call& call, DataType type) {
  const std::string_view name = call.op->name;
  if (static_cast<int>(call.args.size()) != call.op->num_args) return std::nullopt;
  if (name == "q_multiply_shift" && AreInt32(call.args)) return MultiplyShift(call.args, type);
  if (name == "q_multiply_shift_per_axis" && AreInt32(call.args)) return MultiplyShiftPerAxis(call.args, type);
  if (name == "ldexp" && call.args[1].dtype() == type) return ScaledByFloat(call.args, type);
  return std::nullopt;
}

}  // namespace

std::optional<Expr> PlainCall(const Expr& e) {
  const Call* call = e.As<Call>();
  if (call == nullptr) return std::nullopt;
  return call->op->num_args < 0 ? NamedCall(*call, e.dtype()) : RareCall(*call, e.dtype());
}

}  // namespace lathe
