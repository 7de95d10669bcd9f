#include "compiler/transform/inject_ptx_ldg32.h"

#include <algorithm>

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class WrittenBuffers : public StmtExprVisitor {
 public:
  bool MayBe(const Buffer& buffer) const {
    return std::any_of(written_.begin(), written_.end(), [&](const Buffer& other) { return MayAlias(buffer, other); });
  }

 protected:
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    written_.push_back(store.buffer);
    StmtExprVisitor::VisitBufferStore(self, store);
  }

 private:
  std::vector<Buffer> written_;
};

class LoadInjector : public StmtExprMutator {
 public:
  explicit LoadInjector(const WrittenBuffers& written) : written_(written) {}

  // The registers begin inside of the launch of threads.
  Stmt WithRegisters(const Stmt& body) const {
    if (!is_used_) return body;
    if (const AttrStmt* attr = body.As<AttrStmt>()) {
      AttrStmt copy = *attr;
      copy.body = WithRegisters(attr->body);
      return copy;
    }
    return AllocBuffer{predicate_, AllocBuffer{addr_, body}};
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const Seq* seq = visited.As<Seq>();
    return seq == nullptr || visited.same_as(stmt) ? visited : MakeSeq(seq->stmts);  // A store is five statements.
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Call* choice = store.value.As<Call>();
    if (choice == nullptr || choice->op->name != "if_then_else" || !IsElement(store) || !IsZero(choice->args[2]))
      return self;
    const BufferLoad* load = choice->args[1].As<BufferLoad>();
    if (load == nullptr || !IsCached(*load)) return self;
    is_used_ = true;
    const Expr local = Load(addr_, {1}), predicate = Load(predicate_, {0});
    const Expr global = Load(load->buffer, {Load(addr_, {0})});
    return Seq{{MakeStore(addr_, load->indices[0], {0}), MakeStore(addr_, store.indices[0], {1}),
                MakeStore(predicate_, choice->args[0], {0}), MakeStore(store.buffer, choice->args[2], {local}),
                Evaluate{MakeCall(store.buffer->dtype, "ptx_ldg32", {store.buffer->data, predicate, global, local})}}};
  }

 private:
  template <typename Access>
  static bool IsElement(const Access& access) {
    return access.indices.size() == 1 && access.indices[0].dtype() == kIndexType && !access.predicate &&
           access.buffer->dtype == DataType::Float(32);
  }
  bool IsCached(const BufferLoad& load) const {
    return IsElement(load) && ScopeOf(load.buffer->data) == "global" && !written_.MayBe(load.buffer);
  }
  static bool IsZero(const Expr& e) {
    const FloatImm* imm = e.As<FloatImm>();
    return imm != nullptr && imm->value == 0;
  }

  const WrittenBuffers& written_;
  const Buffer addr_ = MakeBuffer("addr", {2}, DataType::Int(32), "local");
  const Buffer predicate_ = MakeBuffer("predicate", {1}, DataType::Bool(), "local");
  bool is_used_ = false;
};

}  // namespace

PrimFunc InjectPTXLDG32(PrimFunc func) {
  WrittenBuffers written;
  written(func.body);
  LoadInjector injector(written);
  const Stmt body = injector(func.body);
  func.body = injector.WithRegisters(body);
  return func;
}

}  // namespace lathe
