// What TuningService.ExplainTask tells, for people.
#pragma once

#include <span>
#include <string>

#include "cli/place.h"
#include "proto/lathe/v1/tuning.pb.h"
#include "support/status.h"
#include "tuner/service/api.h"

namespace lathe {

struct ExplainOptions {
  std::string tasks = "*";  // Pattern of names.
  std::string svg;          // Where to draw how the searches converged; empty: nowhere.
  bool as_json = false;
};

// Prints, and draws, what is known of the job's tasks. NotFound if none fits the pattern.
Status ExplainJob(TuningApi& tuning, int64_t job_id, const ExplainOptions& options);

std::string RenderExplanation(const v1::TaskExplanation& told);
// One panel per task that has a time: results by their number, time on a logarithmic axis, the best so far as a line,
// the untuned time and the device's peak as dashed ones.
std::string DrawConvergence(std::span<const v1::TaskExplanation> tasks);

}  // namespace lathe
