// The store of a simulated server: the real one in memory, which dies where the plan says, fails where the plan says,
// and has some of its mends undone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tests/sim/plan.h"
#include "tests/sim/world.h"
#include "tests/tuner/job/faulty_store.h"
#include "tuner/database/sqlite_store.h"

namespace lathe::sim {

// What of the database is on the disk for good: all of it after a verb that survives power loss.
class Disk {
 public:
  explicit Disk(Clock& clock) : clock_(clock), store_(*SqliteStore::OpenInMemory(clock)) {}
  SqliteStore& store() { return *store_; }
  void Synced() { is_synced_ = true; }
  void BeforeSoftVerb() {
    if (is_synced_) image_ = *store_->Image();
    is_synced_ = false;
  }
  void LosePower() {
    if (is_synced_) return;
    store_ = *SqliteStore::OpenInMemory(clock_, image_);
    is_synced_ = true;
  }

 private:
  Clock& clock_;
  std::unique_ptr<SqliteStore> store_;
  bool is_synced_ = true;
  std::string image_;  // If it is not synced.
};

class SimStore : public FaultyStore {
 public:
  SimStore(World& world, Clock& clock, Disk& disk, std::optional<Plant> plant, bool keeps_images)
      : FaultyStore(disk.store(), [this](std::string_view verb) { return Before(verb); }),
        world_(world),
        clock_(clock),
        disk_(disk),
        under_(disk.store()),
        plant_(plant),
        keeps_images_(keeps_images) {}

  // The process that uses it ends at the n-th verb from now: before it, or after it and before anything else.
  void DieAtVerb(int64_t n, bool after, std::function<void()> on_death) {
    verbs_left_ = n;
    dies_after_ = after;
    on_death_ = std::move(on_death);
  }
  bool is_dead() const { return is_dead_; }
  void Die() { is_dead_ = true; }
  bool is_full = false;

  StatusOr<CommitAnswer> CommitResult(const RunResult& result) override {
    RunResult claimed = result;
    if (const auto row = under_.GetTrial(result.trial_id); plant_ == Plant::kCommitWithoutFence && row.ok()) {
      claimed.attempt = row->attempt;
      claimed.device_id = row->device_id.value_or(claimed.device_id);
      claimed.epoch = row->epoch.value_or(claimed.epoch);
    }
    return OnceIf(Plant::kCommitsTriedOnce, FaultyStore::CommitResult(claimed));
  }
  StatusOr<CommitAnswer> FailAttempt(const AttemptFence& fence, InfraFailure failure, std::string_view error) override {
    AttemptFence claimed = fence;
    if (const auto row = under_.GetTrial(fence.trial_id); plant_ == Plant::kFailWithoutFence && row.ok())
      claimed = {row->id, row->attempt, row->device_id.value_or(0), row->epoch.value_or(0)};
    world_.Say("attempt {} of trial {} fails: {}", claimed.attempt, claimed.trial_id, error);
    if (plant_ == Plant::kBlamesNobody && failure == InfraFailure::kDeviceLost) failure = InfraFailure::kOther;
    return FaultyStore::FailAttempt(claimed, failure, error);
  }
  std::vector<StatusOr<std::optional<TrialRow>>> ClaimMeasurements(std::span<const MeasureClaim> claims) override {
    if (plant_ != Plant::kLeasesByWallClock) return FaultyStore::ClaimMeasurements(claims);
    std::vector<StatusOr<std::optional<TrialRow>>> answers;
    for (const MeasureClaim& claim : claims) {
      if (HasRunOut(claim.device_id))
        answers.emplace_back(Status(FailedPrecondition("claim: the lease has run out")));
      else
        answers.push_back(FaultyStore::ClaimMeasurements(std::span(&claim, 1)).front());
    }
    return answers;
  }
  StatusOr<LeaseRow> RenewLease(int64_t device_id, int64_t epoch, Duration ttl) override {
    if (HasRunOut(device_id)) return FailedPrecondition("renew: the lease has run out");
    return FaultyStore::RenewLease(device_id, epoch, ttl);
  }
  Status CancelTrials(std::span<const int64_t> trial_ids) override {
    if (plant_ == Plant::kClosesTasksInMemory) return OkStatus();
    return OnceIf(Plant::kEffectsTriedOnce, FaultyStore::CancelTrials(trial_ids));
  }
  StatusOr<std::vector<TrialRow>> ListTrials(const TrialFilter& filter, const Page& page) override {
    const bool is_of_builds = filter.states == std::vector{TrialState::kBuilding};
    if ((plant_ == Plant::kAdoptsNoBuilds && is_of_builds) || (plant_ == Plant::kAdoptsNoTrials && filter.device_id))
      return std::vector<TrialRow>{};
    return FaultyStore::ListTrials(filter, page);
  }
  StatusOr<std::vector<int64_t>> LoseDevice(int64_t device_id) override {
    if (plant_ == Plant::kLosesBoardsInMemory) return std::vector<int64_t>{};
    if (plant_ == Plant::kBlamesNobody) {
      for (const LeaseRow& lease : *under_.ListGrantedLeases())
        if (lease.device_id == device_id) (void)under_.EndLease(device_id, lease.epoch, LeaseState::kExpired);
    }
    return OnceIf(Plant::kEffectsTriedOnce, FaultyStore::LoseDevice(device_id));
  }
  StatusOr<std::vector<int64_t>> LoseWorker(std::string_view worker) override {
    return OnceIf(Plant::kEffectsTriedOnce, FaultyStore::LoseWorker(worker));
  }
  Status EndLease(int64_t device_id, int64_t epoch, LeaseState end) override {
    if (plant_ == Plant::kEndsLeasesInMemory) return OkStatus();
    return OnceIf(Plant::kEffectsTriedOnce, FaultyStore::EndLease(device_id, epoch, end));
  }

 private:
  Status Before(std::string_view verb) {
    if (is_dead_) return Unavailable("the server has ended");
    if (verbs_left_ >= 0 && verbs_left_-- == 0) {
      is_dead_ = true;
      world_.Say("the server ends {} {}", dies_after_ ? "after" : "before", verb);
      on_death_();
      if (!dies_after_) return Unavailable("the server has ended");
    }
    const bool reads = verb.starts_with("Get") || verb.starts_with("List") || verb.starts_with("Find") ||
                       verb.starts_with("Count") || verb.starts_with("Query") || verb.starts_with("Read") ||
                       verb == "History" || verb == "MeasuredTraces" || verb == "Stats";
    if (reads) return OkStatus();
    if (is_full) return ResourceExhausted("disk is full");
    if (!keeps_images_) return OkStatus();
    static const std::set<std::string_view> kSoft = {"AdvanceTrials", "ClaimBuilds",    "ClaimMeasurements",
                                                     "CommitBuilds",  "RegisterDevice", "Heartbeat",
                                                     "RenewLease",    "EndLease",       "RecordModelRound"};
    const bool is_soft =
        kSoft.contains(verb) || (plant_ == Plant::kForgetsPowerLoss && verb == std::string_view("CommitResult"));
    if (is_soft)
      disk_.BeforeSoftVerb();
    else
      disk_.Synced();
    return OkStatus();
  }

  template <typename Result>
  Result OnceIf(Plant plant, Result result) {
    if (plant_ != plant || result.ok() || is_dead_) return result;
    return Status(InternalError("failed, and not tried again"));
  }

  bool HasRunOut(int64_t device_id) {
    if (plant_ != Plant::kLeasesByWallClock) return false;
    for (const LeaseRow& lease : *under_.ListGrantedLeases())
      if (lease.device_id == device_id && lease.expires_unix_ns <= clock_.UnixNanos()) return true;
    return false;
  }

  World& world_;
  Clock& clock_;
  Disk& disk_;
  Store& under_;
  const std::optional<Plant> plant_;
  const bool keeps_images_;
  int64_t verbs_left_ = -1;
  bool dies_after_ = false, is_dead_ = false;
  std::function<void()> on_death_;
};

}  // namespace lathe::sim
