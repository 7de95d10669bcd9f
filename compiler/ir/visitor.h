// Walking and rewriting TensorIR. Passes derive from these two, so the big switch is compiled once. Both reach every
// field that a node's Fields() names, in that order; nothing changes a node that is already seen by somebody else.
#pragma once

#include <functional>
#include <unordered_map>

#include "compiler/ir/stmt.h"

namespace lathe {

// Override what is of interest; call the base's method to go on below.
class StmtExprVisitor {
 public:
  virtual ~StmtExprVisitor() = default;
  void operator()(const Stmt& stmt) { VisitStmt(stmt); }
  void operator()(const Expr& expr) { VisitExpr(expr); }

 protected:
  virtual void VisitStmt(const Stmt& stmt);  // Dispatches to the methods below.
  virtual void VisitExpr(const Expr& expr);
  virtual void VisitFor(const Stmt& self, const For& loop);
  virtual void VisitBlockRealize(const Stmt& self, const BlockRealize& realize);
  virtual void VisitBlock(const Block& block);
  virtual void VisitBufferStore(const Stmt& self, const BufferStore& store);
  virtual void VisitBufferLoad(const Expr& self, const BufferLoad& load);
  virtual void VisitVar(const Expr& var);             // A use of a variable.
  virtual void VisitBufferDef(const Buffer& buffer);  // Allocations, match buffers, declarations.
  void VisitChildren(const Stmt& stmt);               // Every field, as the base does.
  void VisitChildren(const Expr& expr);
};

// Returns the node itself where nothing below it changed: "changed?" is a pointer test.
class StmtExprMutator {
 public:
  virtual ~StmtExprMutator() = default;
  Stmt operator()(const Stmt& stmt) { return VisitStmt(stmt); }
  Expr operator()(const Expr& expr) { return VisitExpr(expr); }

 protected:
  virtual Stmt VisitStmt(const Stmt& stmt);
  virtual Expr VisitExpr(const Expr& expr);
  virtual Stmt VisitFor(const Stmt& self, const For& loop);
  virtual Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize);
  virtual Block VisitBlock(const Block& block);
  virtual Stmt VisitBufferStore(const Stmt& self, const BufferStore& store);
  virtual Expr VisitBufferLoad(const Expr& self, const BufferLoad& load);
  virtual Expr VisitVar(const Expr& var);
  virtual Var VisitVarDef(const Var& var);               // Where a variable is introduced; default: itself.
  virtual Buffer VisitBufferDef(const Buffer& buffer);   // Where a buffer is introduced; default: itself.
  virtual Buffer VisitBufferDecl(const Buffer& buffer);  // By DeclBuffer; default: as VisitBufferDef.
  virtual Buffer VisitBufferUse(const Buffer& buffer);   // Loads, stores, regions; default: itself.
  Stmt VisitChildren(const Stmt& stmt);
  Expr VisitChildren(const Expr& expr);
};

using VarMap = std::unordered_map<const ExprNode*, Expr>;         // Keyed by Var::get().
using BufferMap = std::unordered_map<const BufferNode*, Buffer>;  // Keyed by Buffer::get().

// `buffer` with its shape, strides and offset mapped; nullopt where nothing changes.
std::optional<BufferNode> MapDims(const Buffer& buffer, const std::function<Expr(const Expr&)>& f);
void PostOrderVisit(const Stmt& stmt, const std::function<void(const Stmt&)>& f);
void PostOrderVisit(const Stmt& stmt, const std::function<void(const Expr&)>& f);
void PostOrderVisit(const Expr& expr, const std::function<void(const Expr&)>& f);
// Replaces uses of variables. A buffer defined inside whose shape uses one becomes another; others stay the same.
Expr Substitute(const Expr& expr, const VarMap& vars);
Stmt Substitute(const Stmt& stmt, const VarMap& vars);
Block Substitute(const Block& block, const VarMap& vars);
// Replaces uses (loads, stores, regions, match sources) of buffers, and variables.
Stmt Substitute(const Stmt& stmt, const VarMap& vars, const BufferMap& buffers);
Block Substitute(const Block& block, const VarMap& vars, const BufferMap& buffers);
// A copy in which every variable and buffer that is defined inside is new; free ones stay.
Stmt Clone(const Stmt& stmt);
PrimFunc Clone(const PrimFunc& func);  // Parameters are new, too.
// Whether memory decides what `expr` is.
bool HasLoad(const Expr& expr);
// Whether one of `ops` is in it.
bool HasOp(const Expr& expr, std::initializer_list<BinaryOp> ops);
inline bool HasDivision(const Expr& expr) { return HasOp(expr, {BinaryOp::kFloorDiv, BinaryOp::kFloorMod}); }
// Whether something in it divides integers by what is no constant, and may be 0.
bool DividesByParts(const Expr& expr);
bool UsesVarInside(const Expr& expr, const ExprNode* var);  // Of an expression that is no leaf.
inline bool UsesVar(const Expr& expr, const ExprNode* var) {
  if (expr.As<IntImm>() != nullptr) return false;
  return IsVar(expr) ? expr.get() == var : UsesVarInside(expr, var);
}
bool UsesVar(const Stmt& stmt, const ExprNode* var);
bool UsesVar(const Expr& expr, const std::function<bool(const ExprNode*)>& is_wanted);
bool UsesVar(const Stmt& stmt, const std::function<bool(const ExprNode*)>& is_wanted);

}  // namespace lathe
