#include "rpc/device_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <optional>
#include <utility>

namespace lathe {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

using Tls = asio::ssl::stream<Protocol::socket&>;

constexpr auto kHandshakeLimit = std::chrono::seconds(10);
constexpr size_t kMaxQueuedBytes = 8 << 20;  // A few of the largest messages.
constexpr int kPeerTimeoutMs = 20'000;       // Unacknowledged data for that long: the peer is gone.

Protocol ProtocolOf(int fd) {
  int family = AF_UNIX;
  socklen_t size = sizeof(family);
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return Protocol(family, 0);
}

void TuneSocket(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);  // A child that held it would keep the connection for as long as it lives.
  const int on = 1;                // Not a TCP socket: both calls fail, harmlessly.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kPeerTimeoutMs, sizeof(kPeerTimeoutMs));
}

std::string ToPem(X509* certificate) {
  if (certificate == nullptr) return "";
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(memory, certificate);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory, &text);
  std::string pem(text, static_cast<size_t>(size));
  BIO_free(memory);
  return pem;
}

TlsPeer PeerOf(SSL* ssl) {
  TlsPeer peer;
  X509* shown = SSL_get1_peer_certificate(ssl);
  peer.certificate_pem = ToPem(shown);
  X509_free(shown);
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  const int length = sk_X509_num(chain);
  if (length > 1) peer.authority_pem = ToPem(sk_X509_value(chain, length - 1));
  return peer;
}

std::string WordsFor(boost::system::error_code error) {
  const bool is_end = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  return is_end ? "closed by the other side" : error.message();
}

}  // namespace

class DeviceLink::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& io, int fd, std::shared_ptr<TlsContext> tls, Handlers handlers)
      : handlers_(std::move(handlers)), tls_context_(std::move(tls)), socket_(io), alarm_(io) {
    boost::system::error_code error;
    TuneSocket(fd);
    socket_.assign(ProtocolOf(fd), fd, error);
    if (!error) socket_.non_blocking(true, error);
    // A descriptor that is no socket fails the first read, which tells the owner.
  }

  void Start() {
    if (tls_context_ == nullptr) return Read();
    tls_.emplace(socket_, tls_context_->context());
    alarm_.expires_after(kHandshakeLimit);
    alarm_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error && self->socket_.is_open()) self->Fail("TLS handshake: not done after 10 s");
    });
    tls_->async_handshake(tls_context_->is_server() ? Tls::server : Tls::client,
                          [self = shared_from_this()](boost::system::error_code error) { self->OnHandshake(error); });
  }

  void Send(const DeviceMessage& message, uint32_t stream) {
    if (!socket_.is_open()) return;
    std::string bytes;
    const Status status = AppendDeviceMessage(message, stream, bytes);
    if (!status.ok()) return Fail(status.message());
    queued_bytes_ += bytes.size();
    if (queued_bytes_ > kMaxQueuedBytes)
      return Fail(fmt::format("the other side does not take what is sent: {} bytes wait", queued_bytes_));
    (stream == 0 ? control_ : blobs_).push_back(std::move(bytes));
    Write();
  }

  void Close() {
    handlers_ = {};
    Disconnect();
    alarm_.cancel();
  }

  void CloseAfterSending() {
    handlers_ = {};
    is_leaving_ = true;
    if (!is_writing_) return Close();
    alarm_.expires_after(std::chrono::seconds(1));
    alarm_.async_wait([self = shared_from_this()](boost::system::error_code) { self->Close(); });
  }

 private:
  void OnHandshake(boost::system::error_code error) {
    if (!socket_.is_open()) return;
    alarm_.cancel();
    if (error)
      return Fail(fmt::format("TLS handshake: {}; does the other side speak TLS, and has this machine joined its farm?",
                              WordsFor(error)));
    if (const auto on_secure = handlers_.on_secure) on_secure(PeerOf(tls_->native_handle()));
    if (socket_.is_open()) Read();
  }

  template <typename Use>
  void WithStream(Use use) {
    if (tls_)
      use(*tls_);
    else
      use(socket_);
  }

  void Read() {
    auto on_bytes = [self = shared_from_this()](boost::system::error_code error, size_t size) {
      if (!self->socket_.is_open() || self->is_leaving_) return;
      if (error) return self->Fail(WordsFor(error));
      self->decoder_.Feed(std::string_view(self->input_.data(), size));
      if (self->DeliverFrames()) self->Read();
    };
    WithStream([&](auto& stream) { stream.async_read_some(asio::buffer(input_), std::move(on_bytes)); });
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
    queued_bytes_ -= output_.size();
    is_writing_ = true;
    auto on_written = [self = shared_from_this()](boost::system::error_code error, size_t) {
      self->is_writing_ = false;
      if (!self->socket_.is_open()) return;
      if (error) return self->Fail(WordsFor(error));
      self->Write();
    };
    WithStream([&](auto& stream) { asio::async_write(stream, asio::buffer(output_), std::move(on_written)); });
  }

  // The other side learns it, whoever else may hold the socket.
  void Disconnect() {
    boost::system::error_code ignored;
    socket_.shutdown(Protocol::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

  void Fail(const std::string& reason) {
    Disconnect();
    asio::post(socket_.get_executor(), [self = shared_from_this(), reason] {
      const auto on_closed = std::exchange(self->handlers_, {}).on_closed;
      if (on_closed) on_closed(reason);
    });
  }

  Handlers handlers_;
  const std::shared_ptr<TlsContext> tls_context_;
  Protocol::socket socket_;
  std::optional<Tls> tls_;
  asio::steady_timer alarm_;  // Of the handshake, then of the end.
  std::array<char, 64 << 10> input_;
  FrameDecoder decoder_;
  std::deque<std::string> control_, blobs_;
  size_t queued_bytes_ = 0;
  std::string output_;  // Being written.
  bool is_writing_ = false, is_leaving_ = false;
};

DeviceLink::DeviceLink(asio::io_context& io, int fd, std::shared_ptr<TlsContext> tls, Handlers handlers)
    : impl_(std::make_shared<Impl>(io, fd, std::move(tls), std::move(handlers))) {
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

namespace {

using DialHandler = std::function<void(StatusOr<int>)>;

// The first of `targets` that answers.
void Connect(asio::io_context& io, std::vector<Protocol::endpoint> targets, const std::string& place,
             DialHandler handler) {
  const auto socket = std::make_shared<Protocol::socket>(io);
  asio::async_connect(*socket, targets, [=](boost::system::error_code failure, const Protocol::endpoint&) {
    if (failure)
      return handler(
          Unavailable(fmt::format("connect to {}: {}; is a server listening there?", place, failure.message())));
    handler(socket->release());
  });
}

// Asks the resolver of this machine, on a thread of Asio's.
void ConnectByName(asio::io_context& io, const Endpoint& endpoint, DialHandler handler) {
  const auto resolver = std::make_shared<asio::ip::tcp::resolver>(io);
  const std::string place = endpoint.ToString();
  resolver->async_resolve(
      endpoint.host, std::to_string(endpoint.port),
      [=, &io](boost::system::error_code error, const asio::ip::tcp::resolver::results_type& found) {
        (void)resolver;
        if (error)
          return handler(Unavailable(fmt::format("connect to {}: look up the name: {}", place, error.message())));
        std::vector<Protocol::endpoint> targets;
        for (const auto& each : found) targets.emplace_back(each.endpoint());
        Connect(io, std::move(targets), place, handler);
      });
}

}  // namespace

void DialEndpoint(asio::io_context& io, const Endpoint& endpoint, std::function<void(StatusOr<int>)> handler) {
  if (!endpoint.unix_path.empty())
    return Connect(io, {asio::local::stream_protocol::endpoint(endpoint.unix_path)}, endpoint.ToString(),
                   std::move(handler));
  boost::system::error_code is_name;
  const asio::ip::address address = asio::ip::make_address(endpoint.host, is_name);
  if (is_name) return ConnectByName(io, endpoint, std::move(handler));
  Connect(io, {asio::ip::tcp::endpoint(address, endpoint.port)}, endpoint.ToString(), std::move(handler));
}

}  // namespace lathe
