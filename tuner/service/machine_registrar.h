// Takes machines into the farm, and knows them again: a farm's authority and the Store's rows of certificates as what
// the device gateway asks (docs/decisions/0061-identity.md).
#pragma once

#include <memory>
#include <string>

#include "rpc/gateway/device_gateway.h"
#include "support/clock.h"
#include "tuner/database/store.h"
#include "tuner/service/authority.h"
#include "tuner/service/call_guard.h"

namespace lathe {

// Belongs to the gateway's thread. Refusals become events, within limits.
class MachineRegistrar : public MachineAuthenticator {
 public:
  // With the authority beside `database`; `store`, which serves it, and `clock` outlive this. Errors are
  // ReadAuthorityBeside's.
  static StatusOr<std::unique_ptr<MachineRegistrar>> Make(Store& store, const std::string& database,
                                                          Clock& clock = SystemClock());

  // Signs a new certificate for the server when two thirds of the time of the present one are over.
  std::shared_ptr<TlsContext> Context() override;
  StatusOr<CertificateFacts> Identify(const std::string& certificate_pem) override;
  Status CheckStanding(const CertificateFacts& machine) override;
  StatusOr<std::string> Join(const v1::Join& join) override;
  StatusOr<std::string> Renew(const CertificateFacts& machine, const std::string& request_pem) override;
  void OnRefused(const std::string& address, const std::string& why) override;

 private:
  MachineRegistrar(Store& store, std::string database, Authority authority, Clock& clock)
      : store_(store), database_(std::move(database)), authority_(std::move(authority)), clock_(clock) {}
  Status UseServerCertificate();
  Status RenewServerCertificateIfDue();
  struct Order {
    std::string certificate_pem;
    NewCertificate row;
  };
  StatusOr<Order> Sign(const CertificateSubject& subject, const std::string& request_pem) const;

  Store& store_;
  const std::string database_;
  Authority authority_;
  Clock& clock_;
  std::shared_ptr<TlsContext> context_;
  RefusalLimit limit_;
};

}  // namespace lathe
