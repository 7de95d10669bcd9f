#include "compiler/topi/pool.h"

#include <algorithm>

#include "compiler/te/reduction.h"
#include "compiler/topi/pad.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

StatusOr<std::vector<size_t>> SpatialOf(std::string_view op, const Tensor& x, const std::string& layout, size_t count) {
  std::vector<size_t> places;
  for (const char c : std::string("DHW")) {
    const size_t place = layout.find(c);
    if (place != std::string::npos) places.push_back(place);
  }
  if (places.size() == count && (places.empty() || *std::max_element(places.begin(), places.end()) < x.ndim()))
    return places;
  return OperatorError(
      op, "layout \"" + layout + "\" does not name " + std::to_string(count) + " of the dimensions by D, H, W");
}

Status CheckType(std::string_view op, const std::string& type) {
  if (type == "max" || type == "avg") return OkStatus();
  return OperatorError(op, "no kind \"" + type + "\"; choose \"max\" or \"avg\"");
}

Status CheckNumbers(const PoolOptions& o) {
  const size_t dim = o.kernel.size();
  const auto are_at_least = [](const std::vector<int64_t>& numbers, int64_t least) {
    return std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n >= least; });
  };
  if (o.strides.size() != dim || o.dilation.size() != dim || o.padding.size() != 2 * dim)
    return OperatorError("nn.pool", "expected a stride, a dilation and two paddings per extent of the window");
  if (are_at_least(o.kernel, 1) && are_at_least(o.strides, 1) && are_at_least(o.dilation, 1) &&
      are_at_least(o.padding, 0))
    return OkStatus();
  return OperatorError("nn.pool", "windows, strides and dilations are at least 1, paddings at least 0");
}

// One spatial dimension.
struct Window {
  size_t place;
  int64_t kernel, stride, dilation, before, after;
  Expr in;
  IterVar iter;
};

std::vector<Window> WindowsOf(const Tensor& x, const PoolOptions& o, const std::vector<size_t>& places) {
  std::vector<Window> windows;
  for (size_t i = 0; i < places.size(); ++i)
    windows.push_back({places[i], o.kernel[i], o.strides[i], o.dilation[i], o.padding[i], o.padding[places.size() + i],
                       x.shape()[places[i]], te::ReduceAxis({0, o.kernel[i]}, "rv" + std::to_string(i))});
  return windows;
}

std::vector<IterVar> ItersOf(const std::vector<Window>& windows) {
  std::vector<IterVar> iters;
  for (const Window& window : windows) iters.push_back(window.iter);
  return iters;
}

// How many elements of the window at `at` count.
Expr CountAt(const std::vector<Window>& windows, const Point& at, bool include_pad) {
  Expr count = 1;
  for (const Window& w : windows) {
    Expr begin = at[w.place] * Expr(w.stride) - Expr(w.before);
    const Expr last = w.in - Expr(1) + Expr(include_pad ? w.after : 0);
    const Expr end = Min(begin + Expr((w.kernel - 1) * w.dilation), last);
    if (!include_pad)
      begin = begin + FloorDiv(Max(Expr(0) - begin, 0) + Expr(w.dilation - 1), w.dilation) * Expr(w.dilation);
    count = count * (FloorDiv(end - begin, w.dilation) + Expr(1));
  }
  return include_pad ? count : Max(count, 1);
}

StatusOr<Shape> PooledShape(const Tensor& x, const std::vector<Window>& windows, bool ceil_mode) {
  Shape shape = x.shape();
  for (const Window& w : windows) {
    const int64_t window = (w.kernel - 1) * w.dilation + 1, extra = ceil_mode ? w.stride - 1 : 0;
    Expr& extent = shape[w.place];
    extent = FloorDiv(extent + Expr(w.before + w.after + extra - window), w.stride) + Expr(1);
    if (AsIntConst(extent) != nullptr && *AsIntConst(extent) < 1)
      return OperatorError("nn.pool", "the window is larger than the padded data");
  }
  return shape;
}

StatusOr<Tensor> PadForWindows(const Tensor& x, const std::vector<Window>& windows, bool ceil_mode, const Expr& value) {
  std::vector<int64_t> before(x.ndim(), 0), after(x.ndim(), 0);
  bool is_padded = false;
  for (const Window& w : windows) {
    before[w.place] = w.before;
    after[w.place] = w.after + (ceil_mode ? w.stride - 1 : 0);
    is_padded |= before[w.place] + after[w.place] != 0;
  }
  if (!is_padded) return x;
  return Pad(x, before, after, value, Ax("pad_temp", kInjective, x.ndim()), PadAsks::kPaddedSides);
}

Expr CombineWindow(te::Combiner combiner, const Tensor& padded, const std::vector<Window>& windows, Point at) {
  for (const Window& w : windows) at[w.place] = at[w.place] * Expr(w.stride) + w.iter.var * Expr(w.dilation);
  return te::ReduceOver(combiner, padded(at), ItersOf(windows));
}

AttrMap RuleOf(const std::string& name) { return {{"schedule_rule", "meta_schedule." + name}}; }

// The sums divided by how many elements each has.
Tensor DivideSums(const Tensor& sum, const std::string& name, const std::function<Expr(const Point&)>& count) {
  return te::Compute(
      sum.shape(), [&](const Point& at) { return sum(at) / count(at); },
      Ax(name, kElementwise, sum.ndim(), RuleOf(name)));
}

// The part of an adaptive pool's input that belongs to one output.
struct AdaptiveWindow {
  size_t place;
  Expr in, out;
  Expr BeginAt(const Expr& at) const { return FloorDiv(at * in, out); }
  Expr SizeAt(const Expr& at) const {
    const Expr end = (at + Expr(1)) * in;
    const Expr last = MakeSelect(Equal(FloorMod(end, out), 0), FloorDiv(end, out), FloorDiv(end, out) + Expr(1));
    return last - BeginAt(at);
  }
};

Expr CombineAdaptive(te::Combiner combiner, const Tensor& x, const std::vector<AdaptiveWindow>& windows, Point at) {
  std::vector<IterVar> iters;
  for (size_t i = 0; i < windows.size(); ++i) {
    Expr& index = at[windows[i].place];
    iters.push_back(te::ReduceAxis({0, windows[i].SizeAt(index)}, "rv" + std::to_string(i)));
    index = windows[i].BeginAt(index) + iters.back().var;
  }
  return te::ReduceOver(combiner, x(at), iters);
}

}  // namespace

StatusOr<Tensor> Pool(const Tensor& x, const PoolOptions& options) {
  RETURN_IF_ERROR(CheckType("nn.pool", options.pool_type));
  RETURN_IF_ERROR(CheckNumbers(options));
  ASSIGN_OR_RETURN(const std::vector<size_t> places, SpatialOf("nn.pool", x, options.layout, options.kernel.size()));
  const std::vector<Window> windows = WindowsOf(x, options, places);
  ASSIGN_OR_RETURN(const Shape shape, PooledShape(x, windows, options.ceil_mode));
  const bool is_max = options.pool_type == "max";
  const Expr nothing = is_max ? te::MinValue(x.dtype()) : NumberOf(x.dtype(), 0);
  ASSIGN_OR_RETURN(const Tensor padded, PadForWindows(x, windows, options.ceil_mode, nothing));
  const te::Combiner combiner = is_max ? te::Combiner::kMax : te::Combiner::kSum;
  const std::string name = is_max ? "pool_max" : "pool_sum";
  const Tensor combined = te::Compute(
      shape, [&](const Point& at) { return CombineWindow(combiner, padded, windows, at); },
      Ax(name, is_max ? "pool_max" : "pool_sum", x.ndim(), is_max ? RuleOf(name) : AttrMap{}));
  if (is_max) return combined;
  return DivideSums(combined, "pool_avg", [&](const Point& at) {
    return MakeCast(x.dtype(), CountAt(windows, at, options.count_include_pad));
  });
}

StatusOr<Tensor> AdaptivePool(const Tensor& x, const std::vector<int64_t>& output_size, const std::string& pool_type,
                              const std::string& layout) {
  RETURN_IF_ERROR(CheckType("nn.adaptive_pool", pool_type));
  ASSIGN_OR_RETURN(const std::vector<size_t> places, SpatialOf("nn.adaptive_pool", x, layout, output_size.size()));
  Shape shape = x.shape();
  std::vector<AdaptiveWindow> windows;
  for (size_t i = 0; i < places.size(); ++i) {
    if (output_size[i] < 1) return OperatorError("nn.adaptive_pool", "an extent of the result is less than 1");
    windows.push_back({places[i], x.shape()[places[i]], Expr(output_size[i])});
    shape[places[i]] = Expr(output_size[i]);
  }
  const bool is_max = pool_type == "max";
  const te::Combiner combiner = is_max ? te::Combiner::kMax : te::Combiner::kSum;
  const std::string name = is_max ? "adaptive_pool_max" : "adaptive_pool_sum";
  const Tensor combined = te::Compute(
      shape, [&](const Point& at) { return CombineAdaptive(combiner, x, windows, at); },
      Ax(name, name, x.ndim(), is_max ? RuleOf(name) : AttrMap{}));
  if (is_max) return combined;
  return DivideSums(combined, "adaptive_pool_avg", [&](const Point& at) {
    Expr count = MakeCast(x.dtype(), windows[0].SizeAt(at[windows[0].place]));
    for (size_t i = 1; i < windows.size(); ++i)
      count = count * MakeCast(x.dtype(), windows[i].SizeAt(at[windows[i].place]));
    return count;
  });
}

}  // namespace lathe::topi
