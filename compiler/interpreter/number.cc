#include "compiler/interpreter/number.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/ir/integer.h"

namespace lathe {
namespace {

// A binary float format narrower than float32.
struct NarrowFormat {
  int mantissa_bits;  // With the hidden one.
  int exponent_bits;
  int min_exponent;  // Of the smallest subnormal number.
  double max_finite;
};
constexpr NarrowFormat kFloat16{11, 5, -24, 65504.0};
constexpr NarrowFormat kBFloat16{8, 8, -133, 3.3895313892515355e38};

double RoundToFormat(const NarrowFormat& format, double value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent;
  std::frexp(value, &exponent);
  const int ulp = std::max(exponent - format.mantissa_bits, format.min_exponent);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -ulp)), ulp);
  if (std::fabs(rounded) > format.max_finite) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

uint16_t EncodeNarrow(const NarrowFormat& format, double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int fraction_bits = format.mantissa_bits - 1;
  const uint16_t infinity = static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << fraction_bits);
  if (std::isnan(value)) return sign | infinity | static_cast<uint16_t>(1 << (fraction_bits - 1));
  const double magnitude = std::fabs(RoundToFormat(format, value));
  if (std::isinf(magnitude)) return sign | infinity;
  const double in_ulps = std::ldexp(magnitude, -format.min_exponent);  // Of the subnormal range.
  if (in_ulps < (1 << fraction_bits)) return sign | static_cast<uint16_t>(in_ulps);
  int exponent;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  const int biased = exponent - format.min_exponent - fraction_bits;
  const int mantissa = static_cast<int>(std::ldexp(fraction, format.mantissa_bits)) - (1 << fraction_bits);
  return sign | static_cast<uint16_t>(biased << fraction_bits) | static_cast<uint16_t>(mantissa);
}

double DecodeNarrow(const NarrowFormat& format, uint16_t bits) {
  const int fraction_bits = format.mantissa_bits - 1;
  const int biased = (bits & 0x7fff) >> fraction_bits;
  const int mantissa = bits & ((1 << fraction_bits) - 1);
  double magnitude;
  if (biased == (1 << format.exponent_bits) - 1) {
    magnitude = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (biased == 0) {
    magnitude = std::ldexp(mantissa, format.min_exponent);
  } else {
    magnitude = std::ldexp(mantissa + (1 << fraction_bits), format.min_exponent + biased - 1);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

FloatRounding::FloatRounding(DataType dtype) {
  kind_ = dtype.code == DataType::Code::kBFloat ? Kind::kBFloat16
          : dtype.bits == 16                    ? Kind::kFloat16
          : dtype.bits == 32                    ? Kind::kFloat32
                                                : Kind::kNone;
}

double FloatRounding::RoundNarrow(double value) const {
  return RoundToFormat(kind_ == Kind::kFloat16 ? kFloat16 : kBFloat16, value);
}

uint64_t ToBits(DataType dtype, Value value) {
  if (dtype.code == DataType::Code::kBFloat) return EncodeNarrow(kBFloat16, value.f);
  if (dtype.code == DataType::Code::kFloat) {
    if (dtype.bits == 64) return std::bit_cast<uint64_t>(value.f);
    if (dtype.bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(value.f));
    return EncodeNarrow(kFloat16, value.f);
  }
  return static_cast<uint64_t>(WrapToWidth(value.i, dtype.bits, /*is_signed=*/false));
}

Value FromBits(DataType dtype, uint64_t bits) {
  if (dtype.code == DataType::Code::kBFloat) return {.f = DecodeNarrow(kBFloat16, static_cast<uint16_t>(bits))};
  if (dtype.code == DataType::Code::kFloat) {
    if (dtype.bits == 64) return {.f = std::bit_cast<double>(bits)};
    if (dtype.bits == 32) return {.f = std::bit_cast<float>(static_cast<uint32_t>(bits))};
    return {.f = DecodeNarrow(kFloat16, static_cast<uint16_t>(bits))};
  }
  if (dtype.is_bool()) return {.i = (bits & 0xff) != 0};
  return {.i = WrapToWidth(static_cast<int64_t>(bits), dtype.bits, dtype.is_signed_int())};
}

Value LoadElement(DataType dtype, const std::byte* bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, dtype.element().bytes());  // Little-endian, as every supported target is.
  return FromBits(dtype, bits);
}

void StoreElement(DataType dtype, Value value, std::byte* bytes) {
  const uint64_t bits = ToBits(dtype, value);
  std::memcpy(bytes, &bits, dtype.element().bytes());
}

int64_t FloatToInt(DataType dtype, double value) {
  if (std::isnan(value)) return 0;
  const double whole = std::trunc(value);
  if (dtype.code == DataType::Code::kUInt) {
    if (whole <= 0) return 0;
    if (whole >= std::ldexp(1.0, dtype.bits)) return WrapToWidth(-1, dtype.bits, false);
    return static_cast<int64_t>(static_cast<uint64_t>(whole));
  }
  const double limit = std::ldexp(1.0, dtype.bits - 1);
  if (whole >= limit) return static_cast<int64_t>((uint64_t{1} << (dtype.bits - 1)) - 1);
  if (whole < -limit) return WrapToWidth(static_cast<int64_t>(uint64_t{1} << (dtype.bits - 1)), dtype.bits, true);
  return static_cast<int64_t>(whole);
}

double IntToFloat(DataType dtype, int64_t value) {
  const bool is_wide_unsigned = dtype.code == DataType::Code::kUInt && dtype.bits == 64;
  return is_wide_unsigned ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

}  // namespace lathe
