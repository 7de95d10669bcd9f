#include "runtime/extent.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::HasSubstr;

struct ProgramCase {
  const char* name;
  std::vector<LatheMetaTerm> terms;
  int64_t value;
  const char* text;
  const char* message;  // Of decoding or evaluating; empty: it gives `value`.
};
class ExtentTest : public testing::TestWithParam<ProgramCase> {};

constexpr LatheMetaTerm Number(int64_t value) { return {value, LATHE_TERM_CONSTANT, 0}; }
constexpr LatheMetaTerm Symbol(int64_t index) { return {index, LATHE_TERM_SYMBOL, 0}; }
constexpr LatheMetaTerm Scalar(int64_t index) { return {index, LATHE_TERM_SCALAR, 0}; }
constexpr LatheMetaTerm Op(LatheMetaTermOp op) { return {0, op, 0}; }

// Symbols are n = 7, m = -3; the scalar is 5.
TEST_P(ExtentTest, IsDecodedAndEvaluated) {
  const ProgramCase& row = GetParam();
  const SectionReader reader(".lathe.meta", std::as_bytes(std::span(row.terms)));
  const auto length = static_cast<uint32_t>(row.terms.size());
  const RuntimeResult<Extent> extent = DecodeExtent(reader, {0, LATHE_DIM_PROGRAM, length}, {length, 0, 2, 1, true}, 0);
  if (!extent.ok()) {
    EXPECT_THAT(extent.error().message, HasSubstr(row.message));
    EXPECT_STRNE(row.message, "");
    return;
  }
  const std::vector<std::string> names = {"n", "m"};
  EXPECT_EQ(extent->ToString(names), row.text);
  const RuntimeResult<int64_t> value = EvaluateExtent(*extent, std::vector<int64_t>{7, -3}, std::vector<int64_t>{5});
  if (value.ok()) {
    EXPECT_EQ(*value, row.value);
  }
  EXPECT_EQ(value.ok(), std::string(row.message).empty());
  EXPECT_THAT(value.error().message, HasSubstr(row.message));
}
INSTANTIATE_TEST_SUITE_P(
    Programs, ExtentTest,
    testing::Values(
        ProgramCase{"Sum", {Symbol(0), Number(4), Op(LATHE_TERM_ADD)}, 11, "(n + 4)", ""},
        ProgramCase{"Difference", {Symbol(0), Scalar(0), Op(LATHE_TERM_SUB)}, 2, "(n - scalar0)", ""},
        ProgramCase{"FloorDivRoundsDown", {Symbol(1), Number(2), Op(LATHE_TERM_FLOORDIV)}, -2, "(m // 2)", ""},
        ProgramCase{"FloorModFollowsDivisor", {Symbol(1), Number(2), Op(LATHE_TERM_FLOORMOD)}, 1, "(m % 2)", ""},
        ProgramCase{"MinMax",
                    {Symbol(0), Symbol(1), Op(LATHE_TERM_MIN), Number(9), Op(LATHE_TERM_MAX)},
                    9,
                    "max(min(n, m), 9)",
                    ""},
        ProgramCase{"DivisionByZero",
                    {Symbol(0), Number(0), Op(LATHE_TERM_FLOORDIV)},
                    0,
                    "(n // 0)",
                    "overflows or divides by zero"},
        ProgramCase{"Overflow",
                    {Number(INT64_MAX), Symbol(0), Op(LATHE_TERM_MUL)},
                    0,
                    "(9223372036854775807 * n)",
                    "overflows or divides by zero"},
        ProgramCase{"MostNegativeByMinusOne",
                    {Number(INT64_MIN), Number(-1), Op(LATHE_TERM_FLOORMOD)},
                    0,
                    "(-9223372036854775808 % -1)",
                    "overflows or divides by zero"},
        ProgramCase{"Underflow", {Symbol(0), Op(LATHE_TERM_ADD)}, 0, "", "takes more numbers than it has"},
        ProgramCase{"TwoResults", {Symbol(0), Symbol(1)}, 0, "", "leaves 2 numbers, 1 required"},
        ProgramCase{"UnknownSymbol", {Symbol(2)}, 0, "", "names symbol 2 of 2"},
        ProgramCase{"UnknownScalar", {Scalar(1)}, 0, "", "names scalar 1 of 1"},
        ProgramCase{"UnknownOperation", {{0, 77, 0}}, 0, "", "term operation 77"}),
    [](const auto& info) { return info.param.name; });

TEST(Extent, RefusesProgramsBeyondTheirTable) {
  const LatheMetaTerm terms[2] = {Number(1), Number(2)};
  const SectionReader reader(".lathe.meta", std::as_bytes(std::span(terms)));
  const ExtentScope scope{2, 0, 0, 0, true};
  for (const LatheMetaDim& raw : {LatheMetaDim{0, LATHE_DIM_PROGRAM, 3}, LatheMetaDim{-1, LATHE_DIM_PROGRAM, 1},
                                  LatheMetaDim{2, LATHE_DIM_PROGRAM, 1}, LatheMetaDim{0, LATHE_DIM_PROGRAM, 0}})
    EXPECT_THAT(DecodeExtent(reader, raw, scope, 0).error().message, HasSubstr("a program of"));
}

TEST(Extent, KnowsNoProgramsInLayout1) {
  const LatheMetaTerm terms[1] = {Number(1)};
  const SectionReader reader(".lathe.meta", std::as_bytes(std::span(terms)));
  EXPECT_THAT(DecodeExtent(reader, {0, LATHE_DIM_PROGRAM, 1}, {1, 0, 0, 0, false}, 0).error().message,
              HasSubstr("dimension kind 2, at most 1 known"));
}

}  // namespace
}  // namespace lathe
