#include "compiler/transform/assumptions.h"

#include <algorithm>
#include <cmath>

#include "compiler/arith/linear.h"
#include "compiler/ir/may_trap.h"
#include "compiler/transform/fact_mutator.h"

namespace lathe {
namespace {

void Disjuncts(const Expr& e, std::vector<Expr>& parts) {
  const Binary* op = e.As<Binary>();
  if (op == nullptr || op->op != BinaryOp::kOr) {
    parts.push_back(e);
    return;
  }
  Disjuncts(op->a, parts);
  Disjuncts(op->b, parts);
}
Expr NegatedPart(const Expr& e) {
  const Not* negation = e.As<Not>();
  return negation != nullptr ? negation->a : MakeNot(e);
}

// What T.assume says of one element; InvalidArgument: it reads memory, and not in this form.
StatusOr<std::optional<Assumption>> ReadAssumption(const Expr& condition) {
  std::vector<Expr> parts, conditions;
  Disjuncts(condition, parts);
  std::optional<Assumption> assumption;
  for (const Expr& part : parts) {
    if (!HasLoad(part)) {
      conditions.push_back(NegatedPart(part));
      continue;
    }
    const Binary* equation = part.As<Binary>();
    const bool is_equation = equation != nullptr && equation->op == BinaryOp::kEQ;
    const bool is_left = is_equation && equation->a.As<BufferLoad>() != nullptr;
    const BufferLoad* load = !is_equation ? nullptr : (is_left ? equation->a : equation->b).As<BufferLoad>();
    if (load == nullptr || assumption || load->predicate || HasLoad(is_left ? equation->b : equation->a) ||
        std::any_of(load->indices.begin(), load->indices.end(), HasLoad))
      return InvalidArgument("T.assume says more of memory than conditions or buffer[indices] == value");
    assumption = Assumption{{}, {}, load->buffer, load->indices, is_left ? equation->b : equation->a};
  }
  if (assumption) assumption->conditions = std::move(conditions);
  return assumption;
}

// The same whenever it is computed.
bool IsConstantInTime(const Expr& e) {
  bool is_constant = !HasLoad(e);
  PostOrderVisit(e, [&](const Expr& part) {
    const Call* call = part.As<Call>();
    is_constant &= part.As<FuncCall>() == nullptr && (call == nullptr || call->op->is_pure);
  });
  return is_constant;
}

// Whether the block's iter vars take each combination of their values.
bool CoversDomain(const BlockRealize& realize, const IterDomain& loops) {
  const StatusOr<IterMapResult> map =
      DetectIterMap(realize.iter_values, loops, realize.predicate, IterMapOptions(), Analyzer());
  if (!map.ok() || !IsConstInt(map->padding_predicate, 0)) return false;
  const Analyzer analyzer;
  for (size_t i = 0; i < map->indices.size(); ++i) {
    const IterSumExpr& sum = map->indices[i];
    const Range& domain = realize.block->iter_vars[i].domain;
    if (sum.args.size() > 1 || !analyzer.CanProveEqual(sum.base, domain.min)) return false;
    if (!sum.args.empty() && !IsConstInt(sum.args[0].scale, 1)) return false;
    const Expr extent = sum.args.empty() ? Expr(1) : sum.args[0].extent;
    if (!analyzer.CanProveEqual(extent, domain.extent)) return false;
  }
  return true;
}

// A float that every type holds exactly, so that no rounding is decided here.
bool IsPlain(double value) { return value == std::trunc(value) && std::abs(value) <= 256; }
std::optional<Expr> FoldPlainFloats(const Binary& op) {
  const FloatImm *a = op.a.As<FloatImm>(), *b = op.b.As<FloatImm>();
  if (a == nullptr || b == nullptr || !IsPlain(a->value) || !IsPlain(b->value)) return std::nullopt;
  const auto result = [&](double value) {
    return IsPlain(value) ? std::optional(FloatConst(op.a.dtype(), value)) : std::nullopt;
  };
  if (op.op == BinaryOp::kAdd) return result(a->value + b->value);
  if (op.op == BinaryOp::kSub) return result(a->value - b->value);
  if (op.op == BinaryOp::kMul) return result(a->value * b->value);
  if (op.op == BinaryOp::kMin) return result(std::min(a->value, b->value));
  if (op.op == BinaryOp::kMax) return result(std::max(a->value, b->value));
  return std::nullopt;
}

// The values of the assumption's variables for which it is about `indices`; nullopt: not all can be read off.
std::optional<VarMap> MatchIndices(const Assumption& assumption, const std::vector<Expr>& indices, Simplifier& facts) {
  VarMap values;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Expr& index = assumption.indices[d];
    const bool is_free =
        std::any_of(assumption.vars.begin(), assumption.vars.end(), [&](const Var& var) { return var.same_as(index); });
    if (is_free) values.emplace(index.get(), indices[d]);
  }
  if (values.size() != assumption.vars.size()) return std::nullopt;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!facts.CanProve(Equal(Substitute(assumption.indices[d], values), indices[d]))) return std::nullopt;
  }
  return values;
}

}  // namespace

std::optional<Expr> AssumedValue(const Assumption& assumption, const Buffer& buffer, const std::vector<Expr>& indices,
                                 Simplifier& facts) {
  if (!buffer.same_as(assumption.buffer)) return std::nullopt;
  const std::optional<VarMap> values = MatchIndices(assumption, indices, facts);
  if (!values) return std::nullopt;
  for (const Expr& condition : assumption.conditions) {
    if (!facts.CanProve(Substitute(condition, *values))) return std::nullopt;
  }
  return Substitute(assumption.value, *values);
}

bool IsSilentAbout(const Assumption& assumption, const std::vector<Expr>& indices, Simplifier& facts) {
  const std::optional<VarMap> values = MatchIndices(assumption, indices, facts);
  return values && std::any_of(assumption.conditions.begin(), assumption.conditions.end(), [&](const Expr& condition) {
           return facts.CanProve(MakeNot(Substitute(condition, *values)));
         });
}

bool AssumptionFinder::IsIn(const std::vector<Buffer>& buffers, const Buffer& buffer) {
  return std::any_of(buffers.begin(), buffers.end(), [&](const Buffer& other) { return MayAlias(buffer, other); });
}
size_t AssumptionFinder::NumStores(const Buffer& buffer) const {
  return std::count_if(written_.begin(), written_.end(), [&](const Buffer& other) { return MayAlias(buffer, other); });
}

void AssumptionFinder::VisitStmt(const Stmt& stmt) {
  const bool covers = covers_;
  if (stmt.As<AttrStmt>() != nullptr || stmt.As<LetStmt>() != nullptr || stmt.As<While>() != nullptr) covers_ = false;
  const Evaluate* evaluate = stmt.As<Evaluate>();
  const Call* assume = evaluate == nullptr ? nullptr : AsCall(evaluate->value, "assume");
  const size_t num_conditions = conditions_.size();
  if (assume != nullptr) {
    Add(assume->args[0]);  // What it says is not read.
  } else if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
    VisitExpr(branch->condition);
    conditions_.push_back(branch->condition);
    VisitStmt(branch->then_case);
    conditions_.back() = NegatedPart(branch->condition);
    if (branch->else_case) VisitStmt(*branch->else_case);
  } else {
    StmtExprVisitor::VisitStmt(stmt);
  }
  conditions_.resize(num_conditions, True());
  covers_ = covers;
}
void AssumptionFinder::VisitFor(const Stmt& self, const For& loop) {
  loops_.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
  StmtExprVisitor::VisitFor(self, loop);
  loops_.pop_back();
}
void AssumptionFinder::VisitBlockRealize(const Stmt& self, const BlockRealize& realize) {
  if (realize.block->iter_vars.empty()) {
    const size_t num_conditions = conditions_.size();
    if (!IsConstInt(realize.predicate, 1)) conditions_.push_back(realize.predicate);
    StmtExprVisitor::VisitBlockRealize(self, realize);
    conditions_.resize(num_conditions, True());
    return;
  }
  // Below, the iter vars stand for the loops.
  IterDomain inner;
  for (const IterVar& iter : realize.block->iter_vars) inner.emplace_back(iter.var, iter.domain);
  const bool covers = covers_ && conditions_.empty() && CoversDomain(realize, loops_);
  std::swap(loops_, inner);
  const bool was = std::exchange(covers_, covers);
  StmtExprVisitor::VisitBlockRealize(self, realize);
  covers_ = was;
  std::swap(loops_, inner);
}
void AssumptionFinder::VisitBufferStore(const Stmt& self, const BufferStore& store) {
  written_.push_back(store.buffer);
  StmtExprVisitor::VisitBufferStore(self, store);
  const bool is_plain = !store.predicate && store.value.dtype().is_scalar() && IsConstantInTime(store.value) &&
                        std::all_of(store.indices.begin(), store.indices.end(), IsConstantInTime);
  if (is_plain && IsKnownHere()) stored.push_back(Here({{}, {}, store.buffer, store.indices, store.value}));
}
void AssumptionFinder::VisitBufferLoad(const Expr& self, const BufferLoad& load) {
  read_.push_back(load.buffer);
  StmtExprVisitor::VisitBufferLoad(self, load);
}

bool AssumptionFinder::IsKnownHere() const {
  return covers_ && std::none_of(conditions_.begin(), conditions_.end(), HasLoad);
}
Assumption AssumptionFinder::Here(Assumption assumption) const {
  assumption.conditions.insert(assumption.conditions.end(), conditions_.begin(), conditions_.end());
  for (const auto& [var, range] : loops_) {
    assumption.vars.push_back(var);
    assumption.conditions.push_back(LessEqual(range.min, var));
    assumption.conditions.push_back(Less(var, range.min + range.extent));
  }
  return assumption;
}
void AssumptionFinder::Add(const Expr& condition) {
  StatusOr<std::optional<Assumption>> read = ReadAssumption(condition);
  if (!read.ok()) status = read.status();
  if (read.ok() && *read && IsKnownHere()) found.push_back(Here(**read));
}

bool SameValue(const Expr& a, const Expr& b) {
  const FloatImm *x = a.As<FloatImm>(), *y = b.As<FloatImm>();
  if (x != nullptr && y != nullptr) return x->value == y->value && std::signbit(x->value) == std::signbit(y->value);
  return SameExpr(a, b);
}

bool IsInside(const Buffer& buffer, const std::vector<Expr>& indices, Simplifier& facts) {
  if (indices.size() != buffer->shape.size()) return false;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!facts.CanProve(LessEqual(0, indices[d])) || !facts.CanProve(Less(indices[d], buffer->shape[d]))) return false;
  }
  return true;
}

Expr AssumedValues::VisitBufferLoad(const Expr& self, const BufferLoad& load) {
  for (const Assumption& assumption : assumptions_) {
    if (load.predicate) break;
    if (const std::optional<Expr> value = AssumedValue(assumption, load.buffer, load.indices, facts_)) return *value;
  }
  is_safe &= !load.predicate && IsInside(load.buffer, load.indices, facts_);
  return self;
}
Expr AssumedValues::VisitExpr(const Expr& e) {
  const Expr visited = StmtExprMutator::VisitExpr(e);
  const Call* call = visited.As<Call>();
  is_safe &= !MayTrap(visited) && (call == nullptr || call->op->is_pure);
  const Binary* op = visited.As<Binary>();
  if (op == nullptr) return visited;
  return FoldPlainFloats(*op).value_or(visited);
}

}  // namespace lathe
