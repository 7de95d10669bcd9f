#include "compiler/transform/legalize_math.h"

#include <gmock/gmock.h>

#include <cmath>

#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

const DataType kF32 = DataType::Float(32), kF64 = DataType::Float(64), kF16 = DataType::Float(16);
const Var kX("x", kF32), kY("y", kF32), kLanes("v", DataType::Float(32, 4)), kDouble("d", kF64), kHalf("h", kF16),
    kInt("n");

PrimFunc Holding(const Expr& e) {
  const Buffer b = MakeBuffer("B", {e.dtype().lanes}, e.dtype().element());
  const Expr lanes = Expr::Make(DataType::Int(32, e.dtype().lanes), Ramp{0, 1, e.dtype().lanes});
  return MakePrimFunc("main", {b, kX, kY, kDouble, kHalf, kInt},
                      e.dtype().is_scalar() ? MakeStore(b, e, {0}) : BufferStore{b, e, {lanes}});
}
Expr Legalized(const Expr& e) { return LegalizeMath(Holding(e)).body.As<BufferStore>()->value; }
Expr Op(const char* name, const Expr& x) { return MakeCall(x.dtype(), name, {x}); }
Expr Op(const char* name, const Expr& x, const Expr& y) { return MakeCall(x.dtype(), name, {x, y}); }

struct TextCase {
  const char* name;
  Expr before;
  const char* after;
};
class LegalizeMathTextTest : public testing::TestWithParam<TextCase> {};
TEST_P(LegalizeMathTextTest, WritesArithmetic) { EXPECT_EQ(Print(Legalized(GetParam().before)), GetParam().after); }
INSTANTIATE_TEST_SUITE_P(
    Calls, LegalizeMathTextTest,
    testing::Values(
        TextCase{"Rsqrt", Op("rsqrt", kX), "T.float32(1.0) / T.sqrt(x)"},
        TextCase{"RsqrtOfLanes", Op("rsqrt", kLanes), "T.Broadcast(T.float32(1.0), 4) / T.sqrt(v)"},
        TextCase{"RsqrtOf16Bits", Op("rsqrt", kHalf),
                 "T.Cast(\"float16\", T.float32(1.0) / T.sqrt(T.Cast(\"float32\", h)))"},
        TextCase{"Round", Op("round", kX + kY),
                 "T.Let(T.Let(T.Let(T.copysign(T.Select(magnitude - whole >= T.float32(0.5), whole + T.float32(1.0), "
                 "whole), x_1), where={whole: T.floor(magnitude)}), where={magnitude: T.abs(x_1)}), where={x_1: x + "
                 "y})"},
        TextCase{"Exp", Op("exp", kX),
                 "T.Let(T.Let(T.Let(T.Let(T.scalef(T.fmuladd(r * r, T.fmuladd(T.fmuladd(T.fmuladd(T.fmuladd("
                 "T.float32(0.0013814610429), r, T.float32(0.0083687109873)), r, T.float32(0.041668388993)), r, "
                 "T.float32(0.16666521132)), r, T.float32(0.4999999404)), r + T.float32(1.0)), n), where={r: "
                 "T.fmuladd(n, T.float32(0.00021219444), T.fmuladd(n, T.float32(-0.693359375), clamped))}), where={n: "
                 "shifted - T.float32(12582912.0)}), where={shifted: T.fmuladd(clamped, T.float32(1.4426950408889634), "
                 "T.float32(12582912.0))}), where={clamped: T.min(T.max(x, T.float32(-105.0)), T.float32(89.5))})"},
        TextCase{"ThirdPower", Op("pow", kX, FloatConst(kF32, 3)), "T.Let(x * square, where={square: x * x})"},
        TextCase{"PowerOfMinusOne", Op("pow", kLanes, FloatConst(kLanes.dtype(), -1)),
                 "T.Broadcast(T.float32(1.0), 4) / v"},
        TextCase{"PowerOfZero", Op("pow", kX, FloatConst(kF32, 0)), "T.float32(1.0)"},
        TextCase{"Root", Op("pow", kX, FloatConst(kF32, 0.5)), "T.sqrt(x)"}),
    [](const auto& info) { return info.param.name; });

// What machines have, and what no formula is known for: code generation refuses the latter by name.
class LegalizeMathStaysTest : public testing::TestWithParam<std::pair<const char*, Expr>> {};
TEST_P(LegalizeMathStaysTest, LeavesTheNodeItself) {
  const PrimFunc before = Holding(GetParam().second);
  EXPECT_TRUE(LegalizeMath(before).body.same_as(before.body)) << Print(LegalizeMath(before));
}
INSTANTIATE_TEST_SUITE_P(
    Calls, LegalizeMathStaysTest,
    testing::Values(std::pair{"Sqrt", Op("sqrt", kX)}, std::pair{"Abs", Op("abs", kHalf)},
                    std::pair{"Floor", Op("floor", kLanes)}, std::pair{"CopySign", Op("copysign", kX, kY)},
                    std::pair{"Remainder", Op("fmod", kX, kY)}, std::pair{"Fma", MakeCall(kF32, "fma", {kX, kY, kX})},
                    std::pair{"RoundOfInt", Op("round", kInt)}, std::pair{"ExpOfInt", Op("exp", kInt)},
                    std::pair{"PowerOfTwoTypes", Op("pow", kX, kDouble)},
                    std::pair{"LdexpByAFloat", Op("ldexp", kX, kY)},
                    std::pair{"NextAfterOf16Bits", Op("nextafter", kHalf, kHalf)}),
    [](const auto& info) { return info.param.first; });

double Evaluated(const Expr& e, double x, double y) {
  std::vector<Tensor> args = {Tensor::Uninitialized(e.dtype().element(), {e.dtype().lanes}),
                              Tensor::FromDoubles(kF32, {}, {x}),
                              Tensor::FromDoubles(kF32, {}, {y}),
                              Tensor::FromDoubles(kF64, {}, {x}),
                              Tensor::FromDoubles(kF16, {}, {x}),
                              Tensor::FromInts(DataType::Int(32), {}, {3})};
  EXPECT_EQ(Interpret(Holding(e), args), OkStatus());
  const std::vector<double> values = args[0].ToDoubles();
  for (const double value : values) EXPECT_TRUE(value == values[0] || std::isnan(value)) << "lanes differ";
  return values[0];
}

// Arithmetic of an operation, interpreted, beside the operation itself, which is libm's there.
void Compare(const Expr& e, double tolerance) {
  for (const double x : {-3.75, -0.5, 0.0, 0.015625, 0.5, 0.75, 1.25, 6.5, 40.0, double{INFINITY}, double{NAN}}) {
    for (const double y : {-2.5, 2.0}) {
      const double expected = Evaluated(e, x, y), actual = Evaluated(Legalized(e), x, y);
      const bool is_same = std::isnan(expected)
                               ? std::isnan(actual)
                               : actual == expected || std::abs(actual - expected) <= tolerance * std::abs(expected);
      EXPECT_TRUE(is_same) << Print(e) << " of " << x << ", " << y << ": " << actual << ", not " << expected;
    }
  }
}
class LegalizeMathValueTest : public testing::TestWithParam<const char*> {};
TEST_P(LegalizeMathValueTest, IsThatOfTheOperation) {
  const Expr lanes = Expr::Make(DataType::Float(32, 4), Broadcast{kX, 4});
  Compare(Op(GetParam(), kX), 5e-7);
  Compare(Op(GetParam(), lanes), 5e-7);
  Compare(Op(GetParam(), kDouble), 1e-14);
  Compare(Op(GetParam(), kHalf), 1e-3);
}
INSTANTIATE_TEST_SUITE_P(Operations, LegalizeMathValueTest,
                         testing::Values("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp",
                                         "exp10", "exp2", "log", "log10", "log1p", "log2", "round", "rsqrt", "sigmoid",
                                         "sin", "sinh", "tan", "tanh"),
                         [](const auto& info) { return std::string(info.param); });

class LegalizeMathPairTest : public LegalizeMathValueTest {};
TEST_P(LegalizeMathPairTest, IsThatOfTheOperation) { Compare(Op(GetParam(), kX, kY), 5e-7); }
INSTANTIATE_TEST_SUITE_P(Operations, LegalizeMathPairTest, testing::Values("atan2", "hypot", "nextafter", "pow"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LegalizeMathTest, ScalesByPowersOfTwo) { Compare(Op("ldexp", kX, kInt), 0); }

}  // namespace
}  // namespace lathe
