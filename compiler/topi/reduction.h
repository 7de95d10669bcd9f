// Operators that combine all elements along some axes.
#pragma once

#include "compiler/te/reduction.h"
#include "compiler/topi/operand.h"

namespace lathe::topi {

// With `keepdims` the axes stay, with extent 1. Along none each element is combined with the start alone.
StatusOr<Tensor> ReduceAlong(std::string_view op, te::Combiner combiner, const Tensor& x,
                             const std::vector<int64_t>& axes, bool keepdims);
// The place of the greatest (or least) element as int32: along one axis its index there, along several or all of them
// the index into their elements in row-major order, along none 0. Of equal ones the first, or the last.
StatusOr<Tensor> ArgReduce(std::string_view op, bool is_max, const Tensor& x, const std::vector<int64_t>& axes,
                           bool keepdims, bool select_last_index);

}  // namespace lathe::topi
