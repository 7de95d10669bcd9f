// The element type of a value: what TVM writes "float32", "int8x4", "bool", "handle".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/status.h"

namespace lathe {

struct DataType {
  enum class Code : uint8_t {
    kInt = 0,
    kUInt = 1,
    kFloat = 2,
    kHandle = 3,
    kBFloat = 4,
    kBool = 6,
    kFloat8E3M4 = 7,
    kFloat8E4M3 = 8,
    kFloat8E4M3B11FNUZ = 9,
    kFloat8E4M3FN = 10,
    kFloat8E4M3FNUZ = 11,
    kFloat8E5M2 = 12,
    kFloat8E5M2FNUZ = 13,
    kFloat8E8M0FNU = 14,
    kFloat6E2M3FN = 15,
    kFloat6E3M2FN = 16,
    kFloat4E2M1FN = 17,
  };  // DLPack's numbers.
  Code code = Code::kInt;
  uint8_t bits = 32;
  uint16_t lanes = 1;
  bool is_scalable = false;  // There are `lanes` times T.vscale() lanes.

  static constexpr DataType Int(int bits, int lanes = 1) { return {Code::kInt, uint8_t(bits), uint16_t(lanes)}; }
  static constexpr DataType UInt(int bits, int lanes = 1) { return {Code::kUInt, uint8_t(bits), uint16_t(lanes)}; }
  static constexpr DataType Float(int bits, int lanes = 1) { return {Code::kFloat, uint8_t(bits), uint16_t(lanes)}; }
  static constexpr DataType BFloat(int lanes = 1) { return {Code::kBFloat, 16, uint16_t(lanes)}; }
  static constexpr DataType Bool(int lanes = 1) { return {Code::kBool, 8, uint16_t(lanes)}; }  // One byte in memory.
  static constexpr DataType Handle() { return {Code::kHandle, 64, 1}; }
  static constexpr DataType Void() { return {Code::kHandle, 0, 1}; }  // What a pointer to anything points to.
  // "float32", "int8x16", "float32xvscalex4", "float8_e4m3fn" (also "e4m3_float8"), "bool", "handle", "void". Unknown
  // text is InvalidArgument.
  static StatusOr<DataType> Parse(std::string_view text);

  bool is_int() const { return code == Code::kInt || code == Code::kUInt; }
  bool is_signed_int() const { return code == Code::kInt; }
  bool is_float() const { return code == Code::kFloat || code == Code::kBFloat || is_narrow_float(); }
  bool is_narrow_float() const { return code >= Code::kFloat8E3M4; }  // Of 8 bits or fewer.
  bool is_bool() const { return code == Code::kBool; }
  bool is_scalar() const { return lanes == 1 && !is_scalable; }
  int bytes() const { return (bits + 7) / 8 * lanes; }
  DataType with_lanes(int n) const { return {code, bits, uint16_t(n)}; }
  DataType with_scalable_lanes(int n) const { return {code, bits, uint16_t(n), true}; }
  DataType element() const { return with_lanes(1); }
  DataType shaped_as(DataType other) const { return {code, bits, other.lanes, other.is_scalable}; }  // Its lanes.
  bool has_shape_of(DataType other) const { return lanes == other.lanes && is_scalable == other.is_scalable; }
  std::string ToString() const;
  bool operator==(const DataType&) const = default;
};

// What loop variables and indices are unless written otherwise, as in TVM.
inline constexpr DataType kIndexType = DataType::Int(32);

}  // namespace lathe
