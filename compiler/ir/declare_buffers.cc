#include "compiler/ir/declare_buffers.h"

#include <algorithm>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// A buffer that is used and not declared.
struct Undeclared {
  Buffer buffer;
  size_t uses = 0;       // All there are,
  size_t seen = 0;       // and those up to here.
  bool is_done = false;  // Its declaration has a place.
};

// The buffers over memory that is introduced, used without a declaration; in the order of their first uses.
class UndeclaredFinder : public StmtExprMutator {
 public:
  void Introduce(const Buffer& buffer) {
    declared_.insert(buffer.get());
    memory_.insert(buffer->data.get());
  }
  void Introduce(const Var& memory) { memory_.insert(memory.get()); }
  std::vector<Undeclared> Find(const Stmt& body) {
    VisitStmt(body);
    std::erase_if(used_, [&](const Undeclared& one) {
      return declared_.contains(one.buffer.get()) || !memory_.contains(one.buffer->data.get());
    });
    return std::move(used_);
  }

 protected:
  Var VisitVarDef(const Var& var) override {
    Introduce(var);
    return var;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override {
    Introduce(buffer);
    return buffer;
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override {
    declared_.insert(buffer.get());
    return buffer;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto [at, is_new] = places_.emplace(buffer.get(), used_.size());
    if (is_new) used_.push_back({buffer});
    ++used_[at->second].uses;
    return buffer;
  }

 private:
  std::unordered_set<const BufferNode*> declared_;
  std::unordered_set<const ExprNode*> memory_;
  std::unordered_map<const BufferNode*, size_t> places_;
  std::vector<Undeclared> used_;
};

class Declarer : public StmtExprMutator {
 public:
  explicit Declarer(std::vector<Undeclared> undeclared) : undeclared_(std::move(undeclared)) {
    for (size_t i = 0; i < undeclared_.size(); ++i) places_.emplace(undeclared_[i].buffer.get(), i);
  }

 protected:
  // A suite: those inside of a sequence are no suites of their own.
  Stmt VisitStmt(const Stmt& stmt) override {
    const Seq* seq = stmt.As<Seq>();
    const std::vector<Stmt> stmts = seq == nullptr ? std::vector{stmt} : seq->stmts;
    std::vector<size_t> before;
    for (const Undeclared& one : undeclared_) before.push_back(one.seen);
    std::vector<Stmt> visited;
    std::vector<size_t> first(undeclared_.size(), stmts.size());  // The statement that uses each first.
    for (const Stmt& each : stmts) {
      visited.push_back(StmtExprMutator::VisitStmt(each));
      NoteFirst(before, visited.size() - 1, first);
    }
    return Declared(before, first, std::move(visited));
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = places_.find(buffer.get());
    if (found != places_.end()) ++undeclared_[found->second].seen;
    return buffer;
  }

 private:
  void NoteFirst(const std::vector<size_t>& before, size_t at, std::vector<size_t>& first) const {
    for (size_t i = 0; i < first.size(); ++i)
      if (undeclared_[i].seen > before[i]) first[i] = std::min(first[i], at);
  }
  // The suite, with the declarations of what is used here and nowhere else.
  Stmt Declared(const std::vector<size_t>& before, const std::vector<size_t>& first, std::vector<Stmt> suite) {
    for (size_t at = suite.size(); at-- > 0;) {
      for (size_t i = undeclared_.size(); i-- > 0;) {
        Undeclared& one = undeclared_[i];
        if (one.is_done || first[i] != at || one.seen - before[i] != one.uses) continue;
        one.is_done = true;
        const auto begin = suite.begin() + std::ptrdiff_t(at);
        Stmt rest = DeclBuffer{one.buffer, MakeSeq({begin, suite.end()})};
        suite.erase(begin, suite.end());
        suite.push_back(std::move(rest));
      }
    }
    return MakeSeq(std::move(suite));
  }

  std::vector<Undeclared> undeclared_;
  std::unordered_map<const BufferNode*, size_t> places_;
};

DeclaredBuffers Declare(const Stmt& body, std::vector<Undeclared> undeclared) {
  if (undeclared.empty()) return {body, {}};
  std::unordered_set<const BufferNode*> added;
  for (const Undeclared& one : undeclared) added.insert(one.buffer.get());
  return {Declarer(std::move(undeclared))(body), std::move(added)};
}

}  // namespace

DeclaredBuffers FindDeclarations(const PrimFunc& func) {
  UndeclaredFinder finder;
  for (const Var& param : func.params) finder.Introduce(param);
  for (const ParamBuffer& param : func.buffer_map) finder.Introduce(param.buffer);
  return Declare(func.body, finder.Find(func.body));
}

PrimFunc DeclareBuffers(PrimFunc func) {
  func.body = FindDeclarations(func).body;
  return func;
}

}  // namespace lathe
