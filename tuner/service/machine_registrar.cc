#include "tuner/service/machine_registrar.h"

#include <fmt/format.h>

#include "rpc/machine_identity.h"
#include "support/credential.h"
#include "support/status_macros.h"

namespace lathe {

StatusOr<std::unique_ptr<MachineRegistrar>> MachineRegistrar::Make(Store& store, const std::string& database,
                                                                   Clock& clock) {
  ASSIGN_OR_RETURN(Authority authority, ReadAuthorityBeside(database));
  std::unique_ptr<MachineRegistrar> made(new MachineRegistrar(store, database, std::move(authority), clock));
  RETURN_IF_ERROR(made->RenewServerCertificateIfDue());
  RETURN_IF_ERROR(made->UseServerCertificate());
  return made;
}

Status MachineRegistrar::UseServerCertificate() {
  ASSIGN_OR_RETURN(context_, TlsContext::ForServer(authority_.server, authority_.authority.certificate_pem));
  return OkStatus();
}

Status MachineRegistrar::RenewServerCertificateIfDue() {
  ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(authority_.server.certificate_pem));
  if (clock_.UnixNanos() < RenewalDueUnixNs(facts.validity)) return OkStatus();
  ASSIGN_OR_RETURN(authority_.server, RenewServerCertificate(database_, authority_, clock_.UnixNanos()));
  return UseServerCertificate();
}

// What cannot be renewed now is shown as it is, and tried again for the next who asks.
std::shared_ptr<TlsContext> MachineRegistrar::Context() {
  const Status status = RenewServerCertificateIfDue();
  if (!status.ok()) OnRefused("this server", "renew its certificate: " + status.message());
  return context_;
}

void MachineRegistrar::OnRefused(const std::string& address, const std::string& why) {
  if (const auto words = limit_.Admit(fmt::format("from {}: {}", address, why), clock_.Now()))
    (void)store_.RecordRefusal(*words);
}

StatusOr<CertificateFacts> MachineRegistrar::Identify(const std::string& certificate_pem) {
  ASSIGN_OR_RETURN(const CertificateFacts claimed, ReadCertificate(certificate_pem));
  ASSIGN_OR_RETURN(const CertificateFacts facts,
                   VerifyCertificate(authority_.authority.certificate_pem, certificate_pem, claimed.subject.role,
                                     clock_.UnixNanos()));
  RETURN_IF_ERROR(CheckStanding(facts));
  return facts;
}

Status MachineRegistrar::CheckStanding(const CertificateFacts& machine) {
  ASSIGN_OR_RETURN(const std::optional<CertificateRow> row, store_.FindCertificate(machine.serial));
  if (row.has_value() && row->standing == Standing::kInForce) return OkStatus();
  return Unauthenticated(fmt::format(
      "certificate {} of {} \"{}\": {}; ask for an invitation (lathe invite {}) and join again", machine.serial.ToHex(),
      RoleName(machine.subject.role), machine.subject.name,
      row.has_value() ? StandingName(row->standing) : "this farm does not know it", RoleName(machine.subject.role)));
}

StatusOr<MachineRegistrar::Order> MachineRegistrar::Sign(const CertificateSubject& subject,
                                                         const std::string& request_pem) const {
  if (subject.role != Role::kDevice && subject.role != Role::kWorker)
    return PermissionDenied(
        fmt::format("sign certificate: machines join as device or worker, not as {}", RoleName(subject.role)));
  if (subject.name == kServerHost)
    return PermissionDenied(
        fmt::format("sign certificate: \"{}\" is the server's own name; choose another", kServerHost));
  ASSIGN_OR_RETURN(const Validity validity, ValidityFrom(clock_.UnixNanos(), authority_));
  Order order{.row = {.serial = DrawSerial(), .subject = subject, .validity = validity}};
  ASSIGN_OR_RETURN(order.certificate_pem,
                   SignCertificate(authority_.authority, request_pem,
                                   {.serial = order.row.serial, .validity = validity, .hosts = {}}));
  return order;
}

StatusOr<std::string> MachineRegistrar::Join(const v1::Join& join) {
  InvitationCode code;
  if (join.secret().size() != code.secret.size())
    return InvalidArgument(
        fmt::format("join: a code of {} bytes, {} required", join.secret().size(), code.secret.size()));
  std::copy(join.secret().begin(), join.secret().end(), code.secret.begin());
  ASSIGN_OR_RETURN(const CertificateSubject subject, ReadSigningRequest(join.request_pem()));
  ASSIGN_OR_RETURN(const Order order, Sign(subject, join.request_pem()));
  RETURN_IF_ERROR(store_.TakeInvitation(code.SecretDigest(), order.row).status());
  return order.certificate_pem;
}

StatusOr<std::string> MachineRegistrar::Renew(const CertificateFacts& machine, const std::string& request_pem) {
  ASSIGN_OR_RETURN(const CertificateSubject subject, ReadSigningRequest(request_pem));
  if (subject != machine.subject)
    return PermissionDenied(fmt::format("renew certificate: asked for {} \"{}\" with the certificate of {} \"{}\"",
                                        RoleName(subject.role), subject.name, RoleName(machine.subject.role),
                                        machine.subject.name));
  ASSIGN_OR_RETURN(const Order order, Sign(subject, request_pem));
  RETURN_IF_ERROR(store_.RenewCertificate(machine.serial, order.row).status());
  return order.certificate_pem;
}

}  // namespace lathe
