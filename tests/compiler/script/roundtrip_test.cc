// parse(print(x)) is x, for random programs and for random programs of which one field has been changed.
#include <gmock/gmock.h>

#include <bit>
#include <limits>

#include "compiler/ir/structural.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/compiler/random_ir.h"
#include "tests/compiler/script/field_mutator.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

enum class Program { kSchedulable, kAnything, kSymbolic };
PrimFunc MakeProgram(Program program, uint64_t seed) {
  if (program == Program::kSymbolic) return RandomSymbolicPrimFunc(seed);
  return RandomPrimFunc(seed, program == Program::kSchedulable ? RandomIrMode::kSchedulable : RandomIrMode::kAnything);
}

void ExpectRoundTrip(const PrimFunc& func, const std::string& what) {
  const std::string text = Print(func);
  const StatusOr<PrimFunc> read = ParsePrimFunc(text, "printed.py");
  ASSERT_TRUE(read.ok()) << what << ": " << read.status().ToString() << "\n" << text;
  ASSERT_TRUE(StructuralEqual(func, *read)) << what << "\n" << text << "\nread as\n" << Print(*read);
  EXPECT_EQ(StructuralHash(func), StructuralHash(*read)) << what;
  EXPECT_EQ(read->name, func.name) << what;
  EXPECT_EQ(Print(*read), text) << what;
  EXPECT_EQ(WorkloadDigest(*read), WorkloadDigest(func)) << what;
}

class RoundTripTest : public testing::TestWithParam<Program> {};

TEST_P(RoundTripTest, GivesTheSameProgram) {
  for (int seed = 0; seed < PropertyRuns(400); ++seed) {
    ExpectRoundTrip(MakeProgram(GetParam(), seed), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST_P(RoundTripTest, SeesEveryChangeOfAField) {
  for (int seed = 0; seed < PropertyRuns(15, 30); ++seed) {
    const PrimFunc before = MakeProgram(GetParam(), seed);
    const std::string text = Print(before), canonical = CanonicalText(before);
    const int num_fields = CountMutableFields(before);
    for (int i = 0; i < num_fields; ++i) {
      const MutatedFunc after = MutateField(before, i);
      const std::string what = "seed " + std::to_string(seed) + " change " + std::to_string(i) + " of " + after.field;
      ASSERT_FALSE(StructuralEqual(before, after.func)) << what;
      ASSERT_NE(Print(after.func), text) << what;
      ASSERT_EQ(CanonicalText(after.func) == canonical, after.is_unnamed) << what;
      ExpectRoundTrip(after.func, what);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, RoundTripTest,
                         testing::Values(Program::kSchedulable, Program::kAnything, Program::kSymbolic),
                         [](const auto& info) {
                           return info.param == Program::kSchedulable ? "Schedulable"
                                  : info.param == Program::kAnything  ? "Anything"
                                                                      : "Symbolic";
                         });

TEST(RoundTrip, KeepsModules) {
  IRModule module;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    module.prim_funcs.push_back(RandomPrimFunc(seed, RandomIrMode::kSchedulable));
    module.prim_funcs.back().name = "f" + std::to_string(seed);
  }
  const StatusOr<IRModule> read = ParseModule(Print(module), "module.py");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->prim_funcs.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(read->prim_funcs[i].name, module.prim_funcs[i].name);
    EXPECT_TRUE(StructuralEqual(read->prim_funcs[i], module.prim_funcs[i]));
  }
  EXPECT_EQ(Print(*ParseModule(Print(IRModule()), "empty.py")), Print(IRModule()));
}

struct ExprCase {
  const char* name;
  Expr expr;
};
class ExprRoundTripTest : public testing::TestWithParam<ExprCase> {};
TEST_P(ExprRoundTripTest, IsExact) {
  ExpectRoundTrip(MakePrimFunc("f", {}, Evaluate{GetParam().expr}), GetParam().name);
}
INSTANTIATE_TEST_SUITE_P(
    Leaves, ExprRoundTripTest,
    testing::Values(
        ExprCase{"NaN", FloatConst(DataType::Float(32), std::numeric_limits<double>::quiet_NaN())},
        ExprCase{"NegativeNaN", FloatConst(DataType::Float(64), -std::numeric_limits<double>::quiet_NaN())},
        ExprCase{"NaNWithPayload",
                 FloatConst(DataType::Float(64), std::bit_cast<double>(uint64_t{0xfff8000000001234}))},
        ExprCase{"NegativeZero", FloatConst(DataType::Float(16), -0.0)},
        ExprCase{"Denormal", FloatConst(DataType::Float(64), 5e-324)},
        ExprCase{"Int64Min", IntConst(DataType::Int(64), INT64_MIN)}, ExprCase{"Int32Min", Expr(INT32_MIN)},
        ExprCase{"UInt64Max", IntConst(DataType::UInt(64), -1)},
        ExprCase{"Ramp", Expr::Make(DataType::Int(32, 4), Ramp{0, 2, 4})},
        ExprCase{"LongerRamp", Expr::Make(DataType::Int(32, 8), Ramp{0, 2, 8})},
        ExprCase{"Broadcast", Expr::Make(DataType::BFloat(16), Broadcast{FloatConst(DataType::BFloat(), 1), 16})},
        ExprCase{"CastToItsType", Expr::Make(DataType::Int(32), Cast{Expr(1)})},
        ExprCase{"NotOfConstant", Expr::Make(DataType::Bool(), Not{True()})},
        ExprCase{"CallOfOddType", MakeCall(DataType::Float(16), "exp", {FloatConst(DataType::Float(32), 1)})},
        ExprCase{"VectorLow",
                 MakeCall(DataType::Int(32, 2), "vectorlow", {Expr::Make(DataType::Int(32, 4), Ramp{0, 2, 4})})},
        ExprCase{"NullHandle", IntConst(DataType::Handle(), 0)}),
    [](const auto& info) { return info.param.name; });

// Ranges whose ends have different types, as code that builds IR may leave them.
TEST(RoundTrip, KeepsRangesOfMixedTypes) {
  const Var i("i", DataType::Int(64)), j("j"), v("v", DataType::Int(64)), w("w");
  BlockNode block{.name = "b", .body = Evaluate{0}};
  block.iter_vars = {{{0, IntConst(DataType::Int(64), 4)}, v, IterKind::kSpatial}, {{2, 3}, w, IterKind::kReduce}};
  const Buffer a = MakeBuffer("A", {8, 8});
  block.reads = {{a, {{v, 1}, {v, IntConst(DataType::Int(64), 4)}}}};
  const Stmt nest = For{i,
                        0,
                        IntConst(DataType::Int(64), 4),
                        ForKind::kSerial,
                        "",
                        {},
                        MakeFor(j, 3, BlockRealize{{i, Expr(j) + 2}, True(), Block(block)})};
  ExpectRoundTrip(MakePrimFunc("f", {a}, BlockRealize{{}, True(), Block(BlockNode{.name = "root", .body = nest})}),
                  "mixed");
}

TEST(Print, NamesFreeVariablesInExcerpts) {
  const Var i("i"), other("i");
  const Buffer a = MakeBuffer("A", {8});
  EXPECT_EQ(Print(Load(a, {Expr(i) + other})), "A[i + i_1]");
  EXPECT_EQ(Print(BufferRegion{a, {{i, 4}}}), "A[i:i + 4]");
  EXPECT_EQ(Print(MakeFor(i, 8, MakeStore(a, FloatConst(DataType::Float(32), 0), {i}))),
            "for i in range(8):\n    A[i] = T.float32(0.0)\n");
}

}  // namespace
}  // namespace lathe
