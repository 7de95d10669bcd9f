#include "cli/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/database_path.h"
#include "support/clock.h"
#include "support/status_macros.h"
#include "tuner/database/pack.h"
#include "tuner/service/client.h"
#include "tuner/service/core_api.h"
#include "tuner/service/store_core.h"
#include "tuner/service/unix_socket.h"

namespace lathe {

struct Session::Parts {
  // Either a connection ...
  std::unique_ptr<ServerConnection> connection;
  // ... or the file and who answers from it.
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<StoreCore> core;
  std::unique_ptr<CoreApi> api;
};

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

StatusOr<Session> Session::Open(const Place& place, Access access) {
  auto parts = std::make_unique<Parts>();
  if (!place.server.empty()) {
    ASSIGN_OR_RETURN(parts->connection, ConnectTo(place));
    return Session(std::move(parts));
  }
  const std::string path = DatabasePath(place.database);
  const StatusOr<Endpoint> owner = OwnerEndpoint(path);
  if (access != Access::kRead && owner.ok() && SomebodyListens(owner->unix_path)) {
    parts->connection = ConnectToServer(*owner);
    return Session(std::move(parts));
  }
  if (::access(path.c_str(), F_OK) != 0) {
    return NotFound(fmt::format("open {}: no database there yet; `lathe tune` makes one, --db names another", path));
  }
  if (access == Access::kWrite) {
    ASSIGN_OR_RETURN(parts->store, SqliteStore::Open(path));
  } else {
    ASSIGN_OR_RETURN(parts->store, OpenSchedules(path));
  }
  const bool is_served = owner.ok() && SomebodyListens(owner->unix_path);
  parts->core = std::make_unique<StoreCore>(
      *parts->store,
      is_served ? std::nullopt
                : std::optional(Hindrance{Hindrance::Kind::kWaits,
                                          "nobody serves this database; `lathe up` or the same `lathe tune` goes on"}));
  parts->api = std::make_unique<CoreApi>(*parts->core);
  return Session(std::move(parts));
}

TuningApi& Session::tuning() {
  return parts_->api != nullptr ? static_cast<TuningApi&>(*parts_->api) : parts_->connection->tuning();
}
ScheduleApi& Session::schedules() {
  return parts_->api != nullptr ? static_cast<ScheduleApi&>(*parts_->api) : parts_->connection->schedules();
}
IdentityApi& Session::identity() {
  return parts_->api != nullptr ? static_cast<IdentityApi&>(*parts_->api) : parts_->connection->identity();
}
FarmApi& Session::farm() {
  return parts_->api != nullptr ? static_cast<FarmApi&>(*parts_->api) : parts_->connection->farm();
}

}  // namespace lathe
