#include "support/credential.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/status_macros.h"

namespace lathe {
namespace {

// Crockford's base 32: without i, l, o and u.
constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr size_t kCheckBytes = 4, kGroup = 6;
constexpr std::string_view kTokenPrefix = "lathe_";

// -1: no such letter. Those that look alike count as one.
int Value(char c) {
  if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (c == 'o') c = '0';
  if (c == 'i' || c == 'l') c = '1';
  const size_t at = kAlphabet.find(c);
  return at == kAlphabet.npos ? -1 : static_cast<int>(at);
}

bool IsBetween(char c) { return c == '-' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string Encode(std::string_view bytes) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(byte);
    for (count += 8; count >= 5; count -= 5) text += kAlphabet[bits >> (count - 5) & 31];
  }
  if (count > 0) text += kAlphabet[bits << (5 - count) & 31];
  return text;
}

// In one form for each letter; '?' for what is none.
std::string Letters(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (IsBetween(c)) continue;
    const int value = Value(c);
    letters += value < 0 ? '?' : kAlphabet[static_cast<size_t>(value)];
  }
  return letters;
}

// Whole bytes; what is left of the last letter is not looked at.
std::string Decode(std::string_view letters) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : letters) {
    bits = bits << 5 | static_cast<uint32_t>(Value(c));
    if ((count += 5) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  return bytes;
}

std::string Check(std::string_view bytes) { return std::string(Sha256(bytes).raw().substr(0, kCheckBytes)); }

std::string Seal(std::string_view bytes) { return Encode(std::string(bytes) + Check(bytes)); }

// The `size` bytes that were sealed; `what` begins the error and never shows the text: it is a secret.
StatusOr<std::string> Unseal(std::string_view what, std::string_view text, size_t size) {
  const std::string letters = Letters(text);
  const size_t required = ((size + kCheckBytes) * 8 + 4) / 5;
  if (letters.find('?') != letters.npos)
    return InvalidArgument(fmt::format("{}: it has characters that none has; copy it again", what));
  if (letters.size() != required) {
    return InvalidArgument(
        fmt::format("{}: {} letters and digits, {} required; copy it again", what, letters.size(), required));
  }
  const std::string bytes = Decode(letters).substr(0, size);
  if (Seal(bytes) != letters) return InvalidArgument(fmt::format("{}: a letter is mistyped; copy it again", what));
  return bytes;
}

template <size_t N>
std::string_view View(const std::array<uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), N};
}

}  // namespace

Digest InvitationCode::SecretDigest() const { return Sha256(View(secret)); }
Digest AccessToken::SecretDigest() const { return Sha256(View(secret)); }

std::string FormatInvitationCode(const InvitationCode& code) {
  const std::string letters = Seal(std::string(View(code.secret)) + std::string(code.authority.raw()));
  std::string text;
  for (size_t at = 0; at < letters.size(); at += kGroup) text += (at == 0 ? "" : "-") + letters.substr(at, kGroup);
  return text;
}

StatusOr<InvitationCode> ParseInvitationCode(std::string_view text) {
  InvitationCode code;
  const size_t size = code.secret.size();
  ASSIGN_OR_RETURN(const std::string bytes, Unseal("read invitation code", text, size + code.authority.bytes.size()));
  std::memcpy(code.secret.data(), bytes.data(), size);
  std::memcpy(code.authority.bytes.data(), bytes.data() + size, code.authority.bytes.size());
  return code;
}

std::string FormatToken(const AccessToken& token) { return std::string(kTokenPrefix) + Seal(View(token.secret)); }

StatusOr<AccessToken> ParseToken(std::string_view text) {
  while (!text.empty() && IsBetween(text.back())) text.remove_suffix(1);
  if (!text.starts_with(kTokenPrefix)) {
    return InvalidArgument(fmt::format(
        "read token: it does not begin with \"{}\"; copy all that `lathe token create` printed", kTokenPrefix));
  }
  AccessToken token;
  ASSIGN_OR_RETURN(const std::string bytes,
                   Unseal("read token", text.substr(kTokenPrefix.size()), token.secret.size()));
  std::memcpy(token.secret.data(), bytes.data(), bytes.size());
  return token;
}

void DrawSecret(uint8_t* bytes, size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(bytes, size, 0);
    CHECK(got > 0 || errno == EINTR) << "no random bytes";
    if (got <= 0) continue;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
}

}  // namespace lathe
