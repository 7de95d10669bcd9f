#include "compiler/interpreter/interpreter.h"

#include <gmock/gmock.h>

#include <cmath>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const DataType kF32 = DataType::Float(32), kF64 = DataType::Float(64), kI32 = DataType::Int(32), kI8 = DataType::Int(8);

// The value of a constant expression: what a kernel that stores it into out[0..lanes) leaves there.
StatusOr<std::vector<double>> Evaluate1(const Expr& e, FloatMode mode = FloatMode::kExact) {
  const int lanes = e.dtype().lanes;
  const Buffer out = MakeBuffer("out", {lanes}, e.dtype().element());
  const Expr index = lanes == 1 ? Expr(0) : Expr::Make(DataType::Int(32, lanes), Ramp{0, 1, lanes});
  std::vector<Tensor> args = {Tensor::Uninitialized(mode == FloatMode::kFloat64 ? kF64 : e.dtype().element(), {lanes})};
  InterpreterOptions options;
  options.float_mode = mode;
  const Status status = Interpret(MakePrimFunc("f", {out}, MakeStore(out, e, {index})), args, options);
  if (!status.ok()) return status;
  return args[0].ToDoubles();
}

Expr F(double value, DataType type = kF32) { return FloatConst(type, value); }
Expr I(int64_t value, DataType type = kI32) { return IntConst(type, value); }
Expr Bin(BinaryOp op, const Expr& a, const Expr& b) { return MakeBinary(op, a, b); }
Expr Op1(const char* name, const Expr& a) { return MakeCall(a.dtype(), name, {a}); }
Expr Op2(const char* name, const Expr& a, const Expr& b) { return MakeCall(a.dtype(), name, {a, b}); }

struct ValueCase {
  const char* name;
  Expr expr;
  double expected;
};
class ValueTest : public testing::TestWithParam<ValueCase> {};
TEST_P(ValueTest, IsComputed) {
  const StatusOr<std::vector<double>> actual = Evaluate1(GetParam().expr);
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(actual->front(), GetParam().expected);
}
const auto kCaseName = [](const auto& info) { return std::string(info.param.name); };

INSTANTIATE_TEST_SUITE_P(
    Ints, ValueTest,
    testing::Values(
        ValueCase{"Int8AddWraps", Bin(BinaryOp::kAdd, I(127, kI8), I(1, kI8)), -128},
        ValueCase{"UInt8SubWraps", Bin(BinaryOp::kSub, I(0, DataType::UInt(8)), I(1, DataType::UInt(8))), 255},
        ValueCase{"Int32MulWraps", Bin(BinaryOp::kMul, I(65536), I(65536)), 0},
        ValueCase{"TruncDiv", Bin(BinaryOp::kDiv, I(-7), I(2)), -3},
        ValueCase{"TruncMod", Bin(BinaryOp::kTruncMod, I(-7), I(2)), -1},
        ValueCase{"FloorDiv", Bin(BinaryOp::kFloorDiv, I(-7), I(2)), -4},
        ValueCase{"FloorMod", Bin(BinaryOp::kFloorMod, I(-7), I(2)), 1},
        ValueCase{"LeastDividedByMinusOneWraps", Bin(BinaryOp::kFloorDiv, I(INT32_MIN), I(-1)), INT32_MIN},
        ValueCase{"UInt64CompareIsUnsigned", Bin(BinaryOp::kLT, I(1, DataType::UInt(64)), I(-1, DataType::UInt(64))),
                  1},
        ValueCase{"UInt64DivIsUnsigned", Bin(BinaryOp::kDiv, I(-1, DataType::UInt(64)), I(-1, DataType::UInt(64))), 1},
        ValueCase{"Min", Bin(BinaryOp::kMin, I(-3), I(2)), -3}, ValueCase{"Max", Bin(BinaryOp::kMax, I(-3), I(2)), 2},
        ValueCase{"And", Bin(BinaryOp::kAnd, True(), IntConst(DataType::Bool(), 0)), 0},
        ValueCase{"Or", Bin(BinaryOp::kOr, True(), IntConst(DataType::Bool(), 0)), 1},
        ValueCase{"Not", Expr::Make(DataType::Bool(), Not{True()}), 0},
        ValueCase{"BitwiseAnd", Op2("bitwise_and", I(12), I(10)), 8},
        ValueCase{"BitwiseOr", Op2("bitwise_or", I(12), I(10)), 14},
        ValueCase{"BitwiseXor", Op2("bitwise_xor", I(12), I(10)), 6},
        ValueCase{"BitwiseNot", Op1("bitwise_not", I(0)), -1},
        ValueCase{"ShiftLeftWraps", Op2("shift_left", I(1, kI8), I(7, kI8)), -128},
        ValueCase{"ShiftRightKeepsSign", Op2("shift_right", I(-8), I(1)), -4},
        ValueCase{"ShiftRightOfUnsigned", Op2("shift_right", I(255, DataType::UInt(8)), I(4, DataType::UInt(8))), 15},
        ValueCase{"Popcount", Op1("popcount", I(-1)), 32}, ValueCase{"Clz", Op1("clz", I(1)), 31},
        ValueCase{"AbsInt", Op1("abs", I(-5)), 5}, ValueCase{"MaxValue", MakeCall(kI8, "max_value", {}), 127},
        ValueCase{"MinValue", MakeCall(kI8, "min_value", {}), -128}),
    kCaseName);

INSTANTIATE_TEST_SUITE_P(
    Floats, ValueTest,
    testing::Values(
        ValueCase{"Float32RoundsEachSum", Bin(BinaryOp::kAdd, Bin(BinaryOp::kAdd, F(16777216), F(1)), F(-16777216)), 0},
        ValueCase{"Float16Rounds", Bin(BinaryOp::kAdd, F(2048, DataType::Float(16)), F(1, DataType::Float(16))), 2048},
        ValueCase{"Float16Overflows", Bin(BinaryOp::kMul, F(65504, DataType::Float(16)), F(2, DataType::Float(16))),
                  INFINITY},
        ValueCase{"Float16KeepsSubnormals", F(0x1p-24, DataType::Float(16)), 0x1p-24},
        ValueCase{"BFloat16Rounds", Bin(BinaryOp::kAdd, F(256, DataType::BFloat()), F(1, DataType::BFloat())), 256},
        ValueCase{"Div", Bin(BinaryOp::kDiv, F(1), F(3)), 1.0f / 3.0f},
        ValueCase{"FloorDiv", Bin(BinaryOp::kFloorDiv, F(-7), F(2)), -4},
        ValueCase{"FloorMod", Bin(BinaryOp::kFloorMod, F(-7), F(2)), 1},
        ValueCase{"Less", Bin(BinaryOp::kLT, F(1), F(2)), 1}, ValueCase{"Abs", Op1("abs", F(-2)), 2},
        ValueCase{"Atan", Op1("atan", F(1)), float(std::atan(1.0))}, ValueCase{"Ceil", Op1("ceil", F(1.5)), 2},
        ValueCase{"Cos", Op1("cos", F(0)), 1}, ValueCase{"Erf", Op1("erf", F(1)), float(std::erf(1.0))},
        ValueCase{"Exp", Op1("exp", F(1)), float(std::exp(1.0))}, ValueCase{"Exp2", Op1("exp2", F(3)), 8},
        ValueCase{"Floor", Op1("floor", F(-1.5)), -2}, ValueCase{"Fma", MakeCall(kF32, "fma", {F(2), F(3), F(4)}), 10},
        ValueCase{"FmaRoundsOnce", MakeCall(kF32, "fma", {F(16777215), F(16777215), F(-281474943156224)}), 1},
        ValueCase{"FmuladdRoundsTwice", MakeCall(kF32, "fmuladd", {F(16777215), F(16777215), F(-281474943156224)}), 0},
        ValueCase{"Infinity", MakeCall(kF32, "infinity", {}), INFINITY},
        ValueCase{"Isnan", MakeCall(DataType::Bool(), "isnan", {F(NAN)}), 1}, ValueCase{"Log", Op1("log", F(1)), 0},
        ValueCase{"Log2", Op1("log2", F(8)), 3}, ValueCase{"NearbyintTiesToEven", Op1("nearbyint", F(2.5)), 2},
        ValueCase{"RoundTiesAway", Op1("round", F(2.5)), 3}, ValueCase{"Pow", Op2("pow", F(2), F(10)), 1024},
        ValueCase{"Rsqrt", Op1("rsqrt", F(4)), 0.5}, ValueCase{"Sigmoid", Op1("sigmoid", F(0)), 0.5},
        ValueCase{"Sin", Op1("sin", F(0)), 0}, ValueCase{"Sqrt", Op1("sqrt", F(9)), 3},
        ValueCase{"Tan", Op1("tan", F(0)), 0}, ValueCase{"Tanh", Op1("tanh", F(0)), 0},
        ValueCase{"Trunc", Op1("trunc", F(-1.5)), -1}, ValueCase{"Acos", Op1("acos", F(1)), 0},
        ValueCase{"Acosh", Op1("acosh", F(1)), 0}, ValueCase{"Asin", Op1("asin", F(0)), 0},
        ValueCase{"Asinh", Op1("asinh", F(0)), 0}, ValueCase{"Atan2", Op2("atan2", F(0), F(1)), 0},
        ValueCase{"Atanh", Op1("atanh", F(0)), 0}, ValueCase{"Copysign", Op2("copysign", F(3), F(-1)), -3},
        ValueCase{"Cosh", Op1("cosh", F(0)), 1}, ValueCase{"Exp10", Op1("exp10", F(2)), 100},
        ValueCase{"Fmod", Op2("fmod", F(-7), F(2)), -1}, ValueCase{"Hypot", Op2("hypot", F(3), F(4)), 5},
        ValueCase{"Sinh", Op1("sinh", F(0)), 0}, ValueCase{"Scalef", Op2("scalef", F(3), F(-2)), 0.75},
        ValueCase{"ScalefRoundsOnce", Op2("scalef", F(1.5), F(-149)), 0x1p-148},
        ValueCase{"Isfinite", MakeCall(DataType::Bool(), "isfinite", {F(INFINITY)}), 0},
        ValueCase{"Isinf", MakeCall(DataType::Bool(), "isinf", {F(INFINITY)}), 1},
        ValueCase{"Ldexp", MakeCall(kF32, "ldexp", {F(3), I(2)}), 12}, ValueCase{"Log10", Op1("log10", F(100)), 2},
        ValueCase{"Log1p", Op1("log1p", F(0)), 0},
        ValueCase{"NextafterInFloat32", Op2("nextafter", F(1), F(2)), 1.00000011920928955},
        ValueCase{"Likely", MakeCall(DataType::Bool(), "likely", {True()}), 1},
        ValueCase{"MaxValue", MakeCall(kF32, "max_value", {}), 3.4028234663852886e38}),
    kCaseName);

TEST(ReturnTest, NothingRunsAfterIt) {
  const Buffer out = MakeBuffer("out", {2}, kI32);
  const auto store = [&](int64_t place, int64_t value) { return MakeStore(out, I(value), {I(place)}); };
  const Stmt body = MakeSeq({store(0, 1), Evaluate{MakeCall(kI32, "ret", {I(0)})}, store(0, 2), store(1, 2)});
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {2}, {7, 7})};
  ASSERT_TRUE(Interpret(MakePrimFunc("f", {out}, body), args).ok());
  EXPECT_THAT(args[0].ToDoubles(), ElementsAre(1, 7));
}

Expr Named(std::string_view op, DataType type, const char* name, std::vector<Expr> args) {
  args.insert(args.begin(), Expr::Make(DataType::Handle(), StringImm{name}));
  return MakeCall(type, op, std::move(args));
}
INSTANTIATE_TEST_SUITE_P(
    NamedCalls, ValueTest,
    testing::Values(
        ValueCase{"CSqrt", Named("call_pure_extern", kF32, "sqrtf", {F(9)}), 3},
        ValueCase{"CFmaxPassesNanOver", Named("call_extern", kF32, "fmaxf", {F(2), F(NAN)}), 2},
        ValueCase{"LlvmFabs", Named("call_llvm_pure_intrin", kF32, "llvm.fabs", {I(1, DataType::UInt(32)), F(-2)}), 2},
        ValueCase{"LlvmCtlzKeepsTheType",
                  Named("call_llvm_intrin", kI8, "llvm.ctlz", {I(1, kI8), IntConst(DataType::Bool(), 0)}), 7},
        ValueCase{"LlvmSaturates", Named("call_llvm_pure_intrin", kI8, "llvm.sadd.sat", {I(100, kI8), I(100, kI8)}),
                  127},
        ValueCase{"LdexpOfFloats", MakeCall(kF32, "ldexp", {F(3), F(2.5)}), 3 * std::exp2(2.5f)},
        ValueCase{"QMultiplyShift", MakeCall(kI32, "q_multiply_shift", {I(1000), I(1395864320), I(31), I(1)}), 1300}),
    kCaseName);

INSTANTIATE_TEST_SUITE_P(
    Casts, ValueTest,
    testing::Values(ValueCase{"FloatToIntTruncates", MakeCast(kI32, F(-1.9)), -1},
                    ValueCase{"FloatToIntSaturates", MakeCast(kI8, F(1e9)), 127},
                    ValueCase{"NanToIntIsZero", MakeCast(kI32, F(NAN)), 0},
                    ValueCase{"IntNarrows", MakeCast(kI8, I(300)), 44},
                    ValueCase{"IntToFloat", MakeCast(kF32, I(16777217)), 16777216},
                    ValueCase{"IntToBool", MakeCast(DataType::Bool(), I(7)), 1},
                    ValueCase{"Reinterpret", MakeCall(kI32, "reinterpret", {F(1)}), 0x3f800000},
                    ValueCase{"ReinterpretBFloat",
                              MakeCall(DataType::UInt(16), "reinterpret", {F(1, DataType::BFloat())}), 0x3f80}),
    kCaseName);

Expr Ramp4() { return Expr::Make(DataType::Int(32, 4), Ramp{I(5), I(2), 4}); }
INSTANTIATE_TEST_SUITE_P(
    Vectors, ValueTest,
    testing::Values(ValueCase{"ReduceAdd", MakeCall(kI32, "vector_reduce_add", {Ramp4()}), 32},
                    ValueCase{"High", MakeCall(DataType::Int(32, 2), "vectorhigh", {Ramp4()}), 9},
                    ValueCase{"Combine",
                              MakeCall(kI32, "vector_reduce_add",
                                       {MakeCall(DataType::Int(32, 8), "vectorcombine", {Ramp4(), Ramp4()})}),
                              64},
                    ValueCase{"Low", MakeCall(DataType::Int(32, 2), "vectorlow", {Ramp4()}), 5},
                    ValueCase{"SelectTakesLanes",
                              MakeCall(kI32, "vector_reduce_add",
                                       {MakeSelect(Less(Ramp4(), I(8)), Ramp4(), I(0, DataType::Int(32, 4)))}),
                              12}),
    kCaseName);

TEST(Interpreter, EvaluatesOnlyTheChosenSideOfIfThenElse) {
  const Expr fault = Bin(BinaryOp::kDiv, I(1), I(0));
  EXPECT_EQ(Evaluate1(MakeCall(kI32, "if_then_else", {True(), I(3), fault}))->front(), 3);
  EXPECT_THAT(Evaluate1(Expr::Make(kI32, Select{True(), I(3), fault})).status().message(),
              HasSubstr("division by zero"));
}

// As generated code does: the left side says where there is something to be read.
TEST(Interpreter, ReadsOnTheRightOfAnAndOnlyWhereTheLeftHolds) {
  const Buffer a = MakeBuffer("A", {3}, kI32), out = MakeBuffer("out", {4}, kI32);
  const Var i("i");
  const Expr is_small = Less(Load(a, {i}), I(3)), is_least = Less(Load(a, {i}), I(2));
  const Expr both = And(Less(i, I(3)), is_small), either = Bin(BinaryOp::kOr, LessEqual(I(3), i), is_least);
  const Expr value =
      MakeCall(kI32, "if_then_else", {both, I(1), I(0)}) + MakeCall(kI32, "if_then_else", {either, I(2), I(0)});
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {3}, {1, 2, 3}), Tensor::Uninitialized(kI32, {4})};
  ASSERT_EQ(Interpret(MakePrimFunc("f", {a, out}, MakeFor(i, I(4), MakeStore(out, value, {i}))), args), OkStatus());
  EXPECT_THAT(args[1].ToDoubles(), ElementsAre(3, 1, 0, 2));
}

TEST(Interpreter, ComputesWithoutRoundingInFloat64Mode) {
  EXPECT_EQ(Evaluate1(Bin(BinaryOp::kAdd, Bin(BinaryOp::kAdd, F(16777216), F(1)), F(-16777216)), FloatMode::kFloat64)
                ->front(),
            1);
}

// ---- Whole programs.
PrimFunc Matmul(int n, ForKind kind_k = ForKind::kSerial) {
  const Buffer a = MakeBuffer("A", {n, n}), b = MakeBuffer("B", {n, n}), c = MakeBuffer("C", {n, n});
  const Var i("i"), j("j"), k("k"), vi("vi"), vj("vj"), vk("vk");
  BlockNode block{.name = "matmul",
                  .body = MakeStore(c, Load(c, {vi, vj}) + Load(a, {vi, vk}) * Load(b, {vk, vj}), {vi, vj})};
  block.iter_vars = {
      {{0, n}, vi, IterKind::kSpatial}, {{0, n}, vj, IterKind::kSpatial}, {{0, n}, vk, IterKind::kReduce}};
  block.init = MakeStore(c, FloatConst(kF32, 0), {vi, vj});
  const Stmt body = MakeFor(i, n, MakeFor(j, n, MakeFor(k, n, BlockRealize{{i, j, k}, True(), Block(block)}, kind_k)));
  return MakePrimFunc("main", {a, b, c}, body);
}

TEST(Interpreter, RunsInitWhereReductionsBegin) {
  std::vector<Tensor> args = {Tensor::FromDoubles(kF32, {2, 2}, {1, 2, 3, 4}),
                              Tensor::FromDoubles(kF32, {2, 2}, {5, 6, 7, 8}), Tensor::Uninitialized(kF32, {2, 2})};
  ASSERT_EQ(Interpret(Matmul(2), args), OkStatus());
  EXPECT_THAT(args[2].ToDoubles(), ElementsAre(19, 22, 43, 50));
}

TEST(Interpreter, BindsSymbolicExtentsFromArguments) {
  const Var n("n"), i("i");
  const Buffer a = MakeBuffer("A", {n}), b = MakeBuffer("B", {n * 2});
  const PrimFunc func = MakePrimFunc("f", {a, b}, MakeFor(i, n * 2, MakeStore(b, Load(a, {FloorDiv(i, 2)}), {i})));
  std::vector<Tensor> args = {Tensor::FromDoubles(kF32, {2}, {1, 2}), Tensor::Zeros(kF32, {4})};
  ASSERT_EQ(Interpret(func, args), OkStatus());
  EXPECT_THAT(args[1].ToDoubles(), ElementsAre(1, 1, 2, 2));
  args[1] = Tensor::Zeros(kF32, {5});
  EXPECT_THAT(Interpret(func, args).message(),
              HasSubstr("interpret @f argument \"B\": extent 0 is 5, the function wants 4"));
}

TEST(Interpreter, GivesMatchedBuffersTheStridesOfTheirSource) {
  const Var s0("s0"), s1("s1"), offset("off");
  BufferNode view_node = *MakeBuffer("V", {2, 2}, kI32);
  view_node.strides = {s0, s1};
  view_node.elem_offset = offset;
  const Buffer a = MakeBuffer("A", {4, 4}, kI32), view{view_node}, out = MakeBuffer("out", {4}, kI32);
  BlockNode block{.name = "b",
                  .body = MakeSeq({MakeStore(out, Load(view, {1, 1}), {0}), MakeStore(out, s0, {1}),
                                   MakeStore(out, s1, {2}), MakeStore(out, offset, {3})})};
  block.match_buffers.push_back({view, {a, {{1, 2}, {2, 2}}}});
  std::vector<int64_t> values(16);
  for (int i = 0; i < 16; ++i) values[i] = i;
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {4, 4}, values), Tensor::Uninitialized(kI32, {4})};
  ASSERT_EQ(Interpret(MakePrimFunc("f", {a, out}, BlockRealize{{}, True(), Block(block)}), args), OkStatus());
  EXPECT_THAT(args[1].ToDoubles(), ElementsAre(11, 4, 1, 6));
}

TEST(Interpreter, StoresAllLanesAfterReadingThem) {
  const Buffer a = MakeBuffer("A", {5}, kI32);
  const Expr from = Expr::Make(DataType::Int(32, 4), Ramp{0, 1, 4}),
             to = Expr::Make(DataType::Int(32, 4), Ramp{1, 1, 4});
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {5}, {1, 2, 3, 4, 5})};
  ASSERT_EQ(Interpret(MakePrimFunc("f", {a}, MakeStore(a, Load(a, {from}), {to})), args), OkStatus());
  EXPECT_THAT(args[0].ToDoubles(), ElementsAre(1, 1, 2, 3, 4));
}

TEST(Interpreter, RunsWhileLetAndAllocations) {
  const Buffer out = MakeBuffer("out", {1}, kI32), t = MakeBuffer("t", {1}, kI32, "local");
  const Var x("x");
  const Stmt loop = While{Less(Load(t, {0}), I(100)), LetStmt{Load(t, {0}) * I(2), x, MakeStore(t, x, {0})}};
  const PrimFunc func = MakePrimFunc(
      "f", {out}, AllocBuffer{t, MakeSeq({MakeStore(t, I(3), {0}), loop, MakeStore(out, Load(t, {0}), {0})})});
  std::vector<Tensor> args = {Tensor::Uninitialized(kI32, {1})};
  ASSERT_EQ(Interpret(func, args), OkStatus());
  EXPECT_THAT(args[0].ToDoubles(), ElementsAre(192));
}

// ---- Several buffers over one memory.
Buffer Over(const Buffer& owner, std::vector<Expr> shape, Expr offset = 0) {
  BufferNode node = *MakeBuffer("V", std::move(shape), owner->dtype, owner->scope);
  node.data = owner->data;
  node.elem_offset = std::move(offset);
  return Buffer(std::move(node));
}

TEST(Interpreter, SeesThroughADeclaredBufferWhatWasWrittenThroughAnother) {
  const Buffer a = MakeBuffer("A", {2, 3}, kI32), view = Over(a, {3}, 3);
  const Stmt body = MakeSeq({MakeStore(a, I(7), {1, 2}), MakeStore(view, Load(view, {2}) + 1, {0})});
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {2, 3}, {0, 0, 0, 0, 0, 0})};
  ASSERT_EQ(Interpret(MakePrimFunc("f", {a}, DeclBuffer{view, body}), args), OkStatus());
  EXPECT_THAT(args[0].ToDoubles(), ElementsAre(0, 0, 0, 8, 0, 7));
}

TEST(Interpreter, FindsARaceBetweenTwoBuffersOverOneMemory) {
  const Buffer a = MakeBuffer("A", {8}, kI32), view = Over(a, {4}, 4);
  const Var i("i");
  const Stmt loop =
      MakeFor(i, 4, MakeSeq({MakeStore(a, I(1), {i + 1}), MakeStore(view, I(2), {i})}), ForKind::kParallel);
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {8}, std::vector<int64_t>(8, 0))};
  EXPECT_THAT(Interpret(MakePrimFunc("f", {a}, DeclBuffer{view, loop}), args).message(),
              HasSubstr("data race: A[4] is written here and touched in another iteration of loop \"i\""));
}

TEST(Interpreter, RefusesADeclaredBufferThatReachesBeyondItsMemory) {
  const Buffer a = MakeBuffer("A", {8}, kI32), view = Over(a, {5}, 4);
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {8}, std::vector<int64_t>(8, 0))};
  const Status status = Interpret(MakePrimFunc("f", {a}, DeclBuffer{view, Evaluate{0}}), args);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("buffer \"V\" reaches 9 elements, the memory it is declared over has 8"));
}

TEST(Interpreter, NamesABufferThatReadsMemoryAsAnotherType) {
  const Buffer a = MakeBuffer("A", {8}, kI32);
  BufferNode node = *MakeBuffer("V", {8});
  node.data = a->data;
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {8}, std::vector<int64_t>(8, 0))};
  const Status status = Interpret(MakePrimFunc("f", {a}, DeclBuffer{Buffer(node), Evaluate{0}}), args);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("buffer \"V\" reads memory of int32 as float32"));
}

// ---- Predicates, lets and shuffles as values, constant memory, launched threads.
TEST(Interpreter, LeavesLanesThatAPredicateTurnsOff) {
  const Buffer a = MakeBuffer("A", {4}, kI32), b = MakeBuffer("B", {4}, kI32);
  const Expr lanes = Expr::Make(DataType::Int(32, 4), Ramp{0, 1, 4});
  const Expr four = Expr::Make(DataType::Int(32, 4), Broadcast{2, 4});
  const Expr low = MakeBinary(BinaryOp::kLT, lanes, four);
  const Expr load = Expr::Make(DataType::Int(32, 4), BufferLoad{a, {lanes}, MakeNot(low)});
  const Stmt masked = MakeSeq({BufferStore{b, four, {lanes}, low}, BufferStore{a, load, {lanes}, std::nullopt}});
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {4}, {5, 6, 7, 8}), Tensor::FromInts(kI32, {4}, {1, 1, 1, 1})};
  ASSERT_EQ(Interpret(MakePrimFunc("f", {a, b}, masked), args), OkStatus());
  EXPECT_THAT(args[0].ToDoubles(), ElementsAre(0, 0, 7, 8));
  EXPECT_THAT(args[1].ToDoubles(), ElementsAre(2, 2, 1, 1));
}

TEST(Interpreter, EvaluatesLetsAndShufflesAsValues) {
  const Var x("x");
  EXPECT_THAT(*Evaluate1(Expr::Make(kI32, Let{I(3), x, Expr(x) * x})), ElementsAre(9));
  const Expr ramp = Expr::Make(DataType::Int(32, 4), Ramp{10, 1, 4});
  EXPECT_THAT(*Evaluate1(Expr::Make(kI32, Shuffle{{I(7), ramp}, {Expr(3)}})), ElementsAre(12));
}

// Else lets within lets would take 16 times as long for each that is around.
TEST(Interpreter, EvaluatesLetsOfLanesLaneByLane) {
  const DataType lanes = DataType::Int(32, 16);
  Expr value = Expr::Make(lanes, Ramp{1, 1, 16});
  for (int i = 0; i < 12; ++i) {
    const Var x("x", lanes);
    value = Expr::Make(lanes, Let{value, x, x + x});
  }
  EXPECT_THAT(*Evaluate1(value), testing::Contains(16 << 12));
  const Var x("x", lanes);  // Each lane needs all of them.
  const Expr sum = Expr::Make(lanes, Broadcast{MakeCall(kI32, "vector_reduce_add", {x}), 16});
  EXPECT_THAT(*Evaluate1(Expr::Make(lanes, Let{Expr::Make(lanes, Ramp{1, 1, 16}), x, x + sum})),
              testing::Contains(16 + 136));
}

TEST(Interpreter, ReadsConstantMemoryAndRunsLaunchedThreads) {
  const Buffer out = MakeBuffer("out", {4}, kI32);
  const Var data("table", MakePointerType(kI32)), tx("tx");
  BufferNode node = *MakeBuffer("T", {2, 2}, kI32);
  node.data = data;
  const Buffer table(std::move(node));
  const Stmt store = MakeStore(out, Load(table, {FloorDiv(tx, 2), FloorMod(tx, 2)}), {tx});
  const Stmt threads =
      AttrStmt{"thread_extent", Expr(4), IterVar{{0, 4}, tx, IterKind::kThreadIndex, "threadIdx.x"}, store};
  const AllocateConst constants{data, kI32, {2, 2}, {I(4), I(3), I(2), I(1)}, {}, DeclBuffer{table, threads}};
  std::vector<Tensor> args = {Tensor::Uninitialized(kI32, {4})};
  ASSERT_EQ(Interpret(MakePrimFunc("f", {out}, constants), args), OkStatus());
  EXPECT_THAT(args[0].ToDoubles(), ElementsAre(4, 3, 2, 1));
}

TEST(Interpreter, NamesWhatItDoesNotRun) {
  const Buffer out = MakeBuffer("out", {1}, kI32);
  std::vector<Tensor> args = {Tensor::Uninitialized(kI32, {1})};
  const auto error = [&](const Stmt& body) { return Interpret(MakePrimFunc("f", {out}, body), args).message(); };
  EXPECT_THAT(error(lathe::Evaluate{Expr::Make(kI32, FuncCall{"g", {}})}),
              HasSubstr("a call of function \"g\"; inline it"));
  EXPECT_THAT(error(AttrStmt{"device_scope", Expr(1), Attr(0), lathe::Evaluate{0}}),
              HasSubstr("T.attr with \"device_scope\""));
  EXPECT_THAT(error(lathe::Evaluate{MakeCall(kI32, "call_extern", {})}), HasSubstr("call_extern"));
  EXPECT_THAT(error(lathe::Evaluate{Expr::Make(kI32.with_scalable_lanes(4), Broadcast{1, 4})}),
              HasSubstr("a value of int32xvscalex4"));
}

// ---- Faults.
struct FaultCase {
  const char* name;
  std::function<Stmt(const Buffer& a, const Var& i)> body;  // `a` has 8 int32; i runs over 8 in a loop of `kind`.
  ForKind kind;
  StatusCode code;
  const char* message;
};
class FaultTest : public testing::TestWithParam<FaultCase> {};
TEST_P(FaultTest, NamesThePlaceAndLeavesTheArguments) {
  const Buffer a = MakeBuffer("A", {8}, kI32);
  const Var i("i"), vi("vi");
  BlockNode block{.name = "work", .body = GetParam().body(a, vi)};
  block.iter_vars = {{{0, 8}, vi, IterKind::kSpatial}};
  const PrimFunc func =
      MakePrimFunc("main", {a}, MakeFor(i, 8, BlockRealize{{i}, True(), Block(block)}, GetParam().kind));
  std::vector<Tensor> args = {Tensor::FromInts(kI32, {8}, {9, 9, 9, 9, 9, 9, 9, 9})};
  InterpreterOptions options;
  options.max_steps = 1000;
  const Status status = Interpret(func, args, options);
  EXPECT_EQ(status.code(), GetParam().code) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
  EXPECT_THAT(args[0].ToDoubles(), testing::Each(9));
}
INSTANTIATE_TEST_SUITE_P(
    All, FaultTest,
    testing::Values(
        FaultCase{"ReadOutOfBounds", [](const Buffer& a, const Var& i) { return MakeStore(a, Load(a, {i + 1}), {i}); },
                  ForKind::kSerial, StatusCode::kOutOfRange,
                  "interpret @main block \"work\" at i = 7: A[8] is outside of shape [8]"},
        FaultCase{"WriteOutOfBounds", [](const Buffer& a, const Var& i) { return MakeStore(a, I(0), {i - 1}); },
                  ForKind::kSerial, StatusCode::kOutOfRange,
                  "interpret @main block \"work\" at i = 0: A[-1] is outside of shape [8]"},
        FaultCase{"UninitialisedRead",
                  [](const Buffer& a, const Var& i) {
                    const Buffer t = MakeBuffer("t", {8}, kI32, "local");
                    return Stmt(AllocBuffer{t, MakeSeq({MakeStore(t, I(1), {0}), MakeStore(a, Load(t, {i}), {i})})});
                  },
                  ForKind::kSerial, StatusCode::kFailedPrecondition,
                  "block \"work\" at i = 1: t[1] is read before it was written"},
        FaultCase{
            "DivisionByZero",
            [](const Buffer& a, const Var& i) { return MakeStore(a, MakeBinary(BinaryOp::kFloorDiv, 5, i - 3), {i}); },
            ForKind::kSerial, StatusCode::kInvalidArgument,
            "block \"work\" at i = 3: division by zero: the dividend is 5"},
        FaultCase{
            "ParallelWritesOneElement", [](const Buffer& a, const Var& i) { return MakeStore(a, i, {FloorDiv(i, 2)}); },
            ForKind::kParallel, StatusCode::kFailedPrecondition,
            "block \"work\" at i = 1: data race: A[0] is written here and touched in another iteration of loop \"i\""},
        FaultCase{"VectorLanesReadTheirNeighbour",
                  [](const Buffer& a, const Var& i) { return MakeStore(a, Load(a, {Max(i - 1, 0)}), {i}); },
                  ForKind::kVectorized, StatusCode::kFailedPrecondition,
                  "data race: A[0] is read here and written in another iteration of loop \"i\""},
        FaultCase{"ThreadWritesWhatAnotherRead",
                  [](const Buffer& a, const Var& i) { return MakeStore(a, Load(a, {Min(i + 1, 7)}), {i}); },
                  ForKind::kThreadBinding, StatusCode::kFailedPrecondition,
                  "data race: A[1] is written here and touched in another iteration of loop \"i\""},
        FaultCase{"LanesOfOneStoreCollide",
                  [](const Buffer& a, const Var& i) {
                    return MakeStore(a, I(0, DataType::Int(32, 4)), {I(0, DataType::Int(32, 4))});
                  },
                  ForKind::kSerial, StatusCode::kFailedPrecondition,
                  "data race: two lanes of a vector store write A[0]"},
        FaultCase{"StepLimit", [](const Buffer&, const Var&) { return Stmt(While{True(), Evaluate{0}}); },
                  ForKind::kSerial, StatusCode::kDeadlineExceeded, "no end after 1000 statements"},
        FaultCase{"Assert",
                  [](const Buffer&, const Var& i) { return Stmt(AssertStmt{Less(i, 2), "too far", Evaluate{0}}); },
                  ForKind::kSerial, StatusCode::kFailedPrecondition, "at i = 2: assert failed: too far"},
        FaultCase{"Assume",
                  [](const Buffer&, const Var& i) {
                    return Stmt(Evaluate{MakeCall(DataType::Bool(), "assume", {Less(i, 2)})});
                  },
                  ForKind::kSerial, StatusCode::kFailedPrecondition, "at i = 2: T.assume does not hold"},
        FaultCase{"UnknownVariable", [](const Buffer& a, const Var& i) { return MakeStore(a, Var("q"), {i}); },
                  ForKind::kSerial, StatusCode::kInvalidArgument, "variable \"q\" is used but not defined"},
        FaultCase{"UnknownBuffer",
                  [](const Buffer&, const Var& i) { return MakeStore(MakeBuffer("X", {8}, kI32), I(0), {i}); },
                  ForKind::kSerial, StatusCode::kInvalidArgument, "buffer \"X\" is used but not defined"},
        FaultCase{"AllocationThatHasEnded",
                  [](const Buffer&, const Var& i) {
                    const Buffer x = MakeBuffer("X", {8}, kI32);
                    return MakeSeq({AllocBuffer{x, MakeStore(x, I(0), {i})}, MakeStore(x, I(1), {i})});
                  },
                  ForKind::kSerial, StatusCode::kInvalidArgument, "buffer \"X\" is used but not defined"},
        FaultCase{"HugeAllocation",
                  [](const Buffer&, const Var&) {
                    return Stmt(AllocBuffer{MakeBuffer("t", {1 << 20, 1 << 20}), Evaluate{0}});
                  },
                  ForKind::kSerial, StatusCode::kResourceExhausted, "a buffer of 1099511627776 elements"}),
    kCaseName);

// A schedule may copy more than anybody uses: what is used has to have been written.
TEST(Interpreter, LetsCopiesTakeAlongWhatNobodyWrote) {
  const Buffer a = MakeBuffer("A", {2}, kI32), t = MakeBuffer("t", {2}, kI32), u = MakeBuffer("u", {2}, kI32);
  const Var i("i");
  const auto copies = [&](const Buffer& to, const Expr& index) {
    const Stmt copy = MakeFor(i, 2, MakeStore(to, MakeCast(to->dtype, Load(t, {i})), {i}));
    const Stmt use = MakeStore(a, MakeCast(kI32, Load(to, {index})) + 1, {0});
    std::vector<Tensor> args = {Tensor::Zeros(kI32, {2})};
    return Interpret(
        MakePrimFunc("f", {a}, AllocBuffer{t, AllocBuffer{to, MakeSeq({MakeStore(t, I(5), {1}), copy, use})}}), args);
  };
  for (const Buffer& to : {u, MakeBuffer("u", {2}, kF32)}) {
    EXPECT_EQ(copies(to, 1), OkStatus());
    EXPECT_THAT(copies(to, 0).message(), HasSubstr("u[0] is read before it was written"));
  }
  std::vector<Tensor> args = {Tensor::Zeros(kI32, {2})};
  const Stmt out = AllocBuffer{t, MakeStore(a, Load(t, {0}), {0})};
  EXPECT_THAT(Interpret(MakePrimFunc("f", {a}, out), args).message(), HasSubstr("t[0] is read before it was written"));
}

TEST(Interpreter, RefusesIterVarsOutsideOfTheirDomain) {
  PrimFunc func = Matmul(4);
  func.body = Substitute(func.body, {});
  const For* loop = func.body.As<For>();
  For longer = *loop;
  longer.extent = 5;
  func.body = longer;
  std::vector<Tensor> args(3, Tensor::Zeros(kF32, {4, 4}));
  EXPECT_THAT(Interpret(func, args).message(),
              HasSubstr("block \"matmul\" at i = 4, j = 0, k = 0: iter var \"vi\" is 4, outside of [0, 4)"));
}

TEST(Races, AreSeenInParallelReductionsOnly) {
  std::vector<Tensor> args(3, Tensor::Zeros(kF32, {4, 4}));
  EXPECT_THAT(Interpret(Matmul(4, ForKind::kParallel), args).message(), HasSubstr("another iteration of loop \"k\""));
  InterpreterOptions options;
  options.check_races = false;
  EXPECT_EQ(Interpret(Matmul(4, ForKind::kParallel), args, options), OkStatus());
}

TEST(Races, AreSeenBetweenCopiesOfWhatNobodyWrote) {
  const Buffer a = MakeBuffer("A", {1}, kI32), t = MakeBuffer("t", {2}, kI32), u = MakeBuffer("u", {1}, kI32);
  const Var i("i");
  const Stmt copy = MakeFor(i, 2, MakeStore(u, Load(t, {i}), {0}), ForKind::kParallel);
  std::vector<Tensor> args = {Tensor::Zeros(kI32, {1})};
  EXPECT_THAT(Interpret(MakePrimFunc("f", {a}, AllocBuffer{t, AllocBuffer{u, copy}}), args).message(),
              HasSubstr("data race: u[0] is written here and touched in another iteration of loop \"i\""));
}

TEST(Races, AreNotSeenBetweenLoopsThatFollowEachOther) {
  const Buffer a = MakeBuffer("A", {8}, kI32);
  const Var i("i"), j("j"), k("k"), o("o");
  const Stmt first = MakeFor(i, 8, MakeStore(a, i, {i}), ForKind::kParallel);
  const Stmt second = MakeFor(j, 8, MakeStore(a, Load(a, {j}) + 1, {j}), ForKind::kParallel);
  std::vector<Tensor> args = {Tensor::Zeros(kI32, {8})};
  EXPECT_EQ(Interpret(MakePrimFunc("f", {a}, MakeFor(o, 2, MakeSeq({first, second}))), args), OkStatus());
  const Stmt outer = MakeFor(o, 2, MakeSeq({first, second}), ForKind::kParallel);
  EXPECT_THAT(Interpret(MakePrimFunc("f", {a}, outer), args).message(), HasSubstr("another iteration of loop \"o\""));
}

}  // namespace
}  // namespace lathe
