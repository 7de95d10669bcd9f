// A small batch of activations and the layers of a residual network on it, for calibration. Plain double arithmetic in
// a fixed order: the same results on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace lathe::demo {

inline constexpr int64_t kBatch = 8;
using Batch = std::array<double, kBatch>;  // One element of each image.

struct FeatureMap {
  int64_t channels = 0, height = 0, width = 0;
  std::vector<Batch> data;  // [channels][height][width]: the batch is innermost, so that inner loops are contiguous.
  Batch& at(int64_t c, int64_t y, int64_t x) { return data[(c * height + y) * width + x]; }
  const Batch& at(int64_t c, int64_t y, int64_t x) const { return data[(c * height + y) * width + x]; }
};

FeatureMap MakeFeatureMap(int64_t channels, int64_t height, int64_t width);

// A square window that slides with `stride` over the map and `pad` zeros around it.
struct WindowShape {
  int64_t kernel, stride, pad;
};
// weights [filters][channels][kernel][kernel].
FeatureMap Convolve(const FeatureMap& x, std::span<const float> weights, int64_t filters, const WindowShape& window);
FeatureMap MaxPool(const FeatureMap& x, const WindowShape& window);

struct ChannelStatistics {
  std::vector<float> mean, variance;
};
ChannelStatistics MeasureChannels(const FeatureMap& x);
// y = (x - mean) / sqrt(variance + epsilon) * scale + bias
void Normalize(FeatureMap& x, const ChannelStatistics& statistics, std::span<const float> scale,
               std::span<const float> bias, double epsilon);
void Rectify(FeatureMap& x);
void Accumulate(FeatureMap& x, const FeatureMap& y);  // x += y; same shape.
std::vector<Batch> AverageChannels(const FeatureMap& x);

}  // namespace lathe::demo
