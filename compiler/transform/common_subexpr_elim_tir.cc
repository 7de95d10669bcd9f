#include "compiler/transform/common_subexpr_elim_tir.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "compiler/arith/simplifier.h"
#include "compiler/ir/child_stmts.h"
#include "compiler/ir/may_trap.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

struct Form {
  int depth = 0;              // Of a variable or a constant: 0.
  bool is_arithmetic = true;  // On variables and constants, all of it.
  bool may_trap = false;      // Divides by what may be 0.
};

// Of each expression, remembered as long as its node lives.
class FormFinder : public StmtExprVisitor {
 public:
  Form Of(const Expr& e) {
    const auto found = forms_.find(e.get());
    if (found != forms_.end()) return found->second;
    below_ = {-1};
    VisitExpr(e);
    return forms_.at(e.get());
  }

 protected:
  void VisitExpr(const Expr& e) override {
    const Form beside = std::exchange(below_, Form{-1});
    VisitChildren(e);
    Form own{below_.depth + 1, below_.is_arithmetic, below_.may_trap || MayTrap(e)};
    own.is_arithmetic &= e.As<BufferLoad>() == nullptr && e.As<Call>() == nullptr && e.As<FuncCall>() == nullptr &&
                         e.As<Let>() == nullptr && e.As<Reduce>() == nullptr && e.As<StringImm>() == nullptr;
    forms_.insert_or_assign(e.get(), own);
    below_ = {std::max(beside.depth, own.depth), beside.is_arithmetic && own.is_arithmetic,
              beside.may_trap || own.may_trap};
  }

 private:
  std::unordered_map<const ExprNode*, Form> forms_;
  Form below_;
};

bool IsOperation(const Expr& e) {
  if (e.dtype().is_bool()) return false;
  return e.As<Binary>() != nullptr || e.As<Cast>() != nullptr || e.As<Select>() != nullptr;
}

struct ByStructure {
  size_t operator()(const Expr& e) const { return StructuralHash(e); }
  bool operator()(const Expr& a, const Expr& b) const { return StructuralEqual(a, b); }
};
template <typename T>
using ExprMap = std::unordered_map<Expr, T, ByStructure, ByStructure>;

// Statements have numbers in the order of the program; a block is one.
using Path = std::vector<int>;  // From the root.

struct Occurrences {
  int count = 0, order = 0;
  Path common;     // To the innermost statement around all.
  int first = -1;  // The child of that statement which holds the first, or itself.
};

// The operations of one depth.
class OccurrenceFinder : public StmtExprVisitor {
 public:
  OccurrenceFinder(int depth, FormFinder& forms) : depth_(depth), forms_(forms) {}
  ExprMap<Occurrences> found;
  std::unordered_map<int, const StmtNode*> statements;
  int deepest = 0;  // Of all operations.

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const int number = next_++;
    statements.emplace(number, stmt.get());
    if (stmt.As<BlockRealize>() != nullptr) return;
    path_.push_back(number);
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) {  // Its axis has the same extent once more.
      VisitExpr(attr->value);
      VisitStmt(attr->body);
    } else {
      StmtExprVisitor::VisitStmt(stmt);
    }
    path_.pop_back();
  }
  void VisitExpr(const Expr& e) override {
    const Form form = forms_.Of(e);
    const bool is_wanted = form.is_arithmetic && IsOperation(e);
    if (is_wanted) deepest = std::max(deepest, form.depth);
    if (e.As<Let>() != nullptr || e.As<Reduce>() != nullptr) return;  // They introduce variables.
    if (form.depth == depth_ && is_wanted) Add(e);
    if (form.depth > depth_) StmtExprVisitor::VisitExpr(e);
  }
  void VisitBufferDef(const Buffer&) override {}  // Shapes stay.

 private:
  void Add(const Expr& e) {
    Occurrences& known = found[e];
    if (known.count++ == 0) {
      known.order = static_cast<int>(found.size());
      known.common = path_;
      known.first = path_.back();
      return;
    }
    const auto end = std::mismatch(known.common.begin(), known.common.end(), path_.begin(), path_.end()).first;
    if (end == known.common.end()) return;
    known.first = *end;
    known.common.erase(end, known.common.end());
  }
  const int depth_;
  FormFinder& forms_;
  Path path_;
  int next_ = 0;
};

struct NewVar {
  Var var;
  Expr value;
};

// Replaces the operations of one depth by variables, which begin before statements of given numbers.
class VarInserter : public StmtExprMutator {
 public:
  VarInserter(const ExprMap<Var>& vars, const std::unordered_map<int, std::vector<NewVar>>& begins)
      : vars_(vars), begins_(begins) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const int number = next_;
    return Begin(number, VisitInside(stmt));
  }
  Expr VisitExpr(const Expr& e) override {
    const auto found = IsOperation(e) ? vars_.find(e) : vars_.end();
    return found == vars_.end() ? StmtExprMutator::VisitExpr(e) : Expr(found->second);
  }

 private:
  Stmt VisitInside(const Stmt& stmt) {
    ++next_;
    if (stmt.As<BlockRealize>() != nullptr) return stmt;
    const Seq* seq = stmt.As<Seq>();
    return seq == nullptr ? StmtExprMutator::VisitStmt(stmt) : VisitSeq(*seq);
  }
  // A variable is known to the end of the sequence.
  Stmt VisitSeq(const Seq& seq) {
    std::vector<int> numbers;
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : seq.stmts) {
      numbers.push_back(next_);
      stmts.push_back(VisitInside(stmt));
    }
    for (size_t i = stmts.size(); i-- > 0;) {
      if (!begins_.contains(numbers[i])) continue;
      const Stmt rest = MakeSeq(std::vector<Stmt>(stmts.begin() + static_cast<ptrdiff_t>(i), stmts.end()));
      stmts.erase(stmts.begin() + static_cast<ptrdiff_t>(i), stmts.end());
      stmts.push_back(Begin(numbers[i], rest));
    }
    return MakeSeq(std::move(stmts));
  }
  Stmt Begin(int number, Stmt stmt) const {
    const auto begins = begins_.find(number);
    if (begins == begins_.end()) return stmt;
    for (size_t i = begins->second.size(); i-- > 0;)
      stmt = LetStmt{begins->second[i].value, begins->second[i].var, std::move(stmt)};
    return stmt;
  }
  const ExprMap<Var>& vars_;
  const std::unordered_map<int, std::vector<NewVar>>& begins_;
  int next_ = 0;
};

// Operands of operations that take them in any order, in one order.
class OperandSorter : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Binary* op = visited.As<Binary>();
    const bool is_free = op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kMul ||
                                           op->op == BinaryOp::kMin || op->op == BinaryOp::kMax);
    if (!is_free || StructuralHash(op->a) <= StructuralHash(op->b)) return visited;
    return Expr::Make(visited.dtype(), Binary{op->op, op->b, op->a});
  }
};

// Writes integer operations as the first that simplifies to the same.
class Unifier : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    return stmt.As<BlockRealize>() != nullptr ? stmt : StmtExprMutator::VisitStmt(stmt);
  }
  Expr VisitExpr(const Expr& e) override {
    if (e.As<Let>() != nullptr || e.As<Reduce>() != nullptr) return e;
    const Form form = forms_.Of(e);
    if (!e.dtype().is_int() || !IsOperation(e) || !form.is_arithmetic || form.may_trap)
      return StmtExprMutator::VisitExpr(e);
    const Expr simple = Simplifier().Simplify(e);
    // A variable that is simplified away need not be known where the other stands.
    if (VarsOf(simple) != VarsOf(e)) return StmtExprMutator::VisitExpr(e);
    const auto [first, is_new] = first_of_.try_emplace(OperandSorter()(simple), e);
    return is_new ? StmtExprMutator::VisitExpr(e) : first->second;
  }

 private:
  static std::unordered_set<const ExprNode*> VarsOf(const Expr& e) {
    std::unordered_set<const ExprNode*> vars;
    PostOrderVisit(e, [&](const Expr& part) {
      if (IsVar(part)) vars.insert(part.get());
    });
    return vars;
  }
  ExprMap<Expr> first_of_;
  FormFinder forms_;
};

class SubexprEliminator {
 public:
  Stmt Run(Stmt body) {
    FormFinder forms;
    OccurrenceFinder all(0, forms);
    all(body);
    for (int depth = all.deepest; depth > 0; --depth) body = EliminateOf(depth, body);
    return body;
  }

 private:
  Stmt EliminateOf(int depth, const Stmt& body) {
    FormFinder forms;
    OccurrenceFinder finder(depth, forms);
    finder(body);
    std::vector<std::pair<Expr, Occurrences>> repeated;
    for (const auto& [e, occurrences] : finder.found)
      if (occurrences.count > 1 && IsSafe(forms.Of(e), *finder.statements.at(occurrences.common.back())))
        repeated.emplace_back(e, occurrences);
    if (repeated.empty()) return body;
    std::sort(repeated.begin(), repeated.end(),
              [](const auto& a, const auto& b) { return a.second.order < b.second.order; });
    ExprMap<Var> vars;
    std::unordered_map<int, std::vector<NewVar>> begins;
    for (const auto& [e, occurrences] : repeated) {
      const Var var(fmt::format("cse_var_{}", ++num_vars_), e.dtype());
      made_.insert(var.get());
      kept_.push_back(var);
      vars.emplace(e, var);
      begins[BeginOf(occurrences, finder)].push_back({var, e});
    }
    return VarInserter(vars, begins)(body);
  }
  // What may divide by 0 is not computed where it was not before.
  static bool IsSafe(const Form& form, const StmtNode& around) {
    if (!form.may_trap) return true;
    bool has_condition = false;
    const Stmt stmt = Stmt::Of(around);
    PostOrderVisit(stmt, [&](const Expr& e) { has_condition |= AsCall(e, "if_then_else") != nullptr; });
    return !has_condition && !AnyChildStmt(stmt, [](const Stmt&) { return true; });
  }
  // Before the variables made of larger expressions that begin there.
  int BeginOf(const Occurrences& occurrences, const OccurrenceFinder& finder) const {
    Path path = occurrences.common;
    const auto node = [&](size_t from_end) { return Stmt::Of(*finder.statements.at(path[path.size() - from_end])); };
    const auto is_made = [&](const Stmt& stmt) {
      const LetStmt* let = stmt.As<LetStmt>();
      return let != nullptr && made_.contains(let->var.get());
    };
    if (node(1).As<Seq>() != nullptr) path.push_back(occurrences.first);
    while (path.size() > 1) {
      const bool is_first = node(2).As<Seq>() != nullptr && path[path.size() - 1] == path[path.size() - 2] + 1;
      if (is_made(node(2)))
        path.pop_back();
      else if (is_first && path.size() > 2 && is_made(node(3)))
        path.resize(path.size() - 2);
      else
        break;
    }
    return path.back();
  }

  int num_vars_ = 0;
  std::unordered_set<const ExprNode*> made_;
  std::vector<Var> kept_;  // Alive, so that no other has their address.
};

}  // namespace

PrimFunc CommonSubexprElimTIR(PrimFunc func, bool identify_equivalent) {
  if (identify_equivalent) func.body = Unifier()(func.body);
  func.body = SubexprEliminator().Run(std::move(func.body));
  return func;
}

}  // namespace lathe
