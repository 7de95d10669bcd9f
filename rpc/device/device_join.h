// A machine's way into a farm as a device: from a code to an identity file (rpc/machine_identity.h).
#pragma once

#include <string>

#include "support/status.h"

namespace lathe {

struct DeviceJoinOptions {
  std::string farm;  // "HOST:PORT" of the server's device port.
  std::string code;  // As lathe invite printed it.
  std::string name;  // As in DeviceProgramOptions, likewise the next two.
  std::string cpus;
  std::string data_directory;
  std::string start;  // What the answer says of how it is started; empty: by this program.
};

// Asks for at most 30 s. Returns what to tell the user: what this machine is now, and how to start.
StatusOr<std::string> JoinAsDevice(const DeviceJoinOptions& options);

}  // namespace lathe
