#include "cli/time_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lathe {

std::string FormatNs(double ns) {
  if (!(ns > 0)) return "-";
  const auto format = [](double value, const char* unit) {  // Three digits that mean something.
    return value >= 100  ? fmt::format("{:.0f} {}", value, unit)
           : value >= 10 ? fmt::format("{:.1f} {}", value, unit)
                         : fmt::format("{:.2f} {}", value, unit);
  };
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return format(ns / 1e3, "us");
  if (ns < 1e9) return format(ns / 1e6, "ms");
  return format(ns / 1e9, "s");
}

std::string FormatSeconds(double s) {
  const auto seconds = static_cast<int64_t>(std::llround(s));
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string FormatUtc(int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(unix_ns / 1'000'000'000));
}

std::string FormatAge(int64_t unix_ns, int64_t now_ns) {
  const int64_t seconds = std::max<int64_t>(0, (now_ns - unix_ns) / 1'000'000'000);
  if (seconds < 120) return fmt::format("{} s ago", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h ago", seconds / 3600);
  return fmt::format("{} d ago", seconds / 86400);
}

StatusOr<Duration> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double seconds = unit == "ms"                  ? 1e-3
                         : unit == "s" || unit.empty() ? 1
                         : unit == "m"                 ? 60
                         : unit == "h"                 ? 3600
                         : unit == "d"                 ? 86400
                                                       : 0;
  if (error != std::errc() || seconds == 0 || !(number >= 0) || number * seconds > 1e9) {
    return InvalidArgument(fmt::format("duration \"{}\": write a number and ms, s, m, h or d, e.g. 10m", text));
  }
  return Duration(static_cast<int64_t>(number * seconds * 1e9));
}

}  // namespace lathe
