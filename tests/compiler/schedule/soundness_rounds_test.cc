// Found by random programs under random schedules, made small: what one round of a loop makes and another one reads,
// what runs less often than its domain says, and who else uses what is moved or copied.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class RoundsTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(RoundsTest, KeepsTheMeaningOrRefuses) { ExpectSound(GetParam()); }

// ---- Values of an earlier round

constexpr char kReadsTheRoundBefore[] = R"(
@T.prim_func
def main(A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
    B = T.alloc_buffer((6,), "int32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi] * 2
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = T.if_then_else(1 <= vi, B[vi - 1], 0)
        with T.block("A"):
            vi = T.axis.spatial(6, i)
            A[vi] = 7
)";

constexpr char kReadsThisRound[] = R"(
@T.prim_func
def main(A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
    B = T.alloc_buffer((6,), "int32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi] * 2
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[vi] + 1
        with T.block("A"):
            vi = T.axis.spatial(6, i)
            A[vi] = 7
)";

constexpr char kMadeInTheFirstRound[] = R"(
@T.prim_func
def main(A: T.Buffer((6,), "int32"), C: T.Buffer((6, 3), "int32")):
    B = T.alloc_buffer((3,), "int32")
    for i in range(6):
        with T.block("A"):
            vi = T.axis.spatial(6, i)
            A[vi] = A[vi] + 1
        for j in range(3):
            with T.block("B"):
                vj = T.axis.spatial(3, j)
                T.where(i < 1)
                B[vj] = A[vj * 2]
        for j in range(3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj]
)";

constexpr char kCopiesOfASum[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int32")):
    L = T.alloc_buffer((6,), "int32")
    B = T.alloc_buffer((6,), "int32")
    for k in range(4):
        for i in range(6):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    L[vi] = 0
                L[vi] = L[vi] + A[vk]
            with T.block("copy"):
                vi = T.axis.spatial(6, i)
                B[vi] = L[vi]
    for j in range(4):
        with T.block("D"):
            vj = T.axis.spatial(4, j)
            D[vj] = B[vj]
)";

constexpr char kWritesForTheNextRound[] = R"(
@T.prim_func
def main(B: T.Buffer((4,), "int32"), A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * 3
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = B[T.max(vi - 1, 0)] + 1
)";

INSTANTIATE_TEST_SUITE_P(
    EarlierRounds, RoundsTest,
    testing::Values(
        SoundnessCase{"InlineOfTheRoundBefore", kReadsTheRoundBefore, "b = sch.get_block('B')\nsch.compute_inline(b)\n",
                      "on the way writes buffer \"A\""},
        SoundnessCase{
            "BlocksOfWhichOneReadsTheRoundBefore", kWritesForTheNextRound,  // Seed 27000097.
            "b = sch.get_block('B')\na = sch.get_block('A')\no = sch.blockize([b, a])\ni, = sch.get_loops(o)\n"
            "x, y = sch.split(i, [2, 2])\nsch.reorder(y, x)\n",
            "iter var \"vi_o\" of block \"outer_B_A_\" is neither data-parallel nor a reduction"},
        SoundnessCase{"InlineOfThisRound", kReadsThisRound, "b = sch.get_block('B')\nsch.compute_inline(b)\n"},
        SoundnessCase{"InlineOfTheFirstRound", kMadeInTheFirstRound, "b = sch.get_block('B')\nsch.compute_inline(b)\n",
                      "on the way writes buffer \"A\""},
        SoundnessCase{"MergeWithCopiesOfASum", kCopiesOfASum,
                      "s = sch.get_block('sum')\nk, i = sch.get_loops(s)\nd = sch.get_block('D')\n"
                      "j, = sch.get_loops(d)\nm = sch.merge(k, j)\n",
                      "in different iterations"}),
    NameOf);

// ---- What runs less often than its domain says

constexpr char kConsumerOfAFew[] = R"(
@T.prim_func
def main(N: T.Buffer((1,), "int32"), A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1
    for i in range(T.max(0, T.min(N[0], 7)) + 1):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * 2
)";

constexpr char kNeverMade[] = R"(
@T.prim_func
def main(n: T.int32, A: T.Buffer((4,), "int32"), D: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(T.min(n, 0)):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
    with T.block("D"):
        T.reads(B[0:0])
        T.writes(D[0])
        D[0] = T.if_then_else(n < 0, B[0], 1)
)";

constexpr char kSumsOfATriangle[] = R"(
@T.prim_func
def main(A: T.Buffer((2, 2), "int32"), C: T.Buffer((4, 5), "int32")):
    for i, j in T.grid(4, 5):
        for k in range(i + 1):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                vk = T.axis.reduce(4, k)
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + A[0, vk // 2]
)";

INSTANTIATE_TEST_SUITE_P(
    Domains, RoundsTest,
    testing::Values(
        SoundnessCase{"ReverseInlineOfAFew", kConsumerOfAFew, "c = sch.get_block('C')\nsch.reverse_compute_inline(c)\n",
                      "not known to run for all values"},
        SoundnessCase{"ReverseComputeAtALoopThatDoesNotRun", kNeverMade,
                      "b = sch.get_block('B')\ni, = sch.get_loops(b)\nd = sch.get_block('D')\n"
                      "sch.reverse_compute_at(d, i)\n",
                      "is not known to run"},
        SoundnessCase{"SplitOfWhatACopyCounts", kSumsOfATriangle,
                      "c = sch.get_block('C')\ni, j, k = sch.get_loops(c)\nr = sch.read_at(k, c, 0, 'local')\n"
                      "i0, i1 = sch.split(i, [None, 4])\n"}),
    NameOf);

// ---- Who else uses it

constexpr char kThreeReaders[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32"), E: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi]
    for i in range(8):
        with T.block("E"):
            vi = T.axis.spatial(8, i)
            E[vi] = B[vi]
)";

constexpr char kGather[] = R"(
@T.prim_func
def main(I: T.Buffer((8,), "int32"), A: T.Buffer((4,), "int32"), C: T.Buffer((8,), "int32")):
    J = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("J"):
            vi = T.axis.spatial(8, i)
            J[vi] = T.max(T.min(I[vi], 3), 0)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[J[vi]], J[vi])
            T.writes(C[vi])
            C[vi] = A[J[vi]]
)";

constexpr char kViewAtAGather[] = R"(
@T.prim_func
def main(I: T.Buffer((4,), "int32"), B: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    J = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("J"):
            vi = T.axis.spatial(4, i)
            J[vi] = T.max(T.min(I[vi], 3), 0)
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            s, o = T.int32(), T.int32()
            view = T.match_buffer(B[J[vi], 0:4], (4,), "int32", strides=(s,), elem_offset=o)
            C[vi, vj] = view[J[vj]]
)";

constexpr char kViewAtOneGather[] = R"(
@T.prim_func
def main(I: T.Buffer((1,), "int32"), B: T.Buffer((4, 4), "int32"), C: T.Buffer((1, 4), "int32")):
    for i, j in T.grid(1, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            s, o = T.int32(), T.int32()
            view = T.match_buffer(B[T.max(T.min(I[vi], 3), 0), 0:4], (4,), "int32", strides=(s,), elem_offset=o)
            C[vi, vj] = view[vj]
)";

constexpr char kTwoPartsInABlock[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 5), "int32"), B: T.Buffer((4, 5), "int32")):
    for i in range(4):
        with T.block("O"):
            vo = T.axis.spatial(4, i)
            T.reads(A[vo, 3], A[vo, 0:2])
            T.writes(B[vo, 0:2])
            for j in range(2):
                with T.block("S"):
                    v = T.axis.spatial(2, j)
                    T.reads(A[vo, v], A[vo, 3])
                    T.writes(B[vo, v])
                    B[vo, v] = A[vo, v] + A[vo, 3]
)";

constexpr char kTriangleSumInBlocks[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("O"):
            vo = T.axis.spatial(4, i)
            T.reads(A[0:vo + 1])
            T.writes(B[vo])
            for k in range(vo + 1):
                with T.block("S"):
                    v = T.axis.spatial((0, 4), vo)
                    vk = T.axis.reduce(4, k)
                    T.reads(A[vk])
                    T.writes(B[v])
                    with T.init():
                        B[v] = 0
                    B[v] = B[v] + A[vk]
)";

constexpr char kSumsOfARowMadeAgain[] = R"(
@T.prim_func
def main(A: T.Buffer((2, 4), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        for k in range(4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[0, vk]
        for k in range(4):
            with T.block("A"):
                vi = T.axis.opaque(8, i)
                vk = T.axis.spatial(4, k)
                A[0, vk] = A[0, vk] + vi
)";

constexpr char kRowsOfUnknownLength[] = R"(
@T.prim_func
def main(n: T.int32, A_handle: T.handle, C_handle: T.handle):
    A = T.match_buffer(A_handle, (n, n), "int32")
    C = T.match_buffer(C_handle, (9, n), "int32")
    for i, j in T.grid(9, n):
        with T.block("C"):
            vi = T.axis.spatial((1, 10), i + 1)
            vj = T.axis.spatial(n, j)
            C[vi - 1, vj] = A[T.min(vi - 1, n - 1), vj]
)";

constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((8, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    for i, k, j in T.grid(4, 8, 4):
        with T.block("C"):
            vi, vk, vj = T.axis.remap("SRS", [i, k, j])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

constexpr char kOnePerLane[] = R"(
@T.prim_func
def main(A: T.Buffer((9,), "int32"), C: T.Buffer((1, 2), "int32")):
    B = T.alloc_buffer((7,), "int32")
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = A[vi] + A[vi + 1]
    for i, j in T.grid(1, 2):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 2] + vj
)";

INSTANTIATE_TEST_SUITE_P(
    Others, RoundsTest,
    testing::Values(
        SoundnessCase{"CacheWriteAroundPartsOfAReader", kThreeReaders,
                      "d = sch.get_block('D')\ni, = sch.get_loops(d)\ni0, i1 = sch.loop_partition(i, [None, 4])\n"
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ne = sch.get_block('E')\n"
                      "w = sch.cache_write(b, 0, 'global', [c, e])\n",
                      "before the last of the consumers"},
        SoundnessCase{"CacheWriteAroundAReader", kThreeReaders,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ne = sch.get_block('E')\n"
                      "w = sch.cache_write(b, 0, 'global', [c, e])\n"},
        SoundnessCase{"CacheWriteBeforeAReader", kThreeReaders,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\nd = sch.get_block('D')\n"
                      "w = sch.cache_write(b, 0, 'global', [c, d])\n"},
        SoundnessCase{"ReindexOfWhatPlacesAnother", kGather,
                      "c = sch.get_block('C')\nr = sch.cache_read(c, 1, 'global')\n"
                      "x = sch.reindex(c, ('read', 1))\nsch.compute_inline(r)\n"},
        SoundnessCase{"ReindexCacheReadOfWhatPlacesAnother", kGather,
                      "c = sch.get_block('C')\nr = sch.cache_read(c, 1, 'local')\n"
                      "x = sch.reindex_cache_read(c, 1, 'global', lambda vi: (vi,))\n"
                      "i, = sch.get_loops(x)\nsch.compute_at(r, i)\n"},
        SoundnessCase{"CacheReadOfWhatPlacesAView", kViewAtAGather,
                      "c = sch.get_block('C')\nr = sch.cache_read(c, 1, 'global')\ni, j = sch.get_loops(c)\n"
                      "sch.compute_at(r, j)\n"},
        SoundnessCase{"CacheReadOfWhatPlacesOneView", kViewAtOneGather,
                      "c = sch.get_block('C')\nr = sch.cache_read(c, 1, 'local')\n"},
        SoundnessCase{"InlineOfWhatPlacesAView", kViewAtOneGather,
                      "c = sch.get_block('C')\nr = sch.cache_read(c, 1, 'local')\nsch.compute_inline(r)\n"},
        SoundnessCase{"ReindexOfWhatPlacesAView", kViewAtAGather,
                      "c = sch.get_block('C')\nr = sch.reindex(c, ('read', 1))\n", "at different indices"},
        SoundnessCase{"ComputeAtPastWhoChangesTheSourceOfACopy", kSumsOfARowMadeAgain,
                      "c = sch.get_block('C')\ni, k = sch.get_loops(c)\nr = sch.read_at(k, c, 0, 'global')\n"
                      "w = sch.cache_write(c, 0, 'global')\nj, = sch.get_loops(w)\nsch.compute_at(c, j)\n",
                      "buffer \"A"},
        SoundnessCase{"CacheReadUnderALoopFusedByAnUnknownLength", kRowsOfUnknownLength,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nf = sch.fuse(i, j, preserve_unit_iters=False)\n"
                      "r = sch.cache_read(c, 0, 'global')\n"},
        SoundnessCase{"CacheReadInABlockThatDeclaresTwoParts", kTwoPartsInABlock,
                      "b = sch.get_block('S')\nr = sch.cache_read(b, 0, 'global')\n"},
        SoundnessCase{"LayoutOfABlockWithMemoryOfItsOwnLength", kTriangleSumInBlocks,
                      "b = sch.get_block('S')\nk, = sch.get_loops(b)\nr = sch.rfactor(k, 0)\n"
                      "o = sch.get_block('O')\nsch.transform_block_layout(o, lambda i: (i // 2, i % 2))\n"},
        SoundnessCase{"VectorizeOfPartsOfParts", kProduct,
                      "c = sch.get_block('C')\ni, k, j = sch.get_loops(c)\nj0, j1 = sch.loop_partition(j, [None, 2])\n"
                      "p = sch.get_block('C_j_common')\ni, k = sch.get_loops(p)\ni0, i1 = sch.loop_partition(i, [2])\n"
                      "q = sch.get_block('C_j_common_i0')\ni, k = sch.get_loops(q)\nsch.vectorize(k)\n",
                      "several iterations may touch one element of buffer"},
        SoundnessCase{"LanesUnderAUnitLoop", kOnePerLane,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nb = sch.get_block('B')\n"
                      "sch.compute_at(b, j, True)\nx, = sch.cache_index(c, 'global', 1)\ni, j = sch.get_loops(c)\n"
                      "sch.vectorize(j)\n"}),
    NameOf);

// ---- What another iteration changes, and what is beside a buffer.

constexpr char kReadBeforeItIsDoubled[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        for j in range(1):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] * 2
        for k in range(2):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(2, k)
                with T.init():
                    C[vi] = 100
                C[vi] = T.min(C[vi], A[vk])
)";

constexpr char kReadsTheRowAfter[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((5,), "int32"), C: T.Buffer((4,), "int32")):
    D = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = A[vi]
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = D[vi]
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi + 1]
)";

// Each lane makes the one element that it reads, at a place that memory names and the block declares.
constexpr char kOneElementAtALoadedPlace[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), N: T.Buffer((4,), "int32"), C: T.Buffer((4, 4), "int32")):
    B = T.alloc_buffer((4, 8), "int32")
    M = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("M"):
            vi = T.axis.spatial(4, i)
            M[vi] = vi + vi
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, vi * 2])
            T.writes(B[vi, vi * 2])
            B[vi, vi * 2] = A[vi, vi * 2]
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vi * 2], M[vi])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, M[vi]] + vj
)";

constexpr char kSumOfAsManyAsMemorySays[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), N: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32")):
    for i in range(T.min(T.max(N[0], 0), 8)):
        with T.block("C"):
            vi = T.axis.reduce(8, i)
            with T.init():
                C[0] = 0
            C[0] = C[0] + A[vi]
)";

constexpr char kMadeRelativeToABlock[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            T.reads(A[vo])
            T.writes(C[vo])
            L = T.alloc_buffer((1,), "int32")
            for j in range(1):
                with T.block("B"):
                    vi = T.axis.spatial(4, vo + j)
                    L[vi - vo] = A[vi] * 2
            for j in range(1):
                with T.block("C"):
                    vj = T.axis.spatial(1, j)
                    C[vo + vj] = L[vj]
)";

constexpr char kGatherUnderACondition[] = R"(
@T.prim_func
def main(B: T.Buffer((8,), "int32"), I: T.Buffer((9,), "int32"), C: T.Buffer((9,), "int32")):
    for i, j in T.grid(3, 4):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[T.min(T.max(I[vi * 4 + vj], 0), 7)], I[vi * 4 + vj])
            T.writes(C[vi * 4 + vj])
            with T.block("C"):
                v = T.axis.spatial(9, vi * 4 + vj)
                T.where(vi * 4 + vj < 9)
                T.reads(B[T.min(T.max(I[v], 0), 7)], I[v])
                T.writes(C[v])
                C[v] = B[T.min(T.max(I[v], 0), 7)] + v
)";

constexpr char kTriangleSum[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        for j in range(i + 1):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.reduce(4, j)
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[vi, vj]
)";

constexpr char kSumsOfEarlierRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 3), "int32"), B: T.Buffer((4, 4), "int32")):
    for i, j, k in T.grid(4, 4, 3):
        with T.block("S"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial((1, 5), j + 1)
            vk = T.axis.reduce(3, k)
            with T.init():
                B[vi, vj - 1] = 0
            B[vi, vj - 1] = B[vi, vj - 1] + A[vi, vk] * A[vj - 1, vk]
)";

constexpr char kSumMadeFourTimes[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
    for r, k in T.grid(4, 8):
        with T.block("S"):
            v = T.axis.spatial(1, 0)
            vk = T.axis.reduce(8, k)
            with T.init():
                B[v] = 0
            B[v] = B[v] + A[vk]
)";

constexpr char kOuterProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4, 4), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * 2
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi] * B[vj]
)";

constexpr char kMatmul[] = R"(
@T.prim_func
def main(A: T.Buffer((3, 2), "int32"), B: T.Buffer((4, 2), "int32"), C: T.Buffer((3, 4), "int32")):
    for i, j, k in T.grid(3, 4, 2):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)";

constexpr char kSumOfQuotients[] = R"(
@T.prim_func
def main(A: T.Buffer((3, 2), "float32"), B: T.Buffer((3, 2), "float32"), C: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 2):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * T.rsqrt(B[vi, vk])
)";

INSTANTIATE_TEST_SUITE_P(
    Neighbours, RoundsTest,
    testing::Values(
        SoundnessCase{"ConsumerOfWhatLaterRoundsChange", kReadBeforeItIsDoubled,
                      "a = sch.get_block('A')\ni, j = sch.get_loops(a)\nc = sch.get_block('C')\n"
                      "sch.reverse_compute_at(c, j)\n",
                      "makes in another iteration of loop \"i\""},
        SoundnessCase{"ConsumerTakenFromWhoReadsTheRowAfter", kReadsTheRowAfter,
                      "d = sch.get_block('D')\ni, = sch.get_loops(d)\nb = sch.get_block('B')\n"
                      "sch.reverse_compute_at(b, i)\n",
                      "reads buffer \"B\", which it writes"},
        SoundnessCase{"LanesThatReadAtALoadedPlace", kOneElementAtALoadedPlace,
                      "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nsch.vectorize(j)\n"},
        SoundnessCase{"CopyOfWhatConditionsGuard", kGatherUnderACondition,
                      "c = sch.get_block('C')\nl = sch.cache_read(c, 0, 'local')\n"},
        SoundnessCase{"PaddingOfAHiddenAccess", kMatmul,
                      "c = sch.get_block('C')\nsch.unsafe_hide_buffer_access(c, 'read', [0])\n"
                      "sch.pad_einsum(c, [2, 1, 4])\n",
                      "its reads do not name buffer \"A\""},
        SoundnessCase{"CopyByLoopsThatDependOnEachOther", kTriangleSum,
                      "c = sch.get_block('C')\n"
                      "l = sch.reindex_cache_read(c, 0, 'local', lambda i, j: (j, i))\n"},
        SoundnessCase{"BlockOfASumThatIsRepeated", kSumMadeFourTimes,
                      "s = sch.get_block('S')\nr, k = sch.get_loops(s)\nb = sch.blockize(r)\n",
                      "it repeats the reduction below it"},
        SoundnessCase{
            "PartsOfWhatEachLaneMakes", kOuterProduct,
            "c = sch.get_block('C')\ni, j = sch.get_loops(c)\nsch.parallel(j)\nb = sch.get_block('B')\n"
            "sch.compute_at(b, j, True)\ni, j, k = sch.get_loops(b)\nk0, k1 = sch.loop_partition(k, [1, None])\n"},
        SoundnessCase{"OrderOfLoopsThatCountElementsAndSteps", kMatmul,
                      "c = sch.get_block('C')\ni, j, k = sch.get_loops(c)\nf = sch.fuse(j, k)\n"
                      "f0, f1 = sch.split(f, [2, 4])\nsch.reorder(f1, f0)\n",
                      "may not begin at its minimum for each element"},
        SoundnessCase{"OrderOfALoopBesideThem", kMatmul,
                      "c = sch.get_block('C')\ni, j, k = sch.get_loops(c)\nf = sch.fuse(j, k)\n"
                      "f0, f1 = sch.split(f, [2, 4])\nsch.reorder(f0, i, f1)\n"},
        SoundnessCase{"FactorOfWhatHidesAnIndex", kSumsOfEarlierRows,
                      "s = sch.get_block('S')\nc, = sch.cache_index(s, 'global', 2)\ni, j, k = sch.get_loops(s)\n"
                      "r = sch.rfactor(k, 0)\nn = sch.get_block('index_0')\nx, = sch.get_loops(n)\n"
                      "i, j, k = sch.get_loops(r)\nm = sch.merge(x, i)\n",
                      "touches more than it declares"},
        SoundnessCase{"BlockOfBuffersAsLongAsItSays", kTriangleSumInBlocks,
                      "c = sch.get_block('S')\nk, = sch.get_loops(c)\nd = sch.rfactor(k, 0)\n"
                      "o = sch.get_block('O')\ni, = sch.get_loops(o)\nb = sch.blockize(i)\n"},
        SoundnessCase{"PaddingOfQuotientsThatAreSummed", kSumOfQuotients,
                      "c = sch.get_block('C')\nsch.pad_einsum(c, [2, 4])\n", "is no sum of products that zeros leave"},
        SoundnessCase{"PaddingOfQuotients", kSumOfQuotients, "c = sch.get_block('C')\nsch.pad_einsum(c, [2, 1])\n"},
        SoundnessCase{"FactorOfAsManyAsMemorySays", kSumOfAsManyAsMemorySays,
                      "c = sch.get_block('C')\ni, = sch.get_loops(c)\nd = sch.rfactor(i, 0)\n", "is read from memory"},
        SoundnessCase{"TileBesideTheBuffer", kMadeRelativeToABlock,
                      "c = sch.get_block('C')\nj, = sch.get_loops(c)\nk, l = sch.split(j, [None, 2])\n"
                      "b = sch.get_block('B')\nsch.compute_at(b, l)\n"}),
    NameOf);

}  // namespace
}  // namespace lathe
