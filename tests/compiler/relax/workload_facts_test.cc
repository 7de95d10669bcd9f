#include "compiler/ir/workload_facts.h"

#include <gtest/gtest.h>

#include "compiler/script/parser.h"

namespace lathe {
namespace {

struct FactsCase {
  const char* name;
  const char* text;
  double flops;
  int64_t reduction_length;
};
void PrintTo(const FactsCase& c, std::ostream* out) { *out << c.name; }

class FactsTest : public testing::TestWithParam<FactsCase> {};
TEST_P(FactsTest, CountsWorkOnDataAlone) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(GetParam().text, "case.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const WorkloadFacts facts = FactsOf(*func);
  EXPECT_EQ(facts.flops, GetParam().flops);
  EXPECT_EQ(facts.reduction_length, GetParam().reduction_length);
}

INSTANTIATE_TEST_SUITE_P(Programs, FactsTest,
                         testing::Values(FactsCase{"Elementwise", R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] * T.float32(2)
)",
                                                   8, 1},
                                         FactsCase{"IntegerProduct", R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "uint8"), B: T.Buffer((6, 5), "int8"), C: T.Buffer((4, 5), "int32")):
    for i, j, k in T.grid(4, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
)",
                                                   2 * 4 * 5 * 6, 6},
                                         FactsCase{"BoundsAndIndicesAreNoWork", R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((10,), "float32")):
    for i in range(10):
        C[i] = T.if_then_else(1 <= i and i * 2 + 1 < 18, A[(i * 3 + 5) % 8], T.float32(0))
)",
                                                   0, 1}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lathe
