#include "compiler/relax/transform/convert_layout.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <unordered_set>

#include "compiler/relax/op.h"
#include "compiler/relax/op/layout.h"
#include "compiler/relax/op/winograd.h"
#include "compiler/relax/transform/dead_code_elimination.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

constexpr char kMoved[] = "moved";  // Names of variables.
constexpr size_t kChannels = 1;     // The dimension, in either layout.

std::optional<std::vector<int64_t>> ShapeOf(const Expr& e) { return ConstantShapeOf(e.struct_info()); }

bool IsFloat32(const Expr& e) {
  const TensorStructInfo* info = e.struct_info().As<TensorStructInfo>();
  return info != nullptr && info->dtype == DataType::Float(32);
}

// [N, C, spatial...] as [N, C / b, b, spatial...].
std::vector<int64_t> WithBlock(std::vector<int64_t> shape, int64_t block) {
  shape[kChannels] /= block;
  shape.insert(shape.begin() + kChannels + 1, block);
  return shape;
}

bool IsOnePixel(const std::vector<int64_t>& shape) {
  return std::all_of(shape.begin() + 2, shape.end(), [](int64_t extent) { return extent == 1; });
}

// A tensor and what else is known to be the same: one of both may be missing.
struct Image {
  std::vector<int64_t> shape;  // [N, C, spatial...]
  std::optional<Expr> plain, blocked;
  int64_t block = 0;
};

class LayoutConverter {
 public:
  LayoutConverter(const Function& func, const LayoutTarget& target)
      : lanes_(target.lanes), allows_winograd_(target.allows_winograd) {
    VisitVars(func.body.body, [&](const Var& var) { returned_.insert(var.get()); });
  }

  StatusOr<Expr> Rewrite(const Binding& original, const Expr& value, BlockBuilder& builder) {
    const Call* call = value.As<Call>();
    if (call != nullptr && call->op != nullptr) {
      ASSIGN_OR_RETURN(const std::optional<Blocked> blocked, Convert(*call, builder));
      if (blocked) return Remember(original, *blocked, builder);
      if (const std::optional<Expr> known = InBlocksAlready(*call, builder)) return *known;
      RememberSource(original, *call, builder);
    }
    return WithPlainArguments(value, builder);
  }

  // Of what it has made of the function, without what nobody uses.
  bool Pays(const Function& converted) const {
    int64_t moved = 0;
    VisitBindings(converted, [&](const Binding& binding) {
      const auto found = moves_.find(binding.var.get());
      moved += found == moves_.end() ? 0 : found->second;
    });
    return moved * kOperationsPerMove <= computed_;
  }

 private:
  // A move of an element is worth so many multiply-adds in blocked convolutions.
  static constexpr int64_t kOperationsPerMove = 40;

  struct Blocked {
    Expr value;
    int64_t block;
  };

  int64_t BlockFor(int64_t channels) const {
    if (lanes_ < 4) return 0;
    if (channels % lanes_ == 0) return lanes_;
    return lanes_ >= 8 && channels % (lanes_ / 2) == 0 ? lanes_ / 2 : 0;
  }

  Image* Find(const Expr& e) {
    const auto found = image_of_.find(e.get());
    return found == image_of_.end() ? nullptr : found->second;
  }
  Image* FindBlocked(const Expr& e) {
    Image* image = Find(e);
    return image != nullptr && image->blocked ? image : nullptr;
  }

  StatusOr<Expr> Remember(const Binding& original, const Blocked& result, BlockBuilder& builder) {
    Image& image = images_.emplace_back();
    image.shape = *ShapeOf(original.var);
    image.block = result.block;
    image.blocked = builder.Emit(result.value, original.var.name());
    image_of_[image.blocked->get()] = &image;
    if (!returned_.contains(original.var.get())) return *image.blocked;
    return AsPlain(*image.blocked, builder);
  }

  // What is moved, but for one pixel, whose channels stay where they are.
  void CountMove(const Var& moved, const std::vector<int64_t>& shape) {
    if (IsOnePixel(shape)) return;
    moves_[moved.get()] = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }

  // {0, 1, rank, 2, 3 ..}: blocks as channels again; and {0, 1, 3 .., rank, 2}: the other way.
  static std::vector<int64_t> AxesToPlain(size_t rank) {
    std::vector<int64_t> axes = {0, 1, static_cast<int64_t>(rank)};
    for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    return axes;
  }
  static std::vector<int64_t> AxesToBlocked(size_t rank) {
    std::vector<int64_t> axes = {0, 1};
    for (size_t i = 3; i <= rank; ++i) axes.push_back(static_cast<int64_t>(i));
    axes.push_back(2);
    return axes;
  }

  // The call of `op` that makes `e`; nullptr: something else does.
  static const Call* MakerOf(const Expr& e, std::string_view op, const BlockBuilder& builder) {
    const Expr* value = builder.Lookup(e);
    const Call* call = value == nullptr ? nullptr : value->As<Call>();
    return call != nullptr && call->op == &GetOp(op) ? call : nullptr;
  }

  // Somebody moves into blocks what lies there: permute_dims(reshape(image)).
  std::optional<Expr> InBlocksAlready(const Call& call, const BlockBuilder& builder) {
    if (call.op != &GetOp("permute_dims")) return std::nullopt;
    const Call* split = MakerOf(call.args[0], "reshape", builder);
    const Image* image = split == nullptr ? nullptr : FindBlocked(split->args[0]);
    if (image == nullptr || ShapeOf(call.args[0]) != WithBlock(image->shape, image->block) ||
        IntsAttr(call.attrs, "axes") != AxesToBlocked(image->shape.size()))
      return std::nullopt;
    return image->blocked;
  }

  // What somebody moves out of blocks lies in blocks, too: reshape(permute_dims(x)).
  void RememberSource(const Binding& original, const Call& call, const BlockBuilder& builder) {
    if (call.op != &GetOp("reshape")) return;
    const Call* moved = MakerOf(call.args[0], "permute_dims", builder);
    const std::optional<std::vector<int64_t>> shape = ShapeOf(original.var), from = ShapeOf(call.args[0]);
    if (moved == nullptr || !shape || !from || shape->size() < 3 || from->size() != shape->size() + 1 ||
        IntsAttr(moved->attrs, "axes") != AxesToPlain(shape->size()))
      return;
    const int64_t block = (*from)[2];
    if (block == 0 || (*shape)[kChannels] % block != 0 || *from != WithBlock(*shape, block)) return;
    Image& image = images_.emplace_back(Image{*shape, original.var, moved->args[0], block});
    image_of_[original.var.get()] = &image;
  }

  StatusOr<Expr> AsPlain(const Expr& e, BlockBuilder& builder) {
    Image* image = FindBlocked(e);
    if (image == nullptr) return e;
    if (image->plain) return *image->plain;
    const std::vector<int64_t> axes = AxesToPlain(image->shape.size());
    ASSIGN_OR_RETURN(const Var moved, builder.EmitCall("permute_dims", {e}, {{"axes", MakeIntsAttr(axes)}}, kMoved));
    ASSIGN_OR_RETURN(image->plain, builder.EmitCall("reshape", {moved, MakeShape(image->shape)}, {}, kMoved));
    image_of_[image->plain->get()] = image;
    CountMove(moved, image->shape);
    return *image->plain;
  }

  StatusOr<Expr> AsBlocked(const Expr& e, int64_t block, BlockBuilder& builder) {
    Image* image = Find(e);
    if (image != nullptr && image->blocked && image->block == block) return *image->blocked;
    ASSIGN_OR_RETURN(const Expr plain, AsPlain(e, builder));
    image = Find(plain);
    if (image == nullptr || image->blocked) {  // Nobody's, or one of another block.
      image = &images_.emplace_back();
      image->shape = *ShapeOf(plain);
      image->plain = plain;
      image_of_[plain.get()] = image;
    }
    image->block = block;
    ASSIGN_OR_RETURN(const Var split,
                     builder.EmitCall("reshape", {plain, MakeShape(WithBlock(image->shape, block))}, {}, kMoved));
    const std::vector<int64_t> axes = AxesToBlocked(image->shape.size());
    ASSIGN_OR_RETURN(const Var moved,
                     builder.EmitCall("permute_dims", {split}, {{"axes", MakeIntsAttr(axes)}}, kMoved));
    image->blocked = moved;
    image_of_[moved.get()] = image;
    CountMove(moved, image->shape);
    return *image->blocked;
  }

  StatusOr<Expr> WithPlainArguments(const Expr& value, BlockBuilder& builder) {
    std::vector<Expr> used;
    VisitVars(value, [&](const Var& var) { used.push_back(var); });
    ExprMap plain;
    for (const Expr& var : used) {
      ASSIGN_OR_RETURN(const Expr other, AsPlain(var, builder));
      if (!other.same_as(var)) plain.insert_or_assign(var.get(), other);
    }
    return Substitute(value, plain);
  }

  using Converted = StatusOr<std::optional<Blocked>>;
  static Converted No() { return std::optional<Blocked>(); }
  static Converted Made(StatusOr<Expr> call, int64_t block) {
    if (!call.ok()) return call.status();
    return std::optional<Blocked>(Blocked{*std::move(call), block});
  }

  Converted Convert(const Call& call, BlockBuilder& builder) {
    struct Row {
      std::string_view op;
      Converted (LayoutConverter::*convert)(const Call& call, BlockBuilder& builder);
    };
    static constexpr Row kRows[] = {{"concat", &LayoutConverter::ConvertConcat},
                                    {"max", &LayoutConverter::ConvertReduction},
                                    {"mean", &LayoutConverter::ConvertReduction},
                                    {"min", &LayoutConverter::ConvertReduction},
                                    {"nn.adaptive_avg_pool", &LayoutConverter::ConvertPool},
                                    {"nn.adaptive_max_pool", &LayoutConverter::ConvertPool},
                                    {"nn.avg_pool1d", &LayoutConverter::ConvertPool},
                                    {"nn.avg_pool2d", &LayoutConverter::ConvertPool},
                                    {"nn.avg_pool3d", &LayoutConverter::ConvertPool},
                                    {"nn.conv1d", &LayoutConverter::ConvertConvolution},
                                    {"nn.conv2d", &LayoutConverter::ConvertConvolution},
                                    {"nn.conv3d", &LayoutConverter::ConvertConvolution},
                                    {"nn.max_pool1d", &LayoutConverter::ConvertPool},
                                    {"nn.max_pool2d", &LayoutConverter::ConvertPool},
                                    {"nn.max_pool3d", &LayoutConverter::ConvertPool},
                                    {"sum", &LayoutConverter::ConvertReduction}};
    for (const Row& row : kRows)
      if (row.op == call.op->name) return (this->*row.convert)(call, builder);
    if (call.op->pattern == OpPatternKind::kElemWise && call.args.size() == 1) return ConvertUnary(call, builder);
    if (call.op->pattern == OpPatternKind::kBroadcast && call.args.size() == 2) return ConvertBinary(call, builder);
    return No();
  }

  Converted ConvertConvolution(const Call& call, BlockBuilder& builder) {
    const TensorData* weight = AsConstant(call.args[1]);
    if (weight == nullptr || call.attrs.contains("kernel_layout") || !IsFloat32(call.args[0])) return No();
    const int64_t groups = IntAttr(call.attrs, "groups", 1), outputs = weight->shape()[0], inputs = weight->shape()[1];
    const bool is_depthwise = groups > 1 && inputs == 1;
    if (is_depthwise && outputs != groups) return No();
    const int64_t out = BlockFor(is_depthwise ? outputs : outputs / groups);
    if (out == 0) return No();
    Expr from = call.args[0];
    int64_t in = 0;
    if (is_depthwise) {
      ASSIGN_OR_RETURN(from, AsBlocked(from, out, builder));
      in = out;
    } else if (const Image* image = FindBlocked(from); image != nullptr && inputs % image->block == 0) {
      from = *image->blocked;
      in = image->block;
    } else {
      ASSIGN_OR_RETURN(from, AsPlain(from, builder));
    }
    if (in > 0 && !is_depthwise) {
      const std::optional<WinogradPlan> plan = WinogradPlanOf(call, from, *weight, out);
      if (plan) return ConvertToWinograd(call, {from, in}, *weight, *plan, builder);
    }
    const std::string spatial = weight->shape().size() == 3 ? "W" : weight->shape().size() == 4 ? "HW" : "DHW";
    const int64_t weight_in = is_depthwise ? 0 : in;
    AttrMap attrs = call.attrs;
    if (in > 0) attrs["data_layout"] = BlockedLayout("NC" + spatial, in, 'c');
    attrs["out_layout"] = BlockedLayout("NC" + spatial, out, 'c');
    const std::string kernel = weight_in > 0 ? BlockedLayout("OI" + spatial, weight_in, 'i') : "OI" + spatial;
    attrs["kernel_layout"] = BlockedLayout(kernel, out, 'o');
    StatusOr<Expr> made =
        MakeCall(*call.op, {from, MakeConstant(BlockWeights(*weight, weight_in, out))}, std::move(attrs));
    if (made.ok()) {
      const std::vector<int64_t> shape = *ShapeOf(*made);
      computed_ += std::accumulate(shape.begin(), shape.end(), weight->num_elements() / outputs, std::multiplies<>());
    }
    return Made(std::move(made), out);
  }

  // How Winograd's algorithm computes a convolution.
  struct WinogradPlan {
    int64_t tile, rows, columns, out_block;
  };
  // nullopt: it does not, or is not worth it.
  std::optional<WinogradPlan> WinogradPlanOf(const Call& call, const Expr& image, const TensorData& weight,
                                             int64_t out_block) const {
    const auto are = [&](const std::string& name, int64_t value) {
      const std::vector<int64_t> values = IntsAttr(call.attrs, name);
      return std::all_of(values.begin(), values.end(), [&](int64_t each) { return each == value; });
    };
    const std::vector<int64_t>& w = weight.shape();
    if (!allows_winograd_ || call.op != &GetOp("nn.conv2d") || w[2] != 3 || w[3] != 3 || !are("strides", 1) ||
        !are("dilation", 1) || IntAttr(call.attrs, "groups", 1) != 1)
      return std::nullopt;
    std::vector<int64_t> pads = IntsAttr(call.attrs, "padding");
    pads.resize(4, 0);
    const std::vector<int64_t> extents = *ShapeOf(image);
    const int64_t rows = extents[2] + pads[0] + pads[2] - 2, columns = extents[3] + pads[1] + pads[3] - 2;
    const int64_t tile = ChooseWinogradTile({w[1], w[0], rows, columns});
    return tile == 0 ? std::nullopt : std::optional(WinogradPlan{tile, rows, columns, out_block});
  }

  Converted ConvertToWinograd(const Call& call, const Blocked& image, const TensorData& weight,
                              const WinogradPlan& plan, BlockBuilder& builder) {
    AttrMap attrs = {{"tile", plan.tile}};
    if (call.attrs.contains("padding")) attrs["padding"] = call.attrs.at("padding");
    ASSIGN_OR_RETURN(const Var packed, builder.EmitCall("nn.winograd_data_pack", {image.value}, attrs, "packed"));
    const Expr weights = MakeConstant(WinogradWeights(weight, plan.tile, image.block, plan.out_block));
    ASSIGN_OR_RETURN(const Var products, builder.EmitCall("nn.winograd_bgemm", {packed, weights}, {}, "products"));
    computed_ += plan.rows * plan.columns * weight.num_elements();
    attrs = {{"tile", plan.tile}, {"output_size", MakeIntsAttr({plan.rows, plan.columns})}};
    return Made(MakeCall("nn.winograd_inverse", {products}, std::move(attrs)), plan.out_block);
  }

  std::optional<std::vector<int64_t>> PlainShapeOf(const Expr& e) {
    const Image* image = Find(e);
    return image != nullptr ? image->shape : ShapeOf(e);
  }

  Converted ConvertUnary(const Call& call, BlockBuilder&) {
    const Image* image = FindBlocked(call.args[0]);
    if (image == nullptr) return No();
    return Made(MakeCall(*call.op, {*image->blocked}, call.attrs), image->block);
  }

  Converted ConvertPool(const Call& call, BlockBuilder&) {
    const Image* image = FindBlocked(call.args[0]);
    if (image == nullptr) return No();
    constexpr std::string_view kSpatial[] = {"W", "HW", "DHW"};
    const size_t rank = image->shape.size() - 2;
    if (rank > 3) return No();
    AttrMap attrs = call.attrs;
    attrs["layout"] = BlockedLayout("NC" + std::string(kSpatial[rank - 1]), image->block, 'c');
    return Made(MakeCall(*call.op, {*image->blocked}, std::move(attrs)), image->block);
  }

  // Over whole maps, which stay as one pixel.
  Converted ConvertReduction(const Call& call, BlockBuilder&) {
    const Image* image = FindBlocked(call.args[0]);
    if (image == nullptr || !BoolAttr(call.attrs, "keepdims", false)) return No();
    std::vector<int64_t> axes = IntsAttr(call.attrs, "axis"), spatial(image->shape.size() - 2);
    std::iota(spatial.begin(), spatial.end(), 2);
    for (int64_t& axis : axes) axis = axis < 0 ? axis + static_cast<int64_t>(image->shape.size()) : axis;
    std::sort(axes.begin(), axes.end());
    if (axes != spatial) return No();
    AttrMap attrs = call.attrs;
    attrs["axis"] = MakeIntsAttr(spatial);
    return Made(MakeCall(*call.op, {*image->blocked}, std::move(attrs)), image->block);
  }

  // The other operand of an image: the same for all channels, one number for each of them, or another image.
  StatusOr<std::optional<Expr>> AsOperand(const Expr& e, const Image& image, BlockBuilder& builder) {
    const std::optional<std::vector<int64_t>> extents = PlainShapeOf(e);
    const std::vector<int64_t>& full = image.shape;
    if (!extents || extents->size() > full.size()) return std::optional<Expr>();
    std::vector<int64_t> aligned(full.size() - extents->size(), 1);
    aligned.insert(aligned.end(), extents->begin(), extents->end());
    for (size_t i = 0; i < full.size(); ++i)
      if (aligned[i] != 1 && aligned[i] != full[i]) return std::optional<Expr>();
    const TensorData* constant = AsConstant(e);
    if (constant != nullptr && constant->num_elements() == 1) return std::optional(e);
    if (aligned[kChannels] == 1 && !(IsOnePixel(aligned) && aligned[0] == 1)) return std::optional<Expr>();
    if (constant != nullptr && IsOnePixel(aligned) && aligned[0] == 1) {
      std::vector<int64_t> blocked = WithBlock(aligned, image.block);
      std::rotate(blocked.begin() + kChannels + 1, blocked.begin() + kChannels + 2, blocked.end());
      return std::optional(MakeConstant(constant->Reshaped(std::move(blocked))));
    }
    if (constant != nullptr || extents->size() != full.size() || aligned[kChannels] == 1) return std::optional<Expr>();
    ASSIGN_OR_RETURN(const Expr moved, AsBlocked(e, image.block, builder));
    return std::optional(moved);
  }

  Converted ConvertBinary(const Call& call, BlockBuilder& builder) {
    for (const size_t which : {0, 1}) {
      const Image* image = FindBlocked(call.args[which]);
      if (image == nullptr) continue;
      const Image copy = *image;  // What is emitted may make others.
      ASSIGN_OR_RETURN(const std::optional<Expr> other, AsOperand(call.args[1 - which], copy, builder));
      if (!other) continue;
      std::vector<Expr> args = {*copy.blocked, *other};
      if (which == 1) std::swap(args[0], args[1]);
      return Made(MakeCall(*call.op, std::move(args), call.attrs), copy.block);
    }
    return No();
  }

  Converted ConvertConcat(const Call& call, BlockBuilder& builder) {
    const std::vector<Expr> parts = TensorArgs(call);
    int64_t block = 0;
    size_t rank = 0;
    for (const Expr& part : parts) {
      const Image* image = FindBlocked(part);
      if (image == nullptr) continue;
      block = block == 0 ? image->block : std::min(block, image->block);
      rank = image->shape.size();
    }
    const int64_t axis = IntAttr(call.attrs, "axis", 0);
    if (block == 0 || (axis != 1 && axis != 1 - static_cast<int64_t>(rank))) return No();
    std::vector<Expr> blocked;
    for (const Expr& part : parts) {
      const std::optional<std::vector<int64_t>> shape = PlainShapeOf(part);
      if (!shape || (*shape)[kChannels] % block != 0 || AsConstant(part) != nullptr) return No();
    }
    for (const Expr& part : parts) {
      ASSIGN_OR_RETURN(const Expr moved, AsBlocked(part, block, builder));
      blocked.push_back(moved);
    }
    AttrMap attrs = call.attrs;
    attrs["axis"] = int64_t{1};
    return Made(MakeCall(*call.op, {MakeTuple(std::move(blocked))}, std::move(attrs)), block);
  }

  const int64_t lanes_;
  const bool allows_winograd_;
  std::unordered_set<const ExprNode*> returned_;
  std::deque<Image> images_;
  std::unordered_map<const ExprNode*, Image*> image_of_;
  std::unordered_map<const ExprNode*, int64_t> moves_;  // Elements that making the variable moves.
  int64_t computed_ = 0;                                // Multiply-adds in blocks.
};

}  // namespace

StatusOr<IRModule> ConvertLayout(IRModule module, const LayoutTarget& target) {
  for (Function& func : module.functions) {
    LayoutConverter converter(func, target);
    ASSIGN_OR_RETURN(Function rewritten,
                     RewriteBindings(func, [&](const Binding& original, const Expr& value, BlockBuilder& builder) {
                       return converter.Rewrite(original, value, builder);
                     }));
    IRModule converted;
    converted.functions.push_back(std::move(rewritten));
    converted = DeadCodeElimination(std::move(converted));
    if (converter.Pays(converted.functions[0])) func = std::move(converted.functions[0]);
  }
  return module;
}

}  // namespace lathe::relax
