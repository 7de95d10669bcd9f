#include "compiler/topi/transform.h"

#include "compiler/topi/pad.h"
#include "tests/compiler/topi/reference.h"

namespace lathe::topi {
namespace {

using testing::HasSubstr;

Given Data(Index shape, const std::string& name = "x", unsigned seed = 1) {
  return Input(SmallIntegers(std::move(shape), seed), name);
}
Given Indices(Array values, const std::string& name = "i") { return Input(std::move(values), name, DataType::Int(32)); }

TEST(Reshape, KeepsElementsInOrder) {
  const Given x = Data({2, 3, 4});
  const Array got = ResultOf(Reshape(x.tensor, {4, -1}), {x});
  EXPECT_EQ(got.shape, (Index{4, 6}));
  EXPECT_EQ(got.values, x.array.values);
  EXPECT_THAT(Reshape(x.tensor, {5, 5}).status().message(), HasSubstr("has 25 elements, the tensor 24"));
  EXPECT_THAT(Reshape(x.tensor, {-1, -1}).status().message(), HasSubstr("more than one extent"));
  EXPECT_EQ(ResultOf(Flatten(x.tensor), {x}).values, x.array.values);
}

TEST(Transpose, MovesAxes) {
  const Given x = Data({2, 3, 4});
  ExpectNear(ResultOf(Transpose(x.tensor, {1, 2, 0}), {x}),
             Fill({3, 4, 2}, [&](const Index& at) { return x.array[{at[2], at[0], at[1]}]; }));
  ExpectNear(ResultOf(Transpose(x.tensor, {}), {x}),
             Fill({4, 3, 2}, [&](const Index& at) { return x.array[{at[2], at[1], at[0]}]; }));
  EXPECT_THAT(Transpose(x.tensor, {0, 0, 1}).status().message(), HasSubstr("named twice"));
  EXPECT_THAT(Transpose(x.tensor, {0, 1}).status().message(), HasSubstr("not every axis"));
}

TEST(ExpandDims, AddsAndSqueezeDropsExtentsOfOne) {
  const Given x = Data({2, 3});
  const StatusOr<Tensor> wide = ExpandDims(x.tensor, -1, 2);
  EXPECT_EQ(ResultOf(wide, {x}).shape, (Index{2, 3, 1, 1}));
  ExpectNear(ResultOf(Squeeze(*wide, {}), {x}), x.array);
  EXPECT_EQ(ResultOf(Squeeze(*wide, {3}), {x}).shape, (Index{2, 3, 1}));
  EXPECT_THAT(Squeeze(x.tensor, {0}).status().message(), HasSubstr("is not 1"));
}

TEST(Concatenate, PutsTensorsBehindEachOther) {
  const Given a = Data({2, 3}, "a", 1), b = Data({2, 1}, "b", 2), c = Data({2, 2}, "c", 3);
  ExpectNear(ResultOf(Concatenate({a.tensor, b.tensor, c.tensor}, -1), {a, b, c}), Fill({2, 6}, [&](const Index& at) {
               if (at[1] < 3) return a.array[at];
               return at[1] < 4 ? b.array[{at[0], 0}] : c.array[{at[0], at[1] - 4}];
             }));
  EXPECT_THAT(Concatenate({a.tensor, b.tensor}, 0).status().message(), HasSubstr("differ in dimension 1"));
  EXPECT_THAT(Concatenate({}, 0).status().message(), HasSubstr("no tensor"));
}

TEST(Stack, MakesADimensionOfTensors) {
  const Given a = Data({2, 3}, "a", 1), b = Data({2, 3}, "b", 2);
  ExpectNear(ResultOf(Stack({a.tensor, b.tensor}, 1), {a, b}),
             Fill({2, 2, 3}, [&](const Index& at) { return (at[1] == 0 ? a : b).array[{at[0], at[2]}]; }));
}

TEST(Split, CutsAtPlacesOrIntoEqualParts) {
  const Given x = Data({2, 6});
  const StatusOr<std::vector<Tensor>> parts = Split(x.tensor, {1, 4}, 1);
  ASSERT_TRUE(parts.ok() && parts->size() == 3);
  ExpectNear(ResultOf((*parts)[1], {x}), Fill({2, 3}, [&](const Index& at) { return x.array[{at[0], at[1] + 1}]; }));
  const StatusOr<std::vector<Tensor>> halves = SplitSections(x.tensor, 2, 1);
  ASSERT_TRUE(halves.ok());
  ExpectNear(ResultOf((*halves)[1], {x}), Fill({2, 3}, [&](const Index& at) { return x.array[{at[0], at[1] + 3}]; }));
  EXPECT_THAT(Split(x.tensor, {4, 1}, 1).status().message(), HasSubstr("not ascending"));
  EXPECT_THAT(SplitSections(x.tensor, 4, 1).status().message(), HasSubstr("4 equal parts"));
}

TEST(StridedSlice, TakesWhatNumpyTakes) {
  const Given x = Data({5, 7});
  ExpectNear(ResultOf(StridedSlice(x.tensor, {1, 5}, {4, 1}, {2, -2}, {}, false), {x}),
             Fill({2, 2}, [&](const Index& at) { return x.array[{1 + 2 * at[0], 5 - 2 * at[1]}]; }));
  ExpectNear(ResultOf(StridedSlice(x.tensor, {-3}, {100}, {}, {1}, false), {x}),
             Fill({5, 3}, [&](const Index& at) { return x.array[{at[0], at[1] + 4}]; }));
  ExpectNear(ResultOf(StridedSlice(x.tensor, {6}, {-100}, {-1}, {1}, false), {x}),
             Fill({5, 7}, [&](const Index& at) { return x.array[{at[0], 6 - at[1]}]; }));
  ExpectNear(ResultOf(StridedSlice(x.tensor, {1, 2}, {2, -1}, {}, {}, true), {x}),
             Fill({2, 5}, [&](const Index& at) { return x.array[{at[0] + 1, at[1] + 2}]; }));
  EXPECT_THAT(StridedSlice(x.tensor, {0}, {1}, {0}, {}, false).status().message(), HasSubstr("stride is 0"));
}

TEST(Tile, RepeatsTheWholeAndRepeatEachElement) {
  const Given x = Data({2, 3});
  ExpectNear(ResultOf(Tile(x.tensor, {2, 1, 2}), {x}),
             Fill({2, 2, 6}, [&](const Index& at) { return x.array[{at[1], at[2] % 3}]; }));
  ExpectNear(ResultOf(Repeat(x.tensor, 2, 1), {x}),
             Fill({2, 6}, [&](const Index& at) { return x.array[{at[0], at[1] / 2}]; }));
  ExpectNear(ResultOf(Flip(x.tensor, 1), {x}),
             Fill({2, 3}, [&](const Index& at) { return x.array[{at[0], 2 - at[1]}]; }));
}

TEST(Take, ReadsAtIndicesInEveryMode) {
  const Given x = Data({4, 3}), inside = Indices(Fill({2, 2}, [](const Index& at) { return at[0] + 2.0 * at[1]; }));
  ExpectNear(ResultOf(Take(x.tensor, inside.tensor, 0, "fast"), {x, inside}),
             Fill({2, 2, 3}, [&](const Index& at) { return x.array[{at[0] + 2 * at[1], at[2]}]; }));
  const Given outside = Indices(Fill({3}, [](const Index& at) { return 7.0 * static_cast<double>(at[0]) - 5; }));
  ExpectNear(ResultOf(Take(x.tensor, outside.tensor, 0, "clip"), {x, outside}), Fill({3, 3}, [&](const Index& at) {
               return x.array[{std::min<int64_t>(std::max<int64_t>(7 * at[0] - 5, 0), 3), at[1]}];
             }));
  ExpectNear(
      ResultOf(Take(x.tensor, outside.tensor, std::nullopt, "wrap"), {x, outside}),
      Fill({3}, [&](const Index& at) { return x.array.values[static_cast<size_t>((7 * at[0] - 5 + 12) % 12)]; }));
  const Given rows = Indices(Fill({4, 2}, [](const Index& at) { return static_cast<double>((at[0] + at[1]) % 3); }));
  ExpectNear(ResultOf(Take(x.tensor, rows.tensor, 1, "clip", 1), {x, rows}),
             Fill({4, 2}, [&](const Index& at) { return x.array[{at[0], (at[0] + at[1]) % 3}]; }));
  EXPECT_THAT(Take(x.tensor, rows.tensor, 0, "clip", 1).status().message(), HasSubstr("batch_dims is 1"));
  EXPECT_THAT(Take(x.tensor, inside.tensor, 1, "clip", 1).status().message(), HasSubstr("differ in dimension 0"));
  EXPECT_THAT(Take(x.tensor, inside.tensor, 0, "guess").status().message(), HasSubstr("no mode \"guess\""));
  EXPECT_THAT(Take(x.tensor, x.tensor, 0, "clip").status().message(), HasSubstr("not integers"));
}

TEST(Gather, ReadsAlongAnAxisAndGatherNdAtPoints) {
  const Given x = Data({2, 4, 3});
  const Given i =
      Indices(Fill({2, 2, 3}, [](const Index& at) { return static_cast<double>((at[0] + at[1] + at[2]) % 4); }));
  ExpectNear(ResultOf(Gather(x.tensor, 1, i.tensor), {x, i}),
             Fill({2, 2, 3}, [&](const Index& at) { return x.array[{at[0], (at[0] + at[1] + at[2]) % 4, at[2]}]; }));
  const Given points = Indices(
      Fill({2, 5}, [](const Index& at) { return static_cast<double>(at[0] == 0 ? at[1] % 2 : at[1] % 4); }), "p");
  ExpectNear(ResultOf(GatherNd(x.tensor, points.tensor, 0), {x, points}),
             Fill({5, 3}, [&](const Index& at) { return x.array[{at[0] % 2, at[0] % 4, at[1]}]; }));
  const Given batched = Indices(Fill({1, 2}, [](const Index& at) { return static_cast<double>(at[1] + 1); }), "b");
  ExpectNear(ResultOf(GatherNd(x.tensor, batched.tensor, 1), {x, batched}),
             Fill({2, 3}, [&](const Index& at) { return x.array[{at[0], at[0] + 1, at[1]}]; }));
}

TEST(OneHot, IsOnAtTheIndex) {
  const Given i = Indices(Fill({3}, [](const Index& at) { return static_cast<double>(2 - at[0]); }));
  ExpectNear(ResultOf(OneHot(i.tensor, 5, -1, 4, -1, DataType::Float(32)), {i}),
             Fill({3, 4}, [](const Index& at) { return at[1] == 2 - at[0] ? 5 : -1; }));
  ExpectNear(ResultOf(OneHot(i.tensor, 1, 0, 4, 0, DataType::Int(8)), {i}),
             Fill({4, 3}, [](const Index& at) { return at[0] == 2 - at[1]; }));
}

TEST(Arange, CountsInSteps) {
  ExpectNear(ResultOf(Arange(0, 10, 3, DataType::Int(32)), {}), Fill({4}, [](const Index& at) { return 3.0 * at[0]; }));
  ExpectNear(ResultOf(Arange(5, 0, -2, DataType::Float(32)), {}),
             Fill({3}, [](const Index& at) { return 5 - 2.0 * at[0]; }));
  EXPECT_THAT(Arange(0, 1, 0, DataType::Int(32)).status().message(), HasSubstr("step is not 0"));
}

TEST(Trilu, KeepsATriangle) {
  const Given x = Data({3, 4});
  for (const bool upper : {true, false}) {
    ExpectNear(ResultOf(Trilu(x.tensor, 1, upper), {x}), Fill({3, 4}, [&](const Index& at) {
                 return (upper ? at[1] >= at[0] + 1 : at[1] <= at[0] + 1) ? x.array[at] : 0;
               }));
  }
}

TEST(Meshgrid, RepeatsEachAlongTheOthers) {
  const Given a = Data({2}, "a", 1), b = Data({3}, "b", 2);
  for (const bool swapped : {false, true}) {
    const StatusOr<std::vector<Tensor>> grids = Meshgrid({a.tensor, b.tensor}, swapped ? "xy" : "ij");
    ASSERT_TRUE(grids.ok());
    const Index shape = swapped ? Index{3, 2} : Index{2, 3};
    ExpectNear(ResultOf((*grids)[0], {a}),
               Fill(shape, [&](const Index& at) { return a.array[{at[swapped ? 1 : 0]}]; }));
    ExpectNear(ResultOf((*grids)[1], {b}),
               Fill(shape, [&](const Index& at) { return b.array[{at[swapped ? 0 : 1]}]; }));
  }
}

TEST(Pad, PutsAValueAround) {
  const Given x = Data({2, 3});
  ExpectNear(ResultOf(Pad(x.tensor, {1, 0}, {0, 2}, Expr(7)), {x}),
             Fill({3, 5}, [&](const Index& at) { return at[0] >= 1 && at[1] < 3 ? x.array[{at[0] - 1, at[1]}] : 7; }));
  ExpectNear(ResultOf(Pad(x.tensor, {0}, {0}), {x}), x.array);
  EXPECT_THAT(Pad(x.tensor, {-1}, {}).status().message(), HasSubstr("negative"));
}

TEST(MirrorPad, ReflectsWithOrWithoutTheEdge) {
  const Given x = Data({4});
  const auto run = [&](const char* mode) { return ResultOf(MirrorPad(x.tensor, {2}, {2}, mode), {x}).values; };
  const std::vector<double>& v = x.array.values;
  EXPECT_EQ(run("REFLECT"), (std::vector<double>{v[2], v[1], v[0], v[1], v[2], v[3], v[2], v[1]}));
  EXPECT_EQ(run("SYMMETRIC"), (std::vector<double>{v[1], v[0], v[0], v[1], v[2], v[3], v[3], v[2]}));
}

TEST(Dilate, PutsAValueBetween) {
  const Given x = Data({2, 3});
  ExpectNear(ResultOf(Dilate(x.tensor, {1, 3}, 5), {x}),
             Fill({2, 7}, [&](const Index& at) { return at[1] % 3 == 0 ? x.array[{at[0], at[1] / 3}] : 5; }));
}

}  // namespace
}  // namespace lathe::topi
