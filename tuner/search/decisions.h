// Small changes of a trace's decisions, and how far two lists of decisions are apart. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/schedule/trace.h"
#include "support/random.h"
#include "tuner/space/space_generator.h"

namespace lathe {

// The shares of MetaSchedule's mutators for CPUs, among those that apply to the trace.
struct MutationShares {
  double tile = 0.9;      // Moves a prime factor within a tile ...
  double coupled = 0.25;  // ... and as often as this, another one within another tile at once, the opposite way where
                          // that is possible.
  double categorical = 0.1;  // Takes another value.
};

// `trace`, whose decisions are complete, with one of them (or two coupled ones) changed; nullopt if none can change.
std::optional<ScheduleTrace> Mutate(const ScheduleTrace& trace, const MutationShares& shares, Random& random);

// With two decisions changed, tiles the opposite way where that is possible; nullopt if there are no two.
std::optional<ScheduleTrace> MutateTwice(const ScheduleTrace& trace, Random& random);

// Each decision from either parent, evenly. Both are of one sketch (IsSameSketch).
ScheduleTrace Crossover(const ScheduleTrace& a, const ScheduleTrace& b, Random& random);

// All traces one step away: each prime factor of each tile moved to each other place, each other category.
std::vector<ScheduleTrace> Neighbours(const ScheduleTrace& trace);

// Same instructions, whatever they decided.
bool IsSameSketch(const ScheduleTrace& a, const ScheduleTrace& b);

// Position of the sketch that the trace is of; -1: none of them.
int FindSketch(std::span<const Sketch> sketches, const ScheduleTrace& trace);

// Doublings that have to move to get from one to the other, and 2 for each category that differs. A step of one factor
// 2: 2.
double DecisionDistance(const ScheduleTrace& a, const ScheduleTrace& b);

// What an instruction that samples may choose from: of a tile the largest last factor, of a category how many there are
// (0: it chooses something else).
int64_t InnermostLimit(const Instruction& instruction);
int64_t CategoryCount(const Instruction& instruction);

// Equal decisions have equal hashes. For dedupe within one sketch.
uint64_t DecisionHash(const ScheduleTrace& trace);

}  // namespace lathe
