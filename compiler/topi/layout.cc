#include "compiler/topi/layout.h"

#include "compiler/arith/data_layout.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

constexpr const char* kTransform = "layout_transform";

StatusOr<LayoutMap> LayoutMapOf(const Tensor& x, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const DataLayout source, DataLayout::Parse(from));
  ASSIGN_OR_RETURN(const DataLayout result, DataLayout::Parse(to));
  std::optional<LayoutMap> map = LayoutMap::Make(source, result);
  if (!map) return OperatorError(kTransform, "layouts \"" + from + "\" and \"" + to + "\" have different dimensions");
  RETURN_IF_ERROR(CheckNdim(kTransform, "data", x, source.axes().size()));
  return *std::move(map);
}

// What schedules ask of the block.
AttrMap LayoutAttrs(const Tensor& x, const std::string& from, const std::string& to, const std::string& rule) {
  std::vector<Attr> shape;
  for (const Expr& extent : x.shape()) {
    const int64_t* number = AsIntConst(extent);
    shape.push_back(number != nullptr ? Attr(*number) : Attr(extent));
  }
  return {{"schedule_rule", rule}, {"src_layout", from}, {"dst_layout", to}, {"input_shape", std::move(shape)}};
}

}  // namespace

StatusOr<Tensor> LayoutTransform(const Tensor& x, const std::string& from, const std::string& to,
                                 const std::string& schedule_rule) {
  if (from == to) return x;
  ASSIGN_OR_RETURN(const LayoutMap map, LayoutMapOf(x, from, to));
  ASSIGN_OR_RETURN(const Shape shape, map.Shape(x.shape()));
  const LayoutMap back = map.Inverse();
  const auto element = [&](const Point& at) {
    const Point source = back.Index(at).value();
    Expr is_inside = Less(source[0], x.shape()[0]);
    for (size_t i = 1; i < source.size(); ++i) is_inside = And(is_inside, Less(source[i], x.shape()[i]));
    return MakeCall(x.dtype(), "if_then_else", {is_inside, x(source), NumberOf(x.dtype(), 0)});
  };
  return te::Compute(shape, element,
                     Ax("T_layout_trans", kInjective, shape.size(), LayoutAttrs(x, from, to, schedule_rule)));
}

}  // namespace lathe::topi
