#include "compiler/script/complete.h"

#include <gmock/gmock.h>

#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

// The line that starts with `key` after T.reads and T.writes of `body`, a block's lines, have been left out and
// computed.
std::string Computed(std::string_view body, std::string_view key) {
  std::string text = R"(
@T.prim_func
def f(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), rows: T.Buffer((64,), "int32"), m: T.int32):
    for i, j in T.grid(16, 64):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            )";
  for (const char c : body) {
    text += c;
    if (c == '\n') text += "            ";
  }
  const StatusOr<PrimFunc> func = ParsePrimFunc(text + "\n", "f.py");
  CHECK(func.ok()) << func.status().ToString();
  const std::string printed = Print(*func);
  const size_t begin = printed.find(key);
  return printed.substr(begin, printed.find('\n', begin) - begin);
}

struct RegionCase {
  const char* name;
  const char* body;
  const char* reads;
  const char* writes;
};
class RegionTest : public testing::TestWithParam<RegionCase> {};
TEST_P(RegionTest, IsWhatTheBodyTouches) {
  EXPECT_EQ(Computed(GetParam().body, "T.reads("), GetParam().reads);
  EXPECT_EQ(Computed(GetParam().body, "T.writes("), GetParam().writes);
}
INSTANTIATE_TEST_SUITE_P(
    Bodies, RegionTest,
    testing::Values(
        RegionCase{"Point", "B[vi, vj] = A[vj, vi * 2 + 1]", "T.reads(A[vj, vi * 2 + 1])", "T.writes(B[vi, vj])"},
        RegionCase{"ReductionDoesNotReadItsOutput", "with T.init():\n    B[vi, 0] = 0\nB[vi, 0] += A[vi, vj]",
                   "T.reads(A[vi, vj])", "T.writes(B[vi, 0])"},
        RegionCase{"UpdateReadsItsOutput", "B[vi, 0] += A[vi, vj]", "T.reads(B[vi, 0], A[vi, vj])",
                   "T.writes(B[vi, 0])"},
        RegionCase{"InnerLoops", "for a, b in T.grid(4, 2):\n    B[vi * 4 + a, vj] = A[vi * 4 + a + b, 3 - b]",
                   "T.reads(A[vi * 4:vi * 4 + 5, 2:4])", "T.writes(B[vi * 4:vi * 4 + 4, vj])"},
        RegionCase{"LoopsThatDoNotStartAtZero", "for a in range(vi, vi + 3):\n    B[a, 0] = 1", "T.reads()",
                   "T.writes(B[vi:vi + 3, 0])"},
        RegionCase{"UnionOfStencil", "B[vi, vj] = A[vi + 2, vj] + A[vi, vj] + A[vi + 1, vj]",
                   "T.reads(A[vi:vi + 3, vj])", "T.writes(B[vi, vj])"},
        RegionCase{"DivisionOfInnerLoop", "for a in range(10):\n    B[vi, a // 4] = A[vi, a % 4]",
                   "T.reads(A[vi, 0:4])", "T.writes(B[vi, 0:3])"},
        RegionCase{"ClippedToTheShape",
                   "for a in range(10):\n    B[vi, vj] = T.if_then_else(a > 3, A[a - 4, 0], T.float32(0))",
                   "T.reads(A[0:6, 0])", "T.writes(B[vi, vj])"},
        RegionCase{"Indirect", "B[vi, vj] = A[rows[vi], vj]", "T.reads(A[rows[vi], vj], rows[vi])",
                   "T.writes(B[vi, vj])"},
        RegionCase{"LoopOfUnknownLength", "for a in range(m):\n    B[a, vj] = 0", "T.reads()", "T.writes(B[0:m, vj])"},
        RegionCase{"Vectors", "B[vi, 0:8] = A[vi, T.Ramp(1, 2, 8)]", "T.reads(A[vi, 1:16])", "T.writes(B[vi, 0:8])"},
        RegionCase{"LocalBuffers", "X = T.decl_buffer((4,), \"float32\")\nX[0] = A[vi, vj]\nB[vi, vj] = X[0]",
                   "T.reads(A[vi, vj])", "T.writes(B[vi, vj])"},
        RegionCase{"ChildBlocks",
                   "for a in range(4):\n    with T.block(\"inner\"):\n        va = T.axis.spatial(64, vi * 4 + a)\n    "
                   "    B[va, vj] = A[va, 63 - vj]",
                   "T.reads(A[vi * 4:vi * 4 + 4, 63 - vj])", "T.writes(B[vi * 4:vi * 4 + 4, vj])"},
        RegionCase{"Views",
                   "V = T.match_buffer(A[vi, 0:8], (1, 8))\nW = T.match_buffer(B[vi, 0:8], (1, 8))\nW[0, 1] = V[0, 2]",
                   "T.reads(A[vi, 2])", "T.writes(B[vi, 1])"},
        RegionCase{"OtherThanWritten", "T.reads()\nB[vi, vj] = A[vi, vj]", "T.reads()", "T.writes(B[vi, vj])"}),
    [](const auto& info) { return info.param.name; });

TEST(Complete, KeepsARootBlockThatIsThere) {
  const Stmt body = BlockRealize{{}, True(), Block(BlockNode{.name = "root", .body = Evaluate{0}})};
  EXPECT_TRUE(Complete(MakePrimFunc("f", {}, body)).body.same_as(body));
}

TEST(Complete, WrapsASingleBlockWithoutAxesUnlessItIsTheRoot) {
  const Stmt body = BlockRealize{{}, True(), Block(BlockNode{.name = "scalar", .body = Evaluate{0}})};
  const PrimFunc func = Complete(MakePrimFunc("f", {}, body));
  EXPECT_EQ(func.body.As<BlockRealize>()->block->name, "root");
  EXPECT_TRUE(func.body.As<BlockRealize>()->block->body.same_as(body));
  EXPECT_TRUE(Complete(MakePrimFunc("f", {}, body), {}, LoneBlock::kIsRoot).body.same_as(body));
}

TEST(WithUniqueBlockNames, NeverGivesANameThatTheTextHas) {
  const auto block = [](const char* name) -> Stmt {
    return BlockRealize{{}, True(), Block(BlockNode{.name = name, .body = Evaluate{0}})};
  };
  const PrimFunc func =
      WithUniqueBlockNames(Complete(MakePrimFunc("f", {}, Seq{{block("C"), block("C"), block("C_1"), block("C")}})));
  std::vector<std::string> names;
  for (const Stmt& stmt : func.body.As<BlockRealize>()->block->body.As<Seq>()->stmts)
    names.push_back(stmt.As<BlockRealize>()->block->name);
  EXPECT_THAT(names, testing::ElementsAre("C", "C_2", "C_1", "C_3"));
}

}  // namespace
}  // namespace lathe
