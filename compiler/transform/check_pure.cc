#include "compiler/transform/check_pure.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Not to be moved or left out, but nobody else sees it.
constexpr std::string_view kUnseen[] = {"address_of",
                                        "anylist_getitem",
                                        "assume",
                                        "call_llvm_pure_intrin",
                                        "call_pure_extern",
                                        "call_spirv_pure_glsl450",
                                        "ret",
                                        "tvm_access_ptr",
                                        "tvm_context_id",
                                        "tvm_static_handle",
                                        "tvm_struct_get",
                                        "tvm_tuple"};

bool HasEffect(const Op& op) {
  return !op.is_pure && std::find(std::begin(kUnseen), std::end(kUnseen), op.name) == std::end(kUnseen);
}

class EffectFinder : public StmtExprVisitor {
 public:
  Status status;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const Allocate* memory = stmt.As<Allocate>()) own_.insert(memory->buffer_var.get());
    if (const AllocateConst* memory = stmt.As<AllocateConst>()) own_.insert(memory->buffer_var.get());
    if (const AllocBuffer* memory = stmt.As<AllocBuffer>()) own_.insert(memory->buffer->data.get());
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBlock(const Block& block) override {
    for (const Buffer& buffer : block->alloc_buffers) own_.insert(buffer->data.get());
    for (const MatchBufferRegion& match : block->match_buffers) {
      if (own_.contains(match.source.buffer->data.get())) own_.insert(match.buffer->data.get());
    }
    StmtExprVisitor::VisitBlock(block);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    if (!own_.contains(store.buffer->data.get()))
      Refuse(fmt::format("must not write to buffers, but it stores to \"{}\"", store.buffer->name));
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitExpr(const Expr& e) override {
    const Call* call = e.As<Call>();
    const FuncCall* function = e.As<FuncCall>();
    if (call != nullptr && HasEffect(*call->op))
      Refuse(fmt::format("must not contain calls to impure operators, but it calls T.{}", call->op->name));
    if (function != nullptr) Refuse(fmt::format("must not call functions, but it calls {}", function->callee));
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  void Refuse(const std::string& what) {
    if (status.ok()) status = InvalidArgument("a pure function " + what);
  }
  std::unordered_set<const ExprNode*> own_;
};

}  // namespace

Status CheckPure(const PrimFunc& func) {
  EffectFinder finder;
  finder(func.body);
  return finder.status;
}

}  // namespace lathe
