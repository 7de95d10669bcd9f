// The tracker's durable memory, in the Store.
#pragma once

#include <map>
#include <string>

#include "tracker/lease_store.h"
#include "tuner/database/store.h"

namespace lathe {

// One thread at a time.
class StoreLeaseStore : public LeaseStore {
 public:
  // `store` must outlive it.
  explicit StoreLeaseStore(Store& store) : store_(store) {}

  Status PersistDevice(const DeviceRecord& device) override;
  Status PersistService(const std::string& device, const ServiceState& service, std::string_view by) override;
  Status PersistRenewal(const std::string& device, int64_t epoch, Duration ttl) override;
  Status PersistEnd(const std::string& device, int64_t epoch, LeaseEnd why) override;
  StatusOr<TrackerSnapshot> LoadTracker() override;

  // The device's row; NotFound before it was persisted or loaded.
  StatusOr<int64_t> IdOf(const std::string& device) const;

 private:
  Store& store_;
  std::map<std::string, DeviceRow> rows_;
};

}  // namespace lathe
