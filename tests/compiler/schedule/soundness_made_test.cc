// Found by random programs under random schedules, made small: what is made and read in tiles, rows and branches.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class MadeTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(MadeTest, KeepsTheMeaningOrRefuses) { ExpectSound(GetParam()); }

constexpr char kTransformedUnderAnIf[] = R"(
@T.prim_func
def main(A: T.Buffer((7,), "int32"), C: T.Buffer((7,), "int32")):
    B = T.alloc_buffer((7,), "int32")
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            if A[6 - vi] < 100:
                B[vi] = A[vi]
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi]
)";

constexpr char kTriangle[] = R"(
@T.prim_func
def main(A: T.Buffer((6, 6), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        for k in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[vi] = 100
                B[vi] = T.min(B[vi], A[vi, vk])
)";

constexpr char kTriangleKept[] = R"(
@T.prim_func
def main(A: T.Buffer((7, 7), "int32"), C: T.Buffer((7, 2), "int32")):
    B = T.alloc_buffer((7, 2), "int32")
    for i, j in T.grid(7, 2):
        for k in range(j + 1):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[vi, vj] = 0
                B[vi, vj] = B[vi, vj] + A[vi, vk]
    for i, j in T.grid(7, 2):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
)";

constexpr char kReaderUnderAnIf[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), n: T.int32, C: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
    if 0 < n:
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[3 - vi]
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = A[vi] * 2
)";

constexpr char kRowsMadeAndRead[] = R"(
@T.prim_func
def main(A: T.Buffer((5, 5), "int32"), D: T.Buffer((5, 8), "int32")):
    B = T.alloc_buffer((5, 5), "int32")
    C = T.alloc_buffer((5,), "int32")
    for i in range(5):
        for j in range(5):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[vi, vi]
        for j in range(8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(C[0:5])
                T.writes(D[vi, vj])
                D[vi, vj] = C[T.max(vi - 1, 0)] + C[vi]
)";

constexpr char kReadsAPartInABlock[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            T.reads(B[vo + 1])
            T.writes(C[vo])
            with T.block("C"):
                vi = T.axis.spatial(4, vo)
                C[vi] = B[vi + 1]
)";

constexpr char kMakesAPart[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(1):
        with T.block("B"):
            vi = T.axis.spatial(8, 3 + i)
            B[vi] = A[vi]
    for i in range(1):
        with T.block("C"):
            vi = T.axis.spatial(8, 3 + i)
            C[vi] = B[vi]
)";

constexpr char kSumAndEpilogueWithACopy[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), D: T.Buffer((4,), "int32")):
    C = T.alloc_buffer((4,), "int32")
    bias = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
    for i in range(4):
        with T.block("bias"):
            vi = T.axis.spatial(4, i)
            bias[vi] = A[vi, 0]
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] + bias[vi]
)";

constexpr char kMinAndEpilogue[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), D: T.Buffer((4,), "int32")):
    C = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 100
            C[vi] = T.min(C[vi], A[vi, vk])
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] + A[vi, 0]
)";

constexpr char kProductWithItself[] = R"(
@T.prim_func
def main(A: T.Buffer((1, 4), "int32"), C: T.Buffer((1, 1), "int32")):
    B = T.alloc_buffer((1, 4), "int32")
    for i, j in T.grid(1, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j, k in T.grid(1, 1, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + B[vi, vk] * B[vj, vk]
)";

constexpr char kMadeInTheFirstRow[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((12,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(12):
        if i < 1:
            for j in range(2):
                with T.block("B"):
                    vj = T.axis.spatial(2, j)
                    B[vj] = A[vj]
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = B[vi % 2]
)";

constexpr char kCopiedByRows[] = R"(
@T.prim_func
def main(A: T.Buffer((9, 4), "int32"), C: T.Buffer((8, 4), "int32")):
    B = T.alloc_buffer((9, 4), "int32")
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi:vi + 2, vj])
            T.writes(B[vi:vi + 2, vj])
            for k in range(2):
                B[vi + k, vj] = A[vi + k, vj]
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi:vi + 2, vj])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj]
)";

constexpr char kRowsReadByHalves[] = R"(
@T.prim_func
def main(A: T.Buffer((2,), "int32"), C: T.Buffer((2, 9), "int32")):
    B = T.alloc_buffer((2,), "int32")
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            B[vi] = A[vi]
        for j in range(9):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi]
)";

constexpr char kMadeInOneTail[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4, 1), "int32")):
    B = T.alloc_buffer((4, 1), "int32")
    for j, i in T.grid(1, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi]
    for i, j in T.grid(4, 1):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
)";

constexpr char kMadeByEachLane[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((8, 4), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in T.vectorized(8):
        for j in range(4):
            with T.block("B"):
                vj = T.axis.spatial((2, 6), j + 2)
                B[vj - 2] = A[vj - 2] + (vj - 2)
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj]
)";

constexpr char kTilesUnderParallel[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), D: T.Buffer((3,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    C = T.alloc_buffer((3,), "int32")
    for i in T.parallel(3):
        for j in range(2):
            with T.block("B"):
                vi = T.axis.spatial(4, i + j)
                B[vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(3, i)
            C[vi] = B[vi] + B[vi + 1]
    for i in range(3):
        with T.block("D"):
            vi = T.axis.spatial(3, i)
            D[vi] = C[vi] * 2
)";

constexpr char kReducesOutside[] = R"(
@T.prim_func
def main(A: T.Buffer((2, 7), "int32"), B: T.Buffer((8,), "int32")):
    for r in range(2):
        with T.block("outer"):
            vo = T.axis.reduce(2, r)
            T.reads(A[vo, 0:7])
            T.writes(B[0:8])
            for i, k in T.grid(8, 7):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    vr = T.axis.reduce(2, vo)
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vr, vk]
)";

constexpr char kDeclaresARow[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
    C = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi, 0]
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            T.reads(C[0:4])
            T.writes(C[0:4])
            C[vi] = C[vi] + 1
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = C[vi]
)";

constexpr char kEveryOtherWritten[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((7,), "int32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi * 2] = 5
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = A[vi]
)";

constexpr char kDiagonalWritten[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi, vi] = 5
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
)";

constexpr char kWrittenByAFusedLoop[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for i in range(16):
        with T.block("A"):
            vi = T.axis.spatial(4, i // 4)
            vj = T.axis.spatial(4, i % 4)
            A[vi, vj] = A[vi, vj] + 5
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
)";

constexpr char kSumBesideARing[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 3), "int32"), S: T.Buffer((4,), "int32"), B: T.Buffer((2, 8), "int32"),
         D: T.Buffer((2, 6), "int32")):
    C = T.alloc_buffer((2, 8), "int32")
    for i, k in T.grid(4, 3):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + A[vi, vk]
    for i, j in T.grid(2, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
    for j in range(6):
        with T.block("rows"):
            vj = T.axis.spatial(6, j)
            T.reads(C[0:2, vj:vj + 3])
            T.writes(D[0:2, vj])
            for i in range(2):
                with T.block("D"):
                    vi = T.axis.spatial(2, i)
                    vk = T.axis.spatial(6, vj)
                    D[vi, vk] = C[vi, vk] + C[vi, vk + 1] + C[vi, vk + 2]
)";

constexpr char kReadBackwards[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4, 6), "int32")):
    B = T.alloc_buffer((3,), "int32")
    for i in range(3):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            B[vi] = A[vi] + A[vi + 1]
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi = T.axis.spatial(4, 3 - i)
            vj = T.axis.spatial(6, j)
            C[vi, vj] = B[vi % 3] + 1
)";

constexpr char kTilesOnADiagonal[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((4, 5), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            T.reads(B[vi * 2, vi:vi + 5])
            T.writes(C[vi, 0:5])
            for k in range(5):
                C[vi, k] = B[vi * 2, vi + k]
)";

constexpr char kReadsARowOfWhatLoopsMake[] = R"(
@T.prim_func
def main(A: T.Buffer((12,), "int32"), D: T.Buffer((12,), "int32")):
    B = T.alloc_buffer((12,), "int32")
    for i in range(12):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = A[vi]
        with T.block("outer"):
            vo = T.axis.spatial(12, i)
            T.reads(B[vo])
            T.writes(D[vo])
            C = T.alloc_buffer((12,), "int32")
            with T.block("C"):
                vi = T.axis.spatial(12, vo)
                C[vi] = B[vi] - 2
            for j in range(1):
                with T.block("D"):
                    vi = T.axis.spatial(12, vo + j)
                    D[vi] = C[vi]
)";

constexpr char kDiagonalMade[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), D: T.Buffer((6,), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    C = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, i])
            B[vi, vj] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, i])
            C[vi, vj] = B[vi, vj] * 2
    for i in range(6):
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            T.reads(C[vi:vi + 3, vi:vi + 3])
            T.writes(D[vi])
            D[vi] = C[vi, vi] + C[vi + 1, vi + 1] + C[vi + 2, vi + 2]
)";

constexpr char kRowsOfUnknownTiles[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle):
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (2, n), "int32")
    B = T.alloc_buffer((2, n), "int32")
    for i, j in T.grid(2, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj] + vi
    for i, j in T.grid(2, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2
)";

INSTANTIATE_TEST_SUITE_P(
    PairsAndTails, MadeTest,
    testing::Values(
        SoundnessCase{"PaddedLayoutOfWhatAnIfReads", kTransformedUnderAnIf,
                      "b = sch.get_block('B')\nsch.transform_layout(b, ('write', 0), lambda i: (i // 2, i % 2), "
                      "pad_value=lambda i, j: (T.int32(0),))\n"},
        SoundnessCase{"PaddedLayoutOfATriangle", kTriangleKept,
                      "b = sch.get_block('B')\nsch.transform_layout(b, ('write', 0), lambda i, j: (i // 2, j, i % 2), "
                      "pad_value=lambda i, j, k: (T.int32(0),))\n"},
        SoundnessCase{"NewIterVarsOfATriangle", kTriangle,
                      "b = sch.get_block('B')\nsch.transform_block_layout(b, lambda i, k: (k, i // 3, i % 3))\n",
                      "do not run over its whole domain"},
        SoundnessCase{"MergePastAReaderUnderAnIf", kReaderUnderAnIf,
                      "b = sch.get_block('B')\nd = sch.get_block('D')\ni, = sch.get_loops(b)\nj, = sch.get_loops(d)\n"
                      "m = sch.merge(i, j)\n",
                      "on the way uses buffer \"B\""},
        SoundnessCase{"ComputeAtOfMoreThanTheRowHas", kRowsMadeAndRead,
                      "c = sch.get_block('C')\nd = sch.get_block('D')\ni, j = sch.get_loops(d)\n"
                      "sch.compute_at(c, j)\n",
                      "may not be made by then"},
        SoundnessCase{"CopyOfMoreThanTheBlockReads", kReadsAPartInABlock,
                      "c = sch.get_block('C')\nb = sch.reindex(c, ('read', 0))\n", "than block \"outer\""},
        SoundnessCase{"CopyOfWhatNobodyMade", kMakesAPart, "c = sch.get_block('C')\nb = sch.reindex(c, ('read', 0))\n",
                      "not known to run for all values"},
        SoundnessCase{"EpilogueThatReadsWhatComesLater", kSumAndEpilogueWithACopy,
                      "c = sch.get_block('C')\nd = sch.get_block('D')\nsch.fuse_reduction_epilogue(c, d)\n",
                      "is not made before the reduction begins"},
        SoundnessCase{"EpilogueOfAMinimumOfIntegers", kMinAndEpilogue,
                      "c = sch.get_block('C')\nd = sch.get_block('D')\nsch.fuse_reduction_epilogue(c, d)\n",
                      "no sum from 0"},
        SoundnessCase{"PaddingOfAProductWithItself", kProductWithItself,
                      "c = sch.get_block('C')\nsch.pad_einsum(c, [2, 3, 2])\n", "used at several places"},
        SoundnessCase{"SplitOfWhatOnlyTheFirstRowMakes", kMadeInTheFirstRow,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nk, l = sch.split(j, [None, 4])\n"},
        SoundnessCase{"InlinedReaderOfWhatIterationsMakeForThemselves", kTilesUnderParallel,
                      "c = sch.get_block('C')\nsch.compute_inline(c)\n", "runs its iterations at once"},
        SoundnessCase{"CopyBackOfASumThatGoesOnOutside", kReducesOutside,
                      "b = sch.get_block('B')\nc = sch.reindex(b, ('write', 0))\n", "no whole reduction"},
        SoundnessCase{"InplaceCacheOfMoreThanIsMade", kDeclaresARow,
                      "d = sch.get_block('D')\nx, y = sch.cache_inplace(d, 0, 'global')\n",
                      "declares more of \"C\" than it touches"},
        SoundnessCase{"RingOfABlockThatMakesTwoRowsAtOnce", kCopiedByRows,
                      "b = sch.get_block('B')\nsch.rolling_buffer(b, 0)\n", "is not the index of dimension 0"},
        SoundnessCase{"CacheOfWhatHiddenReadersNeed", kRowsReadByHalves,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nk, l = sch.loop_partition(j, [2, None])\n"
                      "b = sch.get_block('B')\nd = sch.cache_write(b, 0, 'global')\n"},
        SoundnessCase{"ConsumerInALoopWhoseTailMakesNothing", kMadeInOneTail,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\nj, i = sch.get_loops(b)\n"
                      "o, l = sch.split(j, [3, None])\nsch.reverse_compute_at(c, o, preserve_unit_loops=True)\n",
                      "may read more of \"B\""},
        SoundnessCase{"FuseUnderARemainderOfWhatFalls", kReadBackwards,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\n"
                      "sch.compute_at(b, j)\nk, l = sch.get_loops(b)\nf = sch.fuse(k, l)\n"},
        SoundnessCase{"RingOfTilesOnADiagonal", kTilesOnADiagonal,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\n"
                      "sch.compute_at(b, i)\nsch.rolling_buffer(b, 0)\n",
                      "moves the tiles of \"B\" in dimensions 1 and 0 at once"},
        SoundnessCase{"ComputeAtOfMoreThanTheBlockAroundReads", kReadsARowOfWhatLoopsMake,
                      "d = sch.get_block('D')\nj, = sch.get_loops(d)\nk, l = sch.split(j, [6, None])\n"
                      "c = sch.get_block('C')\nsch.compute_at(c, l)\n",
                      "in a run of block \"outer\""},
        SoundnessCase{"ComputeAtOfATileOfADiagonal", kDiagonalMade,
                      "c = sch.get_block('C')\nd = sch.get_block('D')\ni, = sch.get_loops(d)\nsch.compute_at(c, i)\n",
                      "no more of \"B\" may be made"},
        SoundnessCase{"ComputeAtOfATileOfUnknownLength", kRowsOfUnknownTiles,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nk, l = sch.split(j, [5, None])\n"
                      "b = sch.get_block('B')\nsch.compute_at(b, i)\n"},
        SoundnessCase{"RingBesideASum", kSumBesideARing,
                      "c = sch.get_block('C')\nd = sch.get_block('rows')\nj, = sch.get_loops(d)\n"
                      "sch.compute_at(c, j)\nsch.rolling_buffer(c, 0)\n"},
        SoundnessCase{"ConsumerOfEveryOtherElement", kEveryOtherWritten,
                      "a = sch.get_block('A')\ni, = sch.get_loops(a)\nb = sch.get_block('B')\n"
                      "sch.reverse_compute_at(b, i)\n",
                      "leave out values"},
        SoundnessCase{"ConsumerOfADiagonal", kDiagonalWritten,
                      "a = sch.get_block('A')\ni, = sch.get_loops(a)\nb = sch.get_block('B')\n"
                      "sch.reverse_compute_at(b, i)\n",
                      "leave out values"},
        SoundnessCase{"ConsumerUnderAFusedLoop", kWrittenByAFusedLoop,
                      "a = sch.get_block('A')\ni, = sch.get_loops(a)\nb = sch.get_block('B')\n"
                      "sch.reverse_compute_at(b, i)\n"},
        SoundnessCase{"IndexOfWhatEachLaneMakes", kMadeByEachLane,
                      "b = sch.get_block('B')\nx, = sch.cache_index(b, 'global', 2)\n", "run at once"}),
    NameOf);

}  // namespace
}  // namespace lathe
