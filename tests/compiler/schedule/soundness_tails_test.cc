// Found by random programs under random schedules, made small: iterations that a condition or a length leaves out, and
// what is thought to be there nevertheless.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class TailsTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(TailsTest, KeepsTheMeaningOrRefuses) { ExpectSound(GetParam()); }

constexpr char kCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((9,), "int32"), C: T.Buffer((9,), "int32")):
    for i in range(9):
        with T.block("C"):
            vi = T.axis.spatial(9, i)
            C[vi] = A[vi] * 2
)";

constexpr char kFourInALongNest[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for a, b, c, d in T.grid(6, 3, 2, 2):
        with T.block("B"):
            v = T.axis.spatial(4, (a * 2 + (b * 2 + c)) * 2 + d)
            T.where(a * 2 + (b * 2 + c) < 2 and b * 2 + c < 2)
            B[v] = A[v] * 2
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
)";

constexpr char kRowsTwice[] = R"(
@T.prim_func
def main(A: T.Buffer((12, 5), "int32"), C: T.Buffer((12,), "int32")):
    B = T.alloc_buffer((12, 5), "int32")
    for i, r, j in T.grid(12, 2, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = vi
)";

constexpr char kWindows[] = R"(
@T.prim_func
def main(A: T.Buffer((10,), "int32"), C: T.Buffer((10,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * 2
    for i, k in T.grid(10, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + T.if_then_else(vi + vk < 10, B[vi + vk], 0)
)";

constexpr char kSumsOfRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 7), "int32"), C: T.Buffer((4, 7), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 7):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
    for i, j in T.grid(4, 7):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * B[vi]
)";

// Of four lanes in two steps, the last step has three.
constexpr char kSumsByLanesText[] = R"(
@T.prim_func
def main(A: T.Buffer((3, 7), "int32"), C: T.Buffer((3,), "int32")):
    P = T.alloc_buffer((3, 4), "int32")
    for i, LOOPS in T.grid(3, EXTENTS):
        with T.block("P"):
            vi, vl, vs = T.axis.remap("SSR", [i, l, s])
            T.where(s * 4 + l < 7)
            with T.init():
                P[vi, vl] = 0
            P[vi, vl] = P[vi, vl] + A[vi, vs * 4 + vl]
    for i, l in T.grid(3, 4):
        with T.block("C"):
            vi, vl = T.axis.remap("SR", [i, l])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + P[vi, vl]
)";
std::string SumsByLanes(const std::string& loops, const std::string& extents) {
  std::string program = kSumsByLanesText;
  program.replace(program.find("LOOPS"), 5, loops);
  return program.replace(program.find("EXTENTS"), 7, extents);
}
const std::string kSumsByLanes = SumsByLanes("l, s", "4, 2"), kSumsByLanesTwice = SumsByLanes("l, s, t", "4, 2, 2");

constexpr char kLoopsThatMayNotRun[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle):
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n,), "int32")
    for i in range((n + 3) // 4 * 4):
        for j in range(T.min(1, n - i)):
            for k in range(T.min(1, n - i)):
                with T.block("C"):
                    vi = T.axis.spatial(n, i + j + k)
                    C[vi] = A[vi] * 2
)";

constexpr char kReadsSevenOfEight[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 4), "int32")):
    B = T.alloc_buffer((4, 8), "int32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    with T.block("outer"):
        T.reads(B[0:4, 0:7])
        T.writes(C[0:4, 0:4])
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj + vj] + B[vi, vj]
)";

constexpr char kReadsUpToTheLast[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * 2
    for k, j, l in T.grid(4, 8, 1):
        with T.block("C"):
            vj = T.axis.spatial(8, j)
            vk = T.axis.reduce(3, l * 4 + k)
            T.where(l * 4 + k < 3)
            with T.init():
                C[vj] = 0
            C[vj] = C[vj] + B[T.min(vk + 1, 3)]
)";

constexpr char kRowsAsLongAsNPlusOne[] = R"(
@T.prim_func
def main(n: T.int32, C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4, n + 1), "int32")
    for i, j, k in T.grid(4, (n + 1 + 3) // 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(n + 1, j * 4 + k)
            T.where(j * 4 + k < n + 1)
            B[vi, vj] = vi + vj
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi, T.min(0, n)]
)";

constexpr char kIndicesAsFarAsMemorySays[] = R"(
@T.prim_func
def main(I: T.Buffer((1,), "int32"), A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(T.max(T.min(I[0], 4), 0)):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[T.min(vi + 1, 3)] + A[T.min(vi + 1, 3)]
)";

constexpr char kLengthsFromMemory[] = R"(
@T.prim_func
def main(I: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int8")):
    J = T.alloc_buffer((1,), "int32")
    K = T.alloc_buffer((1,), "int32")
    for i in range(1):
        with T.block("K"):
            vi = T.axis.spatial(1, i)
            K[vi] = I[vi]
        with T.block("outer"):
            vo = T.axis.spatial(1, i)
            T.reads(K[vo], J[vo])
            T.writes(J[vo], B[0:J[0] + 1])
            with T.block("J"):
                J[vo] = T.max(T.min(K[vo], 7), 0)
            for j in range(J[0] + 1):
                with T.block("B"):
                    vj = T.axis.spatial(8, j)
                    B[vj] = T.int8(3)
)";

constexpr char kPartsOfASum[] = R"(
@T.prim_func
def main(A: T.Buffer((2,), "int32"), C: T.Buffer((5, 4), "int32")):
    B = T.alloc_buffer((6,), "int32")
    for i, k in T.grid(6, 2):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 1
            B[vi] = B[vi] + A[vk] * vi
    for i, j in T.grid(5, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi] + vj
)";

constexpr char kStepsByALet[] = R"(
@T.prim_func
def main(A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32")):
    for i, k in T.grid(9, 2):
        x: T.int32 = k
        with T.block("B"):
            vi = T.axis.spatial(9, i)
            vk = T.axis.reduce(2, x)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi]
)";

constexpr char kEveryRowByOneElement[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((12, 4), "int32")):
    for i, j in T.grid(12, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi % 8] * 2
)";

constexpr char kPairsOfATile[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), C: T.Buffer((3, 4), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j, k in T.grid(3, 2, 3):
        with T.block("C"):
            vi = T.axis.spatial(3, 2 - i)
            vj = T.axis.spatial(4, j * 3 + k)
            T.where(j * 3 + k < 4)
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj]
)";

constexpr char kAsManyRowsAsARead[] = R"(
@T.prim_func
def main(n: T.int32, I_handle: T.handle, a: T.handle, b: T.handle):
    I = T.match_buffer(I_handle, (n,), "int32")
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n, n), "int32")
    for i in range(n):
        with T.block("rows"):
            vi = T.axis.spatial(n, i)
            T.reads(I[vi], A[0:T.max(I[vi], n - 1) + 1])
            T.writes(B[vi, 0:n])
            for k in range(n):
                with T.block("B"):
                    vk = T.axis.spatial(n, k)
                    T.reads(A[T.min(I[vi], vk):T.max(I[vi], vk) + 1])
                    T.writes(B[vi, vk])
                    B[vi, vk] = A[T.min(T.max(I[vi], 0), n - 1)] + A[vk]
)";

constexpr char kSumsWhereMemorySays[] = R"(
@T.prim_func
def main(I: T.Buffer((4,), "int32"), A: T.Buffer((4,), "int32"), C: T.Buffer((4, 3), "int32")):
    B = T.alloc_buffer((4, 3), "int32")
    for i, j in T.grid(4, 3):
        with T.block("zero"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 0
    for i, j in T.grid(4, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[T.min(T.max(I[vi], 0), 3), vj], I[vi], A[vi])
            T.writes(B[T.min(T.max(I[vi], 0), 3), vj])
            B[T.min(T.max(I[vi], 0), 3), vj] = B[T.min(T.max(I[vi], 0), 3), vj] * 2 + A[vi]
    for i, j in T.grid(4, 3):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
)";

constexpr char kRowsUnderAPredicate[] = R"(
@T.prim_func
def main(A: T.Buffer((3, 5), "int32"), B: T.Buffer((3, 5), "int32")):
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0:5])
            T.writes(B[vi, 0:5])
            for j in range(5):
                with T.block("B"):
                    vj = T.axis.spatial(5, j)
                    T.where(vi < 3)
                    B[vi, vj] = A[vi, vj] + 1
)";

constexpr char kReadsTheStepBefore[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle):
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n, 2), "int32")
    B = T.alloc_buffer((n + 1, 7), "int32")
    for i, j in T.grid(n + 1, 7):
        with T.block("B"):
            vi = T.axis.spatial(n + 1, i)
            vj = T.axis.spatial(7, j)
            B[vi, vj] = A[T.min(vj, n - 1)] * 2
    for i, j in T.grid(n, 2):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[T.min(vi, n), vj - 1])
            T.writes(C[vi, vj])
            C[vi, vj] = T.if_then_else(1 <= vj and vj <= 7, B[T.min(vi, n), vj - 1], 0) - 1
)";

constexpr char kEverySumTwice[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((12,), "int32")):
    B = T.alloc_buffer((12,), "int32")
    for i, k in T.grid(12, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vk] * vi
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = B[vi // 2] * 2
)";

constexpr char kSumsBesideParts[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 2), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        for k in range(4):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[7 - vi, vk % 2]
        for j in range(2):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = 7
)";

constexpr char kReadsTheRowBefore[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle):
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n, 3), "int32")
    B = T.alloc_buffer((n,), "int32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * 2
        for j in range(3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[T.max(vi - 1, 0)] + vj
)";

constexpr char kRowByRemainderAndQuotient[] = R"(
@T.prim_func
def main(A: T.Buffer((12,), "int32"), C: T.Buffer((2, 3, 6), "int32")):
    for i in range(12):
        with T.block("outer"):
            vo = T.axis.spatial(12, i)
            T.reads(A[11 - vo])
            T.writes(C[(11 - vo) % 2, 0:3, (11 - vo) // 2])
            with T.block("B"):
                vi = T.axis.spatial(12, 11 - vo)
                for k in range(3):
                    C[vi % 2, k, vi // 2] = A[vi] * k
)";

constexpr char kReadsOnlyBesides[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 12), "int32"), C: T.Buffer((1, 12, 3), "int32")):
    B = T.alloc_buffer((4, 12), "int32")
    for i, j in T.grid(4, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for f, k in T.grid(12, 3):
        with T.block("C"):
            vo = T.axis.spatial(1, f // 12)
            vi = T.axis.spatial(12, f % 12)
            vj = T.axis.spatial(3, k)
            C[vo, vi, vj] = T.if_then_else(1 <= vo and vo <= 4, B[vo - 1, vi // 2], 7)
)";

constexpr char kRowsOfWhichOneRuns[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle):
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (1, n), "int32")
    for i, j, o, k in T.grid(4, n, 1, n):
        with T.block("C"):
            vi = T.axis.spatial(1, o * 4 + i)
            vj, vk = T.axis.remap("SR", [j, k])
            T.where(o * 4 + i < 1)
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vj] * 2
)";

constexpr char kEachElementTwice[] = R"(
@T.prim_func
def main(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((12,), "int32")
    for i in range(12):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = A[vi] * 2
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi // 2] + 1
)";

constexpr char kElementByCasts[] = R"(
@T.prim_func
def main(A: T.Buffer((3,), "int32"), C: T.Buffer((3,), "int32")):
    B = T.alloc_buffer((3,), "int32")
    for i in range(T.Cast("int32", T.int64(3))):
        for j in range(T.int64(1)):
            with T.block("B"):
                v = T.axis.spatial(T.int64(3), T.Cast("int64", i) + j)
                B[T.Cast("int32", v)] = A[T.Cast("int32", v)] * 2
    for i in range(3):
        with T.block("C"):
            v = T.axis.spatial(3, i)
            C[v] = B[v] + 1
)";

constexpr char kCopyOfHalfARow[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((4,), "int32")):
    with T.block("outer"):
        T.reads(A[0:4])
        T.writes(C[0:4])
        B = T.alloc_buffer((8,), "int32")
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]
        for i, j in T.grid(2, 3):
            with T.block("C"):
                v = T.axis.spatial(4, i * 3 + j)
                T.where(i * 3 + j < 4)
                C[v] = B[v]
)";

constexpr char kSumsInABlock[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((4, 2), "int32")):
    for k, i in T.grid(8, 4):
        with T.block("outer"):
            vk, vi = T.axis.remap("RS", [k, i])
            T.reads(A[vk])
            T.writes(B[vi, 0:2])
            for j in range(2):
                with T.block("B"):
                    vii = T.axis.spatial(4, vi)
                    vj = T.axis.spatial(2, j)
                    vkk = T.axis.reduce(8, vk)
                    with T.init():
                        B[vii, vj] = 0
                    B[vii, vj] = B[vii, vj] + A[vkk]
)";

constexpr char kReadsBeforeTheFirst[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((2,), "int32"), C: T.Buffer((1, 4), "int32")):
    for i in range(2):
        if i < 2:
            with T.block("B"):
                v = T.axis.spatial(2, i)
                B[v] = A[v]
    for i, j in T.grid(1, 4):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            T.reads(B[v - 1])
            T.writes(C[v, w])
            C[v, w] = T.if_then_else(1 <= v and v <= 2, B[v - 1], 7)
)";

constexpr char kUpsideDownTriangle[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((7, 7), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        for j in range(i + 1):
            with T.block("B"):
                v = T.axis.spatial(8, 7 - i)
                w = T.axis.spatial(8, j)
                B[v, w] = A[v, w]
    for i, j in T.grid(7, 7):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = B[v, w]
)";

constexpr char kSumAtIndexZero[] = R"(
@T.prim_func
def main(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    for i, k in T.grid(1, 3):
        with T.block("B"):
            vi = T.axis.spatial(1, i)
            vk = T.axis.reduce(3, k)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + T.Select(1 <= vk, A[T.max(T.min(vk - 3, 0), 0)], 0)
)";

constexpr char kRowsAndTheirFirstTwo[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle, d: T.handle):
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n, n), "int32")
    D = T.match_buffer(d, (n,), "int32")
    for i in range(n):
        for j in range(n):
            with T.block("C"):
                v, w = T.axis.remap("SS", [i, j])
                C[v, w] = C[v, w] + A[v]
        for j in range(2):
            with T.block("D"):
                v, w = T.axis.remap("SR", [i, j])
                with T.init():
                    D[v] = 0
                D[v] = D[v] + A[T.min(w, n - 1)]
)";

constexpr char kSumFromAReversedRow[] = R"(
@T.prim_func
def main(A: T.Buffer((6, 5), "int32"), B: T.Buffer((4, 5), "int32"), C: T.Buffer((6, 4), "int32")):
    for i, j, k in T.grid(6, 4, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = B[T.min(vi, 3), 4 - vj]
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)";

constexpr char kReadsSevenOfTwelve[] = R"(
@T.prim_func
def main(I: T.Buffer((1,), "int32"), A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((12,), "int32")
    for i in range(12):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            T.where(0 < I[0] * I[0] + 1)
            B[vi] = A[vi] + 1
    for i, j in T.grid(3, 3):
        with T.block("C"):
            vi = T.axis.spatial(8, i * 3 + j)
            T.where(i * 3 + j < 8)
            T.reads(B[T.max(vi - 1, 0)])
            T.writes(C[vi])
            s = T.int32()
            o = T.int32()
            view = T.match_buffer(B[0:12], (12,), "int32", strides=(s,), elem_offset=o)
            C[vi] = view[T.max(vi - 1, 0)] * 2
)";

constexpr char kUnderALoadedCondition[] = R"(
@T.prim_func
def main(I: T.Buffer((1,), "int32"), A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
    if 0 < I[0]:
        for i in range(6):
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                C[vi] = A[vi // 2] * 2
)";

INSTANTIATE_TEST_SUITE_P(
    Tails, TailsTest,
    testing::Values(
        SoundnessCase{"RingOfTilesThatAreNotWhole", kCopy,
                      "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'global')\ni, = sch.get_loops(c)\n"
                      "sch.compute_at(b, i, True)\ni, j = sch.get_loops(b)\nk, l = sch.split(j, [5, 2])\n"
                      "sch.rolling_buffer(b, 0)\n",
                      "not known to write every element of a tile of \"A_global\""},
        SoundnessCase{"RingOfTilesCutAtTheEnd", kWindows,
                      "c = sch.get_block('C')\nb = sch.get_block('B')\ni, k = sch.get_loops(c)\n"
                      "sch.compute_at(b, i)\nsch.rolling_buffer(b, 0)\n"},
        SoundnessCase{"ComputeAtOfLanesThatTheLastStepLeavesOut", kSumsOfRows,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\ns, l = sch.split(k, [None, 4])\n"
                      "p = sch.rfactor(l, 1)\nc = sch.get_block('C')\nr, j = sch.get_loops(c)\n"
                      "sch.compute_at(b, r)\nsch.compute_at(p, r)\n"},
        SoundnessCase{
            "DecomposeOfLanesThatTheLastStepLeavesOut", kSumsOfRows,
            "b = sch.get_block('B')\ni, k = sch.get_loops(b)\ns, l = sch.split(k, [None, 4])\n"
            "p = sch.rfactor(l, 1)\nc = sch.get_block('C')\nr, j = sch.get_loops(c)\nr, t = sch.split(r, [None, 2])\n"
            "sch.compute_at(b, r)\nsch.compute_at(p, r)\nr, t, l, s = sch.get_loops(p)\nsch.reorder(s, l)\n"
            "sch.vectorize(l)\ninit = sch.decompose_reduction(p, s)\n"},
        SoundnessCase{"ComputeAtOfLanesInTheOrderOfSteps", kSumsByLanes.c_str(),
                      "p = sch.get_block('P')\ni, l, s = sch.get_loops(p)\nsch.reorder(s, l)\n"
                      "c = sch.get_block('C')\nr, j = sch.get_loops(c)\nsch.compute_at(p, r)\n"},
        SoundnessCase{"ComputeAtOfSumsThatAreTakenTwice", kSumsByLanesTwice.c_str(),
                      "p = sch.get_block('P')\nc = sch.get_block('C')\nr, j = sch.get_loops(c)\nsch.compute_at(p, r)\n",
                      "its loops are no whole reduction"},
        SoundnessCase{"FuseOfLoopsThatMayNotRun", kLoopsThatMayNotRun,
                      "c = sch.get_block('C')\ni, j, k = sch.get_loops(c)\nf = sch.fuse(j, k)\n"},
        SoundnessCase{"CopyOfNoMoreThanTheBlockAroundReads", kReadsSevenOfEight,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nx = sch.read_at(i, c, 0, 'local')\n"
                      "y = sch.cache_read(x, 0, 'local')\n"},
        SoundnessCase{"LayoutOfWhatEachLaneMakes", kReadsUpToTheLast,
                      "c = sch.get_block('C')\nk, j, l = sch.get_loops(c)\nsch.parallel(j)\n"
                      "b = sch.get_block('B')\nsch.compute_at(b, j)\n"
                      "sch.transform_layout(b, ('write', 0), lambda i: (i,))\n"},
        SoundnessCase{"IndicesAsFarAsMemorySays", kIndicesAsFarAsMemorySays,
                      "c = sch.get_block('C')\nx, = sch.cache_index(c, 'global', 1)\n", "is read from memory"},
        SoundnessCase{"BlockThatMakesHowFarItWrites", kLengthsFromMemory, "o = sch.get_block('outer')\n"},
        SoundnessCase{"BlockOfASumThatEachLaneMakes", kPartsOfASum,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\no = sch.blockize(i)\n"
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nsch.parallel(j)\n"
                      "sch.compute_at(o, j, True)\n"},
        SoundnessCase{"IndexOfWhatAnInitDoes", kPartsOfASum,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\no = sch.blockize(i)\n"
                      "n = sch.get_block('B_init')\nx, = sch.cache_index(n, 'global', 0)\n",
                      "in the init of its scope"},
        SoundnessCase{"OrderOfStepsThatALetNames", kStepsByALet,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nf = sch.fuse(i, k)\n"
                      "o, l = sch.split(f, [6, 3])\nsch.reorder(l, o)\n",
                      "may not begin at its minimum"},
        SoundnessCase{"LayoutByIndicesInMemoryOfWhatEachLaneMakes", kEveryRowByOneElement,
                      "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'global')\ni, j = sch.get_loops(c)\n"
                      "sch.compute_at(b, j)\nx, = sch.cache_index(c, 'global', 0)\nsch.parallel(j)\n"
                      "sch.transform_layout(b, ('write', 0), lambda i: (i % 2, i // 2))\n",
                      "runs its iterations at once"},
        SoundnessCase{
            "FuseOfATileThatEachLaneMakes", kPairsOfATile,
            "b = sch.get_block('B')\nsch.transform_layout(b, ('write', 0), lambda i, j: (i, j // 2, j % 2))\n"
            "c = sch.get_block('C')\ni, j, k = sch.get_loops(c)\nsch.compute_at(b, k, preserve_unit_loops=True)\n"
            "sch.parallel(j)\ni, j, k, x, y = sch.get_loops(b)\nf = sch.fuse(x, y)\n"},
        SoundnessCase{"FactorOfASumThatEachLaneMakes", kEverySumTwice,
                      "c = sch.get_block('C')\ni, = sch.get_loops(c)\nsch.parallel(i)\n"
                      "b = sch.get_block('B')\nsch.compute_at(b, i)\ni, k = sch.get_loops(b)\n"
                      "r = sch.rfactor(k, -1)\n",
                      "runs its iterations at once"},
        SoundnessCase{"FactorBeforePartsThatChangeItsInput", kSumsBesideParts,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nk, l = sch.loop_partition(j, [1, None])\n"
                      "s = sch.get_block('S')\ni, x = sch.get_loops(s)\nr = sch.rfactor(x, 0)\n",
                      "touches more than it declares"},
        SoundnessCase{"CopyOfNoMoreThanIsMadeSoFar", kReadsTheRowBefore,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nx = sch.read_at(i, c, 0, 'global')\n"
                      "y = sch.cache_read(c, 0, 'global')\n"
                      "sch.transform_layout(y, ('write', 0), lambda i: (i // 4, i % 4), lambda i, j: 2)\n"},
        SoundnessCase{"ComputeAtOfARowBesideItsBuffer", kRowByRemainderAndQuotient,
                      "b = sch.get_block('B')\nw = sch.cache_write(b, 0, 'global')\ni, k, j = sch.get_loops(w)\n"
                      "sch.compute_at(b, i)\n"},
        SoundnessCase{"ConsumerUnderALoopThatNeverRuns", kReadsOnlyBesides,
                      "c = sch.get_block('C')\nx = sch.cache_read(c, 0, 'global')\ni, j = sch.get_loops(x)\n"
                      "sch.reverse_compute_at(c, j)\n",
                      "it may read more of"},
        SoundnessCase{"CopyOfARowThatNeverRuns", kRowsOfWhichOneRuns,
                      "c = sch.get_block('C')\ni, j, o, k = sch.get_loops(c)\n"
                      "x, y, z = sch.loop_partition(i, [1, 1, None])\nd = sch.get_block('C_i1')\n"
                      "w = sch.cache_write(d, 0, 'global')\n"},
        SoundnessCase{"CopyOfAllThatLanesMake", kEachElementTwice,
                      "b = sch.get_block('B')\ni, = sch.get_loops(b)\nsch.vectorize(i)\nc = sch.get_block('C')\n"
                      "sch.reverse_compute_at(c, i)\ni, j = sch.get_loops(c)\nx, y = sch.loop_partition(j, [None, 1])\n"
                      "d = sch.get_block('C_ax01')\ne = sch.cache_read(d, 0, 'local')\n",
                      "and these run at once"},
        SoundnessCase{"ComputeAtOfTheHalfThatIsDeclared", kCopyOfHalfARow,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nb = sch.get_block('B')\nsch.compute_at(b, i)\n"
                      "x = sch.cache_read(b, 0, 'global')\n"},
        SoundnessCase{"ConsumerOfAnElementByCasts", kElementByCasts,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nc = sch.get_block('C')\n"
                      "sch.reverse_compute_at(c, i)\n",
                      "would leave out values"},
        SoundnessCase{"CopyOfSumsThatGoOnInTheNextRun", kSumsInABlock,
                      "b = sch.get_block('outer')\nk, i = sch.get_loops(b)\no = sch.blockize(i)\n"
                      "w = sch.cache_write(b, 0, 'local')\n",
                      "the reduction of block \"B\" may have begun outside of block \"outer_o\""},
        SoundnessCase{"CopyAtOfSumsThatGoOnInTheNextRun", kSumsInABlock,
                      "b = sch.get_block('outer')\nk, i = sch.get_loops(b)\no = sch.blockize(i)\n"
                      "j, = sch.get_loops(b)\nw = sch.write_at(j, b, 0, 'local')\n",
                      "may have begun outside"},
        SoundnessCase{"CopyAtOfSumsThatGoOnInTheNextIteration", kSumsInABlock,
                      "b = sch.get_block('outer')\nk, i = sch.get_loops(b)\nw = sch.write_at(i, b, 0, 'local')\n",
                      "not data-parallel"},
        SoundnessCase{"ConsumerOfNothingUnderALoopThatNeverRuns", kReadsBeforeTheFirst,
                      "c = sch.get_block('C')\nx = sch.cache_read(c, 0, 'local')\ny = sch.cache_read(c, 0, 'global')\n"
                      "i, = sch.get_loops(y)\nsch.reverse_compute_at(c, i)\n",
                      "loop \"ax0\" is not known to run"},
        SoundnessCase{"ConsumerUnderATriangle", kUpsideDownTriangle,
                      "c = sch.get_block('C')\nb = sch.get_block('B')\ni, j = sch.get_loops(b)\n"
                      "sch.reverse_compute_at(c, j)\n",
                      "would leave out values"},
        SoundnessCase{"IndexThatIsAlwaysZeroBesideZeros", kSumAtIndexZero,
                      "b = sch.get_block('B')\nx, y = sch.cache_index(b, 'global', 0)\ni, k = sch.get_loops(b)\n"
                      "z = sch.decompose_reduction(b, i)\n"},
        SoundnessCase{"ComputeAtOfPartsOfUnknownLength", kRowsAndTheirFirstTwo,
                      "d = sch.get_block('D')\nb = sch.cache_read(d, 0, 'global')\ni, j = sch.get_loops(d)\n"
                      "k, l = sch.split(i, [4, None])\nx, y, z = sch.split(k, [None, 2, 2])\n"
                      "sch.compute_at(b, x)\n"},
        SoundnessCase{"PaddingOfASumThatBeginsElsewhere", kSumFromAReversedRow,
                      "c = sch.get_block('C')\nsch.pad_einsum(c, [2, 3, 1])\n", "is used at several places"},
        SoundnessCase{"ComputeAtOfMoreThanTheCopyHolds", kReadsSevenOfTwelve,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nk, l = sch.split(j, [2, 2])\n"
                      "x = sch.cache_read(c, 0, 'local')\ny = sch.cache_read(x, 0, 'global')\n"
                      "sch.compute_at(x, k)\n",
                      "no more of \"B_global\" may be made"},
        SoundnessCase{"PartsUnderALoadedCondition", kUnderALoadedCondition,
                      "c = sch.get_block('C')\nl = sch.cache_read(c, 0, 'global')\ni, = sch.get_loops(c)\n"
                      "sch.compute_at(l, i)\nj, k = sch.split(i, [None, 2])\nsch.parallel(k)\n"},
        SoundnessCase{"SizeOfMemoryIsReadUnderTheCondition", kAsManyRowsAsARead,  // Seed 7030678.
                      "b = sch.get_block('B')\nx = sch.cache_read(b, 0, 'global')\nr = sch.get_block('rows')\n"
                      "i, = sch.get_loops(r)\nj, k, l = sch.split(i, [None, 3, 2])\n"},
        SoundnessCase{"SumsWhereMemorySaysAtOnce", kSumsWhereMemorySays,  // Seed 10096097.
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nsch.vectorize(i)\n",
                      "neither complete nor a reduction"},
        SoundnessCase{"LanesOfLanesUnderACondition", kRowsUnderAPredicate,  // Seed 8026155.
                      "r = sch.get_block('row')\ni, = sch.get_loops(r)\nsch.vectorize(i)\nb = sch.get_block('B')\n"
                      "j, = sch.get_loops(b)\nsch.vectorize(j)\n"},
        SoundnessCase{"CopyOfWhatTwoConditionsLeave", kFourInALongNest,  // Seed 40009918.
                      "b = sch.get_block('B')\nw = sch.cache_write(b, 0, 'local')\n"},
        SoundnessCase{"PartsOfWhatEachLaneHasOfItsOwn", kRowsTwice,  // Seed 40077683.
                      "b = sch.get_block('B')\ni, r, j = sch.get_loops(b)\nsch.vectorize(r)\n"
                      "x, y = sch.loop_partition(i, [1, None])\n",
                      "each with a copy of buffer \"B\" of its own"},
        SoundnessCase{
            "CopyBackOfAStepThatIsLeftOut", kReadsTheStepBefore,  // Seed 7079227.
            "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\n"
            "sch.compute_at(b, j, preserve_unit_loops=True)\ni, j, x, y = sch.get_loops(b)\n"
            "y0, y1 = sch.split(y, [None, 4], preserve_unit_iters=False)\nw = sch.cache_write(b, 0, 'global')\n",
            "is not known to have written before"},
        SoundnessCase{"FuseOfRowsOfUnknownLength", kRowsAsLongAsNPlusOne,
                      "b = sch.get_block('B')\ni, j, k = sch.get_loops(b)\nf = sch.fuse(i, j)\n"}),
    NameOf);

}  // namespace
}  // namespace lathe
