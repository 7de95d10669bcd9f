// From syntax to expressions of TensorIR. Part of the parser.
#pragma once

#include <initializer_list>
#include <set>
#include <span>

#include "compiler/script/name_table.h"
#include "compiler/script/python_ast.h"

namespace lathe {

// Arguments of a call, in the order of the parameters' names; null where one was not given or is None.
using BoundArgs = std::vector<const PyExpr*>;

// What one file says before and around its functions, and who answers for the rest.
struct ScriptContext {
  std::set<std::string_view> tir_names = {"T", "tir"};  // What the TIR dialect is called.
  TirMemberNames tir_members;
  std::set<std::string_view> ir_names = {"I", "ir"};
  std::unordered_map<std::string_view, const PyStmt*> macros;
  std::unordered_map<std::string_view, const PyStmt*> functions;  // Of the file, also those that come later.
  std::set<std::string_view> modules = {"Module", "cls"};         // Classes of the file.
  bool is_module = false;                                         // Whether the functions are those of a class.
  ScriptEvaluator* evaluator = nullptr;
  bool may_be_undefined = false;
  std::set<std::string_view> around;  // Constants that the evaluator knows, too.
};

class ExprBuilder {
 public:
  ExprBuilder(const Source& source, const NameTable& names, const ScriptContext& context)
      : source_(&source), names_(names), context_(&context) {}

  StatusOr<Expr> Build(const PyExpr& e) const;
  StatusOr<ScriptValue> BuildValue(const PyExpr& e) const;       // Anything: a buffer, a tuple, a text, a value.
  StatusOr<std::vector<Expr>> BuildList(const PyExpr& e) const;  // A tuple or list; anything else is a list of one.
  StatusOr<int64_t> BuildInt(const PyExpr& e) const;             // A constant.
  StatusOr<std::string> BuildString(const PyExpr& e) const;
  StatusOr<bool> BuildBool(const PyExpr& e) const;
  StatusOr<DataType> BuildType(const PyExpr& e) const;               // "float32", T.float32, or a constant's name.
  StatusOr<const PointerType*> BuildPointer(const PyExpr& e) const;  // nullptr: T.handle alone.
  StatusOr<Attr> BuildAttr(const PyExpr& e) const;
  StatusOr<AttrMap> BuildAttrs(const PyExpr& e) const;     // A dict.
  StatusOr<Buffer> BuildBufferUse(const PyExpr& e) const;  // A buffer's name.
  // e, (begin, end), T.Range(...) or such a value of the program; integers of one type.
  StatusOr<Range> BuildRange(const PyExpr& e) const;
  StatusOr<Range> BuildEnds(const PyExpr& begin, const PyExpr& end) const;
  StatusOr<Range> CheckedEnds(const PyExpr& begin, Expr first, const PyExpr& end, Expr last) const;
  StatusOr<BufferRegion> BuildRegion(const PyExpr& e) const;                // A[0:4, i], or A: all of it.
  StatusOr<std::vector<BufferRegion>> BuildRegions(const PyExpr& e) const;  // One, or several: a list, *list.
  // One per dimension; outside of blocks also one alone, the element's position (docs/formats/lowered_tir.md).
  StatusOr<std::vector<Expr>> BuildIndices(const Buffer& buffer, const PyExpr& subscript) const;
  // `value` as an element of `type`: literals take the type, other values are cast, scalars spread over lanes.
  StatusOr<Expr> Convert(const PyExpr& at, DataType type, const Expr& value) const;
  StatusOr<Expr> Infix(const PyExpr& at, std::string_view text, const Expr& a, const Expr& b) const;  // a text b
  // fold: as an operator of Python on the two; otherwise the node itself, of operands of one type.
  StatusOr<Expr> Combine(const PyExpr& at, BinaryOp op, const Expr& a, const Expr& b, bool fold = true) const;

  // That it is an integer.
  Status CheckIndex(const PyExpr& at, const Expr& index, bool may_be_vector) const;

  // "exp" for T.exp, "axis.remap" for T.axis.remap; empty if `e` is nothing of T.
  std::string TirName(const PyExpr& e) const;
  // The name of a macro or function of this file that is called, else empty: f(x), Module.f(x), cls.f(x).
  std::string_view FuncName(const PyExpr& callee) const;
  std::string CalleeName(const PyExpr& e) const {
    return e.kind == PyExprKind::kCall ? TirName(*e.items[0]) : std::string();
  }
  // `call`'s arguments by parameter name; the first `required` must be given. None is not given, or a value as others.
  StatusOr<BoundArgs> Bind(const PyExpr& call, std::span<const std::string_view> params, size_t required,
                           bool is_none_value = false) const;
  StatusOr<BoundArgs> Bind(const PyExpr& call, std::initializer_list<std::string_view> params, size_t required) const {
    return Bind(call, std::span(params.begin(), params.size()), required);
  }
  // `made`, its error at its place.
  StatusOr<Expr> At(const PyExpr& at, StatusOr<Expr> made) const {
    return made.ok() ? std::move(made) : Error(at, made.status().message());
  }
  Status Error(const PyExpr& at, std::string_view message) const { return ErrorAt(*source_, at.offset, message); }
  const Source& source() const { return *source_; }
  const ScriptContext& context() const { return *context_; }
  // From here on the text is another one: a macro's that stands elsewhere.
  void Enter(const Source& source, const ScriptContext& context) { source_ = &source, context_ = &context; }
  // Whether `e` names something and nothing of it belongs to the function: such an expression is the program's, with
  // Python's meaning.
  bool IsOfProgram(const PyExpr& e) const;
  static bool IsLiteral(const PyExpr& e);  // Numbers, True and False, and operators on them: Python computes it.
  StatusOr<std::optional<bool>> BuildStaticBool(const PyExpr& e) const;  // nullopt: it is decided when the code runs.
  // Of `a if flag else b` with a flag of the program the branch that counts; else `e` itself.
  StatusOr<const PyExpr*> ChosenOf(const PyExpr& e) const;
  bool IsOutside(const PyExpr& e) const;                 // Whether somebody else has to say what `e` is.
  StatusOr<ScriptValue> Foreign(const PyExpr& e) const;  // What the evaluator, which there is, says of `e`.
  StatusOr<ScriptEffect> Run(const PyExpr& call) const;  // As a statement.
  StatusOr<Expr> ToExpr(const PyExpr& at, const ScriptValue& value) const;
  StatusOr<IterVar> BuildIterVar(const PyExpr& e) const;
  StatusOr<CommReducer> BuildReducer(const PyExpr& e) const;
  // The arguments of vload and vstore.
  struct Access {
    std::vector<Expr> indices;
    std::optional<Expr> predicate;
  };
  // `type`: of what is read or written; its lanes begin at `begin`.
  StatusOr<Access> BuildVectorAccess(const Buffer& buffer, const PyExpr& begin, std::optional<DataType> type,
                                     const PyExpr* predicate) const;
  // Collects the declared variables that expressions have introduced.
  void SetBound(std::set<const ExprNode*>* bound) { bound_ = bound; }
  void EnterBlock() { ++block_depth_; }
  void LeaveBlock() { --block_depth_; }

 private:
  bool IsTirDialect(const PyExpr& e) const;
  std::string_view TextOf(const PyExpr& e) const { return source_->text.substr(e.begin, e.end - e.begin); }
  ScriptScope ScopeOf(std::string_view text) const;
  StatusOr<Expr> BuildName(const PyExpr& e) const;
  StatusOr<Expr> BuildAttribute(const PyExpr& e) const;
  StatusOr<Expr> BuildMethod(const PyExpr& e) const;
  StatusOr<Expr> BuildAccessPtr(const PyExpr& e, const Buffer& buffer) const;
  StatusOr<Expr> BuildFuncCall(const PyExpr& e, std::string_view callee) const;
  StatusOr<Expr> BuildConditional(const PyExpr& e) const;
  StatusOr<Expr> BuildLet(const PyExpr& e) const;
  StatusOr<Expr> BuildUndef(const PyExpr& e) const;
  StatusOr<Expr> BuildShuffle(const PyExpr& e) const;
  StatusOr<Expr> BuildCallNode(const PyExpr& e) const;
  StatusOr<Expr> BuildReduce(const PyExpr& e) const;
  StatusOr<Expr> BuildStruct(const PyExpr& e) const;
  StatusOr<Expr> BuildIntrinsicId(const PyExpr& e) const;
  StatusOr<Expr> BuildAddressOf(const PyExpr& e) const;
  StatusOr<Expr> BuildRounded(const PyExpr& e) const;
  StatusOr<Expr> BuildNamedOp(const PyExpr& e, const std::string& name) const;
  StatusOr<DataType> BuildLanes(const PyExpr& e, DataType element) const;  // The element with as many lanes.
  bool IsOutsideCall(const PyExpr& e) const;
  bool CollectNames(const PyExpr& e, bool& has_name) const;
  Status Append(const PyExpr& at, const ScriptValue& value, std::vector<Expr>& list) const;
  Status Append(const PyExpr& at, const ScriptValue& value, std::vector<BufferRegion>& list) const;
  bool HasIndexOfProgram(const PyExpr& subscript) const;
  bool IsTuple(const PyExpr& e) const;  // A.shape, or the name of several values.
  StatusOr<ScriptValue> BuildItem(const PyExpr& e) const;
  static bool MayBeForeign(const PyExpr& e);
  StatusOr<Expr> BuildUnary(const PyExpr& e) const;
  StatusOr<Expr> BuildBinary(const PyExpr& e) const;
  StatusOr<Expr> Compare(const PyExpr& at, BinaryOp op, Expr a, Expr b) const;
  StatusOr<Expr> BuildCompare(const PyExpr& e) const;
  StatusOr<Expr> BuildLogical(const PyExpr& e) const;
  StatusOr<Expr> BuildLoad(const PyExpr& e) const;
  StatusOr<Expr> BuildVectorIndex(const PyExpr& slice) const;
  StatusOr<Expr> BuildCall(const PyExpr& e) const;
  StatusOr<Expr> BuildNamedCall(const PyExpr& e, const std::string& name) const;
  StatusOr<Expr> BuildBinaryCall(const PyExpr& e, BinaryOp op, bool fold) const;
  StatusOr<Expr> BuildTyped(const PyExpr& e, DataType type) const;
  StatusOr<Expr> BuildTypedLiteral(const PyExpr& at, const PyExpr& literal, DataType type, bool negative) const;
  StatusOr<Expr> BuildSelect(const PyExpr& e) const;
  StatusOr<Expr> BuildCast(const PyExpr& e, bool exact) const;
  StatusOr<Expr> BuildRamp(const PyExpr& e) const;
  StatusOr<Expr> BuildBroadcast(const PyExpr& e) const;
  StatusOr<Expr> BuildNot(const PyExpr& at, const PyExpr& operand, bool fold) const;
  StatusOr<Expr> BuildCallIntrin(const PyExpr& e) const;
  StatusOr<Expr> BuildOp(const PyExpr& e, const Op& op) const;
  StatusOr<PyExpr> InOrder(const PyExpr& e, const Op& op, size_t first) const;
  StatusOr<std::vector<Expr>> BuildOpArgs(const PyExpr& e, const Op& op, size_t first) const;
  StatusOr<std::vector<Expr>> BuildArgs(const PyExpr& e, size_t first) const;
  StatusOr<Range> BuildRegionEnds(const PyExpr& begin, const PyExpr& end) const;
  StatusOr<Range> BuildRegionDim(const PyExpr& e, const Expr& shape) const;

  const Source* source_;
  const NameTable& names_;
  const ScriptContext* context_;
  std::set<const ExprNode*>* bound_ = nullptr;
  int block_depth_ = 0;
};

}  // namespace lathe
