// One trial inside the runner: load, make inputs, check once, time, check again.
#pragma once

#include <functional>

#include "runner/runner_protocol.h"

namespace lathe {

// Never throws. `on_progress` is called at the begin of each phase and about once a second while timing.
RunReport RunTrial(const RunSpec& spec, const std::function<void(const RunProgress&)>& on_progress);

}  // namespace lathe
