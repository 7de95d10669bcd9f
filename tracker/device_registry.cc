#include "tracker/device_registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe {
namespace {

std::optional<DeviceChange> SetState(const std::string& name, DeviceEntry& entry, DeviceState to, std::string reason) {
  if (entry.state == to) return std::nullopt;
  DeviceChange change{name, entry.state, to, std::move(reason)};
  entry.state = to;
  return change;
}

}  // namespace

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

void DeviceRegistry::Restore(const std::vector<DeviceRecord>& devices, TimePoint now) {
  for (const DeviceRecord& record : devices) devices_[record.name] = {record, DeviceState::kSuspect, false, now};
}

std::optional<DeviceChange> DeviceRegistry::Report(const DeviceRecord& record, TimePoint now) {
  DeviceEntry& entry = devices_[record.name];
  const int64_t epoch = std::max(entry.record.epoch, record.epoch);
  entry.record = record;
  entry.record.epoch = epoch;
  entry.is_connected = true;
  entry.last_heard = now;
  return SetState(record.name, entry, DeviceState::kOnline, "connected");
}

std::optional<DeviceChange> DeviceRegistry::Heard(const std::string& name, TimePoint now) {
  const auto it = devices_.find(name);
  if (it == devices_.end() || !it->second.is_connected) return std::nullopt;
  it->second.last_heard = now;
  if (it->second.state == DeviceState::kStalled) return std::nullopt;
  return SetState(name, it->second, DeviceState::kOnline, "heard again");
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

std::vector<DeviceChange> DeviceRegistry::PassTime(TimePoint now) {
  std::vector<DeviceChange> changes;
  for (auto& [name, entry] : devices_) {
    const Duration silence = now - entry.last_heard;
    std::optional<DeviceChange> change;
    if (silence >= kLostAfter) {
      change = SetState(name, entry, DeviceState::kLost, "silent for 30 s");
    } else if (silence >= kSuspectAfter && entry.state == DeviceState::kOnline) {
      change = SetState(name, entry, DeviceState::kSuspect, "silent for 15 s");
    } else if (entry.state == DeviceState::kStalled && now - entry.stalled_at >= kStalledFor) {
      change = SetState(name, entry, silence >= kSuspectAfter ? DeviceState::kSuspect : DeviceState::kOnline,
                        "tried again after 5 min");
    }
    if (change) changes.push_back(*std::move(change));
  }
  return changes;
}

std::optional<TimePoint> DeviceRegistry::NextDeadline() const {
  std::optional<TimePoint> next;
  for (const auto& [name, entry] : devices_) {
    if (entry.state == DeviceState::kLost) continue;
    TimePoint deadline = entry.last_heard + (entry.state == DeviceState::kOnline ? kSuspectAfter : kLostAfter);
    if (entry.state == DeviceState::kStalled) deadline = std::min(deadline, entry.stalled_at + kStalledFor);
    if (!next || deadline < *next) next = deadline;
  }
  return next;
}

void DeviceRegistry::SetEpoch(const std::string& name, int64_t epoch) {
  const auto it = devices_.find(name);
  if (it != devices_.end()) it->second.record.epoch = std::max(it->second.record.epoch, epoch);
}

const DeviceEntry* DeviceRegistry::Find(const std::string& name) const {
  const auto it = devices_.find(name);
  return it == devices_.end() ? nullptr : &it->second;
}

bool DeviceRegistry::CanTakeLease(const std::string& name) const {
  const DeviceEntry* entry = Find(name);
  return entry != nullptr && entry->is_connected && entry->state == DeviceState::kOnline;
}

}  // namespace lathe
