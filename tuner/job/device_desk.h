// Which job uses which device: leases asked for, kept and given back, and how many trials each device has at hand.
// Pure; not thread-safe.
//
// Inputs change what is known; Plan says what follows. The caller does the actions in order, feeds their answers back,
// and plans again until nothing follows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/clock.h"
#include "support/deadlines.h"
#include "tracker/lease_table.h"

namespace lathe {

struct DeskOptions {
  size_t trials_at_hand = 3;      // Per device: one measured, one ready, one that becomes so between two timed windows.
  int64_t trials_per_device = 2;  // A job with more of them asks for another device.
  int64_t stay_trials = 20;       // A job keeps a device for so many trials ...
  Duration stay = std::chrono::seconds(30);  // ... or so long, then yields it if others wait.
  Duration idle = std::chrono::seconds(2);   // It gives the device back when it has had nothing for it for so long.
  Duration retry = std::chrono::milliseconds(200);  // Until it looks again for a trial that may be measured later only.
  // What the tracker knows. Empty: a device suits whoever wants its key, and nobody goes before anybody else.
  std::function<bool(const DeviceWish& wish, const LeaseRecord& lease)> suits;
  // Which of these are to be given back for others when what is at their hand is through (LeaseTable::ChooseYields).
  std::function<std::vector<std::string>(const std::vector<HeldDevice>& held, TimePoint now)> choose_yields;
};

// What a job has for devices.
struct JobDemand {
  DeviceWish wish;        // Of devices.
  int64_t claimable = 0;  // Trials that wait for a device.
  int64_t coming = 0;     // Trials on their way to that: a reason to keep a device for a while, not to ask for one.
};

// Actions.
struct AskForDevice {
  int64_t job_id;
  std::string request_id;
};
struct WithdrawAsking {
  std::string request_id;
};
struct KeepLease {
  std::string device;
  int64_t epoch;
};  // Renew it.
struct GiveBack {
  std::string device;
  int64_t epoch;
};
struct ClaimTrial {
  std::string device;
  int64_t epoch, job_id;
};  // Answer: Claimed or NothingToClaim.
using DeskAction = std::variant<AskForDevice, WithdrawAsking, KeepLease, GiveBack, ClaimTrial>;

class DeviceDesk {
 public:
  explicit DeviceDesk(DeskOptions options = {}) : options_(options) {}

  void SetDemand(int64_t job_id, JobDemand demand);
  // It wants nothing any more; its leases are given back at once.
  void EndJob(int64_t job_id);
  // That could be lent to somebody with this wish (as text).
  void SetDeviceCount(const std::string& wish, int count) { device_counts_[wish] = count; }

  // A request of a known job that was made before a restart; to be asked for again by the caller.
  void Expect(const std::string& request_id);
  // A lease that nobody asked for is given back.
  void Granted(const LeaseRecord& lease, TimePoint now);
  // By the tracker, not by us.
  void Ended(const std::string& device, int64_t epoch);
  void Claimed(const std::string& device, int64_t epoch, int64_t trial_id);
  void NothingToClaim(const std::string& device, int64_t epoch, TimePoint now);
  // The device is through with the trial: another may take its place. The lease is kept until what came of it is
  // in the store; by then the trial may be at hand again, to be measured once more.
  void Finished(const std::string& device, int64_t trial_id);
  void Settled(const std::string& device, int64_t trial_id);
  // Nothing more is given to it; it is given back when what is at its hand is through.
  void Yield(const std::string& device);
  // Somebody who is no job of ours asked the tracker for a device.
  void OthersAsk() { is_weighed_ = false; }

  std::vector<DeskAction> Plan(TimePoint now);
  std::optional<TimePoint> NextDeadline() const;

  struct Held {
    int64_t job_id, epoch;
    std::vector<int64_t> trials;  // In the order in which they are to be measured.
  };
  std::optional<Held> HeldBy(const std::string& device) const;
  // Of which devices that has changed since this was asked last.
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }
  int LeasesOf(int64_t job_id) const;
  // The request that waits longest, for a sentence about what the job waits for.
  std::optional<std::string> WaitingRequest(int64_t job_id) const;

  static std::string RequestId(int64_t job_id, int number);
  static std::optional<int64_t> JobOfRequest(const std::string& request_id);

 private:
  struct Job {
    JobDemand demand;
    std::set<int> asked, granted;     // Numbers of requests.
    std::set<std::string> with_room;  // Devices it has that could have more trials at hand.
    int64_t leases = 0, at_hand = 0;  // Devices it has; their trials, those that are not settled included.
    bool has_work() const { return demand.claimable + demand.coming > 0; }
  };
  struct Lease {
    LeaseRecord record;
    int64_t job_id = 0;
    int number = 0;
    TimePoint granted_at{}, renew_at{}, look_again_at{}, idle_since{};
    int64_t started = 0;                        // Trials claimed under it.
    bool is_yielding = false, is_empty = true;  // As it was planned last.
    std::vector<int64_t> trials;
    std::set<int64_t> unsettled;  // Finished, not settled.
    bool has_nothing_at_hand() const { return trials.empty() && unsettled.empty(); }
  };
  using Actions = std::vector<DeskAction>;
  void PlanRequests(int64_t job_id, Job& job, Actions& actions);
  void PlanLeases(TimePoint now, Actions& actions);
  // True if the lease is over.
  bool PlanLease(Lease& lease, TimePoint now, Actions& actions);
  std::optional<TimePoint> DueOf(const Lease& lease) const;
  Job* JobOf(const Lease& lease);
  void NoteRoom(const Lease& lease);
  void TouchThoseWithRoom(Job& job);
  void Drop(std::map<std::string, Lease>::iterator lease);
  bool OthersWait(const Lease& lease) const;
  bool Suits(const DeviceWish& wish, const LeaseRecord& lease) const;
  bool HasStayed(const Lease& lease, TimePoint now) const;
  void YieldToOthers(TimePoint now);
  std::optional<TimePoint> WeighAt() const;
  int64_t DevicesWanted(const Job& job) const;

  const DeskOptions options_;
  std::map<int64_t, Job> jobs_;
  std::map<std::string, Lease> leases_;  // By device.
  std::map<std::string, int> device_counts_;
  // A lease is looked at when something has happened to it, or at its time.
  std::set<std::string> touched_;
  Deadlines<std::string> due_;
  std::set<std::string> changed_;
  bool is_weighed_ = true;  // Nothing has happened since that may let somebody yield but time.
  std::optional<TimePoint> weighed_at_;
};

}  // namespace lathe
