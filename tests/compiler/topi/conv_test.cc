#include "compiler/topi/conv.h"

#include <limits>

#include "compiler/topi/matmul.h"
#include "compiler/topi/pool.h"
#include "tests/compiler/topi/reference.h"

namespace lathe::topi {
namespace {

using testing::HasSubstr;

// What is outside counts as `border`.
double At(const Array& x, const Index& at, double border = 0) {
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= x.shape[i]) return border;
  }
  return x[at];
}

int64_t OutExtent(int64_t in, int64_t before, int64_t after, int64_t kernel, int64_t stride, int64_t dilation) {
  return (in + before + after - ((kernel - 1) * dilation + 1)) / stride + 1;
}

struct Geometry {
  int64_t stride = 1, dilation = 1, top = 0, left = 0, bottom = 0, right = 0, groups = 1;
  ConvOptions Options() const {
    return {.strides = {stride},
            .dilation = {dilation},
            .padding = std::vector<int64_t>{top, left, bottom, right},
            .groups = groups};
  }
};

// NCHW and OIHW.
Array Conv2dReference(const Array& x, const Array& w, const Geometry& g) {
  const int64_t per_group = w.shape[1], out_per_group = w.shape[0] / g.groups;
  const Index shape = {x.shape[0], w.shape[0], OutExtent(x.shape[2], g.top, g.bottom, w.shape[2], g.stride, g.dilation),
                       OutExtent(x.shape[3], g.left, g.right, w.shape[3], g.stride, g.dilation)};
  return Fill(shape, [&](const Index& at) {
    double sum = 0;
    for (int64_t c = 0; c < per_group; ++c)
      for (int64_t i = 0; i < w.shape[2]; ++i)
        for (int64_t j = 0; j < w.shape[3]; ++j)
          sum += w[{at[1], c, i, j}] *
                 At(x, {at[0], at[1] / out_per_group * per_group + c, at[2] * g.stride + i * g.dilation - g.top,
                        at[3] * g.stride + j * g.dilation - g.left});
    return sum;
  });
}

Array Permuted(const Array& x, const std::vector<size_t>& order) {  // Dimension i is x's order[i].
  Index shape;
  for (const size_t from : order) shape.push_back(x.shape[from]);
  return Fill(shape, [&](const Index& at) {
    Index from(at.size());
    for (size_t i = 0; i < order.size(); ++i) from[order[i]] = at[i];
    return x[from];
  });
}

const Geometry kGeometries[] = {{},
                                {.stride = 2, .top = 1, .left = 1, .bottom = 1, .right = 1},
                                {.dilation = 2, .top = 2, .left = 0, .bottom = 1, .right = 3},
                                {.stride = 2, .top = 1, .bottom = 2, .groups = 2}};

TEST(Conv, IsThePlainLoopInNchwWithGroupsPaddingStrideAndDilation) {
  for (const Geometry& g : kGeometries) {
    const Given x = Input(SmallIntegers({2, 4, 7, 6}, 1), "x"),
                w = Input(SmallIntegers({6, 4 / g.groups, 3, 2}, 2), "w");
    ExpectNear(ResultOf(Conv(x.tensor, w.tensor, g.Options()), {x, w}), Conv2dReference(x.array, w.array, g));
  }
}

TEST(Conv, IsTheSameInOtherLayouts) {
  for (const Geometry& g : kGeometries) {
    const Array x = SmallIntegers({2, 4, 7, 6}, 1), w = SmallIntegers({6, 4 / g.groups, 3, 2}, 2);
    const Array expected = Conv2dReference(x, w, g);
    const Given nhwc = Input(Permuted(x, {0, 2, 3, 1}), "x"), hwio = Input(Permuted(w, {2, 3, 1, 0}), "w");
    ConvOptions options = g.Options();
    options.data_layout = "NHWC";
    ExpectNear(ResultOf(Conv(nhwc.tensor, hwio.tensor, options), {nhwc, hwio}), Permuted(expected, {0, 2, 3, 1}));
    const Given hwcn = Input(Permuted(x, {2, 3, 1, 0}), "x");
    options.data_layout = "HWCN";
    ExpectNear(ResultOf(Conv(hwcn.tensor, hwio.tensor, options), {hwcn, hwio}), Permuted(expected, {2, 3, 1, 0}));
  }
}

TEST(Conv, WorksInOneAndThreeDimensions) {
  const Given x = Input(SmallIntegers({2, 3, 9}, 1), "x"), w = Input(SmallIntegers({4, 3, 3}, 2), "w");
  const ConvOptions one{.strides = {2}, .padding = std::vector<int64_t>{1}};
  ExpectNear(ResultOf(Conv(x.tensor, w.tensor, one), {x, w}), Fill({2, 4, 5}, [&](const Index& at) {
               double sum = 0;
               for (int64_t c = 0; c < 3; ++c)
                 for (int64_t i = 0; i < 3; ++i)
                   sum += w.array[{at[1], c, i}] * At(x.array, {at[0], c, at[2] * 2 + i - 1});
               return sum;
             }));
  const Given v = Input(SmallIntegers({1, 2, 4, 5, 3}, 3), "v"), k = Input(SmallIntegers({3, 2, 2, 3, 2}, 4), "k");
  ExpectNear(ResultOf(Conv(v.tensor, k.tensor, {.padding = std::string("VALID")}), {v, k}),
             Fill({1, 3, 3, 3, 2}, [&](const Index& at) {
               double sum = 0;
               for (int64_t c = 0; c < 2; ++c)
                 for (int64_t d = 0; d < 2; ++d)
                   for (int64_t i = 0; i < 3; ++i)
                     for (int64_t j = 0; j < 2; ++j)
                       sum += k.array[{at[1], c, d, i, j}] * v.array[{0, c, at[2] + d, at[3] + i, at[4] + j}];
               return sum;
             }));
}

TEST(Conv, KeepsExtentsUnderSamePadding) {
  const Given x = Input(SmallIntegers({1, 1, 5, 6}, 1), "x"), w = Input(SmallIntegers({1, 1, 3, 4}, 2), "w");
  ExpectNear(ResultOf(Conv(x.tensor, w.tensor, {.padding = std::string("SAME")}), {x, w}),
             Conv2dReference(x.array, w.array, {.top = 1, .left = 2, .bottom = 1, .right = 1}));
}

TEST(Conv, SaysWhatDoesNotFit) {
  const Given x = Input(SmallIntegers({1, 4, 5, 5}, 1), "x"), w = Input(SmallIntegers({6, 3, 3, 3}, 2), "w");
  const auto message = [&](const ConvOptions& options) { return Conv(x.tensor, w.tensor, options).status().message(); };
  EXPECT_THAT(message({}), HasSubstr("topi.nn.conv2d: data has 4 channels, the kernel 3 for each of 1 groups"));
  EXPECT_THAT(message({.padding = std::string("BOTH")}), HasSubstr("no rule \"BOTH\""));
  EXPECT_THAT(message({.padding = std::vector<int64_t>{1, 2, 3}}), HasSubstr("padding: expected 1, 2 or 4 numbers"));
  EXPECT_THAT(message({.strides = {0}}), HasSubstr("strides: expected 1 or 2 numbers"));
  EXPECT_THAT(message({.data_layout = "NCXY"}), HasSubstr("layout \"NCXY\""));
  const Given large = Input(SmallIntegers({1, 4, 9, 9}, 2), "w");
  EXPECT_THAT(Conv(x.tensor, large.tensor, {}).status().message(), HasSubstr("larger than the padded data"));
}

TEST(DepthwiseConv2d, HasAKernelPerChannelAndMultiplier) {
  const Geometry g{.stride = 2, .top = 1, .left = 1, .bottom = 1, .right = 1};
  const Array x = SmallIntegers({2, 3, 6, 5}, 1), w = SmallIntegers({3, 2, 3, 3}, 2);
  // The same as a convolution of three groups, with the kernel (C * M, 1, H, W).
  Array grouped = w;
  grouped.shape = {6, 1, 3, 3};
  Geometry in_groups = g;
  in_groups.groups = 3;
  const Array expected = Conv2dReference(x, grouped, in_groups);
  const Given nchw = Input(x, "x"), cmhw = Input(w, "w");
  ExpectNear(ResultOf(DepthwiseConv2d(nchw.tensor, cmhw.tensor, g.Options()), {nchw, cmhw}), expected);
  const Given nhwc = Input(Permuted(x, {0, 2, 3, 1}), "x"), hwcm = Input(Permuted(w, {2, 3, 0, 1}), "w");
  ConvOptions options = g.Options();
  options.data_layout = "NHWC";
  ExpectNear(ResultOf(DepthwiseConv2d(nhwc.tensor, hwcm.tensor, options), {nhwc, hwcm}),
             Permuted(expected, {0, 2, 3, 1}));
}

TEST(Conv2dNCHWc, IsTheConvolutionOfTheBlocksPutTogether) {
  const Geometry g{.stride = 2, .top = 1, .left = 1, .bottom = 1, .right = 1};
  const Given x = Input(SmallIntegers({1, 2, 6, 5, 3}, 1), "x"), w = Input(SmallIntegers({2, 2, 3, 3, 3, 4}, 2), "w");
  const Array data =
      Fill({1, 6, 6, 5}, [&](const Index& at) { return x.array[{0, at[1] / 3, at[2], at[3], at[1] % 3}]; });
  const Array kernel = Fill({8, 6, 3, 3}, [&](const Index& at) {
    return w.array[{at[0] / 4, at[1] / 3, at[2], at[3], at[1] % 3, at[0] % 4}];
  });
  const Array flat = Conv2dReference(data, kernel, g);
  ExpectNear(ResultOf(Conv2dNCHWc(x.tensor, w.tensor, g.Options()), {x, w}),
             Fill({1, 2, 3, 3, 4}, [&](const Index& at) { return flat[{0, at[1] * 4 + at[4], at[2], at[3]}]; }));
}

TEST(ConvTranspose, ScattersEachElementTimesTheKernel) {
  for (const int64_t groups : {1, 2}) {
    constexpr int64_t kStride = 2, kPad = 1, kOutputPad = 1;
    const Given x = Input(SmallIntegers({2, 4, 5, 4}, 1), "x"), w = Input(SmallIntegers({4, 3, 3, 3}, 2), "w");
    Array expected(
        {2, 3 * groups, (5 - 1) * kStride - 2 * kPad + 3 + kOutputPad, (4 - 1) * kStride - 2 * kPad + 3 + kOutputPad});
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t o = 0; o < 3; ++o)
          for (int64_t y = 0; y < 5; ++y)
            for (int64_t z = 0; z < 4; ++z)
              for (int64_t i = 0; i < 3; ++i)
                for (int64_t j = 0; j < 3; ++j) {
                  const Index to = {n, c / (4 / groups) * 3 + o, y * kStride + i - kPad, z * kStride + j - kPad};
                  if (to[2] < 0 || to[3] < 0 || to[2] >= expected.shape[2] || to[3] >= expected.shape[3]) continue;
                  expected[to] += x.array[{n, c, y, z}] * w.array[{c, o, i, j}];
                }
    const ConvOptions options{.strides = {kStride}, .padding = std::vector<int64_t>{kPad}, .groups = groups};
    ExpectNear(ResultOf(ConvTranspose(x.tensor, w.tensor, options, {kOutputPad, kOutputPad}), {x, w}), expected);
  }
}

TEST(Matmul, IsThePlainLoopWhateverIsTransposed) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Array a = SmallIntegers({3, 4}, 1), b = SmallIntegers({4, 5}, 2);
      const Array expected = Fill({3, 5}, [&](const Index& at) {
        double sum = 0;
        for (int64_t k = 0; k < 4; ++k) sum += a[{at[0], k}] * b[{k, at[1]}];
        return sum;
      });
      const Given x = Input(ta ? Permuted(a, {1, 0}) : a, "a"), y = Input(tb ? Permuted(b, {1, 0}) : b, "b");
      ExpectNear(ResultOf(Matmul(x.tensor, y.tensor, ta, tb), {x, y}), expected);
      const Given bias = Input(SmallIntegers({5}, 3), "c");
      ExpectNear(ResultOf(NnMatmul(x.tensor, y.tensor, bias.tensor, std::nullopt, ta, tb), {x, y, bias}),
                 Fill({3, 5}, [&](const Index& at) { return expected[at] + bias.array[{at[1]}]; }));
    }
}

TEST(BatchMatmul, MultipliesEachBatchOrOneWithAll) {
  const Given a = Input(SmallIntegers({3, 2, 4}, 1), "a"), b = Input(SmallIntegers({1, 5, 4}, 2), "b");
  const Array expected = Fill({3, 2, 5}, [&](const Index& at) {
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) sum += a.array[{at[0], at[1], k}] * b.array[{0, at[2], k}];
    return sum;
  });
  ExpectNear(ResultOf(BatchMatmul(a.tensor, b.tensor, std::nullopt, false, true), {a, b}), expected);
  ExpectNear(ResultOf(Matmul(a.tensor, b.tensor, false, true), {a, b}), expected);
  EXPECT_THAT(BatchMatmul(a.tensor, b.tensor, std::nullopt, false, false).status().message(),
              HasSubstr("a row of \"a\" has 4 elements, a column of \"b\" 5"));
}

TEST(NnMatmul, SumsInTheTypeThatIsAskedFor) {
  const Given a = Input(Fill({1, 100}, [](const Index&) { return 100; }), "a", DataType::Int(8));
  const Given b = Input(Fill({1, 100}, [](const Index&) { return 100; }), "b", DataType::Int(8));
  EXPECT_EQ(ResultOf(NnMatmul(a.tensor, b.tensor, std::nullopt, DataType::Int(32), false, true), {a, b}).values[0],
            1e6);
}

TEST(Pool, CombinesWindowsAndCountsWhatIsInside) {
  for (const bool include : {false, true})
    for (const bool is_max : {false, true}) {
      const Given x = Input(SmallIntegers({2, 3, 7, 6}, 1), "x");
      const PoolOptions options{.kernel = {3, 2},
                                .strides = {2, 1},
                                .dilation = {1, 2},
                                .padding = {1, 1, 0, 1},
                                .pool_type = is_max ? "max" : "avg",
                                .layout = "NCHW",
                                .count_include_pad = include};
      const Index shape = {2, 3, OutExtent(7, 1, 0, 3, 2, 1), OutExtent(6, 1, 1, 2, 1, 2)};
      const Array expected = Fill(shape, [&](const Index& at) {
        double sum = 0, best = -std::numeric_limits<double>::infinity();
        int64_t count = 0;
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < 2; ++j) {
            const int64_t y = at[2] * 2 + i - 1, z = at[3] + j * 2 - 1;
            const bool is_inside = y >= 0 && y < 7 && z >= 0 && z < 6;
            if (is_inside) best = std::max(best, x.array[{at[0], at[1], y, z}]);
            if (is_inside) sum += x.array[{at[0], at[1], y, z}];
            count += is_inside || include;
          }
        return is_max ? best : sum / static_cast<double>(count);
      });
      ExpectNear(ResultOf(Pool(x.tensor, options), {x}), expected, 1e-6);
    }
}

TEST(Pool, LetsWindowsReachOverTheEndInCeilMode) {
  const Given x = Input(SmallIntegers({1, 6, 1}, 1), "x");  // NWC
  const PoolOptions options{.kernel = {3},
                            .strides = {2},
                            .dilation = {1},
                            .padding = {0, 0},
                            .pool_type = "max",
                            .ceil_mode = true,
                            .layout = "NWC"};
  ExpectNear(ResultOf(Pool(x.tensor, options), {x}), Fill({1, 3, 1}, [&](const Index& at) {
               double best = -100;
               for (int64_t i = 0; i < 3; ++i) best = std::max(best, At(x.array, {0, at[1] * 2 + i, 0}, -100));
               return best;
             }));
  PoolOptions wrong = options;
  wrong.pool_type = "median";
  EXPECT_THAT(Pool(x.tensor, wrong).status().message(), HasSubstr("no kind \"median\""));
}

TEST(AdaptivePool, MakesWindowsOfNeighbouringSizes) {
  for (const bool is_max : {false, true}) {
    const Given x = Input(SmallIntegers({1, 2, 7, 5}, 1), "x");
    const Array expected = Fill({1, 2, 3, 2}, [&](const Index& at) {
      double sum = 0, best = -100;
      int64_t count = 0;
      for (int64_t y = at[2] * 7 / 3; y < ((at[2] + 1) * 7 + 2) / 3; ++y)
        for (int64_t z = at[3] * 5 / 2; z < ((at[3] + 1) * 5 + 1) / 2; ++z, ++count) {
          sum += x.array[{0, at[1], y, z}];
          best = std::max(best, x.array[{0, at[1], y, z}]);
        }
      return is_max ? best : sum / static_cast<double>(count);
    });
    ExpectNear(ResultOf(AdaptivePool(x.tensor, {3, 2}, is_max ? "max" : "avg", "NCHW"), {x}), expected, 1e-6);
  }
}

TEST(AdaptivePool, IsTheGlobalPoolForOneElement) {
  const Given x = Input(SmallIntegers({2, 4, 3, 2}, 1), "x");
  ExpectNear(ResultOf(AdaptivePool(x.tensor, {1, 1}, "avg", "NHWC"), {x}),
             Fill({2, 1, 1, 2},
                  [&](const Index& at) {
                    double sum = 0;
                    for (int64_t y = 0; y < 4; ++y)
                      for (int64_t z = 0; z < 3; ++z) sum += x.array[{at[0], y, z, at[3]}];
                    return sum / 12;
                  }),
             1e-6);
}

}  // namespace
}  // namespace lathe::topi
