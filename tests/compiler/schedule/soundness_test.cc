// Schedules that would come out wrong: what is refused, and what is accepted and easily gets another meaning.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class SoundnessTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(SoundnessTest, KeepsTheMeaningOrRefuses) { ExpectSound(GetParam()); }

// ---- The order of reads and writes.

constexpr char kReversedInPlace[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
    for i in range(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = B[15 - vi]
)";

constexpr char kInputChangesBetween[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2
    for i in range(16):
        with T.block("zero"):
            vi = T.axis.spatial(16, i)
            A[vi] = 0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + 1
)";

constexpr char kOutputIsReadBefore[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32"), E: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2
    for i in range(16):
        with T.block("E"):
            vi = T.axis.spatial(16, i)
            E[vi] = C[15 - vi]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + 1
)";

constexpr char kSumOverwritesWhatIsReadBeside[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("old"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi]
        for k in range(8):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[vi, vk]
)";

constexpr char kPartialSums[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), D: T.Buffer((4, 8), "int32")):
    S = T.alloc_buffer((4,), "int32")
    B = T.alloc_buffer((4, 8), "int32")
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + A[vi, vk]
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = S[vi]
    for i, k in T.grid(4, 8):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = B[vi, vk]
)";

constexpr char kDiagonal[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vi > 0 and vj < 3, B[vi - 1, vj + 1], 0)
)";

INSTANTIATE_TEST_SUITE_P(
    Order, SoundnessTest,
    testing::Values(
        SoundnessCase{"ComputeInlineWouldReadWhatIsOverwritten", kReversedInPlace,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n", "A"},
        SoundnessCase{"ComputeInlineAcrossAWriteOfItsInput", kInputChangesBetween,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n", "\"A\""},
        SoundnessCase{"ReverseComputeInlineAcrossAReadOfItsOutput", kOutputIsReadBefore,
                      "c = sch.get_block('C')\nsch.reverse_compute_inline(c)\n", "\"C\""},
        SoundnessCase{"ComputeAtInPlace", kReversedInPlace,
                      "b = sch.get_block('B')\nc = sch.get_block('A')\nl, = sch.get_loops(c)\nsch.compute_at(b, l)\n",
                      "\"A\""},
        SoundnessCase{"ComputeAtAcrossAWriteOfItsInput", kInputChangesBetween,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\nl, = sch.get_loops(c)\nsch.compute_at(b, l)\n",
                      "\"A\""},
        SoundnessCase{
            "ReverseComputeAtAcrossAReadOfItsOutput", kOutputIsReadBefore,
            "b = sch.get_block('B')\nc = sch.get_block('C')\nl, = sch.get_loops(b)\nsch.reverse_compute_at(c, l)\n",
            "\"C\""},
        SoundnessCase{"DecomposeReductionAcrossAReadOfItsOutput", kSumOverwritesWhatIsReadBeside,
                      "b = sch.get_block('sum')\nl, k = sch.get_loops(b)\ns = sch.decompose_reduction(b, l)\n",
                      "\"old\""},
        SoundnessCase{"DecomposeReductionBehindTheRead", kSumOverwritesWhatIsReadBeside,
                      "b = sch.get_block('sum')\nl, k = sch.get_loops(b)\ns = sch.decompose_reduction(b, k)\n"},
        SoundnessCase{"ComputeAtOfAReaderOfPartialSums", kPartialSums,
                      "b = sch.get_block('B')\nd = sch.get_block('D')\ni, k = sch.get_loops(d)\nsch.compute_at(b, i)\n",
                      "\"sum\""},
        SoundnessCase{"ComputeInlineOfAReaderOfPartialSums", kPartialSums,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n", "\"sum\""},
        SoundnessCase{"ReorderOfLoopsThatCarryADependence", kDiagonal,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nsch.reorder(j, i)\n", "\"B\""},
        SoundnessCase{"CacheReadOfABufferThatIsWrittenLater", kReversedInPlace,
                      "b = sch.get_block('B')\nc = sch.cache_read(b, 0, 'local')\n", "no copy can be made before it"}),
    NameOf);

// ---- Region cover.

constexpr char kReadsTheNeighbour[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[T.max(vi - 1, 0)]
)";

constexpr char kSharedScratch[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32"), D: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj] = A[vi, vj]
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[7 - vj]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi]
)";

constexpr char kOverlappingOutput[] = R"(
@T.prim_func
def main(A: T.Buffer((18,), "int32"), B: T.Buffer((18,), "int32")):
    for t, a in T.grid(8, 4):
        with T.block("B"):
            vi = T.axis.spatial(18, t * 2 + a)
            B[vi] = A[vi]
)";

constexpr char kRepeatedRow[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for r, i in T.grid(4, 8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
)";

INSTANTIATE_TEST_SUITE_P(
    RegionCover, SoundnessTest,
    testing::Values(SoundnessCase{"ParallelOverANeighboursValue", kReadsTheNeighbour,
                                  "b = sch.get_block('B')\nl, = sch.get_loops(b)\nsch.parallel(l)\n", "\"B\""},
                    SoundnessCase{"VectorizeOverANeighboursValue", kReadsTheNeighbour,
                                  "b = sch.get_block('B')\nl, = sch.get_loops(b)\nsch.vectorize(l)\n", "\"B\""},
                    SoundnessCase{"ParallelOverScratchThatLivesOn", kSharedScratch,
                                  "b = sch.get_block('B')\nl, m = sch.get_loops(b)\nsch.parallel(l)\n", "\"B\""},
                    SoundnessCase{"ParallelOverAnOverlappingOutput", kOverlappingOutput,
                                  "b = sch.get_block('B')\nt, a = sch.get_loops(b)\nsch.parallel(t)\n", "\"B\""},
                    SoundnessCase{"ParallelOverRepetitionsOfOneOutput", kRepeatedRow,
                                  "b = sch.get_block('B')\nr, i = sch.get_loops(b)\nsch.parallel(r)\n", "\"B\""}),
    NameOf);

// ---- Conditions.

constexpr char kConsumerUnderIf[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1
    for i in range(16):
        if i < 8:
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi] * 2
)";

constexpr char kProducerUnderWhere[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("zero"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            T.where(i < 8)
            C[vi] = B[vi] * 2
)";

constexpr char kProducerUnderIf[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), F: T.Buffer((1,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    if F[0] > 0:
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + 1
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = T.if_then_else(F[0] > 0, B[vi], 0)
)";

constexpr char kProducerWithWhere[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.where(i < 8)
            B[vi] = A[vi]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            T.where(i < 8)
            C[vi] = B[vi]
)";

constexpr char kSumUnderIf[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), F: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        if F[i] > 0:
            for k in range(8):
                with T.block("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + A[vi, vk]
)";

constexpr char kBoundsFromABuffer[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1
    for i in range(16):
        if B[i] > 0:
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi]
)";

INSTANTIATE_TEST_SUITE_P(
    Conditions, SoundnessTest,
    testing::Values(
        SoundnessCase{
            "ReverseComputeAtFromUnderAnIf", kConsumerUnderIf,
            "b = sch.get_block('B')\nc = sch.get_block('C')\nl, = sch.get_loops(b)\nsch.reverse_compute_at(c, l)\n",
            "condition"},
        SoundnessCase{"ReverseComputeInlineFromUnderAnIf", kConsumerUnderIf,
                      "c = sch.get_block('C')\nsch.reverse_compute_inline(c)\n", "condition"},
        SoundnessCase{"ReverseComputeInlineFromUnderAWhere", kProducerUnderWhere,
                      "c = sch.get_block('C')\nsch.reverse_compute_inline(c)\n", "predicate"},
        SoundnessCase{
            "ReverseComputeAtKeepsAWhere", kProducerUnderWhere,
            "b = sch.get_block('zero')\nc = sch.get_block('C')\nl, = sch.get_loops(b)\nsch.reverse_compute_at(c, l)\n"},
        SoundnessCase{"ComputeAtFromUnderAnIf", kProducerUnderIf,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\nl, = sch.get_loops(c)\nsch.compute_at(b, l)\n",
                      "condition"},
        SoundnessCase{"ComputeInlineFromUnderAnIf", kProducerUnderIf, "b = sch.get_block('B')\nsch.compute_inline(b)\n",
                      "condition"},
        SoundnessCase{"ComputeAtKeepsAWhere", kProducerWithWhere,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\nl, = sch.get_loops(c)\nsch.compute_at(b, l)\n"},
        SoundnessCase{"DecomposeReductionOverAnIf", kSumUnderIf,
                      "b = sch.get_block('sum')\ni, k = sch.get_loops(b)\ns = sch.decompose_reduction(b, i)\n",
                      "condition"},
        SoundnessCase{"ComputeAtUnderALoopWhoseConditionReadsTheBuffer", kBoundsFromABuffer,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\nl, = sch.get_loops(c)\nsch.compute_at(b, l)\n",
                      "condition"},
        SoundnessCase{"ComputeInlineOfABufferThatAConditionReads", kBoundsFromABuffer,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n", "\"B\""}),
    NameOf);

// ---- Reductions that move.

constexpr char kSumOfOverlappingTiles[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 17), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4, 17), "int32")
    for i, t, a in T.grid(4, 8, 3):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.spatial(17, t * 2 + a)
            B[vi, vk] = A[vi, vk] + 1
    for i, k in T.grid(4, 17):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + B[vi, vk]
)";

constexpr char kSumOfAReversedProducer[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4, 16), "int32")
    for i, k in T.grid(4, 16):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, 15 - vk] = A[vi, vk] + 1
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + B[vi, vk]
)";

constexpr char kSumOfTiles[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4, 16), "int32")
    for i, t, a in T.grid(4, 8, 2):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.spatial(16, t * 2 + a)
            B[vi, vk] = A[vi, vk] + 1
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + B[vi, vk]
)";

constexpr char kTriangularSum[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8, 4), "int32"), C: T.Buffer((8, 8), "int32")):
    for i in range(8):
        for j in range(i + 1):
            for k in range(4):
                with T.block("sum"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(8, j)
                    vk = T.axis.reduce(4, k)
                    with T.init():
                        C[vi, vj] = 0
                    C[vi, vj] = C[vi, vj] + A[vi, vj, vk]
)";

constexpr char kInitOverAView[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            V = T.match_buffer(C[vi:vi + 1], (1,), "int32", offset_factor=1)
            with T.init():
                V[0] = 0
            V[0] = V[0] + A[vi, vk]
)";

constexpr char kInitSharesScratch[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            t = T.alloc_buffer((1,), "int32")
            with T.init():
                t[0] = vi
                C[vi] = t[0]
            t[0] = A[vi, vk]
            C[vi] = C[vi] + t[0]
)";

constexpr char kInitWithScratch[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            s = T.alloc_buffer((1,), "int32")
            t = T.alloc_buffer((1,), "int32")
            with T.init():
                s[0] = vi
                C[vi] = s[0]
            t[0] = A[vi, vk]
            C[vi] = C[vi] + t[0]
)";

constexpr char kGuardedSum[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 9), "int32"), C: T.Buffer((4,), "int32")):
    for i, k, l in T.grid(4, 2, 5):
        with T.block("sum"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(9, k * 5 + l)
            T.where(k * 5 + l < 9 and i < 3)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
)";

constexpr char kOneCellForAllRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), D: T.Buffer((4,), "int32")):
    C = T.alloc_buffer((1,), "int32")
    for i in range(4):
        for k in range(8):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[0] = 0
                C[0] = C[0] + A[vi, vk]
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[0]
)";

constexpr char kRowsOfGrowingLength[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        for k in range(i):
            with T.block("sum"):
                vi = T.axis.spatial(8, i)
                vk = T.axis.reduce(8, k)
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[vi, vk]
)";

constexpr char kDecomposeAtI[] =
    "b = sch.get_block('sum')\ni, k = sch.get_loops(b)\ns = sch.decompose_reduction(b, i)\n";

INSTANTIATE_TEST_SUITE_P(
    Reductions, SoundnessTest,
    testing::Values(
        SoundnessCase{"ReverseComputeAtOfASumUnderOverlappingTiles", kSumOfOverlappingTiles,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, t, a = "
                      "sch.get_loops(b)\nsch.reverse_compute_at(c, t)\n",
                      "more than once"},
        SoundnessCase{
            "ReverseComputeAtOfASumWhoseInitWouldRunLast", kSumOfAReversedProducer,
            "b = sch.get_block('B')\nc = sch.get_block('C')\ni, k = sch.get_loops(b)\nsch.reverse_compute_at(c, k)\n",
            "first"},
        SoundnessCase{"ReverseComputeAtOfASumUnderTiles", kSumOfTiles,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, t, a = "
                      "sch.get_loops(b)\nsch.reverse_compute_at(c, t)\n"},
        SoundnessCase{"DecomposeReductionOfATriangle", kTriangularSum,
                      "b = sch.get_block('sum')\ni, j, k = sch.get_loops(b)\ns = sch.decompose_reduction(b, i)\n"},
        SoundnessCase{"DecomposeReductionOfAView", kInitOverAView, kDecomposeAtI},
        SoundnessCase{"DecomposeReductionWithScratch", kInitWithScratch, kDecomposeAtI},
        SoundnessCase{"DecomposeReductionWithSharedScratch", kInitSharesScratch, kDecomposeAtI, "share buffer"},
        SoundnessCase{"DecomposeReductionKeepsWhatGuardsTheFirstStep", kGuardedSum,
                      "b = sch.get_block('sum')\ni, k, l = sch.get_loops(b)\ns = sch.decompose_reduction(b, i)\n"},
        SoundnessCase{"DecomposeReductionOfACellThatAllRowsUse", kOneCellForAllRows, kDecomposeAtI, "no index"},
        SoundnessCase{"DecomposeReductionOfRowsThatMayBeEmpty", kRowsOfGrowingLength, kDecomposeAtI,
                      "might not run at all"}),
    NameOf);

// ---- Copies.

constexpr char kAppendsToACache[] = R"(
@T.prim_func
def main(k: T.handle, X: T.Buffer((16,), "int32"), pos: T.int32):
    K = T.match_buffer(k, (64,), "int32")
    for i in range(16):
        with T.block("append"):
            vi = T.axis.spatial(16, i)
            K[pos + vi] = X[vi]
)";

constexpr char kEveryOtherElement[] = R"(
@T.prim_func
def main(X: T.Buffer((32,), "int32"), Y: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("X"):
            vi = T.axis.spatial(16, i)
            X[2 * vi] = Y[vi]
)";

constexpr char kFirstHalf[] = R"(
@T.prim_func
def main(X: T.Buffer((16,), "int32"), Y: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("X"):
            vi = T.axis.spatial(16, i)
            T.where(i < 8)
            X[vi] = Y[vi]
)";

constexpr char kStoreUnderIf[] = R"(
@T.prim_func
def main(X: T.Buffer((16,), "int32"), Y: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("X"):
            vi = T.axis.spatial(16, i)
            if Y[vi] > 0:
                X[vi] = Y[vi]
)";

constexpr char kBlockUnderIf[] = R"(
@T.prim_func
def main(X: T.Buffer((16,), "int32"), Y: T.Buffer((16,), "int32")):
    for i in range(16):
        if Y[i] > 0:
            with T.block("X"):
                vi = T.axis.spatial(16, i)
                X[vi] = Y[vi]
)";

constexpr char kTail[] = R"(
@T.prim_func
def main(X: T.Buffer((13,), "int32"), Y: T.Buffer((13,), "int32")):
    for i, j in T.grid(4, 4):
        with T.block("X"):
            vi = T.axis.spatial(13, i * 4 + j)
            T.where(i * 4 + j < 13)
            X[vi] = Y[vi]
)";

constexpr char kCacheWrite[] = "b = sch.get_block('X')\nc = sch.cache_write(b, 0, 'local')\n";

constexpr char kReadBesideTheWrite[] = R"(
@T.prim_func
def main(X: T.Buffer((16,), "int32"), Y: T.Buffer((16,), "int32"), D: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = X[vi]
        with T.block("X"):
            vi = T.axis.spatial(16, i)
            X[vi] = Y[vi]
)";

constexpr char kConditionOnTheWrite[] = R"(
@T.prim_func
def main(X: T.Buffer((16,), "int32"), Y: T.Buffer((16,), "int32"), D: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("X"):
            vi = T.axis.spatial(16, i)
            X[vi] = Y[vi]
        if X[i] > 0:
            with T.block("D"):
                vi = T.axis.spatial(16, i)
                D[vi] = Y[vi]
)";

INSTANTIATE_TEST_SUITE_P(
    Copies, SoundnessTest,
    testing::Values(SoundnessCase{"CacheWriteCopiesBackOnlyWhatIsAppended", kAppendsToACache,
                                  "b = sch.get_block('append')\nc = sch.cache_write(b, 0, 'local')\n"},
                    SoundnessCase{"CacheWriteOfEveryOtherElement", kEveryOtherElement, kCacheWrite, "\"X\""},
                    SoundnessCase{"CacheWriteOfTheFirstHalf", kFirstHalf, kCacheWrite},
                    SoundnessCase{"CacheWriteOfAStoreUnderAnIf", kStoreUnderIf, kCacheWrite, "\"X\""},
                    SoundnessCase{"CacheWriteOfABlockUnderAnIf", kBlockUnderIf, kCacheWrite, "\"X\""},
                    SoundnessCase{"CacheWriteBesideAReadOfTheOldValue", kReadBesideTheWrite, kCacheWrite, "\"D\""},
                    SoundnessCase{"CacheWriteOfWhatAConditionReads", kConditionOnTheWrite, kCacheWrite, "condition"},
                    SoundnessCase{"CacheWriteOfAGuardedTail", kTail, kCacheWrite}),
    NameOf);

// ---- What moves along.

constexpr char kScatterByItsInput[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 4
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[B[vi]] = B[vi]
)";

constexpr char kConsumerWithInnerBlock[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[15 - vi]
    for t in range(4):
        with T.block("tile"):
            vt = T.axis.spatial(4, t)
            for u in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(16, vt * 4 + u)
                    C[vi] = B[vi] + 1
)";

constexpr char kConsumerThroughAView[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[15 - vi]
    for t in range(4):
        with T.block("tile"):
            vt = T.axis.spatial(4, t)
            V = T.match_buffer(B[vt * 4:vt * 4 + 4], (4,), "int32", offset_factor=1)
            for u in range(4):
                C[vt * 4 + u] = V[u]
)";

constexpr char kSlidingWindow[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((4, 12, 4), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1
    for i in range(4):
        for j in range(12):
            for k in T.serial(j, j + 4):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(12, j)
                    vk = T.axis.spatial(16, k)
                    C[vi, vj, vk - vj] = B[vk]
)";

constexpr char kHugeNest[] = R"(
@T.prim_func
def main(A: T.Buffer((2048, 2048, 1024), "int8")):
    for i, j, k in T.grid(2048, 2048, 1024):
        with T.block("A"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            A[vi, vj, vk] = T.int8(0)
)";

INSTANTIATE_TEST_SUITE_P(
    WhatMovesAlong, SoundnessTest,
    testing::Values(
        SoundnessCase{"ReverseComputeInlineOfAScatterByItsInput", kScatterByItsInput,
                      "c = sch.get_block('C')\nsch.reverse_compute_inline(c)\n"},
        SoundnessCase{"ComputeInlineIntoABlockWithInnerBlocks", kConsumerWithInnerBlock,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n"},
        SoundnessCase{"ComputeInlineOfABufferThatIsViewed", kConsumerThroughAView,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n", "view"},
        SoundnessCase{
            "ComputeAtOverALoopWithVariableBounds", kSlidingWindow,
            "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j, k = sch.get_loops(c)\nsch.compute_at(b, i)\n"},
        SoundnessCase{"FuseOfMoreThanInt32Iterations", kHugeNest,
                      "b = sch.get_block('A')\ni, j, k = sch.get_loops(b)\nl = sch.fuse(i, j, k)\n",
                      "fuse fewer loops"}),
    NameOf);

}  // namespace
}  // namespace lathe
