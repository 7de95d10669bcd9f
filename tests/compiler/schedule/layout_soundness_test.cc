// Other layouts of buffers and of blocks: what they may not do to a program, and what they may.
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

class LayoutSoundnessTest : public testing::TestWithParam<SoundnessCase> {};
TEST_P(LayoutSoundnessTest, IsRefusedOrKeepsTheMeaning) { ExpectSound(GetParam()); }

constexpr char kLayoutScaled[] = R"(
@T.prim_func
def main(A: T.Buffer((14, 6), "int32"), C: T.Buffer((14, 6), "int32")):
    B = T.alloc_buffer((14, 6), "int32")
    for i, j in T.grid(14, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i_0, i_1, j in T.grid(7, 2, 6):
        with T.block("C"):
            vi = T.axis.spatial(14, i_0 * 2 + i_1)
            vj = T.axis.spatial(6, j)
            C[vi, vj] = B[13 - vi, vj] + B[vi, 5 - vj]
)";

constexpr char kLayoutSums[] = R"(
@T.prim_func
def main(A: T.Buffer((10, 8), "int32"), C: T.Buffer((10,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for n in range(2):
        for i, k in T.grid(10, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vk]
        for i in range(10):
            with T.block("C"):
                vn, vi = T.axis.remap("SS", [n, i])
                C[vi] = B[vi] + vn
)";

constexpr char kLayoutTwoWriters[] = R"(
@T.prim_func
def main(A: T.Buffer((10,), "int32"), C: T.Buffer((10,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi * 2] = A[vi]
    for i in range(5):
        with T.block("B_odd"):
            vi = T.axis.spatial(5, i)
            B[vi * 2 + 1] = A[vi + 5]
    for i in range(10):
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = B[vi]
)";

constexpr char kLayoutRunningSum[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            T.where(0 < i)
            A[vi] = A[vi] + A[vi - 1]
)";

constexpr char kLayoutByAddress[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi])
            T.writes(C[vi])
            B_flat = T.decl_buffer((8,), "int32", data=B.data)
            C[vi] = B_flat[vi]
)";

std::string Layout(const char* map, const char* pad_value = "None") {
  return std::string("b0 = sch.get_block(\"B\")\nsch.transform_layout(b0, (\"write\", 0), lambda ") + map + ", " +
         pad_value + ")\n";
}

constexpr char kFromOne[] = R"(
@T.prim_func
def main(A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
    for i in range(3):
        with T.block("B"):
            vi = T.axis.spatial((1, 4), i + 1)
            B[vi - 1] = A[vi - 1] + 1
)";

INSTANTIATE_TEST_SUITE_P(
    Cases, LayoutSoundnessTest,
    testing::Values(
        SoundnessCase{"Tiled", kLayoutScaled, Layout("i, j: (j // 3, i // 7, i % 7, j % 3)")},
        SoundnessCase{"Fused", kLayoutScaled, Layout("i, j: (j * 14 + i)")},
        SoundnessCase{"PaddedNest", kLayoutScaled,
                      Layout("i, j: (i // 4, j // 4, i % 4, j % 4)", "lambda a, b, c, d: 7")},
        SoundnessCase{"PaddedReduction", kLayoutSums, Layout("i: (i // 4, i % 4)", "lambda a, b: a + b")},
        SoundnessCase{"PaddedAfterTheLastWriter", kLayoutTwoWriters, Layout("i: (i // 4, i % 4)", "lambda a, b: 9")},
        SoundnessCase{"NotInjective", kLayoutScaled, Layout("i, j: (i + j)"), "a place of its own"},
        SoundnessCase{"LosesAnIndex", kLayoutScaled, Layout("i, j: (i // 2, j)"), "a place of its own"},
        SoundnessCase{"GapsWithoutAValue", kLayoutSums, Layout("i: (i // 4, i % 4)"), "would introduce padding"},
        SoundnessCase{"SeenByItsAddress", kLayoutByAddress, Layout("i: (i // 4, i % 4)"), "is used by its address"},
        SoundnessCase{"BlockInAnotherOrder", kLayoutScaled,
                      "b0 = sch.get_block(\"B\")\nsch.transform_block_layout(b0, lambda i, j: (j, i // 2, i % 2))\n"},
        SoundnessCase{"BlockWhoseOrderCounts", kLayoutRunningSum,
                      "b0 = sch.get_block(\"A\")\nsch.transform_block_layout(b0, lambda i: (i % 2, i // 2))\n",
                      "transform_block_layout @main"},
        SoundnessCase{"CopyByAMap", kLayoutScaled,
                      "b0 = sch.get_block(\"B\")\n"
                      "b1 = sch.reindex_cache_read(b0, 0, \"global\", lambda i, j: (j // 2, i, j % 2))\n"
                      "b2 = sch.reindex_cache_write(b0, 0, \"global\", lambda i, j: (j, i))\n"},
        SoundnessCase{"CopyByAMapFromOne", kFromOne,
                      "b0 = sch.get_block(\"B\")\nb1 = sch.reindex_cache_write(b0, 0, \"global\", lambda i: (i,))\n",
                      "an iter var begins elsewhere"},
        SoundnessCase{"CopyOfWhatIsWrittenByTwo", kLayoutTwoWriters,
                      "b0 = sch.get_block(\"B\")\nb1 = sch.reindex_cache_write(b0, 0, \"global\", lambda i: (i))\n",
                      "it is not the only writer"}),
    NameOf);

}  // namespace
}  // namespace lathe
