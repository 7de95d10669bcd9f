#include "compiler/interpreter/tensor.h"

#include "compiler/interpreter/number.h"
#include "compiler/ir/integer.h"
#include "support/check.h"

namespace lathe {

int64_t Tensor::NumElements() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

Tensor Tensor::Zeros(DataType dtype, std::vector<int64_t> shape) {
  Tensor tensor{dtype, std::move(shape), {}};
  tensor.data.resize(static_cast<size_t>(tensor.NumElements() * dtype.bytes()));
  return tensor;
}

Tensor Tensor::Uninitialized(DataType dtype, std::vector<int64_t> shape) {
  Tensor tensor = Zeros(dtype, std::move(shape));
  tensor.is_initialized = false;
  return tensor;
}

Tensor Tensor::FromDoubles(DataType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor tensor = Zeros(dtype, std::move(shape));
  const DataType element = dtype.element();
  CHECK(values.size() * element.bytes() == tensor.data.size())
      << values.size() << " values for " << tensor.NumElements() << " elements";
  for (size_t i = 0; i < values.size(); ++i) {
    const Value value = element.is_float() ? Value{.f = values[i]} : Value{.i = FloatToInt(element, values[i])};
    StoreElement(element, value, tensor.data.data() + i * element.bytes());
  }
  return tensor;
}

Tensor Tensor::FromInts(DataType dtype, std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  Tensor tensor = Zeros(dtype, std::move(shape));
  const DataType element = dtype.element();
  CHECK(values.size() * element.bytes() == tensor.data.size())
      << values.size() << " values for " << tensor.NumElements() << " elements";
  for (size_t i = 0; i < values.size(); ++i) {
    const Value value = element.is_float() ? Value{.f = static_cast<double>(values[i])} : Value{.i = values[i]};
    StoreElement(element, value, tensor.data.data() + i * element.bytes());
  }
  return tensor;
}

std::vector<double> Tensor::ToDoubles() const {
  const DataType element = dtype.element();
  std::vector<double> values(data.size() / element.bytes());
  for (size_t i = 0; i < values.size(); ++i) {
    const Value value = LoadElement(element, data.data() + i * element.bytes());
    values[i] = element.is_float() ? value.f : IntToFloat(element, value.i);
  }
  return values;
}

}  // namespace lathe
