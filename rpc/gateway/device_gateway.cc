#include "rpc/gateway/device_gateway.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <list>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>

#include "rpc/device_link.h"
#include "rpc/gateway/device_gateway_session.h"
#include "rpc/gateway/stranger_limits.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

namespace asio = boost::asio;

// Removes a socket file that nobody listens on any more. Unavailable if somebody does, or if it is no socket.
Status ClearSocketFile(asio::io_context& io, const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return OkStatus();
  asio::local::stream_protocol::socket probe(io);
  boost::system::error_code error;
  probe.connect(asio::local::stream_protocol::endpoint(path), error);
  if (error == asio::error::connection_refused) {
    unlink(path.c_str());
    return OkStatus();
  }
  return Unavailable(fmt::format("listen on unix:{}: {}; stop the other server or choose another path", path,
                                 error ? error.message() : "another process listens there"));
}

}  // namespace

class DeviceGateway::Impl {
 public:
  Impl(DeviceGatewayOptions options, DeviceGatewayOwner& owner)
      : options_(std::move(options)), owner_(owner), work_(io_.get_executor()), hourly_(io_), thread_([this] {
          if (options_.authenticator != nullptr) LookAfterCertificate();
          io_.run();
        }) {}

  ~Impl() {
    io_.stop();
    thread_.join();
    for (const std::string& path : socket_files_) unlink(path.c_str());
  }

  // Runs `work` on the gateway's thread and waits for its answer.
  template <typename Work>
  auto Ask(Work work) -> decltype(work()) {
    std::promise<decltype(work())> promise;
    asio::post(io_, [&] { promise.set_value(work()); });
    return promise.get_future().get();
  }

  StatusOr<Endpoint> Listen(Endpoint endpoint) {
    if (!endpoint.unix_path.empty()) {
      RETURN_IF_ERROR(ClearSocketFile(io_, endpoint.unix_path));
      RETURN_IF_ERROR(ListenOn(endpoint, asio::local::stream_protocol::endpoint(endpoint.unix_path), unix_listeners_));
      socket_files_.push_back(endpoint.unix_path);
      return endpoint;
    }
    if (options_.authenticator == nullptr) RETURN_IF_ERROR(CheckOpenEndpoint(endpoint));
    boost::system::error_code error;
    const asio::ip::address address = asio::ip::make_address(endpoint.host, error);
    if (error)
      return InvalidArgument(
          fmt::format("listen on {}: \"{}\" is no address of this machine in numbers; 0.0.0.0 is all of "
                      "them",
                      endpoint.ToString(), endpoint.host));
    RETURN_IF_ERROR(ListenOn(endpoint, asio::ip::tcp::endpoint(address, endpoint.port), tcp_listeners_));
    endpoint.port = tcp_listeners_.back().local_endpoint().port();
    return endpoint;
  }

  void Adopt(int fd) {
    asio::post(io_, [this, fd] { Open(fd, "", nullptr); });
  }

  void SetDesired(const std::string& device, v1::Desired desired) {
    asio::post(io_, [this, device, desired = std::move(desired)]() mutable {
      Wanted& wanted = wanted_[device];
      if (desired.epoch() < wanted.desired.epoch()) return;  // A late word of a former holder.
      wanted.desired = std::move(desired);
      Connection* connection = Find(device);
      if (connection == nullptr) return;
      wanted.instance = connection->instance;
      Handle(*connection, DesiredChanged{wanted.desired});
    });
  }

  void Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict) {
    asio::post(io_, [this, device, key, verdict] {
      if (Connection* connection = Find(device)) Handle(*connection, ResultCommitted{key, verdict});
    });
  }

 private:
  struct Connection {
    Connection(asio::io_context& io, GatewaySessionOptions options)
        : session(std::move(options), SystemClock().Now()), alarm(io) {}
    DeviceGatewaySession session;
    std::unique_ptr<DeviceLink> link;
    asio::steady_timer alarm;
    std::optional<CertificateFacts> machine;  // By its certificate; none over the server's own socket.
    std::string address;                      // Whence it came; empty: from this machine.
    bool is_encrypted = false;
    bool was_served = false;  // It was asked for a certificate, and got one.
    uint64_t instance = 0;
    bool is_up = false;    // OnDeviceUp was called.
    bool is_over = false;  // Removed after the step.
    bool is_stepping = false;
    std::deque<GatewayEvent> events;
    std::list<Connection>::iterator self;
  };

  template <typename Protocol>
  Status ListenOn(const Endpoint& endpoint, const typename Protocol::endpoint& address,
                  std::list<asio::basic_socket_acceptor<Protocol>>& listeners) {
    asio::basic_socket_acceptor<Protocol> listener(io_);
    boost::system::error_code error;
    listener.open(address.protocol(), error);
    if (!error) fcntl(listener.native_handle(), F_SETFD, FD_CLOEXEC);
    if (!error) listener.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) listener.bind(address, error);
    if (!error) listener.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return Unavailable(fmt::format("listen on {}: {}; stop the other server or choose another address",
                                     endpoint.ToString(), error.message()));
    listeners.push_back(std::move(listener));
    Accept(listeners.back());
    return OkStatus();
  }

  template <typename Acceptor>
  void Accept(Acceptor& listener) {
    listener.async_accept([this, &listener](boost::system::error_code error, auto socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) Admit(std::move(socket));
      if (error) {  // Out of descriptors, most likely: let some close first.
        const auto pause = std::make_shared<asio::steady_timer>(io_, std::chrono::milliseconds(100));
        return pause->async_wait([this, &listener, pause](boost::system::error_code) { Accept(listener); });
      }
      Accept(listener);
    });
  }

  // Clients of other ports show the same certificate, so it is renewed though no device comes.
  void LookAfterCertificate() {
    (void)options_.authenticator->Context();
    hourly_.expires_after(std::chrono::hours(1));
    hourly_.async_wait([this](boost::system::error_code error) {
      if (!error) LookAfterCertificate();
    });
  }

  void Admit(asio::local::stream_protocol::socket socket) { Open(socket.release(), "", nullptr); }

  // Encrypted, where there is an authority; later, if its address was refused too often.
  void Admit(asio::ip::tcp::socket socket) {
    boost::system::error_code error;
    const std::string address = NetworkOf(socket.remote_endpoint(error).address());
    if (error) return;  // It has gone.
    if (options_.authenticator == nullptr) return Open(socket.release(), address, nullptr);
    const Duration delay = refusals_.DelayFor(address, SystemClock().Now());
    if (delay == Duration::zero()) return Open(socket.release(), address, options_.authenticator->Context());
    if (delayed_ >= options_.max_strangers) return;
    ++delayed_;
    const auto wait = std::make_shared<asio::steady_timer>(io_, delay);
    wait->async_wait([this, wait, address,
                      socket = std::make_shared<asio::ip::tcp::socket>(std::move(socket))](boost::system::error_code) {
      --delayed_;
      Open(socket->release(), address, options_.authenticator->Context());
    });
  }

  // Whoever has an IPv6 address has 2^64 of them.
  static std::string NetworkOf(const asio::ip::address& address) {
    if (!address.is_v6() || address.to_v6().is_v4_mapped()) return address.to_string();
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return asio::ip::address_v6(bytes).to_string();
  }

  static bool IsStranger(const Connection& connection) { return !connection.is_up && !connection.is_over; }

  // Of those that have not said Hello one goes when one too many comes. A device's place is never taken.
  void MakeRoomForStranger() {
    std::vector<Connection*> strangers;
    std::vector<std::string> addresses;
    for (Connection& connection : connections_) {
      if (!IsStranger(connection)) continue;
      strangers.push_back(&connection);
      addresses.push_back(connection.address);
    }
    if (strangers.size() < static_cast<size_t>(options_.max_strangers)) return;
    Connection& chosen = *strangers[WhoMakesRoom(addresses)];
    chosen.was_served = true;  // It did nothing wrong.
    End(chosen, fmt::format("{} connections have not said Hello; this one makes room for a new one", strangers.size()));
    Sweep();
  }

  void Open(int fd, const std::string& address, std::shared_ptr<TlsContext> tls) {
    MakeRoomForStranger();
    connections_.emplace_back(io_, GatewaySessionOptions{.build_id = options_.build_id,
                                                         .heartbeat = options_.heartbeat,
                                                         .unix_ns = SystemClock().UnixNanos(),
                                                         .is_encrypted = tls != nullptr});
    Connection& connection = connections_.back();
    connection.self = std::prev(connections_.end());
    connection.address = address;
    connection.is_encrypted = tls != nullptr;
    connection.link = std::make_unique<DeviceLink>(
        io_, fd, std::move(tls),
        DeviceLink::Handlers{
            [this, &connection](DeviceMessage message) { Handle(connection, GatewayReceived{std::move(message)}); },
            [this, &connection](const TlsPeer& peer) { Handle(connection, PeerKnown{Identify(connection, peer)}); },
            [this, &connection](std::string reason) {
              End(connection, reason);
              Sweep();
            }});
    SetAlarm(connection);
  }

  StatusOr<GatewayPeer> Identify(Connection& connection, const TlsPeer& peer) {
    if (peer.certificate_pem.empty()) return GatewayPeer{.role = Role::kJoining};
    ASSIGN_OR_RETURN(connection.machine, options_.authenticator->Identify(peer.certificate_pem));
    return GatewayPeer{.role = connection.machine->subject.role, .name = connection.machine->subject.name};
  }

  Connection* Find(const std::string& device) {
    const auto it = up_.find(device);
    return it == up_.end() ? nullptr : it->second;
  }

  void Handle(Connection& connection, GatewayEvent event) {
    connection.events.push_back(std::move(event));
    if (connection.is_stepping || connection.is_over) return;
    connection.is_stepping = true;
    while (!connection.events.empty() && !connection.is_over) {
      const GatewayEvent next = std::move(connection.events.front());
      connection.events.pop_front();
      for (GatewayAction& action : connection.session.Step(next, SystemClock().Now())) {
        if (!connection.is_over) std::visit([&](auto& a) { Do(connection, a); }, action);
      }
    }
    connection.is_stepping = false;
    if (!connection.is_over) SetAlarm(connection);
    Sweep();
  }

  void SetAlarm(Connection& connection) {
    const std::optional<TimePoint> deadline = connection.session.NextDeadline();
    // Each message moves the deadline; the alarm is only set anew when it has gone off.
    if (!deadline || connection.alarm.expiry() > SystemClock().Now()) return;
    connection.alarm.expires_at(*deadline);
    connection.alarm.async_wait([this, &connection](boost::system::error_code error) {
      if (!error) Handle(connection, GatewayTime{});
    });
  }

  void Do(Connection& connection, GatewaySend& action) { connection.link->Send(action.message, action.stream); }

  void Do(Connection& connection, DeviceArrived& action) {
    const std::string& name = action.hello.facts().name();
    if (Connection* other = Find(name); other != nullptr && Stands(*other)) {
      if (other->instance != action.hello.instance()) {
        connection.events.push_back(DeviceRejected{fmt::format(
            "device \"{}\": another process is connected under this name; give one of them another --name", name)});
        return;
      }
      End(*other, "the device connected anew");
    }
    if (static_cast<int>(up_.size()) >= options_.max_devices) {
      connection.events.push_back(DeviceRejected{fmt::format(
          "device \"{}\": {} devices are connected, more are not taken; end one of them", name, options_.max_devices)});
      return;
    }
    connection.instance = action.hello.instance();
    connection.is_up = true;
    up_[name] = &connection;
    options_.log(fmt::format("device \"{}\" connected", name));
    owner_.OnDeviceUp(action.hello);
    const auto wanted = wanted_.find(name);
    // A process that was started anew has ended with what it had, maybe because of it: the owner has to ask again.
    if (wanted != wanted_.end() && wanted->second.instance != connection.instance) wanted->second.desired.clear_specs();
    connection.events.push_back(DeviceAdmitted{wanted == wanted_.end() ? v1::Desired() : wanted->second.desired});
  }

  void Do(Connection& connection, JoinRequested& action) {
    Answer(connection, options_.authenticator->Join(action.join));
  }
  void Do(Connection& connection, RenewRequested& action) {
    Answer(connection, options_.authenticator->Renew(*connection.machine, action.request_pem));
  }
  static void Answer(Connection& connection, StatusOr<std::string> certificate) {
    connection.was_served = certificate.ok();
    connection.events.push_back(RequestSigned{std::move(certificate)});
  }

  // Whoever was revoked meanwhile is heard no more. What cannot be looked up now is looked up the next time.
  bool Stands(Connection& connection) {
    const Status standing =
        connection.machine ? options_.authenticator->CheckStanding(*connection.machine) : OkStatus();
    if (standing.code() != StatusCode::kUnauthenticated) return true;
    options_.authenticator->OnRefused(connection.address, standing.message());
    End(connection, standing.message());
    return false;
  }

  void Do(Connection& connection, DeviceSpoke& action) {
    if (!Stands(connection)) return;
    owner_.OnDeviceHeard(connection.session.device(), action.current);
  }
  void Do(Connection& connection, ResultArrived& action) {
    if (Stands(connection)) owner_.OnResult(action.result);
  }

  void Do(Connection& connection, ReadBlob& action) {
    if (!Stands(connection)) return;
    StatusOr<BlobPiece> piece = owner_.ReadBlob(action.digest, action.offset, action.limit);
    if (!piece.ok())
      connection.events.push_back(BlobRead{action.digest, action.offset, piece.status(), "", 0});
    else
      connection.events.push_back(
          BlobRead{action.digest, action.offset, OkStatus(), std::move(piece->data), piece->size});
  }

  void Do(Connection& connection, GatewayClose& action) {
    if (connection.is_encrypted && !connection.is_up && !connection.was_served)
      options_.authenticator->OnRefused(connection.address, action.reason);
    DeviceLink::CloseAfterSending(std::move(connection.link));
    End(connection, action.reason);
  }

  void End(Connection& connection, const std::string& reason) {
    if (std::exchange(connection.is_over, true)) return;
    over_.push_back(&connection);
    connection.link.reset();
    connection.alarm.cancel();
    if (!std::exchange(connection.is_up, false)) {
      if (connection.is_encrypted && !connection.was_served) refusals_.Refused(connection.address, SystemClock().Now());
      options_.log("device connection: " + reason);
      return;
    }
    up_.erase(connection.session.device());
    options_.log(fmt::format("device \"{}\" disconnected: {}", connection.session.device(), reason));
    owner_.OnDeviceDown(connection.session.device(), reason);
  }

  // Removes what is over, later: the caller may still be inside it.
  void Sweep() {
    std::erase_if(over_, [this](Connection* connection) {
      if (connection->is_stepping) return false;
      asio::post(io_, [this, self = connection->self] { connections_.erase(self); });
      return true;
    });
  }

  const DeviceGatewayOptions options_;
  DeviceGatewayOwner& owner_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::list<asio::ip::tcp::acceptor> tcp_listeners_;
  std::list<asio::local::stream_protocol::acceptor> unix_listeners_;
  std::vector<std::string> socket_files_;
  std::list<Connection> connections_;
  std::unordered_map<std::string, Connection*> up_;  // By device.
  std::vector<Connection*> over_;                    // To be removed.
  asio::steady_timer hourly_;
  RefusalLog refusals_;
  int delayed_ = 0;  // Connections whose handshake waits.
  struct Wanted {
    v1::Desired desired;
    uint64_t instance = 0;  // Of the process that was told so.
  };
  std::map<std::string, Wanted> wanted_;  // By device.
  std::thread thread_;                    // Last: it uses all of the above.
};

DeviceGateway::DeviceGateway(DeviceGatewayOptions options, DeviceGatewayOwner& owner)
    : impl_(std::make_unique<Impl>(std::move(options), owner)) {}
DeviceGateway::~DeviceGateway() = default;

StatusOr<Endpoint> DeviceGateway::Listen(const Endpoint& endpoint) {
  return impl_->Ask([&] { return impl_->Listen(endpoint); });
}
void DeviceGateway::Adopt(int fd) { impl_->Adopt(fd); }

StatusOr<int> DeviceGateway::MakeSocketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Unavailable(fmt::format("connect device in this process: {}", std::strerror(errno)));
  }
  impl_->Adopt(ends[0]);
  return ends[1];
}

Status DeviceGateway::SetDesired(const std::string& device, v1::Desired desired) {
  RETURN_IF_ERROR(CheckDesired(desired));
  impl_->SetDesired(device, std::move(desired));
  return OkStatus();
}

void DeviceGateway::Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict) {
  impl_->Acknowledge(device, key, verdict);
}

}  // namespace lathe
