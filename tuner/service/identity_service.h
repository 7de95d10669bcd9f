// IdentityService on the wire. For the gRPC shells only.
#pragma once

#include "proto/lathe/v1/identity.grpc.pb.h"
#include "tuner/service/unary_call.h"

namespace lathe {

class IdentityService : public v1::IdentityService::CallbackService {
 public:
  explicit IdentityService(const ServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* Invite(grpc::CallbackServerContext* context, const v1::InviteRequest* request,
                                   v1::InviteResponse* response) override;
  grpc::ServerUnaryReactor* ListInvitations(grpc::CallbackServerContext* context,
                                            const v1::ListInvitationsRequest* request,
                                            v1::ListInvitationsResponse* response) override;
  grpc::ServerUnaryReactor* ListCertificates(grpc::CallbackServerContext* context,
                                             const v1::ListCertificatesRequest* request,
                                             v1::ListCertificatesResponse* response) override;
  grpc::ServerUnaryReactor* RevokeCertificates(grpc::CallbackServerContext* context,
                                               const v1::RevokeCertificatesRequest* request,
                                               v1::RevokeCertificatesResponse* response) override;
  grpc::ServerUnaryReactor* CreateToken(grpc::CallbackServerContext* context, const v1::CreateTokenRequest* request,
                                        v1::CreateTokenResponse* response) override;
  grpc::ServerUnaryReactor* ListTokens(grpc::CallbackServerContext* context, const v1::ListTokensRequest* request,
                                       v1::ListTokensResponse* response) override;
  grpc::ServerUnaryReactor* RevokeToken(grpc::CallbackServerContext* context, const v1::RevokeTokenRequest* request,
                                        v1::RevokeTokenResponse* response) override;

 private:
  const ServiceParts& parts_;
};

}  // namespace lathe
