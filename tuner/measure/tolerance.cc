#include "tuner/measure/tolerance.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

constexpr double kWideFactor = 16, kNarrowFactor = 1, kMost = 0.25;

// Distance from 1 to the next larger value.
double Epsilon(DataType type) {
  switch (type.code) {
    case DataType::Code::kBFloat:
      return 0x1p-7;
    case DataType::Code::kFloat:
      return type.bits == 64 ? 0x1p-52 : type.bits == 32 ? 0x1p-23 : 0x1p-10;
    default:  // Narrower ones: as the roughest of them that has a fraction.
      return 0.25;
  }
}

}  // namespace

double RoundingOf(const WorkloadFacts& facts) {
  double sum = 0;
  for (const Rounding& rounding : facts.roundings) {
    const double unit = (rounding.type.bits >= 32 ? kWideFactor : kNarrowFactor) * Epsilon(rounding.type);
    sum += unit * unit * rounding.count;
  }
  return std::min(std::sqrt(sum), kMost);
}

double ToleranceFor(const WorkloadFacts& facts, DType dtype, std::span<const double> reference) {
  if (!dtype.is_floating()) return 0;
  double largest = 0;
  for (const double value : reference) largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
  return RoundingOf(facts) * largest;
}

}  // namespace lathe
