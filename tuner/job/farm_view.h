// What the coordinator knows at this moment and no table says; what people ask of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/clock.h"
#include "tracker/device_registry.h"

namespace lathe {

struct DeviceStanding {
  std::string name;
  DeviceState state = DeviceState::kLost;
  std::string not_now;             // Why it cannot be lent now: "lent to job-12/0"; empty: it is free.
  std::vector<int64_t> measuring;  // Trials, as it said last.
  std::string health;              // In words: "good"; empty: nobody checks it.
};
struct WorkerStanding {
  std::string name;
  int slots = 0, tasks = 0, building = 0;  // `tasks`: given to it, those that it builds included.
  uint32_t codegen_version = 0;
  bool is_draining = false;
  Duration silent_for{};
};
struct FarmView {
  std::vector<DeviceStanding> devices;  // By name.
  std::vector<WorkerStanding> workers;  // By name.
};

// Why a job is where it is.
struct JobStory {
  std::vector<std::string> reasons;  // At least one.
  // Of each device with its key: what it does for the job, or why it does not.
  std::vector<std::pair<std::string, std::string>> devices;
};

inline constexpr Duration kLongestReservation = std::chrono::hours(8);
inline constexpr int kMostReservations = 8;  // Of one user, those in line included.
struct ReservationRequest {
  std::string user, request_id;  // The same two again: the same reservation, or the same place in line.
  DeviceWish wish;
  Duration lasts{};           // From its grant on.
  bool is_withdrawn = false;  // It is wanted no more, whether it was granted or not.
};
struct ReservationStanding {
  std::string device;  // Empty: it waits.
  Duration remaining{};
  std::string waits_for;
};

// Who asks for something: what is somebody else's, only an admin may end.
struct Petitioner {
  std::string name;  // Of the user; "admin" over the server's own socket.
  bool is_admin = false;
};

}  // namespace lathe
