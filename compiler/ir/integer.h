// Integer arithmetic as TensorIR defines it.
#pragma once

#include <cstdint>
#include <numeric>

namespace lathe {

// The greatest common divisor of any two numbers, 0 of zeros; std::gcd has none for the least int64_t. 1 where it would
// be 2^63.
constexpr int64_t GreatestCommonDivisor(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t x) {
    return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  };
  const uint64_t common = std::gcd(magnitude(a), magnitude(b));
  return common >> 63 != 0 ? 1 : static_cast<int64_t>(common);
}

// Rounds toward minus infinity; b != 0.
constexpr int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
// Has the sign of b; b != 0.
constexpr int64_t FloorModulo(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
// `value` modulo 2^bits, sign- or zero-extended.
constexpr int64_t WrapToWidth(int64_t value, int bits, bool is_signed) {
  if (bits >= 64) return value;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t low = static_cast<uint64_t>(value) & mask;
  const bool negative = is_signed && ((low >> (bits - 1)) & 1) != 0;
  return static_cast<int64_t>(negative ? low | ~mask : low);
}

}  // namespace lathe
