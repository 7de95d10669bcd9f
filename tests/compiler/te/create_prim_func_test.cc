#include "compiler/te/create_prim_func.h"

#include <gmock/gmock.h>

#include "compiler/te/reduction.h"
#include "tests/compiler/te/te_programs.h"

namespace lathe::te {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DataType kFloat = DataType::Float(32);

IterVar Axis(int64_t extent, const std::string& name) { return ReduceAxis({0, extent}, name); }

TEST(CreatePrimFunc, MakesABlockPerComputeAndAllocatesWhatLiesBetween) {
  const Tensor a = Placeholder({16, 16}, kFloat, "A"), b = Placeholder({16, 16}, kFloat, "B");
  const IterVar k = Axis(16, "k");
  const Tensor c = Compute({16, 16},
                           [&](const std::vector<Expr>& at) {
                             return ReduceOver(Combiner::kSum, a({at[0], k.var}) * b({k.var, at[1]}), {k});
                           },
                           {.name = "C"});
  const Tensor d = Compute({16, 16}, [&](const std::vector<Expr>& at) { return c(at) + Expr(1); }, {.name = "D"});
  ExpectText(CreatePrimFunc({a, b, d}), R"(@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32")):
    T.func_attr({"tir.noalias": True})
    C = T.alloc_buffer((16, 16))
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            T.reads(A[v_i, v_k], B[v_k, v_j])
            T.writes(C[v_i, v_j])
            with T.init():
                C[v_i, v_j] = T.float32(0.0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
    for i, j in T.grid(16, 16):
        with T.block("D"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            T.reads(C[v_i, v_j])
            T.writes(D[v_i, v_j])
            D[v_i, v_j] = C[v_i, v_j] + T.float32(1.0)
)");
}

TEST(CreatePrimFunc, GivesSeveralResultsABlockEachInOneNest) {
  const Tensor x = Placeholder({8, 2}, DataType::Float(16), "X");
  const std::vector<Tensor> pq = ComputeSeveral(
      {8},
      [&](const std::vector<Expr>& at) { return std::vector<Expr>{x({at[0], 0}) + Expr(1), x({at[0], 1}) * Expr(2)}; },
      {.name = "PQ", .tag = "", .attrs = {{"foo", "bar"}}});
  ExpectText(CreatePrimFunc({x, pq[0], pq[1]}), R"(@T.prim_func
def main(X: T.Buffer((8, 2), "float16"), PQ_v0: T.Buffer((8,), "float16"), PQ_v1: T.Buffer((8,), "float16")):
    T.func_attr({"tir.noalias": True})
    for i in range(8):
        with T.block("PQ_v0"):
            v_i = T.axis.spatial(8, i)
            T.reads(X[v_i, 0])
            T.writes(PQ_v0[v_i])
            T.block_attr({"foo": "bar"})
            PQ_v0[v_i] = X[v_i, 0] + T.float16(1.0)
        with T.block("PQ_v1"):
            v_i = T.axis.spatial(8, i)
            T.reads(X[v_i, 1])
            T.writes(PQ_v1[v_i])
            T.block_attr({"foo": "bar"})
            PQ_v1[v_i] = X[v_i, 1] * T.float16(2.0)
)");
}

// The index of the greatest value and that value.
std::vector<Tensor> ArgMax(const Tensor& index, const Tensor& value, const IterVar& k) {
  const StatusOr<CommReducer> reducer = MakeReducer(
      {DataType::Int(32), kFloat},
      [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
        const Expr keeps = MakeBinary(BinaryOp::kGE, x[1], y[1]);
        return std::vector<Expr>{MakeCall(x[0].dtype(), "if_then_else", {keeps, x[0], y[0]}),
                                 MakeCall(x[1].dtype(), "if_then_else", {keeps, x[1], y[1]})};
      },
      [](const std::vector<DataType>& types) { return std::vector<Expr>{-1, MinValue(types[1])}; }, "argmax");
  EXPECT_TRUE(reducer.ok()) << reducer.status().ToString();
  const auto reduction = [&](const std::vector<Expr>& at) {
    return MakeReduce(*reducer, {index({at[0], k.var}), value({at[0], k.var})}, {k}).value();
  };
  return ComputeSeveral({4}, reduction, {.name = "T"});
}

TEST(CreatePrimFunc, KnowsAllComponentsOfATupleBeforeItStoresOne) {
  const Tensor index = Placeholder({4, 5}, DataType::Int(32), "idx"), value = Placeholder({4, 5}, kFloat, "val");
  const std::vector<Tensor> t = ArgMax(index, value, Axis(5, "k"));
  ExpectText(CreatePrimFunc({index, value, t[0], t[1]}), R"(@T.prim_func
def main(idx: T.Buffer((4, 5), "int32"), val: T.Buffer((4, 5), "float32"), T_v0: T.Buffer((4,), "int32"), T_v1: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, k in T.grid(4, 5):
        with T.block("T"):
            v_i, v_k = T.axis.remap("SR", [i, k])
            T.reads(val[v_i, v_k], idx[v_i, v_k])
            T.writes(T_v0[v_i], T_v1[v_i])
            with T.init():
                T_v0[v_i] = -1
                T_v1[v_i] = T.float32(-3.4028234663852886e38)
            v_T_v0: T.int32 = T.if_then_else(T_v1[v_i] >= val[v_i, v_k], T_v0[v_i], idx[v_i, v_k])
            v_T_v1: T.float32 = T.if_then_else(T_v1[v_i] >= val[v_i, v_k], T_v1[v_i], val[v_i, v_k])
            T_v0[v_i] = v_T_v0
            T_v1[v_i] = v_T_v1
)");
}

TEST(CreatePrimFunc, RunsTupleReductions) {
  const Tensor index = Placeholder({4, 5}, DataType::Int(32), "idx"), value = Placeholder({4, 5}, kFloat, "val");
  const std::vector<Tensor> t = ArgMax(index, value, Axis(5, "k"));
  std::vector<double> indices, values;
  for (int i = 0; i < 20; ++i) {
    indices.push_back(i % 5);
    values.push_back((i * 7) % 11);
  }
  const StatusOr<PrimFunc> func = CreatePrimFunc({index, value, t[1], t[0]});
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const std::vector<double> found =
      ResultOf(func, {lathe::Tensor::FromDoubles(DataType::Int(32), {4, 5}, indices),
                      lathe::Tensor::FromDoubles(kFloat, {4, 5}, values), lathe::Tensor::Uninitialized(kFloat, {4})});
  EXPECT_THAT(found, ElementsAre(3, 1, 4, 2));  // 0 7 3 10 6 | 2 9 5 1 8 | 4 0 7 3 10 | 6 2 9 5 1
}

TEST(CreatePrimFunc, ReducesFromWhereTheAxisBeginsIntoAScalar) {
  const Tensor a = Placeholder({4, 5}, kFloat, "val");
  const IterVar k = ReduceAxis({1, 4}, "k4");
  const Tensor m = Compute({}, [&](const std::vector<Expr>&) { return ReduceOver(Combiner::kMax, a({0, k.var}), {k}); },
                           {.name = "M"});
  ExpectText(CreatePrimFunc({a, m}), R"(@T.prim_func
def main(val: T.Buffer((4, 5), "float32"), M: T.Buffer((), "float32")):
    T.func_attr({"tir.noalias": True})
    for k4 in range(1, 5):
        with T.block("M"):
            v_k4 = T.axis.reduce((1, 5), k4)
            T.reads(val[0, v_k4])
            T.writes(M[()])
            with T.init():
                M[()] = T.float32(-3.4028234663852886e38)
            M[()] = T.max(M[()], val[0, v_k4])
)");
}

TEST(CreatePrimFunc, KeepsWhereAndInitThatTvmDrops) {
  const Tensor a = Placeholder({2, 5}, kFloat, "A");
  const IterVar k = Axis(5, "k");
  const Tensor m = Compute({2}, [&](const std::vector<Expr>& at) {
    return MakeReduce(NamedReducer(Combiner::kSum, kFloat), {a({at[0], k.var})}, {k}, {100}, Less(k.var, 3))
        .value()
        .front();
  });
  EXPECT_THAT(
      ResultOf(CreatePrimFunc({a, m}), {lathe::Tensor::FromDoubles(kFloat, {2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}),
      ElementsAre(106, 121));
}

TEST(CreatePrimFunc, TellsBlocksOfOneNameApart) {
  const Tensor a = Placeholder({4}, kFloat, "val");
  const Tensor first = Compute({4}, [&](const std::vector<Expr>& at) { return a(at) + Expr(1); }, {.name = "C"});
  const Tensor second = Compute({4}, [&](const std::vector<Expr>& at) { return first(at) + Expr(1); }, {.name = "C"});
  ExpectText(CreatePrimFunc({a, second}), R"(@T.prim_func
def main(val: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    C_1 = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("C"):
            v_i = T.axis.spatial(4, i)
            C_1[v_i] = val[v_i] + T.float32(1.0)
    for i in range(4):
        with T.block("C_1"):
            v_i = T.axis.spatial(4, i)
            C[v_i] = C_1[v_i] + T.float32(1.0)
)");
}

TEST(CreatePrimFunc, TakesExtentsFromShapesAndScalarArguments) {
  const Var n("n"), scale("scale", kFloat);
  const Tensor x = Placeholder({n}, kFloat, "X");
  const Tensor y = Compute({n}, [&](const std::vector<Expr>& at) { return x(at) * scale; }, {.name = "Y"});
  const StatusOr<PrimFunc> func = CreatePrimFunc({x, scale, y});
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  std::vector<lathe::Tensor> args = {lathe::Tensor::FromDoubles(kFloat, {3}, {1, 2, 3}),
                                     lathe::Tensor::FromDoubles(kFloat, {}, {10}),
                                     lathe::Tensor::Uninitialized(kFloat, {3})};
  const Status status = Interpret(*func, args);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(args[2].ToDoubles(), ElementsAre(10, 20, 30));
}

TEST(CreatePrimFunc, MakesFunctionsThatShareNothing) {
  const Tensor a = Placeholder({4}, kFloat, "A");
  const Tensor b = Compute({4}, [&](const std::vector<Expr>& at) { return a(at); }, {.name = "B"});
  const StatusOr<PrimFunc> one = CreatePrimFunc({a, b}), other = CreatePrimFunc({a, b});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_TRUE(StructuralEqual(*one, *other));
  EXPECT_FALSE(BufferParam(*one, 0).same_as(BufferParam(*other, 0)));
  EXPECT_FALSE(Tensor::Of(BufferParam(*one, 0)).has_value());
}

TEST(CreatePrimFunc, PutsExternStatementsIntoABlockOverWholeBuffers) {
  const Tensor a = Placeholder({4}, kFloat, "A");
  const Buffer in = MakeBuffer("in", {4}), out = MakeBuffer("out", {4});
  const Var i("i");
  const Stmt body = MakeFor(i, 4, MakeStore(out, Load(in, {Expr(3) - i}), {i}));
  const StatusOr<Operation> op = MakeExtern({a}, {in}, {out}, body, "reverse");
  ASSERT_TRUE(op.ok()) << op.status().ToString();
  const Tensor reversed = (*op)->output(0);
  const Tensor b = Compute({4}, [&](const std::vector<Expr>& at) { return reversed(at) * Expr(2); }, {.name = "B"});
  ExpectText(CreatePrimFunc({a, b}), R"(@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    reverse = T.alloc_buffer((4,))
    with T.block("reverse"):
        T.reads(A[0:4])
        T.writes(reverse[0:4])
        for i in range(4):
            reverse[i] = A[3 - i]
    for i0 in range(4):
        with T.block("B"):
            v_i0 = T.axis.spatial(4, i0)
            B[v_i0] = reverse[v_i0] * T.float32(2.0)
)");
  EXPECT_THAT(ResultOf(CreatePrimFunc({a, b}), {lathe::Tensor::FromDoubles(kFloat, {4}, {1, 2, 3, 4})}),
              ElementsAre(8, 6, 4, 2));
}

TEST(CreatePrimFunc, SaysWhatIsMissingAmongItsArguments) {
  const Var n("n");
  const Tensor a = Placeholder({4}, kFloat, "A");
  const Tensor b = Compute({4}, [&](const std::vector<Expr>& at) { return a(at); }, {.name = "B"});
  const Tensor c =
      Compute({4}, [&](const std::vector<Expr>& at) { return a(at) + MakeCast(kFloat, n); }, {.name = "C"});
  EXPECT_THAT(CreatePrimFunc({b}).status().message(), HasSubstr("reads placeholder \"A\", which is no argument"));
  EXPECT_THAT(CreatePrimFunc({a, c}).status().message(), HasSubstr("uses variable \"n\""));
  EXPECT_THAT(CreatePrimFunc({a, b, a}).status().message(), HasSubstr("\"A\" is argument 0 and 2"));
}

TEST(Operation, GoesWhenNobodyCanReachItAndOthersAreMade) {
  std::weak_ptr<const OperationNode> gone, reader;
  const Tensor held = Placeholder({4}, kFloat, "A");
  {
    const Tensor a = Placeholder({4}, kFloat, "A");
    const Tensor b = Compute({4}, [&](const std::vector<Expr>& at) { return a(at); });
    gone = a.op();
    reader = b.op();
  }
  for (int i = 0; i < 1000; ++i) Placeholder({4}, kFloat, "other");
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(reader.expired());
  EXPECT_TRUE(Tensor::Of(held.buffer())->same_as(held));
}

TEST(Operation, LivesAsLongAsAnExpressionReadsIt) {
  const auto read_of_new = [] { return Placeholder({4}, kFloat, "A")({0}); };
  const Expr load = read_of_new();
  for (int i = 0; i < 1000; ++i) Placeholder({4}, kFloat, "other");
  const std::optional<Tensor> tensor = Tensor::Of(load.As<BufferLoad>()->buffer);
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(tensor->op()->name(), "A");
}

TEST(MakeCompute, RefusesReductionsInsideExpressions) {
  const Tensor a = Placeholder({4, 4}, kFloat, "A");
  const IterVar k = Axis(4, "k");
  const ComputeOptions options{.name = "bad"};
  const std::vector<IterVar> axes = MakeAxes({4}, options);
  const Expr sum = ReduceOver(Combiner::kSum, a({axes[0].var, k.var}), {k});
  EXPECT_THAT(MakeCompute(axes, {sum + Expr(1)}, options).status().message(),
              HasSubstr("compute \"bad\": a reduction is part of an expression"));
  EXPECT_THAT(MakeCompute(axes, {sum, a({0, 0})}, options).status().message(), HasSubstr("result 1 is not that"));
  EXPECT_THAT(MakeCompute(axes, {}, options).status().message(), HasSubstr("no result"));
}

TEST(MakeReduce, RefusesWhatIsNoReduction) {
  const CommReducer sum = NamedReducer(Combiner::kSum, kFloat);
  const IterVar spatial{{0, 4}, Var("i"), IterKind::kSpatial, ""};
  EXPECT_THAT(MakeReduce(sum, {FloatConst(kFloat, 1)}, {spatial}).status().message(),
              HasSubstr("axis \"i\" is not of a reduction"));
  EXPECT_THAT(MakeReduce(sum, {1, 2}, {Axis(4, "k")}).status().message(), HasSubstr("gives 2 values, expected 1"));
}

TEST(MinAndMaxValue, AreThoseOfTheType) {
  for (const int bits : {8, 16, 32, 64}) {
    const Expr low = MinValue(DataType::Int(bits)), high = MaxValue(DataType::Int(bits));
    EXPECT_EQ(low.As<IntImm>()->value, bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1)));
    EXPECT_EQ(high.As<IntImm>()->value, bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1);
  }
  EXPECT_EQ(MaxValue(DataType::UInt(8)).As<IntImm>()->value, 255);
  EXPECT_EQ(MinValue(DataType::UInt(8)).As<IntImm>()->value, 0);
  EXPECT_EQ(MaxValue(DataType::Float(16)).As<FloatImm>()->value, 65504);
}

}  // namespace
}  // namespace lathe::te
