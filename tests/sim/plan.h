// What goes wrong in a simulated farm, when, and which mend of the farm is undone: drawn before it begins, so that a
// failing run can be repeated with less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/clock.h"

namespace lathe::sim {

enum class FaultKind {
  kKillServer,   // At the `detail`-th verb of the store from then on, before it (even) or after it (odd).
  kPowerCut,     // What was not synced is gone.
  kPauseServer,  // SIGSTOP.
  kDiskFull,     // Every write of the store fails.
  kWallClock,    // Steps by `detail` seconds.
  kKillBoard,
  kDeafBoard,   // It is alive and takes in nothing that is desired.
  kStuckBoard,  // It says that it measures, and comes to no end.
  kCutLink,     // Both ends learn of it, each in its time.
  kBadWire,     // Bits of blobs flip, and what was desired once arrives once more.
  kSilentLink,  // Nobody learns of it.
  kKillWorker,
  kMuteWorker,   // Its calls and their answers are lost.
  kStuckWorker,  // The builds that it has under way come to no end.
  kTwinWorker,   // A second process of the same name.
  kLoseArtifact,
  kCancelJob,
};
std::string_view FaultName(FaultKind kind);

struct Fault {
  Duration at{}, lasts{};
  FaultKind kind = FaultKind::kKillServer;
  int which = 0;  // Board or worker.
  int64_t detail = 0;
  std::string ToString() const;  // "12.3 s: kill server for 4.0 s (7)"
};

// One mend undone each: what the simulator has to find.
enum class Plant {
  kAcknowledgesBeforeCommit,
  kForgetsPowerLoss,    // A committed result is not synced.
  kCommitWithoutFence,  // Whatever attempt, device and epoch a result has.
  kFailWithoutFence,    // An attempt is failed by whoever says so.
  kLeasesByWallClock,   // Claims and renewals compare the wall clock with the stored end.
  kWaitsByWallClock,    // What waits after a failure waits by the wall clock alone.
  kEffectsTriedOnce,    // What could not be written is not tried again.
  kCommitsTriedOnce,
  kPauseIsSilence,       // A server that was stopped believes everybody else was silent.
  kClosesTasksInMemory,  // Trials of a task that cannot be tuned stay open in the store.
  kTrustsProgress,       // No clock for a device that does nothing.
  kTrustsBuilds,         // No clock for a worker that comes to no end.
  kTwinsTakeTurns,       // Any process of a worker's name is that worker.
  kAdoptsNoBuilds,       // After a restart what workers build is forgotten,
  kAdoptsNoTrials,       // and so is what devices measure.
  kLosesBoardsInMemory,  // Trials of a lost board stay with it in the store.
  kEndsLeasesInMemory,
  kBlamesNobody,        // A module that takes boards down with it is given out for ever.
  kRunnerLeftBehind,    // A killed runner is not waited for.
  kBoardForgetsEpochs,  // A board takes what a former holder says late.
  kForgetsBeforeAck,    // A board drops a result once it is sent.
  kSpoolInMemory,       // A board's results die with its process.
  kExpiresAtStart,      // A server that was away for longer than a lease blames its devices.
  kBelievesSlowBoards,  // Whatever time the golden kernel takes.
};
inline constexpr int kNumPlants = static_cast<int>(Plant::kBelievesSlowBoards) + 1;
std::string_view PlantName(Plant plant);
std::optional<Plant> PlantOf(std::string_view name);

struct Plan {
  uint64_t seed = 0;
  int boards = 2, workers = 1;
  std::vector<Fault> faults;  // By time.
  int slow_board = -1;        // From the beginning, by kSlowness; -1: none.
  std::optional<Plant> plant;
};
inline constexpr double kSlowness = 1.4;
inline constexpr Duration kFaultTime = std::chrono::seconds(150);  // All faults are over by then.

Plan DrawPlan(uint64_t seed);

}  // namespace lathe::sim
