#include "runner/compare.h"

#include <algorithm>
#include <cmath>

#include "runtime/artifact_meta.h"

namespace lathe {
namespace {

std::string Coordinates(int64_t flat, const TensorView& tensor) {
  std::string text;
  if (tensor.dtype.lanes > 1) {
    text = "; lane " + std::to_string(flat % tensor.dtype.lanes);
    flat /= tensor.dtype.lanes;
  }
  std::string inner;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    inner = std::to_string(flat % tensor.shape[i]) + (inner.empty() ? "" : ", ") + inner;
    flat /= tensor.shape[i];
  }
  return "[" + inner + text + "]";
}

bool SameValue(double got, double expected, double tolerance) {
  if (std::isfinite(got) && std::isfinite(expected)) return std::fabs(got - expected) <= tolerance;
  return (std::isnan(got) && std::isnan(expected)) || got == expected;
}

}  // namespace

CompareResult CompareOutput(const std::string& name, const TensorView& got, std::span<const double> expected,
                            double tolerance) {
  const int64_t count = CountElements(got.shape).value_or(0) * got.dtype.lanes;
  CompareResult result;
  if (static_cast<size_t>(count) != expected.size()) {
    result.ok = false;
    result.message = FormatText("check \"%s\": the reference has %zu elements, the output has %lld", name.c_str(),
                                expected.size(), (long long)count);
    return result;
  }
  const auto allowed = [&](int64_t i) {
    return tolerance + (std::isfinite(expected[i]) ? got.dtype.epsilon() * std::fabs(expected[i]) : 0);
  };
  int64_t wrong = 0, first_wrong = -1, finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = LoadAsDouble(got.dtype, got.data, i);
    const double error = std::fabs(value - expected[i]);
    finite += std::isfinite(expected[i]) ? 1 : 0;
    if (std::isfinite(error)) result.max_error = std::max(result.max_error, error);
    if (SameValue(value, expected[i], allowed(i))) continue;
    if (wrong++ == 0) first_wrong = i;
  }
  if (wrong > 0) {
    result.ok = false;
    result.message = FormatText(
        "check \"%s\": element %lld at %s is %.9g, expected %.9g, tolerance %.3g; %lld of %lld elements are wrong, "
        "largest "
        "error %.3g",
        name.c_str(), (long long)first_wrong, Coordinates(first_wrong, got).c_str(),
        LoadAsDouble(got.dtype, got.data, first_wrong), expected[first_wrong], allowed(first_wrong), (long long)wrong,
        (long long)count, result.max_error);
  } else if (count > 0 && finite == 0) {
    result.ok = false;
    result.message =
        FormatText("check \"%s\": no element of the reference is finite, so it proves nothing", name.c_str());
  }
  return result;
}

}  // namespace lathe
