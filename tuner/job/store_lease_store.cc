#include "tuner/job/store_lease_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"

namespace lathe {

StatusOr<int64_t> StoreLeaseStore::IdOf(const std::string& device) const {
  const auto it = rows_.find(device);
  if (it == rows_.end()) return NotFound(fmt::format("look up device \"{}\": it never reported", device));
  return it->second.id;
}

Status StoreLeaseStore::PersistDevice(const DeviceRecord& device) {
  ASSIGN_OR_RETURN(DeviceRow row, store_.RegisterDevice({device.name, device.key, device.facts, device.epoch}));
  rows_[device.name] = std::move(row);
  return OkStatus();
}

Status StoreLeaseStore::PersistService(const std::string& device, const ServiceState& service, std::string_view by) {
  ASSIGN_OR_RETURN(const int64_t id, IdOf(device));
  return store_.SetDeviceService(id, service, by);
}

Status StoreLeaseStore::PersistRenewal(const std::string& device, int64_t epoch, Duration ttl) {
  ASSIGN_OR_RETURN(const int64_t id, IdOf(device));
  return store_.RenewLease(id, epoch, ttl).status();
}

Status StoreLeaseStore::PersistEnd(const std::string& device, int64_t epoch, LeaseEnd why) {
  ASSIGN_OR_RETURN(const int64_t id, IdOf(device));
  const LeaseState state = why == LeaseEnd::kReleased  ? LeaseState::kReleased
                           : why == LeaseEnd::kExpired ? LeaseState::kExpired
                                                       : LeaseState::kRevoked;
  return store_.EndLease(id, epoch, state);
}

StatusOr<TrackerSnapshot> StoreLeaseStore::LoadTracker() {
  ASSIGN_OR_RETURN(const std::vector<DeviceRow> devices, store_.ListDevices());
  ASSIGN_OR_RETURN(const std::vector<LeaseRow> leases, store_.ListGrantedLeases());
  TrackerSnapshot snapshot;
  for (const DeviceRow& row : devices) {
    rows_[row.name] = row;
    snapshot.devices.push_back({row.name, row.device_class, row.facts, row.epoch});
    for (const LeaseRow& lease : leases) {
      if (lease.device_id == row.id)
        snapshot.live_leases.push_back({{row.name, lease.epoch, lease.holder, row.device_class}, lease.remaining});
    }
    snapshot.services[row.name] = row.service;
  }
  return snapshot;
}

}  // namespace lathe
