#include "tracker/tracker_core.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe {

TrackerCore::TrackerCore(const TrackerSnapshot& snapshot, TimePoint now) : leases_(devices_) {
  devices_.Restore(snapshot, now);
  leases_.Restore(snapshot.live_leases, now);
}

std::vector<TrackerAction> TrackerCore::Step(const TrackerEvent& event, TimePoint now) {
  Actions actions;
  for (const DeviceChange& change : devices_.PassTime(now)) Note(change, now, actions);
  std::visit(
      [&](const auto& e) {
        using Event = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<Event, DeviceReported>)
          Report(e, now, actions);
        else if constexpr (std::is_same_v<Event, DeviceHeard>)
          Note(devices_.Heard(e.device, now), now, actions);
        else if constexpr (std::is_same_v<Event, DeviceLeft>)
          Note(devices_.Left(e.device, now), now, actions);
        else if constexpr (std::is_same_v<Event, DeviceStalled>)
          Note(devices_.Stalled(e.device, e.reason, now), now, actions);
        else if constexpr (std::is_same_v<Event, DeviceServiceSet>)
          SetService(e, now, actions);
        else if constexpr (std::is_same_v<Event, DeviceHeldBack>) {
          devices_.SetHeldBack(e.device, e.is_held_back);
          Apply(DevicesChanged{}, now, actions);
        } else if constexpr (std::is_same_v<Event, GrantCommitted>) {
          if (e.status.ok()) devices_.SetEpoch(e.device, e.epoch);
          Apply(e, now, actions);
        } else {
          Apply(LeaseEvent(e), now, actions);
        }
      },
      event);
  return actions;
}

void TrackerCore::Report(const DeviceReported& event, TimePoint now, Actions& actions) {
  const DeviceEntry* known = devices_.Find(event.record.name);
  const bool has_new_key = known != nullptr && known->record.key != event.record.key;
  const auto change = devices_.Report(event.record, event.traits, now);
  // Before any grant of it, which needs the row.
  actions.push_back(PersistDevice{devices_.Find(event.record.name)->record});
  if (has_new_key) Apply(DeviceGone{event.record.name, "the device now has another key"}, now, actions);
  Note(change, now, actions);
  Apply(DevicesChanged{}, now, actions);  // What it says of itself may suit somebody now.
}

void TrackerCore::SetService(const DeviceServiceSet& event, TimePoint now, Actions& actions) {
  devices_.SetService(event.device, event.service);
  if (event.service.service == DeviceService::kQuarantined)
    Apply(DeviceGone{event.device, "device quarantined: " + event.service.reason}, now, actions);
  else
    Apply(DevicesChanged{}, now, actions);
}

void TrackerCore::Apply(const LeaseEvent& event, TimePoint now, Actions& actions) {
  for (LeaseAction& action : leases_.Step(event, now)) {
    std::visit([&actions](auto& a) { actions.push_back(std::move(a)); }, action);
  }
}

void TrackerCore::Note(const std::optional<DeviceChange>& change, TimePoint now, Actions& actions) {
  if (!change) return;
  actions.push_back(*change);
  if (change->to == DeviceState::kLost || change->to == DeviceState::kStalled)
    Apply(DeviceGone{change->device, fmt::format("device {}: {}", DeviceStateName(change->to), change->reason)}, now,
          actions);
  else
    Apply(DevicesChanged{}, now, actions);
}

std::optional<TimePoint> TrackerCore::NextDeadline() const {
  const auto device = devices_.NextDeadline(), lease = leases_.NextDeadline();
  if (!device || !lease) return device ? device : lease;
  return std::min(*device, *lease);
}

}  // namespace lathe
