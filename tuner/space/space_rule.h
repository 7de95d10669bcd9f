// The rules that a search space is made of: a file and a row each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

struct SpaceRule {
  std::string_view name, purpose;  // In snake case; a line of docs/how-to-add-a-space-rule.md.
  // Ways to schedule all of a workload, whose data-parallel blocks are inlined already (AutoInline). Empty where the
  // rule does not apply; what it tried and could not do is left out. The traces of what it returns are sketches, in
  // this order.
  std::vector<Schedule> (*apply)(const Schedule& inlined, const Target& target);
};

// Those for CPUs, in the order of their sketches.
std::span<const SpaceRule> CpuSpaceRules();

}  // namespace lathe
