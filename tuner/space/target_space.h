// What a search needs to know of a kind of target: a row each. Code that searches asks the row; it never asks for the
// kind itself. How a kind is compiled is a row in compiler/builder/build.cc; what times its kernels is the runner
// program of the device.
#pragma once

#include <span>
#include <string_view>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "tuner/feature/feature_extractor.h"
#include "tuner/space/space_rule.h"

namespace lathe {

struct TargetSpace {
  std::string_view kind;                  // Target::kind()
  std::span<const SpaceRule> (*rules)();  // In the order of their sketches.
  // Whether a candidate may be built; FailedPrecondition says which bound it breaks. Cheap: nothing is lowered.
  Status (*check)(const Schedule& candidate, const Target& target);
  // From a scheduled, not lowered function. Pure, never fails.
  FeatureRow (*features)(const PrimFunc& scheduled, const Target& target);
};

const TargetSpace& SpaceOf(const Target& target);  // Each kind that Target::Parse accepts has one.

}  // namespace lathe
