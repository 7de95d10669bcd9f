#include "compiler/transform/use_assume_to_reduce_branches.h"

#include <algorithm>

#include "compiler/transform/assumptions.h"
#include "compiler/transform/fact_mutator.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class BranchReducer : public FactMutator {
 public:
  explicit BranchReducer(const std::vector<Assumption>& assumptions) : assumptions_(assumptions) {}

 protected:
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Call* choice = store.value.As<Call>();
    if (choice == nullptr || choice->op->name != "if_then_else" || HasLoad(choice->args[0]) || !IsRestForAll(*choice))
      return self;
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
