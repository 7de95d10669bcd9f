#include "support/digest.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <cstring>

namespace lathe {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Digest::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

StatusOr<Digest> Digest::FromHex(std::string_view hex) {
  if (hex.size() != 64) {
    return InvalidArgument(
        fmt::format("parse digest \"{}\": {} characters, 64 hex digits required", hex.substr(0, 80), hex.size()));
  }
  Digest digest;
  for (size_t i = 0; i < 32; ++i) {
    const int high = HexValue(hex[2 * i]), low = HexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) return InvalidArgument(fmt::format("parse digest \"{}\": not all hex digits", hex));
    digest.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return digest;
}

StatusOr<Digest> Digest::FromBytes(std::string_view raw) {
  if (raw.size() != 32) return InvalidArgument(fmt::format("read digest: {} bytes, 32 required", raw.size()));
  Digest digest;
  std::memcpy(digest.bytes.data(), raw.data(), 32);
  return digest;
}

size_t DigestHash::operator()(const Digest& digest) const {
  size_t value;
  std::memcpy(&value, digest.bytes.data(), sizeof value);
  return value;
}

Digest Sha256(std::string_view data) {
  Sha256Stream stream;
  stream.Update(data);
  return stream.Finish();
}

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  CHECK(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1) << "SHA-256 is unavailable";
}
Sha256Stream::~Sha256Stream() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }
void Sha256Stream::Update(std::string_view data) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), data.data(), data.size());
}
Digest Sha256Stream::Finish() {
  Digest digest;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.bytes.data(), nullptr);
  return digest;
}

}  // namespace lathe
