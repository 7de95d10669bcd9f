#include "tuner/service/call_guard.h"

#include <fmt/format.h>

#include "rpc/permissions.h"
#include "support/credential.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr const char* kGetAToken = "`lathe token create --user USER --role ROLE` beside the server gives one";

Status NotInForce(std::string_view rpc, std::string_view what, Standing standing, std::string_view next) {
  return Unauthenticated(fmt::format("{}: the {} is {}; {}", rpc, what, StandingName(standing), next));
}

}  // namespace

std::optional<std::string> RefusalLimit::Admit(std::string_view words, TimePoint now) {
  std::string text(words);
  if (!minute_.has_value() || now - *minute_ >= std::chrono::minutes(1)) {
    if (left_out_ > 0) text += fmt::format(" (before it, {} refusals were left out)", left_out_);
    minute_ = now;
    written_ = 0;
    left_out_ = 0;
  }
  if (++written_ <= kPerMinute) return text;
  ++left_out_;
  return std::nullopt;
}

bool CallGuard::IsOurOwn(const CallFacts& facts) const {
  return !requires_identity_ || facts.peer.starts_with("unix:");
}

StatusOr<Principal> CallGuard::IdentifyPerson(std::string_view authorization, std::string_view rpc) {
  if (!authorization.starts_with(kScheme))
    return Unauthenticated(fmt::format("{}: the authorization is no bearer token; {}", rpc, kGetAToken));
  const StatusOr<AccessToken> token = ParseToken(authorization.substr(kScheme.size()));
  if (!token.ok()) return Unauthenticated(fmt::format("{}: {}", rpc, token.status().message()));
  ASSIGN_OR_RETURN(const std::optional<TokenRow> row, store_.FindToken(token->SecretDigest()));
  if (!row.has_value())
    return Unauthenticated(fmt::format("{}: this farm does not know the token; {}", rpc, kGetAToken));
  if (row->standing != Standing::kInForce)
    return NotInForce(rpc, fmt::format("token of \"{}\"", row->user), row->standing, kGetAToken);
  return Principal{row->role, row->user};
}

StatusOr<Principal> CallGuard::IdentifyMachine(const CertificateFacts& certificate, std::string_view rpc) {
  const CertificateSubject& subject = certificate.subject;
  const std::string next = fmt::format("`lathe invite {}` beside the server lets it join", RoleName(subject.role));
  ASSIGN_OR_RETURN(const std::optional<CertificateRow> row, store_.FindCertificate(certificate.serial));
  if (!row.has_value() || row->subject != subject) {
    return Unauthenticated(fmt::format("{}: this farm does not know the certificate of {} \"{}\"; {}", rpc,
                                       RoleName(subject.role), subject.name, next));
  }
  if (row->standing != Standing::kInForce) {
    return NotInForce(rpc, fmt::format("certificate of {} \"{}\"", RoleName(subject.role), subject.name), row->standing,
                      next);
  }
  return Principal{subject.role, subject.name};
}

// A person's token counts more than the certificate of the machine that they sit at.
StatusOr<Principal> CallGuard::Identify(const CallFacts& facts, std::string_view rpc) {
  if (IsOurOwn(facts)) return Principal{};
  if (!facts.authorization.empty()) return IdentifyPerson(facts.authorization, rpc);
  if (facts.certificate.has_value()) return IdentifyMachine(*facts.certificate, rpc);
  return Unauthenticated(
      fmt::format("{}: this server wants to know who asks; set LATHE_TOKEN, or --token-file: {}", rpc, kGetAToken));
}

StatusOr<Principal> CallGuard::Admit(const CallFacts& facts, std::string_view rpc) {
  StatusOr<Principal> principal = Identify(facts, rpc);
  if (!principal.ok()) return Refuse(facts, principal.status());
  if (const Status may = CheckMayCall(principal->role, rpc); !may.ok())
    return Refuse(facts, may.WithContext(principal->ToString()));
  return principal;
}

// An answer that the Store failed to give is no refusal, and a refusal that it failed to note is one.
Status CallGuard::Refuse(const CallFacts& facts, const Status& why) {
  if (why.code() != StatusCode::kUnauthenticated && why.code() != StatusCode::kPermissionDenied) return why;
  std::optional<std::string> words;
  {
    const std::lock_guard lock(mutex_);
    words = limit_.Admit(fmt::format("{}: {}", facts.peer, why.message()), clock_.Now());
  }
  if (words.has_value()) (void)store_.RecordRefusal(*words);
  return why;
}

Status CheckActsFor(const Principal& principal, std::string_view name) {
  const bool is_machine = principal.role == Role::kWorker || principal.role == Role::kDevice;
  if (!is_machine || principal.name == name) return OkStatus();
  return PermissionDenied(fmt::format("{} \"{}\" speaks for \"{}\"; a certificate acts for its own name only",
                                      RoleName(principal.role), principal.name, std::string(name.substr(0, 80))));
}

}  // namespace lathe
