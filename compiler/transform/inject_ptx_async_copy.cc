#include "compiler/transform/inject_ptx_async_copy.h"

#include <fmt/format.h>

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

bool IsShared(const Buffer& buffer) {
  const std::string_view scope = ScopeOf(buffer->data);
  return scope == "shared" || scope == "shared.dyn";
}
bool IsZero(const Expr& e) {
  const Broadcast* broadcast = e.As<Broadcast>();
  const FloatImm* number = (broadcast == nullptr ? e : broadcast->value).As<FloatImm>();
  return number != nullptr && number->value == 0;
}

class AsyncCopyInjector : public StmtExprMutator {
 public:
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr == nullptr || attr->attr_key != "async_scope") return StmtExprMutator::VisitStmt(stmt);
    if (in_scope_) status = InvalidArgument("InjectPTXAsyncCopy: nested async scopes are not supported");
    in_scope_ = true;
    const Stmt body = VisitStmt(attr->body);
    in_scope_ = false;
    return body;
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    if (!in_scope_ || !IsShared(store.buffer)) return self;
    if (const BufferLoad* load = store.value.As<BufferLoad>()) return CopyOf(self, store, *load, std::nullopt);
    const Call* call = store.value.As<Call>();
    const bool chooses = call != nullptr && call->op->name == "if_then_else" && IsZero(call->args[2]);
    const BufferLoad* load = chooses ? call->args[1].As<BufferLoad>() : nullptr;
    return load == nullptr ? self : CopyOf(self, store, *load, call->args[0]);
  }

 private:
  Stmt CopyOf(const Stmt& self, const BufferStore& store, const BufferLoad& load,
              const std::optional<Expr>& predicate) {
    if (ScopeOf(load.buffer->data) != "global" || store.predicate || load.predicate) return self;
    if (load.indices.size() != 1 || store.indices.size() != 1) {
      status =
          InvalidArgument(fmt::format("InjectPTXAsyncCopy: {} and {} have not one dimension; run FlattenBuffer before",
                                      store.buffer->name, load.buffer->name));
      return self;
    }
    const int bytes = load.indices[0].dtype().lanes * load.buffer->dtype.bytes();
    const std::optional<Expr> to = Begin(store.indices[0]), from = Begin(load.indices[0]);
    const std::optional<int64_t> factor = BytesPerIndex(store.buffer, load.buffer);
    if ((bytes != 4 && bytes != 8 && bytes != 16) || !to || !from || !factor) return self;
    std::vector<Expr> args = {store.buffer->data, *to * IntConst(to->dtype(), *factor), load.buffer->data, *from,
                              bytes};
    if (predicate) args.push_back(*predicate);
    return Evaluate{Expr::Make(store.buffer->dtype, Call{FindOp("ptx_cp_async"), std::move(args)})};
  }
  // Of lanes side by side.
  static std::optional<Expr> Begin(const Expr& index) {
    if (index.dtype().is_scalar()) return index;
    if (const Ramp* ramp = index.As<Ramp>())
      return IsConstInt(ramp->stride, 1) ? std::optional(ramp->base) : std::nullopt;
    const Binary* sum = index.As<Binary>();
    const Broadcast* offset = sum == nullptr || sum->op != BinaryOp::kAdd ? nullptr : sum->b.As<Broadcast>();
    if (offset == nullptr || sum->a.As<Ramp>() == nullptr) return std::nullopt;
    const std::optional<Expr> base = Begin(sum->a);
    return base ? std::optional(*base + offset->value) : std::nullopt;
  }
  // Memory of bytes, as MergeSharedMemoryAllocations makes it, is addressed by bytes.
  static std::optional<int64_t> BytesPerIndex(const Buffer& to, const Buffer& from) {
    if (to->data.pointer() == nullptr || from->data.pointer() == nullptr) return std::nullopt;
    const DataType element = to->data.pointer()->element;
    if (element == from->data.pointer()->element) return 1;
    return element == DataType::UInt(8) ? std::optional<int64_t>(from->dtype.bytes()) : std::nullopt;
  }

  bool in_scope_ = false;
};

}  // namespace

StatusOr<PrimFunc> InjectPTXAsyncCopy(PrimFunc func) {
  AsyncCopyInjector injector;
  func.body = injector(func.body);
  RETURN_IF_ERROR(injector.status);
  return func;
}

}  // namespace lathe
