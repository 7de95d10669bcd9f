// Many devices in one thread: the sessions and links of real ones, over sockets, whose trials only take time. Their
// disks are memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rpc/endpoint.h"
#include "support/clock.h"
#include "support/status.h"

namespace lathe {

struct StandIn {
  std::string name, key;
  std::string identity_path;  // Empty: it speaks without TLS.
};

struct StandInOptions {
  Endpoint place;
  std::vector<StandIn> devices;
  Duration trial = std::chrono::seconds(2);  // What each trial takes.
};

// Since it was asked last.
struct StandInReport {
  std::vector<double> busy;      // Per device: share of the time in which it measured.
  std::vector<int64_t> gaps_ns;  // From the end of one trial to the start of the next.
  int64_t acknowledged = 0;      // Results.
  Duration cpu{};                // Of the thread.
  int welcome = 0;               // Devices that are connected.
};

// Thread-safe.
class StandInDevices {
 public:
  explicit StandInDevices(StandInOptions options);
  ~StandInDevices();  // They end at once.
  StandInDevices(const StandInDevices&) = delete;

  StandInReport TakeReport();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
