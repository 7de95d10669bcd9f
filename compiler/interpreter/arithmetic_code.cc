// Compiles binary operators and the operations of compiler/ir/op.cc.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "compiler/interpreter/code.h"
#include "compiler/ir/integer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

template <typename F>
class FloatBinary : public ExprCode {
 public:
  FloatBinary(FloatRounding rounding, ExprCodePtr a, ExprCodePtr b)
      : rounding_(rounding), a_(std::move(a)), b_(std::move(b)) {}
  Value Eval(Machine& machine, int lane) const override {
    const double a = a_->Eval(machine, lane).f, b = b_->Eval(machine, lane).f;
    return {.f = rounding_(F{}(a, b))};
  }

 private:
  FloatRounding rounding_;
  ExprCodePtr a_, b_;
};

template <typename F>
class FloatCompare : public ExprCode {
 public:
  FloatCompare(ExprCodePtr a, ExprCodePtr b) : a_(std::move(a)), b_(std::move(b)) {}
  Value Eval(Machine& machine, int lane) const override {
    const double a = a_->Eval(machine, lane).f, b = b_->Eval(machine, lane).f;
    return {.i = F{}(a, b)};
  }

 private:
  ExprCodePtr a_, b_;
};

template <typename F>
class IntBinary : public ExprCode {
 public:
  IntBinary(DataType dtype, ExprCodePtr a, ExprCodePtr b)
      : bits_(dtype.bits), is_signed_(dtype.is_signed_int()), a_(std::move(a)), b_(std::move(b)) {}
  Value Eval(Machine& machine, int lane) const override {
    const int64_t a = a_->Eval(machine, lane).i, b = b_->Eval(machine, lane).i;
    return {.i = WrapToWidth(F{}(a, b), bits_, is_signed_)};
  }

 private:
  int bits_;
  bool is_signed_;
  ExprCodePtr a_, b_;
};

// Division and remainder in the dtype's own signedness.
class IntDivision : public ExprCode {
 public:
  IntDivision(BinaryOp op, DataType dtype, ExprCodePtr a, ExprCodePtr b, const Site* site)
      : op_(op), dtype_(dtype), a_(std::move(a)), b_(std::move(b)), site_(site) {}
  Value Eval(Machine& machine, int lane) const override {
    const int64_t a = a_->Eval(machine, lane).i, b = b_->Eval(machine, lane).i;
    if (b == 0) {
      machine.Fail(StatusCode::kInvalidArgument, *site_, fmt::format("division by zero: the dividend is {}", a));
      return {.i = 0};
    }
    return {.i = WrapToWidth(Divide(a, b), dtype_.bits, dtype_.is_signed_int())};
  }

 private:
  int64_t Divide(int64_t a, int64_t b) const {
    const bool is_quotient = op_ == BinaryOp::kDiv || op_ == BinaryOp::kFloorDiv;
    if (!dtype_.is_signed_int()) {
      const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<int64_t>(is_quotient ? x / y : x % y);
    }
    if (b == -1)
      return is_quotient ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : 0;  // The least value has no opposite.
    if (op_ == BinaryOp::kDiv) return a / b;
    if (op_ == BinaryOp::kTruncMod) return a % b;
    return is_quotient ? FloorDivide(a, b) : FloorModulo(a, b);
  }
  BinaryOp op_;
  DataType dtype_;
  ExprCodePtr a_, b_;
  const Site* site_;
};

// ---- The functions of two operands.
struct AddF {
  double operator()(double a, double b) const { return a + b; }
};
struct SubF {
  double operator()(double a, double b) const { return a - b; }
};
struct MulF {
  double operator()(double a, double b) const { return a * b; }
};
struct DivF {
  double operator()(double a, double b) const { return a / b; }
};
struct FloorDivF {
  double operator()(double a, double b) const { return std::floor(a / b); }
};
struct FloorModF {
  double operator()(double a, double b) const { return a - std::floor(a / b) * b; }
};
struct ModF {
  double operator()(double a, double b) const { return std::fmod(a, b); }
};
struct MinF {
  double operator()(double a, double b) const { return b < a ? b : a; }
};
struct MaxF {
  double operator()(double a, double b) const { return b > a ? b : a; }
};
struct Atan2F {
  double operator()(double a, double b) const { return std::atan2(a, b); }
};
struct CopysignF {
  double operator()(double a, double b) const { return std::copysign(a, b); }
};
struct HypotF {
  double operator()(double a, double b) const { return std::hypot(a, b); }
};
struct ScalefF {  // NaN for an exponent that is none.
  double operator()(double a, double b) const { return std::isnan(b) ? b : std::scalbn(a, static_cast<int>(b)); }
};
struct PowF {
  double operator()(double a, double b) const { return std::pow(a, b); }
};

int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }
struct AddI {
  int64_t operator()(int64_t a, int64_t b) const { return Signed(uint64_t(a) + uint64_t(b)); }
};
struct SubI {
  int64_t operator()(int64_t a, int64_t b) const { return Signed(uint64_t(a) - uint64_t(b)); }
};
struct MulI {
  int64_t operator()(int64_t a, int64_t b) const { return Signed(uint64_t(a) * uint64_t(b)); }
};
template <typename T>
struct MinI {
  int64_t operator()(int64_t a, int64_t b) const { return T(a) < T(b) ? a : b; }
};
template <typename T>
struct MaxI {
  int64_t operator()(int64_t a, int64_t b) const { return T(a) > T(b) ? a : b; }
};
template <typename T>
struct EqI {
  int64_t operator()(T a, T b) const { return a == b; }
};
template <typename T>
struct NeI {
  int64_t operator()(T a, T b) const { return a != b; }
};
template <typename T>
struct LtI {
  int64_t operator()(T a, T b) const { return a < b; }
};
template <typename T>
struct LeI {
  int64_t operator()(T a, T b) const { return a <= b; }
};
template <typename T>
struct GtI {
  int64_t operator()(T a, T b) const { return a > b; }
};
template <typename T>
struct GeI {
  int64_t operator()(T a, T b) const { return a >= b; }
};
struct AndI {
  int64_t operator()(int64_t a, int64_t b) const { return a & b; }
};
struct OrI {
  int64_t operator()(int64_t a, int64_t b) const { return a | b; }
};
struct XorI {
  int64_t operator()(int64_t a, int64_t b) const { return a ^ b; }
};
struct ShlI {
  int64_t operator()(int64_t a, int64_t b) const { return b < 0 || b > 63 ? 0 : Signed(uint64_t(a) << b); }
};
struct SarI {
  int64_t operator()(int64_t a, int64_t b) const { return a >> (b < 0 || b > 63 ? 63 : b); }
};
struct ShrI {
  int64_t operator()(int64_t a, int64_t b) const { return b < 0 || b > 63 ? 0 : Signed(uint64_t(a) >> b); }
};

template <template <typename> class F>
ExprCodePtr MakeIntBySign(DataType operand, DataType result, ExprCodePtr a, ExprCodePtr b) {
  if (operand.code == DataType::Code::kUInt && operand.bits == 64)
    return ExprCodePtr(new IntBinary<F<uint64_t>>(result, std::move(a), std::move(b)));
  return ExprCodePtr(new IntBinary<F<int64_t>>(result, std::move(a), std::move(b)));
}

FloatRounding RoundingOf(DataType dtype, const Scope& scope) {
  return scope.float_mode() == FloatMode::kExact ? FloatRounding(dtype) : FloatRounding::None();
}

ExprCodePtr CompileFloatBinary(BinaryOp op, FloatRounding rounding, ExprCodePtr a, ExprCodePtr b) {
  const auto arithmetic = [&]<typename F>(F) {
    return ExprCodePtr(new FloatBinary<F>(rounding, std::move(a), std::move(b)));
  };
  const auto comparison = [&]<typename F>(F) { return ExprCodePtr(new FloatCompare<F>(std::move(a), std::move(b))); };
  switch (op) {
    case BinaryOp::kAdd:
      return arithmetic(AddF{});
    case BinaryOp::kSub:
      return arithmetic(SubF{});
    case BinaryOp::kMul:
      return arithmetic(MulF{});
    case BinaryOp::kDiv:
      return arithmetic(DivF{});
    case BinaryOp::kFloorDiv:
      return arithmetic(FloorDivF{});
    case BinaryOp::kFloorMod:
      return arithmetic(FloorModF{});
    case BinaryOp::kTruncMod:
      return arithmetic(ModF{});
    case BinaryOp::kMin:
      return arithmetic(MinF{});
    case BinaryOp::kMax:
      return arithmetic(MaxF{});
    case BinaryOp::kEQ:
      return comparison(std::equal_to<double>{});
    case BinaryOp::kNE:
      return comparison(std::not_equal_to<double>{});
    case BinaryOp::kLT:
      return comparison(std::less<double>{});
    case BinaryOp::kLE:
      return comparison(std::less_equal<double>{});
    case BinaryOp::kGT:
      return comparison(std::greater<double>{});
    case BinaryOp::kGE:
      return comparison(std::greater_equal<double>{});
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      break;
  }
  return nullptr;
}

ExprCodePtr CompileIntBinary(BinaryOp op, DataType type, ExprCodePtr a, ExprCodePtr b, const Site* site) {
  const auto arithmetic = [&]<typename F>(F) {
    return ExprCodePtr(new IntBinary<F>(type, std::move(a), std::move(b)));
  };
  const DataType boolean = DataType::Bool();
  switch (op) {
    case BinaryOp::kAdd:
      return arithmetic(AddI{});
    case BinaryOp::kSub:
      return arithmetic(SubI{});
    case BinaryOp::kMul:
      return arithmetic(MulI{});
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncMod:
      return ExprCodePtr(new IntDivision(op, type, std::move(a), std::move(b), site));
    case BinaryOp::kMin:
      return MakeIntBySign<MinI>(type, type, std::move(a), std::move(b));
    case BinaryOp::kMax:
      return MakeIntBySign<MaxI>(type, type, std::move(a), std::move(b));
    case BinaryOp::kEQ:
      return MakeIntBySign<EqI>(type, boolean, std::move(a), std::move(b));
    case BinaryOp::kNE:
      return MakeIntBySign<NeI>(type, boolean, std::move(a), std::move(b));
    case BinaryOp::kLT:
      return MakeIntBySign<LtI>(type, boolean, std::move(a), std::move(b));
    case BinaryOp::kLE:
      return MakeIntBySign<LeI>(type, boolean, std::move(a), std::move(b));
    case BinaryOp::kGT:
      return MakeIntBySign<GtI>(type, boolean, std::move(a), std::move(b));
    case BinaryOp::kGE:
      return MakeIntBySign<GeI>(type, boolean, std::move(a), std::move(b));
    case BinaryOp::kAnd:
      return arithmetic(AndI{});
    case BinaryOp::kOr:
      return arithmetic(OrI{});
  }
  return nullptr;
}

// ---- Calls.
class FloatUnary : public ExprCode {
 public:
  FloatUnary(double (*f)(double), FloatRounding rounding, ExprCodePtr a)
      : f_(f), rounding_(rounding), a_(std::move(a)) {}
  Value Eval(Machine& machine, int lane) const override { return {.f = rounding_(f_(a_->Eval(machine, lane).f))}; }

 private:
  double (*f_)(double);
  FloatRounding rounding_;
  ExprCodePtr a_;
};

struct FloatFunction {
  std::string_view name;
  double (*f)(double);
};
constexpr FloatFunction kFloatFunctions[] = {{"abs", [](double x) { return std::fabs(x); }},
                                             {"atan", [](double x) { return std::atan(x); }},
                                             {"ceil", [](double x) { return std::ceil(x); }},
                                             {"cos", [](double x) { return std::cos(x); }},
                                             {"erf", [](double x) { return std::erf(x); }},
                                             {"exp", [](double x) { return std::exp(x); }},
                                             {"exp2", [](double x) { return std::exp2(x); }},
                                             {"floor", [](double x) { return std::floor(x); }},
                                             {"log", [](double x) { return std::log(x); }},
                                             {"log2", [](double x) { return std::log2(x); }},
                                             {"nearbyint", [](double x) { return std::nearbyint(x); }},
                                             {"round", [](double x) { return std::round(x); }},
                                             {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
                                             {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
                                             {"sin", [](double x) { return std::sin(x); }},
                                             {"sqrt", [](double x) { return std::sqrt(x); }},
                                             {"acos", [](double x) { return std::acos(x); }},
                                             {"acosh", [](double x) { return std::acosh(x); }},
                                             {"asin", [](double x) { return std::asin(x); }},
                                             {"asinh", [](double x) { return std::asinh(x); }},
                                             {"atanh", [](double x) { return std::atanh(x); }},
                                             {"cosh", [](double x) { return std::cosh(x); }},
                                             {"exp10", [](double x) { return std::pow(10.0, x); }},
                                             {"log10", [](double x) { return std::log10(x); }},
                                             {"log1p", [](double x) { return std::log1p(x); }},
                                             {"sinh", [](double x) { return std::sinh(x); }},
                                             {"tan", [](double x) { return std::tan(x); }},
                                             {"tanh", [](double x) { return std::tanh(x); }},
                                             {"trunc", [](double x) { return std::trunc(x); }}};

// Calls f(machine, lane): for operations that need more than one line of state.
template <typename F>
class Lambda : public ExprCode {
 public:
  explicit Lambda(F f) : f_(std::move(f)) {}
  Value Eval(Machine& machine, int lane) const override { return f_(machine, lane); }

 private:
  F f_;
};
template <typename F>
ExprCodePtr MakeLambda(F f) {
  return ExprCodePtr(new Lambda<F>(std::move(f)));
}

double Greatest(DataType type) {
  if (type.bits == 64) return std::numeric_limits<double>::max();
  if (type.bits == 32) return std::numeric_limits<float>::max();
  return type.code == DataType::Code::kBFloat ? 3.3895313892515355e38 : 65504.0;
}

ExprCodePtr CompileLimit(bool is_max, DataType type) {
  Value value;
  if (type.is_float()) {
    value.f = is_max ? Greatest(type) : -Greatest(type);
  } else if (type.is_bool()) {
    value.i = is_max;
  } else if (type.is_signed_int()) {
    const int64_t least = WrapToWidth(Signed(uint64_t{1} << (type.bits - 1)), type.bits, true);
    value.i = is_max ? -(least + 1) : least;
  } else {
    value.i = is_max ? WrapToWidth(-1, type.bits, false) : 0;
  }
  return MakeLambda([value](Machine&, int) { return value; });
}

ExprCodePtr CompileIntCall(std::string_view name, DataType type, std::vector<ExprCodePtr>& args) {
  const auto binary = [&]<typename F>(F) {
    return ExprCodePtr(new IntBinary<F>(type, std::move(args[0]), std::move(args[1])));
  };
  const auto unary = [&](auto f) {
    return MakeLambda([f, type, a = std::shared_ptr<const ExprCode>(std::move(args[0]))](Machine& machine, int lane) {
      return Value{.i = WrapToWidth(f(a->Eval(machine, lane).i), type.bits, type.is_signed_int())};
    });
  };
  if (name == "bitwise_and") return binary(AndI{});
  if (name == "bitwise_or") return binary(OrI{});
  if (name == "bitwise_xor") return binary(XorI{});
  if (name == "shift_left") return binary(ShlI{});
  if (name == "shift_right") return type.is_signed_int() ? binary(SarI{}) : binary(ShrI{});
  if (name == "bitwise_not")
    return type.is_bool() ? unary([](int64_t x) { return int64_t{x == 0}; }) : unary([](int64_t x) { return ~x; });
  if (name == "abs" && !type.is_signed_int()) return unary([](int64_t x) { return x; });
  if (name == "abs") return unary([](int64_t x) { return x < 0 ? Signed(-uint64_t(x)) : x; });
  if (name == "ceil" || name == "floor" || name == "round" || name == "trunc" || name == "nearbyint")
    return unary([](int64_t x) { return x; });
  return nullptr;
}

ExprCodePtr CompileFloatCall(std::string_view name, DataType type, FloatRounding rounding,
                             std::vector<ExprCodePtr>& args) {
  for (const FloatFunction& row : kFloatFunctions) {
    if (row.name == name) return ExprCodePtr(new FloatUnary(row.f, rounding, std::move(args[0])));
  }
  const auto binary = [&]<typename F>(F) {
    return ExprCodePtr(new FloatBinary<F>(rounding, std::move(args[0]), std::move(args[1])));
  };
  if (name == "pow") return binary(PowF{});
  if (name == "atan2") return binary(Atan2F{});
  if (name == "copysign") return binary(CopysignF{});
  if (name == "fmod") return binary(ModF{});
  if (name == "hypot") return binary(HypotF{});
  if (name == "scalef") return binary(ScalefF{});
  if (name == "infinity")
    return MakeLambda([](Machine&, int) { return Value{.f = std::numeric_limits<double>::infinity()}; });
  if (name != "fma" && name != "fmuladd") return nullptr;
  std::shared_ptr<const ExprCode> a(std::move(args[0])), b(std::move(args[1])), c(std::move(args[2]));
  if (name == "fmuladd") {
    return MakeLambda([=](Machine& machine, int lane) {
      return Value{
          .f = rounding(rounding(a->Eval(machine, lane).f * b->Eval(machine, lane).f) + c->Eval(machine, lane).f)};
    });
  }
  const bool is_float32 =
      type.bits == 32 && rounding(1.0 + 1e-12) == 1.0;  // float32 with its own rounding: fma must round once.
  return MakeLambda([=](Machine& machine, int lane) {
    const double x = a->Eval(machine, lane).f, y = b->Eval(machine, lane).f, z = c->Eval(machine, lane).f;
    if (is_float32) return Value{.f = std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z))};
    return Value{.f = rounding(std::fma(x, y, z))};
  });
}

// Lanes of one width may lie across those of another: the lowest bits first, as in memory.
template <typename F>
Value Reinterpreted(DataType type, DataType from, int lane, F value_of) {
  const int width = from.bits, wanted = type.bits;
  if (wanted <= width) {
    const int per_lane = width / wanted;
    return FromBits(type, ToBits(from, value_of(lane / per_lane)) >> (lane % per_lane * wanted));
  }
  uint64_t bits = 0;
  for (int part = 0; part < wanted / width; ++part)
    bits |= ToBits(from, value_of(lane * (wanted / width) + part)) << (part * width);
  return FromBits(type, bits);
}

// Operations that look at several dtypes, lanes or at nothing but their control flow.
ExprCodePtr CompileSpecialCall(const Expr& expr, const Call& call, FloatRounding rounding,
                               std::vector<ExprCodePtr>& args, const Site* site) {
  const std::string_view name = call.op->name;
  const DataType type = expr.dtype();
  const DataType arg_type = call.args.empty() ? type : call.args[0].dtype();
  std::vector<std::shared_ptr<const ExprCode>> shared(std::make_move_iterator(args.begin()),
                                                      std::make_move_iterator(args.end()));
  if (name == "max_value" || name == "min_value") return CompileLimit(name == "max_value", type);
  if (name == "if_then_else") {
    return MakeLambda([condition = shared[0], a = shared[1], b = shared[2]](Machine& machine, int lane) {
      return condition->Eval(machine, lane).i != 0 ? a->Eval(machine, lane) : b->Eval(machine, lane);
    });
  }
  if (name == "isnan" || name == "isinf" || name == "isfinite") {
    const bool is_float = arg_type.is_float(), wants_nan = name == "isnan", wants_finite = name == "isfinite";
    return MakeLambda([=, a = shared[0]](Machine& machine, int lane) {
      if (!is_float) return Value{.i = wants_finite};
      const double value = a->Eval(machine, lane).f;
      return Value{.i = wants_nan ? std::isnan(value) : wants_finite ? std::isfinite(value) : std::isinf(value)};
    });
  }
  if (name == "likely")
    return MakeLambda([a = shared[0]](Machine& machine, int lane) { return a->Eval(machine, lane); });
  if (name == "undef") return MakeLambda([](Machine&, int) { return Value{.i = 0}; });  // Any value will do.
  if (name == "clz") {
    return MakeLambda([arg_type, a = shared[0]](Machine& machine, int lane) {
      const uint64_t bits = static_cast<uint64_t>(WrapToWidth(a->Eval(machine, lane).i, arg_type.bits, false));
      return Value{.i = std::countl_zero(bits) - (64 - arg_type.bits)};
    });
  }
  if (name == "ldexp") {
    return MakeLambda([rounding, a = shared[0], b = shared[1]](Machine& machine, int lane) {
      const double value = a->Eval(machine, lane).f;
      const int64_t exponent = b->Eval(machine, lane).i;
      return Value{.f = rounding(std::ldexp(value, static_cast<int>(std::clamp<int64_t>(exponent, -10000, 10000))))};
    });
  }
  if (name == "nextafter" && type.bits >= 32) {  // Without rounding: the next double.
    const bool is_float32 = type.bits == 32 && rounding(1.0 + 1e-12) == 1.0;
    return MakeLambda([is_float32, a = shared[0], b = shared[1]](Machine& machine, int lane) {
      const double from = a->Eval(machine, lane).f, to = b->Eval(machine, lane).f;
      return Value{.f = is_float32 ? std::nextafter(static_cast<float>(from), static_cast<float>(to))
                                   : std::nextafter(from, to)};
    });
  }
  if (name == "popcount") {
    return MakeLambda([arg_type, a = shared[0]](Machine& machine, int lane) {
      return Value{
          .i = std::popcount(static_cast<uint64_t>(WrapToWidth(a->Eval(machine, lane).i, arg_type.bits, false)))};
    });
  }
  if (name == "reinterpret") {
    if (arg_type.bits * arg_type.lanes != type.bits * type.lanes) return nullptr;
    return MakeLambda([arg_type, type, a = shared[0]](Machine& machine, int lane) {
      return Reinterpreted(type, arg_type, lane, [&](int from) { return a->Eval(machine, from); });
    });
  }
  if (name == "ret") {
    return MakeLambda([site](Machine& machine, int) {
      machine.Return(*site);
      return Value{.i = 0};
    });
  }
  if (name == "assume") {
    return MakeLambda([site, a = shared[0]](Machine& machine, int lane) {
      const Value value = a->Eval(machine, lane);
      if (value.i == 0) machine.Fail(StatusCode::kFailedPrecondition, *site, "T.assume does not hold");
      return value;
    });
  }
  if (name == "vectorhigh") {
    const int half = type.lanes;
    return MakeLambda([half, a = shared[0]](Machine& machine, int lane) { return a->Eval(machine, lane + half); });
  }
  if (name == "vectorcombine") {
    return MakeLambda([half = arg_type.lanes, a = shared[0], b = shared[1]](Machine& machine, int lane) {
      return lane < half ? a->Eval(machine, lane) : b->Eval(machine, lane - half);
    });
  }
  if (name == "vectorlow")
    return MakeLambda([a = shared[0]](Machine& machine, int lane) { return a->Eval(machine, lane); });
  if (name == "vector_reduce_add") {
    return MakeLambda([=, a = shared[0]](Machine& machine, int) {
      Value sum = a->Eval(machine, 0);
      for (int i = 1; i < arg_type.lanes; ++i) {
        const Value next = a->Eval(machine, i);
        if (type.is_float())
          sum.f = rounding(sum.f + next.f);
        else
          sum.i = WrapToWidth(AddI{}(sum.i, next.i), type.bits, type.is_signed_int());
      }
      return sum;
    });
  }
  for (size_t i = 0; i < shared.size(); ++i) {  // None of ours: hands the arguments back.
    args[i] = MakeLambda([a = shared[i]](Machine& machine, int lane) { return a->Eval(machine, lane); });
  }
  return nullptr;
}

}  // namespace

StatusOr<ExprCodePtr> CompileBinary(BinaryOp op, DataType operand, ExprCodePtr a, ExprCodePtr b, Scope& scope) {
  ExprCodePtr code = operand.is_float()
                         ? CompileFloatBinary(op, RoundingOf(operand, scope), std::move(a), std::move(b))
                         : CompileIntBinary(op, operand, std::move(a), std::move(b), scope.CurrentSite());
  if (code == nullptr)
    return scope.Error(StatusCode::kInvalidArgument, fmt::format("and/or of {} values", operand.ToString()));
  return code;
}

StatusOr<ExprCodePtr> CompileCall(const Expr& expr, const Call& call, Scope& scope) {
  const std::string name(call.op->name);
  ASSIGN_OR_RETURN(ExprCodePtr among_threads, CompileThreadCall(expr, call, scope));
  if (among_threads != nullptr) return among_threads;
  const bool has_text =
      std::any_of(call.args.begin(), call.args.end(), [](const Expr& arg) { return arg.As<StringImm>() != nullptr; });
  if (call.op->num_args < 0 || has_text)
    return scope.Error(StatusCode::kUnimplemented, fmt::format("T.{}: no rule to evaluate it", name));
  if (static_cast<int>(call.args.size()) != call.op->num_args) {
    return scope.Error(StatusCode::kInvalidArgument,
                       fmt::format("T.{} takes {} arguments, {} given", name, call.op->num_args, call.args.size()));
  }
  std::vector<ExprCodePtr> args;
  if (name == "if_then_else") scope.BeginLater();
  for (const Expr& arg : call.args) {
    ASSIGN_OR_RETURN(ExprCodePtr code, CompileExpr(arg, scope));
    args.push_back(std::move(code));
  }
  if (name == "if_then_else") scope.EndLater();
  const DataType type = expr.dtype();
  const FloatRounding rounding = RoundingOf(type, scope);
  ExprCodePtr code = type.is_float() ? CompileFloatCall(name, type, rounding, args) : CompileIntCall(name, type, args);
  if (code == nullptr) code = CompileSpecialCall(expr, call, rounding, args, scope.CurrentSite());
  if (code == nullptr)
    return scope.Error(StatusCode::kUnimplemented,
                       fmt::format("T.{} of {}: no rule to evaluate it", name, type.ToString()));
  return code;
}

}  // namespace lathe
