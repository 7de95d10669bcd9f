#include "tuner/job/trial_state.h"

#include <array>

namespace lathe {
namespace {

using S = TrialState;

struct StateRow {
  S state;
  std::string_view name;
  bool terminal = false, spends_budget = false, has_record = false, has_timings = false, by_worker = false,
       by_device = false;
};

constexpr std::array<StateRow, kTrialStateCount> kStates{{
    {S::kProposed, "PROPOSED"},
    {S::kBuildQueued, "BUILD_QUEUED"},
    {S::kBuilding, "BUILDING"},
    {S::kBuilt, "BUILT"},
    {S::kMeasureQueued, "MEAS_QUEUED"},
    {S::kAssigned, "ASSIGNED"},
    {S::kRunning, "RUNNING"},
    //                                terminal spends record timings worker device
    {S::kOk, "OK", true, true, true, true, false, true},
    {S::kNoisy, "NOISY", true, true, true, true, false, true},
    {S::kCensored, "CENSORED", true, true, true, true, false, true},
    {S::kBuildError, "BUILD_ERROR", true, true, true, false, true, false},
    {S::kBuildTimeout, "BUILD_TIMEOUT", true, true, true, false, true, false},
    {S::kWrongResult, "WRONG_RESULT", true, true, true, false, false, true},
    {S::kRunTimeout, "RUN_TIMEOUT", true, true, true, false, false, true},
    {S::kCrash, "CRASH", true, true, true, false, false, true},
    {S::kOutOfMemory, "OUT_OF_MEMORY", true, true, true, false, false, true},
    {S::kPoison, "POISON", true, true, true, false, false, false},
    {S::kCancelled, "CANCELLED", true, false, false, false, false, false},
    {S::kInfraFailed, "INFRA_FAILED", true, true, false, false, false, false},
}};

const StateRow& RowOf(S state) { return kStates[static_cast<size_t>(state)]; }

}  // namespace

std::string_view TrialStateName(TrialState state) { return RowOf(state).name; }

std::optional<TrialState> ParseTrialState(std::string_view name) {
  for (const StateRow& row : kStates) {
    if (row.name == name) return row.state;
  }
  return std::nullopt;
}

std::span<const TrialState> AllTrialStates() {
  static constexpr auto kAll = [] {
    std::array<TrialState, kTrialStateCount> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = kStates[i].state;
    return all;
  }();
  return kAll;
}

bool IsTerminal(TrialState state) { return RowOf(state).terminal; }
bool SpendsBudget(TrialState state) { return RowOf(state).spends_budget; }
bool HasRecord(TrialState state) { return RowOf(state).has_record; }
bool HasTimings(TrialState state) { return RowOf(state).has_timings; }
bool IsTimed(TrialState state) { return HasTimings(state) && state != S::kCensored; }
bool IsBuildFailure(TrialState state) { return RowOf(state).by_worker; }
bool IsMeasureOutcome(TrialState state) { return RowOf(state).by_device; }

bool CanMove(TrialState from, TrialState to) {
  if (IsTerminal(from)) return false;
  if (to == S::kCancelled) return true;
  switch (from) {
    case S::kProposed:
      return to == S::kBuildQueued;
    case S::kBuildQueued:
      return to == S::kBuilding;
    case S::kBuilding:
      return to == S::kBuilt || to == S::kMeasureQueued || to == S::kBuildQueued || IsBuildFailure(to) ||
             to == S::kPoison || to == S::kInfraFailed;
    case S::kBuilt:
      return to == S::kMeasureQueued || to == S::kPoison;
    case S::kMeasureQueued:
      return to == S::kAssigned || to == S::kPoison;
    case S::kAssigned:
    case S::kRunning:
      return (from == S::kAssigned && to == S::kRunning) || to == S::kMeasureQueued || to == S::kBuildQueued ||
             IsMeasureOutcome(to) || to == S::kPoison || to == S::kInfraFailed;
    default:
      return false;
  }
}

std::string_view InfraFailureName(InfraFailure failure) {
  switch (failure) {
    case InfraFailure::kWorkerLost:
      return "worker lost";
    case InfraFailure::kDeviceLost:
      return "device lost";
    case InfraFailure::kLeaseExpired:
      return "lease expired";
    case InfraFailure::kArtifactLost:
      return "artifact lost";
    case InfraFailure::kOther:
      return "infrastructure";
  }
  return "infrastructure";
}

NextStep AfterInfraFailure(TrialState from, InfraFailure failure, int infra_failures) {
  if (infra_failures > kMaxInfraRetries) return {S::kInfraFailed};
  const bool measuring = from == S::kAssigned || from == S::kRunning;
  const S queue = measuring && failure != InfraFailure::kArtifactLost ? S::kMeasureQueued : S::kBuildQueued;
  static constexpr std::chrono::seconds kBackoff[kMaxInfraRetries] = {std::chrono::seconds(1), std::chrono::seconds(4),
                                                                      std::chrono::seconds(16)};
  return {queue, kBackoff[infra_failures <= 1 ? 0 : infra_failures - 1]};
}

NextStep AfterMeasurement(TrialState reported, int noisy_runs) {
  if (reported == S::kNoisy && noisy_runs < kMaxNoisyRuns) return {S::kMeasureQueued};
  return {reported};
}

}  // namespace lathe
