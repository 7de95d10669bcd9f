#include "tracker/device_registry.h"

#include <algorithm>
#include <utility>

namespace lathe {

namespace {
constexpr std::string_view kServiceNames[] = {"in service", "drained", "quarantined"};
}  // namespace

std::string_view DeviceServiceName(DeviceService service) { return kServiceNames[static_cast<size_t>(service)]; }

std::optional<DeviceService> ParseDeviceService(std::string_view name) {
  const auto* const found = std::ranges::find(kServiceNames, name);
  if (found == std::end(kServiceNames)) return std::nullopt;
  return static_cast<DeviceService>(found - kServiceNames);
}

std::string_view DeviceStateName(DeviceState state) {
  switch (state) {
    case DeviceState::kOnline:
      return "online";
    case DeviceState::kSuspect:
      return "suspect";
    case DeviceState::kStalled:
      return "stalled";
    case DeviceState::kLost:
      return "lost";
  }
  return "unknown";
}

void DeviceRegistry::Restore(const TrackerSnapshot& snapshot, TimePoint now) {
  for (const DeviceRecord& record : snapshot.devices) {
    DeviceEntry& entry = devices_[record.name];
    entry = {.record = record, .state = DeviceState::kSuspect, .last_heard = now};
    if (const auto service = snapshot.services.find(record.name); service != snapshot.services.end())
      entry.service = service->second;
    SetDeadline(record.name, entry);
  }
}

std::optional<DeviceChange> DeviceRegistry::SetState(const std::string& name, DeviceEntry& entry, DeviceState to,
                                                     std::string reason) {
  const DeviceState from = std::exchange(entry.state, to);
  SetDeadline(name, entry);
  if (from == to) return std::nullopt;
  return DeviceChange{name, from, to, std::move(reason)};
}

void DeviceRegistry::SetDeadline(const std::string& name, const DeviceEntry& entry) {
  if (entry.state == DeviceState::kLost) return deadlines_.Clear(name);
  TimePoint deadline = entry.last_heard + (entry.state == DeviceState::kOnline ? kSuspectAfter : kLostAfter);
  if (entry.state == DeviceState::kStalled) deadline = std::min(deadline, entry.stalled_at + kStalledFor);
  deadlines_.Set(name, deadline);
}

std::optional<DeviceChange> DeviceRegistry::Report(const DeviceRecord& record, const DeviceTraits& traits,
                                                   TimePoint now) {
  DeviceEntry& entry = devices_[record.name];
  const int64_t epoch = std::max(entry.record.epoch, record.epoch);
  entry.record = record;
  entry.record.epoch = epoch;
  entry.traits = traits;
  entry.is_connected = true;
  entry.last_heard = now;
  return SetState(record.name, entry, DeviceState::kOnline, "connected");
}

std::optional<DeviceChange> DeviceRegistry::Heard(const std::string& name, TimePoint now) {
  const auto it = devices_.find(name);
  if (it == devices_.end() || !it->second.is_connected) return std::nullopt;
  it->second.last_heard = now;
  const bool stays_stalled = it->second.state == DeviceState::kStalled;
  return SetState(name, it->second, stays_stalled ? DeviceState::kStalled : DeviceState::kOnline, "heard again");
}

std::optional<DeviceChange> DeviceRegistry::Stalled(const std::string& name, const std::string& reason, TimePoint now) {
  const auto it = devices_.find(name);
  if (it == devices_.end() || it->second.state == DeviceState::kLost) return std::nullopt;
  it->second.stalled_at = now;
  return SetState(name, it->second, DeviceState::kStalled, reason);
}

std::optional<DeviceChange> DeviceRegistry::Left(const std::string& name, TimePoint) {
  const auto it = devices_.find(name);
  if (it == devices_.end()) return std::nullopt;
  it->second.is_connected = false;
  if (it->second.state == DeviceState::kLost) return std::nullopt;
  return SetState(name, it->second, DeviceState::kSuspect, "connection closed");
}

std::optional<DeviceChange> DeviceRegistry::PassTime(const std::string& name, DeviceEntry& entry, TimePoint now) {
  const Duration silence = now - entry.last_heard;
  if (silence >= kLostAfter) return SetState(name, entry, DeviceState::kLost, "silent for 30 s");
  if (silence >= kSuspectAfter && entry.state == DeviceState::kOnline)
    return SetState(name, entry, DeviceState::kSuspect, "silent for 15 s");
  if (entry.state == DeviceState::kStalled && now - entry.stalled_at >= kStalledFor)
    return SetState(name, entry, silence >= kSuspectAfter ? DeviceState::kSuspect : DeviceState::kOnline,
                    "tried again after 5 min");
  SetDeadline(name, entry);
  return std::nullopt;
}

std::vector<DeviceChange> DeviceRegistry::PassTime(TimePoint now) {
  std::vector<DeviceChange> changes;
  for (const std::string& name : deadlines_.TakeDue(now)) {
    if (auto change = PassTime(name, devices_.at(name), now)) changes.push_back(*std::move(change));
  }
  return changes;
}

void DeviceRegistry::SetEpoch(const std::string& name, int64_t epoch) {
  const auto it = devices_.find(name);
  if (it != devices_.end()) it->second.record.epoch = std::max(it->second.record.epoch, epoch);
}

void DeviceRegistry::SetService(const std::string& name, const ServiceState& service) {
  const auto it = devices_.find(name);
  if (it != devices_.end()) it->second.service = service;
}

void DeviceRegistry::SetHeldBack(const std::string& name, bool is_held_back) {
  if (is_held_back)
    held_back_.insert(name);
  else
    held_back_.erase(name);
}

const DeviceEntry* DeviceRegistry::Find(const std::string& name) const {
  const auto it = devices_.find(name);
  return it == devices_.end() ? nullptr : &it->second;
}

bool DeviceRegistry::Suits(const DeviceWish& wish, const std::string& name) const {
  const DeviceEntry* entry = Find(name);
  return entry != nullptr && wish.Matches(entry->record.key, entry->traits);
}

bool DeviceRegistry::CanTakeLease(const std::string& name) const {
  const DeviceEntry* entry = Find(name);
  return entry != nullptr && entry->is_connected && entry->state == DeviceState::kOnline &&
         entry->service.service == DeviceService::kInService && !held_back_.contains(name);
}

}  // namespace lathe
