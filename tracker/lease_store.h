// What the tracker needs to be durable. Declared here, implemented by the database.
//
// What fences is the epoch: who may use a device is the row with its highest one. When a lease runs out is decided by
// the tracker's memory; the stored time follows it, for readers of the database and for the next start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/clock.h"
#include "support/status.h"

namespace lathe {

struct DeviceRecord {
  std::string name;   // Unique.
  std::string key;    // The class that jobs ask for.
  std::string facts;  // What the device said of itself, as JSON text; opaque here.
  int64_t epoch = 0;  // Of the newest lease; 0: never lent.
  bool operator==(const DeviceRecord&) const = default;
};

// What people, or the farm itself, have decided about a device. Survives restarts.
enum class DeviceService {
  kInService,
  kDrained,      // By people: what it has under way ends as it would; it gets no new lease.
  kQuarantined,  // By the farm, which distrusts it: its lease ends.
};
std::string_view DeviceServiceName(DeviceService service);  // "in service", "drained", "quarantined"
std::optional<DeviceService> ParseDeviceService(std::string_view name);
struct ServiceState {
  DeviceService service = DeviceService::kInService;
  std::string reason;  // For people: "new fan (ann)".
  bool operator==(const ServiceState&) const = default;
};

// A lease is named by (device, epoch). `request_id` was chosen by the holder and names it, e.g. "job-12/0": asking
// twice is harmless, and a holder that was restarted gets its lease back by asking again.
struct LeaseRecord {
  std::string device;
  int64_t epoch = 0;
  std::string request_id;
  std::string key;
  bool operator==(const LeaseRecord&) const = default;
};

// A reservation is a lease that a person has, for a time that was fixed when it was granted; nobody renews it. Its
// request says whose it is.
std::string ReservationId(std::string_view user, std::string_view request);  // "reserved:USER:REQUEST"
bool IsReservation(std::string_view request_id);
std::string_view ReservedBy(std::string_view request_id);  // USER; empty: it is no reservation.

// A lease of the farm's own, to find out whether the device measures what it should. Nobody renews it.
std::string HealthCheckId(std::string_view device);  // "health:DEVICE"
bool IsHealthCheck(std::string_view request_id);

enum class LeaseEnd { kReleased, kExpired, kRevoked };

struct LiveLease {
  LeaseRecord record;
  Duration remaining{};  // Of what it was granted for, if it is a reservation; it may be over.
};
struct TrackerSnapshot {
  std::vector<DeviceRecord> devices;
  std::map<std::string, ServiceState> services;  // By device; those that are in service may be missing.
  std::vector<LiveLease> live_leases;            // At most one per device.
};

// Every verb is one transaction, durable when it returns. Calls may come from any one thread at a time.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  // Inserts the device or updates its key and facts; raises its epoch to `device.epoch`, never lowers it.
  virtual Status PersistDevice(const DeviceRecord& device) = 0;
  // `by`: whose doing it is, in words. NotFound if the device has no row.
  virtual Status PersistService(const std::string& device, const ServiceState& service, std::string_view by) = 0;
  // The lease now runs out `ttl` from now. FailedPrecondition if it has ended.
  virtual Status PersistRenewal(const std::string& device, int64_t epoch, Duration ttl) = 0;
  // OK also when that lease has ended already.
  virtual Status PersistEnd(const std::string& device, int64_t epoch, LeaseEnd why) = 0;
  // Devices, and the leases that have not ended: one that ran out did so because its holder or the server was stopped.
  virtual StatusOr<TrackerSnapshot> LoadTracker() = 0;
};

}  // namespace lathe
