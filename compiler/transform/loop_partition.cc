#include "compiler/transform/loop_partition.h"

#include "compiler/arith/analyzer.h"
#include "compiler/ir/unrolled_stores.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/guarded_value.h"

namespace lathe {
namespace {

// Whether the condition is asked so seldom that it costs nothing: a loop that stays one runs under it.
bool IsSeldom(const IfThenElse& branch) {
  bool has_loop = false;
  PostOrderVisit(branch.then_case, [&](const Stmt& stmt) {
    const For* loop = stmt.As<For>();
    has_loop = has_loop || (loop != nullptr && loop->kind == ForKind::kSerial && !IsConstInt(loop->extent, 1));
  });
  return has_loop;
}

// Guards below a loop: conjuncts of the conditions of IfThenElse, and of T.if_then_else in values.
class GuardFinder : public StmtExprVisitor {
 public:
  std::vector<Expr> guards, value_guards;
  std::vector<std::pair<Var, Range>> loops;  // Inside.

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    loops.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitStmt(const Stmt& stmt) override {
    const IfThenElse* branch = stmt.As<IfThenElse>();
    if (branch != nullptr && !IsSeldom(*branch)) Add(branch->condition, guards);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& e) override {
    if (const Call* guarded = AsGuardedValue(e)) Add(guarded->args[0], value_guards);
    StmtExprVisitor::VisitExpr(e);
  }
  void VisitBufferLoad(const Expr&, const BufferLoad&) override {}  // Indices have none.

 private:
  static void Add(const Expr& condition, std::vector<Expr>& found) {
    const Binary* binary = condition.As<Binary>();
    if (binary == nullptr) return;
    if (binary->op == BinaryOp::kAnd) {
      Add(binary->a, found);
      Add(binary->b, found);
    } else if (binary->op == BinaryOp::kLT || binary->op == BinaryOp::kLE) {
      found.push_back(condition);
    }
  }
};

// Removes from `stmt` the guards that its loops prove.
class GuardDropper : public StmtExprMutator {
 public:
  explicit GuardDropper(const Analyzer& facts) : facts_(Analyzer::Under(facts)) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(facts_, loop.loop_var, Range{loop.min, loop.extent});
    return StmtExprMutator::VisitFor(self, loop);
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const IfThenElse* branch = visited.As<IfThenElse>();
    if (branch == nullptr || !branch->condition.dtype().is_scalar()) return visited;
    const Expr rest = Prune(branch->condition);
    if (IsConstInt(rest, 1)) return branch->then_case;
    if (rest.same_as(branch->condition)) return visited;
    return IfThenElse{rest, branch->then_case, branch->else_case};
  }
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Call* guarded = AsGuardedValue(visited);
    return guarded == nullptr ? visited : UnderGuard(visited, Prune(guarded->args[0]));
  }

 private:
  Expr Prune(const Expr& condition) const {
    const Binary* binary = condition.As<Binary>();
    if (binary != nullptr && binary->op == BinaryOp::kAnd) {
      const Expr a = Prune(binary->a), b = Prune(binary->b);
      return a.same_as(binary->a) && b.same_as(binary->b) ? condition : And(a, b);
    }
    return facts_.CanProve(condition) ? True() : condition;
  }
  Analyzer facts_;
};

class Partitioner : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const Seq* seq = visited.As<Seq>();
    return seq == nullptr || visited.same_as(stmt) ? visited : MakeSeq(seq->stmts);  // A split loop is two statements.
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    const int64_t *min = AsIntConst(loop.min), *extent = AsIntConst(loop.extent);
    const bool is_splittable = loop.kind == ForKind::kSerial || loop.kind == ForKind::kParallel;
    if (!is_splittable || min == nullptr || extent == nullptr || *extent < 2)
      return StmtExprMutator::VisitFor(self, loop);
    const std::optional<Split> split = FindSplit(loop, *min, *extent);
    if (!split) return StmtExprMutator::VisitFor(self, loop);
    if (loop.kind == ForKind::kParallel) return SplitInside(loop, *min, *extent, split->at);
    return split->of_value ? SplitBorder(loop, *min, *extent, *split) : SplitInTwo(loop, *min, *extent, split->at);
  }

 private:
  static constexpr int64_t kMostStores = 600;  // That splits at the borders of values may add.

  struct Split {
    int64_t at = 0;  // The first iteration of the second part.
    bool of_value =
        false;  // By a guard of a value, which holds in one of the parts; else of a statement, in the first.
    bool first_is_main = true;
    int64_t stores = 0;  // Of the loop's body, where a value splits it.
  };

  // Where a value is guarded, as at the border of an image, both parts are split further, as long as that is not much
  // code.
  Stmt SplitBorder(const For& loop, int64_t min, int64_t extent, const Split& split) {
    added_stores_ += split.stores;
    Stmt first = Part(loop, min, split.at), second = Clone(Part(loop, min + split.at, extent - split.at));
    Stmt& main = split.first_is_main ? first : second;
    main = GuardDropper(analyzer_)(main);
    first = VisitStmt(first);
    return MakeSeq({first, VisitStmt(second)});
  }
  // Both parts may have further guards: rows that a tile does not divide, in columns that none divides. The tail keeps
  // its own where that is much code.
  Stmt SplitInTwo(const For& loop, int64_t min, int64_t extent, int64_t split) {
    const Stmt main = Part(loop, min, split), tail = Clone(Part(loop, min + split, extent - split));
    return MakeSeq({VisitStmt(GuardDropper(analyzer_)(main)), VisitTail(tail)});
  }
  // A parallel loop stays one loop, for balance, and chooses in each iteration.
  Stmt SplitInside(const For& loop, int64_t min, int64_t extent, int64_t split) {
    const DataType type = loop.loop_var.dtype();
    const auto bind = [&](int64_t begin, int64_t size) {
      analyzer_.Bind(loop.loop_var, Range{IntConst(type, begin), IntConst(type, size)});
    };
    const auto main = [&] {
      const FactScope inside(analyzer_);
      bind(min, split);
      return VisitStmt(GuardDropper(analyzer_)(loop.body));
    };
    const auto tail = [&] {
      const FactScope inside(analyzer_);
      bind(min + split, extent - split);
      return VisitTail(Clone(loop.body));
    };
    For copy = loop;
    copy.body = IfThenElse{Less(loop.loop_var, IntConst(type, min + split)), main(), tail()};
    return copy;
  }
  Stmt VisitTail(const Stmt& tail) {
    const int64_t stores = CountUnrolledStores(tail);
    if (added_stores_ + stores > kMostStores) return tail;
    added_stores_ += stores;
    return VisitStmt(tail);
  }
  static Stmt Part(const For& loop, int64_t min, int64_t extent) {
    const Var var(loop.loop_var.name(), loop.loop_var.dtype());
    For part = loop;
    part.loop_var = var;
    part.min = IntConst(var.dtype(), 0);
    part.extent = IntConst(var.dtype(), extent);
    part.body = Substitute(loop.body, {{loop.loop_var.get(), var + IntConst(var.dtype(), min)}});
    return part;
  }

  // Where a guard that names the loop ends or begins to be certain to hold; nullopt: not worth it.
  std::optional<Split> FindSplit(const For& loop, int64_t min, int64_t extent) const {
    GuardFinder finder;
    finder(loop.body);
    const auto is_worth_it = [&](int64_t held) { return held * 2 >= extent && held < extent; };
    for (const Expr& guard : finder.guards) {
      const int64_t held = CountHeld(guard, loop, min, extent, true, finder.loops);
      if (is_worth_it(held)) return Split{held};
    }
    if (loop.kind == ForKind::kParallel || finder.value_guards.empty()) return std::nullopt;
    const int64_t stores = CountUnrolledStores(loop.body);
    if (added_stores_ + stores > kMostStores) return std::nullopt;
    for (const Expr& guard : finder.value_guards) {
      for (const bool leads : {true, false}) {
        const int64_t held = CountHeld(guard, loop, min, extent, leads, finder.loops);
        if (is_worth_it(held)) return Split{leads ? held : extent - held, true, leads, stores};
      }
    }
    return std::nullopt;
  }
  // The number of leading, or of last, iterations in which the guard is certain to hold. By bisection: one that holds
  // in n of them holds in fewer, too.
  int64_t CountHeld(const Expr& guard, const For& loop, int64_t min, int64_t extent, bool leads,
                    const std::vector<std::pair<Var, Range>>& inside) const {
    if (!UsesVar(guard, [&](const ExprNode* var) { return var == loop.loop_var.get(); })) return 0;
    int64_t low = 0, high = extent;
    while (low < high) {
      const int64_t middle = (low + high + 1) / 2;
      if (Holds(guard, loop.loop_var, leads ? min : min + extent - middle, middle, inside))
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
  bool Holds(const Expr& guard, const Var& var, int64_t min, int64_t extent,
             const std::vector<std::pair<Var, Range>>& inside) const {
    Analyzer facts = Analyzer::Under(analyzer_);
    facts.Bind(var, Range{IntConst(var.dtype(), min), IntConst(var.dtype(), extent)});
    for (const auto& [inner, range] : inside) facts.Bind(inner, range);
    return facts.CanProve(guard);
  }

  Analyzer analyzer_;
  int64_t added_stores_ = 0;
};

// What T.likely says is of use until here.
class LikelyRemover : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    static const Op* const likely = FindOp("likely");
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Call* call = visited.As<Call>();
    return call != nullptr && call->op == likely ? call->args[0] : visited;
  }
};

}  // namespace

PrimFunc RemoveLikely(PrimFunc func) {
  func.body = LikelyRemover{}(func.body);
  return func;
}

PrimFunc LoopPartition(PrimFunc func) {
  func = RemoveLikely(std::move(func));
  func.body = Partitioner{}(func.body);
  return func;
}

}  // namespace lathe
