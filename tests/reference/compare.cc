#include "tests/reference/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/status_macros.h"

namespace lathe::reference {
namespace {

Dims Coordinates(int64_t index, const Dims& dims) {
  Dims coordinates(dims.size());
  for (size_t a = dims.size(); a-- > 0; index /= dims[a]) coordinates[a] = index % dims[a];
  return coordinates;
}

// How many times the allowed difference; at most 1 is right.
double Excess(double actual, double expected, const Tolerance& tolerance) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double difference = std::fabs(actual - expected);
  if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
  const double allowed = tolerance.atol + tolerance.rtol * std::fabs(expected);
  if (difference <= allowed) return difference / allowed;
  return allowed > 0 ? std::max(difference / allowed, std::nextafter(1.0, 2.0))
                     : std::numeric_limits<double>::infinity();
}

struct Verdict {
  int64_t wrong = 0;
  int64_t worst = -1;
};

template <typename ExcessAt>
Verdict FindWorst(int64_t size, ExcessAt excess_at) {
  Verdict verdict;
  double worst = 1;
  for (int64_t i = 0; i < size; ++i) {
    const double excess = excess_at(i);
    if (excess <= 1) continue;
    ++verdict.wrong;
    if (excess > worst) {
      worst = excess;
      verdict.worst = i;
    }
  }
  return verdict;
}

Status Failure(std::string_view name, const Tensor& t, const Verdict& v, std::string values) {
  return FailedPrecondition(fmt::format("compare \"{}\" at {}: {}; {} of {} elements differ", name,
                                        DimsText(Coordinates(v.worst, t.dims)), values, v.wrong, t.size()));
}

}  // namespace

Status Compare(std::string_view name, const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  if (actual.type != expected.type || actual.dims != expected.dims) {
    return FailedPrecondition(
        fmt::format("compare \"{}\": {} and expected {}", name, TypeText(actual), TypeText(expected)));
  }
  if (IsFloat(actual.type)) {
    const Verdict verdict =
        FindWorst(actual.size(), [&](int64_t i) { return Excess(actual.floats[i], expected.floats[i], tolerance); });
    if (verdict.wrong == 0) return OkStatus();
    const double y = actual.floats[verdict.worst], e = expected.floats[verdict.worst];
    return Failure(name, actual, verdict,
                   fmt::format("{:.9g} and expected {:.9g} differ by {:.3g}, {:.3g} allowed", y, e, std::fabs(y - e),
                               tolerance.atol + tolerance.rtol * std::fabs(e)));
  }
  const Verdict verdict =
      FindWorst(actual.size(), [&](int64_t i) { return actual.ints[i] == expected.ints[i] ? 0.0 : 2.0; });
  if (verdict.wrong == 0) return OkStatus();
  return Failure(name, actual, verdict,
                 fmt::format("{} and expected {}", actual.ints[verdict.worst], expected.ints[verdict.worst]));
}

Status CompareAll(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, const Tolerance& tolerance) {
  if (actual.size() != expected.size()) {
    return FailedPrecondition(fmt::format("compare outputs: {} and expected {}", actual.size(), expected.size()));
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    RETURN_IF_ERROR(Compare(fmt::format("output {}", i), actual[i], expected[i], tolerance));
  }
  return OkStatus();
}

}  // namespace lathe::reference
