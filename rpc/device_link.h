// One connected socket that speaks the device protocol: bytes in and out, control messages before blob chunks. A shell:
// it decides nothing. Belongs to the thread that runs its io_context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rpc/device_message.h"
#include "rpc/endpoint.h"
#include "rpc/tls.h"

namespace boost::asio {
class io_context;
}

namespace lathe {

class DeviceLink {
 public:
  struct Handlers {
    std::function<void(DeviceMessage)> on_message;
    std::function<void(TlsPeer)> on_secure = {};        // With TLS only: once, before any message.
    std::function<void(std::string reason)> on_closed;  // By the peer or an error; at most once, and last.
  };
  // Takes over the connected stream socket `fd`. Handlers are called from io's thread, never from inside a call. With
  // `tls`, which the link shares, everything is encrypted from the first byte; the handshake has 10 s, and nothing may
  // be sent before on_secure.
  DeviceLink(boost::asio::io_context& io, int fd, std::shared_ptr<TlsContext> tls, Handlers handlers);
  ~DeviceLink();  // Closes. No handler is called afterwards.
  DeviceLink(const DeviceLink&) = delete;

  // `stream` is 0 for all but blob chunks. A peer that takes nothing while 8 MiB wait for it has lost the link.
  void Send(const DeviceMessage& message, uint32_t stream = 0);
  // Calls no handler any more; what was sent still goes out, for at most a second.
  static void CloseAfterSending(std::unique_ptr<DeviceLink> link);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Dials without waiting; the handler gets the connected socket, which is then the handler's, or why there is none.
void DialEndpoint(boost::asio::io_context& io, const Endpoint& endpoint, std::function<void(StatusOr<int>)> handler);

}  // namespace lathe
