// The type of one tensor element, in DLPack's terms.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

enum class DTypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

struct DType {
  DTypeCode code = DTypeCode::kFloat;
  uint8_t bits = 32;
  uint16_t lanes = 1;

  // True for the types that a host can read and write element by element: int/uint 8..64, float 16..64, bfloat16,
  // bool8.
  bool is_supported() const;
  int64_t bytes() const { return static_cast<int64_t>(bits) / 8 * lanes; }
  bool is_floating() const { return code == DTypeCode::kFloat || code == DTypeCode::kBFloat; }
  // Distance from 1 to the next larger value; 0 for types that are exact.
  double epsilon() const;
  std::string Name() const;  // "float32", "int8x4", "bfloat16", "bool"

  friend bool operator==(const DType&, const DType&) = default;
};

inline constexpr DType kFloat32{DTypeCode::kFloat, 32, 1};
inline constexpr DType kFloat64{DTypeCode::kFloat, 64, 1};
inline constexpr DType kFloat16{DTypeCode::kFloat, 16, 1};
inline constexpr DType kBFloat16{DTypeCode::kBFloat, 16, 1};
inline constexpr DType kInt8{DTypeCode::kInt, 8, 1};
inline constexpr DType kInt32{DTypeCode::kInt, 32, 1};
inline constexpr DType kInt64{DTypeCode::kInt, 64, 1};
inline constexpr DType kUInt8{DTypeCode::kUInt, 8, 1};
inline constexpr DType kBool{DTypeCode::kBool, 8, 1};

// Reads scalar element `index` (lanes count as elements) of a buffer of supported `type`, exactly for up to 53 bits.
double LoadAsDouble(DType type, const void* data, int64_t index);

// The value of 16 bits of IEEE half precision, and the half nearest to `value` (ties to even).
float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);

}  // namespace lathe
