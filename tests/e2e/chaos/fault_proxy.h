// Stands between the members of a farm and its server, and does to their connections what a bad network does: TCP and
// Unix sockets, one thread, poll. It sees the bytes, not what they mean.
#pragma once

#include <memory>

#include "rpc/endpoint.h"
#include "tests/e2e/chaos/link_weather.h"

namespace lathe::chaos {

enum class Way { kUp, kDown };  // Towards the server; from it.

// Thread-safe. A link is a place where members dial and the server that they reach so.
class FaultProxy {
 public:
  static StatusOr<std::unique_ptr<FaultProxy>> Start(uint64_t seed);
  virtual ~FaultProxy() = default;

  // Port 0: any free one. Whoever dials before SetUpstream, or while nobody answers there, is reset.
  virtual StatusOr<int> AddLink(const Endpoint& listen) = 0;
  virtual Endpoint AddressOf(int link) const = 0;
  virtual void SetUpstream(int link, const Endpoint& server) = 0;

  virtual void SetWeather(int link, Way way, const Weather& weather) = 0;
  virtual void SetDown(int link, bool is_down) = 0;  // Down: resets what there is and whoever dials.
  virtual void Cut(int link) = 0;                    // Resets what there is.
  virtual void LeaveHalfOpen(int link) = 0;          // What there is stays open, and nothing passes any more.
  virtual void Tear(int link) = 0;                   // Of the next piece from the server half passes, then it is reset.
};

}  // namespace lathe::chaos
