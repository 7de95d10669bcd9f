// A coordinator made reachable: all services of lathe.v1 in front of it. Used by `lathe up`, and by an embedded farm so
// that a second process can attach to the owner of the database.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tuner/service/coordinator_core.h"
#include "tuner/service/server.h"
#include "tuner/service/status_port.h"

namespace lathe {

// "/healthz": it answers; "/readyz": it can do its work; "/metrics".
StatusPage StatusPageOf(Coordinator& coordinator, const std::string& path);

class FarmServer {
 public:
  // `coordinator` must outlive the server. `authority_folder`: as ServiceServerOptions has it, and then over TCP
  // everybody shows who they are. Unavailable if a place is taken.
  static StatusOr<std::unique_ptr<FarmServer>> Start(
      Coordinator& coordinator, std::vector<Endpoint> listen, const std::string& authority_folder = {},
      std::function<void(std::string)> log = [](std::string) {});
  // Sends workers away, cuts watchers after a second.
  ~FarmServer();
  const std::vector<Endpoint>& endpoints() const { return server_->endpoints(); }

 private:
  explicit FarmServer(Coordinator& coordinator) : core_(coordinator), api_(core_) {}
  CoordinatorCore core_;
  CoreApi api_;
  std::unique_ptr<ServiceServer> server_;
};

}  // namespace lathe
