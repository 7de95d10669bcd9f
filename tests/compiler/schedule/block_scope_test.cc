// What statements of one scope do to each other, as small programs and the facts about them.
#include "compiler/schedule/block_scope.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/schedule/annotate.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/split.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

// `body` indented into a function of A, X (inputs) and C, D (outputs) with an intermediate B, all of 16 elements. A
// line "name: B[v] = ..." is a block of that name with `v` over the loop variable i.
std::string FuncOfLines(const std::string& body) {
  std::string text =
      "@T.prim_func\ndef main(A: T.Buffer((16,)), X: T.Buffer((16,)), C: T.Buffer((16,)), D: T.Buffer((16,)), "
      "N: T.Buffer((16,), \"int32\")):\n    B = T.alloc_buffer((16,))\n";
  size_t begin = 0;
  while (begin < body.size()) {
    const size_t end = std::min(body.find('\n', begin), body.size());
    const std::string line = body.substr(begin, end - begin);
    const size_t indent = line.find_first_not_of(' '), colon = line.find(": ");
    const std::string margin(indent + 4, ' ');
    if (colon == std::string::npos)
      text += margin + line.substr(indent) + "\n";
    else
      text += fmt::format("{0}with T.block(\"{1}\"):\n{0}    v = T.axis.spatial(16, i)\n{0}    {2}\n", margin,
                          line.substr(indent, colon - indent), line.substr(colon + 2));
    begin = end + 1;
  }
  return text;
}

Schedule ScheduleOfLines(const std::string& body) {
  StatusOr<PrimFunc> func = ParsePrimFunc(FuncOfLines(body), "test.py");
  CHECK(func.ok()) << func.status().ToString() << FuncOfLines(body);
  StatusOr<Schedule> schedule = Schedule::Create(*std::move(func));
  CHECK(schedule.ok()) << schedule.status().ToString();
  return *std::move(schedule);
}

std::string NameOfRow(const Schedule& schedule, int row) {
  return schedule.IsLoop(row) ? schedule.LoopOf(row).loop_var.name() : schedule.BlockOf(row).name;
}

std::string DepsOf(const Schedule& schedule) {
  static constexpr const char* kKinds[] = {"RAW", "WAW", "WAR", "opaque"};
  const BlockScope& scope = schedule.Scope(schedule.RootRow());
  std::vector<std::string> deps;
  std::vector<int> rows = scope.children();
  for (size_t row = 0; row < schedule.NumRows(); ++row) {
    const bool is_other = std::find(rows.begin(), rows.end(), row) == rows.end();
    if (is_other && (!scope.DepsBySrc(row).empty() || !scope.DepsByDst(row).empty())) rows.push_back(row);
  }
  for (int row : rows) {
    for (const Dependency& dep : scope.DepsBySrc(row)) {
      deps.push_back(fmt::format("{}->{} {}", NameOfRow(schedule, dep.src), NameOfRow(schedule, dep.dst),
                                 kKinds[static_cast<int>(dep.kind)]));
      const std::vector<Dependency> back = scope.DepsByDst(dep.dst);
      EXPECT_THAT(back, testing::Contains(dep)) << deps.back();
    }
  }
  return fmt::format("{}", fmt::join(deps, ", "));
}

struct DepCase {
  const char* name;
  const char* body;
  const char* deps;
  bool has_war_or_opaque;
};
class DependenceTest : public testing::TestWithParam<DepCase> {};

TEST_P(DependenceTest, IsWhatTheTextSays) {
  const Schedule schedule = ScheduleOfLines(GetParam().body);
  EXPECT_EQ(DepsOf(schedule), GetParam().deps);
  EXPECT_EQ(schedule.Scope(schedule.RootRow()).HasWarOrOpaque(), GetParam().has_war_or_opaque);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DependenceTest,
    testing::Values(
        DepCase{"Chain", "for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    c: C[v] = B[v]", "b->c RAW",
                false},
        DepCase{"Alone", "for i in range(16):\n    c: C[v] = A[v]\nfor i in range(16):\n    d: D[v] = A[v]", "", false},
        DepCase{"OverwrittenInput",
                "for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    a: A[v] = T.float32(0)\n"
                "for i in range(16):\n    c: C[v] = B[v]",
                "b->a WAR, b->c RAW", true},
        DepCase{"InPlace", "for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    a: A[v] = B[15 - v]",
                "b->a RAW, b->a WAR", true},
        DepCase{"TwoWriters",
                "for i in range(16):\n    p: B[v] = A[v]\nfor i in range(16):\n    q: B[v] = X[v]\n"
                "for i in range(16):\n    c: C[v] = B[v]",
                "p->q WAW, p->c RAW, q->c RAW", false},
        DepCase{"Condition",
                "for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    if B[i] > T.float32(0):\n"
                "        c: C[v] = X[v]",
                "b->i RAW", false},
        DepCase{"ConditionOverwrittenLater",
                "for i in range(16):\n    if A[i] > T.float32(0):\n        c: C[v] = X[v]\n"
                "for i in range(16):\n    a: A[v] = T.float32(0)",
                "i->a WAR", true},
        DepCase{"LoopBound", "for i in range(16):\n    n: N[v] = 3\nfor i in range(N[0]):\n    c: C[v] = X[v]",
                "n->root RAW", false},
        DepCase{"StoreOutsideBlocks",
                "for i in range(16):\n    b: B[v] = A[v]\n    C[i] = B[i]\nfor i in range(16):\n    d: D[v] = C[v]",
                "b->i RAW, i->d RAW", false},
        DepCase{"OpaqueCall",
                "for i in range(16):\n    b: B[v] = A[v]\nT.evaluate(T.tvm_storage_sync(\"shared\"))\n"
                "for i in range(16):\n    d: D[v] = X[v]",
                "b->root opaque, root->d opaque", true}),
    [](const auto& info) { return info.param.name; });

TEST(BlockScopeTest, LoadsOfBindingsAndPredicatesAreReadsOfTheBlock) {
  StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def main(N: T.Buffer((16,), "int32"), B: T.Buffer((16,)), C: T.Buffer((16,))):
    for i in range(16):
        with T.block("n"):
            v = T.axis.spatial(16, i)
            N[v] = v
    for i in range(16):
        with T.block("b"):
            v = T.axis.spatial(16, N[i])
            B[v] = T.float32(0)
    for i in range(16):
        with T.block("c"):
            v = T.axis.spatial(16, i)
            T.where(N[i] < 3)
            C[v] = T.float32(0)
)",
                                          "test.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const Schedule schedule = *Schedule::Create(*func);
  EXPECT_EQ(DepsOf(schedule), "n->b RAW, n->c RAW");
}

TEST(BlockScopeTest, AViewIsTheMemoryThatItShows) {
  StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((16,)), C: T.Buffer((16,))):
    with T.block("root"):
        T.reads()
        T.writes(A[0:16], C[0:16])
        V = T.match_buffer(A[0:8], (8,))
        for i in range(8):
            with T.block("v"):
                v = T.axis.spatial(8, i)
                V[v] = T.float32(0)
        for i in range(16):
            with T.block("c"):
                v = T.axis.spatial(16, i)
                C[v] = A[v]
)",
                                          "test.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const Schedule schedule = *Schedule::Create(*func);
  EXPECT_EQ(DepsOf(schedule), "v->c RAW");
}

TEST(BlockScopeTest, FollowsWhatPrimitivesDo) {
  Schedule schedule =
      ScheduleOfLines("for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    c: C[v] = B[v]");
  EXPECT_EQ(DepsOf(schedule), "b->c RAW");
  const BlockRV c = *GetBlock(schedule, "c");
  ASSERT_TRUE(CacheRead(schedule, c, 0, "local").ok());
  EXPECT_EQ(DepsOf(schedule), "b->B_local RAW, B_local->c RAW");
  const LoopRV loop = (*GetLoops(schedule, c))[0];
  ASSERT_TRUE(ComputeAt(schedule, *GetBlock(schedule, "B_local"), loop).ok());
  EXPECT_EQ(DepsOf(schedule), "b->B_local RAW, B_local->c RAW");
}

// The blocks that stand there stay what they were; only what was read outside of them is gone.
TEST(BlockScopeTest, IsAskedAnewWhereOnlyTheOldStatementTouchedMemoryOutsideOfBlocks) {
  Schedule schedule = ScheduleOfLines(
      "for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    if B[i] > T.float32(0):\n"
      "        c: C[v] = X[v]");
  EXPECT_EQ(DepsOf(schedule), "b->i RAW");
  const int c = schedule.FindBlock("c"), loop_row = schedule.ParentOf(c);
  For loop = schedule.LoopOf(loop_row);
  loop.body = schedule.StmtOf(c);
  schedule.Replace(loop_row, loop);
  EXPECT_EQ(schedule.FindBlock("c"), c);
  EXPECT_EQ(DepsOf(schedule), "");
}

// ---- What is kept while things change ---------------------------------------------------------------------------

Schedule ScheduleOfText(const char* text) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "test.py");
  CHECK(func.ok()) << func.status().ToString() << text;
  StatusOr<Schedule> schedule = Schedule::Create(*std::move(func));
  CHECK(schedule.ok()) << schedule.status().ToString();
  return *std::move(schedule);
}

void AskAll(const Schedule& schedule, int block) {
  schedule.Scope(block);
  schedule.IsRegionCover(block);
  for (int child : schedule.ChildBlocksOf(block)) AskAll(schedule, child);
}

struct KeptCase {
  const char* name;
  const char* program;
  const char* calls;
};
class KeptScopeTest : public testing::TestWithParam<KeptCase> {};

TEST_P(KeptScopeTest, IsWhatAFreshLookFinds) {
  Schedule schedule = ScheduleOfText(GetParam().program);
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromPython(GetParam().calls);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  for (size_t i = 0; i < trace->size(); ++i) {
    const Instruction& call = trace->instruction(i);
    AskAll(schedule, schedule.RootRow());
    const auto outputs = call.kind->apply(schedule, call.inputs, call.attrs, trace->decision(i));
    ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
    EXPECT_EQ(schedule.Inconsistency(), "") << call.kind->name << "\n" << Print(schedule.func());
  }
}

constexpr char kSums[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
)";

constexpr char kReadsAView[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi])
            T.writes(C[vi])
            view = T.match_buffer(A[vi:vi + 1], (1,), "int32", offset_factor=1)
            C[vi] = view[0]
)";

INSTANTIATE_TEST_SUITE_P(
    Calls, KeptScopeTest,
    testing::Values(
        // Blocks of a partition declare nothing. In what they hide, C was read; then a buffer of their own is instead.
        KeptCase{"CopiesOfASumInAPartition", kSums,
                 "c = sch.get_block('C')\ni, k = sch.get_loops(c)\ni0, i1 = sch.loop_partition(i, [2, None])\n"
                 "p = sch.get_block('C_i0')\nw = sch.cache_write(p, 0, 'local')\n"
                 "q = sch.get_block('C_i1')\nx = sch.cache_write(q, 0, 'local')\n"},
        // A view of what a block allocates touches nothing outside of it.
        KeptCase{"ViewOfACopyInAPartition", kReadsAView,
                 "c = sch.get_block('C')\ni, = sch.get_loops(c)\ni0, i1 = sch.loop_partition(i, [2, None])\n"
                 "p = sch.get_block('C_i0')\nr = sch.cache_read(p, 0, 'local')\n"}),
    [](const auto& info) { return info.param.name; });

// Block h declares to write H only; the block in it stores B, too.
constexpr char kHidesB[] = R"(
@T.prim_func
def main(H: T.Buffer((16,)), C: T.Buffer((16,))):
    B = T.alloc_buffer((16,))
    with T.block("h"):
        T.reads()
        T.writes(H[0:16])
        for i in range(16):
            with T.block("n"):
                v = T.axis.spatial(16, i)
                T.reads()
                T.writes(H[v])
                H[v] = T.float32(0)
                if v < 8:
                    B[v] = T.float32(1)
    for i in range(16):
        with T.block("c"):
            v = T.axis.spatial(16, i)
            T.reads(B[v])
            T.writes(C[v])
            C[v] = B[v]
)";

TEST(BlockScopeTest, LooksIntoABlockFromWhenItIsMarkedOn) {
  Schedule schedule = ScheduleOfText(kHidesB);
  const int c = schedule.FindBlock("c");
  EXPECT_EQ(DepsOf(schedule), "");
  EXPECT_TRUE(schedule.IsRegionCover(c));
  schedule.MarkHiding(schedule.FindBlock("h"), /*also_stores=*/true);
  EXPECT_EQ(DepsOf(schedule), "h->c RAW");
  EXPECT_FALSE(schedule.IsRegionCover(c));
}

TEST(BlockScopeTest, IsAskedAnewWhereWhatABlockHidesChanges) {
  Schedule schedule = ScheduleOfText(kHidesB);
  const int h = schedule.FindBlock("h"), n = schedule.FindBlock("n"), c = schedule.FindBlock("c");
  schedule.MarkHiding(h, /*also_stores=*/true);
  EXPECT_EQ(DepsOf(schedule), "h->c RAW");
  EXPECT_FALSE(schedule.IsRegionCover(c));
  BlockRealize realize = schedule.RealizeOf(n);
  realize.block.Mutable().body = Stmt(realize.block->body.As<Seq>()->stmts[0]);
  schedule.Replace(n, realize);
  EXPECT_EQ(DepsOf(schedule), "");
  EXPECT_TRUE(schedule.IsRegionCover(c));
}

// Blocks in blocks see memory through views of the outermost, which stay as they are when it shows them something else.
constexpr char kSeenThroughAView[] = R"(
@T.prim_func
def main(A: T.Buffer((16,)), X: T.Buffer((16,)), C: T.Buffer((16,))):
    with T.block("o"):
        T.reads(A[0:16])
        T.writes(A[0:16], X[0:16], C[0:16])
        V = T.match_buffer(A[0:16], (16,))
        with T.block("m"):
            T.reads(A[0:16])
            T.writes(V[0:16], C[0:16])
            for i in range(16):
                with T.block("v"):
                    v = T.axis.spatial(16, i)
                    V[v] = T.float32(0)
            for i in range(16):
                with T.block("c"):
                    v = T.axis.spatial(16, i)
                    C[v] = A[v]
)";

class ViewFurtherOutTest : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_EQ(schedule_.Scope(m_).DepsBySrc(v_), (std::vector<Dependency>{{v_, c_, DepKind::kRAW}}));
    EXPECT_FALSE(schedule_.IsRegionCover(c_));
  }
  void ExpectThatNothingDependsOnV() const {
    EXPECT_EQ(schedule_.FindBlock("m"), m_);
    EXPECT_THAT(schedule_.Scope(m_).DepsBySrc(v_), testing::IsEmpty());
    EXPECT_TRUE(schedule_.IsRegionCover(c_));
  }
  Schedule schedule_ = ScheduleOfText(kSeenThroughAView);
  const int o_ = schedule_.FindBlock("o"), m_ = schedule_.FindBlock("m"), v_ = schedule_.FindBlock("v"),
            c_ = schedule_.FindBlock("c");
};

TEST_F(ViewFurtherOutTest, ShowsOtherMemoryFromWhenItIsChangedOn) {
  BlockRealize realize = schedule_.RealizeOf(o_);
  realize.block.Mutable().match_buffers[0].source.buffer = schedule_.BlockOf(o_).writes[1].buffer;
  schedule_.Replace(o_, realize);
  ExpectThatNothingDependsOnV();
}

TEST_F(ViewFurtherOutTest, ShowsNothingOnceItsBlockIsGone) {
  BlockRealize realize = schedule_.RealizeOf(o_);
  BlockNode& node = realize.block.Mutable();
  node.name = "another";
  node.alloc_buffers = {node.match_buffers[0].buffer};
  node.match_buffers.clear();
  schedule_.Replace(o_, realize);
  EXPECT_EQ(schedule_.FindBlock("o"), -1);
  ExpectThatNothingDependsOnV();
}

TEST(TouchedBuffersTest, AreNotThoseThatAViewShowsOfWhatIsAllocatedInside) {
  const Schedule schedule = ScheduleOfText(R"(
@T.prim_func
def main(C: T.Buffer((16,))):
    with T.block("o"):
        T.reads()
        T.writes(C[0:16])
        B = T.alloc_buffer((16,))
        with T.block("m"):
            T.reads()
            T.writes(B[0:16], C[0:16])
            V = T.match_buffer(B[0:16], (16,))
            W = T.match_buffer(C[0:16], (16,))
            for i in range(16):
                with T.block("v"):
                    v = T.axis.spatial(16, i)
                    V[v] = T.float32(0)
                    W[v] = T.float32(0)
)");
  const TouchedBuffers touched = BuffersTouchedIn(schedule.BlockOf(schedule.FindBlock("o")));
  ASSERT_EQ(touched.stored.size(), 1);
  EXPECT_EQ(touched.stored[0]->name, "C");
}

// TVM 0.27 says the same: what was written before counts, read or overwritten; what comes later does not.
TEST(BlockScopeTest, ProducersComeBeforeAndConsumersAfter) {
  Schedule schedule = ScheduleOfLines(
      "for i in range(16):\n    b1: B[v] = A[v]\nfor i in range(16):\n    c: C[v] = B[v]\n"
      "for i in range(16):\n    b2: B[v] = X[v]\nfor i in range(16):\n    d: D[v] = B[v]");
  const auto names = [&](const StatusOr<std::vector<BlockRV>>& blocks) {
    std::vector<std::string> list;
    for (BlockRV block : *blocks) list.push_back((*schedule.Get(block))->block->name);
    return fmt::format("{}", fmt::join(list, " "));
  };
  EXPECT_EQ(names(GetProducers(schedule, *GetBlock(schedule, "c"))), "b1");
  EXPECT_EQ(names(GetProducers(schedule, *GetBlock(schedule, "b2"))), "b1");
  EXPECT_EQ(names(GetProducers(schedule, *GetBlock(schedule, "d"))), "b1 b2");
  EXPECT_EQ(names(GetConsumers(schedule, *GetBlock(schedule, "b1"))), "c b2 d");
  EXPECT_EQ(names(GetConsumers(schedule, *GetBlock(schedule, "c"))), "");
}

// ---- Region cover and stage pipeline ----------------------------------------------------------------------------

struct CoverCase {
  const char* name;
  const char* body;
  const char* uncovered;  // Names of the blocks without region cover.
  bool is_stage_pipeline;
};
class RegionCoverTest : public testing::TestWithParam<CoverCase> {};

TEST_P(RegionCoverTest, IsWhatTheTextSays) {
  const Schedule schedule = ScheduleOfLines(GetParam().body);
  std::vector<std::string> uncovered;
  for (int block : schedule.ChildBlocksOf(schedule.RootRow()))
    if (!schedule.IsRegionCover(block)) uncovered.push_back(schedule.BlockOf(block).name);
  EXPECT_EQ(fmt::format("{}", fmt::join(uncovered, " ")), GetParam().uncovered);
  EXPECT_EQ(schedule.IsStagePipeline(schedule.RootRow()), GetParam().is_stage_pipeline);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, RegionCoverTest,
    testing::Values(
        CoverCase{"Chain", "for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    c: C[v] = B[15 - v]", "",
                  true},
        CoverCase{"SameIteration", "for i in range(16):\n    b: B[v] = A[v]\n    c: C[v] = B[v]", "", true},
        CoverCase{"EarlierIteration", "for i in range(16):\n    b: B[v] = A[v]\n    c: C[v] = B[T.max(v - 1, 0)]", "c",
                  false},
        CoverCase{"HalfWritten", "for i in range(8):\n    b: B[v] = A[v]\nfor i in range(16):\n    c: C[v] = B[v]", "c",
                  false},
        CoverCase{"HalfWrittenHalfRead",
                  "for i in range(8):\n    b: B[v] = A[v]\nfor i in range(8):\n    c: C[v] = B[v]", "", true},
        CoverCase{"EverySecond", "for i in range(8):\n    b: B[v * 2] = A[v]\nfor i in range(16):\n    c: C[v] = B[v]",
                  "c", false},
        CoverCase{"TwoHalves",
                  "for i in range(8):\n    p: B[v] = A[v]\nfor i in range(8):\n    q: B[v + 8] = X[v]\n"
                  "for i in range(16):\n    c: C[v] = B[v]",
                  "", true},
        CoverCase{"TwoHalvesWithAGap",
                  "for i in range(7):\n    p: B[v] = A[v]\nfor i in range(8):\n    q: B[v + 8] = X[v]\n"
                  "for i in range(16):\n    c: C[v] = B[v]",
                  "c", false},
        CoverCase{"UnderACondition",
                  "for i in range(16):\n    if X[i] > T.float32(0):\n        b: B[v] = A[v]\n"
                  "for i in range(16):\n    c: C[v] = B[v]",
                  "c", false},
        CoverCase{"WrittenOutsideOfBlocks",
                  "for i in range(16):\n    B[i] = A[i]\nfor i in range(16):\n    c: C[v] = B[v]", "c", false},
        CoverCase{"OverwrittenInput",
                  "for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    a: A[v] = T.float32(0)\n"
                  "for i in range(16):\n    c: C[v] = B[v]",
                  "", false}),
    [](const auto& info) { return info.param.name; });

TEST(RegionCoverTest, APredicateGivesOnlyWhatItLetsThrough) {
  StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((16,)), C: T.Buffer((16,)), D: T.Buffer((16,))):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("b"):
            v = T.axis.spatial(16, i)
            T.where(i < 8)
            B[v] = A[v]
    for i in range(8):
        with T.block("c"):
            v = T.axis.spatial(16, i)
            C[v] = B[v]
    for i in range(16):
        with T.block("d"):
            v = T.axis.spatial(16, i)
            D[v] = B[v]
)",
                                          "test.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  Schedule schedule = *Schedule::Create(*func);
  EXPECT_TRUE(schedule.IsRegionCover(schedule.FindBlock("c")));
  EXPECT_FALSE(schedule.IsRegionCover(schedule.FindBlock("d")));
}

TEST(RegionCoverTest, IsAskedAnewWhereAWriterChanges) {
  Schedule schedule =
      ScheduleOfLines("for i in range(16):\n    b: B[v] = A[v]\nfor i in range(16):\n    c: C[v] = B[v]");
  const int b = schedule.FindBlock("b"), c = schedule.FindBlock("c");
  EXPECT_TRUE(schedule.IsRegionCover(c));
  For loop = schedule.LoopOf(schedule.ParentOf(b));
  loop.extent = 15;
  schedule.Replace(schedule.ParentOf(b), loop);
  EXPECT_FALSE(schedule.IsRegionCover(c));
  loop.extent = 16;
  schedule.Replace(schedule.ParentOf(b), loop);
  EXPECT_TRUE(schedule.IsRegionCover(c));
  EXPECT_TRUE(schedule.IsStagePipeline(schedule.RootRow()));
}

TEST(AffineBindingTest, IsAskedAnewWhereLoopsChange) {
  Schedule schedule = ScheduleOfLines("for i in range(16):\n    c: C[v] = A[v]");
  const BlockRV c = *GetBlock(schedule, "c");
  EXPECT_TRUE(schedule.IsAffineBinding(*schedule.RowOf(c)));
  const LoopRV loop = (*GetLoops(schedule, c))[0];
  ASSERT_TRUE(Split(schedule, loop, std::vector<std::optional<ExprRV>>{4, 4}).ok());
  EXPECT_TRUE(schedule.IsAffineBinding(*schedule.RowOf(c)));
  // By hand: the outer loop runs 5 times, the binding i_0 * 4 + i_1 then leaves the domain, and 3 * i_0 overlaps.
  const int row = schedule.LoopsOf(*schedule.RowOf(c))[1];
  For inner = schedule.LoopOf(row);
  BlockRealize realize = schedule.RealizeOf(*schedule.RowOf(c));
  realize.iter_values = {schedule.LoopOf(schedule.ParentOf(row)).loop_var * 3 + inner.loop_var};
  inner.body = realize;
  schedule.Replace(row, inner);
  EXPECT_FALSE(schedule.IsAffineBinding(*schedule.RowOf(c)));
}

}  // namespace
}  // namespace lathe
