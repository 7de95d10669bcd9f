#include "rpc/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace lathe {
namespace {

bool IsLoopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// An address in numbers, or a name that a resolver may be asked for.
bool IsHost(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1) return true;
  return !host.empty() && host.size() <= 253 && host.front() != '-' && host.front() != '.' &&
         std::all_of(host.begin(), host.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'; });
}

StatusOr<Endpoint> ParseUnix(std::string_view text, std::string_view path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgument(fmt::format("address \"{}\": path of {} characters, 1 to {} required; choose a shorter one",
                                       text, path.size(), sizeof(sockaddr_un::sun_path) - 1));
  }
  return Endpoint{.unix_path = std::string(path)};
}

}  // namespace

std::string Endpoint::ToString() const {
  if (!unix_path.empty()) return "unix:" + unix_path;
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

StatusOr<Endpoint> ParseEndpoint(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) return ParseUnix(text, text.substr(kUnix.size()));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return InvalidArgument(fmt::format("address \"{}\": no port; write HOST:PORT or unix:PATH", text));
  }
  Endpoint endpoint{.host = std::string(text.substr(0, colon))};
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc() || end != port.data() + port.size() || port.empty()) {
    return InvalidArgument(
        fmt::format("address \"{}\": port \"{}\" is no number from 0 to 65535; write HOST:PORT", text, port));
  }
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[' && endpoint.host.back() == ']') {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  if (endpoint.host == "localhost") endpoint.host = "127.0.0.1";
  if (!IsHost(endpoint.host)) {
    return InvalidArgument(fmt::format(
        "address \"{}\": \"{}\" is no host; write a name, an address, or [an IPv6 address]", text, endpoint.host));
  }
  return endpoint;
}

Status CheckOpenEndpoint(const Endpoint& endpoint) {
  if (!endpoint.unix_path.empty() || IsLoopback(endpoint.host)) return OkStatus();
  return InvalidArgument(fmt::format(
      "address {}: beyond this machine everything is encrypted, which takes certificates: make an authority "
      "on the server (lathe ca init), then join with each machine (lathe invite, lathe-device join); on one "
      "machine use 127.0.0.1 or unix:PATH",
      endpoint.ToString()));
}

}  // namespace lathe
