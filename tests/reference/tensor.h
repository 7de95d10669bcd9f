// A tensor value of the reference evaluator: every float in double, every integer exact in int64.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace lathe::reference {

// ONNX's TensorProto.DataType numbers. Strings and complex numbers are outside the evaluator.
enum class DataType : int {
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};

// `number` as it stands in a file: one of the types above, or an error that names it.
StatusOr<DataType> DataTypeFromOnnx(int number);
std::string_view DataTypeName(DataType type);  // "float32", "bool", ...
bool IsFloat(DataType type);
bool IsUnsigned(DataType type);  // uint8 ... uint64; bool is not.

using Dims = std::vector<int64_t>;

// Row-major. The elements are in `floats` if IsFloat(type), otherwise in `ints`; the other one is empty. A bool is 0 or
// 1, a uint64 its bit pattern. Values of narrow float types are not rounded to them between operators.
struct Tensor {
  DataType type = DataType::kFloat32;
  Dims dims;  // Empty for a scalar.
  std::vector<double> floats;
  std::vector<int64_t> ints;

  static Tensor Floats(Dims dims, std::vector<double> values, DataType type = DataType::kFloat32);
  static Tensor Ints(Dims dims, std::vector<int64_t> values, DataType type = DataType::kInt64);
  static Tensor Zeros(Dims dims, DataType type);  // `dims` have passed ElementCount.
  int64_t size() const;
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
};

// "[1, 3, 224, 224]"
std::string DimsText(std::span<const int64_t> dims);
// "float32 [1, 3, 224, 224]"
std::string TypeText(const Tensor& tensor);

int64_t Product(std::span<const int64_t> dims);
// The product of `dims`, or an error if one is negative or the tensor has more than 2^28 elements.
StatusOr<int64_t> ElementCount(std::span<const int64_t> dims);
Dims Strides(std::span<const int64_t> dims);  // Of a compact row-major tensor, in elements.

// `value` reduced modulo 2^bits to what an integer of `type` holds, as the hardware does on overflow.
int64_t WrapInt(int64_t value, DataType type);
bool IntLess(int64_t a, int64_t b, DataType type);  // Compares uint64 as unsigned.
std::vector<double> AsDoubles(const Tensor& tensor);

// Axes count from the end if negative; the result is in [0, rank).
StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank);
StatusOr<Dims> NormalizeAxes(std::span<const int64_t> axes, int64_t rank);  // In the given order, without repetition.

// Every operator that only moves elements is one Take: per output axis and coordinate, the offset that it adds in the
// input, or kOutside for a coordinate that shows the fill value.
inline constexpr int64_t kOutside = -1;
using AxisOffsets = std::vector<std::vector<int64_t>>;
std::vector<int64_t> OuterSum(const AxisOffsets& axes);  // Row-major; kOutside if any part is.
struct Fill {
  double float_value = 0;
  int64_t int_value = 0;
};
Tensor Take(const Tensor& from, Dims dims, std::span<const int64_t> offsets, Fill fill = {});

// Right-aligned multidirectional broadcasting, as numpy's.
StatusOr<Dims> BroadcastDims(std::span<const int64_t> a, std::span<const int64_t> b);
// Offsets in a tensor of dims `from` for each element of `to`; `from` broadcasts to `to`.
std::vector<int64_t> BroadcastOffsets(std::span<const int64_t> from, std::span<const int64_t> to);

}  // namespace lathe::reference
