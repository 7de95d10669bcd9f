#include "compiler/arith/index_map.h"

#include <gmock/gmock.h>

#include "brute_force.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const Var i("i"), j("j"), n("n");

std::string Text(const std::vector<Expr>& indices) {
  std::string text;
  for (const Expr& index : indices) text += (text.empty() ? "" : ", ") + ToText(index);
  return text;
}
std::vector<Range> Box(const std::vector<Expr>& shape) {
  std::vector<Range> ranges;
  for (const Expr& extent : shape) ranges.push_back({0, extent});
  return ranges;
}

struct IndexMapCase {
  const char* name;
  IndexMap map;
  std::vector<Expr> shape;
  const char *mapped_shape, *inverse, *padded_inverse, *padding;  // After "!": part of an error.
};
class IndexMapTest : public testing::TestWithParam<IndexMapCase> {
 protected:
  template <typename T, typename F>
  static void Expect(const StatusOr<T>& actual, const char* expected, const F& text) {
    if (expected[0] != '!') {
      ASSERT_TRUE(actual.ok()) << actual.status().message();
      EXPECT_EQ(text(*actual), expected);
    } else {
      ASSERT_FALSE(actual.ok()) << text(*actual);
      EXPECT_THAT(actual.status().message(), HasSubstr(expected + 1));
    }
  }
};
TEST_P(IndexMapTest, MapsShapesAndInverts) {
  const IndexMapCase& c = GetParam();
  Expect(c.map.MapShape(c.shape, Analyzer()), c.mapped_shape, Text);
  Expect(c.map.Inverse(Box(c.shape), Analyzer()), c.inverse,
         [](const IndexMap& inverse) { return Text(inverse.final_indices); });
  const auto padded = c.map.NonSurjectiveInverse(Box(c.shape), Analyzer());
  Expect(padded, c.padded_inverse, [](const PaddedIndexMap& inverse) { return Text(inverse.map.final_indices); });
  if (padded.ok()) EXPECT_EQ(ToText(padded->padding_predicate), c.padding);
}
INSTANTIATE_TEST_SUITE_P(
    Maps, IndexMapTest,
    testing::Values(
        IndexMapCase{"Split",
                     {{i, j}, {i, FloorDiv(j, 4), FloorMod(j, 4)}, nullptr},
                     {16, 32},
                     "16, 8, 4",
                     "i, axis1 * 4 + axis2",
                     "i, axis1 * 4 + axis2",
                     "False"},
        IndexMapCase{"Transpose", {{i, j}, {j, i}, nullptr}, {4, 8}, "8, 4", "i, j", "i, j", "False"},
        IndexMapCase{"Flatten",
                     {{i, j}, {i * 8 + j}, nullptr},
                     {4, 8},
                     "32",
                     "axis0 // 8, axis0 % 8",
                     "axis0 // 8, axis0 % 8",
                     "False"},
        IndexMapCase{"SplitWithRest",
                     {{i}, {FloorDiv(i, 4), FloorMod(i, 4)}, nullptr},
                     {14},
                     "4, 4",
                     "!no inverse",
                     "axis0 * 4 + axis1",
                     "axis0 == 3 and 2 <= axis1"},
        IndexMapCase{"Interleave",
                     {{i, j}, {FloorDiv(i, 4) * 32 + j * 4 + FloorMod(i, 4)}, nullptr},
                     {16, 8},
                     "128",
                     "axis0 // 32 * 4 + axis0 % 4, axis0 % 32 // 4",
                     "axis0 // 32 * 4 + axis0 % 4, axis0 % 32 // 4",
                     "False"},
        IndexMapCase{"Offset", {{i}, {i + 3}, nullptr}, {8}, "!does not begin at 0", "axis0 - 3", "axis0 - 3", "False"},
        IndexMapCase{"Backwards", {{i}, {Expr(7) - i}, nullptr}, {8}, "8", "7 - axis0", "7 - axis0", "False"},
        IndexMapCase{"UnitSplit",
                     {{i, j}, {FloorDiv(i, 2), j, FloorMod(i, 2)}, nullptr},
                     {1, 8},
                     "1, 8, 2",
                     "!no inverse",
                     "axis0 * 2 + axis2, j",
                     "axis2 == 1"},
        IndexMapCase{"SymbolicShape",
                     {{i}, {FloorDiv(i, 4), FloorMod(i, 4)}, nullptr},
                     {n},
                     "(n - n % -4) // 4, 4",
                     "!no inverse",
                     "axis0 * 4 + axis1",
                     "n % -4 < 0 and axis0 == n // 4 and n % 4 <= axis1"},
        IndexMapCase{"Overlap", {{i, j}, {i + j}, nullptr}, {4, 4}, "7", "!no inverse", "!no inverse", ""},
        IndexMapCase{"NotAffine", {{i, j}, {Max(i, j), j}, nullptr}, {4, 4}, "4, 4", "!no inverse", "!no inverse", ""}),
    [](const auto& info) { return info.param.name; });

TEST(IndexMap, MapsIndices) {
  const IndexMap map{{i, j}, {i, FloorDiv(j, 4), FloorMod(j, 4)}, nullptr};
  EXPECT_EQ(Text(*map.MapIndices({n + 1, n * 4 + 2}, Analyzer())), "n + 1, n, 2");
  EXPECT_THAT(map.MapIndices({n}, Analyzer()).status().message(), HasSubstr("1 indices given, the map takes 2"));
}

TEST(IndexMap, UsesTheInverseThatItIsGiven) {
  const Var a("a");
  IndexMap map{{i}, {i * i}, std::make_shared<const IndexMap>(IndexMap{{a}, {a + 1}, nullptr})};
  EXPECT_EQ(Text(map.Inverse(Box({8}), Analyzer())->final_indices), "a + 1");
}

TEST(IndexMap, ComparesUpToNames) {
  const Var a("a"), b("b");
  const IndexMap map{{i, j}, {j * 4 + i}, nullptr};
  EXPECT_TRUE(map.IsEquivalentTo({{a, b}, {b * 4 + a}, nullptr}));
  EXPECT_FALSE(map.IsEquivalentTo({{a, b}, {a * 4 + b}, nullptr}));
  EXPECT_FALSE(map.IsEquivalentTo(IndexMap::Identity(2)));
  EXPECT_TRUE(IndexMap::Identity(2).IsEquivalentTo({{a, b}, {a, b}, nullptr}));
}

}  // namespace
}  // namespace lathe
