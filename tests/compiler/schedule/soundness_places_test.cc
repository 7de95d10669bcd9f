// Found by random programs under random schedules, made small: memory that iterations at once make for themselves, and
// what lanes, threads and parts share.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class PlacesTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(PlacesTest, KeepsTheMeaningOrRefuses) { ExpectSound(GetParam()); }

constexpr char kSumsOfAllRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((4, 4), "float32")
    with T.block("all"):
        T.reads(A[0:4, 0:3])
        T.writes(B[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 3):
            with T.block("sum"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = B[vi, vj] + A[vi, vk] * A[vj, vk]
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
)";

constexpr char kRowsOfATriangle[] = R"(
@T.prim_func
def main(A: T.Buffer((9,), "int32"), C: T.Buffer((5,), "int32")):
    B = T.alloc_buffer((3,), "int32")
    for i in range(3):
        with T.block("outer"):
            vo = T.axis.spatial(3, i)
            T.reads(A[0:vo * 2 + 1])
            T.writes(B[vo])
            for k in range(vo + 1):
                with T.block("sum"):
                    vi = T.axis.spatial(3, vo)
                    vk = T.axis.reduce(5, k)
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vk + vk]
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[T.min(vi, 2)] * 2
)";

constexpr char kRowsFromTheirDiagonal[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi] + A[vj]
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            T.reads(B[vo, vo])
            T.writes(C[vo, 0:4])
            for j in range(4):
                with T.block("row"):
                    vi = T.axis.spatial(4, vo)
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = B[vi, vi] * 6
)";

constexpr char kPairsOfOneValue[] = R"(
@T.prim_func
def main(A: T.Buffer((5,), "int32"), C: T.Buffer((9, 10), "int32")):
    B = T.alloc_buffer((5,), "int32")
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = A[vi] * 2
    for i, j, k in T.grid(5, 9, 2):
        with T.block("C"):
            vj = T.axis.spatial(9, j)
            vk = T.axis.spatial(10, i * 2 + k)
            C[vj, vk] = B[vk // 2] - 1
)";

constexpr char kRowsFromRows[] = R"(
@T.prim_func
def main(A: T.Buffer((5, 8), "int32"), C: T.Buffer((5, 8), "int32")):
    for i, j in T.grid(5, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2
)";

constexpr char kRowsFromTheRowBefore[] = R"(
@T.prim_func
def main(A: T.Buffer((5, 8), "int32"), C: T.Buffer((6, 8), "int32")):
    for i, j in T.grid(5, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj], C[vi, vj])
            T.writes(C[vi + 1, vj])
            C[vi + 1, vj] = C[vi, vj] + A[vi, vj]
)";

constexpr char kSumOfRows[] = R"(
@T.prim_func
def main(A: T.Buffer((5, 8), "int32"), C: T.Buffer((8,), "int32")):
    for i, j in T.grid(5, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("RS", [i, j])
            with T.init():
                C[vj] = 0
            C[vj] = C[vj] + A[vi, vj]
)";

constexpr char kClampedRows[] = R"(
@T.prim_func
def main(A: T.Buffer((7, 7), "int32"), C: T.Buffer((2, 12), "int32")):
    B = T.alloc_buffer((7, 7), "int32")
    for i, j in T.grid(7, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[(vj * 4 + vi) // 12, (vj * 4 + vi) % 12] = B[(vj * 4 + vi) // 12 * 2, T.min((vj * 4 + vi) % 12, 6)]
)";

constexpr char kReadsInItsInit[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("sum"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(1, 0)
            T.reads(A[vi, 0:8])
            T.writes(C[vi])
            with T.init():
                with T.block("init"):
                    T.reads(A[vi, 0])
                    T.writes(C[vi])
                    C[vi] = A[vi, 0]
            for k in range(8):
                with T.block("update"):
                    vj = T.axis.reduce(8, k)
                    T.reads(C[vi], A[vi, vj])
                    T.writes(C[vi])
                    C[vi] = C[vi] + A[vi, vj]
)";

constexpr char kViewOfARow[] = R"(
@T.prim_func
def main(A: T.Buffer((5,), "int32"), C: T.Buffer((4, 12), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[T.min(vi, 4)])
            T.writes(B[vi])
            s = T.int32()
            o = T.int32()
            view = T.match_buffer(A[0:5], (5,), "int32", strides=(s,), elem_offset=o)
            B[vi] = view[T.min(vi, 4)] * 2
    for i, j in T.grid(4, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi - 1:vi + 1])
            T.writes(C[vi, vj])
            C[vi, vj] = T.if_then_else(1 <= vi, B[vi - 1], 0) - B[vi]
)";

constexpr char kOneStepReads[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((5, 12, 2), "int32")):
    B = T.alloc_buffer((5, 2), "int32")
    for i, j in T.grid(5, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi] + vj
    for i, j in T.grid(5, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[3, 0])
            T.writes(C[vi, vj, 0:2])
            for k in range(2):
                C[vi, vj, k] = T.if_then_else(1 <= k and k <= 2, B[3, k - 1], 0)
)";

constexpr char kRowsOfOneValue[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4, 3), "int32")):
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(3, j)
            T.where(i < 4 and j < 3)
            x: T.int32 = A[vi] * 2
            C[vi, vj] = T.max(x, x)
)";

constexpr char kSumsInABlockOfSteps[] = R"(
@T.prim_func
def main(A: T.Buffer((6,), "int32"), C: T.Buffer((8, 8), "int32")):
    for i, j, k in T.grid(8, 8, 6):
        with T.block("outer"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vk])
            T.writes(C[vi, vj])
            with T.block("sum"):
                wi = T.axis.spatial(8, vi)
                wj = T.axis.spatial(8, vj)
                wk = T.axis.reduce(6, vk)
                with T.init():
                    C[wi, wj] = 3
                C[wi, wj] = C[wi, wj] + A[wk]
)";

constexpr char kPadsAsFarAsMemorySays[] = R"(
@T.prim_func
def main(N: T.Buffer((1,), "int32"), A: T.Buffer((4,), "int32"), C: T.Buffer((6,), "int32")):
    for i in range(N[0] % 2 + 1):
        with T.block("pad"):
            vi = T.axis.spatial(6, i)
            C[vi] = T.if_then_else(1 <= vi and vi < 5, A[vi - 1], 0)
)";

constexpr char kSumsOfPairs[] = R"(
@T.prim_func
def main(A: T.Buffer((9,), "int32"), C: T.Buffer((9, 8), "int32")):
    B = T.alloc_buffer((9,), "int32")
    for i in range(9):
        with T.block("B"):
            vi = T.axis.spatial(9, i)
            B[vi] = A[vi] * 2
    for i, j in T.grid(9, 8):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[0:2])
            T.writes(C[vi, vj])
            for k in range(3):
                with T.block("sum"):
                    wi = T.axis.spatial(9, vi)
                    wj = T.axis.spatial(8, vj)
                    wk = T.axis.reduce(3, k)
                    with T.init():
                        C[wi, wj] = 0
                    C[wi, wj] = C[wi, wj] + B[wk // 2]
)";

constexpr char kRowsAtAnotherWidth[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i, j in T.grid(T.int64(8), T.int64(8)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi] * 2
    for i, j in T.grid(T.int64(8), 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[T.min(T.max(vi - T.int64(1), T.int64(0)), T.int64(7)), vj]
)";

constexpr char kAsFarAsMemorySays[] = R"(
@T.prim_func
def main(N: T.Buffer((1,), "int64"), A: T.Buffer((9,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(T.Cast("int32", N[0] % T.int64(2)) * 192 + 192):
        with T.block("C"):
            vi = T.axis.spatial(4, i % (48 * (T.Cast("int32", N[0] % T.int64(2)) + 1))
                                // (T.Cast("int32", N[0] % T.int64(2)) + 1) // 12)
            C[vi] = A[8 - vi]
)";
constexpr char kAsFarAsAnyMemorySays[] = R"(
@T.prim_func
def main(N: T.Buffer((1,), "int64"), A: T.Buffer((9,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(T.Cast("int32", N[0]) * 192 + 192):
        with T.block("C"):
            vi = T.axis.spatial(4, i % (48 * (T.Cast("int32", N[0]) + 1)) // (T.Cast("int32", N[0]) + 1) // 12)
            C[vi] = A[8 - vi]
)";

constexpr char kRowsFromTheLast[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8, 12), "int32")):
    B = T.alloc_buffer((8, 4), "int32")
    with T.block("all"):
        T.reads(A[0:8])
        T.writes(B[0:8, 0:4])
        for j, i in T.grid(4, 8):
            with T.block("B"):
                vi = T.axis.spatial(8, 7 - i)
                vj = T.axis.spatial(4, j)
                B[vi, vj] = A[vi] * vj
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[1, T.min(vj, 3)] + 2
)";

constexpr char kPairOfOneRow[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi % 2] + 1
)";

constexpr char kRowsAndWideColumns[] = R"(
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 6), "int32")
    C = T.match_buffer(c, (n, 6), "int32")
    for i, j in T.grid(n, T.int64(6)):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi // 2, vj // T.int64(2)]
)";

INSTANTIATE_TEST_SUITE_P(
    Places, PlacesTest,
    testing::Values(
        SoundnessCase{"IndicesOfANarrowAndAWideLoopFused", kRowsAndWideColumns,  // Seed 29050011.
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nf = sch.fuse(i, j)\n"
                      "x, y = sch.cache_index(c, 'global', 0)\n"},
        SoundnessCase{"PartsOfACopyUnderACondition", kPairOfOneRow,  // Seed 23026440.
                      "c = sch.get_block('C')\na = sch.cache_read(c, 0, 'local')\nj, = sch.get_loops(a)\n"
                      "b = sch.blockize(j)\ni, = sch.get_loops(c)\nsch.compute_at(b, i)\n"
                      "o, l = sch.split(i, [None, 5])\nsch.vectorize(l)\nd = sch.get_block('A_local')\n"
                      "k, = sch.get_loops(d)\nx, y = sch.loop_partition(k, [1])\n"},
        SoundnessCase{"FusedLoopsOfWhichOneCountsDown", kRowsFromTheLast,  // Seed 22065342.
                      "a = sch.get_block('all')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\n"
                      "sch.compute_at(a, j)\nsch.parallel(j)\nb = sch.get_block('B')\nl, m = sch.get_loops(b)\n"
                      "f = sch.fuse(l, m, preserve_unit_iters=False)\n"},
        SoundnessCase{"IndicesAsFarAsMemorySays", kAsFarAsMemorySays,
                      "b = sch.get_block('C')\nx, = sch.cache_index(b, 'global', 0)\n",
                      "the end of a binding, as far as the new buffer goes, is read from memory"},
        SoundnessCase{"IndicesAsFarAsAnyMemorySays", kAsFarAsAnyMemorySays,  // Seed 21026344.
                      "b = sch.get_block('C')\nx, = sch.cache_index(b, 'global', 0)\n",
                      "a binding may be below 0, or its end is not known"},
        SoundnessCase{"CopyWhoseIndexIsNarrower", kRowsAtAnotherWidth,  // Seed 20058684.
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\n"
                      "sch.compute_at(b, i)\nsch.parallel(i)\nr = sch.cache_read(c, 0, 'local')\n"},
        SoundnessCase{"SumsThatEachLaneMakesAnew", kSumsOfAllRows,  // Seed 10014090.
                      "s = sch.get_block('sum')\ni, j, k = sch.get_loops(s)\nf = sch.fuse(i, j, k)\n"
                      "a = sch.get_block('all')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\nsch.vectorize(j)\n"
                      "sch.compute_at(a, j)\n"},
        SoundnessCase{"SumsThatEachThreadMakesAnew", kSumsOfAllRows,
                      "s = sch.get_block('sum')\ni, j, k = sch.get_loops(s)\nf = sch.fuse(i, j, k)\n"
                      "a = sch.get_block('all')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\nsch.parallel(j)\n"
                      "sch.compute_at(a, j)\n"},
        SoundnessCase{"UnfusedSumsThatEachThreadMakesAnew", kSumsOfAllRows,
                      "a = sch.get_block('all')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\nsch.parallel(j)\n"
                      "sch.compute_at(a, j)\n"},
        SoundnessCase{"CopyOfAllThatOthersMakeBelowAPartition", kRowsFromTheirDiagonal,  // Seed 12059125.
                      "b = sch.get_block('row')\nl, = sch.get_loops(b)\n"
                      "x, y = sch.loop_partition(l, [2, None], preserve_unit_iters=True)\n"
                      "p = sch.get_block('row_j1')\nc = sch.cache_read(p, 0, 'global')\n"
                      "o = sch.get_block('outer')\ni, = sch.get_loops(o)\nsch.vectorize(i)\n",
                      "block \"outer\" touches more than it declares"},
        SoundnessCase{"PartsThatAConditionMakesOfALoop", kPairsOfOneValue,  // Seed 12064882.
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j, k = sch.get_loops(c)\n"
                      "sch.compute_at(b, j)\nf = sch.fuse(i, j)\nx, y = sch.split(f, [None, 2])\nsch.parallel(y)\n"
                      "l, m, o = sch.get_loops(c)\np, q = sch.split(o, [None, 5])\n"},
        SoundnessCase{"PartsOfRowsAtOnce", kRowsFromRows,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nx, y = sch.loop_partition(j, [3, None])\n"
                      "sch.parallel(i)\n"},
        SoundnessCase{"PartsThatReadTheRowBefore", kRowsFromTheRowBefore,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nx, y = sch.loop_partition(j, [3, None])\n"
                      "sch.parallel(i)\n",
                      "several iterations may touch one element of buffer \"C\""},
        SoundnessCase{"PartsOfColumnsThatRowsShare", kRowsFromRows,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nsch.reorder(j, i)\n"
                      "x, y = sch.loop_partition(i, [3, None])\nsch.vectorize(j)\n"},
        SoundnessCase{"PartsOfOneSum", kSumOfRows,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nx, y = sch.loop_partition(j, [3, None])\n"
                      "sch.parallel(i)\n",
                      "several iterations may touch one element of buffer \"C\""},
        SoundnessCase{"PartsOfAClampedRowUnderACondition", kClampedRows,  // Seed 14001256.
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\n"
                      "sch.compute_at(b, j, preserve_unit_loops=True)\nsch.parallel(j)\n"
                      "x, y = sch.split(i, [None, 3], preserve_unit_iters=False)\n"},
        SoundnessCase{"CopyOfWhatAnInitReads", kReadsInItsInit,  // Seed 14001114.
                      "b = sch.get_block('update')\nc = sch.cache_read(b, 1, 'local')\n",
                      "it is in the init of its scope"},
        SoundnessCase{"ViewsInPartsOfWhichOneMayNotRun", kViewOfARow,  // Seed 15032286.
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\n"
                      "sch.compute_at(b, i, preserve_unit_loops=True)\no, a = sch.get_loops(b)\n"
                      "x, y = sch.loop_partition(a, [1, None], preserve_unit_iters=True)\n"},
        SoundnessCase{
            "CopyOfWhatOneStepReads", kOneStepReads,  // Seed 15087808.
            "b = sch.get_block('B')\nsch.transform_layout(b, (\"write\", 0), lambda i, j: (i, j // 2, j % 2))\n"
            "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nx = sch.read_at(j, c, 0, 'global')\n"
            "sch.parallel(j)\n"},
        SoundnessCase{"StepsOfSumsInsideInAnotherOrder", kSumsInABlockOfSteps,  // Seed 16011964.
                      "b = sch.get_block('outer')\ni, j, k = sch.get_loops(b)\nf = sch.fuse(i, j, k)\n"
                      "x, y = sch.split(f, [48, 8])\nsch.reorder(y, x)\n",
                      "iter var \"vk\" may not begin at its minimum for each element"},
        SoundnessCase{"PaddingAsFarAsMemorySays", kPadsAsFarAsMemorySays,  // Seed 16018437.
                      "b = sch.get_block('pad')\ni, = sch.get_loops(b)\nq = sch.decompose_padding(b, i)\n"},
        SoundnessCase{"SumsThatEachThreadMakesUnderACondition", kSumsOfAllRows,  // Seed 16048803.
                      "s = sch.get_block('sum')\ni, j, k = sch.get_loops(s)\nf = sch.fuse(i, j, k)\n"
                      "a = sch.get_block('all')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\n"
                      "sch.parallel(j)\nsch.compute_at(a, j)\nx, y = sch.split(i, [None, 3])\n"},
        SoundnessCase{
            "SumsWhoseLoopIsCutByARemainder", kSumsOfPairs,  // Seed 17076442.
            "s = sch.get_block('sum')\nk, = sch.get_loops(s)\nx, y = sch.split(k, [None, 5])\n"
            "f = sch.fuse(x, y, preserve_unit_iters=False)\nb = sch.get_block('B')\no = sch.get_block('outer')\n"
            "i, j = sch.get_loops(o)\nsch.compute_at(b, j, preserve_unit_loops=True)\nsch.parallel(j)\n"},
        SoundnessCase{"WhatAllLanesShareUnderTheirMask", kRowsOfOneValue,  // Seed 11009532.
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nsch.vectorize(j)\n"},
        SoundnessCase{"MemoryAsLongAsAKeptLoopSays", kRowsOfATriangle,  // Seed 10084256.
                      "c = sch.get_block('C')\ni, = sch.get_loops(c)\no = sch.get_block('outer')\n"
                      "sch.compute_at(o, i, preserve_unit_loops=True)\n"
                      "s = sch.get_block('sum')\nx, = sch.cache_index(s, 'global', 0)\n"}),
    NameOf);

}  // namespace
}  // namespace lathe
