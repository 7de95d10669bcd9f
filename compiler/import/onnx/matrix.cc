// Gemm and MatMul.
#include <fmt/format.h>

#include "compiler/import/onnx/operators.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;

StatusOr<Expr> Transposed(const OnnxNode& node, const Expr& e) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, ShapeOf(e));
  std::vector<int64_t> axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  if (axes.size() >= 2) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return node.Emit("permute_dims", {e}, {{"axes", relax::MakeIntsAttr(axes)}});
}

StatusOr<Expr> Scaled(const OnnxNode& node, const Expr& e, double factor) {
  if (factor == 1) return e;
  ASSIGN_OR_RETURN(const DataType type, node.DType(0));
  if (!type.is_float() && factor != static_cast<double>(static_cast<int64_t>(factor)))
    return node.Error(fmt::format("factor {} of integers", factor));
  return node.Emit("multiply", {e, relax::MakeScalar(type, factor)});
}

// alpha * op(A) * op(B) + beta * C. Constant weights become those of a dense layer, [N, K].
NodeOutputs Gemm(const OnnxNode& node) {
  ASSIGN_OR_RETURN(Expr a, node.Input(0));
  ASSIGN_OR_RETURN(Expr b, node.Input(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> a_shape, node.Shape(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> b_shape, node.Shape(1));
  if (a_shape.size() != 2 || b_shape.size() != 2)
    return node.Error(fmt::format("A has {} dimensions, B {}; 2 required", a_shape.size(), b_shape.size()));
  if (node.Int("transA", 0) != 0) {
    ASSIGN_OR_RETURN(a, Transposed(node, a));
  }
  bool is_dense = node.Int("transB", 0) != 0;
  if (!is_dense && relax::AsConstant(b) != nullptr) {
    ASSIGN_OR_RETURN(b, Transposed(node, b));
    is_dense = true;
  }
  ASSIGN_OR_RETURN(Expr out, node.Emit(is_dense ? "nn.dense" : "matmul", {a, b}));
  ASSIGN_OR_RETURN(out, Scaled(node, out, node.Float("alpha", 1)));
  if (!node.HasInput(2)) return OneOutput(out);
  ASSIGN_OR_RETURN(Expr c, node.Input(2));
  ASSIGN_OR_RETURN(c, Scaled(node, c, node.Float("beta", 1)));
  return OneOutput(node.Emit("add", {out, c}));
}

// numpy.matmul: a vector on the left is a row, on the right a column, and the extra dimension goes again.
NodeOutputs MatMul(const OnnxNode& node) {
  ASSIGN_OR_RETURN(Expr a, node.Input(0));
  ASSIGN_OR_RETURN(Expr b, node.Input(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> a_shape, node.Shape(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> b_shape, node.Shape(1));
  if (a_shape.empty() || b_shape.empty()) return node.Error("a scalar operand");
  if (b_shape.size() == 2 && relax::AsConstant(b) != nullptr) {
    ASSIGN_OR_RETURN(b, Transposed(node, b));
    return OneOutput(node.Emit("nn.dense", {a, b}));
  }
  if (a_shape.size() == 1) {
    ASSIGN_OR_RETURN(a, node.Reshape(a, {1, a_shape[0]}));
  }
  if (b_shape.size() == 1) {
    ASSIGN_OR_RETURN(b, node.Reshape(b, {b_shape[0], 1}));
  }
  ASSIGN_OR_RETURN(const Expr out, node.Emit("matmul", {a, b}));
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(out));
  if (b_shape.size() == 1) shape.pop_back();
  if (a_shape.size() == 1) shape.erase(shape.end() - (b_shape.size() == 1 ? 1 : 2));
  return OneOutput(node.Reshape(out, shape));
}

constexpr OnnxOperator kMatrixRows[] = {{"Gemm", Gemm}, {"MatMul", MatMul}};

}  // namespace

std::span<const OnnxOperator> OnnxMatrixOperators() { return kMatrixRows; }

}  // namespace lathe
