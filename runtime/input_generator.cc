#include "runtime/input_generator.h"

#include <bit>
#include <cstring>

namespace lathe {
namespace {

// An odd multiple of 2^-kBits in (-1, 1): exact in every format with kBits of precision.
template <int kBits>
double OddFraction(uint64_t bits) {
  const auto u = static_cast<int64_t>(bits >> (64 - kBits));
  return static_cast<double>(2 * u + 1 - (int64_t{1} << kBits)) * (1.0 / static_cast<double>(uint64_t{1} << kBits));
}

int64_t SmallSigned(uint64_t bits) { return static_cast<int64_t>(bits >> 60) - 8; }
uint64_t SmallUnsigned(uint64_t bits) { return bits >> 60; }
uint16_t BFloatBits(double value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

template <typename T, typename Convert>
void Fill(uint64_t key, void* data, int64_t first, int64_t count, Convert convert) {
  auto* out = static_cast<char*>(data);
  for (int64_t i = 0; i < count; ++i) {
    const T value = convert(InputBits(key, static_cast<uint64_t>(first + i)));
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

}  // namespace

void FillInput(uint64_t seed, uint32_t param, DType dtype, void* data, int64_t first, int64_t count) {
  const uint64_t key = InputKey(seed, param);
  const auto as_signed = [](uint64_t bits) { return SmallSigned(bits); };
  const auto as_unsigned = [](uint64_t bits) { return SmallUnsigned(bits); };
  switch (dtype.code) {
    case DTypeCode::kFloat:
      if (dtype.bits == 64) return Fill<double>(key, data, first, count, OddFraction<53>);
      if (dtype.bits == 32) {
        return Fill<float>(key, data, first, count,
                           [](uint64_t bits) { return static_cast<float>(OddFraction<24>(bits)); });
      }
      return Fill<uint16_t>(key, data, first, count,
                            [](uint64_t bits) { return FloatToHalf(static_cast<float>(OddFraction<11>(bits))); });
    case DTypeCode::kBFloat:
      return Fill<uint16_t>(key, data, first, count, [](uint64_t bits) { return BFloatBits(OddFraction<8>(bits)); });
    case DTypeCode::kInt:
      if (dtype.bits == 8) return Fill<int8_t>(key, data, first, count, as_signed);
      if (dtype.bits == 16) return Fill<int16_t>(key, data, first, count, as_signed);
      if (dtype.bits == 32) return Fill<int32_t>(key, data, first, count, as_signed);
      return Fill<int64_t>(key, data, first, count, as_signed);
    case DTypeCode::kUInt:
      if (dtype.bits == 8) return Fill<uint8_t>(key, data, first, count, as_unsigned);
      if (dtype.bits == 16) return Fill<uint16_t>(key, data, first, count, as_unsigned);
      if (dtype.bits == 32) return Fill<uint32_t>(key, data, first, count, as_unsigned);
      return Fill<uint64_t>(key, data, first, count, as_unsigned);
    case DTypeCode::kBool:
      return Fill<uint8_t>(key, data, first, count, [](uint64_t bits) { return static_cast<uint8_t>(bits >> 63); });
  }
}

double InputValue(uint64_t seed, uint32_t param, DType dtype, int64_t index) {
  alignas(8) char element[8];
  FillInput(seed, param, dtype, element, index, 1);
  return LoadAsDouble(dtype, element, 0);
}

}  // namespace lathe
