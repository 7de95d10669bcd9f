// What inference and legalization ask a call's arguments for.
#pragma once

#include <string>
#include <vector>

#include "compiler/relax/op.h"
#include "compiler/te/compute_builder.h"

namespace lathe::relax {

// InvalidArgument "nn.conv2d: <what>".
Status ArgumentError(const Call& call, std::string_view what);

// The tensors that `call` works on, of known shape. Shapes have fewer than 2^31 elements where they are constant, so
// that index arithmetic stays within int32.
StatusOr<std::vector<TensorStructInfo>> TensorInfos(const Call& call);
StatusOr<TensorStructInfo> TensorInfo(const Call& call, size_t arg);
// A result, refused where it is too large or has a negative extent.
StatusOr<StructInfo> TensorResult(const Call& call, PrimShape shape, DataType dtype);

StatusOr<int64_t> NormalizeAxis(const Call& call, int64_t axis, int64_t ndim);
// The axes of attribute `name` in ascending order, without repetition; all axes where it is missing.
StatusOr<std::vector<int64_t>> NormalizeAxes(const Call& call, const std::string& name, int64_t ndim);
// Attribute `name` with `count` values, all `absent` where it is missing.
StatusOr<std::vector<int64_t>> IntsAttrOr(const Call& call, const std::string& name, size_t count, int64_t absent);
// Extents that a kernel needs as numbers.
StatusOr<std::vector<int64_t>> ConstantExtents(const Call& call, const TensorStructInfo& info);

// Input buffers for the call's tensors, named "data", "weight" ... or "A", "B" ... where there are fewer names.
std::vector<Buffer> MakeInputs(te::ComputeBuilder& builder, const Call& call, const std::vector<std::string>& names);
// The type in which values of `type` are added up: float32 for floating-point types of fewer bits, else `type`. A sum
// in 16 bits stops growing once its terms are below half a unit in its last place, and rounds after each of them.
DataType AccumulatorType(DataType type);
// An element in its accumulator's type.
PrimExpr LoadWide(const Buffer& buffer, const te::Axes& point);
// `buffer` in elements of `type`, by a block T_cast; itself where they are.
Buffer ConvertTo(te::ComputeBuilder& builder, const Buffer& buffer, DataType type);
PrimExpr ConstOf(DataType type, double value);   // Rounded toward zero for integers.
PrimExpr OnlyElementOf(const TensorData& data);  // A constant without dimensions, exactly.

// `data` with `begins[i]` elements before and `ends[i]` after axis i, negative ones cropped; `data` itself where all
// are 0.
Buffer PadBuffer(te::ComputeBuilder& builder, const Buffer& data, const std::vector<int64_t>& begins,
                 const std::vector<int64_t>& ends, const PrimExpr& value, const std::string& name = "pad_temp");

}  // namespace lathe::relax
