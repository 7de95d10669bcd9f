// Gemm, MatMul and MatMulInteger.
#include <fmt/format.h>

#include <algorithm>

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

// [..., M, K] times [..., K, N]; constant weights become those of a dense layer.
StatusOr<Expr> ProductOf(const OnnxNode& node, const Expr& a, const Expr& b, const AttrMap& attrs = {}) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, ShapeOf(b));
  if (shape.size() != 2 || relax::AsConstant(b) == nullptr) return node.Emit("matmul", {a, b}, attrs);
  ASSIGN_OR_RETURN(const Expr weight, Transposed(node, b));
  return node.Emit("nn.dense", {a, weight}, attrs);
}

// numpy.matmul: a vector on the left is a row, on the right a column, and the extra dimension goes again.
template <typename F>
NodeOutputs WithVectorsAsMatrices(const OnnxNode& node, F product) {
  ASSIGN_OR_RETURN(Expr a, node.Input(0));
  ASSIGN_OR_RETURN(Expr b, node.Input(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> a_shape, node.Shape(0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> b_shape, node.Shape(1));
  if (a_shape.empty() || b_shape.empty()) return node.Error("a scalar operand");
  if (a_shape.size() == 1) {
    ASSIGN_OR_RETURN(a, node.Reshape(a, {1, a_shape[0]}));
  }
  if (b_shape.size() == 1) {
    ASSIGN_OR_RETURN(b, node.Reshape(b, {b_shape[0], 1}));
  }
  StatusOr<Expr> out = product(a, b);
  if (!out.ok() || (a_shape.size() > 1 && b_shape.size() > 1)) return OneOutput(std::move(out));
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(*out));
  if (b_shape.size() == 1) shape.pop_back();
  if (a_shape.size() == 1) shape.erase(shape.end() - (b_shape.size() == 1 ? 1 : 2));
  return OneOutput(node.Reshape(*out, shape));
}

NodeOutputs MatMul(const OnnxNode& node) {
  return WithVectorsAsMatrices(node, [&](const Expr& a, const Expr& b) { return ProductOf(node, a, b); });
}

// A zero point as int32 beside the sums of `axis` 0: [M, 1], of A's rows; 1: [1, N], of B's columns. nullopt: it is 0.
StatusOr<std::optional<Expr>> ZeroPoint(const OnnxNode& node, size_t input, size_t axis) {
  if (!node.HasInput(input)) return std::optional<Expr>();
  ASSIGN_OR_RETURN(Expr zero, node.Input(input));
  if (const relax::TensorData* known = relax::AsConstant(zero)) {
    const std::vector<int64_t> values = known->ToInts();
    if (std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 0; }))
      return std::optional<Expr>();
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(input));
  if (shape.size() == 1 && axis == 0) {
    ASSIGN_OR_RETURN(zero, node.Reshape(zero, {shape[0], 1}));
  }
  ASSIGN_OR_RETURN(zero, node.Emit("astype", {zero}, {{"dtype", std::string("int32")}}));
  return std::optional<Expr>(zero);
}

StatusOr<Expr> SumOf(const OnnxNode& node, const Expr& e, int64_t axis) {
  ASSIGN_OR_RETURN(const Expr wide, node.Emit("astype", {e}, {{"dtype", std::string("int32")}}));
  return node.Emit("sum", {wide}, {{"axis", relax::MakeIntsAttr({axis})}, {"keepdims", true}});
}

// (A - a0) (B - b0) = A B - a0 sum(B) - sum(A) b0 + K a0 b0: the product itself is one of narrow types, and what
// depends on constant weights alone is folded.
StatusOr<Expr> IntegerProduct(const OnnxNode& node, const Expr& a, const Expr& b) {
  ASSIGN_OR_RETURN(Expr out, ProductOf(node, a, b, {{"out_dtype", std::string("int32")}}));
  ASSIGN_OR_RETURN(const std::optional<Expr> a_zero, ZeroPoint(node, 2, 0));
  ASSIGN_OR_RETURN(const std::optional<Expr> b_zero, ZeroPoint(node, 3, 1));
  const auto less = [&](const Expr& x, const Expr& y) -> Status {
    ASSIGN_OR_RETURN(const Expr product, node.Emit("multiply", {x, y}));
    ASSIGN_OR_RETURN(out, node.Emit("subtract", {out, product}));
    return OkStatus();
  };
  if (a_zero) {
    ASSIGN_OR_RETURN(Expr columns, SumOf(node, b, -2));
    if (b_zero) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> shape, ShapeOf(b));
      const Expr k = relax::MakeScalar(DataType::Int(32), static_cast<double>(shape[shape.size() - 2]));
      ASSIGN_OR_RETURN(const Expr zeros, node.Emit("multiply", {*b_zero, k}));
      ASSIGN_OR_RETURN(columns, node.Emit("subtract", {columns, zeros}));
    }
    RETURN_IF_ERROR(less(*a_zero, columns));
  }
  if (b_zero) {
    ASSIGN_OR_RETURN(const Expr rows, SumOf(node, a, -1));
    RETURN_IF_ERROR(less(rows, *b_zero));
  }
  return out;
}

NodeOutputs MatMulInteger(const OnnxNode& node) {
  for (const size_t input : {size_t{0}, size_t{1}}) {
    ASSIGN_OR_RETURN(const DataType type, node.DType(input));
    if (!type.is_int() || type.bits != 8)
      return node.Error(fmt::format("factor {} is {}, int8 or uint8 required", input, type.ToString()));
  }
  return WithVectorsAsMatrices(node, [&](const Expr& a, const Expr& b) { return IntegerProduct(node, a, b); });
}

constexpr OnnxOperator kMatrixRows[] = {{"Gemm", Gemm}, {"MatMul", MatMul}, {"MatMulInteger", MatMulInteger}};

}  // namespace

std::span<const OnnxOperator> OnnxMatrixOperators() { return kMatrixRows; }

}  // namespace lathe
