// The operators of the evaluator. One function per operator or family; the table in operators.cc names them.
#pragma once

#include <span>
#include <string_view>

#include "tests/reference/node.h"

namespace lathe::reference {

struct OperatorRow {
  std::string_view name;
  size_t min_inputs;  // The first so many must be present.
  size_t max_inputs;
  Outputs (*evaluate)(const Node& node);
};
inline constexpr size_t kVariadic = 1u << 20;

std::span<const OperatorRow> AllOperators();
const OperatorRow* FindOperator(std::string_view name);  // nullptr if unknown.

// convolution.cc
Outputs EvaluateConv(const Node& node);
// pooling.cc
Outputs EvaluateMaxPool(const Node& node);
Outputs EvaluateAveragePool(const Node& node);
Outputs EvaluateGlobalMaxPool(const Node& node);
Outputs EvaluateGlobalAveragePool(const Node& node);
// matrix.cc
Outputs EvaluateGemm(const Node& node);
Outputs EvaluateMatMul(const Node& node);
Outputs EvaluateMatMulInteger(const Node& node);
// normalization.cc
Outputs EvaluateBatchNormalization(const Node& node);
Outputs EvaluateLayerNormalization(const Node& node);
Outputs EvaluateLrn(const Node& node);
Outputs EvaluateDropout(const Node& node);
Outputs EvaluateSoftmax(const Node& node);
Outputs EvaluateLogSoftmax(const Node& node);
Outputs EvaluateHardmax(const Node& node);
// arithmetic.cc
Outputs EvaluateAdd(const Node& node);
Outputs EvaluateSub(const Node& node);
Outputs EvaluateMul(const Node& node);
Outputs EvaluateDiv(const Node& node);
Outputs EvaluatePow(const Node& node);
Outputs EvaluateSum(const Node& node);
Outputs EvaluateMean(const Node& node);
Outputs EvaluateMin(const Node& node);
Outputs EvaluateMax(const Node& node);
// activation.cc
Outputs EvaluateRelu(const Node& node);
Outputs EvaluateSigmoid(const Node& node);
Outputs EvaluateTanh(const Node& node);
Outputs EvaluateHardSigmoid(const Node& node);
Outputs EvaluateHardSwish(const Node& node);
Outputs EvaluateClip(const Node& node);
Outputs EvaluateExp(const Node& node);
Outputs EvaluateLog(const Node& node);
Outputs EvaluateSqrt(const Node& node);
Outputs EvaluateErf(const Node& node);
Outputs EvaluateGelu(const Node& node);
Outputs EvaluateNeg(const Node& node);
Outputs EvaluateAbs(const Node& node);
Outputs EvaluateCast(const Node& node);
// reduction.cc
Outputs EvaluateReduceMean(const Node& node);
Outputs EvaluateReduceSum(const Node& node);
Outputs EvaluateReduceMax(const Node& node);
Outputs EvaluateReduceMin(const Node& node);
// shape.cc: the same elements under another shape, or facts about the shape
Outputs EvaluateIdentity(const Node& node);
Outputs EvaluateReshape(const Node& node);
Outputs EvaluateFlatten(const Node& node);
Outputs EvaluateSqueeze(const Node& node);
Outputs EvaluateUnsqueeze(const Node& node);
Outputs EvaluateShape(const Node& node);
Outputs EvaluateSize(const Node& node);
Outputs EvaluateConstant(const Node& node);
Outputs EvaluateConstantOfShape(const Node& node);
// movement.cc: elements go elsewhere
Outputs EvaluateTranspose(const Node& node);
Outputs EvaluateConcat(const Node& node);
Outputs EvaluatePad(const Node& node);
Outputs EvaluateSlice(const Node& node);
Outputs EvaluateSplit(const Node& node);
Outputs EvaluateGather(const Node& node);
Outputs EvaluateExpand(const Node& node);

}  // namespace lathe::reference
