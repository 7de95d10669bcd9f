// What random programs under random schedules found, made small: each was accepted and came out wrong, or crashed.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class FoundTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(FoundTest, KeepsTheMeaningOrRefuses) { ExpectSound(GetParam()); }

// ---- What moves has no names of its own place left in it.

constexpr char kReadsThroughAView[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0:8])
            T.writes(B[vi])
            view = T.match_buffer(A[vi, 0:8], (8,), "int32")
            B[vi] = view[vi]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
)";

constexpr char kConsumerUnderALet[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8, 4), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2
    for i, j in T.grid(8, 4):
        x: T.int32 = i
        with T.block("C"):
            vi = T.axis.spatial(8, x)
            vj = T.axis.spatial(4, j)
            C[vi, vj] = B[vi] + vj
)";

constexpr char kSumUnderALet[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for k, i in T.grid(8, 4):
        x: T.int32 = k
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, x)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
)";

constexpr char kTwoWidths[] = R"(
@T.prim_func
def main(A: T.Buffer((12,), "int32"), C: T.Buffer((12,), "int32")):
    B = T.alloc_buffer((12,), "int32")
    for i in range(12):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = A[vi]
    for i in range(T.int64(12)):
        with T.block("C"):
            vi = T.axis.spatial(T.int64(12), i)
            C[vi] = B[vi // T.int64(2)] + B[T.min(vi, T.int64(3))]
)";

constexpr char kOneElementForAllRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    for i in range(4):
        for k in range(1):
            with T.block("B"):
                vo = T.axis.opaque(4, i)
                vk = T.axis.spatial(1, k)
                B[vk] = A[vo]
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[0]
)";

INSTANTIATE_TEST_SUITE_P(
    Names, FoundTest,
    testing::Values(
        SoundnessCase{"ReverseComputeAtWhatAnOpaqueIterChanges", kOneElementForAllRows,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nc = sch.get_block('C')\n"
                      "sch.reverse_compute_at(c, k)\n",
                      "has an opaque iter var"},
        SoundnessCase{"ComputeInlineOfABlockWithAView", kReadsThroughAView,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n", "views of its own"},
        SoundnessCase{"ReverseComputeInlineIntoABlockWithAView", kReadsThroughAView,
                      "c = sch.get_block('C')\nsch.reverse_compute_inline(c)\n", "views of its own"},
        SoundnessCase{
            "ComputeAtAConsumerUnderALet", kConsumerUnderALet,
            "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j = sch.get_loops(c)\nsch.compute_at(b, i)\n"},
        SoundnessCase{"CacheReadUnderALet", kConsumerUnderALet,
                      "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'local')\n"},
        SoundnessCase{"ReverseComputeAtASumThatALetFeeds", kSumUnderALet,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\nk, i = sch.get_loops(b)\n"
                      "sch.reverse_compute_at(c, k)\n",
                      "still reduces"},
        SoundnessCase{"ComputeInlineIntoLoopsOfAnotherWidth", kTwoWidths,
                      "b = sch.get_block('B')\nsch.compute_inline(b)\n"},
        SoundnessCase{"ComputeAtLoopsOfAnotherWidth", kTwoWidths,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\nsch.compute_at(b, i)\n"},
        SoundnessCase{"CacheReadOfLoopsOfAnotherWidth", kTwoWidths,
                      "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'local')\n"}),
    NameOf);

// ---- What is run, and how often.

constexpr char kConditionThatLoads[] = R"(
@T.prim_func
def main(I: T.Buffer((4,), "int32"), A: T.Buffer((4,), "int32")):
    for i in range(4):
        if 0 < I[i]:
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] + 1
)";

constexpr char kSumOfAsManyAsAreSaid[] = R"(
@T.prim_func
def main(I: T.Buffer((1,), "int32"), A: T.Buffer((4, 16), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, T.max(T.min(I[0], 8), 1)):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(16, k)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
)";

constexpr char kTriangularCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i in range(4):
        for j in range(i + 1):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                C[vi, vj] = B[vi, vj]
)";

constexpr char kSumSpreadOverABlock[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("outer"):
            vo, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vo, vk])
            T.writes(C[vo])
            for j in range(1):
                with T.block("sum"):
                    vi = T.axis.spatial(4, vo + j)
                    vr = T.axis.reduce(8, vk)
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + A[vi, vr]
)";

constexpr char kLanesThatMeet[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi] * vk
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi % 4]
)";

constexpr char kWritesRowsThroughABlock[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("outer"):
            vo = T.axis.spatial(8, i)
            T.reads(A[vo])
            T.writes(B[0:8])
            with T.block("B"):
                vi = T.axis.spatial(8, vo)
                B[vi] = A[vi]
    for j in range(4):
        with T.block("C"):
            vj = T.axis.spatial(4, j)
            C[vj] = B[vj + 1]
)";

constexpr char kTwoConsumersOfALoop[] = R"(
@T.prim_func
def main(A: T.Buffer((1,), "int32"), D: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((1,), "int32")
    C = T.alloc_buffer((4,), "int32")
    for i in T.vectorized(4):
        for j in range(1):
            with T.block("B"):
                vj = T.axis.spatial(1, j)
                B[vj] = A[vj]
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[0]
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi]
)";

INSTANTIATE_TEST_SUITE_P(
    Runs, FoundTest,
    testing::Values(
        SoundnessCase{"SplitWithATailUnderAConditionThatLoads", kConditionThatLoads,
                      "b = sch.get_block('A')\ni, = sch.get_loops(b)\ni0, i1 = sch.split(i, [None, 3])\n", "outside"},
        SoundnessCase{"SplitThatDividesUnderAConditionThatLoads", kConditionThatLoads,
                      "b = sch.get_block('A')\ni, = sch.get_loops(b)\ni0, i1 = sch.split(i, [None, 2])\n"},
        SoundnessCase{"ComputeAtOfASumOverPartOfItsDomain", kSumOfAsManyAsAreSaid,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\nsch.compute_at(b, i)\n",
                      "no whole reduction"},
        SoundnessCase{"ReverseComputeAtOfATriangle", kTriangularCopy,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, j = sch.get_loops(b)\n"
                      "sch.reverse_compute_at(c, i)\n",
                      "whole domain"},
        SoundnessCase{"DecomposeReductionOutsideOfLanesThatMeet", kLanesThatMeet,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\nsch.vectorize(i)\n"
                      "sch.compute_at(b, i)\nl, k = sch.get_loops(b)\nd = sch.decompose_reduction(b, l)\n",
                      "once below"},
        SoundnessCase{"DecomposeReductionInsideOfLanesThatMeet", kLanesThatMeet,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\nsch.vectorize(i)\n"
                      "sch.compute_at(b, i)\nl, k = sch.get_loops(b)\nd = sch.decompose_reduction(b, k)\n"},
        SoundnessCase{"ReverseComputeAtUnderABlockThatDeclaresMoreThanItWrites", kWritesRowsThroughABlock,
                      "b = sch.get_block('outer')\nc = sch.get_block('C')\ni, = sch.get_loops(b)\n"
                      "sch.reverse_compute_at(c, i)\n",
                      "has made"},
        SoundnessCase{"ComputeAtOutOfALoopThatSharesWhatStays", kTwoConsumersOfALoop,
                      "c = sch.get_block('C')\nd = sch.get_block('D')\ni, = sch.get_loops(d)\nsch.compute_at(c, i)\n",
                      "at once"},
        SoundnessCase{"CacheWriteOfASumThatABlockAroundSpreads", kSumSpreadOverABlock,
                      "b = sch.get_block('sum')\nc = sch.cache_write(b, 0, 'local')\n", "no whole reduction"}),
    NameOf);

// ---- What a copy copies.

constexpr char kReadsUnderAPredicate[] = R"(
@T.prim_func
def main(A: T.Buffer((2,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
    for i in range(3):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            T.where(i < 2)
            C[vi] = B[vi]
)";

constexpr char kReadsPartInABlock[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
        with T.block("outer"):
            vo = T.axis.spatial(8, i)
            T.reads(B[vo // 2])
            T.writes(C[vo])
            for j in range(1):
                with T.block("C"):
                    vi = T.axis.spatial(8, vo + j)
                    C[vi] = B[vi // 2]
)";

constexpr char kCopiedInEachThread[] = R"(
@T.prim_func
def main(A: T.Buffer((7,), "int32"), C: T.Buffer((4, 7), "int32")):
    B = T.alloc_buffer((7,), "int32")
    for i in T.parallel(4):
        for j in range(7):
            with T.block("B"):
                vj = T.axis.spatial(7, j)
                B[vj] = A[vj]
        for j in range(7):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj]
)";

constexpr char kReadsBesideWhatIsMade[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((9,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(1 <= vi, B[vi - 1], 5)
)";

INSTANTIATE_TEST_SUITE_P(Inlining, FoundTest,
                         testing::Values(SoundnessCase{"ReverseComputeInlineOfWhatAConditionKeepsInside",
                                                       kReadsBesideWhatIsMade,
                                                       "c = sch.get_block('C')\nsch.reverse_compute_inline(c)\n",
                                                       "not known to stay inside of \"B\""}),
                         NameOf);

constexpr char kDeclaresMoreThanThereIs[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((6,), "int32")):
    for i in range(6):
        with T.block("outer"):
            vo = T.axis.spatial(6, i)
            T.reads(A[vo - 1])
            T.writes(C[vo])
            for j in range(1):
                with T.block("C"):
                    vi = T.axis.spatial(6, vo)
                    T.reads(A[vi - 1])
                    T.writes(C[vi])
                    C[vi] = T.if_then_else(1 <= vi and vi <= 4, A[vi - 1], 0)
)";

constexpr char kPartlyOverwritten[] = R"(
@T.prim_func
def main(A: T.Buffer((5,), "int32"), C: T.Buffer((5,), "int32")):
    for i in range(3):
        with T.block("A"):
            vi = T.axis.spatial(3, i)
            A[vi + 2] = vi
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = A[vi]
)";

constexpr char kMadeInOneBranch[] = R"(
@T.prim_func
def main(F: T.Buffer((1,), "int32"), A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    if F[0] < 0:
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]
    else:
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi]
)";

constexpr char kMadeInPartsAndReadAtPlaces[] = R"(
@T.prim_func
def main(A: T.Buffer((6, 3), "int32"), C: T.Buffer((3,), "int32"), D: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((6, 3), "int32")
    for i, j in T.grid(6, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i in range(3):
        with T.block("C"):
            vi = T.axis.spatial(3, i)
            C[vi] = B[vi + 3, vi]
    for i in range(1):
        with T.block("D"):
            vi = T.axis.spatial(1, i)
            D[vi] = B[vi, vi]
)";

constexpr char kHalfOfTheRows[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 9), "int32"), D: T.Buffer((2, 9), "int32")):
    B = T.alloc_buffer((4, 9), "int32")
    C = T.alloc_buffer((2, 9), "int32")
    for i, j in T.grid(2, 9):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(2, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
    for i, j in T.grid(2, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj]
)";

INSTANTIATE_TEST_SUITE_P(CopiesOfParts, FoundTest,
                         testing::Values(SoundnessCase{"CacheReadOfWhatAnotherBranchMakes", kMadeInOneBranch,
                                                       "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'local')\n",
                                                       "no copy comes between"},
                                         SoundnessCase{"CacheReadOfWhatAPartitionMakes", kMadeInPartsAndReadAtPlaces,
                                                       "b = sch.get_block('B')\ni, j = sch.get_loops(b)\n"
                                                       "k, l = sch.loop_partition(i, [2, None])\n"
                                                       "d = sch.get_block('D')\ne = sch.cache_read(d, 0, 'local')\n"},
                                         SoundnessCase{"PadEinsumOfHalfOfTheRows", kHalfOfTheRows,
                                                       "c = sch.get_block('C')\nsch.pad_einsum(c, [1, 4])\n",
                                                       "it uses a part of"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Copies, FoundTest,
                         testing::Values(SoundnessCase{"CacheReadOfWhatAPredicateLeavesIn", kReadsUnderAPredicate,
                                                       "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'local')\n"},
                                         SoundnessCase{"CacheReadInABlockOfWhatItReads", kReadsPartInABlock,
                                                       "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'local')\n"},
                                         SoundnessCase{"CacheReadInABlockOfMoreThanThereIs", kDeclaresMoreThanThereIs,
                                                       "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'local')\n"},
                                         SoundnessCase{"CacheReadOfWhatIsPartlyOverwritten", kPartlyOverwritten,
                                                       "c = sch.get_block('C')\nb = sch.cache_read(c, 0, 'local')\n"},
                                         SoundnessCase{"CacheWriteOfWhatEachThreadMakes", kCopiedInEachThread,
                                                       "b = sch.get_block('B')\nc = sch.cache_write(b, 0, 'local')\n"}),
                         NameOf);

}  // namespace
}  // namespace lathe
