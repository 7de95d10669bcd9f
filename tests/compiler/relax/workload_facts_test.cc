#include "compiler/ir/workload_facts.h"

#include <gtest/gtest.h>

#include "compiler/script/parser.h"

namespace lathe {
namespace {

struct FactsCase {
  const char* name;
  const char* text;
  double flops;
  std::vector<Rounding> roundings;
};
void PrintTo(const FactsCase& c, std::ostream* out) { *out << c.name; }

class FactsTest : public testing::TestWithParam<FactsCase> {};
TEST_P(FactsTest, CountsWorkOnDataAlone) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(GetParam().text, "case.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const WorkloadFacts facts = FactsOf(*func);
  EXPECT_EQ(facts.flops, GetParam().flops);
  EXPECT_EQ(facts.roundings, GetParam().roundings);
}

INSTANTIATE_TEST_SUITE_P(Programs, FactsTest,
                         testing::Values(FactsCase{"Elementwise",
                                                   R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] * T.float32(2)
)",
                                                   8,
                                                   {{DataType::Float(32), 1}}},
                                         FactsCase{"IntegerProduct",
                                                   R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "uint8"), B: T.Buffer((6, 5), "int8"), C: T.Buffer((4, 5), "int32")):
    for i, j, k in T.grid(4, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
)",
                                                   2 * 4 * 5 * 6,
                                                   {}},
                                         FactsCase{"BoundsAndIndicesAreNoWork",
                                                   R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((10,), "float32")):
    for i in range(10):
        C[i] = T.if_then_else(1 <= i and i * 2 + 1 < 18, A[(i * 3 + 5) % 8], T.float32(0))
)",
                                                   0,
                                                   {}},
                                         FactsCase{"SumsOfManyTermsAndOneStore",
                                                   R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float16"), C: T.Buffer((4,), "float16")):
    S = T.alloc_buffer((4,))
    for i, k in T.grid(4, 6):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.Cast("float32", A[vi, vk])
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.Cast("float16", S[vi])
)",
                                                   4 * 6,
                                                   {{DataType::Float(32), 6}, {DataType::Float(16), 1}}},
                                         FactsCase{"MaximaTakeWhatTheyFind",
                                                   R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float16"), C: T.Buffer((4,), "float32")):
    M = T.alloc_buffer((4,), "float16")
    for i, k in T.grid(4, 6):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float16")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + T.Cast("float32", A[vi, vk] - M[vi])
)",
                                                   4 * 6 + 2 * 4 * 6,
                                                   {{DataType::Float(32), 6}, {DataType::Float(16), 1}}},
                                         FactsCase{"SumsOfLoopsInABlock",
                                                   R"(
@T.prim_func
def main(A: T.Buffer((4, 8, 6), "float32"), C: T.Buffer((4,), "float32")):
    for i, o in T.grid(4, 8):
        with T.block("C"):
            vi, vo = T.axis.remap("SR", [i, o])
            with T.init():
                C[vi] = T.float32(0)
            for k in range(6):
                C[vi] = C[vi] + A[vi, vo, k]
)",
                                                   4 * 8 * 6,
                                                   {{DataType::Float(32), 48}}}),
                         [](const auto& info) { return std::string(info.param.name); });

// What is multiplied is what was loaded, whatever type the product has; the narrowest.
TEST(Facts, NameTheNarrowestFactor) {
  const auto of = [](const char* a, const char* sum) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4,), "TYPE"), B: T.Buffer((4,), "TYPE"), C: T.Buffer((4,), "SUM")):
    for i in range(4):
        C[i] = T.Cast("SUM", A[i]) * T.Cast("SUM", B[i])
)";
    for (const auto& [word, type] : {std::pair("TYPE", a), {"SUM", sum}})
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word))
        text.replace(at, std::string(word).size(), type);
    return FactsOf(*ParsePrimFunc(text, "case.py")).narrow_factor;
  };
  EXPECT_EQ(of("bfloat16", "float32"), DataType::BFloat());
  EXPECT_EQ(of("int8", "int32"), DataType::Int(8));
  EXPECT_EQ(of("float32", "float32"), std::nullopt);
}

struct ContractionCase {
  const char *name, *update;
  double flops;  // Of the contraction; 0: it is none of one type.
};
class ContractionTest : public testing::TestWithParam<ContractionCase> {};
TEST_P(ContractionTest, IsASumOfProductsOfTwoBuffers) {
  const std::string text = std::string(R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 5), "float32"), H: T.Buffer((6, 5), "float16"), C: T.Buffer((4, 5), "float32")):
    for i, j, k in T.grid(4, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = )") +
                           GetParam().update + "\n";
  const StatusOr<PrimFunc> func = ParsePrimFunc(text, "case.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  EXPECT_EQ(FactsOf(*func).contraction_flops, GetParam().flops);
}
INSTANTIATE_TEST_SUITE_P(Updates, ContractionTest,
                         testing::Values(ContractionCase{"SumFirst", "C[vi, vj] + A[vi, vk] * B[vk, vj]", 240},
                                         ContractionCase{"ProductFirst", "A[vi, vk] * B[vk, vj] + C[vi, vj]", 240},
                                         ContractionCase{"Square", "C[vi, vj] + A[vi, vk] * A[vi, vk]", 0},
                                         ContractionCase{"Narrow",
                                                         "C[vi, vj] + A[vi, vk] * T.Cast(\"float32\", H[vk, vj])", 0},
                                         ContractionCase{"Maximum", "T.max(C[vi, vj], A[vi, vk] * B[vk, vj])", 0},
                                         ContractionCase{"OfAnotherBuffer", "B[vk, vj] + A[vi, vk] * B[vk, vj]", 0}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
