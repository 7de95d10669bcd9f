#include "tuner/service/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "tuner/service/unix_socket.h"

namespace lathe {
namespace {

constexpr int kBacklog = 1024;
constexpr int kPauseMs = 100;  // Until a descriptor may be free.

Status Taken(const Endpoint& endpoint) {
  return Unavailable(fmt::format(
      "listen on {}: the address is in use or not allowed; stop who listens there or choose another with --listen",
      endpoint.ToString()));
}

// -1: it may not be had.
int ListenAt(const sockaddr* address, socklen_t size) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (address->sa_family != AF_UNIX) {
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // Connections have it from here.
  }
  if (fd >= 0 && bind(fd, address, size) == 0 && listen(fd, kBacklog) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

int ListenAtPath(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path)) return -1;
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  unlink(path.c_str());
  return ListenAt(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

// At the first of the host's addresses that can be had.
int ListenAtHost(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  int fd = -1;
  for (const addrinfo* each = found; each != nullptr && fd < 0; each = each->ai_next)
    fd = ListenAt(each->ai_addr, each->ai_addrlen);
  freeaddrinfo(found);
  return fd;
}

uint16_t PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

class SocketListener : public Listener {
 public:
  SocketListener(Endpoint endpoint, int fd, int wake) : endpoint_(std::move(endpoint)), fd_(fd), wake_(wake) {}
  ~SocketListener() override {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof(one));
    if (thread_.joinable()) thread_.join();
    close(fd_);
    close(wake_);
    if (!endpoint_.unix_path.empty()) unlink(endpoint_.unix_path.c_str());
  }
  void Start(TakeSocket take, Log log) override {
    thread_ = std::thread([this, take = std::move(take), log = std::move(log)] { Run(take, log); });
  }
  const Endpoint& endpoint() const override { return endpoint_; }

 private:
  void Run(const TakeSocket& take, const Log& log) {
    bool waits = false;  // For a descriptor.
    while (!IsToEnd(waits)) {
      const int socket = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      const int error = socket < 0 ? errno : 0;
      const bool lacks = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
      if (socket >= 0) take(socket);
      if (lacks && !waits)
        log(fmt::format("listen on {}: {}; who connects waits", endpoint_.ToString(), std::strerror(error)));
      waits = lacks;
    }
  }
  // Sleeps until somebody connects; a moment only, where somebody has and could not be taken in.
  bool IsToEnd(bool is_moment) const {
    pollfd fds[] = {{wake_, POLLIN, 0}, {fd_, POLLIN, 0}};
    poll(fds, is_moment ? 1 : 2, is_moment ? kPauseMs : -1);
    return fds[0].revents != 0;
  }

  const Endpoint endpoint_;
  const int fd_, wake_;
  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<Listener>> Listener::Open(const Endpoint& endpoint) {
  if (!endpoint.unix_path.empty() && SomebodyListens(endpoint.unix_path)) return Taken(endpoint);
  const int fd =
      endpoint.unix_path.empty() ? ListenAtHost(endpoint.host, endpoint.port) : ListenAtPath(endpoint.unix_path);
  if (fd < 0) return Taken(endpoint);
  const int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake < 0) {
    close(fd);
    return Unavailable(fmt::format("listen on {}: {}", endpoint.ToString(), std::strerror(errno)));
  }
  Endpoint real = endpoint;
  if (real.unix_path.empty()) real.port = PortOf(fd);
  return std::unique_ptr<Listener>(std::make_unique<SocketListener>(std::move(real), fd, wake));
}

}  // namespace lathe
