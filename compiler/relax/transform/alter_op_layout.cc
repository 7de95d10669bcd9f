#include "compiler/relax/transform/alter_op_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/relax/op.h"
#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/layout.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// [N, K] to [N / lanes, K / parts, lanes, parts].
TensorData InPanels(const TensorData& weight, const DotShape& dot) {
  const int64_t n = weight.shape()[0], k = weight.shape()[1], size = weight.dtype().bytes();
  const size_t run = static_cast<size_t>(dot.parts * size);
  std::vector<std::byte> bytes(weight.bytes().size());
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t step = 0; step < k; step += dot.parts) {
      const int64_t place = (column / dot.lanes * (k / dot.parts) + step / dot.parts) * dot.lanes + column % dot.lanes;
      std::memcpy(bytes.data() + place * dot.parts * size, weight.bytes().data() + (column * k + step) * size, run);
    }
  }
  return TensorData(weight.dtype(), {n / dot.lanes, k / dot.parts, dot.lanes, dot.parts}, std::move(bytes));
}

// The widest instruction that computes the dense layer; nullptr: none, or its blocks do not divide the weights.
const DotShape* DotOf(const Call& call, const TensorData& weight, const LayoutTarget& target) {
  const TensorStructInfo* x = call.args[0].struct_info().As<TensorStructInfo>();
  const StatusOr<DataType> out = DataType::Parse(StringAttr(call.attrs, "out_dtype", weight.dtype().ToString()));
  if (x == nullptr || !out.ok()) return nullptr;
  const auto computes = [&](const DotShape& dot) {
    return dot.a == x->dtype && dot.b == weight.dtype() && dot.c == AccumulatorType(*out) &&
           weight.shape()[0] % dot.lanes == 0 && weight.shape()[1] % dot.parts == 0;
  };
  const auto found = std::find_if(target.dots.begin(), target.dots.end(), computes);
  return found == target.dots.end() ? nullptr : &*found;
}

std::string PlainConvLayout(size_t weight_rank) {
  return weight_rank == 3 ? "OIW" : weight_rank == 4 ? "OIHW" : "OIDHW";
}

}  // namespace

int64_t ChooseBlock(int64_t channels, int64_t groups, int64_t lanes) {
  constexpr int64_t kLeastPerZero = 8;
  const int64_t per_group = channels / groups, zeros = lanes < 2 ? 0 : (lanes - per_group % lanes) % lanes;
  if (groups == 1 && lanes >= 4 && per_group > lanes && zeros * kLeastPerZero <= per_group) return lanes;
  for (int64_t block = lanes; block >= 4; block /= 2) {
    if (per_group >= block && per_group % block == 0) return block;
  }
  return groups == 1 && per_group > lanes && lanes >= 2 ? lanes : 0;
}

StatusOr<IRModule> AlterOpLayout(IRModule module, const LayoutTarget& target) {
  const auto rewrite = [&](const Binding&, const Expr& value, BlockBuilder&) -> StatusOr<Expr> {
    const Call* call = value.As<Call>();
    if (call == nullptr || call->op == nullptr) return value;
    const bool is_conv = IsConvolution(*call), is_dense = call->op->name == "nn.dense";
    const std::string attr = is_conv ? "kernel_layout" : "weight_layout";
    const TensorData* weight = is_conv || is_dense ? AsConstant(call->args[1]) : nullptr;
    if (weight == nullptr || call->attrs.contains(attr)) return value;
    if (const DotShape* dot = is_dense ? DotOf(*call, *weight, target) : nullptr; dot != nullptr) {
      AttrMap attrs = call->attrs;
      attrs[attr] = fmt::format("NK{}n{}k", dot->lanes, dot->parts);
      attrs["units"] = weight->shape()[0];
      return MakeCall(*call->op, {call->args[0], MakeConstant(InPanels(*weight, *dot))}, std::move(attrs));
    }
    const int64_t channels = weight->shape()[0], groups = is_conv ? IntAttr(call->attrs, "groups", 1) : 1;
    const int64_t block = groups > 1 && weight->shape()[1] == 1 ? 0 : ChooseBlock(channels, groups, target.lanes);
    if (block == 0) return value;
    AttrMap attrs = call->attrs;
    attrs[attr] =
        is_conv ? BlockedLayout(PlainConvLayout(weight->shape().size()), block, 'o') : BlockedLayout("NK", block, 'n');
    attrs[is_conv ? "channels" : "units"] = channels;
    return MakeCall(*call->op, {call->args[0], MakeConstant(BlockWeights(*weight, 0, block))}, std::move(attrs));
  };
  for (Function& func : module.functions) {
    ASSIGN_OR_RETURN(func, RewriteBindings(func, rewrite));
  }
  return module;
}

}  // namespace lathe::relax
