#include "tuner/service/farm_server.h"

#include "support/status_macros.h"

namespace lathe {

StatusOr<std::unique_ptr<FarmServer>> FarmServer::Start(Coordinator& coordinator, std::vector<Endpoint> listen,
                                                        const std::string& authority_folder,
                                                        std::function<void(std::string)> log) {
  std::unique_ptr<FarmServer> farm(new FarmServer(coordinator));
  ASSIGN_OR_RETURN(farm->server_, ServiceServer::Start({.listen = std::move(listen),
                                                        .workers = &farm->core_,
                                                        .requires_identity = !authority_folder.empty(),
                                                        .authority_folder = authority_folder,
                                                        .log = std::move(log)},
                                                       farm->api_));
  return farm;
}

FarmServer::~FarmServer() {
  core_.SendWorkersAway();
  server_.reset();  // Before what it answers from.
}

}  // namespace lathe
