#include <fmt/format.h>

#include "support/status_macros.h"
#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

// A matrix inside a larger buffer.
template <typename T>
struct View {
  const T* data;
  int64_t row_stride, column_stride;
};

// Integers wrap, as on the hardware.
double Accumulate(double sum, double a, double b) { return sum + a * b; }
int64_t Accumulate(int64_t sum, int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// c [m, n], compact and zero, += a [m, k] * b [k, n]. The inner loop follows whichever axis of b is contiguous.
template <typename T>
void Multiply(View<T> a, View<T> b, int64_t m, int64_t n, int64_t k, T* c) {
  for (int64_t i = 0; i < m; ++i) {
    if (b.row_stride == 1) {
      for (int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum = Accumulate(sum, a.data[i * a.row_stride + l * a.column_stride], b.data[l + j * b.column_stride]);
        }
        c[i * n + j] = sum;
      }
      continue;
    }
    for (int64_t l = 0; l < k; ++l) {
      const T factor = a.data[i * a.row_stride + l * a.column_stride];
      for (int64_t j = 0; j < n; ++j) {
        c[i * n + j] = Accumulate(c[i * n + j], factor, b.data[l * b.row_stride + j * b.column_stride]);
      }
    }
  }
}

template <typename T>
View<T> MatrixView(const T* data, int64_t columns, bool transposed) {
  return transposed ? View<T>{data, 1, columns} : View<T>{data, columns, 1};
}

Status RequireSameType(const Tensor& a, const Tensor& b) {
  if (a.type == b.type) return OkStatus();
  return InvalidArgument(fmt::format("operands are {} and {}; one type required", TypeText(a), TypeText(b)));
}

// y = alpha * product + beta * c.
void ScaleAndAdd(Tensor& y, double alpha, double beta, const Tensor* c) {
  std::vector<int64_t> offsets;
  if (c) offsets = BroadcastOffsets(c->dims, y.dims);
  for (size_t i = 0; i < y.floats.size(); ++i)
    y.floats[i] = alpha * y.floats[i] + (c ? beta * c->floats[offsets[i]] : 0.0);
  for (size_t i = 0; i < y.ints.size(); ++i) {
    if (alpha != 1) y.ints[i] = static_cast<int64_t>(alpha * static_cast<double>(y.ints[i]));
    if (!c) continue;
    int64_t add = c->ints[offsets[i]];
    if (beta != 1) add = static_cast<int64_t>(beta * static_cast<double>(add));
    y.ints[i] = Accumulate(y.ints[i], add, 1);
  }
}

void WrapAll(Tensor& tensor) {
  for (int64_t& v : tensor.ints) v = WrapInt(v, tensor.type);
}

}  // namespace

Outputs EvaluateGemm(const Node& node) {
  const Tensor &a = node.Input(0), &b = node.Input(1);
  RETURN_IF_ERROR(RequireSameType(a, b));
  if (a.rank() != 2 || b.rank() != 2)
    return InvalidArgument(fmt::format("operands are {} and {}, matrices required", TypeText(a), TypeText(b)));
  const bool trans_a = node.Int("transA", 0) != 0, trans_b = node.Int("transB", 0) != 0;
  const int64_t m = a.dims[trans_a], k = a.dims[!trans_a], n = b.dims[!trans_b];
  if (k != b.dims[trans_b]) {
    return InvalidArgument(fmt::format("operands are {}{} and {}{}: inner sizes {} and {} differ", DimsText(a.dims),
                                       trans_a ? " transposed" : "", DimsText(b.dims), trans_b ? " transposed" : "", k,
                                       b.dims[trans_b]));
  }
  if (!node.HasInput(2) && node.opset() < 11)
    return InvalidArgument("input c is absent; it is optional since opset 11");
  RETURN_IF_ERROR(ElementCount(Dims{m, n}).status());
  Tensor y = Tensor::Zeros({m, n}, a.type);
  const Tensor* c = node.HasInput(2) ? &node.Input(2) : nullptr;
  if (c) {
    RETURN_IF_ERROR(RequireSameType(a, *c));
    const bool may_broadcast = node.opset() >= 7 || node.Int("broadcast", 0) != 0;
    const StatusOr<Dims> common = BroadcastDims(c->dims, y.dims);
    if (!common.ok() || *common != y.dims || (!may_broadcast && c->dims != y.dims)) {
      return InvalidArgument(fmt::format("c is {}, which does not broadcast to {}", TypeText(*c), DimsText(y.dims)));
    }
  }
  if (IsFloat(a.type)) {
    Multiply(MatrixView(a.floats.data(), a.dims[1], trans_a), MatrixView(b.floats.data(), b.dims[1], trans_b), m, n, k,
             y.floats.data());
  } else {
    Multiply(MatrixView(a.ints.data(), a.dims[1], trans_a), MatrixView(b.ints.data(), b.dims[1], trans_b), m, n, k,
             y.ints.data());
  }
  ScaleAndAdd(y, node.Float("alpha", 1), node.Float("beta", 1), c);
  WrapAll(y);
  return One(std::move(y));
}

// numpy.matmul: a vector is a row on the left and a column on the right, and its axis is dropped again.
static Outputs ProductOf(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0)
    return InvalidArgument(fmt::format("operands are {} and {}; no scalars", TypeText(a), TypeText(b)));
  Dims da = a.dims, db = b.dims;
  if (a.rank() == 1) da.insert(da.begin(), 1);
  if (b.rank() == 1) db.push_back(1);
  const int64_t m = da.end()[-2], k = da.back(), n = db.back();
  if (k != db.end()[-2]) {
    return InvalidArgument(fmt::format("operands are {} and {}: inner sizes {} and {} differ", DimsText(a.dims),
                                       DimsText(b.dims), k, db.end()[-2]));
  }
  const Dims batch_a(da.begin(), da.end() - 2), batch_b(db.begin(), db.end() - 2);
  ASSIGN_OR_RETURN(const Dims batch, BroadcastDims(batch_a, batch_b));
  const std::vector<int64_t> at_a = BroadcastOffsets(batch_a, batch), at_b = BroadcastOffsets(batch_b, batch);
  Dims dims = batch;
  if (a.rank() > 1) dims.push_back(m);
  if (b.rank() > 1) dims.push_back(n);
  RETURN_IF_ERROR(ElementCount(dims).status());
  Tensor y = Tensor::Zeros(std::move(dims), a.type);
  for (size_t i = 0; i < at_a.size(); ++i) {
    const int64_t from_a = at_a[i] * m * k, from_b = at_b[i] * k * n, to = static_cast<int64_t>(i) * m * n;
    if (IsFloat(a.type)) {
      Multiply<double>({a.floats.data() + from_a, k, 1}, {b.floats.data() + from_b, n, 1}, m, n, k,
                       y.floats.data() + to);
    } else {
      Multiply<int64_t>({a.ints.data() + from_a, k, 1}, {b.ints.data() + from_b, n, 1}, m, n, k, y.ints.data() + to);
    }
  }
  WrapAll(y);
  return One(std::move(y));
}

Outputs EvaluateMatMul(const Node& node) {
  RETURN_IF_ERROR(RequireSameType(node.Input(0), node.Input(1)));
  return ProductOf(node.Input(0), node.Input(1));
}

// int32 values less the zero points: one for all, or one for each row (of A) or column (of B).
static StatusOr<Tensor> Centered(const Node& node, size_t input, size_t zero_point, int axis_from_end) {
  const Tensor& from = node.Input(input);
  if (from.type != DataType::kInt8 && from.type != DataType::kUint8)
    return InvalidArgument(fmt::format("factor is {}; int8 or uint8 required", TypeText(from)));
  Tensor to = Tensor::Ints(from.dims, from.ints, DataType::kInt32);
  if (!node.HasInput(zero_point)) return to;
  const Tensor& zero = node.Input(zero_point);
  const int64_t columns = from.dims.empty() ? 1 : from.dims.back();
  const bool is_one = zero.size() == 1;
  const int64_t rows_or_columns = from.rank() < 2 ? 1 : from.dims.end()[-axis_from_end];
  if (!is_one && zero.size() != rows_or_columns)
    return InvalidArgument(
        fmt::format("zero point is {}; a scalar or {} values required", TypeText(zero), rows_or_columns));
  for (int64_t i = 0; i < to.size(); ++i) {
    const int64_t at = axis_from_end == 1 ? i % columns : i / columns % rows_or_columns;
    to.ints[static_cast<size_t>(i)] -= zero.ints[static_cast<size_t>(is_one ? 0 : at)];
  }
  return to;
}

Outputs EvaluateMatMulInteger(const Node& node) {
  ASSIGN_OR_RETURN(const Tensor a, Centered(node, 0, 2, 2));
  ASSIGN_OR_RETURN(const Tensor b, Centered(node, 1, 3, 1));
  return ProductOf(a, b);
}

}  // namespace lathe::reference
