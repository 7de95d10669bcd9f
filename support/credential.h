// What people copy from one machine to another: the code of an invitation, and a token. Both have a check at their
// end, so that a slip of the hand is told from a code or token that is not known. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/digest.h"
#include "support/status.h"

namespace lathe {

// Lets one machine join: 16 random bytes, and which authority it will find. The Store keeps Sha256 of the secret.
struct InvitationCode {
  std::array<uint8_t, 16> secret{};
  Digest authority;  // CertificateDigest.
  Digest SecretDigest() const;
  bool operator==(const InvitationCode&) const = default;
};
// Groups of letters and digits with dashes between; none of them is taken for another. Case, dashes and blanks do not
// count.
std::string FormatInvitationCode(const InvitationCode& code);
StatusOr<InvitationCode> ParseInvitationCode(std::string_view text);

// Says who a person is: 32 random bytes. The Store keeps Sha256 of them.
struct AccessToken {
  std::array<uint8_t, 32> secret{};
  Digest SecretDigest() const;
  bool operator==(const AccessToken&) const = default;
};
std::string FormatToken(const AccessToken& token);  // "lathe_" and 58 letters and digits.
StatusOr<AccessToken> ParseToken(std::string_view text);

// Fills with bytes that nobody can guess (getrandom).
void DrawSecret(uint8_t* bytes, size_t size);
template <size_t N>
std::array<uint8_t, N> DrawSecret() {
  std::array<uint8_t, N> bytes;
  DrawSecret(bytes.data(), N);
  return bytes;
}

}  // namespace lathe
