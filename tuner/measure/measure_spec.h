// From the coordinator's words about a measurement to the device's, and back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/lathe/v1/device.pb.h"
#include "runner/measure_policy.h"
#include "support/digest.h"
#include "tuner/database/rows.h"
#include "tuner/measure/reference.h"

namespace lathe {

// What all measurements of one task share.
struct TaskMeasurement {
  std::string kernel;  // Name of the PrimFunc.
  Reference reference;
  uint64_t seed = 0;  // Of the inputs.
  MeasurePolicy policy;
  int32_t threads = 1;
  uint32_t codegen_version = 0;
};

// `incumbent_ns` 0: nothing to be compared with, or a trial that is to be measured whatever it takes.
v1::MeasureSpec MakeMeasureSpec(const TaskMeasurement& task, const TrialRow& trial, int64_t module_bytes,
                                double incumbent_ns);

// The record's part of a device's result; nullopt where it says nothing about the candidate (INFRA_FAILED, CANCELLED).
std::optional<RunResult> ToRunResult(const v1::MeasureResult& result, int64_t device_id);

}  // namespace lathe
