// Operators that move elements: each element of a result is one of an operand, or a constant.
#pragma once

#include <optional>
#include <string>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// As many elements as before; one extent may be -1 where all others are numbers.
StatusOr<Tensor> Reshape(const Tensor& x, Shape shape);
StatusOr<Tensor> Transpose(const Tensor& x, const std::vector<int64_t>& axes);  // Empty: reversed.
StatusOr<Tensor> ExpandDims(const Tensor& x, int64_t axis, int64_t num_newaxis);
StatusOr<Tensor> Squeeze(const Tensor& x, const std::vector<int64_t>& axes);  // Empty: all of extent 1.
StatusOr<Tensor> Flatten(const Tensor& x);                                    // All but the first dimension in one.
StatusOr<Tensor> Concatenate(const std::vector<Tensor>& xs, int64_t axis);
StatusOr<Tensor> Stack(const std::vector<Tensor>& xs, int64_t axis);
// At these places of the axis, ascending; or into this many equal parts.
StatusOr<std::vector<Tensor>> Split(const Tensor& x, const std::vector<int64_t>& places, int64_t axis);
StatusOr<std::vector<Tensor>> SplitSections(const Tensor& x, int64_t sections, int64_t axis);
// Numpy's x[begin:end:stride] along `axes` (empty: the first ones); ends are clipped. Strides may be fewer: then 1.
// `is_size`: `end` says how many, -1 all that remain.
StatusOr<Tensor> StridedSlice(const Tensor& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                              const std::vector<int64_t>& strides, const std::vector<int64_t>& axes, bool is_size);
StatusOr<Tensor> Tile(const Tensor& x, const std::vector<int64_t>& repeats);
StatusOr<Tensor> Repeat(const Tensor& x, int64_t repeats, int64_t axis);
StatusOr<Tensor> Flip(const Tensor& x, int64_t axis);
// Elements of x at `indices` along an axis (none: of x in row-major order). Mode "clip" takes the nearest for an index
// outside, "wrap" counts round and round, "fast" trusts. The first `batch_dims` dimensions (negative: as counted from
// the last of `indices`) of both go together; they come before `axis`.
StatusOr<Tensor> Take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis, const std::string& mode,
                      int64_t batch_dims = 0);
StatusOr<Tensor> Gather(const Tensor& x, int64_t axis, const Tensor& indices);
// indices[:, p] is the index into the first dimensions of x; `batch_dims` leading dimensions go together.
StatusOr<Tensor> GatherNd(const Tensor& x, const Tensor& indices, int64_t batch_dims);
StatusOr<Tensor> OneHot(const Tensor& indices, const Expr& on, const Expr& off, int64_t depth, int64_t axis,
                        DataType type);
StatusOr<Tensor> Arange(const Expr& start, const Expr& stop, const Expr& step, DataType type);
StatusOr<Tensor> Trilu(const Tensor& x, const Expr& k, bool upper);
StatusOr<std::vector<Tensor>> Meshgrid(const std::vector<Tensor>& xs, const std::string& indexing);

}  // namespace lathe::topi
