// CoreApi's IdentityApi.
#include <fmt/format.h>

#include "support/status_macros.h"
#include "tuner/service/core_api.h"
#include "tuner/service/request_fields.h"
#include "tuner/service/row_messages.h"

namespace lathe {
namespace {

StatusOr<Role> ReadRoleField(const std::string& text) {
  ASSIGN_OR_RETURN(const std::string name, ReadName("role", text, 64));
  if (const std::optional<Role> role = ParseRole(name)) return *role;
  return InvalidArgument(fmt::format(
      "role \"{}\": no such role; viewer, submitter and admin are people's, device and worker machines'", name));
}

// Fills `rows` and, unless that is all, the token of the next page.
template <typename Row, typename Response, typename Add>
void FillPage(const std::vector<Row>& rows, int limit, Response& response, const Add& add) {
  for (size_t i = 0; i < rows.size() && i < static_cast<size_t>(limit); ++i) add(response) = ToMessage(rows[i]);
  if (rows.size() > static_cast<size_t>(limit))
    response.set_next_page_token(PageToken(rows[static_cast<size_t>(limit) - 1].id));
}

}  // namespace

StatusOr<v1::InviteResponse> CoreApi::Invite(const v1::InviteRequest& request) {
  NewInvitation invitation{.name = request.name(), .valid = Duration(request.valid_ns())};
  ASSIGN_OR_RETURN(invitation.code, ReadDigest("code_digest", request.code_digest()));
  ASSIGN_OR_RETURN(invitation.role, ReadRoleField(request.role()));
  ASSIGN_OR_RETURN(const InvitationRow row, core_.store().Invite(invitation, principal_.ToString()));
  v1::InviteResponse response;
  *response.mutable_invitation() = ToMessage(row);
  return response;
}

StatusOr<v1::ListInvitationsResponse> CoreApi::ListInvitations(const v1::ListInvitationsRequest& request) {
  ASSIGN_OR_RETURN(const Page page, ReadPage(request.page_size(), request.page_token()));
  ASSIGN_OR_RETURN(const std::vector<InvitationRow> rows,
                   core_.store().ListInvitations({page.after_id, page.limit + 1}));
  v1::ListInvitationsResponse response;
  FillPage(rows, page.limit, response, [](auto& to) -> v1::Invitation& { return *to.add_invitations(); });
  return response;
}

StatusOr<v1::ListCertificatesResponse> CoreApi::ListCertificates(const v1::ListCertificatesRequest& request) {
  ASSIGN_OR_RETURN(const Page page, ReadPage(request.page_size(), request.page_token()));
  ASSIGN_OR_RETURN(const std::vector<CertificateRow> rows,
                   core_.store().ListCertificates({page.after_id, page.limit + 1}));
  v1::ListCertificatesResponse response;
  FillPage(rows, page.limit, response, [](auto& to) -> v1::Certificate& { return *to.add_certificates(); });
  return response;
}

StatusOr<v1::RevokeCertificatesResponse> CoreApi::RevokeCertificates(const v1::RevokeCertificatesRequest& request) {
  ASSIGN_OR_RETURN(const CertificateSerial serial, CertificateSerial::FromBytes(request.serial()));
  ASSIGN_OR_RETURN(const std::vector<CertificateRow> rows,
                   core_.store().RevokeCertificates(serial, principal_.ToString()));
  v1::RevokeCertificatesResponse response;
  for (const CertificateRow& row : rows) *response.add_certificates() = ToMessage(row);
  return response;
}

StatusOr<v1::CreateTokenResponse> CoreApi::CreateToken(const v1::CreateTokenRequest& request) {
  NewToken token{.user = request.user(), .valid = Duration(request.valid_ns())};
  ASSIGN_OR_RETURN(token.secret, ReadDigest("secret_digest", request.secret_digest()));
  ASSIGN_OR_RETURN(token.role, ReadRoleField(request.role()));
  ASSIGN_OR_RETURN(const TokenRow row, core_.store().CreateToken(token, principal_.ToString()));
  v1::CreateTokenResponse response;
  *response.mutable_token() = ToMessage(row);
  return response;
}

StatusOr<v1::ListTokensResponse> CoreApi::ListTokens(const v1::ListTokensRequest& request) {
  ASSIGN_OR_RETURN(const Page page, ReadPage(request.page_size(), request.page_token()));
  ASSIGN_OR_RETURN(const std::vector<TokenRow> rows, core_.store().ListTokens({page.after_id, page.limit + 1}));
  v1::ListTokensResponse response;
  FillPage(rows, page.limit, response, [](auto& to) -> v1::Token& { return *to.add_tokens(); });
  return response;
}

StatusOr<v1::RevokeTokenResponse> CoreApi::RevokeToken(const v1::RevokeTokenRequest& request) {
  ASSIGN_OR_RETURN(const int64_t token_id, ReadId("token_id", request.token_id()));
  ASSIGN_OR_RETURN(const TokenRow row, core_.store().RevokeToken(token_id, principal_.ToString()));
  v1::RevokeTokenResponse response;
  *response.mutable_token() = ToMessage(row);
  return response;
}

}  // namespace lathe
