// The table of ONNX operators that can be translated.
#pragma once

#include <span>
#include <string_view>

#include "compiler/import/onnx/node.h"

namespace lathe {

struct OnnxOperator {
  std::string_view name;
  NodeOutputs (*translate)(const OnnxNode& node);
};
const OnnxOperator* FindOnnxOperator(std::string_view name);  // nullptr if there is none.

// The rows of each file.
std::span<const OnnxOperator> OnnxActivations();
std::span<const OnnxOperator> OnnxArithmetic();
std::span<const OnnxOperator> OnnxConvolutions();
std::span<const OnnxOperator> OnnxMatrixOperators();
std::span<const OnnxOperator> OnnxMovements();
std::span<const OnnxOperator> OnnxNormalizations();
std::span<const OnnxOperator> OnnxShapeOperators();

}  // namespace lathe
