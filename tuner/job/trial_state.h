// The life of one trial as a table: which states exist, which moves are legal, what follows from an attempt's outcome.
// Pure: no time, storage or thread in it. The Store applies it inside its transactions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lathe {

// PROPOSED -> BUILD_QUEUED -> BUILDING -> BUILT -> MEAS_QUEUED -> ASSIGNED -> RUNNING -> one of the terminal states.
enum class TrialState : uint8_t {
  kProposed,  // Chosen by the search, not yet released to the workers.
  kBuildQueued,
  kBuilding,  // Claimed by a worker.
  kBuilt,     // Its module exists; not yet released to the devices.
  kMeasureQueued,
  kAssigned,  // Claimed for a device under a lease.
  kRunning,   // The device has started it.
  kOk,        // From here on terminal.
  kNoisy,     // Measured twice; the confidence interval never closed.
  kCensored,  // Stopped early: slower than what was needed; its time is a lower bound.
  kBuildError,
  kBuildTimeout,
  kWrongResult,
  kRunTimeout,
  kCrash,
  kOutOfMemory,
  kPoison,  // Its module took down two distinct devices; never scheduled again.
  kCancelled,
  kInfraFailed,  // Workers or devices failed it four times; says nothing about the candidate.
};
inline constexpr int kTrialStateCount = 19;

std::string_view TrialStateName(TrialState state);  // "MEAS_QUEUED": the name stored and shown.
std::optional<TrialState> ParseTrialState(std::string_view name);
std::span<const TrialState> AllTrialStates();

bool IsTerminal(TrialState state);
bool CanMove(TrialState from, TrialState to);
// A terminal trial costs its job one trial, unless somebody cancelled it.
bool SpendsBudget(TrialState state);
// The outcome tells something about the candidate, so that a record of it exists and nobody needs to try it again.
bool HasRecord(TrialState state);
// Outcomes with timings: the only ones that a record may carry a median for.
bool HasTimings(TrialState state);
// Measured to its end: its median is its time. CENSORED has a lower bound.
bool IsTimed(TrialState state);
// What a worker may report about a build, what a device may report about a run.
bool IsBuildFailure(TrialState state);
bool IsMeasureOutcome(TrialState state);

// Why an attempt ended without telling anything about the candidate.
enum class InfraFailure : uint8_t {
  kWorkerLost,
  kDeviceLost,    // The device vanished while it ran this module: two distinct devices make the module poison.
  kLeaseExpired,  // Nobody renewed; the device may be well.
  kArtifactLost,  // The module's blob is missing: build again.
  kOther,         // Connection lost, disk full at the other end, ...
};
std::string_view InfraFailureName(InfraFailure failure);

struct NextStep {
  TrialState state;
  std::chrono::nanoseconds backoff{0};  // The trial is not handed out again before it has passed.
};

inline constexpr int kMaxInfraRetries = 3;  // The failure after the third retry is final.
inline constexpr int kMaxNoisyRuns = 2;     // One more full measurement, then NOISY is the result.
inline constexpr int kPoisonDevices = 2;    // Distinct devices lost to one module.

// `infra_failures` counts this one too. From BUILDING or an earlier state the trial is built again; from ASSIGNED or
// RUNNING it is measured again. Backoff 1, 4, 16 s.
NextStep AfterInfraFailure(TrialState from, InfraFailure failure, int infra_failures);
// `reported` satisfies IsMeasureOutcome; `noisy_runs` counts this one too.
NextStep AfterMeasurement(TrialState reported, int noisy_runs);

}  // namespace lathe
