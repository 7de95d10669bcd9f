// Products of narrow types by instructions that add up neighbours.
#include "tuner/space/dot_product.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/compiler/schedule/soundness.h"
#include "tests/property_runs.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/feature/loop_nest.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/space_generator.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const char kX86[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -num-cores=1";
const char kClient[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=alderlake -num-cores=1";
const char kArm[] = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -num-cores=1";

std::string Product(const std::string& a, const std::string& b, const std::string& c, bool transposed) {
  return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((12, 48), "{}"), B: T.Buffer({}, "{}"), C: T.Buffer((12, 32), "{}")):
    for i, j, k in T.grid(12, 32, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.Cast("{}", 0)
            C[vi, vj] = C[vi, vj] + T.Cast("{}", A[vi, vk]) * T.Cast("{}", B[{}])
)",
                     a, transposed ? "(32, 48)" : "(48, 32)", b, c, c, c, c, transposed ? "vj, vk" : "vk, vj");
}

// Padded, channels last, with what a network does to the sums behind it.
const char kConv[] = R"(
@T.prim_func
def main(X: T.Buffer((6, 6, 8), "uint8"), W: T.Buffer((3, 3, 8, 32), "int8"), bias: T.Buffer((32,), "int32"), Y: T.Buffer((6, 6, 32), "int32")):
    P = T.alloc_buffer((8, 8, 8), "uint8")
    C = T.alloc_buffer((6, 6, 32), "int32")
    for y, x, c in T.grid(8, 8, 8):
        with T.block("pad"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            P[vy, vx, vc] = T.if_then_else(1 <= vy and vy < 7 and 1 <= vx and vx < 7, X[vy - 1, vx - 1, vc], T.uint8(0))
    for y, x, f, i, j, c in T.grid(6, 6, 32, 3, 3, 8):
        with T.block("conv"):
            vy, vx, vf, vi, vj, vc = T.axis.remap("SSSRRR", [y, x, f, i, j, c])
            with T.init():
                C[vy, vx, vf] = 0
            C[vy, vx, vf] = C[vy, vx, vf] + T.Cast("int32", W[vi, vj, vc, vf]) * T.Cast("int32", P[vy + vi, vx + vj, vc])
    for y, x, f in T.grid(6, 6, 32):
        with T.block("bias"):
            vy, vx, vf = T.axis.remap("SSS", [y, x, f])
            Y[vy, vx, vf] = T.max(C[vy, vx, vf] + bias[vf], 0)
)";

// The factor's channels are not its last dimension.
const char kChannelsFirst[] = R"(
@T.prim_func
def main(X: T.Buffer((8, 6), "uint8"), W: T.Buffer((32, 8), "int8"), Y: T.Buffer((6, 32), "int32")):
    for x, f, c in T.grid(6, 32, 8):
        with T.block("conv"):
            vx, vf, vc = T.axis.remap("SSR", [x, f, c])
            with T.init():
                Y[vx, vf] = 0
            Y[vx, vf] = Y[vx, vf] + T.Cast("int32", X[vc, vx]) * T.Cast("int32", W[vf, vc])
)";

TuneTask TaskOf(const std::string& text, const char* target) {
  TuneTask task{{}, *ParsePrimFunc(text, "workload.py"), *Target::Parse(target), {}, 0};
  task.sketches = *MakePostOrderApply()->Generate(task.func, task.target);
  return task;
}

struct DotSpaceCase {
  const char *name, *target, *intrin;  // "": none fits.
  std::string text;
};
class DotSpaceTest : public testing::TestWithParam<DotSpaceCase> {};
TEST_P(DotSpaceTest, CandidatesComputeWhatTheProgramDoes) {
  const TuneTask task = TaskOf(GetParam().text, GetParam().target);
  const std::string trace = task.sketches.at(0).trace.ToPython();
  if (*GetParam().intrin == '\0') {
    for (const Sketch& sketch : task.sketches)
      EXPECT_EQ(sketch.trace.ToPython().find("auto_tensorize"), std::string::npos);
    return;
  }
  EXPECT_THAT(trace,
              HasSubstr(fmt::format("ann_key=\"meta_schedule.auto_tensorize\", ann_val=\"{}\"", GetParam().intrin)));
  int checked = 0;
  for (int seed = 0; seed < PropertyRuns(8, 2); ++seed) {
    const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, task.sketches[0].trace, seed);
    if (!candidate.ok()) continue;
    ExpectSameBits(task.func, candidate->func);
    const StatusOr<PrimFunc> lowered = Lower(candidate->func);
    ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
    EXPECT_THAT(Print(*lowered), HasSubstr("T.call_llvm_pure_intrin("));
    ++checked;
  }
  EXPECT_GT(checked, 0);
}
INSTANTIATE_TEST_SUITE_P(
    Programs, DotSpaceTest,
    testing::Values(
        DotSpaceCase{"Int8", kX86, "dot_16x4_vnni", Product("uint8", "int8", "int32", false)},
        DotSpaceCase{"Int8Transposed", kX86, "dot_16x4_vnni", Product("uint8", "int8", "int32", true)},
        DotSpaceCase{"Int8Of256Bits", kClient, "dot_8x4_avxvnni", Product("uint8", "int8", "int32", false)},
        DotSpaceCase{"Bf16", kX86, "dot_16x2_avx512bf16", Product("bfloat16", "bfloat16", "float32", false)},
        DotSpaceCase{"Bf16Transposed", kX86, "dot_16x2_avx512bf16", Product("bfloat16", "bfloat16", "float32", true)},
        DotSpaceCase{"ArmInt8", kArm, "dot_4x4_i8i8s32_sdot", Product("int8", "int8", "int32", false)},
        DotSpaceCase{"ArmUint8", kArm, "dot_4x4_u8u8i32_hdot", Product("uint8", "uint8", "int32", true)},
        DotSpaceCase{"Panels", kX86, "dot_16x4_vnni", kProductInPanels},
        DotSpaceCase{"Convolution", kX86, "dot_16x4_vnni", kConv},
        DotSpaceCase{"ChannelsFirst", kX86, "dot_16x4_vnni", kChannelsFirst},
        DotSpaceCase{"SignsThatNoInstructionTakes", kX86, "", Product("int8", "uint8", "int32", false)},
        DotSpaceCase{"SumsOf16Bits", kX86, "", Product("bfloat16", "bfloat16", "bfloat16", false)},
        DotSpaceCase{"WithoutTheFeature", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1", "",
                     Product("uint8", "int8", "int32", false)}),
    [](const auto& info) { return info.param.name; });

TEST(DotSpace, PanelsThatAreGivenAreNotCopied) {
  const TuneTask task = TaskOf(kProductInPanels, kX86);
  EXPECT_EQ(task.sketches.at(0).trace.ToPython().find("cache_read"), std::string::npos);
}

TEST(DotSpace, FeaturesSeeOneOperationForAllParts) {
  const TuneTask task = TaskOf(Product("uint8", "int8", "int32", false), kX86);
  const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, task.sketches.at(0).trace, 3);
  ASSERT_TRUE(candidate.ok()) << candidate.status().ToString();
  const LoopNests nests = CollectLoopNests(candidate->func);
  const auto update =
      std::find_if(nests.stores.begin(), nests.stores.end(), [](const StoreNest& nest) { return nest.dot_parts == 4; });
  ASSERT_NE(update, nests.stores.end());
  EXPECT_EQ(update->iterations, 12 * 32 * 48 / 4);
  EXPECT_EQ(update->ops.total(), 1);
  EXPECT_EQ(update->loops.back().extent, 16);
  EXPECT_EQ(update->loops.back().kind, ForKind::kVectorized);
}

}  // namespace
}  // namespace lathe
