// What a check lets pass and what not: right outputs in any order of summation pass, wrong ones fail, for every
// floating-point type and length of sum.
#include "tuner/measure/tolerance.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "compiler/ir/workload_facts.h"
#include "compiler/script/parser.h"
#include "runner/compare.h"
#include "runner/input_generator.h"

namespace lathe {
namespace {

constexpr int kRows = 8, kColumns = 16;

struct ProductCase {
  DType dtype;
  int64_t terms;
  bool sums_narrow;  // In the type itself, instead of float32.
};
std::string NameOf(const ProductCase& c) {
  return fmt::format("{}_{}terms{}", c.dtype.Name(), c.terms, c.sums_narrow ? "_summed_narrow" : "");
}
void PrintTo(const ProductCase& c, std::ostream* out) { *out << NameOf(c); }

double Rounded(DType dtype, double value) {
  if (dtype == kFloat64) return value;
  const auto single = static_cast<float>(value);
  if (dtype == kFloat32) return single;
  if (dtype == kFloat16) return HalfToFloat(FloatToHalf(single));
  int exponent;
  const double fraction = std::frexp(value, &exponent);  // 8 bits of a bfloat16.
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

void Store(const NDArray& array, size_t i, double value) {
  auto* data = static_cast<char*>(array.view().data);
  if (array.dtype() == kFloat64) {
    reinterpret_cast<double*>(data)[i] = value;
  } else if (array.dtype() == kFloat32) {
    reinterpret_cast<float*>(data)[i] = static_cast<float>(value);
  } else if (array.dtype() == kFloat16) {
    reinterpret_cast<uint16_t*>(data)[i] = FloatToHalf(static_cast<float>(value));
  } else {
    const auto single = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof(bits));
    reinterpret_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(bits >> 16);
  }
}

class ProductCheck : public testing::TestWithParam<ProductCase> {
 protected:
  void SetUp() override {
    const auto& [dtype, terms, sums_narrow] = GetParam();
    const std::string name = dtype.Name(), sum = sums_narrow || dtype == kFloat64 ? name : "float32";
    const auto func = ParsePrimFunc(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer(({0}, {2}), "{3}"), B: T.Buffer(({2}, {1}), "{3}"), C: T.Buffer(({0}, {1}), "{3}")):
    S = T.alloc_buffer(({0}, {1}), "{4}")
    for i, j, k in T.grid({0}, {1}, {2}):
        with T.block("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.Cast("{4}", T.float32(0))
            S[vi, vj] = S[vi, vj] + T.Cast("{4}", A[vi, vk]) * T.Cast("{4}", B[vk, vj])
    for i, j in T.grid({0}, {1}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Cast("{3}", S[vi, vj])
)",
                                                kRows, kColumns, terms, name, sum),
                                    "product.py");
    ASSERT_TRUE(func.ok()) << func.status().ToString();
    facts_ = FactsOf(*func);
    sum_type_ = sum == "float32" ? kFloat32 : dtype;
    for (int i = 0; i < kRows * kColumns; ++i) reference_.push_back(Product(i, kFloat64, false));
  }

  // Element `at`, each step rounded to `type`, its terms in order or from the last to the first.
  double Product(int at, DType type, bool backwards) const {
    const auto& [dtype, terms, sums_narrow] = GetParam();
    double sum = 0;
    for (int64_t n = 0; n < terms; ++n) {
      const int64_t k = backwards ? terms - 1 - n : n;
      const double a = InputValue(3, 0, dtype, {}, at / kColumns * terms + k),
                   b = InputValue(3, 1, dtype, {}, k * kColumns + at % kColumns);
      sum = Rounded(type, sum + Rounded(type, a * b));
    }
    return sum;
  }
  CompareResult Check(const std::vector<double>& values) const {
    NDArray got = *NDArray::Create(GetParam().dtype, {kRows, kColumns});
    for (size_t i = 0; i < values.size(); ++i) Store(got, i, Rounded(GetParam().dtype, values[i]));
    return CompareOutput("C", got.view(), reference_, ToleranceFor(facts_, GetParam().dtype, reference_));
  }

  WorkloadFacts facts_;
  DType sum_type_;
  std::vector<double> reference_;
};

TEST_P(ProductCheck, RightOutputsPassInAnyOrderOfSummation) {
  for (const bool backwards : {false, true}) {
    std::vector<double> values;
    for (int i = 0; i < kRows * kColumns; ++i) values.push_back(Product(i, sum_type_, backwards));
    EXPECT_EQ(Check(values).message, "");
  }
}
TEST_P(ProductCheck, ZerosFail) {
  EXPECT_THAT(Check(std::vector<double>(kRows * kColumns)).message, testing::HasSubstr("is 0, expected"));
}
TEST_P(ProductCheck, OutputsOneElementFurtherFail) {
  std::vector<double> values = reference_;
  std::rotate(values.begin(), values.begin() + 1, values.end());
  EXPECT_THAT(Check(values).message, testing::HasSubstr("elements are wrong"));
}
TEST_P(ProductCheck, OneWrongElementFails) {
  std::vector<double> values = reference_;
  const auto largest = std::max_element(values.begin(), values.end());
  *largest = 0;
  EXPECT_THAT(Check(values).message, testing::HasSubstr("; 1 of 128 elements are wrong"));
}
// One term left out, as by a loop that ends early: seen where sums are made in 32 bits or more.
class WideProductCheck : public ProductCheck {};
TEST_P(WideProductCheck, AMissingTermFails) {
  const auto& [dtype, terms, sums_narrow] = GetParam();
  std::vector<double> values = reference_;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] -=
        InputValue(3, 0, dtype, {}, int64_t(i) / kColumns * terms) * InputValue(3, 1, dtype, {}, int64_t(i) % kColumns);
  EXPECT_THAT(Check(values).message, testing::HasSubstr("elements are wrong"));
}

std::vector<ProductCase> ProductCases(const std::vector<DType>& dtypes) {
  std::vector<ProductCase> cases;
  for (const DType dtype : dtypes) {
    for (const int64_t terms : {1, 16, 64, 1024, 4608}) {
      cases.push_back({dtype, terms, false});
      if (dtype.bits == 16) cases.push_back({dtype, terms, true});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, ProductCheck, testing::ValuesIn(ProductCases({kFloat64, kFloat32, kFloat16, kBFloat16})),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(All, WideProductCheck, testing::ValuesIn(ProductCases({kFloat64, kFloat32})),
                         [](const auto& info) { return NameOf(info.param); });

TEST(ToleranceFor, GrowsWithTheRootOfTheTermsAndIsZeroForExactTypes) {
  const std::vector<double> reference = {-4, 2, NAN};
  const WorkloadFacts sums{.roundings = {{DataType::Float(32), 100}}};
  EXPECT_DOUBLE_EQ(ToleranceFor(sums, kFloat32, reference), 16 * 0x1p-23 * 10 * 4);
  EXPECT_EQ(ToleranceFor(sums, kInt32, reference), 0);
  EXPECT_EQ(ToleranceFor({.roundings = {{DataType::BFloat(), 1e6}}}, kBFloat16, reference), 1) << "a quarter at most";
}

}  // namespace
}  // namespace lathe
