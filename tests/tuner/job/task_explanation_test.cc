#include "tuner/job/task_explanation.h"

#include <gmock/gmock.h>

#include <cmath>

#include "compiler/script/parser.h"
#include "tests/tuner/job/fake_farm.h"
#include "tuner/job/job_search.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TuneTask MatmulTask() {
  TuneTask task{.func = *ParsePrimFunc(kMatmulText, "test.py"),
                .target = *Target::Parse("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=1")};
  task.flops = 2.0 * 64 * 64 * 64;
  task.sketches = *MakePostOrderApply()->Generate(task.func, task.target);
  return task;
}

using Tile = std::vector<int64_t>;
// The decision about rows: the first tile of the sketch.
Tile RowTile(const ScheduleTrace& trace) { return std::get<Tile>(trace.decisions().begin()->second); }

// 1000 ns for four rows in the register tile, ten times that much for each doubling or halving.
double TimeByRows(const ScheduleTrace& trace) {
  const double rows = static_cast<double>(RowTile(trace).back());
  return 1000 * std::pow(10, std::fabs(std::log2(rows) - 2));
}

TuningRecord RecordOf(int64_t id, const MeasureCandidate& candidate, double median_ns) {
  return {.id = id,
          .trace_digest = candidate.trace_digest,
          .trace_json = candidate.trace_json,
          .status = TrialState::kOk,
          .timings = Timings{.median_ns = median_ns}};
}

class TaskExplanationTest : public testing::Test {
 protected:
  TaskExplanationTest() {
    for (const MeasureCandidate& candidate : MakeRandomSearch(task, 1)->Propose(60))
      history.push_back(RecordOf(static_cast<int64_t>(history.size()) + 1, candidate, TimeByRows(candidate.trace)));
    best = *std::min_element(history.begin(), history.end(),
                             [](const auto& a, const auto& b) { return a.timings->median_ns < b.timings->median_ns; });
  }
  const TuneTask task = MatmulTask();
  std::vector<TuningRecord> history;
  TuningRecord best;
};

TEST_F(TaskExplanationTest, NamesTheDecisionThatMattered) {
  ASSERT_EQ(best.timings->median_ns, 1000) << "no candidate has four rows";
  const TaskExplanation told = Explain(task, history, best);
  ASSERT_FALSE(told.decisions.empty());
  const DecisionStory& first = told.decisions.front();
  EXPECT_EQ(first.name, "tile of loop \"i\" of \"C\", factor 3 of 3");
  EXPECT_EQ(first.chosen, "4");
  EXPECT_GT(first.share, 0.99);
  EXPECT_EQ(first.values.front().value, "4");
  EXPECT_EQ(first.values.front().best_ns, 1000);
  EXPECT_EQ(first.values[1].best_ns, 10'000);
  int64_t trials = 0;
  for (const ValueStory& value : first.values) trials += value.trials;
  EXPECT_EQ(trials, 60);
  for (const DecisionStory& other : told.decisions) {
    if (other.name.find("\"i\"") == std::string::npos) EXPECT_LT(other.share, 0.4) << other.name;
  }
}

TEST_F(TaskExplanationTest, TellsWhatOneOtherDecisionCosts) {
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(best.trace_json);
  ScheduleTrace changed = *trace;
  changed.SetDecision(trace->decisions().begin()->first, Tile{32, 1, 2});
  const StatusOr<MeasureCandidate> neighbour = MakeCandidate(task, changed, 0);
  ASSERT_TRUE(neighbour.ok()) << neighbour.status().ToString();
  history = {best, RecordOf(100, *neighbour, 1300)};
  const TaskExplanation told = Explain(task, history, best);
  ASSERT_EQ(told.neighbours.size(), 1u);
  EXPECT_EQ(told.neighbours[0].name, "tile of loop \"i\" of \"C\"");
  EXPECT_EQ(told.neighbours[0].other, "[32, 1, 2]");
  EXPECT_EQ(told.neighbours[0].chosen, fmt::format("[{}]", fmt::join(RowTile(*trace), ", ")));
  EXPECT_EQ(told.neighbours[0].median_ns, 1300);
  EXPECT_EQ(told.decisions.front().share, 0) << "two candidates show nothing";
}

TEST_F(TaskExplanationTest, CountsResultsAndKeepsFinalsApart) {
  history.push_back(history.front());  // Measured once more, luckier: what it was first counts.
  history.back().id = 200;
  history.back().timings->median_ns = 1;
  TuningRecord failed = RecordOf(201, MakeRandomSearch(task, 77)->Propose(1).front(), 0);
  failed.status = TrialState::kCrash;
  failed.timings.reset();
  history.push_back(failed);
  TuningRecord final = best;
  final.id = 202;
  final.final_round = 2;
  final.timings->median_ns = 1100;
  history.push_back(final);
  const TaskExplanation told = Explain(task, history, final);
  EXPECT_EQ(told.result_ns.size(), 61u);
  EXPECT_EQ(told.result_ns[0], history[0].timings->median_ns);
  EXPECT_EQ(told.result_ns.back(), 0);
  EXPECT_EQ(told.outcomes, (std::map<std::string, int64_t>{{"OK", 60}, {"CRASH", 1}}));
  EXPECT_EQ(told.best_ns, 1000);
  EXPECT_EQ(told.best_final_ns, 1100);
  EXPECT_EQ(told.best_after, best.id);
  EXPECT_EQ(told.sketches.size(), task.sketches.size());
  int64_t trials = 0;
  for (const SketchStory& sketch : told.sketches) {
    trials += sketch.trials;
    EXPECT_GT(sketch.choices, 100);
    EXPECT_GT(sketch.accepted, 0);
    EXPECT_LE(sketch.accepted, 1);
  }
  EXPECT_EQ(trials, 61);
  EXPECT_THAT(told.best_trace, HasSubstr("sample_perfect_tile"));
  EXPECT_FALSE(told.bound_by.empty());
}

TEST_F(TaskExplanationTest, OfNothingMeasuredSaysWhatTheSpaceHolds) {
  const TaskExplanation told = Explain(task, {}, std::nullopt);
  EXPECT_EQ(told.best_ns, 0);
  EXPECT_EQ(told.best_sketch, -1);
  EXPECT_THAT(told.decisions, IsEmpty());
  EXPECT_THAT(told.result_ns, IsEmpty());
  EXPECT_FALSE(told.sketches.empty());
}

}  // namespace
}  // namespace lathe
