#include "runtime/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/error.h"

namespace lathe {
namespace {

template <typename T>
T Load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Each of its own type first: what an int32_t and a uint32_t have in common is unsigned.
template <typename Signed, typename Unsigned>
double LoadInteger(bool is_signed, const void* data, int64_t index) {
  return is_signed ? static_cast<double>(Load<Signed>(data, index)) : static_cast<double>(Load<Unsigned>(data, index));
}

double LoadInteger(DType type, const void* data, int64_t index) {
  const bool is_signed = type.code == DTypeCode::kInt;
  switch (type.bits) {
    case 8:
      return LoadInteger<int8_t, uint8_t>(is_signed, data, index);
    case 16:
      return LoadInteger<int16_t, uint16_t>(is_signed, data, index);
    case 32:
      return LoadInteger<int32_t, uint32_t>(is_signed, data, index);
    default:
      return LoadInteger<int64_t, uint64_t>(is_signed, data, index);
  }
}

}  // namespace

bool DType::is_supported() const {
  if (lanes == 0) return false;
  switch (code) {
    case DTypeCode::kInt:
    case DTypeCode::kUInt:
      return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    case DTypeCode::kFloat:
      return bits == 16 || bits == 32 || bits == 64;
    case DTypeCode::kBFloat:
      return bits == 16;
    case DTypeCode::kBool:
      return bits == 8;
  }
  return false;
}

double DType::epsilon() const {
  if (code == DTypeCode::kBFloat) return 0x1p-7;
  if (code != DTypeCode::kFloat) return 0;
  return bits == 64 ? 0x1p-52 : bits == 32 ? 0x1p-23 : 0x1p-10;
}

std::string DType::Name() const {
  const char* base = "unknown";
  switch (code) {
    case DTypeCode::kInt:
      base = "int";
      break;
    case DTypeCode::kUInt:
      base = "uint";
      break;
    case DTypeCode::kFloat:
      base = "float";
      break;
    case DTypeCode::kBFloat:
      base = "bfloat";
      break;
    case DTypeCode::kBool:
      base = "bool";
      break;
  }
  std::string name = code == DTypeCode::kBool ? base : base + std::to_string(bits);
  return lanes == 1 ? name : name + "x" + std::to_string(lanes);
}

double LoadAsDouble(DType type, const void* data, int64_t index) {
  switch (type.code) {
    case DTypeCode::kFloat:
      if (type.bits == 64) return Load<double>(data, index);
      return type.bits == 32 ? Load<float>(data, index) : HalfToFloat(Load<uint16_t>(data, index));
    case DTypeCode::kBFloat:
      return std::bit_cast<float>(static_cast<uint32_t>(Load<uint16_t>(data, index)) << 16);
    case DTypeCode::kBool:
      return Load<uint8_t>(data, index);
    default:
      return LoadInteger(type, data, index);
  }
}

float HalfToFloat(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

uint16_t FloatToHalf(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // Halfway between the largest half and 2^16.
  if (magnitude < 0x1p-14f) return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  const auto mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));  // [1024, 2048]
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + mantissa - 1024);  // 2048 carries into the exponent.
}

}  // namespace lathe
