// What tests of tensor descriptions compare with: texts, and runs of the interpreter.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/structural.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {

// `text` is what TVM prints for the same program (names as v0.18 has them).
inline void ExpectText(const StatusOr<PrimFunc>& func, const std::string& text) {
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const StatusOr<PrimFunc> expected = ParsePrimFunc(text, "expected.py");
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  EXPECT_TRUE(StructuralEqual(*func, *expected)) << Print(*func) << "expected\n" << Print(*expected);
}

// The last parameter after a run on `inputs`, which are the others.
inline std::vector<double> ResultOf(const StatusOr<PrimFunc>& func, std::vector<Tensor> inputs) {
  if (!func.ok()) {
    ADD_FAILURE() << func.status().ToString();
    return {};
  }
  const Buffer& result = BufferParam(*func, func->params.size() - 1);
  const std::optional<std::vector<int64_t>> shape = ConstantShape(result->shape);
  if (!shape) {
    ADD_FAILURE() << "the shape of " << result->name << " is symbolic";
    return {};
  }
  inputs.push_back(Tensor::Uninitialized(result->dtype, *shape));
  const Status status = Interpret(*func, inputs);
  EXPECT_TRUE(status.ok()) << status.ToString() << Print(*func);
  return inputs.back().ToDoubles();
}

}  // namespace lathe
