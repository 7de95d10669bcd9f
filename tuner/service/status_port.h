// HTTP for whoever watches the server: /metrics, /healthz, /readyz. Read only, on this machine only: it asks nobody who
// they are.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rpc/endpoint.h"
#include "support/status.h"

namespace lathe {

struct StatusPage {
  int code = 200;
  std::string type = "text/plain; charset=utf-8", text;
};
// `path` without its query; called on the port's thread.
using StatusPages = std::function<StatusPage(const std::string& path)>;

class StatusPort {
 public:
  static constexpr int kMostConnections = 16;
  static constexpr int kSecondsEach = 5;  // Whoever takes longer is cut off.
  // InvalidArgument for an address beyond this machine; Unavailable if it is taken.
  static StatusOr<std::unique_ptr<StatusPort>> Start(const Endpoint& listen, StatusPages pages);
  ~StatusPort();
  const Endpoint& endpoint() const;  // With the real port.

 private:
  class Impl;
  explicit StatusPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
