// Which integers an input may hold, for programs that index with them.
#include "tuner/measure/input_ranges.h"

#include <gmock/gmock.h>

#include "compiler/script/parser.h"

namespace lathe {

void PrintTo(const ParamRange& r, std::ostream* out) { *out << r.param << ": " << r.range.low << ".." << r.range.high; }

namespace {

struct RangesCase {
  const char* name;
  const char* text;
  std::vector<ParamRange> expected;
};
void PrintTo(const RangesCase& c, std::ostream* out) { *out << c.name; }

class InputRangesTest : public testing::TestWithParam<RangesCase> {};
TEST_P(InputRangesTest, LeadIntoWhatIsIndexed) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(GetParam().text, "case.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  EXPECT_EQ(InputRangesOf(*func), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Programs, InputRangesTest,
                         testing::Values(RangesCase{"NumbersAreNoIndices",
                                                    R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        C[i] = A[i] * 2
)",
                                                    {}},
                                         RangesCase{"RowsOfATable",
                                                    R"(
@T.prim_func
def main(Table: T.Buffer((100, 16), "float32"), Ids: T.Buffer((4,), "int64"), C: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = Table[Ids[vi], vj]
)",
                                                    {{1, {0, 99}}}},
                                         RangesCase{"NegativeOnesCountFromTheEnd",
                                                    R"(
@T.prim_func
def main(Table: T.Buffer((100,), "float32"), Ids: T.Buffer((4,), "int64"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = Table[T.Select(Ids[vi] < T.int64(0), Ids[vi] + T.int64(100), Ids[vi])]
)",
                                                    {{1, {0, 99}}}},
                                         RangesCase{"ThroughAConversionInABlockOfItsOwn",
                                                    R"(
@T.prim_func
def main(Table: T.Buffer((50,), "float32"), Ids: T.Buffer((4,), "int64"), C: T.Buffer((4,), "float32")):
    Narrow = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("Narrow"):
            vi = T.axis.spatial(4, i)
            Narrow[vi] = T.Cast("int32", Ids[vi])
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = Table[Narrow[vi]]
)",
                                                    {{1, {0, 49}}}},
                                         RangesCase{"TheSmallestTableCounts",
                                                    R"(
@T.prim_func
def main(A: T.Buffer((50,), "float32"), B: T.Buffer((9,), "float32"), Ids: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = A[Ids[i]] + B[Ids[i]]
)",
                                                    {{2, {0, 8}}}},
                                         RangesCase{"AStrideHalvesUntilItFits",
                                                    R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), Ids: T.Buffer((4,), "int32"), C: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 3):
        C[i, j] = A[Ids[i] * 4 + j]
)",
                                                    {{1, {0, 15}}}},
                                         RangesCase{"Scatter",
                                                    R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), Ids: T.Buffer((4,), "int32"), C: T.Buffer((10,), "float32")):
    for i in range(4):
        C[Ids[i]] = A[i]
)",
                                                    {{1, {0, 9}}}},
                                         RangesCase{"RowsOfASparseMatrix",
                                                    R"(
@T.prim_func
def main(Data: T.Buffer((32,), "float32"), Begins: T.Buffer((5,), "int32"), Columns: T.Buffer((32,), "int32"), X: T.Buffer((12,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = T.float32(0)
        for k in range(Begins[i + 1] - Begins[i]):
            C[i] = C[i] + Data[Begins[i] + k] * X[Columns[Begins[i] + k]]
)",
                                                    {{1, {0, 31}}, {2, {0, 11}}}},
                                         RangesCase{"AScalarThatBoundsALoop",
                                                    R"(
@T.prim_func
def main(A: T.Buffer((20,), "float32"), n: T.int32, C: T.Buffer((20,), "float32")):
    for i in range(n):
        C[i] = A[i]
)",
                                                    {{1, {0, 19}}}},
                                         RangesCase{"WhatAConditionGuardsIsBelieved",
                                                    R"(
@T.prim_func
def main(A: T.Buffer((20,), "float32"), Ids: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = T.if_then_else(1 <= Ids[i], A[Ids[i] - 1], T.float32(0))
)",
                                                    {{1, {0, 19}}}},
                                         RangesCase{"AByteHoldsNoMore",
                                                    R"(
@T.prim_func
def main(A: T.Buffer((1000,), "float32"), Ids: T.Buffer((4,), "uint8"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = A[T.Cast("int32", Ids[i])]
)",
                                                    {{1, {0, 254}}}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lathe
