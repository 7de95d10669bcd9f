#include "tuner/service/identity_service.h"

namespace lathe {

grpc::ServerUnaryReactor* IdentityService::Invite(grpc::CallbackServerContext* context,
                                                  const v1::InviteRequest* request, v1::InviteResponse* response) {
  return AnswerUnary(parts_, "IdentityService/Invite", context, response,
                     [request](CoreApi& api) { return api.Invite(*request); });
}

grpc::ServerUnaryReactor* IdentityService::ListInvitations(grpc::CallbackServerContext* context,
                                                           const v1::ListInvitationsRequest* request,
                                                           v1::ListInvitationsResponse* response) {
  return AnswerUnary(parts_, "IdentityService/ListInvitations", context, response,
                     [request](CoreApi& api) { return api.ListInvitations(*request); });
}

grpc::ServerUnaryReactor* IdentityService::ListCertificates(grpc::CallbackServerContext* context,
                                                            const v1::ListCertificatesRequest* request,
                                                            v1::ListCertificatesResponse* response) {
  return AnswerUnary(parts_, "IdentityService/ListCertificates", context, response,
                     [request](CoreApi& api) { return api.ListCertificates(*request); });
}

grpc::ServerUnaryReactor* IdentityService::RevokeCertificates(grpc::CallbackServerContext* context,
                                                              const v1::RevokeCertificatesRequest* request,
                                                              v1::RevokeCertificatesResponse* response) {
  return AnswerUnary(parts_, "IdentityService/RevokeCertificates", context, response,
                     [request](CoreApi& api) { return api.RevokeCertificates(*request); });
}

grpc::ServerUnaryReactor* IdentityService::CreateToken(grpc::CallbackServerContext* context,
                                                       const v1::CreateTokenRequest* request,
                                                       v1::CreateTokenResponse* response) {
  return AnswerUnary(parts_, "IdentityService/CreateToken", context, response,
                     [request](CoreApi& api) { return api.CreateToken(*request); });
}

grpc::ServerUnaryReactor* IdentityService::ListTokens(grpc::CallbackServerContext* context,
                                                      const v1::ListTokensRequest* request,
                                                      v1::ListTokensResponse* response) {
  return AnswerUnary(parts_, "IdentityService/ListTokens", context, response,
                     [request](CoreApi& api) { return api.ListTokens(*request); });
}

grpc::ServerUnaryReactor* IdentityService::RevokeToken(grpc::CallbackServerContext* context,
                                                       const v1::RevokeTokenRequest* request,
                                                       v1::RevokeTokenResponse* response) {
  return AnswerUnary(parts_, "IdentityService/RevokeToken", context, response,
                     [request](CoreApi& api) { return api.RevokeToken(*request); });
}

}  // namespace lathe
