// One value of any dtype, as the interpreter holds it, and its way to and from bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ir/data_type.h"

namespace lathe {

// Integers and booleans sit sign- or zero-extended in `i`, floats of every width in `f`. The dtype is known from the
// place.
union Value {
  int64_t i;
  double f;
};

// Rounds the result of one float operation to nearest-even of its dtype. A double holds any float32, float16 or
// bfloat16 operation
// (+, -, *, /, sqrt) exactly enough that rounding it once more gives the correctly rounded result.
class FloatRounding {
 public:
  explicit FloatRounding(DataType dtype);
  static FloatRounding None() { return FloatRounding(DataType::Float(64)); }
  double operator()(double value) const {
    if (kind_ == Kind::kFloat32) return static_cast<double>(static_cast<float>(value));
    if (kind_ == Kind::kNone) return value;
    return RoundNarrow(value);
  }

 private:
  enum class Kind : uint8_t { kNone, kFloat32, kFloat16, kBFloat16 };
  double RoundNarrow(double value) const;
  Kind kind_;
};

// Both take one element (lanes are ignored). Floats that `dtype` cannot hold are rounded.
Value LoadElement(DataType dtype, const std::byte* bytes);
void StoreElement(DataType dtype, Value value, std::byte* bytes);

// Toward zero; NaN gives 0 and what does not fit the nearest end of `dtype`'s range.
int64_t FloatToInt(DataType dtype, double value);
double IntToFloat(DataType dtype, int64_t value);

// The bits of an element, and back: reinterpret.
uint64_t ToBits(DataType dtype, Value value);
Value FromBits(DataType dtype, uint64_t bits);

}  // namespace lathe
