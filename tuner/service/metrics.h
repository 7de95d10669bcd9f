// The farm's counts as text for Prometheus (exposition format 0.0.4). Pure. Labels are bounded: never a job, a trial or
// a device's name.
#pragma once

#include <string>

#include "tuner/job/farm_statistics.h"

namespace lathe {

// Of this process.
struct ProcessFacts {
  int64_t resident_bytes = 0, open_files = 0;
  double cpu_seconds = 0;
  static ProcessFacts Read();  // From /proc/self; what it does not say is 0.
};

// Devices of more keys than this are counted under the key "other".
inline constexpr size_t kMostKeysShown = 50;

std::string RenderMetrics(const FarmStatistics& farm, const ProcessFacts& process);

}  // namespace lathe
