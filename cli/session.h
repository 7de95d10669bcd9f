// A verb's connection to the farm: a server over gRPC, or the database file without one.
#pragma once

#include <memory>

#include "cli/place.h"
#include "tuner/service/api.h"

namespace lathe {

enum class Access {
  kRead,   // The file beside its owner, or a pack, unless a server is named.
  kLive,   // Through the owner if it listens, else the file.
  kWrite,  // Through the owner if it listens, else as owner of the file, which must exist.
};

class Session {
 public:
  // kNotFound if there is no database yet, kUnavailable if nobody answers or another process owns the file and does not
  // listen.
  static StatusOr<Session> Open(const Place& place, Access access);
  Session(Session&&) noexcept;
  ~Session();

  TuningApi& tuning();
  ScheduleApi& schedules();
  FarmApi& farm();
  IdentityApi& identity();

 private:
  struct Parts;
  explicit Session(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace lathe
