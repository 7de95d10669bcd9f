#include "rpc/machine_identity.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "rpc/device_link.h"
#include "rpc/hello_check.h"
#include "support/clock.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kFarmLine = "farm: ";

// The blocks of a PEM file, each with its label.
struct PemBlock {
  std::string label, text;
};
std::vector<PemBlock> SplitPem(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kDashes = "-----";
  std::vector<PemBlock> blocks;
  for (size_t begin = text.find(kBegin); begin != std::string_view::npos; begin = text.find(kBegin, begin + 1)) {
    const size_t label = begin + kBegin.size(), dashes = text.find(kDashes, label), end = text.find(kEnd, label);
    if (dashes == std::string_view::npos || end == std::string_view::npos) break;
    const size_t line = std::min(text.find('\n', end), text.size());
    blocks.push_back(
        {std::string(text.substr(label, dashes - label)), std::string(text.substr(begin, line - begin)) + "\n"});
  }
  return blocks;
}

std::string FarmOf(std::string_view text) {
  const size_t begin = text.find(kFarmLine);
  if (begin == std::string_view::npos) return "";
  const size_t at = begin + kFarmLine.size();
  return std::string(text.substr(at, std::min(text.find('\n', at), text.size()) - at));
}

// One question to the farm over a connection of its own. Belongs to the thread that calls Ask.
class Asker {
 public:
  using Check = std::function<Status(const TlsPeer&)>;

  StatusOr<std::string> Ask(const Endpoint& farm, std::shared_ptr<TlsContext> tls, const Check& check,
                            const DeviceMessage& question, std::chrono::nanoseconds limit) {
    asio::steady_timer alarm(io_, limit);
    alarm.async_wait([&](boost::system::error_code error) {
      if (!error) Finish(Unavailable(fmt::format("ask {} for a certificate: no answer in time", farm.ToString())));
    });
    DialEndpoint(io_, farm, [&](StatusOr<int> socket) {
      if (!socket.ok()) return Finish(socket.status());
      link_ = std::make_unique<DeviceLink>(
          io_, *socket, tls,
          DeviceLink::Handlers{
              [this](const DeviceMessage& message) { Take(message); },
              [&](const TlsPeer& peer) { Trust(check(peer), question); },
              [this](const std::string& reason) { Finish(Unavailable("ask for a certificate: " + reason)); }});
    });
    io_.run();
    link_.reset();
    return *answer_;
  }

 private:
  // A server that is not the farm's is told nothing.
  void Trust(const Status& status, const DeviceMessage& question) {
    if (!status.ok()) return Finish(status);
    link_->Send(question);
  }

  void Take(const DeviceMessage& message) {
    if (const auto* signed_one = std::get_if<v1::Signed>(&message)) return Finish(signed_one->certificate_pem());
    if (const auto* refused = std::get_if<v1::Refused>(&message))
      return Finish(Unauthenticated("the server refuses: " + PrintableFact(refused->message())));
    Finish(InvalidArgument(fmt::format("ask for a certificate: the server answers {}; is it of this release?",
                                       DeviceMessageName(message))));
  }

  void Finish(StatusOr<std::string> answer) {
    if (!answer_.has_value()) answer_ = std::move(answer);
    io_.stop();
  }

  asio::io_context io_{1};
  std::unique_ptr<DeviceLink> link_;
  std::optional<StatusOr<std::string>> answer_;
};

int64_t NowUnixNs() { return SystemClock().UnixNanos(); }

// What came back must be what was asked for.
StatusOr<MachineIdentity> Accept(std::string certificate_pem, std::string key_pem, std::string authority_pem,
                                 const CertificateSubject& machine, const Endpoint& farm) {
  MachineIdentity identity{{std::move(key_pem), std::move(certificate_pem)}, std::move(authority_pem), farm};
  RETURN_IF_ERROR(CheckKeyPair(identity.own));
  ASSIGN_OR_RETURN(const CertificateFacts facts, identity.Facts());
  if (facts.subject == machine) return identity;
  return InternalError(fmt::format("ask for a certificate: asked as {} \"{}\", signed for {} \"{}\"",
                                   RoleName(machine.role), machine.name, RoleName(facts.subject.role),
                                   facts.subject.name));
}

}  // namespace

namespace {

StatusOr<MachineIdentity> ParseIdentity(const std::string& text) {
  MachineIdentity identity;
  for (PemBlock& block : SplitPem(text)) {
    if (block.label == "PRIVATE KEY")
      identity.own.key_pem = std::move(block.text);
    else if (block.label == "CERTIFICATE")
      (identity.own.certificate_pem.empty() ? identity.own.certificate_pem : identity.authority_pem) =
          std::move(block.text);
  }
  ASSIGN_OR_RETURN(identity.farm, ParseEndpoint(FarmOf(text)));
  if (identity.authority_pem.empty()) return DataLoss("a key and two certificates required");
  RETURN_IF_ERROR(CheckKeyPair(identity.own));
  return identity;
}

}  // namespace

StatusOr<MachineIdentity> MachineIdentity::Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path));
  StatusOr<MachineIdentity> identity = ParseIdentity(text);
  if (identity.ok()) return identity;
  return DataLoss(fmt::format("read identity {}: the file is damaged: {}; remove it and join again", path,
                              identity.status().message()));
}

Status MachineIdentity::Write(const std::string& path) const {
  return WriteSecretFile(
      path, fmt::format("{}{}\n{}{}{}", kFarmLine, farm.ToString(), own.key_pem, own.certificate_pem, authority_pem));
}

StatusOr<MachineIdentity> JoinFarm(const Endpoint& farm, const InvitationCode& code, const CertificateSubject& machine,
                                   std::chrono::nanoseconds limit) {
  ASSIGN_OR_RETURN(const std::shared_ptr<TlsContext> tls, TlsContext::ForClient({}));
  ASSIGN_OR_RETURN(KeyAndRequest made, MakeSigningRequest(machine));
  v1::Join join;
  join.set_secret(std::string(code.secret.begin(), code.secret.end()));
  join.set_request_pem(made.request_pem);
  std::string authority_pem;
  const auto check = [&](const TlsPeer& server) {
    authority_pem = server.authority_pem;
    return CheckServerByDigest(server, code.authority, NowUnixNs());
  };
  ASSIGN_OR_RETURN(std::string certificate_pem, Asker().Ask(farm, tls, check, std::move(join), limit));
  return Accept(std::move(certificate_pem), std::move(made.key_pem), std::move(authority_pem), machine, farm);
}

StatusOr<MachineIdentity> RenewIdentity(const MachineIdentity& identity, std::chrono::nanoseconds limit) {
  ASSIGN_OR_RETURN(const std::shared_ptr<TlsContext> tls, TlsContext::ForClient(identity.own));
  ASSIGN_OR_RETURN(const CertificateFacts facts, identity.Facts());
  ASSIGN_OR_RETURN(KeyAndRequest made, MakeSigningRequest(facts.subject));
  v1::Renew renew;
  renew.set_request_pem(made.request_pem);
  const auto check = [&](const TlsPeer& server) {
    return CheckServer(server, identity.authority_pem, identity.own.certificate_pem, NowUnixNs());
  };
  ASSIGN_OR_RETURN(std::string certificate_pem, Asker().Ask(identity.farm, tls, check, std::move(renew), limit));
  return Accept(std::move(certificate_pem), std::move(made.key_pem), identity.authority_pem, facts.subject,
                identity.farm);
}

Status CheckMayDialUnknown(const Endpoint& server, const CertificateSubject& machine, const char* join) {
  if (CheckOpenEndpoint(server).ok()) return OkStatus();
  const std::string_view role = RoleName(machine.role);
  return Unauthenticated(fmt::format(
      "start {} \"{}\": it has joined no farm, so a server on another machine knows nothing of it; make a code there "
      "(lathe invite {}) and join with it ({} HOST:PORT CODE --name {})",
      role, machine.name, role, join, machine.name));
}

int64_t RenewalDueUnixNs(const Validity& validity) {
  return validity.not_before_unix_ns + (validity.not_after_unix_ns - validity.not_before_unix_ns) / 3 * 2;
}

StatusOr<bool> RenewIfDue(const std::string& path, int64_t now_unix_ns, std::chrono::nanoseconds limit) {
  ASSIGN_OR_RETURN(const MachineIdentity identity, MachineIdentity::Read(path));
  ASSIGN_OR_RETURN(const CertificateFacts facts, identity.Facts());
  if (now_unix_ns < RenewalDueUnixNs(facts.validity)) return false;
  RETURN_IF_ERROR(identity.Write(path));  // What cannot be kept is not asked for: a farm signs a few times only.
  ASSIGN_OR_RETURN(const MachineIdentity renewed, RenewIdentity(identity, limit));
  RETURN_IF_ERROR(renewed.Write(path));
  return true;
}

IdentityKeeper::IdentityKeeper(std::string path, std::function<void(std::string)> log)
    : path_(std::move(path)), log_(std::move(log)), thread_([this] { Keep(); }) {}

IdentityKeeper::~IdentityKeeper() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// A day's rest between two looks: what wakes a board so seldom costs nothing, and a clock that was set is noticed.
void IdentityKeeper::Keep() {
  constexpr auto kRest = std::chrono::hours(24), kRestAfterFailure = std::chrono::hours(1);
  for (std::unique_lock lock(mutex_); !is_over_;) {
    lock.unlock();
    const StatusOr<bool> renewed = RenewIfDue(path_, NowUnixNs(), std::chrono::seconds(20));
    lock.lock();
    if (!renewed.ok()) log_(renewed.status().message() + "; trying again in an hour");
    if (renewed.ok() && *renewed) log_("this machine has a new certificate");
    changed_.wait_for(lock, renewed.ok() ? kRest : kRestAfterFailure, [this] { return is_over_; });
  }
}

}  // namespace lathe
