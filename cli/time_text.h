// Times and durations as people read and write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/clock.h"
#include "support/status.h"

namespace lathe {

std::string FormatNs(double ns);                          // "850 ns", "12.3 us", "4.56 ms", "1.20 s"; "-" for 0.
std::string FormatUtc(int64_t unix_ns);                   // "2026-03-01 12:30:05"
std::string FormatAge(int64_t unix_ns, int64_t now_ns);   // "12 s ago", "3 min ago", "2 h ago", "5 d ago"
std::string FormatSeconds(double s);                      // "45 s", "3 min 20 s"
StatusOr<Duration> ParseDuration(std::string_view text);  // "90s", "10m", "2h", "7d", "500ms", or bare seconds.

}  // namespace lathe
