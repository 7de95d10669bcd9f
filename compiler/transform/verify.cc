#include "compiler/transform/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class Verifier : public StmtExprVisitor {
 public:
  explicit Verifier(const PrimFunc& func) : name_(func.name) {
    for (const Var& param : func.params) Define(param);
    for (const ParamBuffer& entry : func.buffer_map) AddParamBuffer(func, entry);
    (*this)(func.body);
  }
  const Status& status() const { return status_; }

 protected:
  void Fail(const std::string& what) {
    if (!status_.ok()) return;
    std::string place = fmt::format("verify @{}", name_);
    if (!blocks_.empty()) place += fmt::format(" block \"{}\"", blocks_.back());
    status_ = InvalidArgument(fmt::format("{}: {}", place, what));
  }

  void VisitStmt(const Stmt& stmt) override {
    if (!status_.ok()) return;
    if (const LetStmt* let = stmt.As<LetStmt>()) return VisitLet(*let);
    if (const AllocBuffer* allocate = stmt.As<AllocBuffer>()) return VisitAllocate(*allocate);
    if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) return VisitDeclaration(*declaration);
    if (const Allocate* allocate = stmt.As<Allocate>()) return VisitMemory(stmt, allocate->buffer_var);
    if (const AllocateConst* allocate = stmt.As<AllocateConst>()) return VisitMemory(stmt, allocate->buffer_var);
    if (const BufferRealize* realize = stmt.As<BufferRealize>()) return VisitRealize(*realize);
    if (const Prefetch* prefetch = stmt.As<Prefetch>()) return CheckRegion({prefetch->buffer, prefetch->bounds});
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) return VisitAttr(stmt, *attr);
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) CheckCondition(branch->condition, /*may_be_vector=*/true);
    if (const AssertStmt* assertion = stmt.As<AssertStmt>()) CheckCondition(assertion->condition, false);
    if (const While* loop = stmt.As<While>()) CheckCondition(loop->condition, false);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitFor(const Stmt&, const For& loop) override {
    VisitExpr(loop.min);
    VisitExpr(loop.extent);
    const DataType type = loop.loop_var.dtype();
    if (loop.min.dtype() != type || !type.is_int() || !type.is_scalar() ||
        (loop.extent.dtype() != type && AsIntConst(loop.extent) == nullptr)) {
      Fail(fmt::format("loop \"{}\" of type {} runs from {} over {}", loop.loop_var.name(), type.ToString(),
                       loop.min.dtype().ToString(), loop.extent.dtype().ToString()));
    }
    Define(loop.loop_var);
    VisitStmt(loop.body);
    vars_.erase(loop.loop_var.get());
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    const BlockNode& block = *realize.block;
    for (const Expr& value : realize.iter_values) VisitExpr(value);
    VisitExpr(realize.predicate);
    CheckCondition(realize.predicate, false);
    blocks_.push_back(block.name);
    if (block.iter_vars.size() != realize.iter_values.size())
      Fail(fmt::format("{} iter vars, {} values", block.iter_vars.size(), realize.iter_values.size()));
    for (const IterVar& iter : block.iter_vars) {
      VisitExpr(iter.domain.min);
      VisitExpr(iter.domain.extent);
      CheckDomain(iter);
      Define(iter.var);
    }
    for (const Buffer& buffer : block.alloc_buffers) Define(buffer);
    for (const MatchBufferRegion& match : block.match_buffers) DefineView(match);
    for (const BufferRegion& region : block.reads) CheckRegion(region);
    for (const BufferRegion& region : block.writes) CheckRegion(region);
    if (block.init) VisitStmt(*block.init);
    VisitStmt(block.body);
    for (const IterVar& iter : block.iter_vars) vars_.erase(iter.var.get());
    for (const Buffer& buffer : block.alloc_buffers) Forget(buffer);
    for (const MatchBufferRegion& match : block.match_buffers) Forget(match.buffer);
    blocks_.pop_back();
  }
  void CheckDomain(const IterVar& iter) {
    const auto is_other = [&](const Expr& e) { return e.dtype() != iter.var.dtype() && AsIntConst(e) == nullptr; };
    if (is_other(iter.domain.min) || is_other(iter.domain.extent))
      Fail(fmt::format("iter var \"{}\" of type {} runs from {} over {}", iter.var.name(), iter.var.dtype().ToString(),
                       iter.domain.min.dtype().ToString(), iter.domain.extent.dtype().ToString()));
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const DataType expected = CheckAccess(store.buffer, store.indices);
    if (store.value.dtype() != expected)
      Fail(fmt::format("\"{}\" takes {}, {} is stored", store.buffer->name, expected.ToString(),
                       store.value.dtype().ToString()));
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const DataType expected = CheckAccess(load.buffer, load.indices);
    if (self.dtype() != expected)
      Fail(fmt::format("load of \"{}\" gives {}, is marked {}", load.buffer->name, expected.ToString(),
                       self.dtype().ToString()));
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitExpr(const Expr& e) override {
    if (!status_.ok()) return;
    if (const Binary* binary = e.As<Binary>(); binary != nullptr && binary->a.dtype() != binary->b.dtype()) {
      Fail(fmt::format("operands are {} and {}", binary->a.dtype().ToString(), binary->b.dtype().ToString()));
    }
    if (const Select* select = e.As<Select>();
        select != nullptr && select->true_value.dtype() != select->false_value.dtype()) {
      Fail(fmt::format("select between {} and {}", select->true_value.dtype().ToString(),
                       select->false_value.dtype().ToString()));
    }
    if (const Let* let = e.As<Let>()) return VisitLetValue(*let);
    if (const Reduce* reduce = e.As<Reduce>()) return VisitReduce(e, *reduce);
    StmtExprVisitor::VisitExpr(e);
  }
  void VisitVar(const Expr& var) override {
    if (vars_.count(var.get()) == 0)
      Fail(fmt::format("variable \"{}\" is used where it is not defined", Var(var).name()));
  }

 private:
  void Define(const Var& var) {
    if (!seen_.insert(var.get()).second) Fail(fmt::format("variable \"{}\" is defined twice", var.name()));
    vars_.insert(var.get());
  }
  void Define(const Buffer& buffer) {
    Define(buffer->data);
    Declare(buffer);
  }
  void Declare(const Buffer& buffer) {
    if (!seen_.insert(buffer.get()).second) Fail(fmt::format("buffer \"{}\" is defined twice", buffer->name));
    buffers_.insert(buffer.get());
    VisitBufferDef(buffer);
    if (!buffer->strides.empty() && buffer->strides.size() != buffer->shape.size()) {
      Fail(fmt::format("buffer \"{}\" has {} dimensions and {} strides", buffer->name, buffer->shape.size(),
                       buffer->strides.size()));
    }
  }
  void Forget(const Buffer& buffer) {
    buffers_.erase(buffer.get());
    vars_.erase(buffer->data.get());
  }
  // Whole variables in a parameter's or view's shape, strides and offset are defined by it.
  void DefineSymbols(const Buffer& buffer) {
    const auto define = [&](const Expr& e) {
      if (!IsVar(e)) return;
      vars_.insert(e.get());
      seen_.insert(e.get());
    };
    for (const Expr& extent : buffer->shape) define(extent);
    for (const Expr& stride : buffer->strides) define(stride);
    define(buffer->elem_offset);
  }
  void AddParamBuffer(const PrimFunc& func, const ParamBuffer& entry) {
    const auto at = std::find_if(func.params.begin(), func.params.end(),
                                 [&](const Var& param) { return param.same_as(entry.param); });
    if (at == func.params.end() || entry.param.dtype() != DataType::Handle())
      Fail(fmt::format("buffer \"{}\" stands for \"{}\", which is no handle among the parameters", entry.buffer->name,
                       entry.param.name()));
    if (!seen_.insert(entry.buffer.get()).second || vars_.count(entry.buffer->data.get()) != 0)
      Fail(fmt::format("parameter \"{}\" is over memory that another parameter has", entry.buffer->name));
    seen_.erase(entry.buffer.get());
    DefineSymbols(entry.buffer);
    Define(entry.buffer);
  }
  void DefineView(const MatchBufferRegion& match) {
    CheckRegion(match.source);
    DefineSymbols(match.buffer);
    Define(match.buffer);
  }
  void CheckRegion(const BufferRegion& region) {
    if (buffers_.count(region.buffer.get()) == 0)
      Fail(fmt::format("buffer \"{}\" is used where it is not defined", region.buffer->name));
    if (region.region.size() != region.buffer->shape.size()) {
      Fail(fmt::format("region of \"{}\" has {} ranges for {} dimensions", region.buffer->name, region.region.size(),
                       region.buffer->shape.size()));
    }
    for (const Range& range : region.region) {
      VisitExpr(range.min);
      VisitExpr(range.extent);
    }
  }
  void CheckCondition(const Expr& condition, bool may_be_vector) {
    if (!condition.dtype().is_bool() || (!may_be_vector && !condition.dtype().is_scalar()))
      Fail(fmt::format("a condition of type {}", condition.dtype().ToString()));
  }
  // What is read or written there.
  DataType CheckAccess(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (buffers_.count(buffer.get()) == 0)
      Fail(fmt::format("buffer \"{}\" is used where it is not defined", buffer->name));
    if (indices.size() != buffer->shape.size() && indices.size() != 1) {
      Fail(fmt::format("buffer \"{}\" has {} dimensions, {} indices", buffer->name, buffer->shape.size(),
                       indices.size()));
    }
    for (size_t d = 0; d < indices.size(); ++d) {
      const DataType type = indices[d].dtype();
      if (!type.is_int() && !type.is_bool())
        Fail(fmt::format("buffer \"{}\" is indexed by {}", buffer->name, type.ToString()));
      if (d + 1 < indices.size() && !type.is_scalar())
        Fail(fmt::format("index {} of \"{}\" is a vector; only the last may be", d, buffer->name));
    }
    return AccessType(buffer, indices);
  }
  void VisitRealize(const BufferRealize& realize) {
    CheckCondition(realize.condition, false);
    VisitExpr(realize.condition);
    Define(realize.buffer);
    CheckRegion({realize.buffer, realize.bounds});
    VisitStmt(realize.body);
    Forget(realize.buffer);
  }
  void VisitLet(const LetStmt& let) {
    VisitExpr(let.value);
    if (let.value.dtype() != let.var.dtype())
      Fail(fmt::format("let \"{}\" of type {} takes {}", let.var.name(), let.var.dtype().ToString(),
                       let.value.dtype().ToString()));
    Define(let.var);
    VisitStmt(let.body);
    vars_.erase(let.var.get());
  }
  void VisitAllocate(const AllocBuffer& allocate) {
    Define(allocate.buffer);
    VisitStmt(allocate.body);
    Forget(allocate.buffer);
  }
  // `self` introduces `data`, which no expression of its own names.
  void VisitMemory(const Stmt& self, const Var& data) {
    Define(data);
    VisitChildren(self);
    vars_.erase(data.get());
  }
  void VisitUnder(const AttrStmt& attr) {
    VisitExpr(attr.value);
    VisitStmt(attr.body);
  }
  void VisitAttr(const Stmt& self, const AttrStmt& attr) {
    const IterVar* axis = std::get_if<IterVar>(&attr.node);
    if (std::holds_alternative<Attr>(attr.node)) return VisitUnder(attr);  // A name for what it says something of.
    if (axis == nullptr) return VisitChildren(self);
    seen_.insert(axis->var.get());  // Launched again, it is the same variable.
    vars_.insert(axis->var.get());
    VisitChildren(self);
    vars_.erase(axis->var.get());
  }
  // An expression may stand in several places, so its variables may, too.
  void VisitLetValue(const Let& let) {
    VisitExpr(let.value);
    if (let.value.dtype() != let.var.dtype())
      Fail(fmt::format("let \"{}\" of type {} takes {}", let.var.name(), let.var.dtype().ToString(),
                       let.value.dtype().ToString()));
    vars_.insert(let.var.get());
    VisitExpr(let.body);
    vars_.erase(let.var.get());
  }
  void VisitReduce(const Expr& self, const Reduce& reduce) {
    for (const std::vector<Var>* side : {&reduce.combiner.lhs, &reduce.combiner.rhs}) {
      for (const Var& var : *side) vars_.insert(var.get());
    }
    for (const IterVar& axis : reduce.axis) vars_.insert(axis.var.get());
    VisitChildren(self);
  }
  void VisitDeclaration(const DeclBuffer& declaration) {
    VisitExpr(declaration.buffer->data);
    Declare(declaration.buffer);
    VisitStmt(declaration.body);
    buffers_.erase(declaration.buffer.get());
  }

  std::string name_;
  Status status_;
  std::vector<std::string> blocks_;
  std::unordered_set<const void*> vars_, buffers_;  // In scope.
  std::unordered_set<const void*> seen_;            // Ever defined.
};

class LoweredVerifier : public StmtExprVisitor {
 public:
  explicit LoweredVerifier(const PrimFunc& func) : name_(func.name) { (*this)(func.body); }
  const Status& status() const { return status_; }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (stmt.As<BlockRealize>() != nullptr) return Fail("a block is left");
    if (const AllocBuffer* allocate = stmt.As<AllocBuffer>()) {
      if (allocate->buffer->shape.size() != 1)
        return Fail(
            fmt::format("allocation \"{}\" has {} dimensions", allocate->buffer->name, allocate->buffer->shape.size()));
    }
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitFor(const Stmt& self, const For& loop) override {
    if (loop.kind == ForKind::kThreadBinding)
      return Fail(fmt::format("loop \"{}\" is bound to {}", loop.loop_var.name(), loop.thread),
                  "; threads need a GPU, kernels are built for CPUs");
    if (loop.kind != ForKind::kSerial && loop.kind != ForKind::kParallel)
      return Fail(fmt::format("loop \"{}\" is neither serial nor parallel", loop.loop_var.name()));
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    CheckFlat(store.buffer, store.indices);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    CheckFlat(load.buffer, load.indices);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void CheckFlat(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (indices.size() != 1) Fail(fmt::format("access to \"{}\" has {} indices", buffer->name, indices.size()));
  }
  void Fail(const std::string& what, std::string_view why = "") {
    if (status_.ok()) status_ = InvalidArgument(fmt::format("verify @{}: {} after lowering{}", name_, what, why));
  }
  std::string name_;
  Status status_;
};

}  // namespace

Status VerifyWellFormed(const PrimFunc& func) { return Verifier(func).status(); }

Status VerifyLowered(const PrimFunc& func) {
  RETURN_IF_ERROR(VerifyWellFormed(func));
  return LoweredVerifier(func).status();
}

}  // namespace lathe
