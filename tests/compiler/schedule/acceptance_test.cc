// Schedules that TVM accepts and that keep the meaning: refusing them would cost candidates.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class AcceptanceTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(AcceptanceTest, IsAcceptedAndKeepsTheMeaning) { ExpectSound(GetParam()); }

constexpr char kStencil[] = R"(
@T.prim_func
def main(A: T.Buffer((18,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((18,), "int32")
    for i in range(18):
        with T.block("B"):
            vi = T.axis.spatial(18, i)
            B[vi] = A[vi] * 2
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
)";

constexpr char kHaloTiles[] = R"(
@T.prim_func
def main(A: T.Buffer((18,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((18,), "int32")
    for t in range(8):
        for a in range(4):
            with T.block("B"):
                vi = T.axis.spatial(18, t * 2 + a)
                B[vi] = A[vi]
        for u in range(2):
            with T.block("C"):
                vi = T.axis.spatial(16, t * 2 + u)
                C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
)";

constexpr char kConv3x3[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), W: T.Buffer((3, 3), "int32"), C: T.Buffer((8, 8), "int32")):
    P = T.alloc_buffer((10, 10), "int32")
    for i, j in T.grid(10, 10):
        with T.block("pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(1 <= vi and vi < 9 and 1 <= vj and vj < 9, A[vi - 1, vj - 1], 0)
    for i, j, r, s in T.grid(8, 8, 3, 3):
        with T.block("conv"):
            vi, vj, vr, vs = T.axis.remap("SSRR", [i, j, r, s])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + P[vi + vr, vj + vs] * W[vr, vs]
)";

const std::string kTileConv = R"(b = sch.get_block("pad")
c = sch.get_block("conv")
i, j, r, s = sch.get_loops(c)
i0, i1 = sch.split(i, [None, 2])
j0, j1 = sch.split(j, [None, 4])
sch.reorder(i0, j0, i1, j1, r, s)
)";

constexpr char kOverlappingTiles[] = R"(
@T.prim_func
def main(A: T.Buffer((18,), "int32"), B: T.Buffer((18,), "int32")):
    for t, a in T.grid(8, 4):
        with T.block("B"):
            vi = T.axis.spatial(18, t * 2 + a)
            B[vi] = A[vi]
)";

constexpr char kSymbolic[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "int32")
    B = T.match_buffer(b, (n, 4), "int32")
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1
)";

constexpr char kSymbolicInt64[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + 1
)";

constexpr char kRowSums[] = R"(
@T.prim_func
def main(A: T.Buffer((2, 6), "int32"), B: T.Buffer((2,), "int32")):
    for i, k in T.grid(2, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
)";

constexpr char kTwoStages[] = R"(
@T.prim_func
def main(A: T.Buffer((6, 5), "int32"), C: T.Buffer((6, 5), "int32")):
    B = T.alloc_buffer((6, 5), "int32")
    for i, j in T.grid(6, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(6, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1
)";

constexpr char kTwoSymbolicStages[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle):
    A = T.match_buffer(a, (n, 5), "int32")
    C = T.match_buffer(c, (n, 5), "int32")
    B = T.alloc_buffer((n, 5), "int32")
    for i, j in T.grid(n, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(n, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1
)";

constexpr char kTwoSquareStages[] = R"(
@T.prim_func
def main(n: T.int32, a: T.handle, c: T.handle):
    A = T.match_buffer(a, (n, n), "int32")
    C = T.match_buffer(c, (n, n), "int32")
    B = T.alloc_buffer((n, n), "int32")
    for i, j in T.grid(n, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(n, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1
)";

// A fused nest that is cut off in the middle of a tile, and of a row.
const std::string kFusedWithARest = "b = sch.get_block('B')\nc = sch.get_block('C')\n";

INSTANTIATE_TEST_SUITE_P(
    FusedWithARest, AcceptanceTest,
    testing::Values(
        SoundnessCase{"ConsumerInAThread", kTwoStages,
                      kFusedWithARest + "i, j = sch.get_loops(b)\nf = sch.fuse(i, j)\nx, y = sch.split(f, [None, 4])\n"
                                        "sch.parallel(x)\nsch.vectorize(y)\nsch.reverse_compute_at(c, y)\n"},
        SoundnessCase{"CacheWriteInAThread", kTwoStages,
                      kFusedWithARest + "w = sch.cache_write(c, 0, 'global')\ni, j = sch.get_loops(c)\n"
                                        "f = sch.fuse(i, j)\nx, y = sch.split(f, [None, 8])\n"
                                        "sch.reverse_compute_at(w, y)\nsch.parallel(x)\n"},
        SoundnessCase{"ProducerInAThread", kTwoStages,
                      kFusedWithARest + "i, j = sch.get_loops(c)\nf = sch.fuse(i, j)\n"
                                        "x, y, z = sch.split(f, [None, 4, 2])\nsch.parallel(x)\n"
                                        "sch.compute_at(b, z)\n"},
        SoundnessCase{"ProducerOfRowsOfATile", kTwoStages,
                      kFusedWithARest + "i, j = sch.get_loops(c)\nf = sch.fuse(i, j)\nx, y = sch.split(f, [None, 7])\n"
                                        "d = sch.cache_read(c, 0, 'global')\nsch.compute_at(d, x)\n"},
        SoundnessCase{"ProducerInASymbolicThread", kTwoSymbolicStages,
                      kFusedWithARest + "i, j = sch.get_loops(c)\nf = sch.fuse(i, j)\nx, y = sch.split(f, [None, 8])\n"
                                        "sch.parallel(x)\nsch.compute_at(b, y)\n"},
        SoundnessCase{"ConsumerInASymbolicThread", kTwoSymbolicStages,
                      kFusedWithARest + "i, j = sch.get_loops(b)\nf = sch.fuse(i, j)\nx, y = sch.split(f, [None, 8])\n"
                                        "sch.reverse_compute_at(c, y)\nsch.parallel(x)\n"},
        SoundnessCase{"ProducerInAFusedSquare", kTwoSquareStages,
                      kFusedWithARest + "i, j = sch.get_loops(c)\nf = sch.fuse(i, j)\nsch.compute_at(b, f)\n"
                                        "sch.parallel(f)\n"},
        SoundnessCase{"ConsumerInAFusedSquare", kTwoSquareStages,
                      kFusedWithARest + "i, j = sch.get_loops(b)\nf = sch.fuse(i, j)\n"
                                        "sch.reverse_compute_at(c, f)\n"}),
    NameOf);

constexpr char kReshape[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 6, 8), "int32"), C: T.Buffer((8, 24), "int32")):
    for a, b, c in T.grid(8, 4, 6):
        with T.block("C"):
            va, vb, vc = T.axis.remap("SSS", [a, b, c])
            C[va, vb * 6 + vc] = A[vb, vc, va]
)";

constexpr char kSum[] = R"(
@T.prim_func
def main(A: T.Buffer((32,), "int32"), C: T.Buffer((), "int32")):
    for k in range(32):
        with T.block("C"):
            vk = T.axis.reduce(32, k)
            with T.init():
                C[()] = 0
            C[()] = C[()] + A[vk]
)";

constexpr char kProductOfColumns[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "int32"), W: T.Buffer((8, 6), "int32"), C: T.Buffer((4, 8), "int32")):
    for i, j, k in T.grid(4, 8, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vj, vk]
)";

// Iterations are told apart by what is left of a tile, by indices of several iter vars, by which part adds to which.
INSTANTIATE_TEST_SUITE_P(
    ToldApart, AcceptanceTest,
    testing::Values(
        SoundnessCase{
            "LanesUnderAPredicate", kTwoStages,
            "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nf = sch.fuse(i, j)\nx, y = sch.split(f, [None, 4096])\n"
            "sch.parallel(x)\nsch.vectorize(y)\n"},
        SoundnessCase{"ElementsOfAReshape", kReshape,
                      "c = sch.get_block('C')\na, b, d = sch.get_loops(c)\nf = sch.fuse(a, b, d)\n"
                      "x, y = sch.split(f, [None, 32])\nsch.parallel(x)\nsch.vectorize(y)\n"},
        SoundnessCase{"OneThreadOfMany", kSum,
                      "c = sch.get_block('C')\nk, = sch.get_loops(c)\nu = sch.add_unit_loop(k)\n"
                      "x, y = sch.split(u, [None, 16])\nsch.parallel(x)\nsch.parallel(y)\n"},
        SoundnessCase{"PaddingAndWhatIsPadded", kConv3x3,
                      "c = sch.get_block('conv')\np = sch.get_block('pad')\ni, j, r, s = sch.get_loops(c)\n"
                      "x, y = sch.split(j, [None, 4])\nsch.compute_at(p, x)\ni, x, a, b = sch.get_loops(p)\n"
                      "q = sch.decompose_padding(p, b)\nsch.parallel(i)\n"},
        SoundnessCase{"CopyForLanesOfAnUpdate", kProductOfColumns,
                      "c = sch.get_block('C')\ni, j, k = sch.get_loops(c)\nx, y = sch.split(j, [None, 4])\n"
                      "sch.reorder(i, x, k, y)\nsch.parallel(i)\nsch.vectorize(y)\n"
                      "z = sch.decompose_reduction(c, k)\nu = sch.get_block('C_update')\n"
                      "w = sch.cache_read(u, 2, 'global')\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Programs, AcceptanceTest,
    testing::Values(
        SoundnessCase{"ParallelOverHaloTiles", kHaloTiles,
                      "b = sch.get_block('B')\nt, a = sch.get_loops(b)\nsch.parallel(t)\n"},
        SoundnessCase{"VectorizeOverHaloTiles", kHaloTiles,
                      "b = sch.get_block('B')\nt, a = sch.get_loops(b)\nsch.vectorize(t)\n"},
        SoundnessCase{"ComputeAtThenParallel", kStencil,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\n"
                      "i0, i1 = sch.split(i, [None, 4])\nsch.compute_at(b, i0)\nsch.parallel(i0)\n"},
        SoundnessCase{"ParallelThenComputeAt", kStencil,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\n"
                      "i0, i1 = sch.split(i, [None, 4])\nsch.parallel(i0)\nsch.compute_at(b, i0)\n"},
        SoundnessCase{"ParallelOfTheHaloLoopItself", kStencil,
                      "b = sch.get_block('B')\nc = sch.get_block('C')\ni, = sch.get_loops(c)\n"
                      "i0, i1 = sch.split(i, [None, 4])\nsch.compute_at(b, i0)\no, p = sch.get_loops(b)\n"
                      "sch.vectorize(p)\nsch.vectorize(i1)\nsch.parallel(i0)\n"},
        SoundnessCase{"ConvTilesComputeAtThenParallel", kConv3x3,
                      kTileConv + "sch.compute_at(b, j0)\nf = sch.fuse(i0, j0)\nsch.parallel(f)\n"},
        SoundnessCase{"ConvTilesParallelThenComputeAt", kConv3x3,
                      kTileConv + "f = sch.fuse(i0, j0)\nsch.parallel(f)\nsch.compute_at(b, f)\n"},
        SoundnessCase{"ConvTilesInOuterLoopThenParallel", kConv3x3,
                      kTileConv + "sch.compute_at(b, j0)\nsch.parallel(i0)\nsch.vectorize(j1)\n"},
        SoundnessCase{"ReorderOfOverlappingTiles", kOverlappingTiles,
                      "b = sch.get_block('B')\nt, a = sch.get_loops(b)\nsch.reorder(a, t)\n"},
        SoundnessCase{"FuseOfOverlappingTiles", kOverlappingTiles,
                      "b = sch.get_block('B')\nt, a = sch.get_loops(b)\nf = sch.fuse(t, a)\n"},
        SoundnessCase{"SplitOfASymbolicExtent", kSymbolic,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\ni0, i1 = sch.split(i, [None, 4])\n"},
        SoundnessCase{"SplitOfASymbolicExtentInside", kSymbolic,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\ni0, i1 = sch.split(i, [4, None])\n"},
        SoundnessCase{"FuseAndParallelOfASymbolicExtent", kSymbolic,
                      "b = sch.get_block('B')\ni, j = sch.get_loops(b)\nf = sch.fuse(i, j)\n"
                      "f0, f1 = sch.split(f, [None, 8])\nsch.parallel(f0)\nsch.vectorize(f1)\n"},
        // The predicate knows the unit loop, the bindings do not.
        SoundnessCase{"DecomposeReductionBelowAGuardedUnitLoop", kRowSums,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\ni0, i1 = sch.split(i, [None, 3])\n"
                      "c = sch.decompose_reduction(b, i0)\n"},
        SoundnessCase{"RFactorOfAReductionInParallelRows", kRowSums,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nsch.parallel(i)\n"
                      "k0, k1 = sch.split(k, [None, 4])\nc = sch.rfactor(k1, 0)\n"},
        SoundnessCase{"BlockizeOfAReductionThenItsLoopsInParallel", kRowSums,
                      "b = sch.get_block('B')\ni, k = sch.get_loops(b)\nk0, k1 = sch.split(k, [None, 2])\n"
                      "c = sch.blockize(k1)\nsch.parallel(i)\n"},
        SoundnessCase{"SplitOfASymbolicInt64Extent", kSymbolicInt64,
                      "b = sch.get_block('B')\ni, = sch.get_loops(b)\ni0, i1 = sch.split(i, [None, 4])\n"}),
    NameOf);

// Too many iterations to be run.
TEST(Acceptance, SplitOfAnInt64LoopBeyondInt32) {
  const StatusOr<PrimFunc> before = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((T.int64(8589934592),), "int8")):
    for i in T.serial(T.int64(8589934592)):
        with T.block("A"):
            vi = T.axis.spatial(T.int64(8589934592), i)
            A[vi] = T.int8(0)
)",
                                                  "huge.py");
  ASSERT_TRUE(before.ok()) << before.status().ToString();
  const StatusOr<ScheduleTrace> trace =
      ScheduleTrace::FromPython("b = sch.get_block('A')\ni, = sch.get_loops(b)\ni0, i1 = sch.split(i, [None, 16])\n");
  StatusOr<Schedule> schedule = Schedule::Create(*before);
  ASSERT_EQ(ApplyStepByStep(*trace, *schedule), OkStatus());
  const For& outer = **schedule->Get(LoopRV{trace->instruction(2).outputs[0]});
  EXPECT_EQ(*AsIntConst(outer.extent), int64_t{1} << 29);
  EXPECT_EQ(outer.loop_var.dtype(), DataType::Int(64));
}

}  // namespace
}  // namespace lathe
