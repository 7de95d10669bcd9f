// libFuzzer: any text is a signing request, a certificate, a code or token, or an error; what was read is in the
// limits.
#include <algorithm>

#include "support/certificate.h"
#include "support/credential.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const StatusOr<CertificateSubject> subject = ReadSigningRequest(text); subject.ok())
    CHECK(IsFarmName(subject->name)) << subject->name;
  if (const StatusOr<CertificateFacts> facts = ReadCertificate(text); facts.ok()) {
    CHECK(IsFarmName(facts->subject.name)) << facts->subject.name;
    CHECK(facts->serial != CertificateSerial{}) << "serial number 0";
    (void)VerifyCertificate(text, text, facts->subject.role, facts->validity.not_before_unix_ns).ok();
  }
  if (const StatusOr<InvitationCode> code = ParseInvitationCode(text); code.ok())
    CHECK(*ParseInvitationCode(FormatInvitationCode(*code)) == *code) << "another code";
  if (const StatusOr<AccessToken> token = ParseToken(text); token.ok())
    CHECK(*ParseToken(FormatToken(*token)) == *token) << "another token";
  return 0;
}
