#include <gmock/gmock.h>

#include "compiler/ir/declare_buffers.h"
#include "compiler/ir/iter_bindings.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/structural_difference.h"
#include "compiler/ir/unrolled_stores.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// for i in 0..n { B[i] = A[i] + 1 }
PrimFunc AddOne(int n, const char* loop_name, const char* block_name = "add") {
  const Buffer a = MakeBuffer("A", {n}), b = MakeBuffer("B", {n});
  const Var i(loop_name), vi("v" + std::string(loop_name));
  BlockNode block{.name = block_name, .body = MakeStore(b, Load(a, {vi}) + 1, {vi})};
  block.iter_vars.push_back({{0, n}, vi, IterKind::kSpatial});
  block.reads.push_back({a, {{vi, 1}}});
  block.writes.push_back({b, {{vi, 1}}});
  BlockNode root{.name = "root", .body = MakeFor(i, n, BlockRealize{{i}, True(), Block(block)})};
  return MakePrimFunc("main", {a, b}, BlockRealize{{}, True(), Block(root)});
}

TEST(StructuralEqual, IgnoresNamesOfVariablesAndFunctions) {
  PrimFunc a = AddOne(16, "i"), b = AddOne(16, "j");
  b.name = "other";
  EXPECT_TRUE(StructuralEqual(a, b));
  EXPECT_EQ(StructuralHash(a), StructuralHash(b));
}

TEST(StructuralEqual, SeesShapesAndBlockNames) {
  EXPECT_FALSE(StructuralEqual(AddOne(16, "i"), AddOne(17, "i")));
  EXPECT_FALSE(StructuralEqual(AddOne(16, "i"), AddOne(16, "i", "plus")));
  EXPECT_NE(StructuralHash(AddOne(16, "i")), StructuralHash(AddOne(17, "i")));
}

TEST(StructuralEqual, DemandsThatVariablesCorrespondOneToOne) {
  const Var i("i"), j("j");
  const Buffer a = MakeBuffer("A", {8, 8});
  const auto nest = [&](const Expr& first, const Expr& second) {
    return MakeFor(i, 8, MakeFor(j, 8, MakeStore(a, FloatConst(DataType::Float(32), 0), {first, second})));
  };
  EXPECT_TRUE(StructuralEqual(nest(i, j), nest(i, j)));
  EXPECT_FALSE(StructuralEqual(nest(i, j), nest(j, i)));
  EXPECT_FALSE(StructuralEqual(nest(i, j), nest(i, i)));
}

// B, over the memory of A or of its own, is written.
PrimFunc WriteThroughB(bool is_alias) {
  const Buffer a = MakeBuffer("A", {4});
  BufferNode node = *MakeBuffer("B", {2, 2});
  if (is_alias) node.data = a->data;
  const Buffer b(std::move(node));
  const Stmt store = MakeStore(b, Load(a, {0}), {0, 0});
  return MakePrimFunc("main", {a}, is_alias ? Stmt(DeclBuffer{b, store}) : Stmt(AllocBuffer{b, store}));
}

TEST(MayAlias, IsSharedData) {
  const PrimFunc func = WriteThroughB(true);
  const Buffer &a = BufferParam(func, 0), &b = func.body.As<DeclBuffer>()->buffer;
  EXPECT_TRUE(MayAlias(a, b));
  EXPECT_TRUE(MayAlias(a, a));
  EXPECT_FALSE(MayAlias(a, MakeBuffer("A", {4})));
}

TEST(StructuralEqual, SeesWhichMemoryABufferLiesOver) {
  const Buffer a = MakeBuffer("A", {4}), b = MakeBuffer("B", {4});
  const auto over = [&](const Buffer& owner) {
    BufferNode node = *MakeBuffer("V", {4});
    node.data = owner->data;
    const Buffer view(std::move(node));
    return MakePrimFunc("main", {a, b}, DeclBuffer{view, MakeStore(view, FloatConst(DataType::Float(32), 0), {0})});
  };
  EXPECT_TRUE(StructuralEqual(over(a), over(a)));
  EXPECT_EQ(StructuralHash(over(a)), StructuralHash(over(a)));
  EXPECT_FALSE(StructuralEqual(over(a), over(b)));
  EXPECT_NE(StructuralHash(over(a)), StructuralHash(over(b)));
}

// i in 0..8 { Q[i] = 1; Q2[0] = 1 }, both over `memory`, which nothing declares.
Stmt WriteTwice(const Var& memory) {
  BufferNode node = *MakeBuffer("Q", {8});
  node.data = memory;
  const Buffer in_loop{BufferNode(node)}, behind{BufferNode(node)};
  const Expr one = FloatConst(DataType::Float(32), 1);
  const Var i("i");
  return MakeSeq({Evaluate{0}, MakeFor(i, 8, MakeStore(in_loop, one, {i})), MakeStore(behind, one, {0})});
}

TEST(DeclareBuffers, IsDoneInTheInnermostSuiteBeforeTheFirstUse) {
  const Var memory("q", MakePointerType(DataType::Float(32)));
  const PrimFunc func =
      MakePrimFunc("main", {}, Allocate{memory, DataType::Float(32), {8}, True(), {}, WriteTwice(memory)});
  const PrimFunc declared = DeclareBuffers(func);
  const Seq* suite = declared.body.As<Allocate>()->body.As<Seq>();
  ASSERT_NE(suite, nullptr);
  ASSERT_EQ(suite->stmts.size(), 3u);
  EXPECT_NE(suite->stmts[1].As<For>()->body.As<DeclBuffer>(), nullptr);
  const DeclBuffer* behind = suite->stmts[2].As<DeclBuffer>();
  ASSERT_NE(behind, nullptr);
  EXPECT_NE(behind->body.As<BufferStore>(), nullptr);
  EXPECT_TRUE(FindDeclarations(declared).added.empty());
}

TEST(DeclareBuffers, LeavesMemoryThatNothingIntroduces) {
  const Stmt body = WriteTwice(Var("q", MakePointerType(DataType::Float(32))));
  EXPECT_TRUE(DeclareBuffers(MakePrimFunc("main", {}, body)).body.same_as(body));
}

struct ExtentsCase {
  const char* name;
  std::vector<Expr> shape, strides, extents;
};
class SplitAllocBufferTest : public testing::TestWithParam<ExtentsCase> {};
TEST_P(SplitAllocBufferTest, AllocatesWhatTheBufferReachesAndIsUndone) {
  BufferNode node = *MakeBuffer("B", GetParam().shape);
  node.strides = GetParam().strides;
  const Stmt alloc = AllocBuffer{Buffer(std::move(node)), Evaluate{0}};
  const Stmt split = SplitAllocBuffers(alloc);
  const Allocate* memory = split.As<Allocate>();
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(ConstantShape(memory->extents), ConstantShape(GetParam().extents));
  EXPECT_NE(JoinAllocations(split).As<AllocBuffer>(), nullptr);
  EXPECT_FALSE(FirstDifference(split, alloc).has_value());
}
INSTANTIATE_TEST_SUITE_P(Strides, SplitAllocBufferTest,
                         testing::Values(ExtentsCase{"None", {4, 8}, {}, {4, 8}},
                                         ExtentsCase{"LongRows", {4, 8}, {13, 1}, {4, 13}},
                                         ExtentsCase{"ThreeDimensions", {2, 4, 8}, {60, 10, 1}, {2, 6, 10}},
                                         ExtentsCase{"NotWhole", {4, 8, 2}, {19, 2, 1}, {3 * 19 + 7 * 2 + 1 + 1}},
                                         ExtentsCase{"Gaps", {4}, {2}, {7}},
                                         ExtentsCase{"Overlap", {4, 8}, {2, 1}, {14}}),
                         [](const auto& info) { return info.param.name; });

TEST(JoinAllocations, LeavesMemoryThatIsOtherThanItsBuffer) {
  const Buffer buffer = MakeBuffer("B", {8});
  const auto memory = [&](std::vector<Expr> extents, Expr condition, AttrMap annotations) -> Stmt {
    return Allocate{buffer->data,         buffer->dtype,          std::move(extents),
                    std::move(condition), std::move(annotations), DeclBuffer{buffer, Evaluate{0}}};
  };
  EXPECT_NE(JoinAllocations(memory({8}, True(), {})).As<AllocBuffer>(), nullptr);
  EXPECT_NE(JoinAllocations(memory({9}, True(), {})).As<Allocate>(), nullptr);
  EXPECT_NE(JoinAllocations(memory({8}, IntConst(DataType::Bool(), 0), {})).As<Allocate>(), nullptr);
  EXPECT_NE(JoinAllocations(memory({8}, True(), {{"hint", 1}})).As<Allocate>(), nullptr);
}

TEST(Clone, KeepsAliasesAliases) {
  const PrimFunc before = WriteThroughB(true), after = Clone(before);
  EXPECT_TRUE(StructuralEqual(before, after));
  EXPECT_TRUE(MayAlias(BufferParam(after, 0), after.body.As<DeclBuffer>()->buffer));
  EXPECT_FALSE(MayAlias(BufferParam(after, 0), BufferParam(before, 0)));
  const Stmt body = Clone(before.body);  // Memory from outside stays.
  EXPECT_TRUE(MayAlias(BufferParam(before, 0), body.As<DeclBuffer>()->buffer));
}

TEST(Substitute, MovesADeclarationWithItsMemory) {
  const PrimFunc func = WriteThroughB(true);
  const Buffer other = MakeBuffer("other", {4});
  const Stmt body = Substitute(func.body, {}, {{BufferParam(func, 0).get(), other}});
  const DeclBuffer& declaration = *body.As<DeclBuffer>();
  EXPECT_TRUE(MayAlias(declaration.buffer, other));
  EXPECT_TRUE(declaration.body.As<BufferStore>()->buffer.same_as(declaration.buffer));
}

TEST(Substitute, GivesAnIntegerTheWidthOfTheVariable) {
  const DataType i32 = DataType::Int(32), i64 = DataType::Int(64);
  const Var x("x", i32), y("y", i64);
  const auto replaced = [&](const Expr& value) { return Substitute(Expr(x), {{x.get(), value}}); };
  EXPECT_TRUE(StructuralEqual(replaced(IntConst(i64, 7)), IntConst(i32, 7)));
  EXPECT_TRUE(StructuralEqual(replaced(y), MakeCast(i32, y)));
  const Expr large = IntConst(i64, int64_t{1} << 40);  // No int32: it wraps where it is evaluated.
  EXPECT_TRUE(StructuralEqual(replaced(large), MakeCast(i32, large)));
}

TEST(Clone, MakesNewVariablesAndBuffersOfTheSameStructure) {
  const PrimFunc before = AddOne(16, "i");
  const PrimFunc after = Clone(before);
  EXPECT_TRUE(StructuralEqual(before, after));
  EXPECT_FALSE(BufferParam(before, 0).same_as(BufferParam(after, 0)));
}

TEST(Mutator, ReturnsTheNodeItselfWhereNothingChanged) {
  const PrimFunc func = AddOne(16, "i");
  EXPECT_TRUE(Substitute(func.body, {}).same_as(func.body));
}

// Twice each value.
class Doubler : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    return stmt.As<Evaluate>() != nullptr ? MakeSeq({stmt, stmt}) : StmtExprMutator::VisitStmt(stmt);
  }
};

TEST(Mutator, SplicesTheStatementsThatOneBecame) {
  const Stmt two = MakeSeq({Evaluate{Expr(1)}, Evaluate{Expr(2)}});
  const Stmt four = MakeSeq({Evaluate{Expr(1)}, Evaluate{Expr(1)}, Evaluate{Expr(2)}, Evaluate{Expr(2)}});
  EXPECT_TRUE(StructuralEqual(Doubler()(two), four));
}

TEST(Ref, MutableCopiesOnlyWhatIsShared) {
  Stmt loop = MakeFor(Var("i"), 4, Evaluate{Expr(0)});
  const StmtNode* alone = loop.get();
  loop.Mutable<For>().kind = ForKind::kParallel;
  EXPECT_EQ(loop.get(), alone);
  const Stmt reader = loop;
  loop.Mutable<For>().kind = ForKind::kUnrolled;
  EXPECT_EQ(reader.As<For>()->kind, ForKind::kParallel);
  EXPECT_EQ(loop.As<For>()->kind, ForKind::kUnrolled);
}

struct FoldCase {
  const char* name;
  Expr actual;
  int64_t expected;
};
class FoldTest : public testing::TestWithParam<FoldCase> {};
TEST_P(FoldTest, GivesTheConstant) { EXPECT_EQ(*AsIntConst(GetParam().actual), GetParam().expected); }
INSTANTIATE_TEST_SUITE_P(
    Ints, FoldTest,
    testing::Values(
        FoldCase{"FloorDivRoundsDown", FloorDiv(-7, 2), -4}, FoldCase{"FloorModHasSignOfDivisor", FloorMod(-7, 2), 1},
        FoldCase{"TruncDivRoundsToZero", Expr(-7) / 2, -3},
        FoldCase{"Int8Wraps", IntConst(DataType::Int(8), 127) + IntConst(DataType::Int(8), 1), -128},
        FoldCase{"CompareGivesBool", Less(1, 2), 1},
        FoldCase{"UInt64DividesAllBits", FloorDiv(IntConst(DataType::UInt(64), -2), IntConst(DataType::UInt(64), 2)),
                 INT64_MAX},
        FoldCase{"UInt64TakesTheRestOfAllBits",
                 FloorMod(IntConst(DataType::UInt(64), -1), IntConst(DataType::UInt(64), 10)), 5},
        FoldCase{"UInt64DividesByTheLargest", IntConst(DataType::UInt(64), -1) / IntConst(DataType::UInt(64), -1), 1},
        FoldCase{"UInt64ComparesAllBits", Less(IntConst(DataType::UInt(64), -1), IntConst(DataType::UInt(64), 1)), 0},
        FoldCase{"UInt64MaxIsTheLargest", Max(IntConst(DataType::UInt(64), -1), IntConst(DataType::UInt(64), 1)), -1}),
    [](const auto& info) { return info.param.name; });

TEST(Fold, LeavesDivisionByZeroAlone) {
  for (const Expr& quotient :
       {FloorDiv(1, 0), FloorDiv(IntConst(DataType::UInt(64), 1), IntConst(DataType::UInt(64), 0))})
    EXPECT_NE(quotient.As<Binary>(), nullptr);
}

TEST(Expr, KnowsHowDeepItIsNested) {
  const Var i("i");
  const Buffer a = MakeBuffer("A", {8, 8});
  EXPECT_EQ(Expr(i).depth(), 1u);
  EXPECT_EQ(Expr(7).depth(), 1u);
  EXPECT_EQ(Load(a, {i + 1, 0}).depth(), 3u);
  EXPECT_EQ(MakeSelect(Less(i, 3), i, i * 2 + 1).depth(), 4u);
  const Reduce sum{{{}, {}, {}, {}}, {{{0, i + 1}, Var("k")}}, {Load(a, {i, i})}, {}, True(), 0};
  EXPECT_EQ(Expr::Make(DataType::Float(32), sum).depth(), 3u);
}

TEST(Expr, IsRefusedWhereItIsNestedTooDeep) {
  Expr e = Var("x", DataType::Float(32));
  while (e.depth() < kMaxProgramDepth) e = e + e;
  EXPECT_TRUE(CheckDepth(e).ok());
  EXPECT_EQ(CheckDepth(e + e).message(), "an expression is nested more than 4000 deep; split it up");
}

TEST(DataType, ReadsBackWhatItPrints) {
  for (const char* text : {"float32", "int8x16", "bool", "boolx4", "uint4", "bfloat16", "handle"}) {
    EXPECT_EQ(DataType::Parse(text)->ToString(), text);
  }
  EXPECT_THAT(DataType::Parse("float31").status().message(),
              testing::HasSubstr("read dtype \"float31\": unknown type"));
}

// unrolled i in 0..4 { if i < 2 { serial j in 0..8 { B[i] = 1 } } else { unrolled k in 0..n { B[i] = 2; B[i] = 3 } } }
TEST(CountUnrolledStores, CountsWhatIsWrittenOutAndNoIterations) {
  const Buffer b = MakeBuffer("B", {4});
  const Var i("i"), j("j"), k("k"), n("n");
  const Stmt once = MakeStore(b, 1, {i});
  const Stmt twice = Seq{{MakeStore(b, 2, {i}), MakeStore(b, 3, {i})}};
  const Stmt branch = IfThenElse{Less(i, 2), MakeFor(j, 8, once), MakeFor(k, n, twice, ForKind::kUnrolled)};
  EXPECT_EQ(CountUnrolledStores(MakeFor(i, 4, branch, ForKind::kUnrolled)), 4 * (1 + 2));
  EXPECT_EQ(CountUnrolledStores(MakeFor(i, 4, branch)), 1 + 2);
}

TEST(CountUnrolledStores, CountsInits) {
  const Buffer b = MakeBuffer("B", {4});
  const Var i("i"), vi("vi");
  BlockNode sum{.name = "sum", .init = MakeStore(b, 0, {vi}), .body = MakeStore(b, Load(b, {vi}) + 1, {vi})};
  sum.iter_vars.push_back({{0, 4}, vi, IterKind::kReduce});
  EXPECT_EQ(CountUnrolledStores(MakeFor(i, 4, BlockRealize{{i}, True(), Block(sum)}, ForKind::kUnrolled)), 8);
}

TEST(IterBindings, LeaveOutWhatHasNoPartner) {
  const Var i("i"), vi("vi"), vj("vj");
  BlockNode block{.name = "b", .body = Evaluate{0}};
  block.iter_vars = {{{0, 4}, vi, IterKind::kSpatial}, {{0, 4}, vj, IterKind::kSpatial}};
  const VarMap bindings = IterBindings({{i + 1}, True(), Block(block)});
  ASSERT_EQ(bindings.size(), 1);
  EXPECT_TRUE(StructuralEqual(bindings.at(vi.get()), i + 1));
  EXPECT_EQ(IterBindings({{i, i, i}, True(), Block(block)}).size(), 2);
}

}  // namespace
}  // namespace lathe
