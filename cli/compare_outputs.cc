#include "cli/compare_outputs.h"

#include <fmt/format.h>

#include <cmath>

namespace lathe {
namespace {

std::vector<int64_t> IndexOf(size_t element, std::span<const int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  auto rest = static_cast<int64_t>(element);
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = rest % shape[d];
    rest /= shape[d];
  }
  return index;
}

// How far out of tolerance: at most 1 is right.
double Excess(double actual, double expected, const OutputTolerance& tolerance) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double excess = std::abs(actual - expected) / (tolerance.atol + tolerance.rtol * std::abs(expected));
  return std::isnan(excess) ? INFINITY : excess;
}

}  // namespace

std::string TensorText(const std::string& dtype, std::span<const int64_t> shape) {
  return fmt::format("{} ({})", dtype, fmt::join(shape, ", "));
}

Status CompareOutput(const std::string& name, const NDArray& actual, const relax::TensorData& expected,
                     const OutputTolerance& tolerance) {
  const std::string found = TensorText(actual.dtype().Name(), actual.shape()),
                    wanted = TensorText(expected.dtype().ToString(), expected.shape());
  if (found != wanted) return FailedPrecondition(fmt::format("output \"{}\": {}, {} expected", name, found, wanted));
  const std::vector<double> values = expected.ToDoubles();
  size_t worst = 0, wrong = 0;
  double worst_excess = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    const double excess =
        Excess(LoadAsDouble(actual.dtype(), actual.data(), static_cast<int64_t>(k)), values[k], tolerance);
    wrong += !(excess <= 1);
    if (excess <= worst_excess) continue;
    worst_excess = excess;
    worst = k;
  }
  if (wrong == 0) return OkStatus();
  const double value = LoadAsDouble(actual.dtype(), actual.data(), static_cast<int64_t>(worst)),
               difference = std::abs(value - values[worst]);
  return FailedPrecondition(
      fmt::format("output \"{}\": {} of {} elements differ; the worst, at [{}], is {}, {} expected: it differs by "
                  "{:.3g}, {:.3g} allowed",
                  name, wrong, values.size(), fmt::join(IndexOf(worst, expected.shape()), ", "), value, values[worst],
                  difference, tolerance.atol + tolerance.rtol * std::abs(values[worst])));
}

}  // namespace lathe
