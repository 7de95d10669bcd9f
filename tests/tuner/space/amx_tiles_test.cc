// Products of narrow types in tile registers.
#include "tuner/space/amx_tiles.h"

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

const char kWithTiles[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -num-cores=1";

// The sketch with tiles, where there is one.
std::optional<ScheduleTrace> AmxTrace(const TuneTask& task) {
  for (const Sketch& sketch : task.sketches)
    if (sketch.trace.ToPython().find("amx_tdp") != std::string::npos) return sketch.trace;
  return std::nullopt;
}

TuneTask AmxTask(const std::string& text, const char* target) {
  TuneTask task{{}, *ParsePrimFunc(text, "workload.py"), *Target::Parse(target), {}, 0};
  task.sketches = *MakePostOrderApply()->Generate(task.func, task.target);
  return task;
}

struct AmxSpaceCase {
  const char *name, *target, *intrin;  // "": no tiles.
  std::string text;
};
class AmxSpaceTest : public testing::TestWithParam<AmxSpaceCase> {};
TEST_P(AmxSpaceTest, CandidatesComputeWhatTheProgramDoes) {
  const TuneTask task = AmxTask(GetParam().text, GetParam().target);
  const std::optional<ScheduleTrace> trace = AmxTrace(task);
  ASSERT_EQ(trace.has_value(), *GetParam().intrin != '\0');
  if (!trace) return;
  EXPECT_THAT(trace->ToPython(), HasSubstr(fmt::format("ann_val=\"{}\"", GetParam().intrin)));
  int checked = 0;
  for (int seed = 0; seed < PropertyRuns(8, 2); ++seed) {
    const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, *trace, seed);
    if (!candidate.ok()) continue;
    ExpectSameBits(task.func, candidate->func);
    const StatusOr<PrimFunc> lowered = Lower(candidate->func);
    ASSERT_TRUE(lowered.ok()) << "seed " << seed << ": " << lowered.status().ToString();
    EXPECT_THAT(Print(*lowered), HasSubstr("T.attr(0, \"pragma_amx\", \"tilestored\")"));
    ++checked;
  }
  EXPECT_GT(checked, 0);
}
INSTANTIATE_TEST_SUITE_P(
    Programs, AmxSpaceTest,
    testing::Values(
        AmxSpaceCase{"Int8", kWithTiles, "amx_tdpbusd_12x16x48", NarrowProduct("uint8", "int8", "int32", false)},
        AmxSpaceCase{"Int8Transposed", kWithTiles, "amx_tdpbusd_12x16x48",
                     NarrowProduct("uint8", "int8", "int32", true)},
        AmxSpaceCase{"BothSigned", kWithTiles, "amx_tdpbssd_12x16x48", NarrowProduct("int8", "int8", "int32", false)},
        AmxSpaceCase{"Bf16", kWithTiles, "amx_tdpbf16ps_12x16x24",
                     NarrowProduct("bfloat16", "bfloat16", "float32", false)},
        AmxSpaceCase{"Panels", kWithTiles, "amx_tdpbusd_12x16x48", kProductInPanels},
        AmxSpaceCase{"Convolution", kWithTiles, "amx_tdpbusd_6x16x8", kNarrowConv},
        AmxSpaceCase{"SumsOf16Bits", kWithTiles, "", NarrowProduct("bfloat16", "bfloat16", "bfloat16", false)},
        AmxSpaceCase{"WithoutTheFeature", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -num-cores=1", "",
                     NarrowProduct("uint8", "int8", "int32", false)}),
    [](const auto& info) { return info.param.name; });

TEST(AmxSpace, FeaturesSeeEachRowAsOneOperation) {
  const TuneTask task = AmxTask(NarrowProduct("uint8", "int8", "int32", false), kWithTiles);
  const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, *AmxTrace(task), 3);
  ASSERT_TRUE(candidate.ok()) << candidate.status().ToString();
  const LoopNests nests = CollectLoopNests(candidate->func);
  const auto update = std::find_if(nests.stores.begin(), nests.stores.end(),
                                   [](const StoreNest& nest) { return nest.dot_parts == 48; });
  ASSERT_NE(update, nests.stores.end());
  EXPECT_EQ(update->iterations, 12 * 32);
  EXPECT_EQ(update->ops.total(), 1);
  EXPECT_EQ(update->loops.back().extent, 16);
  EXPECT_EQ(update->loops.back().kind, ForKind::kVectorized);
}

}  // namespace
}  // namespace lathe
