#include "compiler/transform/declare_buffers.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// The buffers that a function uses and does not declare, in the order of their use.
class UndeclaredFinder : public StmtExprVisitor {
 public:
  std::vector<Buffer> Find(const PrimFunc& func) {
    for (const ParamBuffer& param : func.buffer_map) declared_.insert(param.buffer.get());
    VisitStmt(func.body);
    std::erase_if(used_, [&](const Buffer& buffer) { return declared_.contains(buffer.get()); });
    return std::move(used_);
  }

 protected:
  void VisitBufferDef(const Buffer& buffer) override {
    declared_.insert(buffer.get());
    StmtExprVisitor::VisitBufferDef(buffer);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Use(store.buffer);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Use(load.buffer);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void Use(const Buffer& buffer) {
    if (seen_.insert(buffer.get()).second) used_.push_back(buffer);
  }
  std::unordered_set<const BufferNode*> declared_, seen_;
  std::vector<Buffer> used_;
};

class Declarer : public StmtExprMutator {
 public:
  explicit Declarer(std::vector<Buffer> undeclared) : undeclared_(std::move(undeclared)) {}
  // With declarations of what lies over `data`.
  Stmt Declared(const Var& data, Stmt body) const {
    for (auto buffer = undeclared_.rbegin(); buffer != undeclared_.rend(); ++buffer)
      if ((*buffer)->data.same_as(data)) body = DeclBuffer{*buffer, body};
    return body;
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (const Allocate* allocate = visited.As<Allocate>()) return Inside(*allocate, allocate->buffer_var);
    if (const AllocateConst* allocate = visited.As<AllocateConst>()) return Inside(*allocate, allocate->buffer_var);
    if (const LetStmt* let = visited.As<LetStmt>()) return Inside(*let, let->var);
    return visited;
  }

 private:
  template <typename T>
  Stmt Inside(T statement, const Var& data) const {
    statement.body = Declared(data, statement.body);
    return statement;
  }
  const std::vector<Buffer> undeclared_;
};

}  // namespace

PrimFunc DeclareBuffers(PrimFunc func) {
  std::vector<Buffer> undeclared = UndeclaredFinder().Find(func);
  if (undeclared.empty()) return func;
  Declarer declarer(std::move(undeclared));
  func.body = declarer(func.body);
  return func;
}

}  // namespace lathe
