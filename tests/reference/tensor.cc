#include "tests/reference/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "support/status_macros.h"

namespace lathe::reference {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 28;

struct TypeRow {
  DataType type;
  std::string_view name;
  int bits;
  bool is_float;
  bool is_unsigned;
};
constexpr TypeRow kTypes[] = {
    {DataType::kFloat32, "float32", 32, true, false},   {DataType::kUint8, "uint8", 8, false, true},
    {DataType::kInt8, "int8", 8, false, false},         {DataType::kUint16, "uint16", 16, false, true},
    {DataType::kInt16, "int16", 16, false, false},      {DataType::kInt32, "int32", 32, false, false},
    {DataType::kInt64, "int64", 64, false, false},      {DataType::kBool, "bool", 1, false, false},
    {DataType::kFloat16, "float16", 16, true, false},   {DataType::kFloat64, "float64", 64, true, false},
    {DataType::kUint32, "uint32", 32, false, true},     {DataType::kUint64, "uint64", 64, false, true},
    {DataType::kBfloat16, "bfloat16", 16, true, false},
};

const TypeRow& Row(DataType type) {
  const TypeRow* row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) { return r.type == type; });
  CHECK(row != std::end(kTypes)) << "data type " << static_cast<int>(type);
  return *row;
}

}  // namespace

StatusOr<DataType> DataTypeFromOnnx(int number) {
  for (const TypeRow& row : kTypes) {
    if (static_cast<int>(row.type) == number) return row.type;
  }
  return Unimplemented(
      fmt::format("data type {}: the evaluator knows bool, integers and floats up to 64 bits", number));
}

std::string_view DataTypeName(DataType type) { return Row(type).name; }
bool IsFloat(DataType type) { return Row(type).is_float; }
bool IsUnsigned(DataType type) { return Row(type).is_unsigned; }

Tensor Tensor::Floats(Dims dims, std::vector<double> values, DataType type) {
  CHECK(IsFloat(type) && Product(dims) == static_cast<int64_t>(values.size())) << DimsText(dims);
  return {type, std::move(dims), std::move(values), {}};
}

Tensor Tensor::Ints(Dims dims, std::vector<int64_t> values, DataType type) {
  CHECK(!IsFloat(type) && Product(dims) == static_cast<int64_t>(values.size())) << DimsText(dims);
  return {type, std::move(dims), {}, std::move(values)};
}

Tensor Tensor::Zeros(Dims dims, DataType type) {
  const size_t count = static_cast<size_t>(Product(dims));
  Tensor result{type, std::move(dims), {}, {}};
  if (IsFloat(type)) {
    result.floats.resize(count);
  } else {
    result.ints.resize(count);
  }
  return result;
}

int64_t Tensor::size() const { return static_cast<int64_t>(IsFloat(type) ? floats.size() : ints.size()); }

std::string DimsText(std::span<const int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }
std::string TypeText(const Tensor& tensor) {
  return fmt::format("{} {}", DataTypeName(tensor.type), DimsText(tensor.dims));
}

int64_t Product(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

StatusOr<int64_t> ElementCount(std::span<const int64_t> dims) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return InvalidArgument(fmt::format("shape {}: negative dimension", DimsText(dims)));
    empty |= dim == 0;
    if (dim > kMaxElements || (product *= std::max<int64_t>(dim, 1)) > kMaxElements) {
      return ResourceExhausted(fmt::format("shape {}: more than {} elements", DimsText(dims), kMaxElements));
    }
  }
  return empty ? 0 : product;
}

Dims Strides(std::span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

int64_t WrapInt(int64_t value, DataType type) {
  const TypeRow& row = Row(type);
  if (type == DataType::kBool) return value != 0;
  if (row.bits == 64) return value;
  const int shift = 64 - row.bits;
  const uint64_t high = static_cast<uint64_t>(value) << shift;
  return row.is_unsigned ? static_cast<int64_t>(high >> shift) : static_cast<int64_t>(high) >> shift;
}

bool IntLess(int64_t a, int64_t b, DataType type) {
  return type == DataType::kUint64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

std::vector<double> AsDoubles(const Tensor& tensor) {
  if (IsFloat(tensor.type)) return tensor.floats;
  std::vector<double> values;
  values.reserve(tensor.ints.size());
  for (int64_t v : tensor.ints) {
    values.push_back(tensor.type == DataType::kUint64 ? static_cast<double>(static_cast<uint64_t>(v))
                                                      : static_cast<double>(v));
  }
  return values;
}

StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return InvalidArgument(fmt::format("axis {}: outside [{}, {}) of a tensor of rank {}", axis, -rank, rank, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

StatusOr<Dims> NormalizeAxes(std::span<const int64_t> axes, int64_t rank) {
  Dims result;
  for (int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int64_t normal, NormalizeAxis(axis, rank));
    if (std::find(result.begin(), result.end(), normal) != result.end()) {
      return InvalidArgument(fmt::format("axes {}: axis {} occurs twice", DimsText(axes), normal));
    }
    result.push_back(normal);
  }
  return result;
}

std::vector<int64_t> OuterSum(const AxisOffsets& axes) {
  std::vector<int64_t> sums = {0};
  for (const std::vector<int64_t>& axis : axes) {
    std::vector<int64_t> next;
    next.reserve(sums.size() * axis.size());
    for (int64_t sum : sums) {
      for (int64_t part : axis) next.push_back(sum == kOutside || part == kOutside ? kOutside : sum + part);
    }
    sums = std::move(next);
  }
  return sums;
}

Tensor Take(const Tensor& from, Dims dims, std::span<const int64_t> offsets, Fill fill) {
  CHECK(Product(dims) == static_cast<int64_t>(offsets.size())) << DimsText(dims);
  Tensor result = Tensor::Zeros(std::move(dims), from.type);
  if (IsFloat(from.type)) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      result.floats[i] = offsets[i] == kOutside ? fill.float_value : from.floats[offsets[i]];
    }
  } else {
    for (size_t i = 0; i < offsets.size(); ++i) {
      result.ints[i] = offsets[i] == kOutside ? fill.int_value : from.ints[offsets[i]];
    }
  }
  return result;
}

StatusOr<Dims> BroadcastDims(std::span<const int64_t> a, std::span<const int64_t> b) {
  Dims result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {  // i counts from the last axis.
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1, db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) {
      return InvalidArgument(fmt::format("shapes {} and {} do not broadcast", DimsText(a), DimsText(b)));
    }
    result[result.size() - 1 - i] = da == 1 ? db : da;
  }
  RETURN_IF_ERROR(ElementCount(result).status());
  return result;
}

std::vector<int64_t> BroadcastOffsets(std::span<const int64_t> from, std::span<const int64_t> to) {
  const Dims strides = Strides(from);
  const size_t lead = to.size() - from.size();
  AxisOffsets axes(to.size());
  for (size_t a = 0; a < to.size(); ++a) {
    for (int64_t i = 0; i < to[a]; ++i) axes[a].push_back(a < lead || from[a - lead] == 1 ? 0 : i * strides[a - lead]);
  }
  return OuterSum(axes);
}

}  // namespace lathe::reference
