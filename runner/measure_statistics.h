// Order statistics of a small set of timings. Pure.
#pragma once

#include <span>

namespace lathe {

// All in the samples' unit. `half_width` is half of the distribution-free confidence interval of the median, made of
// two order statistics: at least 95 % from 6 samples on, 93.75 % for 5, half of the range below that, the sample itself
// for 1.
struct SampleStatistics {
  double median = 0, min = 0, p10 = 0, p90 = 0, mad = 0, half_width = 0;
  double relative_half_width() const { return median > 0 ? half_width / median : 0; }
};

SampleStatistics Summarize(std::span<const double> samples);

}  // namespace lathe
