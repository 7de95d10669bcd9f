#include "compiler/topi/matmul.h"

#include <algorithm>

#include "compiler/te/reduction.h"
#include "compiler/topi/broadcast.h"
#include "compiler/topi/elementwise.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

// Rows, columns and the dimension summed over, of the last two dimensions of each.
struct Extents {
  Expr rows, columns, inner;
};

StatusOr<Extents> ExtentsOf(std::string_view op, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  const Shape &p = a.shape(), &q = b.shape();
  const size_t m = p.size(), n = q.size();
  const Extents extents{transpose_a ? p[m - 1] : p[m - 2], transpose_b ? q[n - 2] : q[n - 1],
                        transpose_a ? p[m - 2] : p[m - 1]};
  const Expr& other = transpose_b ? q[n - 1] : q[n - 2];
  if (MayEqual(extents.inner, other)) return extents;
  return OperatorError(op, "a row of \"" + a.name() + "\" has " + std::to_string(*AsIntConst(extents.inner)) +
                               " elements, a column of \"" + b.name() + "\" " + std::to_string(*AsIntConst(other)));
}

Expr SumOfProducts(const Expr& a, const Expr& b, DataType type, const IterVar& k) {
  const auto as = [&](const Expr& e) { return e.dtype() == type ? e : MakeCast(type, e); };
  return te::ReduceOver(te::Combiner::kSum, as(a) * as(b), {k});
}

std::string Letters(bool transpose_a, bool transpose_b) {
  return std::string(transpose_a ? "T" : "N") + (transpose_b ? "T" : "N");
}

// The index of one operand: `batch` as far as it has such dimensions, then row and column.
Point OperandIndex(const Tensor& x, const Point& batch, Expr row, Expr column, bool is_transposed) {
  Point index(batch.end() - static_cast<int64_t>(x.ndim() - 2), batch.end());
  for (size_t i = 0; i < index.size(); ++i) {
    if (IsConstInt(x.shape()[i], 1)) index[i] = IntConst(index[i].dtype(), 0);
  }
  if (is_transposed) std::swap(row, column);
  index.push_back(std::move(row));
  index.push_back(std::move(column));
  return index;
}

Status CheckTypes(std::string_view op, const Tensor& a, const Tensor& b, bool must_be_same) {
  if (must_be_same && a.dtype() != b.dtype())
    return OperatorError(op, "the operands are " + a.dtype().ToString() + " and " + b.dtype().ToString() +
                                 "; cast one, or say the type of the result");
  return OkStatus();
}

}  // namespace

StatusOr<Tensor> Matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  if (a.ndim() < 2 || b.ndim() < 2) return OperatorError("matmul", "an operand has fewer than 2 dimensions");
  RETURN_IF_ERROR(CheckTypes("matmul", a, b, true));
  ASSIGN_OR_RETURN(const Extents extents, ExtentsOf("matmul", a, b, transpose_a, transpose_b));
  const auto batch_of = [](const Tensor& x) { return Shape(x.shape().begin(), x.shape().end() - 2); };
  ASSIGN_OR_RETURN(Shape shape, BroadcastShape("matmul", batch_of(a), batch_of(b)));
  shape.push_back(extents.rows);
  shape.push_back(extents.columns);
  const IterVar k = te::ReduceAxisTo(extents.inner, "k");
  return te::Compute(
      shape,
      [&](const Point& at) {
        const Point batch(at.begin(), at.end() - 2);
        const Expr row = at[at.size() - 2], column = at[at.size() - 1];
        return SumOfProducts(a(OperandIndex(a, batch, row, k.var, transpose_a)),
                             b(OperandIndex(b, batch, k.var, column, transpose_b)), a.dtype(), k);
      },
      Ax("T_matmul", "matmul", shape.size()));
}

StatusOr<Tensor> NnMatmul(const Tensor& a, const Tensor& b, std::optional<Tensor> bias,
                          std::optional<DataType> out_type, bool transpose_a, bool transpose_b) {
  RETURN_IF_ERROR(CheckNdim("nn.matmul", "tensor", a, 2));
  RETURN_IF_ERROR(CheckNdim("nn.matmul", "tensor", b, 2));
  RETURN_IF_ERROR(CheckTypes("nn.matmul", a, b, !out_type));
  ASSIGN_OR_RETURN(const Extents extents, ExtentsOf("nn.matmul", a, b, transpose_a, transpose_b));
  const IterVar k = te::ReduceAxisTo(extents.inner, "k");
  const DataType type = out_type.value_or(a.dtype());
  const Tensor product =
      te::Compute({extents.rows, extents.columns},
                  [&](const Point& at) {
                    return SumOfProducts(a(OperandIndex(a, {}, at[0], k.var, transpose_a)),
                                         b(OperandIndex(b, {}, k.var, at[1], transpose_b)), type, k);
                  },
                  {.name = !transpose_a && !transpose_b ? "T_matmul" : "T_matmul_" + Letters(transpose_a, transpose_b),
                   .tag = !transpose_a && transpose_b ? "dense" : "matmul",
                   .attrs = {},
                   .axis_names = {},
                   .layout_free = {b}});
  if (!bias) return product;
  RETURN_IF_ERROR(CheckNdim("nn.matmul", "bias", *bias, 1));
  ASSIGN_OR_RETURN(const Tensor converted, Cast(*bias, type));
  ASSIGN_OR_RETURN(const Operand sum, Binary("add", product, converted));
  return std::get<Tensor>(sum);
}

StatusOr<Tensor> BatchMatmul(const Tensor& a, const Tensor& b, std::optional<DataType> out_type, bool transpose_a,
                             bool transpose_b) {
  RETURN_IF_ERROR(CheckNdim("nn.batch_matmul", "tensor", a, 3));
  RETURN_IF_ERROR(CheckNdim("nn.batch_matmul", "tensor", b, 3));
  RETURN_IF_ERROR(CheckTypes("nn.batch_matmul", a, b, !out_type));
  ASSIGN_OR_RETURN(const Extents extents, ExtentsOf("nn.batch_matmul", a, b, transpose_a, transpose_b));
  ASSIGN_OR_RETURN(Shape shape, BroadcastShape("nn.batch_matmul", {a.shape()[0]}, {b.shape()[0]}));
  shape.push_back(extents.rows);
  shape.push_back(extents.columns);
  const IterVar k = te::ReduceAxisTo(extents.inner, "k");
  return te::Compute(shape,
                     [&](const Point& at) {
                       return SumOfProducts(a(OperandIndex(a, {at[0]}, at[1], k.var, transpose_a)),
                                            b(OperandIndex(b, {at[0]}, k.var, at[2], transpose_b)),
                                            out_type.value_or(a.dtype()), k);
                     },
                     {.name = "T_batch_matmul_" + Letters(transpose_a, transpose_b),
                      .tag = "batch_matmul",
                      .attrs = {},
                      .axis_names = {"b", "i", "j"},
                      .layout_free = {b}});
}

}  // namespace lathe::topi
