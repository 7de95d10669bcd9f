#include "tests/e2e/chaos/fault_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe::chaos {
namespace {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Address AddressAt(const Endpoint& endpoint) {
  Address address;
  if (!endpoint.unix_path.empty()) {
    auto& local = reinterpret_cast<sockaddr_un&>(address.bytes);
    local.sun_family = AF_UNIX;
    endpoint.unix_path.copy(local.sun_path, sizeof(local.sun_path) - 1);
    address.size = sizeof(local);
    return address;
  }
  auto& inet = reinterpret_cast<sockaddr_in&>(address.bytes);
  inet.sin_family = AF_INET;
  inet.sin_port = htons(endpoint.port);
  inet_pton(AF_INET, endpoint.host.c_str(), &inet.sin_addr);
  address.size = sizeof(inet);
  return address;
}

int NewSocket(const Endpoint& endpoint) {
  return socket(endpoint.unix_path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// The other side reads "connection reset".
void Reset(int fd) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close(fd);
}

// One way of a connection.
struct Stream {
  Stream(int from, int to, Random random) : from(from), to(to), direction(random) {}
  int from, to;
  LinkDirection direction;
  std::string unsent;  // Has arrived, and did not fit into the socket.
  bool is_at_end = false;

  bool WantsToRead() const { return !is_at_end && direction.HasRoom(); }
  bool IsDone() const { return is_at_end && direction.IsEmpty() && unsent.empty(); }
  // False: the sender is gone in disorder.
  bool Read(TimePoint now) {
    char piece[LinkDirection::kPiece];
    const ssize_t got = recv(from, piece, sizeof(piece), 0);
    if (got > 0) direction.Take(std::string(piece, static_cast<size_t>(got)), now);
    if (got == 0) is_at_end = true;
    return got >= 0 || errno == EAGAIN || errno == EINTR;
  }
  // False: the receiver is gone.
  bool Write(TimePoint now) {
    while (true) {
      if (unsent.empty()) unsent = direction.Arrived(now);
      if (unsent.empty()) return true;
      const ssize_t sent = send(to, unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      unsent.erase(0, static_cast<size_t>(sent));
    }
  }
};

struct Connection {
  Connection(int client, int server, Random random)
      : client(client), server(server), up(client, server, random.Fork()), down(server, client, random.Fork()) {}
  int client, server;
  Stream up, down;
  bool is_connected = false;
  bool is_over = false;  // To be reset by the thread.
};

struct Link {
  Endpoint listen, upstream;
  int listener = -1;
  bool has_upstream = false, is_down = false, tears_next = false;
  Weather up, down;
  std::list<Connection> connections;
  std::vector<int> half_open;  // Sockets that nobody reads any more.
};

class Proxy : public FaultProxy {
 public:
  Proxy(uint64_t seed, int wake) : random_(seed), wake_(wake), thread_([this] { Run(); }) {}
  ~Proxy() override {
    {
      std::lock_guard lock(mutex_);
      ends_ = true;
    }
    Wake();
    thread_.join();
    for (Link& link : links_) CloseAll(link);
    close(wake_);
  }

  StatusOr<int> AddLink(const Endpoint& listen) override;
  Endpoint AddressOf(int link) const override {
    std::lock_guard lock(mutex_);
    return At(link).listen;
  }
  void SetUpstream(int link, const Endpoint& server) override {
    Change(link, [&](Link& changed) {
      changed.upstream = server;
      changed.has_upstream = true;
    });
  }
  void SetWeather(int link, Way way, const Weather& weather) override {
    Change(link, [&](Link& changed) {
      (way == Way::kUp ? changed.up : changed.down) = weather;
      for (Connection& each : changed.connections) (way == Way::kUp ? each.up : each.down).direction.Set(weather);
    });
  }
  void SetDown(int link, bool is_down) override {
    Change(link, [&](Link& changed) {
      changed.is_down = is_down;
      for (Connection& each : changed.connections) each.is_over = each.is_over || is_down;
    });
  }
  void Cut(int link) override {
    Change(link, [](Link& changed) {
      for (Connection& each : changed.connections) each.is_over = true;
    });
  }
  void LeaveHalfOpen(int link) override {
    Change(link, [](Link& changed) {
      for (const Connection& each : changed.connections)
        changed.half_open.insert(changed.half_open.end(), {each.client, each.server});
      changed.connections.clear();
    });
  }
  void Tear(int link) override {
    Change(link, [](Link& changed) { changed.tears_next = true; });
  }

 private:
  Link& At(int link) { return *std::next(links_.begin(), link); }
  const Link& At(int link) const { return *std::next(links_.begin(), link); }
  template <typename F>
  void Change(int link, const F& change) {
    {
      std::lock_guard lock(mutex_);
      change(At(link));
    }
    Wake();
  }
  void Wake() const {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof(one));
  }

  void Run();
  std::vector<pollfd> Wishes(TimePoint now, int& timeout_ms) const;
  void Serve(TimePoint now);
  void Accept(Link& link);
  void Serve(Link& link, Connection& connection, TimePoint now);
  static void TearPiece(Link& link, Connection& connection, TimePoint now);
  static void CloseAll(Link& link);

  mutable std::mutex mutex_;
  Random random_;          // Guarded by mutex_, as all below.
  std::list<Link> links_;  // A link's number is its place.
  bool ends_ = false;
  const int wake_;
  std::thread thread_;
};

StatusOr<int> Proxy::AddLink(const Endpoint& listen) {
  Link link{.listen = listen};
  link.listener = NewSocket(listen);
  const Address address = AddressAt(listen);
  if (link.listener < 0 || bind(link.listener, address.get(), address.size) != 0 || ::listen(link.listener, 64) != 0) {
    const std::string reason = std::strerror(errno);
    if (link.listener >= 0) close(link.listener);
    return Unavailable(fmt::format("listen at {}: {}", listen.ToString(), reason));
  }
  sockaddr_in bound{};
  socklen_t size = sizeof(bound);
  if (listen.unix_path.empty() && getsockname(link.listener, reinterpret_cast<sockaddr*>(&bound), &size) == 0)
    link.listen.port = ntohs(bound.sin_port);
  int number = 0;
  {
    std::lock_guard lock(mutex_);
    links_.push_back(std::move(link));
    number = static_cast<int>(links_.size()) - 1;
  }
  Wake();
  return number;
}

void Proxy::Run() {
  while (true) {
    std::vector<pollfd> wishes;
    int timeout_ms = -1;
    {
      std::lock_guard lock(mutex_);
      if (ends_) return;
      wishes = Wishes(SystemClock().Now(), timeout_ms);
    }
    poll(wishes.data(), wishes.size(), timeout_ms);
    uint64_t woken = 0;
    (void)!read(wake_, &woken, sizeof(woken));
    std::lock_guard lock(mutex_);
    Serve(SystemClock().Now());
  }
}

// What to wait for: every socket is tried afterwards, so it does not matter which of them woke us.
std::vector<pollfd> Proxy::Wishes(TimePoint now, int& timeout_ms) const {
  std::vector<pollfd> wishes = {{wake_, POLLIN, 0}};
  std::optional<TimePoint> next;
  for (const Link& link : links_) {
    wishes.push_back({link.listener, POLLIN, 0});
    for (const Connection& each : link.connections) {
      short client = 0, server = each.is_connected ? short{0} : short{POLLOUT};
      for (const Stream* stream : {&each.up, &each.down}) {
        short& from = stream == &each.up ? client : server;
        short& to = stream == &each.up ? server : client;
        if (each.is_connected && stream->WantsToRead()) from |= POLLIN;
        if (each.is_connected && !stream->unsent.empty()) to |= POLLOUT;
        const auto arrival = stream->direction.NextArrival();
        if (arrival && stream->unsent.empty()) next = std::min(next.value_or(*arrival), *arrival);
      }
      if (client != 0) wishes.push_back({each.client, client, 0});
      if (server != 0) wishes.push_back({each.server, server, 0});
    }
  }
  if (next) timeout_ms = static_cast<int>(std::max<int64_t>((*next - now).count(), 0) / 1'000'000 + 1);
  return wishes;
}

void Proxy::Serve(TimePoint now) {
  for (Link& link : links_) {
    Accept(link);
    for (auto each = link.connections.begin(); each != link.connections.end();) {
      if (!each->is_over) Serve(link, *each, now);
      if (!each->is_over) {
        ++each;
        continue;
      }
      Reset(each->client);
      Reset(each->server);
      each = link.connections.erase(each);
    }
  }
}

void Proxy::Accept(Link& link) {
  while (true) {
    const int client = accept4(link.listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    if (link.is_down || !link.has_upstream) {
      Reset(client);
      continue;
    }
    const int server = NewSocket(link.upstream);
    const Address address = AddressAt(link.upstream);
    if (server < 0 || (connect(server, address.get(), address.size) != 0 && errno != EINPROGRESS)) {
      Reset(client);
      if (server >= 0) close(server);
      continue;
    }
    Connection& added = link.connections.emplace_back(client, server, random_.Fork());
    added.up.direction.Set(link.up);
    added.down.direction.Set(link.down);
  }
}

void Proxy::Serve(Link& link, Connection& connection, TimePoint now) {
  if (!connection.is_connected) {
    pollfd ready{connection.server, POLLOUT, 0};
    if (poll(&ready, 1, 0) == 0) return;
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(connection.server, SOL_SOCKET, SO_ERROR, &error, &size);
    connection.is_connected = error == 0;
    connection.is_over = error != 0;
    if (connection.is_over) return;
  }
  for (Stream* stream : {&connection.up, &connection.down}) {
    const bool is_alive = !stream->WantsToRead() || stream->Read(now);
    if (link.tears_next && stream == &connection.down && !stream->direction.IsEmpty())
      return TearPiece(link, connection, now);
    connection.is_over = connection.is_over || !is_alive || !stream->Write(now) || stream->IsDone();
  }
}

void Proxy::TearPiece(Link& link, Connection& connection, TimePoint now) {
  link.tears_next = false;
  const std::string piece = connection.down.direction.Arrived(now);
  (void)!send(connection.client, piece.data(), piece.size() / 2, MSG_NOSIGNAL);
  shutdown(connection.client, SHUT_WR);  // A reset would take back what has just been sent.
  connection.is_over = true;
}

void Proxy::CloseAll(Link& link) {
  for (const Connection& each : link.connections) {
    Reset(each.client);
    Reset(each.server);
  }
  for (const int fd : link.half_open) close(fd);
  close(link.listener);
  if (!link.listen.unix_path.empty()) unlink(link.listen.unix_path.c_str());
}

}  // namespace

StatusOr<std::unique_ptr<FaultProxy>> FaultProxy::Start(uint64_t seed) {
  const int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake < 0) return Unavailable(fmt::format("start a fault proxy: {}", std::strerror(errno)));
  return std::unique_ptr<FaultProxy>(std::make_unique<Proxy>(seed, wake));
}

}  // namespace lathe::chaos
