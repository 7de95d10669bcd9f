// Primitives that make blocks: what they may not do to a program, and what they may.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class NewBlockSoundnessTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(NewBlockSoundnessTest, IsRefusedOrKeepsTheMeaning) { ExpectSound(GetParam()); }

constexpr char kMakerOneCellForAllRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((1,), "int32")):
    for k, i in T.grid(8, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[0] = 0
            B[0] = B[0] + A[vi, vk]
)";

constexpr char kMakerSumThenItsInputChanges[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        for k in range(8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vk]
        for k in range(8):
            with T.block("A"):
                vi, vk = T.axis.remap("SS", [i, k])
                A[3 - vi, vk] = vk
)";

constexpr char kMakerSumUnderIf[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        if i < 2:
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vk]
)";

constexpr char kMakerSumsAndTheirUse[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 12), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        for k in range(12):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vk]
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] * 2
)";

constexpr char kMakerRowsOfGrowingLength[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
    for i in range(8):
        for j in T.serial(0, i + 1):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A[vi, vj] + 1
)";

constexpr char kMakerSymbolicRows[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i, k in T.grid(n, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
)";

constexpr char kMakerPadded[] = R"(
@T.prim_func
def main(A: T.Buffer((6, 6), "int32"), C: T.Buffer((8, 8), "int32")):
    P = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        for j in range(8):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = T.if_then_else(1 <= vi and vi < 7 and 1 <= vj and vj < 7, A[vi - 1, vj - 1], 3)
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = P[vi, vj] + 1
)";

constexpr char kMakerPaddedFirstRow[] = R"(
@T.prim_func
def main(A: T.Buffer((6, 6), "int32"), C: T.Buffer((8, 8), "int32")):
    P = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        for j in range(8):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = T.if_then_else(1 <= vi and vi < 7 and 1 <= vj and vj < 7, A[vi - 1, vj - 1], 3)
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = P[0, vj] + 1
)";

constexpr char kMakerGuardedCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i + j < 8)
            B[vi, vj] = A[vi + vj, vj]
)";

constexpr char kMakerTwoInOneNest[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi] + 1
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * 2
)";

constexpr char kMakerBothNested[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi] + 1
    for i in range(8):
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj, vi] * 2
)";

constexpr char kMakerFactorK[] = "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nc = sch.rfactor(k, 0)\n";

constexpr char kMakerSumFromTwo[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        for k in range(2, 8):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(6, k - 2)
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vk]
)";

constexpr char kMakerCopyFromTwo[] = R"(
@T.prim_func
def main(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(6, i + 2)
            B[vi] = A[vi]
)";

constexpr char kMakerOneCell[] = R"(
@T.prim_func
def main(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    for i in range(1):
        with T.block("B"):
            vi = T.axis.spatial(1, i)
            B[0] = A[vi]
)";

constexpr char kMakerRunningSum[] = R"(
@T.prim_func
def main(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] + A[vi + 2]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + B[vi + 1] * B[vi + 2]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[7 - vi]
)";
constexpr char kMakerRoll[] = R"(
b0 = sch.get_block(name="C")
l1, = sch.get_loops(block=b0)
b2 = sch.get_block(name="B")
)";

constexpr char kMakerInPlace[] = R"(
@T.prim_func
def main(A: T.Buffer((9,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi:vi + 2])
            T.writes(A[vi])
            A[vi] = A[vi] * 2 + A[vi + 1] + vi // 2 * 3
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + vi // 3 * 2
)";

// What TVM's own schedule would get wrong comes first.
INSTANTIATE_TEST_SUITE_P(RollingBuffer, NewBlockSoundnessTest,
                         testing::Values(SoundnessCase{"WithAReaderElsewhere", kMakerRunningSum,
                                                       std::string(kMakerRoll) +
                                                           "sch.rolling_buffer(block=b2, write_buffer_index=0)",
                                                       "no loop is around it and all readers"},
                                         SoundnessCase{"OfTilesThatAreCut", kMakerRunningSum,
                                                       R"(
b0 = sch.get_block(name="D")
b1 = sch.get_block(name="B")
b2 = sch.get_block(name="C")
b3 = sch.cache_read(block=b2, read_buffer_index=0, storage_scope="local", consumer_blocks=[b2])
l4, = sch.get_loops(block=b2)
l5, l6 = sch.split(loop=l4, factors=[None, 3])
sch.compute_at(block=b3, loop=l5)
sch.rolling_buffer(block=b3, write_buffer_index=0)
)"},
                                         SoundnessCase{"InParallel", kMakerRunningSum,
                                                       R"(
b2 = sch.get_block(name="C")
b3 = sch.cache_read(block=b2, read_buffer_index=0, storage_scope="local", consumer_blocks=[b2])
l4, = sch.get_loops(block=b2)
sch.compute_at(block=b3, loop=l4)
sch.parallel(loop=l4)
sch.rolling_buffer(block=b3, write_buffer_index=0)
)",
                                                       "its iterations run at once"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(
    Copies, NewBlockSoundnessTest,
    testing::Values(
        SoundnessCase{"InPlace", kMakerInPlace,
                      "b0 = sch.get_block(name=\"A\")\n"
                      "b1, b2 = sch.cache_inplace(block=b0, read_buffer_index=0, storage_scope=\"local\")"},
        SoundnessCase{"OfIndices", kMakerInPlace,
                      "b0 = sch.get_block(name=\"A\")\nb1, b2 = sch.cache_index(block=b0, storage_scope=\"global\")"},
        SoundnessCase{"OfIndicesBeforeTheirReader", kMakerInPlace,
                      "b0 = sch.get_block(name=\"B\")\nb1, = sch.cache_index(block=b0, storage_scope=\"global\")\n"
                      "b2 = sch.get_block(name=\"A\")\nl3, = sch.get_loops(block=b2)\n"
                      "sch.reverse_compute_at(block=b0, loop=l3)",
                      "touches more than it declares"},
        SoundnessCase{"ReadAtWhileItIsWritten", kMakerInPlace,
                      "b0 = sch.get_block(name=\"A\")\nl1, = sch.get_loops(block=b0)\n"
                      "b2 = sch.read_at(loop=l1, block=b0, read_buffer_index=0, storage_scope=\"local\")",
                      "after the copy was made"},
        SoundnessCase{"ReadAt", kMakerRunningSum,
                      std::string(kMakerRoll) +
                          "b3 = sch.read_at(loop=l1, block=b0, read_buffer_index=0, storage_scope=\"local\")"},
        SoundnessCase{"WriteAt", kMakerRunningSum,
                      std::string(kMakerRoll) + "l3, l4 = sch.split(loop=l1, factors=[None, 4])\n"
                                                "b5 = sch.write_at(loop=l3, block=b0, write_buffer_index=0, "
                                                "storage_scope=\"local\")"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(LoopPartition, NewBlockSoundnessTest,
                         testing::Values(SoundnessCase{"OfAReduction", kMakerOneCellForAllRows, R"(
b0 = sch.get_block(name="B")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.loop_partition(loop=l1, factors=[1, None])
)"},
                                         SoundnessCase{
                                             "ThenMovedInto", kMakerRunningSum,
                                             std::string(kMakerRoll) +
                                                 "l3, l4 = sch.loop_partition(loop=l1, factors=[3, None])\n"
                                                 "b5 = sch.get_block(name=\"D\")\nl6, = sch.get_loops(block=b5)\n"
                                                 "sch.compute_at(block=b2, loop=l6)",
                                             "is not below loop"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(PadEinsum, NewBlockSoundnessTest,
                         testing::Values(SoundnessCase{"OfOneCell", kMakerOneCell,
                                                       "b = sch.get_block('B')\nsch.pad_einsum(b, [2])\n",
                                                       "is no index of what it writes"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(
    RFactor, NewBlockSoundnessTest,
    testing::Values(SoundnessCase{"OfOneCellForAllRows", kMakerOneCellForAllRows,
                                  "b = sch.get_block('B')\nk, i = sch.get_loops(b)\nc = sch.rfactor(k, 0)\n",
                                  "a data-parallel iter var is no index of what it writes"},
                    SoundnessCase{"OfALoopFromTwo", kMakerSumFromTwo, kMakerFactorK, "does not start at 0"},
                    SoundnessCase{"AcrossAChangeOfItsInput", kMakerSumThenItsInputChanges, kMakerFactorK,
                                  "need before"},
                    SoundnessCase{"UnderAnIf", kMakerSumUnderIf, kMakerFactorK, "condition that would be lost"},
                    SoundnessCase{"BesideItsUse", kMakerSumsAndTheirUse,
                                  "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nk0, k1 = sch.split(k, [None, 4])\n"
                                  "c = sch.rfactor(k0, 0)\n"},
                    SoundnessCase{"OfSymbolicRowsInParallel", kMakerSymbolicRows,
                                  "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nk0, k1 = sch.split(k, [None, 4])\n"
                                  "c = sch.rfactor(k1, -1)\nsch.parallel(i)\n"},
                    SoundnessCase{"WithATailOfTerms", kMakerSymbolicRows,
                                  "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nk0, k1 = sch.split(k, [None, 3])\n"
                                  "c = sch.rfactor(k1, 1)\nd = sch.decompose_reduction(c, k0)\n",
                                  "no longer exists"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Blockize, NewBlockSoundnessTest,
    testing::Values(SoundnessCase{"OfACopyFromTwo", kMakerCopyFromTwo,
                                  "b = sch.get_block('B')\ni, = sch.get_loops(b)\nc = sch.blockize(i)\n",
                                  "has an offset"},
                    SoundnessCase{"OfLoopsWhoseBoundsLieOutside", kMakerRowsOfGrowingLength,
                                  "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nc = sch.blockize(j)\n",
                                  "its bounds depend on a loop outside"},
                    SoundnessCase{"UnderAnIf", kMakerSumUnderIf,
                                  "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nc = sch.blockize(k)\n",
                                  "condition"},
                    SoundnessCase{"OfSymbolicRows", kMakerSymbolicRows,
                                  "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nk0, k1 = sch.split(k, [None, 4])\n"
                                  "c = sch.blockize(k1)\nd = sch.decompose_reduction(c, k0)\n"},
                    SoundnessCase{"OfWhatIsThenMoved", kMakerBothNested,
                                  "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nj0, j1 = sch.split(j, [None, 4])\n"
                                  "t = sch.blockize(j1)\nc = sch.get_block('C')\nk, l = sch.get_loops(c)\n"
                                  "l0, l1 = sch.split(l, [None, 4])\nsch.compute_at(t, k)\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    DecomposePadding, NewBlockSoundnessTest,
    testing::Values(SoundnessCase{"BesideItsUse", kMakerPadded,
                                  "b = sch.get_block('P')\ni, j = sch.get_loops(b)\nc = sch.decompose_padding(b, i)\n"},
                    SoundnessCase{"BesideAUseOfAnotherRow", kMakerPaddedFirstRow,
                                  "b = sch.get_block('P')\ni, j = sch.get_loops(b)\nc = sch.decompose_padding(b, i)\n",
                                  "may read what another iteration makes of \"P\""},
                    SoundnessCase{"BesideItsUseInTiles", kMakerPadded,
                                  "b = sch.get_block('P')\ni, j = sch.get_loops(b)\n"
                                  "c = sch.get_block('C')\nk, l = sch.get_loops(c)\n"
                                  "l0, l1 = sch.split(l, [None, 4])\nsch.compute_at(b, l0)\n"
                                  "m, n, o = sch.get_loops(b)\nd = sch.decompose_padding(b, m)\n"},
                    SoundnessCase{"BesideItsUseAtOnce", kMakerPadded,
                                  "b = sch.get_block('P')\ni, j = sch.get_loops(b)\nsch.parallel(i)\n"
                                  "c = sch.decompose_padding(b, i)\n",
                                  "runs its iterations at once"},
                    SoundnessCase{"OfARowBeforeItsUse", kMakerPadded,
                                  "b = sch.get_block('P')\ni, j = sch.get_loops(b)\nc = sch.decompose_padding(b, j)\n"},
                    SoundnessCase{"OfTilesOfARow", kMakerPadded,
                                  "b = sch.get_block('P')\ni, j = sch.get_loops(b)\nj0, j1 = sch.split(j, [None, 3])\n"
                                  "sch.vectorize(j1)\nc = sch.decompose_padding(b, j1)\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    ReIndex, NewBlockSoundnessTest,
    testing::Values(SoundnessCase{"OfReadsThatAPredicateKeepsInside", kMakerGuardedCopy,
                                  "b = sch.get_block('B')\nc = sch.reindex(b, ('read', 0))\n",
                                  "index 0 of buffer \"A\" may leave it"},
                    SoundnessCase{"OfWritesThatAPredicateLeavesOut", kMakerGuardedCopy,
                                  "b = sch.get_block('B')\nc = sch.reindex(b, ('write', 0))\n", "no affine binding"},
                    SoundnessCase{"OfWhatTheSameNestReads", kMakerTwoInOneNest,
                                  "b = sch.get_block('B')\nc = sch.reindex(b, ('write', 0))\n", "in the same nest"},
                    SoundnessCase{"OfWhatTheSameNestMakes", kMakerTwoInOneNest,
                                  "b = sch.get_block('C')\nc = sch.reindex(b, ('read', 0))\n", "no copy can be made"},
                    SoundnessCase{"OfEverything", kMakerBothNested,
                                  "b = sch.get_block('B')\nc = sch.get_block('C')\nd = sch.reindex(b, ('write', 0))\n"
                                  "e = sch.reindex(b, ('read', 0))\nf = sch.reindex(c, ('read', 0))\n"
                                  "i, j = sch.get_loops(b)\nk, l = sch.get_loops(d)\nsch.parallel(i)\n"
                                  "sch.vectorize(l)\n"}),
    NameOf);

}  // namespace
}  // namespace lathe
