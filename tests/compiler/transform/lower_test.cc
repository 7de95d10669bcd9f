#include "compiler/lower.h"

#include <gmock/gmock.h>

#include "compiler/interpreter/interpreter.h"
#include "compiler/interpreter/number.h"
#include "compiler/ir/structural.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "compiler/transform/verify.h"
#include "compiler/transform/widen_to_float64.h"
#include "tests/compiler/transform/test_programs.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::vector<Tensor> RandomArguments(const PrimFunc& func, Random random) {
  std::vector<Tensor> args;
  for (size_t p = 0; p < func.params.size(); ++p) {
    const Buffer& buffer = BufferParam(func, p);
    Tensor tensor = Tensor::Zeros(buffer->dtype, *ConstantShape(buffer->shape));
    tensor.data.resize(tensor.data.size() + 1024);  // Room for strides.
    const int bytes = buffer->dtype.bytes();
    for (size_t i = 0; i * bytes < tensor.data.size(); ++i) {
      const int64_t value = static_cast<int64_t>(random.Below(17)) - 8;
      StoreElement(buffer->dtype, buffer->dtype.is_float() ? Value{.f = value / 8.0} : Value{.i = value},
                   tensor.data.data() + i * bytes);
    }
    tensor.is_initialized = p + 1 < func.params.size();  // The last one is the output.
    args.push_back(std::move(tensor));
  }
  return args;
}

struct Family {
  const char* name;
  PrimFunc (*make)(Random&);
};
class LowerPropertyTest : public testing::TestWithParam<Family> {};

TEST_P(LowerPropertyTest, KeepsEveryBitAfterEachPass) {
  for (int seed = 0; seed < PropertyRuns(300); ++seed) {
    SCOPED_TRACE(testing::Message() << GetParam().name << " seed " << seed);
    Random random(seed);
    const PrimFunc func = GetParam().make(random);
    const std::vector<Tensor> before = RandomArguments(func, Random(seed));
    InterpreterOptions unplaced;  // Until allocations have been placed, what is private to an iteration looks shared.
    unplaced.check_races = false;
    std::vector<Tensor> expected = before;
    ASSERT_EQ(Interpret(func, expected, unplaced), OkStatus());
    std::string last_pass;
    LowerOptions options;
    options.observer = [&](std::string_view pass, const PrimFunc& after, double) {
      if (testing::Test::HasFailure()) return;
      std::vector<Tensor> actual = before;
      EXPECT_EQ(Interpret(after, actual), OkStatus()) << "after " << pass;
      for (size_t i = 0; i < actual.size(); ++i)
        EXPECT_TRUE(actual[i].data == expected[i].data) << "argument " << i << " after " << pass;
    };
    const StatusOr<PrimFunc> lowered = Lower(func, options);
    ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
    const StatusOr<PrimFunc> again = ParsePrimFunc(Print(*lowered), "lowered.py");
    ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << Print(*lowered);
    EXPECT_TRUE(StructuralEqual(*again, *lowered)) << Print(*lowered);
    if (testing::Test::HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, LowerPropertyTest,
                         testing::Values(Family{"Matmul", TiledMatmul}, Family{"Stencil", TiledStencil},
                                         Family{"PrefixSum", PrefixSum}, Family{"Views", TilesThroughViews}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(WidenToFloat64, ComputesWhatTheFloat64ModeComputes) {
  for (int seed = 0; seed < PropertyRuns(50); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const PrimFunc func = seed % 2 ? TiledMatmul(random) : TiledStencil(random);
    const PrimFunc wide = WidenToFloat64(func);
    EXPECT_EQ(VerifyWellFormed(wide), OkStatus());
    InterpreterOptions options;
    options.check_races = false;
    std::vector<Tensor> args = RandomArguments(func, Random(seed)), wide_args;
    for (size_t i = 0; i < args.size(); ++i) {
      const DataType type = BufferParam(wide, i)->dtype;
      wide_args.push_back(args[i]);
      if (type == args[i].dtype) continue;
      Tensor tensor = Tensor::Zeros(type, args[i].shape);
      const std::vector<double> values = args[i].ToDoubles();
      for (int64_t e = 0; e < tensor.NumElements(); ++e)
        StoreElement(type, {.f = values[e]}, tensor.data.data() + e * 8);
      wide_args.back() = tensor;
    }
    std::vector<Tensor> mode_args = wide_args;
    ASSERT_EQ(Interpret(wide, wide_args, options), OkStatus());
    options.float_mode = FloatMode::kFloat64;
    ASSERT_EQ(Interpret(func, mode_args, options), OkStatus());
    EXPECT_TRUE(wide_args.back().data == mode_args.back().data);
  }
}

// ---- What single passes owe.
template <typename T>
int Count(const Stmt& body) {
  int count = 0;
  PostOrderVisit(body, std::function<void(const Stmt&)>([&](const Stmt& stmt) { count += stmt.As<T>() != nullptr; }));
  return count;
}
std::vector<const AllocBuffer*> Allocations(const Stmt& body) {
  std::vector<const AllocBuffer*> found;
  PostOrderVisit(body, std::function<void(const Stmt&)>([&](const Stmt& stmt) {
                   if (const auto* a = stmt.As<AllocBuffer>()) found.push_back(a);
                 }));
  return found;
}

TEST(Lower, PutsTheTileOfAMatmulIntoTheTileLoops) {
  const int64_t n = 64, tile = 8;
  const Buffer a = MakeBuffer("A", {n, n}), c = MakeBuffer("C", {n, n}),
               acc = MakeBuffer("acc", {n, n}, DataType::Float(32), "register");
  const Var i0("i0"), j0("j0"), i1("i1"), j1("j1"), k("k"), vi("vi"), vj("vj"), vk("vk"), i2("i2"), j2("j2"), ci("ci"),
      cj("cj");
  BlockNode update{.name = "update", .body = MakeStore(acc, Load(acc, {vi, vj}) + Load(a, {vi, vk}), {vi, vj})};
  update.iter_vars = {Spatial(vi, n), Spatial(vj, n), Reduce(vk, n)};
  update.init = MakeStore(acc, FloatConst(DataType::Float(32), 0), {vi, vj});
  BlockNode copy{.name = "copy", .body = MakeStore(c, Load(acc, {ci, cj}), {ci, cj})};
  copy.iter_vars = {Spatial(ci, n), Spatial(cj, n)};
  const auto at = [&](const Var& outer, const Var& inner) { return outer * Expr(tile) + inner; };
  const Stmt compute =
      Loop(k, n, Loop(i1, tile, Loop(j1, tile, Realize(update, {at(i0, i1), at(j0, j1), k}), ForKind::kVectorized)));
  const Stmt back = Loop(i2, tile, Loop(j2, tile, Realize(copy, {at(i0, i2), at(j0, j2)}), ForKind::kVectorized));
  BlockNode root{.name = "root",
                 .body = Loop(i0, n / tile, Loop(j0, n / tile, MakeSeq({compute, back})), ForKind::kParallel)};
  root.alloc_buffers = {acc};
  const StatusOr<PrimFunc> lowered = Lower(MakePrimFunc("main", {a, c}, Realize(root, {})));
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  const auto allocations = Allocations(lowered->body);
  ASSERT_EQ(allocations.size(), 1u);
  EXPECT_TRUE(IsConstInt(allocations[0]->buffer->shape[0], tile * tile));
  EXPECT_EQ(Count<For>(allocations[0]->body),
            1);  // k: vectorized loops are gone, those over rows of registers unrolled.
}

// B[i0*16 + i1] = A[...] * 2 under i0*16 + i1 < 100, the inner loop of `kind`.
PrimFunc GuardedCopy(ForKind inner, ForKind outer = ForKind::kSerial) {
  const Buffer a = MakeBuffer("A", {100}), b = MakeBuffer("B", {100});
  const Var i0("i0"), i1("i1");
  const Expr at = i0 * 16 + i1;
  const Stmt body =
      IfThenElse{Less(at, 100), MakeStore(b, Load(a, {at}) * FloatConst(DataType::Float(32), 2), {at}), std::nullopt};
  return MakePrimFunc("main", {a, b}, Loop(i0, 7, Loop(i1, 16, body, inner), outer));
}

TEST(LoopPartition, LeavesTheMainPartWithoutGuard) {
  const PrimFunc after = *RunPass("loop_partition", GuardedCopy(ForKind::kSerial));
  const Seq* parts = after.body.As<Seq>();
  ASSERT_NE(parts, nullptr);
  EXPECT_TRUE(IsConstInt(parts->stmts[0].As<For>()->extent, 6));
  EXPECT_EQ(Count<IfThenElse>(parts->stmts[0]), 0);
  EXPECT_EQ(Count<IfThenElse>(parts->stmts[1]), 1);
}

TEST(LoopPartition, KeepsAParallelLoopWhole) {
  const PrimFunc after = *RunPass("loop_partition", GuardedCopy(ForKind::kSerial, ForKind::kParallel));
  const For* loop = after.body.As<For>();
  ASSERT_NE(loop, nullptr);
  const IfThenElse* choice = loop->body.As<IfThenElse>();
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(Count<IfThenElse>(choice->then_case), 0);
  EXPECT_EQ(Count<IfThenElse>(*choice->else_case), 1);
}

struct BorderCase {
  const char* name;
  const char *before, *after;
};
const BorderCase kBorderCases[] = {
    {"BothEnds",
     "    for y in range(8):\n"
     "        B[y] = T.if_then_else(1 <= y and y < 7, A[y - 1], T.float32(0.0))\n",
     "    for y in range(1):\n"
     "        B[y] = T.if_then_else(1 <= y and y < 7, A[y - 1], T.float32(0.0))\n"
     "    for y in range(6):\n"
     "        B[y + 1] = A[y + 1 - 1]\n"
     "    for y in range(1):\n"
     "        B[y + 6 + 1] = T.if_then_else(y + 6 + 1 < 7, A[y + 6 + 1 - 1], T.float32(0.0))\n"},
    // Each part of an outer loop has an inner one of its own.
    {"BothDimensions",
     "    for y, x in T.grid(4, 4):\n"
     "        C[y, x] = T.if_then_else(1 <= y and 1 <= x, A[y * 4 + x - 5], T.float32(0.0))\n",
     "    for y in range(1):\n"
     "        for x in range(1):\n"
     "            C[y, x] = T.if_then_else(1 <= y and 1 <= x, A[y * 4 + x - 5], T.float32(0.0))\n"
     "        for x in range(3):\n"
     "            C[y, x + 1] = T.if_then_else(1 <= y, A[y * 4 + (x + 1) - 5], T.float32(0.0))\n"
     "    for y in range(3):\n"
     "        for x in range(1):\n"
     "            C[y + 1, x] = T.if_then_else(1 <= x, A[(y + 1) * 4 + x - 5], T.float32(0.0))\n"
     "        for x in range(3):\n"
     "            C[y + 1, x + 1] = A[(y + 1) * 4 + (x + 1) - 5]\n"},
    {"NotWhereItHoldsForLessThanHalf",
     "    for y in range(8):\n"
     "        B[y] = T.if_then_else(5 <= y, A[y], T.float32(0.0))\n",
     "    for y in range(8):\n"
     "        B[y] = T.if_then_else(5 <= y, A[y], T.float32(0.0))\n"},
    {"NotInsideOfParallelLoops",
     "    for y in T.parallel(8):\n"
     "        B[y] = T.if_then_else(1 <= y, A[y - 1], T.float32(0.0))\n",
     "    for y in T.parallel(8):\n"
     "        B[y] = T.if_then_else(1 <= y, A[y - 1], T.float32(0.0))\n"},
    {"NotWhereItWouldBeMuchCode",
     "    for y in range(8):\n"
     "        for u in T.unroll(2001):\n"
     "            B[y] = T.if_then_else(1 <= y, A[u], T.float32(0.0))\n",
     "    for y in range(8):\n"
     "        for u in T.unroll(2001):\n"
     "            B[y] = T.if_then_else(1 <= y, A[u], T.float32(0.0))\n"}};
class LoopPartitionBorderTest : public testing::TestWithParam<BorderCase> {};
TEST_P(LoopPartitionBorderTest, SplitsWhereValuesAreGuarded) {
  const auto function = [](const char* body) {
    const std::string head =
        "@T.prim_func\ndef f(A: T.Buffer((4096,), \"float32\"), B: T.Buffer((8,), \"float32\"), C: T.Buffer((4, 4), "
        "\"float32\")):\n";
    const StatusOr<PrimFunc> parsed = ParsePrimFunc(head + body, "border.py");
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    return *parsed;
  };
  const PrimFunc after = *RunPass("loop_partition", function(GetParam().before));
  EXPECT_TRUE(StructuralEqual(after, function(GetParam().after))) << Print(after);
}
INSTANTIATE_TEST_SUITE_P(Cases, LoopPartitionBorderTest, testing::ValuesIn(kBorderCases),
                         [](const auto& info) { return info.param.name; });

TEST(VectorizeLoop, MasksLanesThatAGuardTurnsOff) {
  const PrimFunc after = *RunPass("vectorize_loop", GuardedCopy(ForKind::kVectorized));
  const IfThenElse* branch = after.body.As<For>()->body.As<IfThenElse>();
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(branch->condition.dtype(), DataType::Bool(16));
  const BufferStore* store = branch->then_case.As<BufferStore>();
  ASSERT_NE(store, nullptr);
  const Ramp* ramp = store->indices[0].As<Ramp>();
  ASSERT_NE(ramp, nullptr);
  EXPECT_TRUE(IsConstInt(ramp->stride, 1));
}

TEST(VectorizeLoop, RunsAReductionSerially) {
  const Buffer a = MakeBuffer("A", {8}), sum = MakeBuffer("S", {1});
  const Var k("k");
  const PrimFunc func = MakePrimFunc(
      "main", {a, sum}, Loop(k, 8, MakeStore(sum, Load(sum, {0}) + Load(a, {k}), {0}), ForKind::kVectorized));
  const PrimFunc after = *RunPass("vectorize_loop", func);
  ASSERT_NE(after.body.As<For>(), nullptr);
  EXPECT_EQ(after.body.As<For>()->kind, ForKind::kSerial);
}

TEST(VectorizeLoop, CastsOnceWhatIsTheSameInAllLanes) {  // (f*4 + v) // 4 is f.
  const Buffer a = MakeBuffer("A", {16}, DataType::Int(64)), b = MakeBuffer("B", {64}, DataType::BFloat());
  const Var f("f"), v("v");
  const Expr value = MakeCast(b->dtype, Load(a, {FloorDiv(f * 4 + v, 4)}));
  const Stmt lanes = Loop(v, 4, MakeStore(b, value, {f * 4 + v}), ForKind::kVectorized);
  const PrimFunc after = *RunPass("vectorize_loop", MakePrimFunc("main", {a, b}, Loop(f, 16, lanes)));
  const BufferStore* store = after.body.As<For>()->body.As<BufferStore>();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Print(store->value), "T.Broadcast(T.Cast(\"bfloat16\", A[f * 4 // 4]), 4)");
}

TEST(VectorizeLoop, TurnsFusedIndicesIntoRamps) {  // (f*4 + v) // 8 is the same in all lanes, (f*4 + v) % 8 contiguous.
  const Buffer a = MakeBuffer("A", {64}), b = MakeBuffer("B", {64});
  const Var f("f"), v("v");
  const Expr fused = f * 4 + v;
  const PrimFunc func =
      MakePrimFunc("main", {a, b},
                   Loop(f, 16,
                        Loop(v, 4, MakeStore(b, Load(a, {FloorDiv(fused, 8) * 8 + FloorMod(fused, 8)}), {fused}),
                             ForKind::kVectorized)));
  const PrimFunc after = *RunPass("vectorize_loop", func);
  const BufferStore* store = after.body.As<For>()->body.As<BufferStore>();
  ASSERT_NE(store, nullptr);
  const Ramp* ramp = store->value.As<BufferLoad>()->indices[0].As<Ramp>();
  ASSERT_NE(ramp, nullptr);
  EXPECT_TRUE(IsConstInt(ramp->stride, 1));
}

PrimFunc Nest(AttrMap annotations) {
  const Buffer b = MakeBuffer("B", {4, 8, 8});
  const Var i("i"), j("j"), k("k");
  const Stmt inner = Loop(j, 8, Loop(k, 8, MakeStore(b, FloatConst(DataType::Float(32), 1), {i, j, k})));
  return MakePrimFunc("main", {b}, Loop(i, 4, inner, ForKind::kSerial, std::move(annotations)));
}
TEST(UnrollLoop, UnrollsFromTheInsideUpToMaxStep) {
  const PrimFunc after =
      *RunPass("unroll_loop", Nest({{"pragma_auto_unroll_max_step", 64}, {"pragma_unroll_explicit", 1}}));
  EXPECT_EQ(Count<For>(after.body), 1);
  EXPECT_EQ(Count<BufferStore>(after.body), 64);
  EXPECT_TRUE(after.body.As<For>()->annotations.empty());
}
TEST(UnrollLoop, OnlyAnnotatesWithoutExplicit) {
  const PrimFunc after =
      *RunPass("unroll_loop", Nest({{"pragma_auto_unroll_max_step", 16}, {"pragma_unroll_explicit", 0}}));
  EXPECT_EQ(Count<For>(after.body), 3);
  EXPECT_EQ(Count<BufferStore>(after.body), 1);
  const For* innermost = after.body.As<For>()->body.As<For>()->body.As<For>();
  EXPECT_EQ(innermost->annotations.count("pragma_unroll"), 1u);
}

TEST(FlattenBuffer, CountsInInt64WhereInt32WouldOverflow) {
  const Buffer small = MakeBuffer("A", {1 << 10, 1 << 10}), large = MakeBuffer("B", {1 << 16, 1 << 16});
  const Var i("i"), j("j");
  const PrimFunc func =
      MakePrimFunc("main", {small, large}, Loop(i, 8, Loop(j, 8, MakeStore(large, Load(small, {i, j}), {i, j}))));
  const PrimFunc after = *RunPass("flatten_buffer", func);
  const BufferStore* store = after.body.As<For>()->body.As<For>()->body.As<BufferStore>();
  EXPECT_EQ(store->indices[0].dtype(), DataType::Int(64));
  EXPECT_EQ(store->value.As<BufferLoad>()->indices[0].dtype(), DataType::Int(32));
  EXPECT_EQ(BufferParam(after, 0)->shape.size(), 2u);
}

TEST(FlattenBuffer, LeavesScalarParametersAsOneElement) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), S: T.Buffer((), "float32")):
    for i in range(8):
        with T.block("sum"):
            vi = T.axis.reduce(8, i)
            with T.init():
                S[()] = T.float32(0)
            S[()] = S[()] + A[vi]
)",
                                                "sum.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const StatusOr<PrimFunc> lowered = Lower(*func);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  EXPECT_THAT(Print(*lowered), HasSubstr("S[0] = S[0] + A[i]"));
  std::vector<Tensor> args = {Tensor::FromDoubles(DataType::Float(32), {8}, {1, 2, 3, 4, 5, 6, 7, 8}),
                              Tensor::Uninitialized(DataType::Float(32), {})};
  ASSERT_EQ(Interpret(*lowered, args), OkStatus());
  EXPECT_EQ(args[1].ToDoubles(), std::vector<double>{36});
}

// What StorageRewrite leaves of a packed panel.
TEST(FlattenBuffer, TakesMemoryOfVectorsApart) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    P = T.decl_buffer((2, 2), "float32x4")
    for i in range(4):
        P[i // 2, i % 2] = A[i * 4:i * 4 + 4]
    for i in range(2):
        C[i * 8:i * 8 + 8] = P[i, 0:2]
)",
                                                "panel.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const PrimFunc flat = *RunPass("flatten_buffer", *func);
  EXPECT_THAT(Print(flat), HasSubstr("P = T.decl_buffer((16,), \"float32\")"));
  EXPECT_THAT(Print(flat), HasSubstr("P[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)]"));
  EXPECT_THAT(Print(flat), HasSubstr("C[T.Ramp(i * 8, 1, 8)] = P[T.Ramp(i * 2 * 4, 1, 8)]"));
}

TEST(FlattenBuffer, RefusesRegistersOfUnknownSize) {
  const Var n("n");
  const Buffer a = MakeBuffer("A", {n}), t = MakeBuffer("t", {n}, DataType::Float(32), "register");
  const PrimFunc func = MakePrimFunc("main", {a}, AllocBuffer{t, MakeStore(t, Load(a, {0}), {0})});
  EXPECT_THAT(RunPass("flatten_buffer", func).status().message(),
              HasSubstr("flatten_buffer \"t\": a buffer of scope register needs a constant size"));
}

// What a declared buffer sees keeps its size, its place and its order.
TEST(Lower, LeavesMemoryThatIsSeenTwiceAsItIs) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((32,), "float32")):
    W = T.alloc_buffer((4, 8), "float32")
    F = T.decl_buffer((24,), "float32", data=W.data, elem_offset=8)
    for i, j in T.grid(4, 8):
        with T.block("w"):
            vi, vj = T.axis.remap("SS", [i, j])
            W[vi, vj] = A[vi, vj]
    for i in range(24):
        with T.block("b"):
            vi = T.axis.spatial(24, i)
            B[vi] = F[vi]
    for i in range(8):
        with T.block("rest"):
            vi = T.axis.spatial(8, i)
            B[vi + 24] = F[vi] + W[0, 0]
)",
                                                "alias.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const std::vector<Tensor> before = RandomArguments(*func, Random(1));
  std::vector<Tensor> expected = before, actual = before;
  ASSERT_EQ(Interpret(*func, expected), OkStatus());
  const StatusOr<PrimFunc> lowered = Lower(*func);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  ASSERT_EQ(VerifyLowered(*lowered), OkStatus());
  EXPECT_THAT(Print(*lowered), HasSubstr("F = T.decl_buffer((32,), \"float32\", data=W.data)"));
  EXPECT_THAT(Print(*lowered), HasSubstr("B[i_1] = F[i_1 + 8]"));
  ASSERT_EQ(Interpret(*lowered, actual), OkStatus());
  EXPECT_EQ(actual[1].ToDoubles(), expected[1].ToDoubles());
}

TEST(HoistIfThenElse, TakesOnlyWhatTheLoopDoesNotName) {
  const Buffer b = MakeBuffer("B", {8, 8});
  const Var i("i"), j("j");
  const Stmt guarded =
      IfThenElse{And(Less(i, 5), Less(j, 3)), MakeStore(b, FloatConst(DataType::Float(32), 1), {i, j}), std::nullopt};
  const PrimFunc after =
      *RunPass("insert_hoist_if_then_else", MakePrimFunc("main", {b}, Loop(i, 8, Loop(j, 8, guarded))));
  const IfThenElse* outer = after.body.As<For>()->body.As<IfThenElse>();
  ASSERT_NE(outer, nullptr);
  EXPECT_NE(outer->then_case.As<For>()->body.As<IfThenElse>(), nullptr);
}

TEST(RunPass, ListsTheNamesThereAre) {
  EXPECT_THAT(RunPass("magic", Nest({})).status().message(),
              HasSubstr("run pass \"magic\": no such pass; known: plan_and_update"));
}

// ---- Well-formedness.
struct IllFormedCase {
  const char* name;
  std::function<Stmt(const Buffer& a)> body;
  const char* message;
};
class VerifyTest : public testing::TestWithParam<IllFormedCase> {};
TEST_P(VerifyTest, SaysWhatIsWrong) {
  const Buffer a = MakeBuffer("A", {8, 8});
  EXPECT_THAT(VerifyWellFormed(MakePrimFunc("main", {a}, GetParam().body(a))).message(), HasSubstr(GetParam().message));
}
const Expr kOne = FloatConst(DataType::Float(32), 1);
INSTANTIATE_TEST_SUITE_P(
    All, VerifyTest,
    testing::Values(
        IllFormedCase{"FreeVariable", [](const Buffer& a) { return MakeStore(a, kOne, {Var("q"), 0}); },
                      "verify @main: variable \"q\" is used where it is not defined"},
        IllFormedCase{"FreeBuffer", [](const Buffer&) { return MakeStore(MakeBuffer("X", {2}), kOne, {0}); },
                      "buffer \"X\" is used where it is not defined"},
        IllFormedCase{"VariableTwice",
                      [](const Buffer& a) {
                        const Var i("i");
                        return Loop(i, 2, Loop(i, 2, MakeStore(a, kOne, {i, i})));
                      },
                      "variable \"i\" is defined twice"},
        IllFormedCase{"WrongType", [](const Buffer& a) { return MakeStore(a, Expr(1), {0, 0}); },
                      "\"A\" takes float32, int32 is stored"},
        IllFormedCase{"TooManyIndices", [](const Buffer& a) { return Stmt(BufferStore{a, kOne, {0, 0, 0}}); },
                      "buffer \"A\" has 2 dimensions, 3 indices"},
        IllFormedCase{"IterVarWithoutValue",
                      [](const Buffer& a) {
                        BlockNode block{.name = "b", .body = MakeStore(a, kOne, {0, 0})};
                        block.iter_vars = {Spatial(Var("v"), 2)};
                        return Realize(block, {});
                      },
                      "verify @main block \"b\": 1 iter vars, 0 values"},
        IllFormedCase{"MemoryOfNobody",
                      [](const Buffer&) {
                        BufferNode node = *MakeBuffer("V", {8});
                        node.data = Var("p", DataType::Handle());
                        return Stmt(DeclBuffer{Buffer(node), Evaluate{0}});
                      },
                      "variable \"p\" is used where it is not defined"},
        IllFormedCase{"AllocationOfMemoryThatIsThere",
                      [](const Buffer& a) {
                        BufferNode node = *MakeBuffer("V", {8});
                        node.data = a->data;
                        return Stmt(AllocBuffer{Buffer(node), Evaluate{0}});
                      },
                      "variable \"A\" is defined twice"},
        IllFormedCase{
            "IntCondition",
            [](const Buffer& a) { return Stmt(IfThenElse{Expr(1), MakeStore(a, kOne, {0, 0}), std::nullopt}); },
            "a condition of type int32"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lathe
