// From the syntax of one function to a PrimFunc. Part of the parser.
#pragma once

#include <map>

#include "compiler/script/expr_builder.h"

namespace lathe {

// Serves one function.
class FuncBuilder {
 public:
  FuncBuilder(const Source& source, const ConstantTable& constants, const std::set<std::string_view>& tir_names)
      : names_(constants), exprs_(source, names_, tir_names) {}
  StatusOr<PrimFunc> Build(const PyStmt& function);

 private:
  struct Suite;       // The lines at one level of indentation.
  struct BlockFrame;  // The block whose lines are being read.
  struct LoopHeader;

  Status BuildParam(const PyParam& param);
  StatusOr<Stmt> BuildSuite(const std::vector<const PyStmt*>& lines);
  Status BuildStmt(const PyStmt& stmt, Suite& suite);
  Status BuildExprStmt(const PyStmt& stmt, Suite& suite);
  Status BuildAssign(const PyStmt& stmt, Suite& suite);
  Status BuildStore(const PyStmt& stmt, Suite& suite);
  Status BuildLet(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite);
  Status BuildAssignTo(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite);
  Status BuildMatchBuffer(const PyExpr& target, const PyExpr& call);
  Status BuildAlloc(const PyExpr& target, const PyExpr& call);
  Status BuildAxis(const PyExpr& target, const PyExpr& call, IterKind kind);
  Status BuildRemap(const PyExpr& target, const PyExpr& call);
  Status DefineIter(const PyExpr& target, Range domain, DataType type, IterKind kind, Expr value);
  Status BuildFor(const PyStmt& stmt, Suite& suite);
  StatusOr<LoopHeader> BuildLoopHeader(const PyExpr& iterable);
  Status BuildGrid(const PyStmt& stmt, Suite& suite);
  Status BuildIf(const PyStmt& stmt, Suite& suite);
  Status BuildWith(const PyStmt& stmt, Suite& suite);
  Status BuildBlock(const PyStmt& stmt, Suite& suite);
  Status BuildInit(const PyStmt& stmt);
  Status BuildLaunchThread(const PyStmt& stmt, Suite& suite);
  Status BuildScope(const PyStmt& stmt, Suite& suite);  // with T.LetStmt, T.let, T.decl_buffer
  Status BuildAssert(const PyExpr& at, const PyExpr& condition, const PyExpr* message, Suite& suite);
  Status BuildRegions(const PyExpr& call, std::vector<BufferRegion>& regions);
  StatusOr<Expr> BuildCondition(const PyExpr& e, bool may_be_vector = false);  // Lowered code has vectors in an if.
  StatusOr<Buffer> BuildBuffer(const PyExpr& at, std::string_view name, const BoundArgs& args, size_t shape_arg,
                               bool may_declare);
  StatusOr<BlockFrame*> DirectBlock(const PyExpr& at, std::string_view what);
  StatusOr<Var> LoopVar(const PyExpr& target, DataType type, const Range& range);
  Status Define(const PyExpr& target, NamedValue value);
  Status Enter(uint32_t offset);  // One level of nesting deeper; an error beyond the limit.
  void BindSymbols(const Buffer& buffer);
  Status Error(const PyExpr& at, std::string_view message) const { return exprs_.Error(at, message); }

  NameTable names_;
  ExprBuilder exprs_;
  PrimFunc func_{"", {}, {}, Evaluate{0}};
  std::vector<Buffer> root_allocs_;
  std::vector<BlockFrame*> blocks_;                         // Innermost last.
  std::unordered_map<const ExprNode*, Range> loop_ranges_;  // For T.axis.remap.
  std::map<const ExprNode*, const PyExpr*> unbound_;        // Symbolic variables declared, not yet in a buffer's shape.
  int nesting_ = 0;
  int suite_depth_ = 0;
};

}  // namespace lathe
