#include "compiler/transform/extract_prim_func_constants.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr char kConstants[] = "constants";

StatusOr<Attr> NumberOf(const Expr& e) {
  if (const IntImm* imm = e.As<IntImm>()) return Attr(imm->value);
  if (const FloatImm* imm = e.As<FloatImm>()) return Attr(imm->value);
  return InvalidArgument("ExtractPrimFuncConstants: T.allocate_const has a value or an extent that is no constant");
}
StatusOr<std::vector<Attr>> NumbersOf(const std::vector<Expr>& values) {
  std::vector<Attr> numbers;
  for (const Expr& value : values) {
    ASSIGN_OR_RETURN(Attr number, NumberOf(value));
    numbers.push_back(std::move(number));
  }
  return numbers;
}

class ConstantCollector : public StmtExprMutator {
 public:
  explicit ConstantCollector(std::vector<Attr>& constants) : constants_(constants) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const AllocateConst* allocate = visited.As<AllocateConst>();
    if (allocate == nullptr) return visited;
    const StatusOr<int64_t> index = IndexOf(*allocate);
    if (index.ok())
      visited.Mutable<AllocateConst>().annotations.insert_or_assign("irmod_storage_idx", Attr(*index));
    else
      status = index.status();
    return visited;
  }

 private:
  StatusOr<int64_t> IndexOf(const AllocateConst& allocate) {
    AttrMap constant{{"dtype", allocate.dtype.ToString()}};
    ASSIGN_OR_RETURN(constant["shape"], NumbersOf(allocate.extents));
    ASSIGN_OR_RETURN(constant["data"], NumbersOf(allocate.data));
    const auto found = std::find(constants_.begin(), constants_.end(), Attr(constant));
    const int64_t index = found - constants_.begin();
    if (found == constants_.end()) constants_.push_back(constant);
    return index;
  }
  std::vector<Attr>& constants_;
};

}  // namespace

StatusOr<IRModule> ExtractPrimFuncConstants(IRModule module) {
  std::vector<Attr> constants;
  const auto present = module.attrs.find(kConstants);
  if (present != module.attrs.end()) {
    const auto* list = std::get_if<std::vector<Attr>>(&present->second);
    if (list == nullptr) return InvalidArgument("ExtractPrimFuncConstants: \"constants\" of the module is no list");
    constants = *list;
  }
  ConstantCollector collector(constants);
  for (PrimFunc& func : module.prim_funcs) func.body = collector(func.body);
  RETURN_IF_ERROR(collector.status);
  if (!constants.empty()) module.attrs.insert_or_assign(kConstants, std::move(constants));
  return module;
}

}  // namespace lathe
