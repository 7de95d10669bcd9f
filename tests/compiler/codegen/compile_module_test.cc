#include "compiler/codegen/llvm/compile_module.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/codegen/llvm/link.h"
#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "tests/compiler/codegen/loaded_kernels.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Target HostTarget() { return *Target::Parse("auto"); }

PrimFunc Func(std::vector<Param> params, Stmt body) { return MakePrimFunc("main", std::move(params), std::move(body)); }

// Compiles, runs on `buffers`, and demands that everything went well.
void RunKernel(const PrimFunc& func, std::vector<void*> buffers, std::vector<int64_t> scalars = {},
               TestContext* context = nullptr, int32_t code = 0) {
  TestContext own;
  if (context == nullptr) context = &own;
  const StatusOr<LoadedKernels> kernels = LoadedKernels::Make({&func, 1}, HostTarget());
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  const LatheKernel kernel = kernels->Find(0, "main");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel(&context->context, buffers.data(), scalars.data()), code) << context->failure;
  EXPECT_EQ(context->live_workspaces, 0);
}

std::string ErrorOf(const PrimFunc& func) { return CompileModule({&func, 1}, {}, HostTarget()).status().message(); }

struct Io {  // One input, one output of n elements.
  explicit Io(int n, DataType in = DataType::Float(32), DataType out = DataType::Float(32))
      : a(MakeBuffer("A", {n}, in)), b(MakeBuffer("B", {n}, out)) {}
  Buffer a, b;
  Var i{"i"};
};

TEST(CompileModuleTest, RunsSerialLoops) {
  Io io(10);
  RunKernel(Func({}, Evaluate{0}), {});
  AlignedArray<float> a(10), b(10);
  for (int i = 0; i < 10; ++i) a[i] = static_cast<float>(i);
  RunKernel(Func({io.a, io.b}, MakeFor(io.i, 10,
                                       MakeStore(io.b,
                                                 Load(io.a, {io.i}) * FloatConst(DataType::Float(32), 2) +
                                                     FloatConst(DataType::Float(32), 1),
                                                 {io.i}))),
            {a.data(), b.data()});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(b[i], 2.0f * i + 1);
}

TEST(CompileModuleTest, RunsLoopsWithRunTimeExtents) {
  Var n("n"), i("i");
  const Buffer a = MakeBuffer("A", {n}), b = MakeBuffer("B", {n});
  const PrimFunc func = Func({a, b}, MakeFor(i, n, MakeStore(b, Load(a, {i}), {i})));
  AlignedArray<float> x(8, 3), y(8, 7);
  RunKernel(func, {x.data(), y.data()}, {5});
  EXPECT_EQ(y[4], 3);
  EXPECT_EQ(y[5], 7);
  RunKernel(func, {x.data(), y.data()}, {0});
}

TEST(CompileModuleTest, RunsParallelLoopsThroughTheContext) {
  Var i("i"), j("j"), scale("scale", DataType::Float(32));
  const Buffer a = MakeBuffer("A", {7, 5}), b = MakeBuffer("B", {7, 5});
  Stmt inner =
      MakeFor(j, 5, MakeStore(b, Load(a, {i, j}) * scale, {i, j}), ForKind::kParallel);  // The inner one runs serially.
  AlignedArray<float> x(35), y(35);
  for (int k = 0; k < 35; ++k) x[k] = static_cast<float>(k);
  TestContext context;
  int64_t bits = 0;
  const float half = 0.5f;
  std::memcpy(&bits, &half, 4);
  RunKernel(Func({a, b, scale}, MakeFor(i, 7, inner, ForKind::kParallel)), {x.data(), y.data()}, {bits}, &context);
  for (int k = 0; k < 35; ++k) EXPECT_EQ(y[k], 0.5f * k);
  EXPECT_EQ(context.num_parallel, 1);
}

TEST(CompileModuleTest, ReturnsTheErrorOfAParallelBody) {
  Var i("i");
  const Buffer b = MakeBuffer("B", {10}), work = MakeBuffer("W", {20000});
  AlignedArray<float> y(10);
  TestContext context;
  const Stmt body = AssertStmt{Less(i, 4), "i is below 4", MakeStore(b, FloatConst(DataType::Float(32), 1), {i})};
  RunKernel(
      Func({b}, AllocBuffer{work, MakeFor(i, 10, AllocBuffer{MakeBuffer("V", {20000}), body}, ForKind::kParallel)}),
      {y.data()}, {}, &context, LATHE_KERNEL_ASSERT);
  EXPECT_EQ(context.failure, "kernel main: i is below 4");
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], 0);
}

TEST(CompileModuleTest, TakesLargeBuffersFromTheWorkspace) {
  Io io(4);
  const Buffer work = MakeBuffer("W", {100, 100});
  Var j("j"), k("k");
  const Stmt fill =
      MakeFor(j, 100, MakeFor(k, 100, MakeStore(work, MakeCast(DataType::Float(32), j * 100 + k), {j, k})));
  const Stmt read = MakeFor(io.i, 4, MakeStore(io.b, Load(work, {io.i * 30 + 5, 7}), {io.i}));
  const PrimFunc func = Func({io.b}, AllocBuffer{work, MakeSeq({fill, read})});
  AlignedArray<float> b(4);
  TestContext context;
  RunKernel(func, {b.data()}, {}, &context);
  EXPECT_THAT(std::vector<float>(b.begin(), b.end()), ElementsAre(507, 3507, 6507, 9507));
  EXPECT_EQ(context.workspace_bytes, 40000u);
  context.refuses_workspace = true;
  RunKernel(func, {b.data()}, {}, &context, LATHE_KERNEL_NO_WORKSPACE);
  EXPECT_EQ(context.failure, "kernel main: no workspace memory for buffer \"W\"");
}

// The load through A must see the store through V, outside of a parallel loop and in it, and V starts at its offset.
TEST(CompileModuleTest, LetsBuffersOverOneMemoryAlias) {
  for (const ForKind kind : {ForKind::kSerial, ForKind::kParallel}) {
    Var i("i");
    const Buffer a = MakeBuffer("A", {8}), b = MakeBuffer("B", {4});
    BufferNode node = *MakeBuffer("V", {8});
    node.data = a->data;
    const Buffer view(std::move(node));
    const Expr two = FloatConst(DataType::Float(32), 2);
    const Stmt body = MakeSeq({MakeStore(b, Load(a, {i + 4}), {i}), MakeStore(view, Load(b, {i}) + two, {i + 4}),
                               MakeStore(b, Load(a, {i + 4}), {i})});
    const PrimFunc outside = Func({a, b}, DeclBuffer{view, MakeFor(i, 4, body, kind)});
    const PrimFunc inside = Func({a, b}, MakeFor(i, 4, DeclBuffer{view, body}, kind));
    for (const PrimFunc& func : {outside, inside}) {
      AlignedArray<float> x(8), y(4);
      for (int k = 0; k < 8; ++k) x[k] = static_cast<float>(k);
      RunKernel(func, {x.data(), y.data()});
      EXPECT_THAT(std::vector<float>(y.begin(), y.end()), ElementsAre(6, 7, 8, 9));
      EXPECT_THAT(std::vector<float>(x.begin(), x.end()), ElementsAre(0, 1, 2, 3, 6, 7, 8, 9));
    }
  }
}

TEST(CompileModuleTest, RefusesWhatItDoesNotKnowByName) {
  const auto text = [](const char* value) { return Expr::Make(DataType::Handle(), StringImm{value}); };
  const auto error = [](const Stmt& body) { return ErrorOf(Func({}, body)); };
  EXPECT_THAT(error(Evaluate{MakeCall(DataType::Int(32), "call_extern", {text("puts"), Expr(1)})}),
              HasSubstr("no code for T.call_extern(\"puts\")"));
  EXPECT_THAT(error(Evaluate{MakeCall(DataType::Void(), "ptx_commit_group", {})}),
              HasSubstr("no code for T.ptx_commit_group"));
  EXPECT_THAT(error(Evaluate{Expr::Make(DataType::Int(32), FuncCall{"g", {}})}),
              HasSubstr("a call of function \"g\"; a kernel has no undefined symbol"));
  EXPECT_THAT(error(AttrStmt{"async_scope", Expr(1), Attr(0), Evaluate{0}}),
              HasSubstr("attribute \"async_scope\" means nothing to a CPU kernel"));
}

TEST(CompileModuleTest, MasksPredicatedAccesses) {
  const Buffer a = MakeBuffer("A", {4}), b = MakeBuffer("B", {4});
  const Expr lanes = Expr::Make(DataType::Int(32, 4), Ramp{0, 1, 4});
  const Expr low = MakeBinary(BinaryOp::kLT, lanes, Expr::Make(DataType::Int(32, 4), Broadcast{2, 4}));
  const Expr load = Expr::Make(DataType::Float(32, 4), BufferLoad{a, {lanes}, low});
  AlignedArray<float> x(4, 3), y(4, 7);
  RunKernel(Func({a, b}, MakeSeq({BufferStore{b, load, {lanes}, low}, BufferStore{a, load, {lanes}, std::nullopt}})),
            {x.data(), y.data()});
  EXPECT_THAT(std::vector<float>(y.begin(), y.end()), ElementsAre(3, 3, 7, 7));
  EXPECT_THAT(std::vector<float>(x.begin(), x.end()), ElementsAre(3, 3, 0, 0));
}

TEST(CompileModuleTest, NamesABufferOverMemoryOfNobody) {
  BufferNode node = *MakeBuffer("V", {8});
  node.data = Var("p", DataType::Handle());
  EXPECT_THAT(ErrorOf(Func({}, DeclBuffer{Buffer(node), Evaluate{0}})),
              HasSubstr("codegen @main: buffer \"V\" lies over \"p\", which is the data of no buffer"));
}

TEST(CompileModuleTest, KeepsSmallBuffersOnTheStack) {
  Io io(4);
  const Buffer work = MakeBuffer("W", {4});
  Var j("j");
  const Stmt body = MakeSeq({MakeFor(j, 4, MakeStore(work, Load(io.a, {3 - j}), {j})),
                             MakeFor(io.i, 4, MakeStore(io.b, Load(work, {io.i}), {io.i}))});
  AlignedArray<float> a(4), b(4);
  for (int i = 0; i < 4; ++i) a[i] = static_cast<float>(i);
  TestContext context;
  RunKernel(Func({io.a, io.b}, AllocBuffer{work, body}), {a.data(), b.data()}, {}, &context);
  EXPECT_THAT(std::vector<float>(b.begin(), b.end()), ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(context.workspace_bytes, 0u);
}

TEST(CompileModuleTest, RunsBranchesLetsAndWhile) {
  Io io(6, DataType::Int(32), DataType::Int(32));
  Var half("half");
  const Stmt branch =
      IfThenElse{Less(io.i, 3), MakeStore(io.b, half, {io.i}), Stmt(MakeStore(io.b, half * -1, {io.i}))};
  AlignedArray<int32_t> a(6), b(6);
  RunKernel(Func({io.a, io.b}, MakeFor(io.i, 6, LetStmt{FloorDiv(io.i * 3, 2), half, branch})), {a.data(), b.data()});
  EXPECT_THAT(std::vector<int32_t>(b.begin(), b.end()), ElementsAre(0, 1, 3, -4, -6, -7));
  const Stmt count = While{Less(Load(io.b, {0}), 10), MakeStore(io.b, Load(io.b, {0}) + 3, {0})};
  RunKernel(Func({io.b}, count), {b.data()});
  EXPECT_EQ(b[0], 12);
}

TEST(CompileModuleTest, DividesWithTheSignRulesOfTensorIr) {
  Io io(8, DataType::Int(32), DataType::Int(32));
  const Expr x = Load(io.a, {io.i}), d = Load(io.b, {io.i});
  const Buffer out = MakeBuffer("C", {8, 4}, DataType::Int(32));
  const Stmt body = MakeSeq({MakeStore(out, FloorDiv(x, d), {io.i, 0}), MakeStore(out, FloorMod(x, d), {io.i, 1}),
                             MakeStore(out, MakeBinary(BinaryOp::kDiv, x, d), {io.i, 2}),
                             MakeStore(out, MakeBinary(BinaryOp::kTruncMod, x, d), {io.i, 3})});
  AlignedArray<int32_t> a(8), b(8), c(32);
  for (int i = 0; i < 8; ++i) a[i] = (i % 2 == 0 ? 7 : -7) + i / 4, b[i] = i % 4 < 2 ? 3 : -3;
  RunKernel(Func({io.a, io.b, out}, MakeFor(io.i, 8, body)), {a.data(), b.data(), c.data()});
  for (int i = 0; i < 8; ++i) {
    const int floor_quotient = static_cast<int>(std::floor(static_cast<double>(a[i]) / b[i]));
    EXPECT_EQ(c[4 * i], floor_quotient);
    EXPECT_EQ(c[4 * i + 1], a[i] - floor_quotient * b[i]);
    EXPECT_EQ(c[4 * i + 2], a[i] / b[i]);
    EXPECT_EQ(c[4 * i + 3], a[i] % b[i]);
  }
}

TEST(CompileModuleTest, AddressesNegativeIndexPartsByFloor) {
  Io io(6, DataType::Int(32), DataType::Int(32));
  AlignedArray<int32_t> a(6), b(6);
  for (int i = 0; i < 6; ++i) a[i] = 10 * i;
  // (i - 3) // 2 + 2 is 0 0 1 2 2 3? no: floor(-3/2) = -2, -1, -1, 0, 0, 1.
  RunKernel(Func({io.a, io.b},
                 MakeFor(io.i, 6, MakeStore(io.b, Load(io.a, {FloorDiv(io.i - 3, 2) + 2}), {FloorMod(io.i - 2, 6)}))),
            {a.data(), b.data()});
  EXPECT_THAT(std::vector<int32_t>(b.begin(), b.end()), ElementsAre(10, 20, 20, 30, 0, 10));
}

TEST(CompileModuleTest, WrapsIntegersAsTheirTypeSays) {
  Io io(1, DataType::Int(32), DataType::Int(8));
  AlignedArray<int32_t> a(1, 2147483647);
  AlignedArray<int8_t> b(1);
  const Buffer c = MakeBuffer("C", {1}, DataType::Int(32));
  AlignedArray<int32_t> sum(1);
  RunKernel(Func({io.a, io.b, c}, MakeSeq({MakeStore(c, Load(io.a, {0}) + 1, {0}),
                                           MakeStore(io.b, MakeCast(DataType::Int(8), Load(io.a, {0}) - 55), {0})})),
            {a.data(), b.data(), sum.data()});
  EXPECT_EQ(sum[0], -2147483647 - 1);
  EXPECT_EQ(b[0], static_cast<int8_t>(2147483647 - 55));
}

TEST(CompileModuleTest, RunsVectorLoadsStoresAndBroadcasts) {
  const DataType f8 = DataType::Float(32, 8);
  Io io(32);
  const auto ramp = [&](Expr base, int stride) { return Expr::Make(DataType::Int(32, 8), Ramp{base, stride, 8}); };
  const Expr scalar = Expr::Make(f8, Broadcast{Load(io.a, {31}), 8});
  const Expr lhs = Expr::Make(f8, BufferLoad{io.a, {ramp(io.i * 8, 1)}});
  const Expr reversed = Expr::Make(f8, BufferLoad{io.a, {ramp(io.i * 8 + 7, -1)}});
  AlignedArray<float> a(32), b(32);
  for (int i = 0; i < 32; ++i) a[i] = static_cast<float>(i);
  RunKernel(Func({io.a, io.b}, MakeFor(io.i, 4, MakeStore(io.b, lhs * scalar + reversed, {ramp(io.i * 8, 1)}))),
            {a.data(), b.data()});
  for (int i = 0; i < 32; ++i) EXPECT_EQ(b[i], 31.0f * i + (i / 8 * 8 + 7 - i % 8));
  RunKernel(Func({io.a, io.b}, LetStmt{0, io.i, MakeStore(io.b, lhs, {ramp(0, 4)})}), {a.data(), b.data()});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(b[4 * i], static_cast<float>(i));
}

TEST(CompileModuleTest, MasksLanesOfVectorConditions) {
  const DataType f8 = DataType::Float(32, 8);
  Io io(5);
  const Expr lanes = Expr::Make(DataType::Int(32, 8), Ramp{0, 1, 8});
  const Expr inside = Less(lanes, Expr::Make(DataType::Int(32, 8), Broadcast{5, 8}));
  const Expr value =
      MakeCall(f8, "if_then_else", {inside, Expr::Make(f8, BufferLoad{io.a, {lanes}}), FloatConst(f8, -1)});
  const Buffer wide = MakeBuffer("C", {8});
  AlignedArray<float> a(5, 4), b(8, 9), c(8);
  RunKernel(Func({io.a, io.b, wide},
                 MakeSeq({MakeStore(wide, value, {lanes}),
                          IfThenElse{inside, MakeStore(io.b, Expr::Make(f8, BufferLoad{wide, {lanes}}), {lanes})}})),
            {a.data(), b.data(), c.data()});
  EXPECT_THAT(std::vector<float>(c.begin(), c.end()), ElementsAre(4, 4, 4, 4, 4, -1, -1, -1));
  EXPECT_THAT(std::vector<float>(b.begin(), b.end()), ElementsAre(4, 4, 4, 4, 4, 9, 9, 9));
}

// What is divided by in lanes that are off is 0 there; so is n where all of them are.
TEST(CompileModuleTest, DividesInTheLanesThatAreOn) {
  constexpr char kText[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), n: T.int32):
    if B[T.Ramp(0, 1, 8)] != T.Broadcast(0, 8):
        C[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)] // B[T.Ramp(0, 1, 8)]
    if T.Ramp(0, 1, 8) < T.Broadcast(n, 8):
        x: T.int32 = 7 // n
        C[T.Ramp(0, 1, 8)] = C[T.Ramp(0, 1, 8)] + T.Broadcast(x, 8)
    if B[T.Ramp(0, 1, 8)] != T.Broadcast(0, 8) and T.truncmod(A[T.Ramp(0, 1, 8)], B[T.Ramp(0, 1, 8)]) == T.Broadcast(0, 8):
        C[T.Ramp(0, 1, 8)] = C[T.Ramp(0, 1, 8)] + T.Broadcast(100, 8)
)";
  const StatusOr<PrimFunc> func = ParsePrimFunc(kText, "test");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  AlignedArray<int32_t> a(8), b(8), c(8, -1);
  for (int i = 0; i < 8; ++i) a[i] = 3 * i, b[i] = i % 2 * 2;
  RunKernel(*func, {a.data(), b.data(), c.data()}, {0});
  EXPECT_THAT(std::vector<int32_t>(c.begin(), c.end()), ElementsAre(-1, 1, -1, 4, -1, 7, -1, 10));
  RunKernel(*func, {a.data(), b.data(), c.data()}, {2});
  EXPECT_THAT(std::vector<int32_t>(c.begin(), c.end()), ElementsAre(2, 4, -1, 4, -1, 7, -1, 10));
}

TEST(CompileModuleTest, MasksWhatThreadsDoInsideOfACondition) {  // Seed 11029131.
  constexpr char kText[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), n: T.int32):
    if T.Ramp(0, 1, 8) < T.Broadcast(n, 8):
        for i in T.parallel(4):
            A[i, T.Ramp(0, 1, 8)] = T.Broadcast(i, 8)
)";
  const StatusOr<PrimFunc> func = ParsePrimFunc(kText, "test");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  AlignedArray<int32_t> a(32, -1);
  RunKernel(*func, {a.data()}, {2});
  for (int i = 0; i < 32; ++i) EXPECT_EQ(a[i], i % 8 < 2 ? i / 8 : -1) << i;
}

// Lanes that are off lie behind the tile.
TEST(CompileModuleTest, TilesMayEndWithinAVector) {
  constexpr char kText[] = R"(
@T.prim_func
def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32"), n: T.int32):
    tile = T.allocate([10], "float32", "register")
    acc = T.decl_buffer((10,), data=tile, scope="register")
    acc[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)]
    if T.Ramp(0, 1, 8) < T.Broadcast(2, 8):
        acc[T.Ramp(8, 1, 8)] = A[T.Ramp(8, 1, 8)]
    for i in range(n):
        acc[T.Ramp(0, 1, 8)] = acc[T.Ramp(0, 1, 8)] + T.Broadcast(T.float32(1), 8)
        if T.Ramp(0, 1, 8) < T.Broadcast(2, 8):
            acc[T.Ramp(8, 1, 8)] = acc[T.Ramp(8, 1, 8)] + T.Broadcast(T.float32(1), 8)
    B[T.Ramp(0, 1, 8)] = acc[T.Ramp(0, 1, 8)]
    if T.Ramp(0, 1, 8) < T.Broadcast(2, 8):
        B[T.Ramp(8, 1, 8)] = acc[T.Ramp(8, 1, 8)]
)";
  const StatusOr<PrimFunc> func = ParsePrimFunc(kText, "test");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  AlignedArray<float> a(10), b(10, -1);
  for (int i = 0; i < 10; ++i) a[i] = static_cast<float>(i);
  RunKernel(*func, {a.data(), b.data()}, {5});
  EXPECT_THAT(std::vector<float>(b.begin(), b.end()), ElementsAre(5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
}

// Lanes that are off may lie anywhere: what keeps a tile in memory is refused, not read.
TEST(CompileModuleTest, RefusesTilesWithLanesInFrontOfThem) {
  constexpr char kText[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    tile = T.allocate([8], "float32", "register")
    acc = T.decl_buffer((8,), data=tile, scope="register")
    acc[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)]
    if T.Ramp(0, 1, 8) > T.Broadcast(3, 8):
        C[T.Ramp(0, 1, 8)] = acc[T.Ramp(-4, 1, 8)]
)";
  const StatusOr<PrimFunc> func = ParsePrimFunc(kText, "test");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  EXPECT_THAT(ErrorOf(*func), HasSubstr("register tile \"tile\" stays in memory"));
}

// Lanes that code generation adds to fill a register have places, too (LLVM 19: an instruction that is none).
TEST(CompileModuleTest, GathersLanesWhoseNumberIsNoPowerOfTwo) {
  constexpr char kText[] = R"(
@T.prim_func
def main(A: T.Buffer((6,), "float16"), B: T.Buffer((8,), "int64"), C: T.Buffer((20,), "int32"), n: T.int32):
    if T.Cast("int32x20", A[T.Ramp(0, 1, 20) // T.Broadcast(4, 20) + T.Broadcast(1, 20)]) < T.Broadcast(0, 20):
        C[T.Ramp(0, 1, 20)] = T.Cast("int32x20", B[T.min(T.Ramp(0, 1, 20) // T.Broadcast(4, 20), T.Broadcast(n - 1, 20))]) * T.Broadcast(3, 20)
    else:
        C[T.Ramp(0, 1, 20)] = T.Select(T.Cast("int32x20", B[T.min(T.Ramp(0, 1, 20) // T.Broadcast(4, 20), T.Broadcast(n - 1, 20))]) < T.Broadcast(2, 20), T.Broadcast(2, 20), T.Cast("int32x20", B[T.min(T.Ramp(0, 1, 20) // T.Broadcast(4, 20), T.Broadcast(n - 1, 20))]))
)";
  const StatusOr<PrimFunc> func = ParsePrimFunc(kText, "test");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  AlignedArray<uint16_t> a(6, 0);
  AlignedArray<int64_t> b(8);
  AlignedArray<int32_t> c(20);
  a[3] = 0xc000;  // -2
  for (int i = 0; i < 8; ++i) b[i] = 10 * i;
  RunKernel(*func, {a.data(), b.data(), c.data()}, {4});
  EXPECT_THAT(std::vector<int32_t>(c.begin(), c.end()),
              ElementsAre(2, 2, 2, 2, 10, 10, 10, 10, 60, 60, 60, 60, 30, 30, 30, 30, 30, 30, 30, 30));
}

// LLVM 19 divided lane by lane and took the address of all from a lane that was off.
TEST(CompileModuleTest, AddressesByDivisionsUnderACondition) {
  constexpr char kText[] = R"(
@T.prim_func
def main(n: T.int32, A_handle: T.handle):
    A = T.match_buffer(A_handle, (T.Cast("int64", n + 1) * T.int64(8),), "int32")
    for i in range(n):
        for f in range(n * 2 + 2):
            if f // (n + 1) == 1:
                for k in range(4):
                    if 1 <= k:
                        A[T.Cast("int64", f // (n + 1)) * T.Cast("int64", n + 1) * T.int64(4) + T.Cast("int64", f % (n + 1)) * T.int64(4) + T.Cast("int64", k)] = 1
)";
  const StatusOr<PrimFunc> func = ParsePrimFunc(kText, "test");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  AlignedArray<int32_t> a(24, -1);
  RunKernel(*func, {a.data()}, {2});
  for (int i = 0; i < 24; ++i) EXPECT_EQ(a[i], i < 12 || i % 4 == 0 ? -1 : 1) << i;
}

// LLVM 19's SLP vectorizer gathered B at I before B was written (processors with gathers).
TEST(CompileModuleTest, GathersFromWhatStatementsInARowHaveStored) {  // Seed 40013376.
  std::string text = R"(
@T.prim_func
def main(I: T.Buffer((12,), "int32"), X: T.Buffer((28,), "int64"), A: T.Buffer((7,), "float32"), C: T.Buffer((12,), "float32"), D: T.Buffer((12,), "float32")):
    B = T.decl_buffer((7,), "float32")
)";
  for (int v = 0; v < 7; ++v) {
    text += fmt::format("    A[{0}] = T.Cast(\"float32\", X[{1}])\n", v, v % 3 * 4 + 3);
    text += fmt::format("    B[{0}] = A[{0}] * T.min(A[{1}], T.float32(2.0))\n", v, std::max(v - 1, 0));
  }
  for (int v = 0; v < 12; ++v) {
    text += fmt::format("    C[{0}] = T.min(A[{1}], T.float32(2.0)) + B[I[{0}]] * T.float32(2.0)\n", v, v % 7);
    text += fmt::format("    D[{0}] = B[{1}]\n", v, v % 7);
  }
  const StatusOr<PrimFunc> func = ParsePrimFunc(text, "test");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  AlignedArray<int32_t> i(12);
  AlignedArray<int64_t> x(28);
  AlignedArray<float> a(7), c(12), d(12);
  for (int v = 0; v < 12; ++v) i[v] = v * 5 % 7;
  for (int v = 0; v < 28; ++v) x[v] = v % 9 - 4;
  RunKernel(*func, {i.data(), x.data(), a.data(), c.data(), d.data()});
  const auto b = [&](int v) { return a[v] * std::min(a[std::max(v - 1, 0)], 2.0F); };
  for (int v = 0; v < 12; ++v) EXPECT_EQ(c[v], std::min(a[v % 7], 2.0F) + b(i[v]) * 2) << v;
}

TEST(CompileModuleTest, GuardsLoadsByIfThenElseAndLogicalAnd) {
  Io io(4);
  const Expr inside = Less(io.i, 3);
  const Expr padded =
      MakeCall(DataType::Float(32), "if_then_else", {inside, Load(io.a, {io.i}), FloatConst(DataType::Float(32), 0)});
  const Expr both = And(inside, Less(FloatConst(DataType::Float(32), 1), Load(io.a, {io.i})));
  AlignedArray<float> a(4, 2), b(4);
  RunKernel(Func({io.a, io.b}, MakeFor(io.i, 4,
                                       MakeStore(io.b,
                                                 padded + MakeSelect(both, FloatConst(DataType::Float(32), 10),
                                                                     FloatConst(DataType::Float(32), 20)),
                                                 {io.i}))),
            {a.data(), b.data()});
  EXPECT_THAT(std::vector<float>(b.begin(), b.end()), ElementsAre(12, 12, 12, 20));
}

TEST(CompileModuleTest, GuardsDivisionsInIndices) {
  const PrimFunc func = *ParsePrimFunc(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.if_then_else(0 < i, A[6 // i], T.float32(-1))
)",
                                       "test");
  AlignedArray<float> a(8), b(4);
  for (int v = 0; v < 8; ++v) a[v] = static_cast<float>(v);
  RunKernel(func, {a.data(), b.data()});
  EXPECT_THAT(std::vector<float>(b.begin(), b.end()), ElementsAre(-1, 6, 3, 2));
}

struct CastCase {
  const char* name;
  DataType from, to;
  double value, expected;
};
class CastTest : public testing::TestWithParam<CastCase> {};
TEST_P(CastTest, RoundsLikeTheType) {
  const CastCase& c = GetParam();
  const Buffer out = MakeBuffer("B", {1}, DataType::Float(64));
  Var x("x", DataType::Float(64));
  const Expr value = MakeCast(DataType::Float(64), MakeCast(c.to, MakeCast(c.from, x)));
  AlignedArray<double> b(1);
  int64_t bits = 0;
  std::memcpy(&bits, &c.value, 8);
  RunKernel(Func({out, x}, MakeStore(out, value, {0})), {b.data()}, {bits});
  EXPECT_EQ(b[0], c.expected);
}
INSTANTIATE_TEST_SUITE_P(
    Types, CastTest,
    testing::Values(CastCase{"FloatToIntTruncates", DataType::Float(32), DataType::Int(32), -2.75, -2},
                    CastCase{"IntToBool", DataType::Int(32), DataType::Bool(), 7, 1},
                    CastCase{"UInt8Wraps", DataType::Int(32), DataType::UInt(8), 300, 44},
                    CastCase{"Int8IsSigned", DataType::Int(32), DataType::Int(8), 200, -56},
                    CastCase{"HalfRounds", DataType::Float(32), DataType::Float(16), 2049, 2048},
                    CastCase{"HalfOverflows", DataType::Float(32), DataType::Float(16), 70000, INFINITY},
                    CastCase{"HalfIsSubnormal", DataType::Float(32), DataType::Float(16), 0x1.8p-24, 0x1.0p-23},
                    CastCase{"BFloatRoundsToEven", DataType::Float(32), DataType::BFloat(), 257, 256},
                    CastCase{"BFloatRoundsUp", DataType::Float(32), DataType::BFloat(), 259, 260}),
    [](const auto& info) { return info.param.name; });

TEST(CompileModuleTest, ComputesHalfPrecisionWithoutHardwareForIt) {
  const Target plain = *Target::Parse("llvm -mcpu=x86-64");
  Io io(6, DataType::Float(16), DataType::Float(16));
  const PrimFunc func =
      Func({io.a, io.b}, MakeFor(io.i, 6, MakeStore(io.b, Load(io.a, {io.i}) + Load(io.a, {io.i}), {io.i})));
  if (DetectHost().triple != "x86_64-linux-gnu") GTEST_SKIP() << "needs an x86-64 machine";
  const StatusOr<LoadedKernels> kernels = LoadedKernels::Make({&func, 1}, plain);
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  AlignedArray<uint16_t> a(6), b(6);
  const uint16_t values[] = {0x3c00, 0xc200, 0x0001,
                             0x7bff, 0x7c00, 0x83ff};  // 1, -3, smallest, 65504, infinity, subnormal
  const uint16_t doubled[] = {0x4000, 0xc600, 0x0002, 0x7c00, 0x7c00, 0x87fe};
  std::copy(values, values + 6, a.begin());
  TestContext context;
  void* buffers[] = {a.data(), b.data()};
  ASSERT_EQ(kernels->Find(0, "main")(&context.context, buffers, nullptr), 0);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(b[i], doubled[i]) << i;
}

TEST(CompileModuleTest, CarriesSections) {
  const std::string graph = "graph bytes", weights(1000, 'w');
  const PrimFunc func = Func({}, Evaluate{0});
  const ArtifactSection sections[] = {{".lathe.graph", graph}, {".lathe.const", weights}};
  const StatusOr<CompiledModule> module = CompileModule({&func, 1}, sections, HostTarget());
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(module->bytes, HasSubstr(graph));
  EXPECT_THAT(module->bytes, HasSubstr(weights));
  EXPECT_THAT(module->bytes, HasSubstr(HostTarget().ToString()));
  const ArtifactSection twice[] = {{".a", graph}, {".a", graph}}, bad[] = {{"text", graph}};
  EXPECT_THAT(CompileModule({}, twice, HostTarget()).status().message(), HasSubstr("two sections are named \".a\""));
  EXPECT_THAT(CompileModule({}, bad, HostTarget()).status().message(), HasSubstr("section name \"text\""));
}

TEST(CompileModuleTest, GivesTheSameBytesEachTime) {
  Var i("i"), j("j");
  const Buffer a = MakeBuffer("A", {7, 5}), b = MakeBuffer("B", {7, 5}), c = MakeBuffer("C", {7, 5});
  const PrimFunc func =
      Func({a, b, c},
           MakeFor(j, 5, MakeFor(i, 7, MakeStore(b, Load(a, {i, j}) + Load(c, {i, j}), {i, j}), ForKind::kParallel)));
  const std::string first = CompileModule({&func, 1}, {}, HostTarget())->bytes;
  const PrimFunc again = func;
  EXPECT_EQ(CompileModule({&again, 1}, {}, HostTarget())->bytes, first);
}

TEST(CompileModuleTest, CompilesForArmWithNeon) {
  const Target arm = *Target::Parse("raspberry-pi/4b-aarch64");
  Io io(64);
  const DataType f4 = DataType::Float(32, 4);
  const Expr lanes = Expr::Make(DataType::Int(32, 4), Ramp{io.i * 4, 1, 4});
  const Expr x = Expr::Make(f4, BufferLoad{io.a, {lanes}});
  const PrimFunc func = Func(
      {io.a, io.b}, MakeFor(io.i, 16, MakeStore(io.b, x * x + Expr::Make(f4, BufferLoad{io.b, {lanes}}), {lanes})));
  const StatusOr<CompiledModule> module = CompileModule({&func, 1}, {}, arm);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_EQ(module->bytes[18], static_cast<char>(0xb7));  // e_machine EM_AARCH64
  EXPECT_THAT(*PrintCode({&func, 1}, arm, CodeText::kAssembly), HasSubstr("fmla\tv"));
}

// 14 of 16 lanes: 8, 4 and 2 of them at a time where nothing can be left out of a load or a store.
TEST(CompileModuleTest, MovesTheFirstLanesInPiecesWhereThereAreNoMasks) {
  const PrimFunc func = *ParsePrimFunc(R"(@T.prim_func
def main(A: T.Buffer((8, 14), "float32"), B: T.Buffer((8, 14), "float32")):
    for i in range(8):
        for j in T.vectorized(16):
            if j < 14:
                B[i, j] = A[i, j] + T.float32(1)
)",
                                       "test");
  const PrimFunc lowered = *Lower(func);
  const auto assembly = [&](const char* target) {
    return *PrintCode({&lowered, 1}, *Target::Parse(target), CodeText::kAssembly);
  };
  const std::string arm = assembly("raspberry-pi/4b-aarch64");
  EXPECT_THAT(arm, testing::Not(HasSubstr("cbz")));
  EXPECT_THAT(arm, testing::Not(HasSubstr("tbz")));
  EXPECT_THAT(arm, testing::Not(HasSubstr("tbnz")));
  EXPECT_THAT(arm, HasSubstr("ldr\td"));
  EXPECT_THAT(arm, HasSubstr("str\td"));
  const std::string avx2 = assembly("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3");
  EXPECT_THAT(avx2, HasSubstr("vmaskmovps\t")) << "loads by a mask are cheap";
  EXPECT_THAT(avx2, testing::Not(testing::ContainsRegex("vmaskmovps\t%ymm[0-9]+, %ymm[0-9]+, [0-9]*\\(")))
      << "stores are not";
}

// LLVM 19 cuts what is wider than a register itself, and loads single lanes of a part that it finds to be off.
TEST(CompileModuleTest, CutsMaskedMovesToRegisters) {
  const PrimFunc func = *ParsePrimFunc(R"(@T.prim_func
def main(A: T.Buffer((9, 16), "float32"), B: T.Buffer((9, 9), "float32")):
    for i in range(9):
        for j in T.vectorized(16):
            if j < 9:
                B[i, j] = T.if_then_else(2 <= i and i < 7 and 2 <= j and j < 7, A[i, j], T.float32(0))
)",
                                       "test");
  const PrimFunc lowered = *Lower(func);
  const std::string ir = *PrintCode({&lowered, 1}, *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"),
                                    CodeText::kOptimizedLlvmIr);
  EXPECT_THAT(ir, HasSubstr("masked.load.v8f32"));
  EXPECT_THAT(ir, testing::Not(HasSubstr("masked.load.v16f32")));
}

// x86-64 without F16C computes float16 in float32, where LLVM calls fminf and fmaxf.
TEST(CompileModuleTest, TakesExtremaOfHalvesOnAProcessorWithoutThem) {
  const DataType f16 = DataType::Float(16);
  const Buffer a = MakeBuffer("A", {4}, f16), b = MakeBuffer("B", {4}, f16);
  const Var i("i");
  for (const BinaryOp op : {BinaryOp::kMin, BinaryOp::kMax}) {
    const PrimFunc func =
        Func({a, b}, MakeFor(i, 4, MakeStore(b, FoldBinary(op, Load(a, {i}), FloatConst(f16, 0.5)), {i})));
    const StatusOr<CompiledModule> module =
        CompileModule({&func, 1}, {}, *Target::Parse("llvm -mcpu=x86-64 -mtriple=x86_64-linux-gnu"));
    EXPECT_TRUE(module.ok()) << module.status().ToString();
  }
}

struct BadFunc {
  const char* name;
  PrimFunc (*make)();
  const char* message;
};
// A page between two that nobody may touch.
class GuardedPage {
 public:
  GuardedPage() : size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    pages_ = mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages_ != MAP_FAILED && mprotect(begin(), size_, PROT_READ | PROT_WRITE) == 0) << std::strerror(errno);
  }
  ~GuardedPage() { munmap(pages_, 3 * size_); }
  GuardedPage(const GuardedPage&) = delete;
  uint8_t* begin() const { return static_cast<uint8_t*>(pages_) + size_; }
  uint8_t* end() const { return begin() + size_; }

 private:
  size_t size_;
  void* pages_;
};

// What is read ends with the last lane: behind it there is a page that nobody may touch.
struct StridedLoad {
  DataType dtype;
  int lanes, on, stride;
};
class StridedLoadTest : public testing::TestWithParam<StridedLoad> {};
TEST_P(StridedLoadTest, ReadsFromTheFirstLaneToTheLast) {
  const auto [dtype, lanes, on, stride] = GetParam();
  const int64_t span = int64_t{on - 1} * stride + 1, bytes = dtype.bits / 8;
  const Buffer a = MakeBuffer("A", {span}, dtype), b = MakeBuffer("B", {on}, dtype);
  Var i("i", DataType::Int(32));
  const Stmt copy = MakeStore(b, Load(a, {i * stride}), {i});
  const Stmt body = on == lanes ? copy : Stmt(IfThenElse{Less(i, on), copy, std::nullopt});
  const StatusOr<PrimFunc> func = Lower(Func({a, b}, MakeFor(i, lanes, body, ForKind::kVectorized)));
  ASSERT_TRUE(func.ok()) << func.status().ToString();

  const GuardedPage page;
  for (uint8_t* first : {page.begin(), page.end() - span * bytes}) {
    for (int64_t k = 0; k < span * bytes; ++k) first[k] = static_cast<uint8_t>(k * 7 + 1);
    std::vector<uint8_t> out(static_cast<size_t>((on + 1) * bytes), 0xee);
    RunKernel(*func, {first, out.data()});
    for (int lane = 0; lane < on; ++lane)
      EXPECT_EQ(std::memcmp(&out[lane * bytes], first + lane * stride * bytes, bytes), 0) << "lane " << lane;
    EXPECT_EQ(out[static_cast<size_t>(on * bytes)], 0xee);
  }
}
// And of what is written: nothing between the lanes changes.
TEST_P(StridedLoadTest, WritesTheLanesAlone) {
  const auto [dtype, lanes, on, stride] = GetParam();
  const int64_t span = int64_t{on - 1} * stride + 1, bytes = dtype.bits / 8;
  const Buffer a = MakeBuffer("A", {on}, dtype), b = MakeBuffer("B", {span}, dtype);
  Var i("i", DataType::Int(32));
  const Stmt copy = MakeStore(b, Load(a, {i}), {i * stride});
  const Stmt body = on == lanes ? copy : Stmt(IfThenElse{Less(i, on), copy, std::nullopt});
  const StatusOr<PrimFunc> func = Lower(Func({a, b}, MakeFor(i, lanes, body, ForKind::kVectorized)));
  ASSERT_TRUE(func.ok()) << func.status().ToString();

  const GuardedPage page;
  std::vector<uint8_t> in(static_cast<size_t>(on * bytes));
  for (size_t k = 0; k < in.size(); ++k) in[k] = static_cast<uint8_t>(k * 7 + 1);
  for (uint8_t* first : {page.begin(), page.end() - span * bytes}) {
    std::fill_n(first, span * bytes, 0xee);
    RunKernel(*func, {in.data(), first});
    for (int64_t k = 0; k < span * bytes; ++k) {
      const int64_t element = k / bytes;
      const uint8_t expected =
          element % stride == 0 ? in[static_cast<size_t>(element / stride * bytes + k % bytes)] : 0xee;
      ASSERT_EQ(first[k], expected) << "byte " << k;
    }
  }
}
std::vector<StridedLoad> StridedLoads() {
  std::vector<StridedLoad> all;
  for (const DataType dtype : {DataType::Int(8), DataType::Int(16), DataType::Float(32), DataType::Float(64)}) {
    for (const int stride : {2, 3, 4, 5}) {
      for (const int lanes : {2, 4, 8, 16, 32}) {
        all.push_back({dtype, lanes, lanes, stride});
        if (lanes > 2) all.push_back({dtype, lanes, lanes - 1, stride}), all.push_back({dtype, lanes, 2, stride});
      }
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, StridedLoadTest, testing::ValuesIn(StridedLoads()), [](const auto& info) {
  const StridedLoad& load = info.param;
  return fmt::format("{}_{}Of{}By{}", load.dtype.ToString(), load.on, load.lanes, load.stride);
});

TEST(CompileModuleTest, LoadsEverySecondElementByTwoVectors) {
  const Buffer a = MakeBuffer("A", {16}), b = MakeBuffer("B", {8});
  Var i("i", DataType::Int(32));
  const PrimFunc func = *Lower(Func({a, b}, MakeFor(i, 8, MakeStore(b, Load(a, {i * 2}), {i}), ForKind::kVectorized)));
  const Target avx2 = *Target::Parse("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=1");
  const StatusOr<std::string> code = PrintCode({&func, 1}, avx2, CodeText::kAssembly);
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  EXPECT_THAT(*code, HasSubstr("vshufps"));
  EXPECT_THAT(*code, testing::Not(HasSubstr("vinsertps")));
}

TEST(CompileModuleTest, StoresLanesThatAreApartByMaskedVectors) {
  const Buffer a = MakeBuffer("A", {64}, DataType::Int(8)), b = MakeBuffer("B", {256}, DataType::Int(8));
  Var i("i", DataType::Int(32));
  const PrimFunc func = *Lower(Func({a, b}, MakeFor(i, 64, MakeStore(b, Load(a, {i}), {i * 4}), ForKind::kVectorized)));
  const Target avx512 = *Target::Parse("llvm -mcpu=x86-64-v4 -mtriple=x86_64-linux-gnu -num-cores=1");
  const StatusOr<std::string> code = PrintCode({&func, 1}, avx512, CodeText::kAssembly);
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  EXPECT_THAT(*code, HasSubstr("vmovdqu8"));
  EXPECT_THAT(*code, testing::Not(HasSubstr("vpextrb")));
}

// 64 steps of a sum for each of 16 columns; a panel of them after the other.
std::string CodeOfPanels(int num_panels) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), W: T.Buffer(({0}, 64, 16), "float32"), C: T.Buffer(({1},), "float32")):
    for p in range({0}):
        acc = T.decl_buffer((16,), "float32", scope="register")
        acc[T.Ramp(0, 1, 16)] = T.Broadcast(T.float32(0), 16)
        for k in range(64):
            acc[T.Ramp(0, 1, 16)] = acc[T.Ramp(0, 1, 16)] + T.Broadcast(A[k], 16) * W[T.Ramp(p * 1024 + k * 16, 1, 16)]
        C[T.Ramp(p * 16, 1, 16)] = acc[T.Ramp(0, 1, 16)]
)",
                                                            num_panels, num_panels * 16),
                                                "case.py");
  const Target avx512 = *Target::Parse("llvm -mcpu=x86-64-v4 -mtriple=x86_64-linux-gnu -num-cores=1");
  const StatusOr<std::string> code = PrintCode({&*func, 1}, avx512, CodeText::kAssembly);
  return code.ok() ? *code : code.status().ToString();
}
TEST(CompileModuleTest, AsksForTheNextPanelOfWeightsThatNoCacheHolds) {
  EXPECT_THAT(CodeOfPanels(1024), HasSubstr("prefetcht1"));
  EXPECT_THAT(CodeOfPanels(16), testing::Not(HasSubstr("prefetch")));
}

class CompileErrorTest : public testing::TestWithParam<BadFunc> {};
TEST_P(CompileErrorTest, SaysWhy) { EXPECT_THAT(ErrorOf(GetParam().make()), HasSubstr(GetParam().message)); }
INSTANTIATE_TEST_SUITE_P(
    Functions, CompileErrorTest,
    testing::Values(
        BadFunc{
            "BlockLeft",
            [] { return Func({}, BlockRealize{{}, True(), Block(BlockNode{.name = "root", .body = Evaluate{0}})}); },
            "block \"root\" is left; lower the function first"},
        BadFunc{"UnknownBuffer",
                [] { return Func({}, MakeStore(MakeBuffer("X", {1}), FloatConst(DataType::Float(32), 0), {0})); },
                "buffer \"X\" is neither a parameter nor allocated"},
        BadFunc{"UnknownVar",
                [] {
                  Buffer b = MakeBuffer("B", {1}, DataType::Int(32));
                  return Func({b}, MakeStore(b, Var("ghost"), {0}));
                },
                "variable \"ghost\" is not defined"},
        BadFunc{"WrongRank",
                [] {
                  Buffer b = MakeBuffer("B", {2, 2, 2}, DataType::Int(32));
                  return Func({b}, BufferStore{b, 1, {0, 0}});
                },
                "2 indices, 3 dimensions"},
        BadFunc{"WrongType",
                [] {
                  Buffer b = MakeBuffer("B", {1});
                  return Func({b}, MakeStore(b, 1, {0}));
                },
                "value is int32, elements are float32; cast it"},
        BadFunc{"ThreadBinding",
                [] {
                  For loop = *MakeFor(Var("t"), 4, Evaluate{0}).As<For>();
                  loop.kind = ForKind::kThreadBinding;
                  loop.thread = "threadIdx.x";
                  return Func({}, loop);
                },
                "bound to threadIdx.x"},
        BadFunc{"Scope",
                [] { return Func({}, AllocBuffer{MakeBuffer("S", {1}, DataType::Float(32), "attic"), Evaluate{0}}); },
                "unknown scope \"attic\""},
        BadFunc{"OddType",
                [] {
                  Buffer b = MakeBuffer("B", {1}, DataType::Int(4));
                  return Func({b}, Evaluate{Load(b, {0})});
                },
                "no code for type int4"},
        BadFunc{
            "ExtentOfAnUnknownVariable", [] { return Func({MakeBuffer("A", {Var("n") * 4})}, Evaluate{0}); },
            "codegen @main parameter \"A\": extent: variable \"n\" is neither an extent that an argument tells nor a "
            "parameter"},
        BadFunc{"DivisionByZero",
                [] {
                  Buffer b = MakeBuffer("B", {4});
                  Var i("i");
                  return Func({b}, MakeFor(i, 4,
                                           MakeStore(b, FloatConst(DataType::Float(32), 0),
                                                     {MakeBinary(BinaryOp::kFloorDiv, i, 0)})));
                },
                "division by zero in an index"},
        BadFunc{"ExpOfIntegers", [] { return Func({}, Evaluate{MakeCall(DataType::Int(32), "exp", {Expr(1)})}); },
                "T.exp of int32 has no code for a CPU; cast its argument to a float"},
        BadFunc{"PowerOfTwoTypes",
                [] {
                  const Expr x = FloatConst(DataType::Float(32), 1), y = FloatConst(DataType::Float(64), 2);
                  return Func({}, Evaluate{MakeCall(x.dtype(), "pow", {x, y})});
                },
                "T.pow of two types; cast one"},
        BadFunc{"LdexpByAFloat",
                [] {
                  const Expr x = FloatConst(DataType::Float(32), 1);
                  return Func({}, Evaluate{MakeCall(x.dtype(), "ldexp", {x, x})});
                },
                "T.ldexp takes an exponent of integers; cast it"},
        BadFunc{"MathThatIsNotLowered",
                [] {
                  const Expr x = FloatConst(DataType::Float(32), 1);
                  return Func({}, Evaluate{MakeCall(x.dtype(), "exp", {x})});
                },
                "T.exp of float32 has no code for a CPU"},
        BadFunc{"Deep",
                [] {
                  Stmt body = Evaluate{0};
                  for (int i = 0; i < 3000; ++i) body = IfThenElse{True(), body};
                  return Func({}, body);
                },
                "nested more than"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
