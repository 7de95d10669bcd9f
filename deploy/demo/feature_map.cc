#include "deploy/demo/feature_map.h"

#include <algorithm>
#include <cmath>

namespace lathe::demo {
namespace {

int64_t OutputSize(int64_t input, const WindowShape& w) { return (input + 2 * w.pad - w.kernel) / w.stride + 1; }

// Calls visit(tap row, tap column, input row, input column) for the taps of output (y, x) that lie inside the map.
template <typename Visit>
void ForEachTap(const FeatureMap& input, const WindowShape& w, int64_t y, int64_t x, Visit visit) {
  for (int64_t i = 0; i < w.kernel; ++i) {
    const int64_t row = y * w.stride - w.pad + i;
    if (row < 0 || row >= input.height) continue;
    for (int64_t j = 0; j < w.kernel; ++j) {
      const int64_t column = x * w.stride - w.pad + j;
      if (column >= 0 && column < input.width) visit(i, j, row, column);
    }
  }
}

}  // namespace

FeatureMap MakeFeatureMap(int64_t channels, int64_t height, int64_t width) {
  return {channels, height, width, std::vector<Batch>(channels * height * width, Batch{})};
}

FeatureMap Convolve(const FeatureMap& x, std::span<const float> weights, int64_t filters, const WindowShape& window) {
  FeatureMap y = MakeFeatureMap(filters, OutputSize(x.height, window), OutputSize(x.width, window));
  const int64_t taps = window.kernel * window.kernel;
  for (int64_t f = 0; f < filters; ++f) {
    for (int64_t row = 0; row < y.height; ++row) {
      for (int64_t column = 0; column < y.width; ++column) {
        Batch sum{};
        for (int64_t c = 0; c < x.channels; ++c) {
          const float* filter = &weights[(f * x.channels + c) * taps];
          ForEachTap(x, window, row, column, [&](int64_t i, int64_t j, int64_t in_row, int64_t in_column) {
            const Batch& in = x.at(c, in_row, in_column);
            const double weight = filter[i * window.kernel + j];
            for (int64_t n = 0; n < kBatch; ++n) sum[n] += weight * in[n];
          });
        }
        y.at(f, row, column) = sum;
      }
    }
  }
  return y;
}

FeatureMap MaxPool(const FeatureMap& x, const WindowShape& window) {
  FeatureMap y = MakeFeatureMap(x.channels, OutputSize(x.height, window), OutputSize(x.width, window));
  for (int64_t c = 0; c < y.channels; ++c) {
    for (int64_t row = 0; row < y.height; ++row) {
      for (int64_t column = 0; column < y.width; ++column) {
        Batch& most = y.at(c, row, column);
        most.fill(-INFINITY);
        ForEachTap(x, window, row, column, [&](int64_t, int64_t, int64_t in_row, int64_t in_column) {
          const Batch& in = x.at(c, in_row, in_column);
          for (int64_t n = 0; n < kBatch; ++n) most[n] = std::max(most[n], in[n]);
        });
      }
    }
  }
  return y;
}

ChannelStatistics MeasureChannels(const FeatureMap& x) {
  ChannelStatistics statistics;
  const int64_t plane = x.height * x.width;
  const double count = static_cast<double>(plane * kBatch);
  for (int64_t c = 0; c < x.channels; ++c) {
    double mean = 0, variance = 0;
    for (int64_t i = c * plane; i < (c + 1) * plane; ++i) {
      for (double v : x.data[i]) mean += v / count;
    }
    for (int64_t i = c * plane; i < (c + 1) * plane; ++i) {
      for (double v : x.data[i]) variance += (v - mean) * (v - mean) / count;
    }
    statistics.mean.push_back(static_cast<float>(mean));
    statistics.variance.push_back(static_cast<float>(variance));
  }
  return statistics;
}

void Normalize(FeatureMap& x, const ChannelStatistics& statistics, std::span<const float> scale,
               std::span<const float> bias, double epsilon) {
  const int64_t plane = x.height * x.width;
  for (int64_t c = 0; c < x.channels; ++c) {
    const double factor = scale[c] / std::sqrt(statistics.variance[c] + epsilon);
    for (int64_t i = c * plane; i < (c + 1) * plane; ++i) {
      for (double& v : x.data[i]) v = (v - statistics.mean[c]) * factor + bias[c];
    }
  }
}

void Rectify(FeatureMap& x) {
  for (Batch& batch : x.data) {
    for (double& v : batch) v = std::max(v, 0.0);
  }
}

void Accumulate(FeatureMap& x, const FeatureMap& y) {
  for (size_t i = 0; i < x.data.size(); ++i) {
    for (int64_t n = 0; n < kBatch; ++n) x.data[i][n] += y.data[i][n];
  }
}

std::vector<Batch> AverageChannels(const FeatureMap& x) {
  std::vector<Batch> means(x.channels, Batch{});
  const int64_t plane = x.height * x.width;
  for (int64_t i = 0; i < x.channels * plane; ++i) {
    for (int64_t n = 0; n < kBatch; ++n) means[i / plane][n] += x.data[i][n] / static_cast<double>(plane);
  }
  return means;
}

}  // namespace lathe::demo
