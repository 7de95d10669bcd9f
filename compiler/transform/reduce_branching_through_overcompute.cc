#include "compiler/transform/reduce_branching_through_overcompute.h"

#include <algorithm>

#include "compiler/transform/assumptions.h"
#include "compiler/transform/fact_mutator.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// What a statement stores, one after the other; nullopt: it does something else, too.
std::optional<std::vector<BufferStore>> StoresOf(const Stmt& stmt) {
  if (const BufferStore* store = stmt.As<BufferStore>()) return std::vector{*store};
  const Seq* seq = stmt.As<Seq>();
  if (seq == nullptr) return std::nullopt;
  std::vector<BufferStore> stores;
  for (const Stmt& one : seq->stmts) {
    const BufferStore* store = one.As<BufferStore>();
    if (store == nullptr) return std::nullopt;
    stores.push_back(*store);
  }
  return stores;
}

bool IsElement(const BufferStore& store) {
  return !store.predicate && store.value.dtype().is_scalar() &&
         std::none_of(store.indices.begin(), store.indices.end(), HasLoad);
}

// Whether every store of a statement leaves true what is assumed of its buffer.
class AssumptionKeeper : public FactMutator {
 public:
  explicit AssumptionKeeper(const Assumption& assumption) : assumption_(assumption) {}
  bool keeps = true;

 protected:
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    if (MayAlias(store.buffer, assumption_.buffer)) keeps &= Keeps(store);
    return self;
  }

 private:
  bool Keeps(const BufferStore& store) {
    if (!IsElement(store) || !store.buffer.same_as(assumption_.buffer)) return false;
    if (IsSilentAbout(assumption_, store.indices, facts_)) return true;
    const std::optional<Expr> value = AssumedValue(assumption_, store.buffer, store.indices, facts_);
    return value && SameValue(facts_.Simplify(*value), facts_.Simplify(store.value));
  }
  const Assumption& assumption_;
};
bool IsKept(const Assumption& assumption, const Stmt& stmt) {
  AssumptionKeeper keeper(assumption);
  keeper(stmt);
  return keeper.keeps;
}

class OvercomputeReducer : public FactMutator {
 public:
  explicit OvercomputeReducer(bool uses_dataflow) : uses_dataflow_(uses_dataflow) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const Seq* seq = stmt.As<Seq>()) return InSequence(stmt, *seq);
    const bool outer = runs_at_once_;
    runs_at_once_ |= RunsAtOnce(stmt);
    const Stmt visited = FactMutator::VisitStmt(stmt);
    const IfThenElse* branch = visited.As<IfThenElse>();
    Stmt reduced = branch == nullptr ? visited : Reduced(visited, *branch);
    runs_at_once_ = outer;
    return reduced;
  }

 private:
  static bool RunsAtOnce(const Stmt& stmt) {
    const For* loop = stmt.As<For>();
    const AttrStmt* attr = stmt.As<AttrStmt>();
    return (loop != nullptr && loop->kind != ForKind::kSerial && loop->kind != ForKind::kUnrolled) ||
           (attr != nullptr && std::holds_alternative<IterVar>(attr->node));
  }

  // One statement after the other: what one says of memory, those after it know; what those write again, it may spoil.
  Stmt InSequence(const Stmt& self, const Seq& seq) {
    const std::vector<Assumption> outer = known_;
    const bool is_outermost = !is_inside_;
    std::vector<Stmt> stmts;
    for (size_t i = 0; i < seq.stmts.size(); ++i) {
      const Stmt& stmt = seq.stmts[i];
      Forget(stmt);
      if (is_outermost) EnterUnit(stmt, {seq.stmts.begin() + i + 1, seq.stmts.end()});
      stmts.push_back(VisitStmt(stmt));
      if (is_outermost) is_inside_ = false;
      if (uses_dataflow_) Learn(Forget(stmts.back()));  // Now it may write more.
    }
    known_ = outer;
    return std::equal(stmts.begin(), stmts.end(), seq.stmts.begin(),
                      [](const Stmt& a, const Stmt& b) { return a.same_as(b); })
               ? self
               : MakeSeq(std::move(stmts));
  }
  // What the statement may make false.
  AssumptionFinder Forget(const Stmt& stmt) {
    AssumptionFinder finder;
    finder(stmt);
    if (!finder.status.ok()) status = finder.status;
    std::erase_if(known_, [&](const Assumption& known) {
      return finder.MayWrite(known.buffer) && (finder.MayLeak(known.buffer) || !IsKept(known, stmt));
    });
    return finder;
  }
  void EnterUnit(const Stmt& stmt, std::vector<Stmt> later) {
    is_inside_ = true;
    unit_ = AssumptionFinder();
    unit_(stmt);
    later_ = std::move(later);
  }
  void Learn(const AssumptionFinder& finder) {
    for (const Assumption& said : finder.found) {
      if (!finder.MayWrite(said.buffer)) known_.push_back(said);
    }
    for (const Assumption& stored : finder.stored) {
      if (finder.NumStores(stored.buffer) == 1 && !finder.MayLeak(stored.buffer)) known_.push_back(stored);
    }
  }

  Stmt Reduced(const Stmt& self, const IfThenElse& branch) {
    if (!branch.condition.dtype().is_scalar() || HasLoad(branch.condition)) return self;
    const Expr inverse = MakeNot(branch.condition);
    const auto then_stores = StoresOf(branch.then_case);
    if (!branch.else_case) {
      return then_stores && !runs_at_once_ && DoNothing(*then_stores, inverse) ? branch.then_case : self;
    }
    const auto else_stores = StoresOf(*branch.else_case);
    if (!then_stores || !else_stores) return self;
    if (DoTheSame(*then_stores, *else_stores, inverse)) return branch.then_case;
    return DoTheSame(*else_stores, *then_stores, branch.condition) ? *branch.else_case : self;
  }

  // Whether `stores` do what `others` do, where the condition holds.
  bool DoTheSame(const std::vector<BufferStore>& stores, const std::vector<BufferStore>& others,
                 const Expr& condition) {
    const Simplifier::Scope inside(facts_, condition);
    return std::equal(stores.begin(), stores.end(), others.begin(), others.end(),
                      [&](const BufferStore& a, const BufferStore& b) { return DoesTheSame(a, b); });
  }
  bool DoesTheSame(const BufferStore& store, const BufferStore& other) {
    if (!IsElement(store) || !IsElement(other) || !store.buffer.same_as(other.buffer)) return false;
    for (size_t d = 0; d < store.indices.size(); ++d) {
      if (!facts_.CanProve(Equal(store.indices[d], other.indices[d]))) return false;
    }
    const std::optional<Expr> value = SafeValue(store);
    AssumedValues of_other(known_, facts_);
    return value && IsEqual(*value, facts_.Simplify(of_other(other.value)));
  }

  bool DoNothing(const std::vector<BufferStore>& stores, const Expr& condition) {
    const Simplifier::Scope inside(facts_, condition);
    return std::all_of(stores.begin(), stores.end(), [&](const BufferStore& store) { return DoesNothing(store); });
  }
  bool DoesNothing(const BufferStore& store) {
    if (!IsElement(store) || !IsInside(store.buffer, store.indices, facts_)) return false;
    const std::optional<Expr> value = SafeValue(store);
    if (!value) return false;
    if (SameValue(*value, facts_.Simplify(Load(store.buffer, store.indices)))) return true;
    for (const Assumption& known : known_) {
      const std::optional<Expr> present = AssumedValue(known, store.buffer, store.indices, facts_);
      if (present && SameValue(*value, facts_.Simplify(*present))) return true;
    }
    return IsWrittenAgain(store);
  }
  bool IsEqual(const Expr& a, const Expr& b) {
    return SameValue(a, b) || (a.dtype().is_int() && facts_.CanProve(Equal(a, b)));
  }
  // The value, by what is known; nullopt: to compute it reads what may not be there.
  std::optional<Expr> SafeValue(const BufferStore& store) {
    static const std::vector<Assumption> kNone;
    AssumedValues as_it_is(kNone, facts_), assumed(known_, facts_);
    as_it_is(store.value);
    const Expr value = facts_.Simplify(assumed(store.value));
    return as_it_is.is_safe ? std::optional(value) : std::nullopt;
  }
  // Before anybody reads it.
  bool IsWrittenAgain(const BufferStore& store) {
    if (!uses_dataflow_ || !is_inside_ || unit_.MayRead(store.buffer)) return false;
    for (const Stmt& stmt : later_) {
      AssumptionFinder finder;
      finder(stmt);
      if (finder.MayRead(store.buffer)) return false;
      if (!finder.MayWrite(store.buffer)) continue;
      return std::any_of(finder.stored.begin(), finder.stored.end(), [&](const Assumption& stored) {
        return AssumedValue(stored, store.buffer, store.indices, facts_).has_value();
      });
    }
    return false;
  }

  const bool uses_dataflow_;
  bool runs_at_once_ = false;
  std::vector<Assumption> known_;
  bool is_inside_ = false;   // Of a statement of the outermost sequence:
  AssumptionFinder unit_;    // what it touches,
  std::vector<Stmt> later_;  // and what follows it.
};

}  // namespace

StatusOr<PrimFunc> ReduceBranchingThroughOvercompute(PrimFunc func, bool uses_dataflow) {
  OvercomputeReducer reducer(uses_dataflow);
  func.body = reducer(func.body);
  RETURN_IF_ERROR(reducer.status);
  return func;
}

}  // namespace lathe
