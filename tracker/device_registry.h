// Which devices there are and when each was last heard. Pure: no thread, socket or clock; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/clock.h"
#include "support/deadlines.h"
#include "tracker/device_wish.h"
#include "tracker/lease_store.h"

namespace lathe {

inline constexpr Duration kSuspectAfter = std::chrono::seconds(15);
inline constexpr Duration kLostAfter = std::chrono::seconds(30);
inline constexpr Duration kStalledFor = std::chrono::minutes(5);

enum class DeviceState {
  kOnline,   // Connected and heard lately.
  kSuspect,  // Silent for kSuspectAfter, or its connection closed: keeps its lease, gets no new one.
  kStalled,  // Heard, but did nothing with what it was given: gets no lease for kStalledFor, or until it connects anew.
  kLost,     // Silent for kLostAfter, or not seen since this process started: its lease has ended.
};
std::string_view DeviceStateName(DeviceState state);  // "online"

struct DeviceEntry {
  DeviceRecord record;
  DeviceTraits traits;  // As it said when it connected; of a restored device: none.
  ServiceState service;
  DeviceState state = DeviceState::kLost;
  bool is_connected = false;
  TimePoint last_heard{};  // Of a restored device: when it was restored.
  TimePoint stalled_at{};  // If it is.
};

struct DeviceChange {
  std::string device;
  DeviceState from, to;
  std::string reason;  // "silent for 15 s"
};

class DeviceRegistry {
 public:
  // Rows of the store, at start. They are SUSPECT until they report, LOST if they do not within kLostAfter.
  void Restore(const TrackerSnapshot& snapshot, TimePoint now);
  // The device connected and said what it is. A higher `record.epoch` than known raises the known one.
  std::optional<DeviceChange> Report(const DeviceRecord& record, const DeviceTraits& traits, TimePoint now);
  // Any sign of life. Of an unknown or unconnected device: ignored.
  std::optional<DeviceChange> Heard(const std::string& name, TimePoint now);
  std::optional<DeviceChange> Stalled(const std::string& name, const std::string& reason, TimePoint now);
  std::optional<DeviceChange> Left(const std::string& name, TimePoint now);
  // What silence has changed by now.
  std::vector<DeviceChange> PassTime(TimePoint now);
  // When PassTime would next change something.
  std::optional<TimePoint> NextDeadline() const { return deadlines_.First(); }
  void SetEpoch(const std::string& name, int64_t epoch);
  void SetService(const std::string& name, const ServiceState& service);  // Of an unknown device: ignored.
  // From now on nobody gets a lease but by LeaseClaimed. Also of a device that has not come yet.
  void SetHeldBack(const std::string& name, bool is_held_back);

  const DeviceEntry* Find(const std::string& name) const;
  bool Suits(const DeviceWish& wish, const std::string& name) const;  // Of an unknown device: false.
  bool CanTakeLease(const std::string& name) const;  // Connected, online, in service and not held back.
  bool IsHeldBack(const std::string& name) const { return held_back_.contains(name); }
  const std::map<std::string, DeviceEntry>& devices() const { return devices_; }

 private:
  std::optional<DeviceChange> SetState(const std::string& name, DeviceEntry& entry, DeviceState to, std::string reason);
  std::optional<DeviceChange> PassTime(const std::string& name, DeviceEntry& entry, TimePoint now);
  void SetDeadline(const std::string& name, const DeviceEntry& entry);

  std::map<std::string, DeviceEntry> devices_;
  std::set<std::string> held_back_;
  Deadlines<std::string> deadlines_;
};

}  // namespace lathe
