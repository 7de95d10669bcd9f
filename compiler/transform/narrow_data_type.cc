#include "compiler/transform/narrow_data_type.h"

#include <fmt/format.h>

#include <type_traits>
#include <unordered_map>
#include <utility>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Whether integers of the type, or vectors of such, may become narrower.
bool IsWide(DataType type, int target_bits) { return type.is_signed_int() && type.bits > target_bits; }

// For variables, numbers and casts: whether anything that is computed with them needs more than the target's bits.
using Needs = std::unordered_map<const ExprNode*, bool>;

class NeedFinder : public StmtExprVisitor {
 public:
  explicit NeedFinder(int target_bits)
      : target_bits_(target_bits), max_((int64_t{1} << (target_bits - 1)) - 1), min_(-max_ - 1) {}
  Needs needs;

 protected:
  void VisitExpr(const Expr& e) override {
    const bool outer = needs_wide_;
    if (IsWide(e.dtype(), target_bits_)) {
      needs_wide_ |= !e.dtype().is_scalar() ? false : !analyzer_.ConstIntBound(e).Within(min_, max_);
      if (IsVar(e) || e.As<IntImm>() != nullptr || e.As<Cast>() != nullptr) needs[e.get()] |= needs_wide_;
    }
    StmtExprVisitor::VisitExpr(e);
    needs_wide_ = outer;
  }
  void VisitFor(const Stmt&, const For& loop) override {
    VisitExpr(loop.min);
    VisitExpr(loop.extent);
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    VisitExpr(loop.loop_var);
    VisitStmt(loop.body);
  }
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (axis == nullptr) return StmtExprVisitor::VisitStmt(stmt);
    const FactScope inside(analyzer_, axis->var, Range{IntConst(attr->value.dtype(), 0), attr->value});
    VisitExpr(axis->var);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBlock(const Block& block) override {
    const FactScope inside(analyzer_);
    for (const IterVar& iter : block->iter_vars) {
      analyzer_.Bind(iter.var, iter.domain);
      VisitExpr(iter.var);
    }
    StmtExprVisitor::VisitBlock(block);
  }

 private:
  const int target_bits_;
  const int64_t max_, min_;
  bool needs_wide_ = false;
  Analyzer analyzer_;
};

// `e` as a value of `type`.
Expr AsType(DataType type, const Expr& e) {
  if (e.dtype() == type) return e;
  const int64_t* number = AsIntConst(e);
  return number != nullptr && type.is_scalar() ? IntConst(type, *number) : MakeCast(type, e);
}

class TypeNarrower : public StmtExprMutator {
 public:
  TypeNarrower(Needs needs, int target_bits) : needs_(std::move(needs)), narrow_(DataType::Int(target_bits)) {}

 protected:
  Var VisitVarDef(const Var& var) override {
    if (!MayNarrow(var)) return var;
    return Var(vars_.insert_or_assign(var.get(), Var(var.name(), narrow_)).first->second);
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Expr VisitExpr(const Expr& e) override {
    if (e.As<IntImm>() != nullptr) return in_index_ && MayNarrow(e) ? AsType(narrow_, e) : e;
    if (const Cast* cast = e.As<Cast>(); cast != nullptr && in_index_ && MayNarrow(e))
      return AsType(narrow_, VisitExpr(cast->value));
    const Expr visited = StmtExprMutator::VisitExpr(e);
    return visited.same_as(e) ? e : WithOneType(visited);
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad&) override {
    return AsIndex([&] { return VisitChildren(self); });
  }
  Stmt VisitBufferStore(const Stmt&, const BufferStore& store) override {
    BufferStore copy = store;
    copy.value = AsType(store.value.dtype(), VisitExpr(store.value));
    for (Expr& index : copy.indices) index = AsIndex([&] { return VisitExpr(index); });
    return copy;
  }
  Stmt VisitFor(const Stmt&, const For& loop) override {
    For copy = loop;
    copy.min = AsIndex([&] { return VisitExpr(loop.min); });
    copy.extent = AsIndex([&] { return VisitExpr(loop.extent); });
    copy.loop_var = VisitVarDef(loop.loop_var);
    copy.min = AsType(copy.loop_var.dtype(), copy.min);
    copy.extent = AsType(copy.loop_var.dtype(), copy.extent);
    copy.body = VisitStmt(loop.body);
    return copy;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr && std::holds_alternative<IterVar>(attr->node)) return VisitThread(*attr);
    const IfThenElse* branch = stmt.As<IfThenElse>();
    if (branch == nullptr) return StmtExprMutator::VisitStmt(stmt);
    IfThenElse copy = *branch;
    copy.condition = AsIndex([&] { return VisitExpr(branch->condition); });
    copy.then_case = VisitStmt(branch->then_case);
    if (copy.else_case) copy.else_case = VisitStmt(*branch->else_case);
    return copy;
  }
  Stmt VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    BlockRealize copy = realize;
    for (Expr& value : copy.iter_values) value = AsIndex([&] { return VisitExpr(value); });
    copy.predicate = AsIndex([&] { return VisitExpr(realize.predicate); });
    copy.block = VisitBlock(realize.block);
    for (size_t i = 0; i < copy.iter_values.size(); ++i)
      copy.iter_values[i] = AsType(copy.block->iter_vars[i].var.dtype(), copy.iter_values[i]);
    return copy;
  }
  Block VisitBlock(const Block& block) override {
    BlockNode node = *block;
    for (IterVar& iter : node.iter_vars) {
      iter.var = VisitVarDef(iter.var);
      for (Expr* end : {&iter.domain.min, &iter.domain.extent})
        *end = AsType(iter.var.dtype(), AsIndex([&] { return VisitExpr(*end); }));
    }
    for (std::vector<BufferRegion>* regions : {&node.reads, &node.writes}) {
      for (BufferRegion& region : *regions) region = VisitRegion(region);
    }
    for (MatchBufferRegion& match : node.match_buffers) match.source = VisitRegion(match.source);
    if (node.init) node.init = VisitStmt(*node.init);
    node.body = VisitStmt(node.body);
    return Block(std::move(node));
  }

 private:
  // A launched thread and how many there are.
  Stmt VisitThread(AttrStmt attr) {
    IterVar axis = std::get<IterVar>(attr.node);
    axis.var = VisitVarDef(axis.var);
    for (Expr* end : {&axis.domain.min, &axis.domain.extent})
      *end = AsType(axis.var.dtype(), AsIndex([&] { return VisitExpr(*end); }));
    attr.value = AsType(axis.var.dtype(), AsIndex([&] { return VisitExpr(attr.value); }));
    attr.node = std::move(axis);
    attr.body = VisitStmt(attr.body);
    return attr;
  }
  bool MayNarrow(const Expr& e) const {
    const auto found = needs_.find(e.get());
    return e.dtype().is_scalar() && IsWide(e.dtype(), narrow_.bits) && found != needs_.end() && !found->second;
  }
  template <typename F>
  std::invoke_result_t<F> AsIndex(F&& f) {
    const bool outer = std::exchange(in_index_, true);
    auto result = f();
    in_index_ = outer;
    return result;
  }
  BufferRegion VisitRegion(BufferRegion region) {
    for (Range& dim : region.region) {
      dim.min = AsIndex([&] { return VisitExpr(dim.min); });
      dim.extent = AsIndex([&] { return VisitExpr(dim.extent); });
      if (AsIntConst(dim.extent) != nullptr) dim.extent = AsType(dim.min.dtype(), dim.extent);
    }
    return region;
  }
  // Below a node some operands have become narrow.
  Expr WithOneType(const Expr& e) const {
    if (const Binary* op = e.As<Binary>()) {
      Expr a = op->a, b = op->b;
      MatchTypes(a, b);
      return MakeBinary(op->op, a, b);
    }
    if (const Select* op = e.As<Select>()) {
      Expr a = op->true_value, b = op->false_value;
      MatchTypes(a, b);
      return Expr::Make(a.dtype(), Select{op->condition, a, b});
    }
    if (const Ramp* ramp = e.As<Ramp>())
      return Expr::Make(ramp->base.dtype().shaped_as(e.dtype()),
                        Ramp{ramp->base, AsType(ramp->base.dtype(), ramp->stride), ramp->lanes});
    if (const Broadcast* op = e.As<Broadcast>()) return Expr::Make(op->value.dtype().shaped_as(e.dtype()), *op);
    return e.As<Call>() != nullptr && IsWide(e.dtype(), narrow_.bits) ? WithWideArgs(e) : e;
  }
  // Of calls we know no more than that they take what they took.
  Expr WithWideArgs(const Expr& e) const {
    Call call = *e.As<Call>();
    for (Expr& arg : call.args) {
      if (arg.dtype().is_int() && !IsWide(arg.dtype(), narrow_.bits)) arg = AsType(e.dtype(), arg);
    }
    return Expr::Make(e.dtype(), std::move(call));
  }

  const Needs needs_;
  const DataType narrow_;
  bool in_index_ = false;
  VarMap vars_;
};

}  // namespace

StatusOr<PrimFunc> NarrowDataType(PrimFunc func, int target_bits) {
  if (target_bits != 8 && target_bits != 16 && target_bits != 32 && target_bits != 64)
    return InvalidArgument(fmt::format("narrow_data_type: target_bits must be 8, 16, 32 or 64, got {}", target_bits));
  if (target_bits == 64) return func;
  NeedFinder finder(target_bits);
  finder(func.body);
  func.body = TypeNarrower(std::move(finder.needs), target_bits)(func.body);
  return func;
}

}  // namespace lathe
