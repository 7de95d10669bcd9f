#include "rpc/device_link.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <utility>

namespace lathe {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

constexpr int kPeerTimeoutMs = 20'000;  // Unacknowledged data for that long: the peer is gone.

Protocol ProtocolOf(int fd) {
  int family = AF_UNIX;
  socklen_t size = sizeof(family);
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return Protocol(family, 0);
}

void TuneSocket(int fd) {  // Not a TCP socket: both calls fail, harmlessly.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kPeerTimeoutMs, sizeof(kPeerTimeoutMs));
}

}  // namespace

class DeviceLink::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& io, int fd, Handlers handlers) : handlers_(std::move(handlers)), socket_(io), farewell_(io) {
    boost::system::error_code error;
    TuneSocket(fd);
    socket_.assign(ProtocolOf(fd), fd, error);
    if (!error) socket_.non_blocking(true, error);
    // A descriptor that is no socket fails the first read, which tells the owner.
  }

  void Start() { Read(); }

  void Send(const DeviceMessage& message, uint32_t stream) {
    if (!socket_.is_open()) return;
    std::string bytes;
    const Status status = AppendDeviceMessage(message, stream, bytes);
    if (!status.ok()) return Fail(status.message());
    (stream == 0 ? control_ : blobs_).push_back(std::move(bytes));
    Write();
  }

  void Close() {
    handlers_ = {};
    boost::system::error_code ignored;
    socket_.close(ignored);
    farewell_.cancel();
  }

  void CloseAfterSending() {
    handlers_ = {};
    is_leaving_ = true;
    if (!is_writing_) return Close();
    farewell_.expires_after(std::chrono::seconds(1));
    farewell_.async_wait([self = shared_from_this()](boost::system::error_code) { self->Close(); });
  }

 private:
  void Read() {
    socket_.async_read_some(
        asio::buffer(input_), [self = shared_from_this()](boost::system::error_code error, size_t size) {
          if (!self->socket_.is_open() || self->is_leaving_) return;
          if (error) return self->Fail(error == asio::error::eof ? "closed by the other side" : error.message());
          self->decoder_.Feed(std::string_view(self->input_.data(), size));
          if (self->DeliverFrames()) self->Read();
        });
  }

  // False once the link is of no more use.
  bool DeliverFrames() {
    while (socket_.is_open() && !is_leaving_) {
      StatusOr<std::optional<Frame>> frame = decoder_.Next();
      if (!frame.ok()) return Fail(frame.status().message()), false;
      if (!frame->has_value()) return true;
      StatusOr<DeviceMessage> message = DecodeDeviceMessage(**frame);
      if (!message.ok()) return Fail(message.status().message()), false;
      if (const auto on_message = handlers_.on_message) on_message(*std::move(message));
    }
    return false;
  }

  void Write() {
    if (is_writing_) return;
    std::deque<std::string>& queue = control_.empty() ? blobs_ : control_;
    if (queue.empty()) {
      if (is_leaving_) Close();
      return;
    }
    output_ = std::move(queue.front());
    queue.pop_front();
    is_writing_ = true;
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this()](boost::system::error_code error, size_t) {
                        self->is_writing_ = false;
                        if (!self->socket_.is_open()) return;
                        if (error) return self->Fail(error.message());
                        self->Write();
                      });
  }

  void Fail(const std::string& reason) {
    boost::system::error_code ignored;
    socket_.close(ignored);
    asio::post(socket_.get_executor(), [self = shared_from_this(), reason] {
      const auto on_closed = std::exchange(self->handlers_, {}).on_closed;
      if (on_closed) on_closed(reason);
    });
  }

  Handlers handlers_;
  Protocol::socket socket_;
  asio::steady_timer farewell_;
  std::array<char, 64 << 10> input_;
  FrameDecoder decoder_;
  std::deque<std::string> control_, blobs_;
  std::string output_;  // Being written.
  bool is_writing_ = false, is_leaving_ = false;
};

DeviceLink::DeviceLink(asio::io_context& io, int fd, Handlers handlers)
    : impl_(std::make_shared<Impl>(io, fd, std::move(handlers))) {
  impl_->Start();
}

DeviceLink::~DeviceLink() {
  if (impl_) impl_->Close();
}

void DeviceLink::Send(const DeviceMessage& message, uint32_t stream) { impl_->Send(message, stream); }

void DeviceLink::CloseAfterSending(std::unique_ptr<DeviceLink> link) {
  const std::shared_ptr<Impl> impl = std::move(link->impl_);
  impl->CloseAfterSending();
}

void DialEndpoint(asio::io_context& io, const Endpoint& endpoint, std::function<void(StatusOr<int>)> handler) {
  const auto socket = std::make_shared<Protocol::socket>(io);
  boost::system::error_code error;
  Protocol::endpoint target;
  if (!endpoint.unix_path.empty()) {
    target = asio::local::stream_protocol::endpoint(endpoint.unix_path);
  } else {
    target = asio::ip::tcp::endpoint(asio::ip::make_address(endpoint.host, error), endpoint.port);
  }
  const std::string place = endpoint.ToString();
  if (error)
    return asio::post(io, [=] { handler(InvalidArgument(fmt::format("connect to {}: {}", place, error.message()))); });
  socket->async_connect(target, [socket, handler = std::move(handler), place](boost::system::error_code failure) {
    if (failure)
      return handler(
          Unavailable(fmt::format("connect to {}: {}; is a server listening there?", place, failure.message())));
    handler(socket->release());
  });
}

}  // namespace lathe
