// A random program under a random schedule, and what must hold of the two.
#pragma once

#include <map>
#include <string>

#include "compiler/schedule/schedule.h"
#include "tests/compiler/random/program.h"

namespace lathe {

// What is wrong; nothing where `what` is empty.
struct Finding {
  std::string stage;  // "refusal", "scheduled", "races", "lowering", "lowered", "replay", "kernel", "crash".
  std::string what;
  bool is_fault() const { return !stage.empty(); }
};

struct ScheduledProgram {
  RandomProgram program;
  Schedule schedule;
  std::map<std::string_view, int> accepted;  // By instruction kind.
  int num_transformed = 0;                   // Accepted calls that change the function.
  Finding refusal;                           // A primitive that refused and changed something all the same.
};

// Random calls on the program of `seed`.
inline constexpr int kCallsPerProgram = 24;
ScheduledProgram MakeScheduledProgram(uint64_t seed, int num_calls = kCallsPerProgram);
// The calls of `trace` on another version of the program, without those that it refuses and what depends on them.
Schedule ReplayWhatFits(const PrimFunc& func, const ScheduleTrace& trace);

// Arguments and what the program as written makes of them.
struct Expectation {
  int64_t symbol;
  std::vector<Tensor> arguments, results;
};
// One for each of a few values of the symbolic extent. Empty where the program itself has a fault (a shrunk one may).
std::vector<Expectation> Expect(const RandomProgram& program, uint64_t seed);

// Runs `func` as `stage`, races checked: it must not fault and give the same bits (zeros of either sign are equal).
Finding Compare(const PrimFunc& func, const std::vector<Expectation>& expectations, const char* stage,
                bool check_races = true);
// "" or the first element that differs.
std::string DescribeDifference(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected);

// The interpreter on the scheduled and on the lowered function. `lowered` is set once lowering has succeeded.
Finding CheckBySteps(const PrimFunc& scheduled, const std::vector<Expectation>& expectations, PrimFunc* lowered);
// The trace by way of JSON and of Python gives the same function.
Finding CheckTrace(const RandomProgram& program, const Schedule& schedule);

}  // namespace lathe
