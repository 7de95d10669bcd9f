// From the syntax of one function to a PrimFunc. Part of the parser.
#pragma once

#include <map>

#include "compiler/script/complete.h"
#include "compiler/script/expr_builder.h"

namespace lathe {

// Serves one function.
class FuncBuilder {
 public:
  FuncBuilder(const Source& source, const ConstantTable& constants, const ScriptContext& context);
  ~FuncBuilder();
  StatusOr<PrimFunc> Build(const PyStmt& function);

 private:
  struct Suite;       // The lines at one level of indentation.
  struct BlockFrame;  // The block whose lines are being read.
  struct StepOf;      // range(start, stop, step)
  struct LoopHeader;
  struct MacroUse;     // What a call expands.
  struct ParsedMacro;  // A macro of another text.

  Status BuildParam(const PyParam& param);
  StatusOr<bool> BuildParamLike(const PyExpr& name, const PyExpr& type);
  Status BuildScalarParam(const PyExpr& name, const PyExpr& type);
  Status BuildBufferParam(const PyExpr& name, const PyExpr& type);
  Status AddBufferParam(const PyExpr& name, const Buffer& buffer);
  void SortBufferMap();
  void DropRegionsOfRoot();
  StatusOr<Stmt> BuildSuite(const std::vector<const PyStmt*>& lines);
  StatusOr<Stmt> BuildLines(const std::vector<const PyStmt*>& lines);  // In the scope that is open.
  Status BuildStmt(const PyStmt& stmt, Suite& suite);
  Status BuildExprStmt(const PyStmt& stmt, Suite& suite);
  Status BuildBlockLine(const PyExpr& e, const std::string& name);  // T.reads, T.writes, T.where, T.block_attr
  Status BuildFuncAttr(const PyExpr& e);
  Status BuildVstore(const PyExpr& e, Suite& suite);
  Status BuildBufferStore(const PyExpr& e, Suite& suite);
  Status BuildStoreAt(const PyExpr& target, const PyExpr& begin, const PyExpr& stored, const PyExpr* predicate,
                      Suite& suite);
  Status BuildAttrStmt(const PyExpr& e, Suite& suite);
  Status BuildRealize(const PyExpr& e, Suite& suite);
  Status BuildPrefetch(const PyExpr& e, Suite& suite);
  Status BuildLaunch(const PyExpr* target, const PyExpr& call, Suite& suite);
  Status BuildAllocate(const PyExpr& target, const PyExpr& call, Suite& suite);
  Status BuildAllocateConst(const PyExpr& target, const PyExpr& call, Suite& suite);
  Status BuildEnvThread(const PyExpr& target, const PyExpr& call);
  Status BuildVarDeclaration(const PyExpr& target, const PyExpr& call, const std::string& name);
  StatusOr<NamedValue> BuildMacroArg(const PyExpr& e);
  StatusOr<std::vector<NamedValue>> TakeRest(const PyParam& rest, size_t num_plain, PyExpr& call);
  StatusOr<NamedValue> TakeKeywords(std::span<const std::string_view> names, PyExpr& call);
  StatusOr<std::vector<std::optional<NamedValue>>> BindMacro(const PyStmt& definition, size_t num_given, PyExpr call);
  Status BuildMacroCall(const MacroUse& macro, const PyExpr& call, Suite& suite);
  Status Expand(const MacroUse& macro, std::vector<std::optional<NamedValue>> args, Suite& suite);
  StatusOr<MacroUse> FindMacro(const PyExpr& e);
  StatusOr<MacroUse> Parsed(const PyExpr& at, std::shared_ptr<const ScriptMacro> macro);
  Status KeepAllocations();
  void PredeclareSymbols(const PyStmt& function);
  std::optional<Var> TakePredeclared(std::string_view name, DataType type);
  StatusOr<std::string> BuildMessage(const PyExpr& e);
  const Buffer* ViewedBuffer(const PyExpr& e) const;
  Status BuildView(const PyExpr& target, const PyExpr& call, const Buffer& whole, Suite& suite);
  Status BuildLine(const PyStmt& stmt, Suite& suite);
  Status BuildEvaluate(const PyExpr& value, Suite& suite);
  StatusOr<ScriptValue> BuildEffect(const PyExpr& e, Suite& suite);
  void DeclareSymbol(const PyExpr& target, const Var& var);
  // One of the values that a target takes: by itself, or as number `index` of `list`, a name that takes several.
  struct TargetPart {
    const PyExpr* at;
    const PyExpr* list = nullptr;
    size_t index = 0;
  };
  StatusOr<std::vector<TargetPart>> PartsOf(const PyExpr& target, size_t count) const;
  Status DefineLists(const std::vector<TargetPart>& parts, const std::vector<Expr>& values);
  StatusOr<std::vector<Var>> LoopVars(const PyExpr& target, const std::vector<Range>& ranges);
  Status DefineEach(const PyExpr& target, const PyExpr& value);
  Status Unpack(const PyExpr& target, const PyExpr& value, Suite& suite);
  Status BuildAssign(const PyStmt& stmt, Suite& suite);
  Status BuildStore(const PyStmt& stmt, Suite& suite);
  Status BuildLet(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite);
  Status BuildAssignTo(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite);
  Status BuildDeclaration(const PyExpr& target, const PyExpr& call, Suite& suite);
  Status BuildMatchBuffer(const PyExpr& target, const PyExpr& call, Suite& suite);
  Status BuildMatchParam(const PyExpr& target, const PyExpr& call, const Var& param, const BoundArgs& args,
                         Suite& suite);
  const Var* FindHandleParam(const PyExpr& e) const;
  Status BuildAlloc(const PyExpr& target, const PyExpr& call);
  Status BuildAxis(const PyExpr& target, const PyExpr& call, IterKind kind);
  Status BuildRemap(const PyExpr& target, const PyExpr& call);
  StatusOr<Var> MakeIter(const PyExpr& at, std::string name, Range domain, DataType type, IterKind kind, Expr value);
  Status BuildFor(const PyStmt& stmt, Suite& suite);
  StatusOr<LoopHeader> BuildLoopHeader(const PyExpr& iterable);
  StatusOr<std::shared_ptr<const ScriptLoops>> LoopsOfProgram(const PyExpr& iterable) const;
  Status BuildStep(const PyExpr& step, LoopHeader& header);
  StatusOr<ScriptLoops> BuildGrid(const PyExpr& call);
  Status BuildNest(const PyStmt& stmt, const ScriptLoops& loops, Suite& suite);
  Status BuildIf(const PyStmt& stmt, Suite& suite);
  Status BuildWhile(const PyExpr& condition, const PyStmt& stmt, Suite& suite);
  Status BuildIfScope(const PyStmt& stmt, Suite& suite);  // with T.If(c): with T.Then(): ... with T.Else(): ...
  Status BuildWith(const PyStmt& stmt, Suite& suite);
  Status BuildBlock(const PyStmt& stmt, Suite& suite);
  Status BuildInit(const PyStmt& stmt);
  Status BuildScope(const PyStmt& stmt, Suite& suite);  // What else opens a scope: T.LetStmt, T.decl_buffer, T.attr ...
  Status OpenScope(const PyStmt& stmt, Suite& inner);
  Status OpenLetStmt(const PyExpr* target, const PyExpr& call, Suite& inner);
  Status BuildLetOf(const PyExpr& declared, const PyExpr& value, Suite& inner);
  Status BuildAssert(const PyExpr& at, const PyExpr& condition, const PyExpr* message, Suite& suite);
  Status BuildRegions(const PyExpr& call, std::vector<BufferRegion>& regions);
  StatusOr<Expr> BuildCondition(const PyExpr& e);
  StatusOr<Expr> BuildTest(const PyExpr& e, bool may_be_vector = false);  // Lowered code has vectors in an if.
  StatusOr<Expr> CheckCondition(const PyExpr& e, const Expr& condition, bool may_be_vector) const;
  StatusOr<Buffer> BuildBuffer(const PyExpr& at, std::string_view name, const BoundArgs& args, size_t shape_arg,
                               bool may_declare);
  Status BuildShape(const PyExpr& shape, BufferNode& node);
  Status BuildData(const PyExpr& data, BufferNode& node);
  // T.int32() in place of a stride or an offset: a new variable.
  std::optional<Var> NewVarOf(const PyExpr& e) const;
  Status BuildStrides(const PyExpr& strides, bool may_declare, BufferNode& node);
  Status BuildPromises(const BoundArgs& args, size_t shape_arg, BufferNode& node);
  StatusOr<BlockFrame*> DirectBlock(const PyExpr& at, std::string_view what);
  // Where a T.attr has named the loop's variable before, declared by i = T.int32(): that one.
  Var DeclaredOrNew(std::string_view name, DataType type);
  StatusOr<Var> LoopVar(const PyExpr& target, DataType type, const Range& range);
  Status Define(const PyExpr& target, NamedValue value);
  Status DefineBuffer(const PyExpr& target, const Buffer& buffer);
  Status Enter(uint32_t offset);  // One level of nesting deeper; an error beyond the limit.
  void BindSymbols(const Buffer& buffer);
  Status CheckMatched() const;  // That nothing in the body defines what the shape of a parameter names.
  Status Error(const PyExpr& at, std::string_view message) const { return exprs_.Error(at, message); }

  NameTable names_;
  ExprBuilder exprs_;
  PrimFunc func_{.body = Evaluate{0}};
  DataOwners owners_;  // Of the buffers read so far.
  std::vector<Buffer> root_allocs_;
  std::vector<BlockFrame*> blocks_;                         // Innermost last.
  bool last_has_reads_ = false, last_has_writes_ = false;   // Of the block that ended last: whether it says them.
  std::unordered_map<const ExprNode*, Range> loop_ranges_;  // For T.axis.remap.
  std::map<const ExprNode*, Status>
      unbound_;  // Symbolic variables declared, not yet in a buffer's shape: what is wrong.
  std::vector<std::pair<const PyExpr*, Buffer>> matched_;         // Calls of T.match_buffer of parameters.
  std::set<const ExprNode*> bound_;                               // Those that expressions have introduced.
  std::unordered_map<const ExprNode*, std::string> env_threads_;  // Thread tags.
  std::map<const BufferNode*, Status> unrealized_;    // T.Buffer without data, until T.realize: what is wrong.
  std::vector<std::unique_ptr<ParsedMacro>> parsed_;  // Those that were called.
  std::map<std::string_view, Var> predeclared_;       // Symbols of the signature, not yet declared below.
  bool is_of_today_ = false;
  int macro_depth_ = 0;
  int nesting_ = 0;
  int suite_depth_ = 0;
};

}  // namespace lathe
