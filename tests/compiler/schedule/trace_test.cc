#include "compiler/schedule/trace.h"

#include <gmock/gmock.h>

#include <map>

#include "compiler/schedule/sampling.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/parser.h"

namespace lathe {
namespace {

using testing::HasSubstr;

PrimFunc Copy(int extent) {
  const std::string n = std::to_string(extent);
  return *ParsePrimFunc("@T.prim_func\ndef main(A: T.Buffer((" + n + ",), \"float32\"), B: T.Buffer((" + n +
                            ",), \"float32\")):\n"
                            "    for i in range(" +
                            n + "):\n        with T.block(\"copy\"):\n            vi = T.axis.spatial(" + n +
                            ", i)\n"
                            "            B[vi] = A[vi]\n",
                        "copy.py");
}

// TVM's own layout.
constexpr char kTileTrace[] =
    R"([[["GetBlock",[],["copy","main"],["b0"]],["GetLoops",["b0"],[],["l1"]],["SamplePerfectTile",["l1"],[2,64],["v2","v3"]],)"
    R"(["Split",["l1","v2","v3"],[1,0],["l4","l5"]],["Vectorize",["l5"],[],[]]],[[2,[8,16]]]])";

TEST(Trace, ReadsAndWritesTvmsJson) {
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(kTileTrace);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->ToJson(), kTileTrace);
}

TEST(Trace, AChangedDecisionReachesWhatDependsOnIt) {
  StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(kTileTrace);
  trace->SetDecision(2, std::vector<int64_t>{32, 4});
  StatusOr<Schedule> schedule = Schedule::Create(Copy(128));
  ASSERT_TRUE(trace->Replay(*schedule).ok());
  EXPECT_EQ(*AsIntConst(schedule->Get(LoopRV{schedule->trace().instruction(3).outputs[1]}).value()->extent), 4);
}

TEST(Trace, AFactorThatNoLongerDividesBecomesAllThatIsLeft) {
  const StatusOr<ScheduleTrace> trace =
      ScheduleTrace::FromJson(kTileTrace);  // [8, 16] for 128; the extent here is 100.
  StatusOr<Schedule> schedule = Schedule::Create(Copy(100));
  ASSERT_TRUE(trace->Replay(*schedule).ok());
  EXPECT_EQ(std::get<std::vector<int64_t>>(*schedule->trace().decision(2)), (std::vector<int64_t>{1, 100}));
}

TEST(Trace, WhatDoesNotFitAnInstructionIsNamedByItsPlace) {
  const char* text =
      R"([[["GetBlock",[],["copy","main"],["b0"]],["GetLoops",["b0"],[],["l1"]],["GetLoops",["l1"],[],["l2"]]],[]])";
  StatusOr<Schedule> schedule = Schedule::Create(Copy(100));
  EXPECT_EQ(ScheduleTrace::FromJson(text)->Replay(*schedule).message(),
            "replay trace: instruction 2 (GetLoops): an input is no block handle");
}

TEST(Trace, SimplifiedDropsWhatNobodyUses) {
  const char* text =
      R"([[["GetBlock",[],["copy","main"],["b0"]],["GetBlock",[],["copy","main"],["b1"]],["GetLoops",["b1"],[],["l2"]],)"
      R"(["Unroll",["l2"],[],[]],["EnterPostproc",[],[],[]],["Annotate",["l2",1],["x"],[]]],[]])";
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(text);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->Simplified(false).size(), 5u);
  EXPECT_EQ(trace->Simplified(true).size(), 3u);
}

TEST(Trace, ListsKeepTheVariablesInThem) {
  const std::string json =
      R"([[["GetBlock",[],["copy","main"],["b0"]],["SampleCategorical",[],[[5,6],[0.5,0.5]],["v1"]],)"
      R"(["Annotate",["b0",["v1",[2,"v1","\"v1\""]]],["x"],[]]],[[1,1]]])";
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(json);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->ToJson(), json);
  EXPECT_THAT(trace->ToPython(), HasSubstr("ann_val=[v1, [2, v1, \"v1\"]])"));
  const StatusOr<ScheduleTrace> read = ScheduleTrace::FromPython(trace->ToPython());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->ToJson(), json);
  StatusOr<Schedule> schedule = Schedule::Create(Copy(16));
  ASSERT_TRUE(read->Replay(*schedule).ok());
  const Attr inner(std::vector<Attr>{2, 6, "v1"});
  EXPECT_EQ(schedule->BlockOf(schedule->FindBlock("copy")).annotations.at("x"), Attr(std::vector<Attr>{6, inner}));
}

std::string NestedList(int depth) {
  std::string list = "1";
  for (int i = 0; i < depth; ++i) list = "[\"v0\"," + list + "]";
  return list;
}

TEST(Trace, DeepListsOfVariablesAreRefused) {
  const auto read = [](int depth) {
    return ScheduleTrace::FromJson("[[[\"Annotate\",[\"b0\"," + NestedList(depth) + "],[\"x\"],[]]],[]]").status();
  };
  EXPECT_TRUE(read(10).ok());
  EXPECT_THAT(read(50000).message(), HasSubstr("nested too deeply"));
}

struct BadTrace {
  const char* name;
  const char* text;
  const char* message;
};
class BadTraceTest : public testing::TestWithParam<BadTrace> {};
TEST_P(BadTraceTest, IsRefusedWithAReason) {
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(GetParam().text);
  Status status = trace.status();
  if (trace.ok()) {
    StatusOr<Schedule> schedule = Schedule::Create(Copy(16));
    status = trace->Replay(*schedule);
  }
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Traces, BadTraceTest,
    testing::Values(
        BadTrace{"NoJson", "[[", "the text is no JSON"},
        BadTrace{"NotTwoLists", "[1,2]", "[instructions, decisions] is required"},
        BadTrace{"UnknownKind", R"([[["Frobnicate",[],[],[]]],[]])", "\"Frobnicate\", which this build does not know"},
        BadTrace{"NoHandle", R"([[["GetLoops",["x9"],[],[]]],[]])", "is no handle such as b0"},
        BadTrace{"HugeHandle", R"([[["GetLoops",["b99999999"],[],[]]],[]])", "is no handle such as b0"},
        BadTrace{"UseBeforeDefinition", R"([[["GetLoops",["b7"],[],["l0"]]],[]])",
                 "handle 7 is used before an instruction makes it"},
        BadTrace{"ListWithAVariableOfNobody",
                 R"([[["GetBlock",[],["copy","main"],["b0"]],["Annotate",["b0",["v7",1]],["x"],[]]],[]])",
                 "handle 7 is used before an instruction makes it"},
        BadTrace{"WrongHandleKind", R"([[["GetBlock",[],["copy","main"],["b0"]],["Unroll",["b0"],[],[]]],[]])",
                 "an input is no loop handle"},
        BadTrace{"UnknownBlock", R"([[["GetBlock",[],["conv","main"],["b0"]]],[]])",
                 "no block named \"conv\"; there are: root, copy"},
        BadTrace{"OtherFunction", R"([[["GetBlock",[],["copy","main"],["b0"]],["GetLoops",["b0"],[],["l1","l2"]]],[]])",
                 "gives 1 handles, the trace names 2"},
        BadTrace{"DecisionWithoutSampling", R"([[["GetBlock",[],["copy","main"],["b0"]]],[[0,3]]])",
                 "a decision is not [index of a sampling instruction, value]"},
        BadTrace{"CategoryOutOfRange", R"([[["SampleCategorical",[],[[1,2],[0.5,0.5]],["v0"]]],[[0,2]]])",
                 "the decision is not an index below 2"},
        BadTrace{
            "ZeroFactor",
            R"([[["GetBlock",[],["copy","main"],["b0"]],["GetLoops",["b0"],[],["l1"]],["Split",["l1",0,16],[1,0],["l2","l3"]]],[]])",
            "factor 0 is not positive"}),
    [](const auto& info) { return info.param.name; });

TEST(Python, ErrorsNameTheLine) {
  const Status status = ScheduleTrace::FromPython("b0 = sch.get_block(\"copy\")\nl1 = sch.splt(b0)\n").status();
  EXPECT_THAT(status.message(), HasSubstr("schedule:2:"));
  EXPECT_THAT(status.message(), HasSubstr("no primitive named \"splt\""));
}

TEST(Python, FunctionsAreReadByTheirNames) {
  const ScheduleTrace unroll = *ScheduleTrace::FromPython(
      "b0 = sch.get_block(name=\"copy\", func_name=\"main\")\nl1, = sch.get_loops(block=b0)\nsch.unroll(loop=l1)\n");
  const std::string text =
      "# Nothing to do.\n" + ToPythonFunction("keep", {}) + "\n" + ToPythonFunction("copy", unroll);
  EXPECT_THAT(text, HasSubstr("def keep(sch):\n    pass\n"));
  EXPECT_THAT(text, HasSubstr("    l1, = sch.get_loops(block=b0)\n"));
  const auto read = TracesFromPython(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at("keep").size(), 0u);
  EXPECT_EQ(read->at("copy").ToJson(), unroll.ToJson());
}

struct BadFunctions {
  const char* name;
  const char* text;
  const char* message;
};
class BadFunctionsTest : public testing::TestWithParam<BadFunctions> {};
TEST_P(BadFunctionsTest, AreRefusedWithTheLine) {
  EXPECT_THAT(TracesFromPython(GetParam().text).status().message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Python, BadFunctionsTest,
    testing::Values(
        BadFunctions{"CallOutside", "b0 = sch.get_block(name=\"copy\")\n",
                     "schedules:1:1: a function of the schedule is expected: def matmul(sch):"},
        BadFunctions{"OtherParameter", "\ndef copy(s):\n    pass\n",
                     "schedules:2:1: a function of the schedule is expected"},
        BadFunctions{"Twice", "def copy(sch):\n    pass\ndef copy(sch):\n    pass\n",
                     "schedules:3:1: \"copy\" has a schedule already"},
        BadFunctions{"UnknownPrimitive", "def copy(sch):\n    sch.splt(b0)\n",
                     "schedules:2:5: no primitive named \"splt\""},
        BadFunctions{"HandleOfAnother",
                     "def f(sch):\n    b = sch.get_block(name=\"b\")\ndef g(sch):\n    l, = sch.get_loops(block=b)\n",
                     "\"b\" is not defined"}),
    [](const auto& info) { return info.param.name; });

TEST(PerfectTile, AllOrderedFactorisationsAreEquallyLikely) {
  std::map<std::vector<int64_t>, int> seen;
  Random random(17);
  for (int i = 0; i < 20000; ++i) ++seen[DrawPerfectTile(12, 2, 12, random)];
  ASSERT_EQ(seen.size(), 6u);  // 1*12, 2*6, 3*4 and back.
  for (const auto& [tile, count] : seen) EXPECT_NEAR(count, 20000 / 6.0, 250) << tile[0] << " * " << tile[1];
}

TEST(PerfectTile, KeepsTheInnermostLimitAndTheProduct) {
  Random random(1);
  for (int64_t extent : {1, 7, 96, 1009, 4096}) {
    const std::vector<int64_t> tile = DrawPerfectTile(extent, 3, 16, random);
    EXPECT_EQ(tile[0] * tile[1] * tile[2], extent);
    EXPECT_LE(tile[2], 16);
  }
}

}  // namespace
}  // namespace lathe
