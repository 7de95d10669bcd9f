// The server's gRPC end: all services of lathe.v1, standard health and reflection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpc/endpoint.h"
#include "support/clock.h"
#include "support/status.h"
#include "tuner/service/core_api.h"
#include "tuner/service/worker_host.h"

namespace lathe {

struct ServiceServerOptions {
  std::vector<Endpoint> listen;   // At least one. Port 0: any free one.
  WorkerHost* workers = nullptr;  // Without one, WorkerService is not offered.
  // Over TCP a call says who makes it (call_guard.h). Health and reflection, which tell nothing of the farm, do not
  // ask.
  bool requires_identity = false;
  // Of the authority (authority.h) by which TCP is encrypted; empty: it is open, and of this machine only.
  std::string authority_folder = {};
  std::function<void(std::string)> log = [](std::string) {};  // From any thread.
};

class ServiceServer {
 public:
  // `api` and the workers' host must outlive the server. Unavailable if a place is taken, InvalidArgument if it
  // may not be open.
  static StatusOr<std::unique_ptr<ServiceServer>> Start(ServiceServerOptions options, CoreApi& api);
  // Stop, with a second of grace.
  ~ServiceServer();
  ServiceServer(const ServiceServer&) = delete;

  // Where clients can dial: real ports.
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  // Health says NOT_SERVING; calls under way get `grace` to end; watchers are cut then. It waits for the
  // workers' host to answer what it was asked. Once only.
  void Stop(Duration grace);

 private:
  struct Shell;
  ServiceServer();
  std::vector<Endpoint> endpoints_;
  std::unique_ptr<Shell> shell_;
};

}  // namespace lathe
