// The kernel by which devices are judged (docs/decisions/0067-health-of-devices.md): what it is, what it is to be built
// for, and what is right. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tuner/database/rows.h"
#include "tuner/measure/measure_spec.h"

namespace lathe {

struct GoldenKernel {
  Workload workload;
  std::string trace_json;       // As it is.
  std::string reference;        // The blob: its outputs as float64.
  TaskMeasurement measurement;  // Of one core, in a tenth of a second.
};
// Made once. Any thread.
const GoldenKernel& Golden();

// The target of an architecture, as uname calls it: for its generic CPU, so that one module runs on all of them.
// Nullopt: no code is generated for it.
std::optional<std::string> GoldenTarget(std::string_view machine);

}  // namespace lathe
