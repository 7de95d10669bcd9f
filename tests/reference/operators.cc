#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

constexpr OperatorRow kOperators[] = {
    {"Abs", 1, 1, EvaluateAbs},
    {"Add", 2, 2, EvaluateAdd},
    {"AveragePool", 1, 1, EvaluateAveragePool},
    {"BatchNormalization", 5, 5, EvaluateBatchNormalization},
    {"Cast", 1, 1, EvaluateCast},
    {"Clip", 1, 3, EvaluateClip},
    {"Concat", 1, kVariadic, EvaluateConcat},
    {"Constant", 0, 0, EvaluateConstant},
    {"ConstantOfShape", 1, 1, EvaluateConstantOfShape},
    {"Conv", 2, 3, EvaluateConv},
    {"Div", 2, 2, EvaluateDiv},
    {"Dropout", 1, 3, EvaluateDropout},
    {"Erf", 1, 1, EvaluateErf},
    {"Exp", 1, 1, EvaluateExp},
    {"Expand", 2, 2, EvaluateExpand},
    {"Flatten", 1, 1, EvaluateFlatten},
    {"Gather", 2, 2, EvaluateGather},
    {"Gelu", 1, 1, EvaluateGelu},
    {"Gemm", 2, 3, EvaluateGemm},
    {"GlobalAveragePool", 1, 1, EvaluateGlobalAveragePool},
    {"GlobalMaxPool", 1, 1, EvaluateGlobalMaxPool},
    {"HardSigmoid", 1, 1, EvaluateHardSigmoid},
    {"HardSwish", 1, 1, EvaluateHardSwish},
    {"Hardmax", 1, 1, EvaluateHardmax},
    {"Identity", 1, 1, EvaluateIdentity},
    {"LRN", 1, 1, EvaluateLrn},
    {"LayerNormalization", 2, 3, EvaluateLayerNormalization},
    {"Log", 1, 1, EvaluateLog},
    {"LogSoftmax", 1, 1, EvaluateLogSoftmax},
    {"MatMul", 2, 2, EvaluateMatMul},
    {"MatMulInteger", 2, 4, EvaluateMatMulInteger},
    {"Max", 1, kVariadic, EvaluateMax},
    {"MaxPool", 1, 1, EvaluateMaxPool},
    {"Mean", 1, kVariadic, EvaluateMean},
    {"Min", 1, kVariadic, EvaluateMin},
    {"Mul", 2, 2, EvaluateMul},
    {"Neg", 1, 1, EvaluateNeg},
    {"Pad", 1, 4, EvaluatePad},
    {"Pow", 2, 2, EvaluatePow},
    {"ReduceMax", 1, 2, EvaluateReduceMax},
    {"ReduceMean", 1, 2, EvaluateReduceMean},
    {"ReduceMin", 1, 2, EvaluateReduceMin},
    {"ReduceSum", 1, 2, EvaluateReduceSum},
    {"Relu", 1, 1, EvaluateRelu},
    {"Reshape", 1, 2, EvaluateReshape},
    {"Shape", 1, 1, EvaluateShape},
    {"Sigmoid", 1, 1, EvaluateSigmoid},
    {"Size", 1, 1, EvaluateSize},
    {"Slice", 1, 5, EvaluateSlice},
    {"Softmax", 1, 1, EvaluateSoftmax},
    {"Split", 1, 2, EvaluateSplit},
    {"Sqrt", 1, 1, EvaluateSqrt},
    {"Squeeze", 1, 2, EvaluateSqueeze},
    {"Sub", 2, 2, EvaluateSub},
    {"Sum", 1, kVariadic, EvaluateSum},
    {"Tanh", 1, 1, EvaluateTanh},
    {"Transpose", 1, 1, EvaluateTranspose},
    {"Unsqueeze", 1, 2, EvaluateUnsqueeze},
};

}  // namespace

std::span<const OperatorRow> AllOperators() { return kOperators; }

const OperatorRow* FindOperator(std::string_view name) {
  for (const OperatorRow& row : kOperators) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace lathe::reference
