#include "tuner/space/sketch_rules.h"

#include <gmock/gmock.h>

#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/compiler/schedule/soundness.h"
#include "tests/property_runs.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/decisions.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/register_pressure.h"

namespace lathe {
namespace {

TuneTask SketchTaskOf(const char* text) {
  TuneTask task{{},
                *ParsePrimFunc(text, "workload.py"),
                *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=1"),
                {},
                0};
  StatusOr<std::vector<Sketch>> sketches = MakeSketchRules()->Generate(task.func, task.target);
  CHECK(sketches.ok()) << sketches.status().ToString();
  task.sketches = *std::move(sketches);
  return task;
}

struct SketchCase {
  const char* name;
  const char* text;
  std::vector<std::string> made_by;  // Of each sketch: the rules that were applied.
};
void PrintTo(const SketchCase& c, std::ostream* out) { *out << c.name; }
class SketchRulesTest : public testing::TestWithParam<SketchCase> {};

TEST_P(SketchRulesTest, DerivesAnsorsSketches) {
  std::vector<std::string> made_by;
  for (const Sketch& sketch : SketchTaskOf(GetParam().text).sketches) made_by.push_back(sketch.made_by);
  EXPECT_EQ(made_by, GetParam().made_by);
}

TEST_P(SketchRulesTest, EverySketchGivesCandidatesThatKeepTheBits) {
  const TuneTask task = SketchTaskOf(GetParam().text);
  for (const Sketch& sketch : task.sketches) {
    int ok = 0, checked = 0;
    Status why;
    const int runs = PropertyRuns(40, /*cost=*/20);
    const bool checks = runs == 40 || &sketch == &task.sketches.front();  // Interpreting is dear under sanitizers.
    for (int seed = 0; seed < runs; ++seed) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, sketch.trace, seed);
      ok += candidate.ok();
      if (!candidate.ok()) why = candidate.status();
      if (!candidate.ok() || checked == 1 || !checks) continue;
      ExpectSameBits(task.func, candidate->func);
      ++checked;
    }
    EXPECT_GT(ok, runs == 40 ? 2 : -1) << sketch.trace.ToPython() << why.ToString();
  }
}

TEST_P(SketchRulesTest, RecordedTracesReplayAndMutate) {
  const TuneTask task = SketchTaskOf(GetParam().text);
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, /*seed=*/7)->Propose(3);
  ASSERT_FALSE(candidates.empty());
  for (const MeasureCandidate& candidate : candidates) {
    const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(candidate.trace_json);
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    EXPECT_GE(FindSketch(task.sketches, *trace), 0);
    const StatusOr<MeasureCandidate> again = MakeCandidate(task, *trace, /*seed=*/99);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(Print(again->func), Print(candidate.func));
    const bool has_choice = !trace->decisions().empty();
    EXPECT_EQ(!Neighbours(*trace).empty(), has_choice);
  }
}

#define CONSUMER "multi-level tiling with fusion under level "
INSTANTIATE_TEST_SUITE_P(
    Workloads, SketchRulesTest,
    testing::Values(SketchCase{"MatmulRelu", kMatmulRelu, {"sketches: " CONSUMER "1", "sketches: " CONSUMER "2"}},
                    SketchCase{
                        "ConvBiasAddRelu",
                        kConvBiasAddRelu,
                        {"sketches: " CONSUMER "1", "sketches: " CONSUMER "1, inputs in each tile",
                         "sketches: " CONSUMER "1, inputs inlined", "sketches: " CONSUMER "2",
                         "sketches: " CONSUMER "2, inputs in each tile", "sketches: " CONSUMER "2, inputs inlined"}},
                    SketchCase{"MaxPool", kMaxPool, {"sketches"}},
                    SketchCase{"Elementwise", kElementwise, {"sketches"}},
                    SketchCase{"RowSums", kRowSums, {"sketches: rfactor", "sketches"}},
                    SketchCase{"MatrixTimesVector",
                               kMatrixTimesVector,
                               {"sketches: rfactor", "sketches: cache write, " CONSUMER "1",
                                "sketches: cache write, " CONSUMER "2", "sketches: multi-level tiling"}},
                    SketchCase{"NormalizedRows",
                               kNormalizedRows,
                               {"sketches: rfactor, rfactor", "sketches: rfactor, rfactor, in one nest",
                                "sketches: rfactor", "sketches: rfactor, in one nest", "sketches: rfactor",
                                "sketches: rfactor, in one nest", "sketches", "sketches, in one nest"}},
                    SketchCase{"Depthwise14",
                               kDepthwise14,
                               {"sketches: cache write, " CONSUMER "1", "sketches: cache write, " CONSUMER "2",
                                "sketches: multi-level tiling"}},
                    SketchCase{"ProductWithTransposed",
                               kProductWithTransposed,
                               {"sketches: rfactor", "sketches: cache write, " CONSUMER "1",
                                "sketches: cache write, " CONSUMER "2", "sketches: multi-level tiling"}}),
    [](const auto& info) { return info.param.name; });

// One sketch in full: tiles of six levels, registers under the second of them, the consumer where a tile is done.
TEST(SketchRules, WriteTheTraceThatTheyAreRead) {
  EXPECT_EQ(SketchTaskOf(kMatmulRelu).sketches[1].trace.ToPython(),
            R"(b0 = sch.get_block(name="matmul", func_name="main")
b1 = sch.cache_write(block=b0, write_buffer_index=0, storage_scope="register")
sch.compute_inline(block=b1)
b2 = sch.get_block(name="relu", func_name="main")
l3, l4, l5 = sch.get_loops(block=b0)
v6, v7, v8, v9 = sch.sample_perfect_tile(loop=l3, n=4, max_innermost_factor=16)
l10, l11, l12, l13 = sch.split(loop=l3, factors=[v6, v7, v8, v9], preserve_unit_iters=True, disable_predication=False)
l14, l15 = sch.split(loop=l4, factors=[None, 16], preserve_unit_iters=True, disable_predication=False)
v16, v17, v18, v19 = sch.sample_perfect_tile(loop=l14, n=4, max_innermost_factor=16)
l20, l21, l22, l23 = sch.split(loop=l14, factors=[v16, v17, v18, v19], preserve_unit_iters=True, disable_predication=False)
v24, v25 = sch.sample_perfect_tile(loop=l5, n=2, max_innermost_factor=16)
l26, l27 = sch.split(loop=l5, factors=[v24, v25], preserve_unit_iters=True, disable_predication=False)
sch.reorder(l10, l20, l11, l21, l26, l12, l22, l27, l13, l23, l15)
sch.reverse_compute_at(block=b2, loop=l21, preserve_unit_loops=True, index=-1)
l28, l29, l30, l31, l32, l33 = sch.get_loops(block=b2)
l34, l35 = sch.split(loop=l33, factors=[None, 16], preserve_unit_iters=True, disable_predication=False)
sch.reorder(l32, l34, l35)
sch.vectorize(loop=l35)
sch.unroll(loop=l32)
sch.unroll(loop=l34)
sch.vectorize(loop=l15)
sch.unroll(loop=l13)
sch.unroll(loop=l23)
sch.unroll(loop=l12)
sch.unroll(loop=l22)
sch.unroll(loop=l27)
l36 = sch.fuse(l10, l20, preserve_unit_iters=True)
sch.parallel(loop=l36)
b37 = sch.decompose_reduction(block=b0, loop=l26)
)");
}

}  // namespace
}  // namespace lathe
