#include "compiler/transform/lower_device_storage_access_info.h"

#include <fmt/format.h>

#include <unordered_map>

#include "compiler/arith/simplifier.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr char kPass[] = "LowerDeviceStorageAccessInfo";

bool IsSpecial(const Var& data) {
  const StatusOr<StorageScope> scope = ParseStorageScope(ScopeOf(data));
  return scope.ok() && scope->is_special();
}

class AccessLowerer : public StmtExprMutator {
 public:
  explicit AccessLowerer(const MemoryInfoOf& info_of) : info_of_(info_of) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    std::vector<Buffer> outer;
    std::swap(outer, views_);
    Stmt lowered = Lowered(stmt);
    for (const Buffer& view : views_) lowered = DeclBuffer{view, lowered};
    std::swap(outer, views_);
    return lowered;
  }
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Call* call = visited.As<Call>();
    const bool is_access = call != nullptr && call->op->name == "tvm_access_ptr" && IsVar(call->args[1]);
    return is_access ? Address(visited, *call) : visited;
  }

 private:
  Stmt Lowered(const Stmt& stmt) {
    if (const Allocate* memory = stmt.As<Allocate>(); memory != nullptr && IsSpecial(memory->buffer_var))
      return InMemory(memory->buffer_var, memory->body);
    if (const AllocBuffer* memory = stmt.As<AllocBuffer>(); memory != nullptr && IsSpecial(memory->buffer->data))
      return InMemory(memory->buffer->data, DeclBuffer{memory->buffer, memory->body});
    if (const DeclBuffer* view = stmt.As<DeclBuffer>()) {
      const auto known = known_.find(view->buffer->data.get());
      if (known != known_.end() && !known->second.head_address) return VisitStmt(view->body);
    }
    return StmtExprMutator::VisitStmt(stmt);
  }
  Stmt InMemory(const Var& data, const Stmt& body) {
    const std::optional<MemoryInfo> info = info_of_(std::string(ScopeOf(data)));
    if (!info) {
      status = InvalidArgument(fmt::format("{} \"{}\": nothing is known of memory \"{}\"; register \"tvm.info.mem.{}\"",
                                           kPass, data.name(), ScopeOf(data), ScopeOf(data)));
      return body;
    }
    known_.insert_or_assign(data.get(), *info);
    const Stmt visited = VisitStmt(body);
    return info->head_address ? Stmt(LetStmt{*info->head_address, data, visited}) : visited;
  }

  Expr Address(const Expr& self, const Call& access) {
    const Var data(access.args[1]);
    const DataType element = access.args[0].dtype();
    const auto known = known_.find(data.get());
    if (self.dtype() == DataType::Handle()) return AddressOfElement(data, element, access.args[2]);
    const int64_t bits = element.bits * element.lanes;
    if (known == known_.end() || known->second.unit_bits % bits != 0 || known->second.unit_bits == 0) {
      status = InvalidArgument(fmt::format("{} \"{}\": no whole number of {} fits a unit of its memory", kPass,
                                           data.name(), element.ToString()));
      return self;
    }
    const Expr& offset = access.args[2];
    return MakeCast(self.dtype(),
                    Simplifier().Simplify(offset / IntConst(offset.dtype(), known->second.unit_bits / bits)));
  }
  Expr AddressOfElement(const Var& data, DataType element, const Expr& offset) {
    BufferNode view;
    view.name = data.name();
    view.dtype = element.element();
    view.scope = std::string(ScopeOf(data));
    view.data = data;
    const int64_t lanes = element.lanes;
    Expr index = offset * IntConst(offset.dtype(), lanes);
    view.shape = {index + IntConst(index.dtype(), lanes)};
    if (lanes > 1) index = Expr::Make(index.dtype().with_lanes(lanes), Ramp{index, IntConst(index.dtype(), 1), lanes});
    views_.emplace_back(std::move(view));
    return MakeCall(DataType::Handle(), "address_of", {Load(views_.back(), {index})});
  }

  const MemoryInfoOf& info_of_;
  std::unordered_map<const ExprNode*, MemoryInfo> known_;
  std::vector<Buffer> views_;  // Of addresses in the statement at hand; declared around it.
};

}  // namespace

StatusOr<PrimFunc> LowerDeviceStorageAccessInfo(PrimFunc func, const MemoryInfoOf& info_of) {
  AccessLowerer lowerer(info_of);
  func.body = lowerer(func.body);
  RETURN_IF_ERROR(lowerer.status);
  return func;
}

}  // namespace lathe
