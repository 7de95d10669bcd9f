#include "tuner/space/templates.h"

#include <gmock/gmock.h>

#include <set>

#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/compiler/schedule/soundness.h"
#include "tests/property_runs.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/decision_names.h"
#include "tuner/search/decisions.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/spaces.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const char* const kTarget = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=1";

TuneTask TaskInSpace(const std::string& text, const std::string& space) {
  TuneTask task{{}, *ParsePrimFunc(text, "workload.py"), *Target::Parse(kTarget), {}, 0};
  StatusOr<std::vector<Sketch>> sketches = (*MakeSpace(space))->Generate(task.func, task.target);
  CHECK(sketches.ok()) << sketches.status().ToString();
  task.sketches = *std::move(sketches);
  return task;
}

std::vector<std::string> MadeBy(const TuneTask& task) {
  std::vector<std::string> made_by;
  for (const Sketch& sketch : task.sketches) made_by.push_back(sketch.made_by);
  return made_by;
}

constexpr char kDense[] = R"(
@T.prim_func
def main(A: T.Buffer((24, 20), "float32"), B: T.Buffer((20, 64), "float32"), C: T.Buffer((24, 64), "float32")):
    for i, j, k in T.grid(24, 64, 20):
        with T.block("dense"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";
// `text` with each `from` replaced.
std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}
std::string DenseWith(const std::string& shape, const std::string& load) {
  return Replaced(Replaced(kDense, "(20, 64)", shape), "B[vk, vj]", load);
}

// 32 channels to 32, 10 x 10, in blocks of 16.
constexpr char kConvInBlocks[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 2, 10, 10, 16), "float32"), W: T.Buffer((2, 2, 3, 3, 16, 16), "float32"), bias: T.Buffer((2, 16), "float32"), Y: T.Buffer((1, 2, 10, 10, 16), "float32")):
    P = T.alloc_buffer((1, 2, 12, 12, 16))
    C = T.alloc_buffer((1, 2, 10, 10, 16))
    for n, c, y, x, l in T.grid(1, 2, 12, 12, 16):
        with T.block("pad"):
            vn, vc, vy, vx, vl = T.axis.remap("SSSSS", [n, c, y, x, l])
            P[vn, vc, vy, vx, vl] = T.if_then_else(1 <= vy and vy < 11 and 1 <= vx and vx < 11, X[vn, vc, vy - 1, vx - 1, vl], T.float32(0))
    for n, c, y, x, l, rc, ry, rx, rb in T.grid(1, 2, 10, 10, 16, 2, 3, 3, 16):
        with T.block("conv"):
            vn, vc, vy, vx, vl, vrc, vry, vrx, vrb = T.axis.remap("SSSSSRRRR", [n, c, y, x, l, rc, ry, rx, rb])
            with T.init():
                C[vn, vc, vy, vx, vl] = T.float32(0)
            C[vn, vc, vy, vx, vl] = C[vn, vc, vy, vx, vl] + P[vn, vrc, vy + vry, vx + vrx, vrb] * W[vc, vrc, vry, vrx, vrb, vl]
    for n, c, y, x, l in T.grid(1, 2, 10, 10, 16):
        with T.block("relu"):
            vn, vc, vy, vx, vl = T.axis.remap("SSSSS", [n, c, y, x, l])
            Y[vn, vc, vy, vx, vl] = T.max(C[vn, vc, vy, vx, vl] + bias[vc, vl], T.float32(0))
)";
constexpr char kDepthwiseInBlocks[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 2, 12, 12, 16), "float32"), W: T.Buffer((2, 3, 3, 16), "float32"), Y: T.Buffer((1, 2, 10, 10, 16), "float32")):
    for n, c, y, x, l, ry, rx in T.grid(1, 2, 10, 10, 16, 3, 3):
        with T.block("depthwise"):
            vn, vc, vy, vx, vl, vry, vrx = T.axis.remap("SSSSSRR", [n, c, y, x, l, ry, rx])
            with T.init():
                Y[vn, vc, vy, vx, vl] = T.float32(0)
            Y[vn, vc, vy, vx, vl] = Y[vn, vc, vy, vx, vl] + X[vn, vc, vy + vry, vx + vrx, vl] * W[vc, vry, vrx, vl]
)";

struct TemplateCase {
  const char* name;
  std::string text;
  std::vector<std::string> made_by;  // Of each template that matches.
};
void PrintTo(const TemplateCase& c, std::ostream* out) { *out << c.name; }
class TemplatesTest : public testing::TestWithParam<TemplateCase> {};

TEST_P(TemplatesTest, MatchByTheFormOfTheFunction) {
  EXPECT_EQ(MadeBy(TaskInSpace(GetParam().text, "templates")), GetParam().made_by);
}

TEST_P(TemplatesTest, GiveCandidatesThatKeepTheBits) {
  const TuneTask task = TaskInSpace(GetParam().text, "templates");
  for (const Sketch& sketch : task.sketches) {
    int ok = 0;
    Status why;
    const int runs = PropertyRuns(40, /*cost=*/20);
    const bool checks = runs == 40 || &sketch == &task.sketches.front();  // Interpreting is dear under sanitizers.
    for (int seed = 0; seed < runs; ++seed) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, sketch.trace, seed);
      if (!candidate.ok()) why = candidate.status();
      if (candidate.ok() && ++ok == 1 && checks) ExpectSameBits(task.func, candidate->func);
    }
    EXPECT_GT(ok, runs == 40 ? 2 : -1) << sketch.trace.ToPython() << why.ToString();
  }
}

TEST_P(TemplatesTest, AreTracesThatReplayAndMutate) {
  const TuneTask task = TaskInSpace(GetParam().text, "templates");
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, /*seed=*/7)->Propose(3)) {
    const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(candidate.trace_json);
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    const StatusOr<MeasureCandidate> again = MakeCandidate(task, *trace, /*seed=*/99);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(Print(again->func), Print(candidate.func));
    EXPECT_FALSE(Neighbours(*trace).empty());
    for (const auto& [index, name] : NameDecisions(task, *trace)) EXPECT_THAT(name, HasSubstr("knob "));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Functions, TemplatesTest,
    testing::Values(
        TemplateCase{"Dense", kDense, {"templates: dense", "templates: dense_pack"}},
        TemplateCase{"DenseTransposed", DenseWith("(64, 20)", "B[vj, vk]"), {"templates: dense_pack"}},
        TemplateCase{"DensePanels", DenseWith("(4, 20, 16)", "B[vj // 16, vk, vj % 16]"), {"templates: dense"}},
        TemplateCase{"DenseRelu", kMatmulRelu, {"templates: dense", "templates: dense_pack"}},
        TemplateCase{"ConvInBlocks", kConvInBlocks, {"templates: conv2d_nchwc", "templates: conv2d_nchwc_guarded"}},
        TemplateCase{"DepthwiseInBlocks", kDepthwiseInBlocks, {"templates: depthwise_nchwc"}},
        TemplateCase{"Conv", kConvBiasAddRelu, {"templates: conv2d_nchw_rows", "templates: conv2d_nchw_channels"}}),
    [](const auto& info) { return info.param.name; });

TEST(Templates, SayWhichThereAreWhereNoneMatches) {
  for (const char* text : {kElementwise, kMaxPool, kRowSums, kNormalizedRows}) {
    const PrimFunc func = *ParsePrimFunc(text, "workload.py");
    const auto sketches = MakeTemplates()->Generate(func, *Target::Parse(kTarget));
    EXPECT_EQ(sketches.status().code(), StatusCode::kNotFound);
    EXPECT_THAT(sketches.status().message(), HasSubstr("no template for @main: there are dense, dense_pack, conv2d"));
  }
}

TEST(Spaces, AreChosenByName) {
  EXPECT_EQ(*CanonicalSpace(""), "rules");
  EXPECT_EQ(*CanonicalSpace("templates,rules,rules"), "rules,templates");
  for (const char* wrong : {"rule", "rules,", ",", "rules,knobs"}) {
    const Status status = CanonicalSpace(wrong).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(status.message(), HasSubstr("there are \"rules\", \"sketches\", \"templates\""));
    EXPECT_FALSE(MakeSpace(wrong).ok());
  }
}

TEST(Spaces, MayBeMixed) {
  const TuneTask all = TaskInSpace(kMatmulRelu, "rules,sketches,templates");
  size_t count = 0;
  for (const char* one : {"rules", "sketches", "templates"}) count += TaskInSpace(kMatmulRelu, one).sketches.size();
  EXPECT_EQ(all.sketches.size(), count) << "no two of them are the same here";
  for (const char* space : {"rules", "sketches", "templates"})
    EXPECT_THAT(MadeBy(all), testing::Contains(HasSubstr(space)));
  // A search draws from all of them, whatever made its sketches.
  std::set<int> drawn;
  for (const MeasureCandidate& candidate : MakeRandomSearch(all, /*seed=*/1)->Propose(24))
    drawn.insert(FindSketch(all.sketches, candidate.trace));
  EXPECT_GE(drawn.size(), 4u);
}

TEST(Spaces, LeaveOutWhatHasNothingToOffer) {
  EXPECT_EQ(MadeBy(TaskInSpace(kElementwise, "rules,templates")), std::vector<std::string>{"rules"});
}

}  // namespace
}  // namespace lathe
