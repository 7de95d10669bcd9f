// A device: dials the gateway, runs what is desired, one runner at a time. The shell around DeviceSession: one thread,
// no decision. Sleeps in the kernel when there is nothing to do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "proto/lathe/v1/device.pb.h"
#include "rpc/device/trial_runner.h"
#include "rpc/endpoint.h"
#include "support/status.h"

namespace lathe {

// For a gateway in the same process: the device's end of a fresh socket pair, or why there is none.
using SocketMaker = std::function<StatusOr<int>()>;

struct DeviceServerOptions {
  v1::DeviceFacts facts;  // Name and key checked; the rest: CollectDeviceFacts.
  std::string build_id;
  std::string data_directory;  // Blobs and spooled results; this server's alone.
  int64_t blob_limit_bytes = 512 << 20;
  std::variant<Endpoint, SocketMaker> server;
  // Of rpc/machine_identity.h, read for each connection over TCP, which is encrypted then; empty: TCP is of this
  // machine only, and open.
  std::string identity_path;
  std::string system_root = "/";  // Where sensors of heat are looked for.
  std::function<void(std::string)> log = [](std::string) {};
};

class DeviceServer {
 public:
  // Takes the data directory. `runners` must outlive the server.
  static StatusOr<std::unique_ptr<DeviceServer>> Create(DeviceServerOptions options, TrialRunnerFactory& runners);
  ~DeviceServer();
  DeviceServer(const DeviceServer&) = delete;

  // Works on the calling thread until Stop; runners then still alive are killed, results stay spooled. Runners are
  // children of this thread, so it must be the same one for the whole life of the server.
  void Run();
  void Stop();  // From any thread or signal-safe context of Asio; returns at once.

 private:
  class Impl;
  explicit DeviceServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
