// From a workload to the traces that a search samples.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "tuner/space/space_rule.h"

namespace lathe {

// One way to schedule a workload: a trace without decisions; each replay with a new seed is another candidate.
struct Sketch {
  ScheduleTrace trace;
  std::string made_by = "rules";  // For reports: the space, and what in it.
};

class SpaceGenerator {
 public:
  virtual ~SpaceGenerator() = default;
  // At least one sketch, or the reason why there is none. Same input, same sketches.
  virtual StatusOr<std::vector<Sketch>> Generate(const PrimFunc& workload, const Target& target) const = 0;
};

// MetaSchedule's post-order-apply: AutoInline, then the sketches of each rule; of a workload that none applies to, the
// default schedule. The rules are those of the target's kind, or the given ones, which outlive the generator.
std::unique_ptr<SpaceGenerator> MakePostOrderApply();
std::unique_ptr<SpaceGenerator> MakePostOrderApply(std::span<const SpaceRule> rules);

}  // namespace lathe
