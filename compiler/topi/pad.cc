#include "compiler/topi/pad.h"

#include <algorithm>

#include "compiler/script/checked_expr.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

struct Border {
  std::vector<int64_t> before, after;
};

StatusOr<Border> BorderOf(std::string_view op, const Tensor& x, const std::vector<int64_t>& before,
                          const std::vector<int64_t>& after) {
  Border border{before, after.empty() ? before : after};
  if (border.before.size() > x.ndim() || border.after.size() > x.ndim())
    return OperatorError(op, "more numbers than the " + std::to_string(x.ndim()) + " dimensions");
  border.before.resize(x.ndim(), 0);
  border.after.resize(x.ndim(), 0);
  for (const auto* side : {&border.before, &border.after}) {
    if (std::any_of(side->begin(), side->end(), [](int64_t n) { return n < 0; }))
      return OperatorError(op, "a number of elements is negative");
  }
  return border;
}

Shape Widened(const Shape& shape, const Border& border) {
  Shape wide;
  for (size_t i = 0; i < shape.size(); ++i) wide.push_back(shape[i] + Expr(border.before[i] + border.after[i]));
  return wide;
}

Expr AllOf(const std::vector<Expr>& conditions) {
  Expr all = conditions.front();
  for (size_t i = 1; i < conditions.size(); ++i) all = And(all, conditions[i]);
  return all;
}

Expr PadValue(const Tensor& x, const Border& border, const Point& at, const Expr& value, PadAsks asks) {
  const auto is_asked = [&](int64_t side) { return asks == PadAsks::kBothSides || side != 0; };
  std::vector<Expr> inside;
  Point index = at;
  for (size_t i = 0; i < at.size(); ++i) {
    if (border.before[i] == 0 && border.after[i] == 0) continue;
    index[i] = at[i] - Expr(border.before[i]);
    if (is_asked(border.before[i])) inside.push_back(LessEqual(border.before[i], at[i]));
    if (is_asked(border.after[i])) inside.push_back(Less(at[i], x.shape()[i] + Expr(border.before[i])));
  }
  if (inside.empty()) return x(at);
  return MakeCall(x.dtype(), "if_then_else", {AllOf(inside), x(index), value});
}

}  // namespace

StatusOr<Tensor> Pad(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                     std::optional<Expr> value, te::ComputeOptions options, PadAsks asks) {
  ASSIGN_OR_RETURN(const Border border, BorderOf("nn.pad", x, before, after));
  StatusOr<Expr> element = ConvertExpr(x.dtype(), value ? *value : NumberOf(x.dtype(), 0));
  if (!element.ok()) return element.status().WithContext("topi.nn.pad");
  options.tag = "injective,pad";
  return te::Compute(
      Widened(x.shape(), border), [&](const Point& at) { return PadValue(x, border, at, *element, asks); }, options);
}

StatusOr<Tensor> MirrorPad(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                           const std::string& mode, const std::string& name) {
  ASSIGN_OR_RETURN(const Border border, BorderOf("nn.mirror_pad", x, before, after));
  if (mode != "SYMMETRIC" && mode != "REFLECT")
    return OperatorError("nn.mirror_pad", "no mode \"" + mode + "\"; choose \"SYMMETRIC\" or \"REFLECT\"");
  const int64_t edge = mode == "SYMMETRIC" ? 0 : 1;
  const auto mirrored = [&](const Expr& at, size_t i) {
    const Expr extent = x.shape()[i], place = at - Expr(border.before[i]);
    const Expr low = Expr(edge - 1) - place, high = extent * Expr(2) - Expr(edge + 1) - place;
    const Expr inner = MakeCall(at.dtype(), "if_then_else", {Less(at, border.before[i]), low, place});
    return MakeCall(at.dtype(), "if_then_else", {LessEqual(extent + Expr(border.before[i]), at), high, inner});
  };
  return te::Compute(Widened(x.shape(), border),
                     [&](Point at) {
                       for (size_t i = 0; i < at.size(); ++i) {
                         if (border.before[i] != 0 || border.after[i] != 0) at[i] = mirrored(at[i], i);
                       }
                       return x(at);
                     },
                     {.name = name, .tag = "injective,pad"});
}

StatusOr<Tensor> Dilate(const Tensor& x, const std::vector<int64_t>& strides, const Expr& value,
                        const std::string& name) {
  if (strides.size() != x.ndim() || std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s < 1; }))
    return OperatorError("nn.dilate", "expected a stride of at least 1 per dimension");
  ASSIGN_OR_RETURN(const Expr element, ConvertExpr(x.dtype(), value));
  Shape shape;
  for (size_t i = 0; i < strides.size(); ++i) shape.push_back((x.shape()[i] - Expr(1)) * Expr(strides[i]) + Expr(1));
  const auto spread = [&](const Point& at) {
    std::vector<Expr> hits;
    Point index = at;
    for (size_t i = 0; i < at.size(); ++i) {
      if (strides[i] == 1) continue;
      index[i] = FloorDiv(at[i], strides[i]);
      hits.push_back(Equal(FloorMod(at[i], strides[i]), 0));
    }
    return hits.empty() ? x(at) : MakeCall(x.dtype(), "if_then_else", {AllOf(hits), x(index), element});
  };
  return te::Compute(shape, spread, {.name = name, .tag = "injective,dilate"});
}

}  // namespace lathe::topi
