#include "tests/sim/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/random.h"

namespace lathe::sim {
namespace {

constexpr std::array<std::string_view, 17> kFaultNames = {
    "kill server", "power cut",    "pause server", "disk full",     "wall clock",  "kill board",
    "deaf board",  "stuck board",  "cut link",     "bad wire",      "silent link", "kill worker",
    "mute worker", "stuck worker", "twin worker",  "lose artifact", "cancel job"};
static_assert(kFaultNames.size() == static_cast<size_t>(FaultKind::kCancelJob) + 1);

constexpr std::array<std::string_view, kNumPlants> kPlantNames = {
    "acknowledges-before-commit", "forgets-power-loss",     "commit-without-fence", "fail-without-fence",
    "leases-by-wall-clock",       "waits-by-wall-clock",    "effects-tried-once",   "commits-tried-once",
    "pause-is-silence",           "closes-tasks-in-memory", "trusts-progress",      "trusts-builds",
    "twins-take-turns",           "adopts-no-builds",       "adopts-no-trials",     "loses-boards-in-memory",
    "ends-leases-in-memory",      "blames-nobody",          "runner-left-behind",   "board-forgets-epochs",
    "forgets-before-ack",         "spool-in-memory",        "expires-at-start",     "believes-slow-boards"};

struct Range {
  FaultKind first, last;
};
// Everything; or one part of the farm has all the trouble, which is then deeper.
constexpr Range kProfiles[] = {
    {FaultKind::kKillServer, FaultKind::kWallClock},    {FaultKind::kKillBoard, FaultKind::kSilentLink},
    {FaultKind::kKillWorker, FaultKind::kLoseArtifact}, {FaultKind::kTwinWorker, FaultKind::kTwinWorker},
    {FaultKind::kKillServer, FaultKind::kCancelJob},    {FaultKind::kKillServer, FaultKind::kCancelJob}};

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::string_view FaultName(FaultKind kind) { return kFaultNames[static_cast<size_t>(kind)]; }
std::string_view PlantName(Plant plant) { return kPlantNames[static_cast<size_t>(plant)]; }

std::optional<Plant> PlantOf(std::string_view name) {
  const auto it = std::ranges::find(kPlantNames, name);
  if (it == kPlantNames.end()) return std::nullopt;
  return static_cast<Plant>(it - kPlantNames.begin());
}

std::string Fault::ToString() const {
  return fmt::format("{:.1f} s: {} {} for {:.1f} s ({})", Seconds(at), FaultName(kind), which, Seconds(lasts), detail);
}

Plan DrawPlan(uint64_t seed) {
  Random random(Random::Mix(seed));
  Plan plan{.seed = seed};
  plan.boards = 1 + static_cast<int>(random.Below(3));
  plan.workers = 1 + static_cast<int>(random.Below(2));
  const Range range = kProfiles[random.Below(std::size(kProfiles))];
  // One twin at a time, so that what it may cost is known.
  const uint64_t count = range.first == FaultKind::kTwinWorker ? 1 : random.Below(10);
  for (uint64_t i = 0; i < count; ++i) {
    Fault fault;
    const auto kinds = static_cast<uint64_t>(range.last) - static_cast<uint64_t>(range.first) + 1;
    fault.kind = static_cast<FaultKind>(static_cast<uint64_t>(range.first) + random.Below(kinds));
    // Most of them early, while there is work.
    fault.at = std::chrono::milliseconds(random.Below(random.Below(2) == 0 ? 8'000 : 90'000));
    fault.lasts = std::chrono::milliseconds(100 + random.Below(random.Below(2) == 0 ? 3'000 : 60'000));
    fault.which = static_cast<int>(random.Below(3));
    fault.detail = static_cast<int64_t>(random.Below(60));
    if (fault.kind == FaultKind::kWallClock) fault.detail = (fault.detail - 30) * (random.Below(2) == 0 ? 1 : 200);
    plan.faults.push_back(fault);
  }
  Random health(Random::Mix(seed + 1));  // Of its own: plans are otherwise what they were.
  if (plan.boards >= 3 && health.Below(2) == 0) plan.slow_board = static_cast<int>(health.Below(3));
  std::ranges::stable_sort(plan.faults, {}, &Fault::at);
  return plan;
}

}  // namespace lathe::sim
