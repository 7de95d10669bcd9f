#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/transform/legalize_math.h"
#include "support/random.h"
#include "tests/compiler/codegen/loaded_kernels.h"

namespace lathe {
namespace {

constexpr int kCount = 1 << 15;
constexpr int kLanes = 16;

struct MathCase {
  const char* name;
  long double (*reference)(long double);
  double low, high;
  double float_ulps, double_error;  // Largest allowed: ulp for float32, relative for float64.
};

StatusOr<LoadedKernels> MakeKernels(const PrimFunc& func, const Target& target) {
  const PrimFunc legal = LegalizeMath(func);
  return LoadedKernels::Make({&legal, 1}, target);
}

PrimFunc MapFunc(const char* op, DataType dtype, bool is_vector) {
  const Buffer a = MakeBuffer("A", {kCount}, dtype), b = MakeBuffer("B", {kCount}, dtype);
  Var i("i");
  if (!is_vector)
    return MakePrimFunc("map", {a, b}, MakeFor(i, kCount, MakeStore(b, MakeCall(dtype, op, {Load(a, {i})}), {i})));
  const Expr lanes = Expr::Make(DataType::Int(32, kLanes), Ramp{i * kLanes, 1, kLanes});
  const DataType vector = dtype.with_lanes(kLanes);
  return MakePrimFunc(
      "map", {a, b},
      MakeFor(i, kCount / kLanes,
              BufferStore{b, MakeCall(vector, op, {Expr::Make(vector, BufferLoad{a, {lanes}})}), {lanes}}));
}

template <typename T>
double LargestError(const MathCase& c, const char* target, bool is_vector) {
  const PrimFunc func =
      MapFunc(c.name, std::is_same_v<T, float> ? DataType::Float(32) : DataType::Float(64), is_vector);
  const StatusOr<LoadedKernels> kernels = MakeKernels(func, *Target::Parse(target));
  if (!kernels.ok()) {
    ADD_FAILURE() << kernels.status().ToString();
    return 0;
  }
  AlignedArray<T> a(kCount), b(kCount);
  Random random(11);
  for (T& x : a) x = static_cast<T>(c.low + (c.high - c.low) * random.Unit());
  for (int i = 0; i < kCount / 4; ++i)
    a[i] = static_cast<T>(a[i] * std::pow(2.0, -24 * random.Unit()));  // Small ones, too.
  if (c.low > 0) {
    for (T& x : a) x = std::max(x, static_cast<T>(c.low));
  }
  TestContext context;
  void* buffers[] = {a.data(), b.data()};
  EXPECT_EQ(kernels->Find(0, "map")(&context.context, buffers, nullptr), 0);
  double largest = 0;
  for (int i = 0; i < kCount; ++i) {
    const long double exact = c.reference(a[i]);
    const T rounded = static_cast<T>(exact);
    if (!std::isfinite(rounded) || std::abs(rounded) < std::numeric_limits<T>::min()) {
      EXPECT_TRUE(b[i] == rounded || std::abs(b[i] - rounded) <= 4 * std::numeric_limits<T>::denorm_min())
          << c.name << "(" << a[i] << ") = " << b[i];
      continue;
    }
    const long double unit =
        std::is_same_v<T, float> ? std::abs(std::nextafter(rounded, INFINITY) - rounded) : std::abs(exact);
    const double error = static_cast<double>(std::abs(b[i] - exact) / unit);
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

class VectorMathTest : public testing::TestWithParam<MathCase> {};
TEST_P(VectorMathTest, IsAccurate) {
  std::vector<const char*> targets = {"auto"};
  if (DetectHost().triple == "x86_64-linux-gnu") targets.push_back("llvm -mcpu=x86-64");
  for (const char* target : targets) {
    for (const bool is_vector : {false, true}) {
      EXPECT_LE(LargestError<float>(GetParam(), target, is_vector), GetParam().float_ulps)
          << target << (is_vector ? " vector" : " scalar");
      EXPECT_LE(LargestError<double>(GetParam(), target, is_vector), GetParam().double_error)
          << target << (is_vector ? " vector" : " scalar");
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Functions, VectorMathTest,
    testing::Values(
        MathCase{"exp", std::exp, -87, 88, 2, 1e-14}, MathCase{"exp2", std::exp2, -125, 127, 2, 1e-14},
        MathCase{"log", std::log, 1e-30, 1e5, 2, 1e-14}, MathCase{"log2", std::log2, 1e-30, 1e5, 1, 1e-14},
        MathCase{"tanh", std::tanh, -12, 12, 3, 1e-14}, MathCase{"erf", std::erf, -7, 7, 3, 1e-14},
        MathCase{"sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 4, 1e-14},
        MathCase{"sin", std::sin, -3, 3, 1, 1e-14}, MathCase{"cos", std::cos, -1.5, 1.5, 1, 1e-14},
        MathCase{"tan", std::tan, -1.5, 1.5, 1, 1e-14}, MathCase{"atan", std::atan, -30, 30, 1, 1e-14},
        MathCase{"sin", std::sin, -1e5, 1e5, 1, 1e-14}, MathCase{"cos", std::cos, -1e5, 1e5, 1, 1e-14},
        MathCase{"tan", std::tan, -1e5, 1e5, 1, 1e-14}, MathCase{"sqrt", std::sqrt, 1e-30, 1e30, 0.5, 1e-15},
        MathCase{"rsqrt", [](long double x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, 1.5, 1e-15},
        MathCase{"exp10", [](long double x) { return std::pow(10.0L, x); }, -36, 38, 1, 1e-14},
        MathCase{"log10", std::log10, 1e-30, 1e5, 1, 1e-14}, MathCase{"log1p", std::log1p, -0.99, 50, 1, 1e-14},
        MathCase{"sinh", std::sinh, -80, 80, 1, 1e-14}, MathCase{"sinh", std::sinh, -2, 2, 1, 1e-14},
        MathCase{"cosh", std::cosh, -80, 80, 1, 1e-14}, MathCase{"asin", std::asin, -1, 1, 1, 1e-14},
        MathCase{"acos", std::acos, -1, 1, 1, 1e-14}, MathCase{"asinh", std::asinh, -1e12, 1e12, 1, 1e-14},
        MathCase{"asinh", std::asinh, -3, 3, 1, 1e-14}, MathCase{"acosh", std::acosh, 1, 9, 1, 1e-14},
        MathCase{"acosh", std::acosh, 1, 1e12, 1, 1e-14}, MathCase{"atanh", std::atanh, -0.999, 0.999, 1, 1e-14},
        MathCase{"floor", std::floor, -1e4, 1e4, 0, 0}, MathCase{"ceil", std::ceil, -1e4, 1e4, 0, 0},
        MathCase{"trunc", std::trunc, -1e4, 1e4, 0, 0}, MathCase{"round", std::round, -1e4, 1e4, 0, 0},
        MathCase{"nearbyint", std::nearbyint, -1e4, 1e4, 0, 0}),
    [](const auto& info) { return std::string(info.param.name) + std::to_string(info.index); });

using Function = float (*)(float);
struct EndsCase {
  const char* name;
  Function reference;
};
class EndsTest : public testing::TestWithParam<EndsCase> {};

TEST_P(EndsTest, HandlesInfinitiesAndNan) {
  constexpr float kValues[] = {INFINITY, -INFINITY, NAN, 0, -0.0f, 1e30f, -1e30f, -1, 1};
  constexpr int kValueCount = std::size(kValues);
  const Buffer a = MakeBuffer("A", {kValueCount}), b = MakeBuffer("B", {kValueCount});
  Var i("i");
  const Stmt map = MakeStore(b, MakeCall(DataType::Float(32), GetParam().name, {Load(a, {i})}), {i});
  const PrimFunc func = MakePrimFunc("map", {a, b}, MakeFor(i, kValueCount, map));
  const StatusOr<LoadedKernels> kernels = MakeKernels(func, *Target::Parse("auto"));
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  AlignedArray<float> x(kValueCount), y(kValueCount);
  std::copy(std::begin(kValues), std::end(kValues), x.begin());
  TestContext context;
  void* buffers[] = {x.data(), y.data()};
  ASSERT_EQ(kernels->Find(0, "map")(&context.context, buffers, nullptr), 0);
  for (int k = 0; k < kValueCount; ++k) {
    const float expected = GetParam().reference(kValues[k]);
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(y[k])
                                     : std::abs(expected - y[k]) <= 1e-6f * std::abs(expected) || expected == y[k])
        << GetParam().name << "(" << kValues[k] << ") = " << y[k];
  }
}
INSTANTIATE_TEST_SUITE_P(
    Functions, EndsTest,
    testing::Values(EndsCase{"exp", std::exp}, EndsCase{"log", std::log}, EndsCase{"tanh", std::tanh},
                    EndsCase{"erf", std::erf}, EndsCase{"sigmoid", [](float v) { return 1 / (1 + std::exp(-v)); }},
                    EndsCase{"exp10", [](float v) { return std::pow(10.0f, v); }}, EndsCase{"log10", std::log10},
                    EndsCase{"log1p", std::log1p}, EndsCase{"sinh", std::sinh}, EndsCase{"cosh", std::cosh},
                    EndsCase{"asin", std::asin}, EndsCase{"acos", std::acos}, EndsCase{"asinh", std::asinh},
                    EndsCase{"acosh", std::acosh}, EndsCase{"atanh", std::atanh}),
    [](const auto& info) { return std::string(info.param.name); });

struct PairCase {
  const char* name;
  float (*reference)(float, float);
};
class PairTest : public testing::TestWithParam<PairCase> {};

TEST_P(PairTest, IsAsInC) {
  constexpr float kValues[] = {INFINITY, -INFINITY, NAN,   0,     -0.0f,  1e30f,   -1e30f,
                               -1,       1,         0.25f, -3.5f, 1e-40f, 2.5e-20f};
  constexpr int kSide = std::size(kValues), kPairs = kSide * kSide;
  const Buffer a = MakeBuffer("A", {kPairs}), b = MakeBuffer("B", {kPairs}), c = MakeBuffer("C", {kPairs});
  Var i("i");
  const Expr call = MakeCall(DataType::Float(32), GetParam().name, {Load(a, {i}), Load(b, {i})});
  const PrimFunc func = MakePrimFunc("map", {a, b, c}, MakeFor(i, kPairs, MakeStore(c, call, {i})));
  const StatusOr<LoadedKernels> kernels = MakeKernels(func, *Target::Parse("auto"));
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  AlignedArray<float> x(kPairs), y(kPairs), z(kPairs);
  for (int k = 0; k < kPairs; ++k) x[k] = kValues[k / kSide], y[k] = kValues[k % kSide];
  TestContext context;
  void* buffers[] = {x.data(), y.data(), z.data()};
  ASSERT_EQ(kernels->Find(0, "map")(&context.context, buffers, nullptr), 0);
  for (int k = 0; k < kPairs; ++k) {
    const float expected = GetParam().reference(x[k], y[k]);
    const bool is_same = std::isnan(expected) ? std::isnan(z[k])
                                              : std::signbit(expected) == std::signbit(z[k]) &&
                                                    (expected == z[k] || std::nextafter(expected, z[k]) == z[k]);
    EXPECT_TRUE(is_same) << GetParam().name << "(" << x[k] << ", " << y[k] << ") = " << z[k] << ", not " << expected;
  }
}
INSTANTIATE_TEST_SUITE_P(Functions, PairTest,
                         testing::Values(PairCase{"atan2", std::atan2}, PairCase{"hypot", std::hypot},
                                         PairCase{"copysign", std::copysign}, PairCase{"nextafter", std::nextafter}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(VectorMathTest, RaisesDoublesToPowers) {
  const Buffer a = MakeBuffer("A", {kCount}, DataType::Float(64)), b = MakeBuffer("B", {kCount}, DataType::Float(64)),
               c = MakeBuffer("C", {kCount}, DataType::Float(64));
  Var i("i");
  const PrimFunc func = MakePrimFunc(
      "map", {a, b, c},
      MakeFor(i, kCount, MakeStore(c, MakeCall(DataType::Float(64), "pow", {Load(a, {i}), Load(b, {i})}), {i})));
  const StatusOr<LoadedKernels> kernels = MakeKernels(func, *Target::Parse("auto"));
  ASSERT_TRUE(kernels.ok());
  AlignedArray<double> x(kCount), y(kCount), z(kCount);
  Random random(5);
  for (int k = 0; k < kCount; ++k) x[k] = std::exp(40 * random.Unit() - 20), y[k] = 60 * random.Unit() - 30;
  TestContext context;
  void* buffers[] = {x.data(), y.data(), z.data()};
  ASSERT_EQ(kernels->Find(0, "map")(&context.context, buffers, nullptr), 0);
  for (int k = 0; k < kCount; ++k) {
    const long double exact = std::pow(static_cast<long double>(x[k]), static_cast<long double>(y[k]));
    ASSERT_LE(std::abs(static_cast<double>((z[k] - exact) / exact)), 2e-13) << x[k] << " to the " << y[k];
  }
}

TEST(VectorMathTest, RaisesToPowers) {
  const Buffer out = MakeBuffer("B", {6});
  Var x("x", DataType::Float(32)), y("y", DataType::Float(32));
  const auto power = [&](Expr e) { return MakeCall(DataType::Float(32), "pow", {x, e}); };
  const PrimFunc func = MakePrimFunc(
      "pow", {out, x, y},
      MakeSeq({MakeStore(out, power(FloatConst(DataType::Float(32), 3)), {0}),
               MakeStore(out, power(FloatConst(DataType::Float(32), -2)), {1}),
               MakeStore(out, power(FloatConst(DataType::Float(32), 0.5)), {2}),
               MakeStore(out, power(FloatConst(DataType::Float(32), 0)), {3}), MakeStore(out, power(y), {4})}));
  const StatusOr<LoadedKernels> kernels = MakeKernels(func, *Target::Parse("auto"));
  ASSERT_TRUE(kernels.ok());
  for (const auto& [base, exponent] : std::vector<std::pair<float, float>>{
           {1.7f, 3.3f}, {12, -1.25f}, {0.01f, 7}, {-2, 3}, {-2, 4}, {0, 2}, {2, 0}, {1e-20f, 1.5f}}) {
    AlignedArray<float> b(6);
    int64_t scalars[2] = {};
    std::memcpy(&scalars[0], &base, 4);
    std::memcpy(&scalars[1], &exponent, 4);
    TestContext context;
    void* buffers[] = {b.data()};
    ASSERT_EQ(kernels->Find(0, "pow")(&context.context, buffers, scalars), 0);
    EXPECT_FLOAT_EQ(b[0], base * base * base);
    EXPECT_FLOAT_EQ(b[1], 1 / (base * base));
    if (base >= 0) {
      EXPECT_FLOAT_EQ(b[2], std::sqrt(base));
    }
    EXPECT_EQ(b[3], 1);
    EXPECT_FLOAT_EQ(b[4], std::pow(base, exponent));
  }
}

}  // namespace
}  // namespace lathe
