#include "compiler/schedule/rewrite_tree.h"

#include "compiler/arith/iter_rewriter.h"
#include "compiler/ir/child_stmts.h"

namespace lathe {
namespace {

class TreeRewriter {
 public:
  explicit TreeRewriter(const std::function<Replacement(const Stmt&)>& f) : f_(f) {}

  std::optional<Stmt> operator()(const Stmt& stmt) {
    if (Replacement replacement = f_(stmt)) {
      if (replacement->empty()) return std::nullopt;
      return MakeSeq(*std::move(replacement));
    }
    if (stmt.As<BlockRealize>() != nullptr) return stmt;
    if (const Seq* seq = stmt.As<Seq>()) return RewriteSeq(stmt, *seq);
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return RewriteBranch(stmt, *branch);
    return RewriteChildren(stmt);
  }

 private:
  // What is around a statement that vanishes does, too.
  std::optional<Stmt> RewriteChildren(const Stmt& self) {
    Stmt copy = self;
    size_t index = 0;
    const bool vanishes = AnyChildStmt(self, [&](const Stmt& child) {
      const std::optional<Stmt> rewritten = (*this)(child);
      if (rewritten && !rewritten->same_as(child)) MutableChildStmt(copy, index) = *rewritten;
      ++index;
      return !rewritten;
    });
    return vanishes ? std::nullopt : std::optional<Stmt>(copy);
  }
  std::optional<Stmt> RewriteSeq(const Stmt& self, const Seq& seq) {
    std::vector<Stmt> stmts;
    bool changed = false;
    for (const Stmt& child : seq.stmts) {
      std::optional<Stmt> rewritten = (*this)(child);
      changed = changed || !rewritten || !rewritten->same_as(child);
      if (rewritten) stmts.push_back(*std::move(rewritten));
    }
    if (stmts.empty()) return std::nullopt;
    return changed ? MakeSeq(std::move(stmts)) : self;
  }
  std::optional<Stmt> RewriteBranch(const Stmt& self, const IfThenElse& branch) {
    std::optional<Stmt> then_case = (*this)(branch.then_case);
    std::optional<Stmt> else_case = branch.else_case ? (*this)(*branch.else_case) : std::nullopt;
    if (!then_case && !else_case) return std::nullopt;
    if (!then_case) return Stmt(IfThenElse{MakeNot(branch.condition), *std::move(else_case), std::nullopt});
    const bool same_else = branch.else_case ? else_case && else_case->same_as(*branch.else_case) : true;
    if (then_case->same_as(branch.then_case) && same_else) return self;
    return Stmt(IfThenElse{branch.condition, *std::move(then_case), std::move(else_case)});
  }

  const std::function<Replacement(const Stmt&)>& f_;
};

class LoopRebinder : public StmtExprMutator {
 public:
  LoopRebinder(const VarMap& vars, const BlockNode& scope, Rebinding how)
      : vars_(vars), scope_(scope), how_(std::move(how)) {}

 protected:
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Expr min = VisitExpr(loop.min), extent = VisitExpr(loop.extent);
    how_.loops.emplace_back(loop.loop_var, Range{min, extent});
    const Stmt body = VisitStmt(loop.body);
    how_.loops.pop_back();
    if (min.same_as(loop.min) && extent.same_as(loop.extent) && body.same_as(loop.body)) return self;
    For copy = loop;
    copy.min = min.same_as(loop.min) ? min : KnownHere().Simplify(min);
    copy.extent = extent.same_as(loop.extent) ? extent : KnownHere().Simplify(extent);
    copy.body = body;
    return copy;
  }
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    BlockRealize copy = realize;
    bool changed = false;
    for (Expr& value : copy.iter_values) {
      Expr rebound = VisitExpr(value);
      changed |= !rebound.same_as(value);
      value = std::move(rebound);
    }
    copy.predicate = VisitExpr(realize.predicate);
    if (how_.guard) copy.predicate = And(copy.predicate, *how_.guard);
    if (changed) copy.iter_values = Simplified(copy);
    if (how_.enters_blocks) copy.block = Substitute(realize.block, vars_);
    changed = changed || !copy.block.same_as(realize.block);
    return changed || !copy.predicate.same_as(realize.predicate) ? Stmt(std::move(copy)) : self;
  }

 private:
  std::vector<Expr> Simplified(const BlockRealize& realize) const {
    const IterMapOptions options{IterMapLevel::kSurjective, !how_.preserve_unit_iters};
    if (auto tiles = SimplifyTiles(realize.iter_values, how_.loops, realize.predicate, options))
      return *std::move(tiles);
    return IterMapSimplify(realize.iter_values, how_.loops, realize.predicate, options, KnownHere());
  }
  // Most bindings need no facts.
  Analyzer KnownHere() const {
    Analyzer facts;
    for (const IterVar& iter : scope_.iter_vars) facts.Bind(iter.var, iter.domain);
    for (const auto& [var, range] : how_.loops) facts.Bind(var, range);
    return facts;
  }

  const VarMap& vars_;
  const BlockNode& scope_;
  Rebinding how_;  // `loops`: down to where it is.
};

}  // namespace

std::optional<Stmt> RewriteTree(const Stmt& stmt, const std::function<Replacement(const Stmt&)>& f) {
  return TreeRewriter(f)(stmt);
}

std::optional<Stmt> RewriteTreeAt(const Stmt& body, const std::vector<size_t>& places,
                                  const std::function<Replacement(const Stmt&)>& f) {
  const Seq* seq = body.As<Seq>();
  if (seq == nullptr) return RewriteTree(body, f);
  std::vector<Stmt> stmts;
  stmts.reserve(seq->stmts.size());
  for (size_t i = 0; i < seq->stmts.size(); ++i) {
    const bool is_changed = std::find(places.begin(), places.end(), i) != places.end();
    std::optional<Stmt> child = is_changed ? RewriteTree(seq->stmts[i], f) : seq->stmts[i];
    if (child) stmts.push_back(*std::move(child));
  }
  return stmts.empty() ? std::nullopt : std::optional(MakeSeq(std::move(stmts)));
}

Stmt RebindLoops(const Stmt& stmt, const VarMap& vars, const BlockNode& scope, Rebinding how) {
  return LoopRebinder(vars, scope, std::move(how))(stmt);
}

Stmt WithBody(const BlockRealize& scope, Stmt body, const std::vector<Buffer>& add, const std::vector<Buffer>& remove) {
  BlockRealize copy = scope;
  BlockNode& block = copy.block.Mutable();
  block.body = std::move(body);
  for (const Buffer& buffer : remove) {
    std::erase_if(block.alloc_buffers, [&](const Buffer& allocated) { return allocated.same_as(buffer); });
  }
  block.alloc_buffers.insert(block.alloc_buffers.end(), add.begin(), add.end());
  return copy;
}

}  // namespace lathe
