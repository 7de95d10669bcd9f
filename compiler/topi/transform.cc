#include "compiler/topi/transform.h"

#include <algorithm>
#include <cmath>

#include "compiler/script/checked_expr.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

Expr Product(const Shape& shape) {
  Expr product = 1;
  for (const Expr& extent : shape) product = product * extent;
  return product;
}

Expr FlatIndexOf(const Point& at, const Shape& shape) {
  Expr index = 0;
  for (size_t i = 0; i < at.size(); ++i) index = index * shape[i] + at[i];
  return index;
}

Point PointAtFlat(Expr index, const Shape& shape) {
  Point at(shape.size(), 0);
  for (size_t i = shape.size(); i-- > 0;) {
    at[i] = FloorMod(index, shape[i]);
    index = FloorDiv(index, shape[i]);
  }
  return at;
}

StatusOr<Shape> Complete(Shape shape, const Shape& of) {
  const auto is_open = [](const Expr& extent) { return IsConstInt(extent, -1); };
  const auto open = std::find_if(shape.begin(), shape.end(), is_open);
  if (open != shape.end()) {
    *open = 1;
    if (std::any_of(shape.begin(), shape.end(), is_open))
      return OperatorError("reshape", "more than one extent of the new shape is -1");
    const Expr rest = Product(shape);
    if (IsConstInt(rest, 0)) return OperatorError("reshape", "an extent of -1 beside one of 0 can be anything");
    *open = FloorDiv(Product(of), rest);
  }
  const Expr now = Product(shape), before = Product(of);
  if (MayEqual(now, before)) return shape;
  return OperatorError("reshape", "the new shape has " + std::to_string(*AsIntConst(now)) + " elements, the tensor " +
                                      std::to_string(*AsIntConst(before)));
}

// x's elements at index(at).
Tensor Move(const Tensor& x, const Shape& shape, const std::string& name,
            const std::function<Point(const Point&)>& index) {
  return te::Compute(shape, [&](const Point& at) { return x(index(at)); }, Ax(name, kInjective, shape.size()));
}

Status CheckSameBut(std::string_view op, const std::vector<Tensor>& xs, std::optional<size_t> axis) {
  if (xs.empty()) return OperatorError(op, "no tensor; give at least one");
  for (const Tensor& x : xs) {
    RETURN_IF_ERROR(CheckNdim(op, "tensor", x, xs[0].ndim()));
    if (x.dtype() != xs[0].dtype()) return OperatorError(op, "the tensors have different types");
    for (size_t i = 0; i < x.ndim(); ++i) {
      if (axis != i && !MayEqual(x.shape()[i], xs[0].shape()[i]))
        return OperatorError(op, "the tensors differ in dimension " + std::to_string(i));
    }
  }
  return OkStatus();
}

// One dimension of a slice: `count` elements from `begin` in steps.
struct Slice {
  int64_t begin = 0, stride = 1;
  Expr count;
};

StatusOr<Slice> SliceOf(int64_t begin, std::optional<int64_t> end, int64_t stride, int64_t extent) {
  if (stride == 0) return OperatorError("strided_slice", "a stride is 0");
  const int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? extent - 1 : extent;
  const auto clip = [&](int64_t place) { return std::clamp(place < 0 ? place + extent : place, low, high); };
  const int64_t first = clip(begin), last = end ? clip(*end) : (stride < 0 ? -1 : extent);
  const int64_t span = stride < 0 ? first - last : last - first, step = std::abs(stride);
  return Slice{first, stride, Expr(std::max<int64_t>(0, (span + step - 1) / step))};
}

StatusOr<std::vector<Slice>> PlanSlices(const Tensor& x, const std::vector<int64_t>& begin,
                                        const std::vector<int64_t>& end, const std::vector<int64_t>& strides,
                                        const std::vector<int64_t>& axes, bool is_size) {
  std::vector<Slice> slices;
  for (const Expr& extent : x.shape()) slices.push_back({0, 1, extent});
  const size_t count = axes.empty() ? begin.size() : axes.size();
  if (count > x.ndim() || begin.size() != count || end.size() > count)
    return OperatorError("strided_slice",
                         "expected a begin and an end for each of at most " + std::to_string(x.ndim()) + " axes");
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const int64_t axis,
                     NormalizeAxis("strided_slice", axes.empty() ? static_cast<int64_t>(i) : axes[i],
                                   static_cast<int64_t>(x.ndim())));
    const Expr& extent = x.shape()[static_cast<size_t>(axis)];
    if (AsIntConst(extent) == nullptr)
      return OperatorError("strided_slice", "the extent of axis " + std::to_string(axis) + " is symbolic");
    std::optional<int64_t> last = i < end.size() ? std::optional(end[i]) : std::nullopt;
    if (is_size && last) last = *last < 0 ? std::nullopt : std::optional(begin[i] + *last);
    const int64_t stride = is_size || i >= strides.size() ? 1 : strides[i];
    ASSIGN_OR_RETURN(slices[static_cast<size_t>(axis)], SliceOf(begin[i], last, stride, *AsIntConst(extent)));
    slices[static_cast<size_t>(axis)].count =
        IntConst(extent.dtype(), *AsIntConst(slices[static_cast<size_t>(axis)].count));
  }
  return slices;
}

StatusOr<Expr> IndexWithin(const Expr& index, const Expr& extent, const std::string& mode) {
  if (mode == "clip" || mode.empty()) return Min(Max(0, index), extent - Expr(1));
  const auto mod = [&](const Expr& e) { return MakeBinary(BinaryOp::kTruncMod, e, MakeCast(e.dtype(), extent)); };
  if (mode == "wrap") return mod(mod(index) + MakeCast(index.dtype(), extent));  // As TVM spells it.
  if (mode == "fast") return index;
  return OperatorError("take", "no mode \"" + mode + "\"; choose \"clip\", \"wrap\" or \"fast\"");
}

Status CheckIndices(std::string_view op, const Tensor& indices) {
  if (indices.dtype().is_int()) return OkStatus();
  return OperatorError(op, "indices \"" + indices.name() + "\" are " + indices.dtype().ToString() + ", not integers");
}

Shape Concat(const Shape& a, const Shape& b, const Shape& c = {}) {
  Shape all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}
Shape Part(const Shape& shape, size_t from, size_t to) {
  return {shape.begin() + static_cast<int64_t>(from), shape.begin() + static_cast<int64_t>(to)};
}

}  // namespace

StatusOr<Tensor> Reshape(const Tensor& x, Shape shape) {
  ASSIGN_OR_RETURN(shape, Complete(std::move(shape), x.shape()));
  return Move(x, shape, "T_reshape", [&](const Point& at) { return PointAtFlat(FlatIndexOf(at, shape), x.shape()); });
}

StatusOr<Tensor> Transpose(const Tensor& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> order = axes;
  for (size_t i = x.ndim(); axes.empty() && i-- > 0;) order.push_back(static_cast<int64_t>(i));
  std::vector<bool> is_taken(x.ndim(), false);
  Shape shape;
  for (int64_t& axis : order) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis("transpose", axis, static_cast<int64_t>(x.ndim())));
    if (is_taken[static_cast<size_t>(axis)]) return OperatorError("transpose", "an axis is named twice");
    is_taken[static_cast<size_t>(axis)] = true;
    shape.push_back(x.shape()[static_cast<size_t>(axis)]);
  }
  if (order.size() != x.ndim()) return OperatorError("transpose", "not every axis is named");
  return Move(x, shape, "T_transpose", [&](const Point& at) {
    Point index(x.ndim(), 0);
    for (size_t i = 0; i < order.size(); ++i) index[static_cast<size_t>(order[i])] = at[i];
    return index;
  });
}

StatusOr<Tensor> ExpandDims(const Tensor& x, int64_t axis, int64_t num_newaxis) {
  ASSIGN_OR_RETURN(const int64_t place, NormalizeAxis("expand_dims", axis, static_cast<int64_t>(x.ndim()) + 1));
  if (num_newaxis < 0 || num_newaxis > 64)
    return OperatorError("expand_dims", "expected 0 to 64 new axes, got " + std::to_string(num_newaxis));
  const size_t at_dim = static_cast<size_t>(place), count = static_cast<size_t>(num_newaxis);
  const Shape shape = Concat(Part(x.shape(), 0, at_dim), Shape(count, Expr(1)), Part(x.shape(), at_dim, x.ndim()));
  te::ComputeOptions options = Ax("T_expand_dims", kBroadcast, shape.size());
  return te::Compute(
      shape, [&](const Point& at) { return x(Concat(Part(at, 0, at_dim), Part(at, at_dim + count, at.size()))); },
      options);
}

StatusOr<Tensor> Squeeze(const Tensor& x, const std::vector<int64_t>& axes) {
  std::vector<bool> is_dropped(x.ndim(), false);
  for (size_t i = 0; axes.empty() && i < x.ndim(); ++i) is_dropped[i] = IsConstInt(x.shape()[i], 1);
  for (const int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("squeeze", axis, static_cast<int64_t>(x.ndim())));
    if (!IsConstInt(x.shape()[static_cast<size_t>(dim)], 1))
      return OperatorError("squeeze", "the extent of axis " + std::to_string(axis) + " is not 1");
    is_dropped[static_cast<size_t>(dim)] = true;
  }
  Shape shape;
  for (size_t i = 0; i < x.ndim(); ++i) {
    if (!is_dropped[i]) shape.push_back(x.shape()[i]);
  }
  return Move(x, shape, "T_squeeze", [&](const Point& at) {
    Point index;
    size_t next = 0;
    for (size_t i = 0; i < x.ndim(); ++i) index.push_back(is_dropped[i] ? Expr(0) : at[next++]);
    return index;
  });
}

StatusOr<Tensor> Flatten(const Tensor& x) {
  if (x.ndim() == 0) return OperatorError("nn.flatten", "\"" + x.name() + "\" has no dimensions");
  const Shape inner = Part(x.shape(), 1, x.ndim());
  return te::Compute({x.shape()[0], Product(inner)},
                     [&](const Point& at) { return x(Concat({at[0]}, PointAtFlat(at[1], inner))); },
                     {.name = "compute", .tag = kInjective, .attrs = {}, .axis_names = {"i", "j"}});
}

StatusOr<Tensor> Concatenate(const std::vector<Tensor>& xs, int64_t axis) {
  if (xs.empty()) return OperatorError("concatenate", "no tensor; give at least one");
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("concatenate", axis, static_cast<int64_t>(xs[0].ndim())));
  const size_t d = static_cast<size_t>(dim);
  RETURN_IF_ERROR(CheckSameBut("concatenate", xs, d));
  std::vector<Expr> begins;
  Shape shape = xs[0].shape();
  shape[d] = IntConst(shape[d].dtype(), 0);
  for (const Tensor& x : xs) {
    begins.push_back(shape[d]);
    shape[d] = shape[d] + x.shape()[d];
  }
  const auto from = [&](size_t i, Point at) {
    at[d] = at[d] - begins[i];
    return xs[i](std::move(at));
  };
  return te::Compute(
      shape,
      [&](const Point& at) {
        Expr value = from(0, at);
        for (size_t i = 1; i < xs.size(); ++i)
          value = MakeCall(value.dtype(), "if_then_else", {LessEqual(begins[i], at[d]), from(i, at), value});
        return value;
      },
      Ax("T_concat", kInjective, shape.size()));
}

StatusOr<Tensor> Stack(const std::vector<Tensor>& xs, int64_t axis) {
  RETURN_IF_ERROR(CheckSameBut("stack", xs, std::nullopt));
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("stack", axis, static_cast<int64_t>(xs[0].ndim()) + 1));
  const size_t d = static_cast<size_t>(dim);
  const Shape& part = xs[0].shape();
  const Shape shape = Concat(Part(part, 0, d), {Expr(static_cast<int64_t>(xs.size()))}, Part(part, d, part.size()));
  return te::Compute(
      shape,
      [&](const Point& at) {
        const Point rest = Concat(Part(at, 0, d), Part(at, d + 1, at.size()));
        Expr value = xs[0](rest);
        for (size_t i = 1; i < xs.size(); ++i)
          value = MakeCall(value.dtype(), "if_then_else", {Equal(at[d], static_cast<int64_t>(i)), xs[i](rest), value});
        return value;
      },
      Ax("T_stack", kInjective, shape.size()));
}

namespace {

StatusOr<std::vector<Tensor>> SplitAs(const std::string& name, const Tensor& x, const std::vector<int64_t>& places,
                                      int64_t axis) {
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("split", axis, static_cast<int64_t>(x.ndim())));
  const size_t d = static_cast<size_t>(dim);
  std::vector<Tensor> parts;
  for (size_t i = 0; i <= places.size(); ++i) {
    const int64_t begin = i == 0 ? 0 : places[i - 1];
    const Expr end = i < places.size() ? IntConst(x.shape()[d].dtype(), places[i]) : x.shape()[d];
    const int64_t* last = AsIntConst(end);
    if (begin < 0 || (last != nullptr && *last < begin))
      return OperatorError("split", "the places are not ascending within the axis");
    Shape shape = x.shape();
    shape[d] = end - IntConst(end.dtype(), begin);
    parts.push_back(Move(x, shape, name, [&](Point at) {
      at[d] = at[d] + IntConst(at[d].dtype(), begin);
      return at;
    }));
  }
  return parts;
}

}  // namespace

StatusOr<std::vector<Tensor>> Split(const Tensor& x, const std::vector<int64_t>& places, int64_t axis) {
  return SplitAs("T_split", x, places, axis);
}

StatusOr<std::vector<Tensor>> SplitSections(const Tensor& x, int64_t sections, int64_t axis) {
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("split", axis, static_cast<int64_t>(x.ndim())));
  const int64_t* extent = AsIntConst(x.shape()[static_cast<size_t>(dim)]);
  if (extent == nullptr || sections < 1 || *extent % sections != 0)
    return OperatorError("split", "expected an extent that " + std::to_string(sections) + " equal parts make up");
  std::vector<int64_t> places;
  for (int64_t i = 1; i < sections; ++i) places.push_back(*extent / sections * i);
  return SplitAs("T_split_sections", x, places, axis);
}

StatusOr<Tensor> StridedSlice(const Tensor& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                              const std::vector<int64_t>& strides, const std::vector<int64_t>& axes, bool is_size) {
  ASSIGN_OR_RETURN(const std::vector<Slice> slices, PlanSlices(x, begin, end, strides, axes, is_size));
  Shape shape;
  for (const Slice& slice : slices) shape.push_back(slice.count);
  return Move(x, shape, "T_strided_slice", [&](Point at) {
    for (size_t i = 0; i < at.size(); ++i) {
      const DataType type = at[i].dtype();
      at[i] = at[i] * IntConst(type, slices[i].stride) + IntConst(type, slices[i].begin);
    }
    return at;
  });
}

StatusOr<Tensor> Tile(const Tensor& x, const std::vector<int64_t>& repeats) {
  const size_t ndim = std::max(x.ndim(), repeats.size());
  const size_t x_skips = ndim - x.ndim(), r_skips = ndim - repeats.size();
  Shape shape;
  for (size_t i = 0; i < ndim; ++i) {
    const int64_t times = i < r_skips ? 1 : repeats[i - r_skips];
    if (times < 0) return OperatorError("tile", "a number of repeats is negative");
    shape.push_back((i < x_skips ? Expr(1) : x.shape()[i - x_skips]) * Expr(times));
  }
  te::ComputeOptions options = Ax("T_tile", kBroadcast, ndim);
  return te::Compute(
      shape,
      [&](const Point& at) {
        Point index;
        for (size_t i = x_skips; i < ndim; ++i) index.push_back(FloorMod(at[i], x.shape()[i - x_skips]));
        return x(index);
      },
      options);
}

StatusOr<Tensor> Repeat(const Tensor& x, int64_t repeats, int64_t axis) {
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("repeat", axis, static_cast<int64_t>(x.ndim())));
  if (repeats < 1) return OperatorError("repeat", "expected at least 1 repeat, got " + std::to_string(repeats));
  const size_t d = static_cast<size_t>(dim);
  Shape shape = x.shape();
  shape[d] = shape[d] * Expr(repeats);
  te::ComputeOptions options = Ax("T_repeat", kBroadcast, shape.size());
  return te::Compute(
      shape,
      [&](Point at) {
        at[d] = FloorDiv(at[d], repeats);
        return x(at);
      },
      options);
}

StatusOr<Tensor> Flip(const Tensor& x, int64_t axis) {
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("flip", axis, static_cast<int64_t>(x.ndim())));
  const size_t d = static_cast<size_t>(dim);
  return Move(x, x.shape(), "T_reverse_sequence", [&](Point at) {
    at[d] = x.shape()[d] - Expr(1) - at[d];
    return at;
  });
}

namespace {

// How many dimensions of x and indices go together in a Take along dimension `dim`.
StatusOr<size_t> BatchOf(const Tensor& x, const Tensor& indices, int64_t dim, int64_t batch_dims) {
  const auto ndim = static_cast<int64_t>(indices.ndim());
  const int64_t batch = batch_dims < 0 ? batch_dims + ndim : batch_dims;
  if (batch < 0 || batch > std::min(ndim, dim))
    return OperatorError("take", "batch_dims is " + std::to_string(batch_dims) + "; choose one from " +
                                     std::to_string(-ndim) + " to " + std::to_string(std::min(ndim, dim)) +
                                     ": dimensions of indices that come before the axis");
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    if (!MayEqual(x.shape()[i], indices.shape()[i]))
      return OperatorError("take", "x and indices differ in dimension " + std::to_string(i) + ", one of the batch");
  }
  return static_cast<size_t>(batch);
}

}  // namespace

StatusOr<Tensor> Take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis, const std::string& mode,
                      int64_t batch_dims) {
  RETURN_IF_ERROR(CheckIndices("take", indices));
  if (!axis) {
    RETURN_IF_ERROR(IndexWithin(0, 1, mode).status());
    return Move(x, indices.shape(), "T_take", [&](const Point& at) {
      return PointAtFlat(IndexWithin(indices(at), Product(x.shape()), mode).value(), x.shape());
    });
  }
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("take", *axis, static_cast<int64_t>(x.ndim())));
  RETURN_IF_ERROR(IndexWithin(0, 1, mode).status());
  ASSIGN_OR_RETURN(const size_t batch, BatchOf(x, indices, dim, batch_dims));
  const size_t d = static_cast<size_t>(dim), n = indices.ndim() - batch;
  const Shape shape =
      Concat(Part(x.shape(), 0, d), Part(indices.shape(), batch, indices.ndim()), Part(x.shape(), d + 1, x.ndim()));
  return Move(x, shape, "T_take", [&](const Point& at) {
    const Point place = Concat(Part(at, 0, batch), Part(at, d, d + n));
    const Expr index = IndexWithin(indices(place), x.shape()[d], mode).value();
    return Concat(Part(at, 0, d), {index}, Part(at, d + n, at.size()));
  });
}

StatusOr<Tensor> Gather(const Tensor& x, int64_t axis, const Tensor& indices) {
  RETURN_IF_ERROR(CheckIndices("gather", indices));
  RETURN_IF_ERROR(CheckNdim("gather", "indices", indices, x.ndim()));
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("gather", axis, static_cast<int64_t>(x.ndim())));
  for (size_t i = 0; i < x.ndim(); ++i) {
    if (i != static_cast<size_t>(dim) && !MayEqual(x.shape()[i], indices.shape()[i]))
      return OperatorError("gather", "x and indices differ in dimension " + std::to_string(i));
  }
  return Move(x, indices.shape(), "T_gather", [&](Point at) {
    const Expr index = indices(at);
    at[static_cast<size_t>(dim)] = index;
    return at;
  });
}

StatusOr<Tensor> GatherNd(const Tensor& x, const Tensor& indices, int64_t batch_dims) {
  RETURN_IF_ERROR(CheckIndices("gather_nd", indices));
  const int64_t* depth = indices.ndim() == 0 ? nullptr : AsIntConst(indices.shape()[0]);
  const size_t batch = static_cast<size_t>(std::max<int64_t>(batch_dims, 0));
  if (depth == nullptr || *depth < 1 || batch + static_cast<size_t>(*depth) > x.ndim() || batch + 1 > indices.ndim())
    return OperatorError("gather_nd", "the first extent of indices, plus batch_dims, is a number from 1 to " +
                                          std::to_string(x.ndim()) + " (the dimensions of x)");
  const size_t n = indices.ndim() - 1, read = batch + static_cast<size_t>(*depth);
  const Shape shape = Concat(Part(indices.shape(), 1, n + 1), Part(x.shape(), read, x.ndim()));
  return Move(x, shape, "T_gather_nd", [&](const Point& at) {
    Point index = Part(at, 0, batch);
    for (int64_t i = 0; i < *depth; ++i) index.push_back(indices(Concat({Expr(i)}, Part(at, 0, n))));
    return Concat(index, Part(at, n, at.size()));
  });
}

StatusOr<Tensor> OneHot(const Tensor& indices, const Expr& on, const Expr& off, int64_t depth, int64_t axis,
                        DataType type) {
  RETURN_IF_ERROR(CheckIndices("one_hot", indices));
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("one_hot", axis, static_cast<int64_t>(indices.ndim()) + 1));
  ASSIGN_OR_RETURN(const Expr hot, ConvertExpr(type, on));
  ASSIGN_OR_RETURN(const Expr cold, ConvertExpr(type, off));
  if (depth < 0) return OperatorError("one_hot", "the depth is negative");
  const size_t d = static_cast<size_t>(dim);
  const Shape& part = indices.shape();
  const Shape shape = Concat(Part(part, 0, d), {Expr(depth)}, Part(part, d, part.size()));
  return te::Compute(
      shape,
      [&](const Point& at) {
        return MakeSelect(Equal(indices(Concat(Part(at, 0, d), Part(at, d + 1, at.size()))), at[d]), hot, cold);
      },
      Ax("T_one_hot", kInjective, shape.size()));
}

StatusOr<Tensor> Arange(const Expr& start, const Expr& stop, const Expr& step, DataType type) {
  const auto number = [](const Expr& e) -> std::optional<double> {
    if (const FloatImm* imm = e.As<FloatImm>()) return imm->value;
    return AsIntConst(e) == nullptr ? std::nullopt : std::optional(static_cast<double>(*AsIntConst(e)));
  };
  if (!number(start) || !number(stop) || !number(step) || *number(step) == 0)
    return OperatorError("arange", "start, stop and step are numbers, and step is not 0");
  const double count = std::ceil((*number(stop) - *number(start)) / *number(step));
  if (!(count < 0x1.0p31)) return OperatorError("arange", "the result has more than 2^31 elements");
  ASSIGN_OR_RETURN(const Expr first, ConvertExpr(type, start));
  ASSIGN_OR_RETURN(const Expr each, ConvertExpr(type, step));
  return te::Compute(
      {Expr(static_cast<int64_t>(std::max(count, 0.0)))},
      [&](const Point& at) { return first + each * (at[0].dtype() == type ? at[0] : MakeCast(type, at[0])); },
      Ax("T_arange", kInjective, 1));
}

StatusOr<Tensor> Trilu(const Tensor& x, const Expr& k, bool upper) {
  if (x.ndim() < 2) return OperatorError("trilu", "\"" + x.name() + "\" has fewer than 2 dimensions");
  if (!k.dtype().is_int()) return OperatorError("trilu", "k is no integer");
  return te::Compute(x.shape(),
                     [&](const Point& at) {
                       const Expr row = at[at.size() - 2] + k, column = at[at.size() - 1];
                       const Expr keeps = upper ? LessEqual(row, column) : LessEqual(column, row);
                       return MakeSelect(keeps, x(at), NumberOf(x.dtype(), 0));
                     },
                     {.name = "trilu", .tag = kInjective});
}

StatusOr<std::vector<Tensor>> Meshgrid(const std::vector<Tensor>& xs, const std::string& indexing) {
  if (indexing != "ij" && indexing != "xy")
    return OperatorError("meshgrid", "no indexing \"" + indexing + "\"; choose \"ij\" or \"xy\"");
  const bool is_swapped = indexing == "xy" && xs.size() >= 2;
  Shape shape;
  for (const Tensor& x : xs) {
    RETURN_IF_ERROR(CheckNdim("meshgrid", "tensor", x, x.ndim() == 0 ? 0 : 1));
    shape.push_back(x.ndim() == 0 ? Expr(1) : x.shape()[0]);
  }
  if (is_swapped) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (size_t i = 0; i < xs.size(); ++i) {
    const size_t d = is_swapped && i < 2 ? 1 - i : i;
    grids.push_back(
        Move(xs[i], shape, "T_meshgrid", [&](const Point& at) { return xs[i].ndim() == 0 ? Point{} : Point{at[d]}; }));
  }
  return grids;
}

}  // namespace lathe::topi
