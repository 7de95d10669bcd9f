// SHA-256 digests: the names of workloads, traces and blobs.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/status.h"

namespace lathe {

struct Digest {
  std::array<uint8_t, 32> bytes{};
  std::string ToHex() const;  // 64 lower-case digits.
  // Accepts exactly 64 hex digits of either case.
  static StatusOr<Digest> FromHex(std::string_view hex);
  static StatusOr<Digest> FromBytes(std::string_view raw);  // Exactly 32 bytes.
  std::string_view raw() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  auto operator<=>(const Digest&) const = default;
};

struct DigestHash {
  size_t operator()(const Digest& digest) const;
};

Digest Sha256(std::string_view data);

// For data that comes in pieces. Not thread-safe.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;
  void Update(std::string_view data);
  Digest Finish();  // Once, last.

 private:
  void* context_;
};

}  // namespace lathe
