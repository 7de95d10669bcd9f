// Arrays for references by plain loops, and what an operator gives for such arrays.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <random>
#include <vector>

#include "compiler/interpreter/interpreter.h"
#include "compiler/script/printer.h"
#include "compiler/te/create_prim_func.h"

namespace lathe::topi {

using Index = std::vector<int64_t>;

struct Array {
  Index shape;
  std::vector<double> values;

  explicit Array(Index extents) : shape(std::move(extents)) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    values.assign(static_cast<size_t>(count), 0);
  }
  size_t Place(const Index& at) const {
    int64_t place = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      EXPECT_TRUE(at[i] >= 0 && at[i] < shape[i]) << "the reference reads outside, dimension " << i;
      place = place * shape[i] + at[i];
    }
    return static_cast<size_t>(place);
  }
  double& operator[](const Index& at) { return values[Place(at)]; }
  double operator[](const Index& at) const { return values[Place(at)]; }
};

// Integers from -4 to 4 by `seed`: sums and products of them are exact in float32.
inline Array SmallIntegers(Index shape, unsigned seed) {
  Array array(std::move(shape));
  std::mt19937 random(seed);
  for (double& value : array.values) value = static_cast<double>(random() % 9) - 4;
  return array;
}

// value(point) at every point.
inline Array Fill(Index shape, const std::function<double(const Index&)>& value) {
  Array array(std::move(shape));
  Index at(array.shape.size(), 0);
  for (double& element : array.values) {
    element = value(at);
    for (size_t i = at.size(); i-- > 0 && ++at[i] == array.shape[i];) at[i] = 0;
  }
  return array;
}

struct Given {
  te::Tensor tensor;
  Array array;
};

inline Given Input(Array array, const std::string& name, DataType type = DataType::Float(32)) {
  std::vector<Expr> shape(array.shape.begin(), array.shape.end());
  return {te::Placeholder(std::move(shape), type, name), std::move(array)};
}

// The elements of `result`, computed from `inputs` by the interpreter.
inline Array ResultOf(const StatusOr<te::Tensor>& result, const std::vector<Given>& inputs) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().ToString();
    return Array({0});
  }
  std::vector<te::Argument> args;
  std::vector<lathe::Tensor> tensors;
  for (const Given& input : inputs) {
    args.emplace_back(input.tensor);
    tensors.push_back(lathe::Tensor::FromDoubles(input.tensor.dtype(), input.array.shape, input.array.values));
  }
  args.emplace_back(*result);
  const StatusOr<PrimFunc> func = te::CreatePrimFunc(args);
  const std::optional<Index> shape = ConstantShape(result->shape());
  if (!func.ok() || !shape) {
    ADD_FAILURE() << (func.ok() ? "symbolic shape" : func.status().ToString());
    return Array({0});
  }
  tensors.push_back(lathe::Tensor::Uninitialized(result->dtype(), *shape));
  const Status status = Interpret(*func, tensors);
  EXPECT_TRUE(status.ok()) << status.ToString() << Print(*func);
  Array array(*shape);
  if (status.ok()) array.values = tensors.back().ToDoubles();
  return array;
}

inline void ExpectNear(const Array& got, const Array& expected, double tolerance = 0) {
  ASSERT_EQ(got.shape, expected.shape);
  for (size_t i = 0; i < got.values.size(); ++i)
    ASSERT_NEAR(got.values[i], expected.values[i], tolerance * (1 + std::abs(expected.values[i]))) << "element " << i;
}

}  // namespace lathe::topi
