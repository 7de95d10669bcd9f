#include "tuner/service/farm_server.h"

#include "support/status_macros.h"
#include "tuner/service/metrics.h"

namespace lathe {

namespace {

constexpr Duration kAnswersWithin = std::chrono::seconds(2);
constexpr int kUnavailable = 503, kNotFound = 404;

}  // namespace

StatusPage StatusPageOf(Coordinator& coordinator, const std::string& path) {
  if (path != "/healthz" && path != "/readyz" && path != "/metrics")
    return {.code = kNotFound, .text = "no such page; there are /metrics, /healthz and /readyz\n"};
  const std::optional<FarmStatistics> farm = coordinator.Statistics(kAnswersWithin);
  if (!farm) return {.code = kUnavailable, .text = "the coordinator does not answer within 2 s\n"};
  if (path == "/metrics")
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .text = RenderMetrics(*farm, ProcessFacts::Read())};
  if (path == "/readyz" && !farm->trouble.empty()) return {.code = kUnavailable, .text = farm->trouble + "\n"};
  return {.text = "ok\n"};
}

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
