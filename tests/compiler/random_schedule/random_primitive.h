// Random primitives on a schedule, with arguments that are often accepted. A refusal must leave the schedule as it was.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/schedule/schedule.h"

namespace lathe {

struct PrimitiveOutcome {
  std::string_view kind;  // Of the instruction tried; empty: nothing there fits.
  Status status;          // What the primitive answered.
  bool was_changed_by_refusal = false;
  std::string inconsistency;  // Of the schedule's side table afterwards.
};

// One way to call an instruction kind of compiler/schedule/instruction_kinds.cc.
struct PrimitiveCase {
  std::string_view kind;
  int weight;            // How often it is drawn; 0: what it makes cannot be run here.
  bool is_transforming;  // Changes the function.
  PrimitiveOutcome (*apply)(Schedule& schedule, Random& random);
};

// At least one case for each instruction kind (random_schedule_test.cc).
std::span<const PrimitiveCase> PrimitiveCases();
PrimitiveOutcome ApplyRandomPrimitive(Schedule& schedule, Random& random);

}  // namespace lathe
