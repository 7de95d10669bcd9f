// lathe-sim: repeats a simulated farm by its seed, or looks for one that breaks a promise.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "tests/sim/farm_simulation.h"

namespace {

constexpr char kUsage[] =
    "usage: lathe-sim --seed N [--runs COUNT] [--plant NAME] [--history]\n"
    "  --seed N       the first seed (default 0)\n"
    "  --runs COUNT   seeds from there on (default 1)\n"
    "  --plant NAME   undo one mend of the farm; `--plant list` names them\n"
    "  --history      print what happened, also if all went well\n";

int Usage(const std::string& words) {
  fmt::print(stderr, "lathe-sim: {}\n{}", words, kUsage);
  return 2;
}

void Report(const lathe::sim::Plan& plan, const lathe::sim::Outcome& outcome) {
  fmt::print("seed {}: {} boards, {} workers, {} records, {:.1f} virtual s{}\n", plan.seed, plan.boards, plan.workers,
             outcome.results, outcome.seconds, outcome.broken ? ": " + *outcome.broken : "");
  if (plan.slow_board >= 0) fmt::print("  board-{} is slow\n", plan.slow_board);
  for (const lathe::sim::Fault& fault : plan.faults) fmt::print("  {}\n", fault.ToString());
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 0, runs = 1;
  bool shows_history = false;
  std::optional<lathe::sim::Plant> plant;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--history") {
      shows_history = true;
      continue;
    }
    if (i + 1 == argc) return Usage(flag + ": not a flag, or its value is missing");
    const std::string value = argv[++i];
    if (flag == "--seed") {
      seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--runs") {
      runs = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--plant" && value == "list") {
      for (int p = 0; p < lathe::sim::kNumPlants; ++p)
        fmt::print("{}\n", lathe::sim::PlantName(static_cast<lathe::sim::Plant>(p)));
      return 0;
    } else if (flag == "--plant") {
      plant = lathe::sim::PlantOf(value);
      if (!plant) return Usage(fmt::format("--plant {}: no such mend; --plant list names them", value));
    } else {
      return Usage(flag + ": no such flag");
    }
  }
  for (uint64_t run = 0; run < runs; ++run) {
    lathe::sim::Plan plan = lathe::sim::DrawPlan(seed + run);
    plan.plant = plant;
    const lathe::sim::Outcome outcome = Simulate(plan, shows_history);
    if (!outcome.broken) {
      if (shows_history || runs == 1) Report(plan, outcome);
      if (shows_history)
        for (const std::string& line : outcome.history) fmt::print("{}\n", line);
      continue;
    }
    Report(plan, outcome);
    const lathe::sim::Plan least = Minimized(plan);
    const lathe::sim::Outcome again = Simulate(least, true);
    fmt::print("with as few faults as it takes:\n");
    Report(least, again);
    for (const std::string& line : again.history) fmt::print("{}\n", line);
    return 1;
  }
  if (runs > 1) fmt::print("seeds {} to {}: every promise was kept\n", seed, seed + runs - 1);
  return 0;
}
