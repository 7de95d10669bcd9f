// What `lathe tune` says at its end (docs/formats/cli_json.md).
#pragma once

#include <optional>
#include <string>

#include "runner/peak.h"
#include "tuner/job/coordinator.h"
#include "tuner/job/job_report.h"

namespace lathe {

// One inference of the network with default and with tuned schedules.
struct NetworkTimes {
  double untuned_ms = 0, tuned_ms = 0;
  bool is_sum = false;  // Of its tasks' times; else the whole network was run.
};

// Of a network whose tasks all have both times.
std::optional<NetworkTimes> SumOfTasks(const JobReport& report);

// `peak` of what the tasks were measured on; zeros: not known.
void PrintTuneTable(const JobReport& report, const DevicePeak& peak);
// `database` is a path, or the server's address. `measured`: trials of this command.
void PrintTuneJson(const JobReport& report, int64_t measured, const DevicePeak& peak, const std::string& database,
                   const std::optional<NetworkTimes>& network);
void SayHowTimeWentBy(const JobProgress& progress);

}  // namespace lathe
