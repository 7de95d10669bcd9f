// Who built and measured one trial, and what came of it.
#pragma once

#include "tuner/service/api.h"

namespace lathe {

// Prints it. NotFound for a trial that is not there.
Status ExplainTrial(TuningApi& tuning, int64_t trial_id, bool as_json);

}  // namespace lathe
