// Where PlanAndUpdateBufferAllocationLocation puts a buffer: inside a loop only if each iteration writes what it reads.
#include <gmock/gmock.h>

#include "compiler/interpreter/interpreter.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "compiler/transform/plan_and_update_buffer_allocation_location.h"

namespace lathe {
namespace {

struct LocationCase {
  const char* name;
  bool enters;  // Whether B moves into a loop.
  const char* program;
};

class AllocationLocationTest : public testing::TestWithParam<LocationCase> {};
TEST_P(AllocationLocationTest, KeepsTheValuesThatAreRead) {
  const StatusOr<PrimFunc> before = ParsePrimFunc(GetParam().program, "case.py");
  ASSERT_TRUE(before.ok()) << before.status().ToString();
  const PrimFunc after = PlanAndUpdateBufferAllocationLocation(*before);
  EXPECT_EQ(Print(after).find("T.block(\"\")") != std::string::npos, GetParam().enters) << Print(after);
  std::vector<Tensor> expected;
  for (const Param& param : ParamsOf(*before)) {
    const Buffer& buffer = std::get<Buffer>(param);
    Tensor tensor = Tensor::Zeros(buffer->dtype, *ConstantShape(buffer->shape));
    std::vector<int64_t> values(tensor.NumElements());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * 7 % 11) - 4;
    expected.push_back(Tensor::FromInts(buffer->dtype, tensor.shape, values));
  }
  std::vector<Tensor> actual = expected;
  ASSERT_EQ(Interpret(*before, expected), OkStatus());
  ASSERT_EQ(Interpret(after, actual), OkStatus()) << Print(after);
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(actual[i].data == expected[i].data) << Print(after);
}

INSTANTIATE_TEST_SUITE_P(Programs, AllocationLocationTest,
                         testing::Values(LocationCase{"StaysOutWhereAPredicateSkipsTheWrite", false, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(i < 1)
            B[0] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[0]
)"},
                                         LocationCase{"EntersAroundALoopWhoseFirstStepFills", true, R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for c in range(4):
        for h in range(8):
            with T.block("B"):
                vc, vh = T.axis.remap("SS", [c, h])
                T.where(h < 1)
                B[0] = A[vc, vh]
            with T.block("C"):
                vc, vh = T.axis.remap("SS", [c, h])
                C[vc, vh] = B[0]
)"},
                                         LocationCase{"StaysOutWhereALaterStepFills", false, R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for c in range(4):
        for h in range(8):
            with T.block("B"):
                vc, vh = T.axis.remap("SS", [c, h])
                T.where(1 <= h or c < 1)
                B[0] = A[vc, vh]
            with T.block("C"):
                vc, vh = T.axis.remap("SS", [c, h])
                C[vc, vh] = B[0]
)"},
                                         LocationCase{"StaysOutWhereOnlySomeFirstStepsFill", false, R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for c in range(4):
        for h in range(8):
            with T.block("B"):
                vc, vh = T.axis.remap("SS", [c, h])
                T.where(h < 1 and c < 2)
                B[0] = A[vc, vh]
            with T.block("C"):
                vc, vh = T.axis.remap("SS", [c, h])
                C[vc, vh] = B[0]
)"},
                                         LocationCase{"StaysOutWhereTheFirstStepReadsBefore", false, R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for c in range(4):
        for h in range(8):
            with T.block("C"):
                vc, vh = T.axis.remap("SS", [c, h])
                T.where(1 <= c or 1 <= h)
                C[vc, vh] = B[0]
            with T.block("B"):
                vc, vh = T.axis.remap("SS", [c, h])
                T.where(h < 1)
                B[0] = A[vc, vh]
)"},
                                         LocationCase{"StaysOutWhereAnIfSkipsTheWrite", false, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for i in range(8):
        if i < 1:
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[0] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[0]
)"},
                                         LocationCase{"StaysOutWhereTheWritesLeaveGaps", false, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((2, 7), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for t in range(2):
        for j in range(8):
            with T.block("zero"):
                vt, vj = T.axis.remap("SS", [t, j])
                T.where(t < 1)
                B[vj] = 0
        for j in range(4):
            with T.block("B"):
                vt, vj = T.axis.remap("SS", [t, j])
                B[2 * vj] = A[vt * 4 + vj]
        for j in range(7):
            with T.block("C"):
                vt, vj = T.axis.remap("SS", [t, j])
                C[vt, vj] = B[vj]
)"},
                                         LocationCase{"StaysOutWhereALoopMayBeEmpty", false, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for i in range(8):
        for j in range(T.max(1 - i, 0)):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(1, j)
                B[0] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[0]
)"},
                                         LocationCase{"EntersUnderAGuardThatMemoryDecides", true, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), I: T.Buffer((2,), "int64"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for o in range(T.Cast("int32", I[1]) // 4 + 1):
        for q in range(4):
            for i in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    T.where(o * 4 + q < T.Cast("int32", I[1]) + 1)
                    B[0] = A[vi]
                with T.block("C"):
                    vi, vr = T.axis.spatial(8, i), T.axis.reduce(8, o * 4 + q)
                    T.where(o * 4 + q < T.Cast("int32", I[1]) + 1)
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + B[0]
)"},
                                         LocationCase{"StaysOutUnderAGuardOfMemoryThatChanges", false, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), I: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(I[i] < 0)
            B[0] = A[vi]
        with T.block("I"):
            vi = T.axis.spatial(8, i)
            I[vi] = -1
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(I[i] < 0)
            C[vi] = B[0]
)"},
                                         LocationCase{"EntersTilesWithAGuardedTail", true, R"(
@T.prim_func
def main(A: T.Buffer((13,), "int32"), C: T.Buffer((13,), "int32")):
    B = T.alloc_buffer((13,), "int32")
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(13, i * 4 + j)
                T.where(i * 4 + j < 13)
                B[vi] = A[vi]
        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(13, i * 4 + j)
                T.where(i * 4 + j < 13)
                C[vi] = B[vi]
)"},
                                         LocationCase{"EntersWhereReaderAndWriterShareAGuardInside", true, R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(16, i * 4 + j)
                T.where(i * 4 + j < 13)
                B[vi] = A[vi]
        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(16, i * 4 + j)
                T.where(i * 4 + j < 13)
                C[vi] = B[vi]
)"},
                                         LocationCase{"EntersARowWhoseSumHasAGuardedTail", true, R"(
@T.prim_func
def main(A: T.Buffer((4, 9), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        for k, l in T.grid(2, 5):
            with T.block("sum"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(9, k * 5 + l)
                T.where(k * 5 + l < 9)
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vk]
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
)"},
                                         LocationCase{"EntersOverAWindowWithVariableBounds", true, R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((12, 4), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(12):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(16, i + j)
                B[vi] = A[vi]
        for k in T.serial(i, i + 4):
            with T.block("C"):
                vi = T.axis.spatial(12, i)
                vk = T.axis.spatial(16, k)
                C[vi, vk - vi] = B[vk]
)"},
                                         LocationCase{"EntersWhereTwoWritesTogetherCover", true, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(4):
        for j in range(3):
            with T.block("low"):
                vj = T.axis.spatial(8, j)
                B[vj] = A[vj] * 2
        for j in range(3, 8):
            with T.block("high"):
                vj = T.axis.spatial(8, j)
                B[vj] = A[vj] * 2
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj] + B[7 - vj]
)"},
                                         LocationCase{"StaysOutWhereTwoWritesLeaveAGap", false, R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(4):
        for j in range(3):
            with T.block("low"):
                vj = T.axis.spatial(8, j)
                B[vj] = A[vj] * 2
        for j in range(4, 8):
            with T.block("high"):
                vj = T.axis.spatial(8, j)
                B[vj] = A[vj] * 2
        with T.block("once"):
            vi = T.axis.spatial(4, i)
            T.where(i < 1)
            B[3] = A[3]
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj]
)"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
