#include "compiler/transform/loop_partition.h"

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Guards below a loop, as far as the next loop that is split anyway: conjuncts of the conditions of IfThenElse.
class GuardFinder : public StmtExprVisitor {
 public:
  std::vector<Expr> guards;
  std::vector<std::pair<Var, Range>> loops;  // Inside.

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    loops.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitStmt(const Stmt& stmt) override {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) Add(branch->condition);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr&) override {}

 private:
  void Add(const Expr& condition) {
    const Binary* binary = condition.As<Binary>();
    if (binary == nullptr) return;
    if (binary->op == BinaryOp::kAnd) {
      Add(binary->a);
      Add(binary->b);
    } else if (binary->op == BinaryOp::kLT || binary->op == BinaryOp::kLE) {
      guards.push_back(condition);
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
    const std::optional<int64_t> split = FindSplit(loop, *min, *extent);
    if (!split) return StmtExprMutator::VisitFor(self, loop);
    return loop.kind == ForKind::kParallel ? SplitInside(loop, *min, *split) : SplitInTwo(loop, *min, *extent, *split);
  }

 private:
  // The main part may have further guards; the tail keeps all of its own, so that code grows by one copy for each
  // guard.
  Stmt SplitInTwo(const For& loop, int64_t min, int64_t extent, int64_t split) {
    const Stmt main = Part(loop, min, split), tail = Clone(Part(loop, min + split, extent - split));
    return MakeSeq({VisitStmt(GuardDropper(analyzer_)(main)), tail});
  }
  // A parallel loop stays one loop, for balance, and chooses in each iteration.
  Stmt SplitInside(const For& loop, int64_t min, int64_t split) {
    Analyzer facts = Analyzer::Under(analyzer_);
    facts.Bind(loop.loop_var, Range{loop.min, IntConst(loop.loop_var.dtype(), split)});
    For copy = loop;
    const Stmt tail = Clone(loop.body);
    copy.body = IfThenElse{Less(loop.loop_var, IntConst(loop.loop_var.dtype(), min + split)),
                           VisitStmt(GuardDropper(facts)(loop.body)), tail};
    return copy;
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

  // The number of leading iterations in which some guard that names the loop is certain to hold; nullopt: not worth it.
  std::optional<int64_t> FindSplit(const For& loop, int64_t min, int64_t extent) const {
    GuardFinder finder;
    finder(loop.body);
    const auto names_loop = [&](const ExprNode* var) { return var == loop.loop_var.get(); };
    for (const Expr& guard : finder.guards) {
      if (!UsesVar(guard, names_loop)) continue;
      // Bisection: a guard e < c that holds in the first n iterations holds in fewer, too.
      int64_t low = 0, high = extent;
      while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (Holds(guard, loop.loop_var, min, middle, finder.loops))
          low = middle;
        else
          high = middle - 1;
      }
      if (low * 2 >= extent && low < extent) return low;
    }
    return std::nullopt;
  }
  bool Holds(const Expr& guard, const Var& var, int64_t min, int64_t extent,
             const std::vector<std::pair<Var, Range>>& inside) const {
    Analyzer facts = Analyzer::Under(analyzer_);
    facts.Bind(var, Range{IntConst(var.dtype(), min), IntConst(var.dtype(), extent)});
    for (const auto& [inner, range] : inside) facts.Bind(inner, range);
    return facts.CanProve(guard);
  }

  Analyzer analyzer_;
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
