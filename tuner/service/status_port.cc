#include "tuner/service/status_port.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <thread>

#include "support/status_macros.h"

namespace lathe {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr uint32_t kMostHeaderBytes = 8 << 10;

http::response<http::string_body> Answer(const http::request<http::empty_body>& request, const StatusPages& pages) {
  http::response<http::string_body> response;
  response.version(request.version());
  response.keep_alive(false);
  StatusPage page;
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    page = {405, page.type, "only GET and HEAD\n"};
    response.set(http::field::allow, "GET, HEAD");
  } else {
    const std::string target(request.target());
    page = pages(target.substr(0, target.find('?')));
  }
  response.result(static_cast<unsigned>(page.code));
  response.set(http::field::content_type, page.type);
  response.set(http::field::cache_control, "no-store");
  response.content_length(page.text.size());
  if (request.method() != http::verb::head) response.body() = std::move(page.text);
  return response;
}

// One request, one answer.
class Visit : public std::enable_shared_from_this<Visit> {
 public:
  Visit(Tcp::socket socket, const StatusPages& pages, std::shared_ptr<int> open)
      : stream_(std::move(socket)), pages_(pages), open_(std::move(open)) {
    ++*open_;
    parser_.header_limit(kMostHeaderBytes);
    parser_.body_limit(0);
  }
  ~Visit() { --*open_; }

  void Begin() {
    stream_.expires_after(std::chrono::seconds(StatusPort::kSecondsEach));
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->Reply();
    });
  }

 private:
  void Reply() {
    response_ = Answer(parser_.get(), pages_);
    stream_.expires_after(std::chrono::seconds(StatusPort::kSecondsEach));
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code, size_t) {
      beast::error_code ignored;
      self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  const StatusPages& pages_;
  const std::shared_ptr<int> open_;
  beast::flat_buffer buffer_{kMostHeaderBytes};
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

class StatusPort::Impl {
 public:
  explicit Impl(StatusPages pages) : pages_(std::move(pages)) {}
  ~Impl() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status Listen(const Endpoint& listen) {
    const std::string place = fmt::format("listen on {} for status", listen.ToString());
    if (!listen.unix_path.empty() || !CheckOpenEndpoint(listen).ok())
      return InvalidArgument(
          fmt::format("{}: it tells whoever asks; an address of this machine required, e.g. "
                      "127.0.0.1:9464 (a proxy that knows its callers may pass it on)",
                      place));
    beast::error_code error;
    const Tcp::endpoint address(asio::ip::make_address(listen.host, error), listen.port);
    if (error) return InvalidArgument(fmt::format("{}: {}; an address in numbers required", place, error.message()));
    acceptor_.open(address.protocol(), error);
    if (!error) fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(address, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return Unavailable(fmt::format("{}: {}; choose another address", place, error.message()));
    endpoint_ = listen;
    endpoint_.port = acceptor_.local_endpoint().port();
    Accept();
    thread_ = std::thread([this] { io_.run(); });
    return OkStatus();
  }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  void Accept() {
    acceptor_.async_accept([this](beast::error_code error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
      if (!error && *open_ < kMostConnections) std::make_shared<Visit>(std::move(socket), pages_, open_)->Begin();
      if (!error) return Accept();
      pause_.expires_after(std::chrono::milliseconds(100));  // Out of descriptors, most likely.
      pause_.async_wait([this](beast::error_code) { Accept(); });
    });
  }

  const StatusPages pages_;
  const std::shared_ptr<int> open_ = std::make_shared<int>(0);  // On the thread.
  Endpoint endpoint_;
  asio::io_context io_{1};
  Tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  std::thread thread_;
};

StatusOr<std::unique_ptr<StatusPort>> StatusPort::Start(const Endpoint& listen, StatusPages pages) {
  auto impl = std::make_unique<Impl>(std::move(pages));
  RETURN_IF_ERROR(impl->Listen(listen));
  return std::unique_ptr<StatusPort>(new StatusPort(std::move(impl)));
}

StatusPort::StatusPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StatusPort::~StatusPort() = default;
const Endpoint& StatusPort::endpoint() const { return impl_->endpoint(); }

}  // namespace lathe
