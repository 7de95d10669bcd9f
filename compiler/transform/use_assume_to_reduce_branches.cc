#include "compiler/transform/use_assume_to_reduce_branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/may_trap.h"
#include "compiler/transform/fact_mutator.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

const Call* AsCallOf(const Expr& e, std::string_view op) {
  const Call* call = e.As<Call>();
  return call != nullptr && call->op->name == op ? call : nullptr;
}

// buffer[indices] == value wherever `conditions` hold, for all values of `vars`.
struct Assumption {
  std::vector<Var> vars;
  std::vector<Expr> conditions;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
};

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
      return InvalidArgument(
          "UseAssumeToReduceBranches: T.assume says more of memory than conditions or buffer[indices] == value");
    assumption = Assumption{{}, {}, load->buffer, load->indices, is_left ? equation->b : equation->a};
  }
  if (assumption) assumption->conditions = std::move(conditions);
  return assumption;
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

// The assumptions below a statement, each for all iterations of what is around it there, and what is written there.
class AssumptionFinder : public StmtExprVisitor {
 public:
  std::vector<Assumption> found;
  Status status;

  // Whether the statement stores to the buffer, or gives its address away.
  bool MayWrite(const Buffer& buffer) const {
    return pointers_.contains(buffer->data.get()) ||
           std::any_of(written_.begin(), written_.end(), [&](const Buffer& other) { return MayAlias(buffer, other); });
  }

 protected:
  void VisitVar(const Var& var) override { pointers_.insert(var.get()); }
  void VisitStmt(const Stmt& stmt) override {
    const bool covers = covers_;
    if (stmt.As<AttrStmt>() != nullptr || stmt.As<LetStmt>() != nullptr || stmt.As<While>() != nullptr) covers_ = false;
    const Evaluate* evaluate = stmt.As<Evaluate>();
    const Call* assume = evaluate == nullptr ? nullptr : AsCallOf(evaluate->value, "assume");
    if (assume != nullptr) Add(assume->args[0]);
    const size_t num_conditions = conditions_.size();
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
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
  void VisitFor(const Stmt& self, const For& loop) override {
    loops_.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
    loops_.pop_back();
  }
  void VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
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
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    written_.push_back(store.buffer);
    StmtExprVisitor::VisitBufferStore(self, store);
  }

 private:
  void Add(const Expr& condition) {
    StatusOr<std::optional<Assumption>> read = ReadAssumption(condition);
    if (!read.ok()) status = read.status();
    const bool is_pure = std::none_of(conditions_.begin(), conditions_.end(), HasLoad);
    if (!read.ok() || !*read || !covers_ || !is_pure) return;
    Assumption assumption = **read;
    assumption.conditions.insert(assumption.conditions.end(), conditions_.begin(), conditions_.end());
    for (const auto& [var, range] : loops_) {
      assumption.vars.push_back(var);
      assumption.conditions.push_back(LessEqual(range.min, var));
      assumption.conditions.push_back(Less(var, range.min + range.extent));
    }
    found.push_back(std::move(assumption));
  }

  IterDomain loops_;
  std::vector<Expr> conditions_;
  std::vector<Buffer> written_;
  std::unordered_set<const ExprNode*> pointers_;
  bool covers_ = true;  // All values of `loops_` occur.
};

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

bool SameValue(const Expr& a, const Expr& b) {
  const FloatImm *x = a.As<FloatImm>(), *y = b.As<FloatImm>();
  if (x != nullptr && y != nullptr) return x->value == y->value && std::signbit(x->value) == std::signbit(y->value);
  return SameExpr(a, b);
}

// Puts in what assumptions say of the elements that an expression reads, and folds what becomes constant.
class AssumedValues : public StmtExprMutator {
 public:
  AssumedValues(const std::vector<Assumption>& assumptions, Simplifier& facts)
      : assumptions_(assumptions), facts_(facts) {}
  bool is_safe = true;  // Whatever is still read is there, and nothing traps.

 protected:
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    for (const Assumption& assumption : assumptions_) {
      if (const std::optional<Expr> value = ValueOf(load, assumption)) return *value;
    }
    is_safe &= !load.predicate && load.indices.size() == load.buffer->shape.size();
    for (size_t d = 0; is_safe && d < load.indices.size(); ++d)
      is_safe &= facts_.CanProve(LessEqual(0, load.indices[d])) &&
                 facts_.CanProve(Less(load.indices[d], load.buffer->shape[d]));
    return self;
  }
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Call* call = visited.As<Call>();
    is_safe &= !MayTrap(visited) && (call == nullptr || call->op->is_pure);
    const Binary* op = visited.As<Binary>();
    if (op == nullptr) return visited;
    return FoldPlainFloats(*op).value_or(visited);
  }

 private:
  std::optional<Expr> ValueOf(const BufferLoad& load, const Assumption& assumption) {
    if (!load.buffer.same_as(assumption.buffer) || load.predicate) return std::nullopt;
    VarMap values;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const Expr& index = assumption.indices[d];
      const bool is_free = std::any_of(assumption.vars.begin(), assumption.vars.end(),
                                       [&](const Var& var) { return var.same_as(index); });
      if (is_free) values.emplace(index.get(), load.indices[d]);
    }
    if (values.size() != assumption.vars.size()) return std::nullopt;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      if (!facts_.CanProve(Equal(Substitute(assumption.indices[d], values), load.indices[d]))) return std::nullopt;
    }
    for (const Expr& condition : assumption.conditions) {
      if (!facts_.CanProve(Substitute(condition, values))) return std::nullopt;
    }
    return Substitute(assumption.value, values);
  }

  const std::vector<Assumption>& assumptions_;
  Simplifier& facts_;
};

class BranchReducer : public FactMutator {
 public:
  explicit BranchReducer(const std::vector<Assumption>& assumptions) : assumptions_(assumptions) {}

 protected:
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Call* choice = AsCallOf(store.value, "if_then_else");
    if (choice == nullptr || HasLoad(choice->args[0]) || !IsRestForAll(*choice)) return self;
    BufferStore copy = store;
    copy.value = choice->args[2];
    return copy;
  }

 private:
  // Whether the second value is the first one where the condition holds.
  bool IsRestForAll(const Call& choice) {
    const Simplifier::Scope inside(facts_, choice.args[0]);
    AssumedValues of_first(assumptions_, facts_), of_second(assumptions_, facts_);
    const Expr first = facts_.Simplify(of_first(choice.args[1])), second = facts_.Simplify(of_second(choice.args[2]));
    return of_second.is_safe && SameValue(first, second);
  }
  const std::vector<Assumption>& assumptions_;
};

// Statements one after the other: what one assumes, those after it may use.
class AssumingSequence : public StmtExprMutator {
 public:
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    return IsTransparent(stmt) ? StmtExprMutator::VisitStmt(stmt) : Unit(stmt);
  }

 private:
  // Its children run once, one after the other.
  static bool IsTransparent(const Stmt& stmt) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    if (realize != nullptr) return realize->block->iter_vars.empty() && IsConstInt(realize->predicate, 1);
    return stmt.As<Seq>() != nullptr || stmt.As<AllocBuffer>() != nullptr || stmt.As<DeclBuffer>() != nullptr ||
           stmt.As<Allocate>() != nullptr;
  }

  Stmt Unit(const Stmt& stmt) {
    AssumptionFinder finder;
    finder(stmt);
    if (!finder.status.ok()) status = finder.status;
    const auto may_change = [&](const Assumption& assumption) { return finder.MayWrite(assumption.buffer); };
    std::erase_if(known_, may_change);
    Stmt rewritten = BranchReducer(known_)(stmt);
    std::erase_if(finder.found, may_change);
    known_.insert(known_.end(), finder.found.begin(), finder.found.end());
    return rewritten;
  }

  std::vector<Assumption> known_;
};

}  // namespace

StatusOr<PrimFunc> UseAssumeToReduceBranches(PrimFunc func) {
  constexpr int64_t kElementwise = 0, kBroadcast = 1;
  const auto found = func.attrs.find("op_pattern");
  if (found == func.attrs.end() || !(found->second == Attr(kElementwise) || found->second == Attr(kBroadcast)))
    return func;
  AssumingSequence sequence;
  Stmt body = sequence(func.body);
  RETURN_IF_ERROR(sequence.status);
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
