#include "compiler/relax/op.h"

#include <fmt/format.h>

#include <map>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

StatusOr<StructInfo> InferCallTir(const Call& call) { return ArgumentError(call, "its result is given, not inferred"); }
constexpr Op kCallTir = {"call_tir", 2, OpPatternKind::kOpaque, InferCallTir, nullptr, ""};

const std::map<std::string_view, const Op*>& Table() {
  static const auto* table = [] {
    auto* rows = new std::map<std::string_view, const Op*>;
    for (const std::span<const Op> ops :
         {BinaryOps(), ConvolutionOps(), ManipulateOps(), MatrixOps(), NormalizationOps(), PadOps(), PoolingOps(),
          ReductionOps(), UnaryOps(), WinogradOps()}) {
      for (const Op& op : ops) CHECK(rows->emplace(op.name, &op).second) << "operator " << op.name << " stands twice";
    }
    rows->emplace(kCallTir.name, &kCallTir);
    return rows;
  }();
  return *table;
}

// Extents of 1 aside, the axes stay in order.
bool KeepsOrder(const Call& call) {
  const TensorStructInfo& info = *call.args[0].struct_info().As<TensorStructInfo>();
  int64_t last = -1;
  for (const int64_t axis : IntsAttr(call.attrs, "axes")) {
    const int64_t normal = axis < 0 ? axis + info.ndim : axis;
    if (IsConstInt((*info.shape)[normal], 1)) continue;
    if (normal < last) return false;
    last = normal;
  }
  return true;
}

}  // namespace

const Op* FindOp(std::string_view name) {
  const auto found = Table().find(name);
  return found == Table().end() ? nullptr : found->second;
}

const Op& GetOp(std::string_view name) {
  const Op* op = FindOp(name);
  CHECK(op != nullptr) << "no operator named " << name;
  return *op;
}

const Op& CallTirOp() { return kCallTir; }

std::span<const Op* const> AllOps() {
  static const auto* ops = [] {
    auto* list = new std::vector<const Op*>;
    for (const auto& [name, op] : Table()) list->push_back(op);
    return list;
  }();
  return *ops;
}

StatusOr<Expr> MakeCall(const Op& op, std::vector<Expr> args, AttrMap attrs) {
  Call call{&op, std::move(args), std::move(attrs)};
  const size_t required = op.num_args < 0 ? 1 : static_cast<size_t>(op.num_args);
  if (call.args.size() != required)
    return ArgumentError(call, fmt::format("{} arguments, {} required", call.args.size(), required));
  ASSIGN_OR_RETURN(StructInfo info, op.infer(call));
  return Expr::Make(std::move(info), std::move(call));
}

StatusOr<Expr> MakeCall(std::string_view op, std::vector<Expr> args, AttrMap attrs) {
  return MakeCall(GetOp(op), std::move(args), std::move(attrs));
}

std::vector<Expr> TensorArgs(const Call& call) {
  std::vector<Expr> tensors;
  for (const Expr& arg : call.args) {
    if (const TupleExpr* tuple = arg.As<TupleExpr>()) {
      tensors.insert(tensors.end(), tuple->fields.begin(), tuple->fields.end());
    } else if (arg.As<ShapeExpr>() == nullptr && arg.As<GlobalVar>() == nullptr) {
      tensors.push_back(arg);
    }
  }
  return tensors;
}

bool IsEmbedded(const Call& call, const Expr& arg) {
  const TensorData* data = AsConstant(arg);
  return call.op != nullptr && call.op->pattern <= OpPatternKind::kBroadcast && data != nullptr &&
         data->shape().empty();
}

std::vector<Expr> KernelArgs(const Call& call) {
  std::vector<Expr> tensors;
  for (const Expr& arg : TensorArgs(call)) {
    if (!IsEmbedded(call, arg)) tensors.push_back(arg);
  }
  return tensors;
}

bool IsView(const Call& call) {
  if (call.op == nullptr) return false;
  return call.op->family == OpFamily::kView || (call.op->family == OpFamily::kTranspose && KeepsOrder(call));
}

}  // namespace lathe::relax
