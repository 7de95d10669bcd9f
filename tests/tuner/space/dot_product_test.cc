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
const char kZen4[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -num-cores=1";
const char kClient[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=alderlake -num-cores=1";
const char kArm[] = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -num-cores=1";

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
        DotSpaceCase{"Int8", kX86, "dot_16x4_vnni", NarrowProduct("uint8", "int8", "int32", false)},
        DotSpaceCase{"Int8Transposed", kX86, "dot_16x4_vnni", NarrowProduct("uint8", "int8", "int32", true)},
        DotSpaceCase{"Int8Of256Bits", kClient, "dot_8x4_avxvnni", NarrowProduct("uint8", "int8", "int32", false)},
        DotSpaceCase{"Bf16", kX86, "dot_16x2_avx512bf16", NarrowProduct("bfloat16", "bfloat16", "float32", false)},
        DotSpaceCase{"Bf16Transposed", kX86, "dot_16x2_avx512bf16",
                     NarrowProduct("bfloat16", "bfloat16", "float32", true)},
        DotSpaceCase{"ArmInt8", kArm, "dot_4x4_i8i8s32_sdot", NarrowProduct("int8", "int8", "int32", false)},
        DotSpaceCase{"ArmUint8", kArm, "dot_4x4_u8u8i32_hdot", NarrowProduct("uint8", "uint8", "int32", true)},
        DotSpaceCase{"Panels", kX86, "dot_16x4_vnni", kProductInPanels},
        DotSpaceCase{"Convolution", kX86, "dot_16x4_vnni", kNarrowConv},
        DotSpaceCase{"ChannelsFirst", kX86, "dot_16x4_vnni", kChannelsFirst},
        DotSpaceCase{"SignsThatNoInstructionTakes", kZen4, "", NarrowProduct("int8", "uint8", "int32", false)},
        DotSpaceCase{"SumsOf16Bits", kX86, "", NarrowProduct("bfloat16", "bfloat16", "bfloat16", false)},
        DotSpaceCase{"WithoutTheFeature", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1", "",
                     NarrowProduct("uint8", "int8", "int32", false)}),
    [](const auto& info) { return info.param.name; });

TEST(DotSpace, PanelsThatAreGivenAreNotCopied) {
  const TuneTask task = TaskOf(kProductInPanels, kX86);
  EXPECT_EQ(task.sketches.at(0).trace.ToPython().find("cache_read"), std::string::npos);
}

TEST(DotSpace, FeaturesSeeOneOperationForAllParts) {
  const TuneTask task = TaskOf(NarrowProduct("uint8", "int8", "int32", false), kX86);
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
