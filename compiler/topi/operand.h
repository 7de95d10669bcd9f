// What operators take and say of it: tensors or numbers, axes, shapes. Errors are InvalidArgument
// "topi.<operator>: <what is wrong>".
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/te/operation.h"

namespace lathe::topi {

using te::Tensor;
using Shape = std::vector<Expr>;
using Point = std::vector<Expr>;
using Operand = std::variant<Tensor, Expr>;  // An Expr stands at every point.

Status OperatorError(std::string_view op, const std::string& why);

// In [0, ndim); negative ones count from the end.
StatusOr<int64_t> NormalizeAxis(std::string_view op, int64_t axis, int64_t ndim);
// Ascending, each once.
StatusOr<std::vector<int64_t>> NormalizeAxes(std::string_view op, const std::vector<int64_t>& axes, int64_t ndim);
std::vector<int64_t> AllAxes(const Tensor& x);
Status CheckNdim(std::string_view op, const char* what, const Tensor& x, size_t ndim);
// Extents that an operator needs as numbers.
StatusOr<std::vector<int64_t>> ConstantExtents(std::string_view op, const Tensor& x);
// Whether two extents are known to be the same, or may be (one is symbolic).
bool MayEqual(const Expr& a, const Expr& b);

DataType TypeOf(const Operand& x);
Shape ShapeOf(const Operand& x);             // Empty for an expression.
Expr NumberOf(DataType type, double value);  // Rounded toward zero for integers.

// Options of a compute whose loops are named ax0, ax1 ... (as TVM's operators in C++ do).
te::ComputeOptions Ax(std::string name, std::string tag, size_t ndim, AttrMap attrs = {});

// TVM's tags.
inline constexpr const char* kElementwise = "elemwise";
inline constexpr const char* kBroadcast = "broadcast";
inline constexpr const char* kInjective = "injective";
inline constexpr const char* kCommReduce = "comm_reduce";
inline constexpr const char* kCommReduceIdx = "comm_reduce_idx";

}  // namespace lathe::topi
