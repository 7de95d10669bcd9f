#include "compiler/topi/elementwise.h"

#include <cmath>
#include <limits>
#include <map>

#include "compiler/topi/broadcast.h"
#include "tests/compiler/topi/reference.h"

namespace lathe::topi {
namespace {

using testing::HasSubstr;

const std::map<std::string, std::function<double(double)>>& UnaryReferences() {
  static const std::map<std::string, std::function<double(double)>> table = {
      {"abs", [](double x) { return std::abs(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"identity", [](double x) { return x; }},
      {"isfinite", [](double x) { return std::isfinite(x) ? 1 : 0; }},
      {"isinf", [](double x) { return std::isinf(x) ? 1 : 0; }},
      {"isnan", [](double x) { return std::isnan(x) ? 1 : 0; }},
      {"log", [](double x) { return std::log(x); }},
      {"log10", [](double x) { return std::log10(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"negative", [](double x) { return -x; }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"sign", [](double x) { return x > 0   ? 1
                                     : x < 0 ? -1
                                             : 0; }},
      {"sin", [](double x) { return std::sin(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
  };
  return table;
}

Array Domain(const std::string& name) {
  if (name == "acosh") return Fill({6}, [](const Index& at) { return 1.0 + 0.3 * static_cast<double>(at[0]); });
  if (name == "acos" || name == "asin" || name == "atanh")
    return Fill({6}, [](const Index& at) { return -0.75 + 0.3 * static_cast<double>(at[0]); });
  if (name.starts_with("log") || name.ends_with("sqrt"))
    return Fill({6}, [](const Index& at) { return 0.25 + static_cast<double>(at[0]); });
  return Fill({6}, [](const Index& at) { return -2.25 + static_cast<double>(at[0]); });
}

TEST(Unary, IsWhatTheNameSaysForEveryNameOfFloats) {
  for (const std::string_view name : UnaryNames()) {
    if (name == "bitwise_not" || name == "logical_not") continue;  // Not of floats; below.
    SCOPED_TRACE(std::string(name));
    const auto reference = UnaryReferences().find(std::string(name));
    ASSERT_NE(reference, UnaryReferences().end()) << "no reference";
    const Given x = Input(Domain(std::string(name)), "x");
    const Array got = ResultOf(Unary(name, x.tensor), {x});
    ExpectNear(got, Fill({6}, [&](const Index& at) { return reference->second(x.array[at]); }), 1e-6);
  }
}

TEST(Unary, WorksOnIntegersAndBools) {
  const Given x = Input(SmallIntegers({8}, 1), "x", DataType::Int(32));
  ExpectNear(ResultOf(Unary("bitwise_not", x.tensor), {x}),
             Fill({8}, [&](const Index& at) { return -x.array[at] - 1; }));
  ExpectNear(ResultOf(Unary("sign", x.tensor), {x}), Fill({8}, [&](const Index& at) {
               return x.array[at] > 0 ? 1 : x.array[at] < 0 ? -1 : 0;
             }));
  const Given b =
      Input(Fill({4}, [](const Index& at) { return static_cast<double>(at[0] % 2); }), "b", DataType::Bool());
  ExpectNear(ResultOf(Unary("logical_not", b.tensor), {b}),
             Fill({4}, [&](const Index& at) { return 1 - b.array[at]; }));
}

TEST(Unary, SaysWhatItCannotTake) {
  const Given x = Input(SmallIntegers({8}, 1), "x");
  EXPECT_THAT(Unary("logical_not", x.tensor).status().message(), HasSubstr("topi.logical_not: expected bool"));
  EXPECT_THAT(Unary("frobnicate", x.tensor).status().message(), HasSubstr("topi.frobnicate: no operator"));
}

TEST(Cast, TruncatesTowardZeroAndClipKeepsWithin) {
  const Given x = Input(Fill({6}, [](const Index& at) { return -2.5 + static_cast<double>(at[0]); }), "x");
  ExpectNear(ResultOf(Cast(x.tensor, DataType::Int(32)), {x}),
             Fill({6}, [&](const Index& at) { return std::trunc(x.array[at]); }));
  ExpectNear(ResultOf(Clip(x.tensor, -1, 2), {x}),
             Fill({6}, [&](const Index& at) { return std::min(std::max(x.array[at], -1.0), 2.0); }));
}

TEST(Rectifiers, CutOrScaleWhatIsNegative) {
  const Given x = Input(SmallIntegers({2, 3, 2}, 5), "x"), slope = Input(SmallIntegers({3}, 6), "s");
  const auto cut = [&](double scale) {
    return Fill({2, 3, 2}, [&](const Index& at) { return x.array[at] > 0 ? x.array[at] : x.array[at] * scale; });
  };
  ExpectNear(ResultOf(Relu(x.tensor), {x}), cut(0));
  ExpectNear(ResultOf(LeakyRelu(x.tensor, 0.5), {x}), cut(0.5));
  ExpectNear(ResultOf(Prelu(x.tensor, slope.tensor, 1), {x, slope}), Fill({2, 3, 2}, [&](const Index& at) {
               return x.array[at] > 0 ? x.array[at] : x.array[at] * slope.array[{at[1]}];
             }));
  EXPECT_THAT(Prelu(x.tensor, slope.tensor, 2).status().message(), HasSubstr("slope"));
}

struct BinaryReference {
  DataType type;
  std::function<double(double, double)> value;
};
const std::map<std::string, BinaryReference>& BinaryReferences() {
  constexpr DataType kFloat = DataType::Float(32), kInt = DataType::Int(32), kBool = DataType::Bool();
  const auto bits = [](auto op) {
    return [op](double a, double b) { return static_cast<double>(op(static_cast<int>(a), static_cast<int>(b))); };
  };
  static const std::map<std::string, BinaryReference> table = {
      {"add", {kFloat, [](double a, double b) { return a + b; }}},
      {"subtract", {kFloat, [](double a, double b) { return a - b; }}},
      {"multiply", {kFloat, [](double a, double b) { return a * b; }}},
      {"divide", {kFloat, [](double a, double b) { return a / b; }}},
      {"floor_divide", {kInt, [](double a, double b) { return std::floor(a / b); }}},
      {"floor_mod", {kInt, [](double a, double b) { return a - std::floor(a / b) * b; }}},
      {"mod", {kInt, [](double a, double b) { return std::fmod(a, b); }}},
      {"maximum", {kFloat, [](double a, double b) { return std::max(a, b); }}},
      {"minimum", {kFloat, [](double a, double b) { return std::min(a, b); }}},
      {"equal", {kFloat, [](double a, double b) { return a == b; }}},
      {"not_equal", {kFloat, [](double a, double b) { return a != b; }}},
      {"less", {kFloat, [](double a, double b) { return a < b; }}},
      {"less_equal", {kFloat, [](double a, double b) { return a <= b; }}},
      {"greater", {kFloat, [](double a, double b) { return a > b; }}},
      {"greater_equal", {kFloat, [](double a, double b) { return a >= b; }}},
      {"logical_and", {kBool, [](double a, double b) { return a != 0 && b != 0; }}},
      {"logical_or", {kBool, [](double a, double b) { return a != 0 || b != 0; }}},
      {"logical_xor", {kBool, [](double a, double b) { return (a != 0) != (b != 0); }}},
      {"power", {kFloat, [](double a, double b) { return std::pow(a, b); }}},
      {"atan2", {kFloat, [](double a, double b) { return std::atan2(a, b); }}},
      {"bitwise_and", {kInt, bits([](int a, int b) { return a & b; })}},
      {"bitwise_or", {kInt, bits([](int a, int b) { return a | b; })}},
      {"bitwise_xor", {kInt, bits([](int a, int b) { return a ^ b; })}},
      {"left_shift", {kInt, bits([](int a, int b) { return a << b; })}},
      {"right_shift", {kInt, bits([](int a, int b) { return a >> b; })}},
  };
  return table;
}

TEST(Binary, IsWhatTheNameSaysForEveryNameAndRepeatsExtentsOfOne) {
  for (const std::string_view name : BinaryNames()) {
    SCOPED_TRACE(std::string(name));
    const auto reference = BinaryReferences().find(std::string(name));
    ASSERT_NE(reference, BinaryReferences().end()) << "no reference";
    const bool is_bool = reference->second.type.is_bool();
    const auto values = [&](Index shape, unsigned seed, bool positive) {
      Array array = SmallIntegers(std::move(shape), seed);
      for (double& value : array.values) value = is_bool ? value > 0 : positive ? std::abs(value) + 1 : value;
      return array;
    };
    const Given a = Input(values({4, 1, 3}, 7, name == "power" || name == "left_shift"), "a", reference->second.type);
    const Given b = Input(values({2, 3}, 8, true), "b", reference->second.type);
    const StatusOr<Operand> result = Binary(name, a.tensor, b.tensor);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    ExpectNear(ResultOf(std::get<te::Tensor>(*result), {a, b}),
               Fill({4, 2, 3},
                    [&](const Index& at) {
                      return reference->second.value(a.array[{at[0], 0, at[2]}], b.array[{at[1], at[2]}]);
                    }),
               1e-6);
  }
}

TEST(Binary, TakesNumbersAndRefusesShapesThatDoNotFit) {
  const Given a = Input(SmallIntegers({3}, 2), "a"), b = Input(SmallIntegers({4}, 2), "b");
  const StatusOr<Operand> sum = Binary("add", a.tensor, Expr(2));
  ASSERT_TRUE(sum.ok());
  ExpectNear(ResultOf(std::get<te::Tensor>(*sum), {a}), Fill({3}, [&](const Index& at) { return a.array[at] + 2; }));
  const StatusOr<Operand> number = Binary("multiply", Expr(3), Expr(4));
  ASSERT_TRUE(number.ok());
  EXPECT_TRUE(IsConstInt(std::get<Expr>(*number), 12));
  EXPECT_THAT(Binary("add", a.tensor, b.tensor).status().message(),
              HasSubstr("topi.add: extents 3 and 4 cannot be brought together"));
}

TEST(Where, ChoosesByEachElement) {
  const Given c = Input(SmallIntegers({3, 1}, 3), "c", DataType::Int(32));
  const Given x = Input(SmallIntegers({3, 2}, 4), "x"), y = Input(SmallIntegers({2}, 5), "y");
  ExpectNear(ResultOf(Where(c.tensor, x.tensor, y.tensor), {c, x, y}),
             Fill({3, 2}, [&](const Index& at) { return c.array[{at[0], 0}] != 0 ? x.array[at] : y.array[{at[1]}]; }));
}

TEST(BroadcastTo, RepeatsAndRefusesToShrink) {
  const Given x = Input(SmallIntegers({3, 1}, 4), "x");
  ExpectNear(ResultOf(BroadcastTo(x.tensor, {2, 3, 4}), {x}),
             Fill({2, 3, 4}, [&](const Index& at) { return x.array[{at[1], 0}]; }));
  EXPECT_THAT(BroadcastTo(x.tensor, {1, 1}).status().message(), HasSubstr("does not fit"));
}

TEST(Full, HasTheValueEverywhereAndSumsAdd) {
  ExpectNear(ResultOf(Full({2, 2}, DataType::Int(8), 3), {}), Fill({2, 2}, [](const Index&) { return 3; }));
  const Given a = Input(SmallIntegers({3}, 2), "a"), b = Input(SmallIntegers({3}, 9), "b");
  ExpectNear(ResultOf(ElementwiseSum({a.tensor, b.tensor, a.tensor}), {a, b}),
             Fill({3}, [&](const Index& at) { return 2 * a.array[at] + b.array[at]; }));
}

}  // namespace
}  // namespace lathe::topi
