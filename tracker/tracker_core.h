// The tracker: which devices there are, who may use which, until when. The registry and the lease table under one Step;
// pure, not thread-safe. A shell does the actions in order, feeds the answers back, and calls Step(TimePassed) at
// NextDeadline().
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/clock.h"
#include "tracker/device_registry.h"
#include "tracker/lease_store.h"
#include "tracker/lease_table.h"

namespace lathe {

// Events of the device side, beside the LeaseEvents.
struct DeviceReported {
  DeviceRecord record;
  DeviceTraits traits;
};  // On connection; record.epoch is the highest that the device has seen.
struct DeviceHeard {
  std::string device;
};
struct DeviceLeft {
  std::string device;
};  // Its connection closed.
struct DeviceStalled {
  std::string device, reason;
};  // It is heard, but does nothing with what it was given: its lease ends.
struct DeviceServiceSet {
  std::string device;
  ServiceState service;
};  // It is in the store. One that is quarantined loses its lease.
struct DeviceHeldBack {
  std::string device;
  bool is_held_back = true;
};  // While it is, nobody in line gets it; who has it keeps it.
using TrackerEvent = std::variant<DeviceReported, DeviceHeard, DeviceLeft, DeviceStalled, DeviceServiceSet,
                                  DeviceHeldBack, LeaseRequested, RequestWithdrawn, LeaseClaimed, LeaseRenewed,
                                  LeaseReleased, GrantCommitted, TimePassed>;

struct PersistDevice {
  DeviceRecord record;
};
using TrackerAction = std::variant<PersistDevice, DeviceChange, PersistGrant, PersistRenewal, PersistEnd, AnswerGranted,
                                   AnswerRenewed, AnswerEnded>;

class TrackerCore {
 public:
  // With what the store holds. No device gets a new lease before it has connected and reported.
  TrackerCore(const TrackerSnapshot& snapshot, TimePoint now);
  TrackerCore(const TrackerCore&) = delete;

  std::vector<TrackerAction> Step(const TrackerEvent& event, TimePoint now);
  std::optional<TimePoint> NextDeadline() const;

  const DeviceRegistry& devices() const { return devices_; }
  const LeaseRecord* LeaseOf(const std::string& device) const { return leases_.LeaseOf(device); }
  const LeaseTable& leases() const { return leases_; }
  std::vector<std::string> ChooseYields(const std::vector<HeldDevice>& held, TimePoint now) {
    return leases_.ChooseYields(held, now);
  }
  std::string WhyWaiting(const std::string& request_id) const { return leases_.WhyWaiting(request_id); }

 private:
  using Actions = std::vector<TrackerAction>;
  void Report(const DeviceReported& event, TimePoint now, Actions& actions);
  void SetService(const DeviceServiceSet& event, TimePoint now, Actions& actions);
  void Apply(const LeaseEvent& event, TimePoint now, Actions& actions);
  void Note(const std::optional<DeviceChange>& change, TimePoint now, Actions& actions);

  DeviceRegistry devices_;
  LeaseTable leases_;
};

}  // namespace lathe
