#include "compiler/topi/normalize.h"

#include <cmath>

#include "tests/compiler/topi/reference.h"

namespace lathe::topi {
namespace {

using testing::HasSubstr;

constexpr double kEpsilon = 1e-3;

struct Moments {
  double mean, variance;
};

Moments MomentsOf(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, squares / static_cast<double>(values.size())};
}

// Elements of x whose index `is_wanted` says.
std::vector<double> Select(const Array& x, const std::function<bool(const Index&)>& is_wanted) {
  std::vector<double> selected;
  Fill(x.shape, [&](const Index& at) {
    if (is_wanted(at)) selected.push_back(x[at]);
    return 0.0;
  });
  return selected;
}

double Unit(double value, const Moments& moments) {
  return (value - moments.mean) / std::sqrt(moments.variance + kEpsilon);
}

TEST(Softmax, SharesOneAlongAnyAxis) {
  const Given x = Input(SmallIntegers({2, 5, 3}, 1), "x");
  for (const int64_t axis : {0, 1, -1}) {
    const size_t d = axis < 0 ? 2 : static_cast<size_t>(axis);
    const auto sum_at = [&](Index at) {
      double sum = 0;
      for (at[d] = 0; at[d] < x.array.shape[d]; ++at[d]) sum += std::exp(x.array[at]);
      return sum;
    };
    ExpectNear(ResultOf(Softmax(x.tensor, axis), {x}),
               Fill({2, 5, 3}, [&](const Index& at) { return std::exp(x.array[at]) / sum_at(at); }), 1e-6);
    ExpectNear(ResultOf(LogSoftmax(x.tensor, axis), {x}),
               Fill({2, 5, 3}, [&](const Index& at) { return x.array[at] - std::log(sum_at(at)); }), 1e-6);
  }
}

TEST(Softmax, StaysFiniteForLargeValues) {
  const Given x = Input(Fill({1, 2}, [](const Index& at) { return 1000.0 * static_cast<double>(at[1]); }), "x");
  EXPECT_THAT(ResultOf(Softmax(x.tensor, 1), {x}).values, testing::ElementsAre(0, 1));
  const Given i = Input(SmallIntegers({3}, 1), "i", DataType::Int(32));
  EXPECT_THAT(Softmax(i.tensor, 0).status().message(), HasSubstr("int32, not a float"));
}

TEST(BatchNorm, UsesTheStatisticsOfTheChannel) {
  const Given x = Input(SmallIntegers({2, 3, 4}, 1), "x"), g = Input(SmallIntegers({3}, 2), "g"),
              b = Input(SmallIntegers({3}, 3), "b"), m = Input(SmallIntegers({3}, 4), "m"),
              v = Input(Fill({3}, [](const Index& at) { return 1.0 + static_cast<double>(at[0]); }), "v");
  for (const bool is_affine : {true, false}) {
    std::vector<Given> inputs = {x, m, v};
    if (is_affine) inputs.insert(inputs.end(), {g, b});
    ExpectNear(ResultOf(BatchNorm(x.tensor, g.tensor, b.tensor, m.tensor, v.tensor, 1, kEpsilon, is_affine, is_affine),
                        inputs),
               Fill({2, 3, 4},
                    [&](const Index& at) {
                      const Index c = {at[1]};
                      const double unit = Unit(x.array[at], {m.array[c], v.array[c]});
                      return is_affine ? unit * g.array[c] + b.array[c] : unit;
                    }),
               1e-5);
  }
  EXPECT_THAT(BatchNorm(x.tensor, g.tensor, b.tensor, m.tensor, v.tensor, 2, kEpsilon, true, true).status().message(),
              HasSubstr("one element per channel"));
}

TEST(LayerNorm, TakesMomentsAlongAxes) {
  const Given x = Input(SmallIntegers({3, 2, 4}, 1), "x"), g = Input(SmallIntegers({2, 4}, 2), "g"),
              b = Input(SmallIntegers({2, 4}, 3), "b");
  const auto expected = [&](bool has_beta) {
    return Fill({3, 2, 4}, [&](const Index& at) {
      const Moments moments = MomentsOf(Select(x.array, [&](const Index& other) { return other[0] == at[0]; }));
      const Index inner = {at[1], at[2]};
      return Unit(x.array[at], moments) * g.array[inner] + (has_beta ? b.array[inner] : 0);
    });
  };
  ExpectNear(ResultOf(LayerNorm(x.tensor, g.tensor, b.tensor, {1, 2}, kEpsilon), {x, g, b}), expected(true), 1e-5);
  ExpectNear(ResultOf(LayerNorm(x.tensor, g.tensor, std::nullopt, {1, 2}, kEpsilon), {x, g}), expected(false), 1e-5);
}

TEST(InstanceNorm, TakesMomentsOfEachChannelOfEachSample) {
  const Given x = Input(SmallIntegers({2, 3, 4, 2}, 1), "x"), g = Input(SmallIntegers({3}, 2), "g"),
              b = Input(SmallIntegers({3}, 3), "b");
  ExpectNear(ResultOf(InstanceNorm(x.tensor, g.tensor, b.tensor, 1, {2, 3}, kEpsilon), {x, g, b}),
             Fill({2, 3, 4, 2},
                  [&](const Index& at) {
                    const Moments moments = MomentsOf(
                        Select(x.array, [&](const Index& other) { return other[0] == at[0] && other[1] == at[1]; }));
                    return Unit(x.array[at], moments) * g.array[{at[1]}] + b.array[{at[1]}];
                  }),
             1e-4);
}

TEST(GroupNorm, TakesMomentsOfEachGroupOfChannels) {
  const Given x = Input(SmallIntegers({2, 6, 3}, 1), "x"), g = Input(SmallIntegers({6}, 2), "g"),
              b = Input(SmallIntegers({6}, 3), "b");
  ExpectNear(ResultOf(GroupNorm(x.tensor, g.tensor, b.tensor, 2, 1, {2}, kEpsilon), {x, g, b}),
             Fill({2, 6, 3},
                  [&](const Index& at) {
                    const Moments moments = MomentsOf(Select(
                        x.array, [&](const Index& other) { return other[0] == at[0] && other[1] / 3 == at[1] / 3; }));
                    return Unit(x.array[at], moments) * g.array[{at[1]}] + b.array[{at[1]}];
                  }),
             1e-4);
  EXPECT_THAT(GroupNorm(x.tensor, g.tensor, b.tensor, 4, 1, {2}, kEpsilon).status().message(),
              HasSubstr("4 groups do not divide"));
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const Given x = Input(SmallIntegers({3, 8}, 1), "x"), w = Input(SmallIntegers({8}, 2), "w");
  ExpectNear(ResultOf(RmsNorm(x.tensor, w.tensor, {1}, kEpsilon), {x, w}),
             Fill({3, 8},
                  [&](const Index& at) {
                    double squares = 0;
                    for (int64_t i = 0; i < 8; ++i) squares += x.array[{at[0], i}] * x.array[{at[0], i}];
                    return x.array[at] / std::sqrt(squares / 8 + kEpsilon) * w.array[{at[1]}];
                  }),
             1e-5);
}

TEST(LocalResponseNorm, DividesByThePowerOfTheNeighbours) {
  const Given x = Input(SmallIntegers({1, 5, 2, 2}, 1), "x");
  ExpectNear(ResultOf(LocalResponseNorm(x.tensor, 3, 1, 0.5, 0.75, 2), {x}),
             Fill({1, 5, 2, 2},
                  [&](const Index& at) {
                    double sum = 0;
                    for (int64_t c = std::max<int64_t>(at[1] - 1, 0); c <= std::min<int64_t>(at[1] + 1, 4); ++c)
                      sum += x.array[{0, c, at[2], at[3]}] * x.array[{0, c, at[2], at[3]}];
                    return x.array[at] / std::pow(2 + 0.5 * sum / 3, 0.75);
                  }),
             1e-5);
  EXPECT_THAT(LocalResponseNorm(x.tensor, 4, 1, 1, 1, 1).status().message(), HasSubstr("odd number"));
}

}  // namespace
}  // namespace lathe::topi
