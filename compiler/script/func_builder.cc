#include "compiler/script/func_builder.h"

#include <fmt/core.h>

#include <utility>

#include "compiler/arith/match_region.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "compiler/script/dialect.h"
#include "compiler/script/func_builder_detail.h"
#include "support/status_macros.h"

namespace lathe {

Status FuncBuilder::Define(const PyExpr& target, NamedValue value) {
  if (names_.Define(target.text, std::move(value))) return OkStatus();
  return Error(target,
               fmt::format("expected a new name, got \"{}\", which is defined already in this scope", target.text));
}

Status FuncBuilder::Enter(uint32_t offset) {
  if (++nesting_ <= kMaxNesting) return OkStatus();
  return ErrorAt(exprs_.source(), offset, fmt::format("nested more than {} deep; split it up", kMaxNesting));
}

// ---- Statements ----------------------------------------------------------------------------------------------------

StatusOr<Stmt> FuncBuilder::BuildSuite(const std::vector<const PyStmt*>& lines) {
  const size_t names = names_.Open();
  StatusOr<Stmt> suite = BuildLines(lines);
  if (suite.ok()) names_.Close(names);
  return suite;
}

StatusOr<Stmt> FuncBuilder::BuildLines(const std::vector<const PyStmt*>& lines) {
  const int nesting = nesting_;
  if (!lines.empty()) RETURN_IF_ERROR(Enter(lines[0]->offset));
  ++suite_depth_;
  Suite suite;
  for (const PyStmt* line : lines) RETURN_IF_ERROR(BuildStmt(*line, suite));
  --suite_depth_;
  nesting_ = nesting;
  return suite.Close();
}

Status FuncBuilder::BuildStmt(const PyStmt& stmt, Suite& suite) {
  RETURN_IF_ERROR(BuildLine(stmt, suite));
  return KeepAllocations();
}

// What a helper has allocated belongs to the innermost block, or to the function.
Status FuncBuilder::KeepAllocations() {
  if (exprs_.context().evaluator == nullptr) return OkStatus();
  for (const Buffer& buffer : exprs_.context().evaluator->TakeAllocations()) {
    (blocks_.empty() ? root_allocs_ : blocks_.back()->node.alloc_buffers).push_back(buffer);
    owners_.emplace(buffer->data.get(), buffer);
  }
  return OkStatus();
}

Status FuncBuilder::BuildLine(const PyStmt& stmt, Suite& suite) {
  switch (stmt.kind) {
    case PyStmtKind::kExpr:
      return BuildExprStmt(stmt, suite);
    case PyStmtKind::kAssign:
      return BuildAssign(stmt, suite);
    case PyStmtKind::kFor:
      return BuildFor(stmt, suite);
    case PyStmtKind::kIf:
      return BuildIf(stmt, suite);
    case PyStmtKind::kWith:
      return BuildWith(stmt, suite);
    case PyStmtKind::kAssert:
      return BuildAssert(*stmt.value, *stmt.value, stmt.message, suite);
    case PyStmtKind::kPass:
      return OkStatus();
    case PyStmtKind::kReturn: {
      if (stmt.value == nullptr) return ErrorAt(exprs_.source(), stmt.offset, "expected a value to return");
      ASSIGN_OR_RETURN(const Expr value, exprs_.Build(*stmt.value));
      suite.stmts.push_back(Evaluate{MakeCall(value.dtype(), "ret", {value})});
      return OkStatus();
    }
    case PyStmtKind::kWhile:
      return BuildWhile(*stmt.value, stmt, suite);
    default:
      return ErrorAt(exprs_.source(), stmt.offset, "expected a statement of TensorIR");
  }
}

StatusOr<Expr> FuncBuilder::BuildCondition(const PyExpr& e) {
  ASSIGN_OR_RETURN(const Expr condition, exprs_.Build(e));
  return CheckCondition(e, condition, false);
}

// Of an if or a while, which take numbers as well.
StatusOr<Expr> FuncBuilder::BuildTest(const PyExpr& e, bool may_be_vector) {
  ASSIGN_OR_RETURN(const Expr test, exprs_.Build(e));
  return CheckCondition(e, TruthOf(test), may_be_vector);
}

StatusOr<Expr> FuncBuilder::CheckCondition(const PyExpr& e, const Expr& condition, bool may_be_vector) const {
  const bool fits = may_be_vector ? condition.dtype().is_bool() : condition.dtype() == DataType::Bool();
  if (!fits) return Error(e, fmt::format("expected a boolean, got {}", condition.dtype().ToString()));
  return condition;
}

Status FuncBuilder::BuildAssert(const PyExpr& at, const PyExpr& condition, const PyExpr* message, Suite& suite) {
  ASSIGN_OR_RETURN(const Expr test, BuildCondition(condition));
  if (message == nullptr) return Error(at, "expected a message after the condition");
  ASSIGN_OR_RETURN(std::string text, BuildMessage(*message));
  RETURN_IF_ERROR(Enter(at.offset));
  suite.opened.push_back({AssertStmt{test, std::move(text), Evaluate{0}}, suite.stmts.size()});
  return OkStatus();
}

// "text", or ("RuntimeError", ["parts ", "of it"]), as TVM prints today.
StatusOr<std::string> FuncBuilder::BuildMessage(const PyExpr& e) {
  const bool has_kind = e.kind == PyExprKind::kTuple && e.items.size() == 2 && e.items[1]->kind == PyExprKind::kList;
  if (!has_kind) return exprs_.BuildString(e);
  ASSIGN_OR_RETURN(const std::string kind, exprs_.BuildString(*e.items[0]));
  if (kind != "RuntimeError") return Error(*e.items[0], fmt::format("expected a RuntimeError, got \"{}\"", kind));
  std::string text;
  for (const PyExpr* part : e.items[1]->items) {
    ASSIGN_OR_RETURN(const std::string more, exprs_.BuildString(*part));
    text += more;
  }
  return text;
}

Status FuncBuilder::BuildFuncAttr(const PyExpr& e) {
  if (suite_depth_ != 1) return Error(e, "T.func_attr stands among the lines of the function itself; move it there");
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"attrs"}, 1));
  ASSIGN_OR_RETURN(AttrMap attrs, exprs_.BuildAttrs(*args[0]));
  if (const auto symbol = attrs.extract("global_symbol")) {
    const std::string* text = std::get_if<std::string>(&symbol.mapped());
    if (text == nullptr) return Error(*args[0], "expected a string as global_symbol");
    func_.name = *text;
  }
  func_.attrs.merge(attrs);
  if (!attrs.empty()) return Error(e, fmt::format("attribute \"{}\" is set twice", attrs.begin()->first));
  return OkStatus();
}

Status FuncBuilder::BuildBlockLine(const PyExpr& e, const std::string& name) {
  ASSIGN_OR_RETURN(BlockFrame* const block, DirectBlock(e, "T." + name));
  if (name == "reads" || name == "writes") {
    bool& is_there = name == "reads" ? block->has_reads : block->has_writes;
    if (std::exchange(is_there, true)) return Error(e, fmt::format("expected one T.{} in a block", name));
    return BuildRegions(e, name == "reads" ? block->node.reads : block->node.writes);
  }
  bool& was_there = name == "where" ? block->has_where : block->has_attrs;
  if (std::exchange(was_there, true)) return Error(e, fmt::format("expected one T.{} in a block", name));
  if (name == "where") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"predicate"}, 1));
    ASSIGN_OR_RETURN(block->predicate, BuildCondition(*args[0]));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"attrs"}, 1));
  ASSIGN_OR_RETURN(AttrMap attrs, exprs_.BuildAttrs(*args[0]));
  block->node.annotations.merge(attrs);
  return OkStatus();
}

// A.vstore([T.Ramp(0, 1, 4)], value, predicate=p); A.vstore([0], value), with lanes as the value has
Status FuncBuilder::BuildVstore(const PyExpr& e, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"begin", "value", "predicate"}, 2));
  return BuildStoreAt(*e.items[0]->items[0], *args[0], *args[1], args[2], suite);
}

// T.buffer_store(A, value, [i])
Status FuncBuilder::BuildBufferStore(const PyExpr& e, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"buffer", "value", "indices", "predicate"}, 3));
  return BuildStoreAt(*args[0], *args[2], *args[1], args[3], suite);
}

Status FuncBuilder::BuildStoreAt(const PyExpr& target, const PyExpr& begin, const PyExpr& stored,
                                 const PyExpr* predicate, Suite& suite) {
  ASSIGN_OR_RETURN(const Buffer buffer, exprs_.BuildBufferUse(target));
  ASSIGN_OR_RETURN(const Expr value, exprs_.Build(stored));
  ASSIGN_OR_RETURN(ExprBuilder::Access access, exprs_.BuildVectorAccess(buffer, begin, value.dtype(), predicate));
  ASSIGN_OR_RETURN(const Expr converted, exprs_.Convert(stored, Load(buffer, access.indices).dtype(), value));
  suite.stmts.push_back(BufferStore{buffer, converted, std::move(access.indices), std::move(access.predicate)});
  return OkStatus();
}

Status FuncBuilder::BuildExprStmt(const PyStmt& stmt, Suite& suite) {
  const PyExpr& e = *stmt.value;
  if (e.kind == PyExprKind::kString) return OkStatus();  // A docstring.
  const std::string name = exprs_.CalleeName(e);
  if (name == "func_attr") return BuildFuncAttr(e);
  if (name == "sblock_attr") return BuildBlockLine(e, "block_attr");
  if (name == "reads" || name == "writes" || name == "where" || name == "block_attr") return BuildBlockLine(e, name);
  if (name == "attr" || name == "launch_thread") {  // For the rest of the suite.
    RETURN_IF_ERROR(Enter(e.offset));
    return name == "attr" ? BuildAttrStmt(e, suite) : BuildLaunch(nullptr, e, suite);
  }
  if (name == "Assert") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"condition", "message"}, 1));
    return BuildAssert(e, *args[0], args[1], suite);
  }
  if (name == "realize") {
    RETURN_IF_ERROR(Enter(e.offset));
    return BuildRealize(e, suite);
  }
  if (name == "buffer_store") return BuildBufferStore(e, suite);
  if (name == "prefetch" && e.items.size() == 3) return BuildPrefetch(e, suite);
  ASSIGN_OR_RETURN(const MacroUse macro, FindMacro(e));
  if (macro.definition != nullptr) return BuildMacroCall(macro, e, suite);
  const bool is_method = e.kind == PyExprKind::kCall && e.items[0]->kind == PyExprKind::kAttribute && name.empty();
  if (is_method && e.items[0]->text == "vstore") return BuildVstore(e, suite);
  const PyExpr* value = &e;
  if (name == "evaluate") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"value"}, 1));
    value = args[0];
  }
  return BuildEvaluate(*value, suite);
}

// What a helper of the program emits stands here, before what it gives.
StatusOr<ScriptValue> FuncBuilder::BuildEffect(const PyExpr& e, Suite& suite) {
  const bool is_helper = e.kind == PyExprKind::kCall && exprs_.context().evaluator != nullptr && exprs_.IsOutside(e);
  if (!is_helper) return exprs_.BuildValue(e);
  ASSIGN_OR_RETURN(ScriptEffect effect, exprs_.Run(e));
  suite.stmts.insert(suite.stmts.end(), effect.stmts.begin(), effect.stmts.end());
  return std::move(effect.value);
}

// A helper of the program may have done its work: then it gives None.
Status FuncBuilder::BuildEvaluate(const PyExpr& value, Suite& suite) {
  ASSIGN_OR_RETURN(const ScriptValue known, BuildEffect(value, suite));
  const Attr* attr = std::get_if<Attr>(&known);
  if (attr != nullptr && std::holds_alternative<std::monostate>(*attr) && value.kind != PyExprKind::kNone)
    return OkStatus();
  ASSIGN_OR_RETURN(Expr built, exprs_.ToExpr(value, known));
  // TVM's parser drops it; a stored text stands for the tree that it was printed from.
  const bool is_nothing = IsConstInt(built, 0) && exprs_.context().evaluator != nullptr;
  if (!is_nothing) suite.stmts.push_back(Evaluate{std::move(built)});
  return OkStatus();
}

// ---- Attributes, threads, memory -----------------------------------------------------------------------------------

// T.realize(A[0:4, 8:16], "shared", condition), where A = T.Buffer(...) came before
Status FuncBuilder::BuildRealize(const PyExpr& e, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"buffer_slice", "storage_scope", "condition"}, 2));
  ASSIGN_OR_RETURN(const BufferRegion region, exprs_.BuildRegion(*args[0]));
  ASSIGN_OR_RETURN(std::string scope, exprs_.BuildString(*args[1]));
  Expr condition = True();
  if (args[2] != nullptr) {
    ASSIGN_OR_RETURN(condition, BuildCondition(*args[2]));
  }
  if (unrealized_.erase(region.buffer.get()) == 0)
    return Error(*args[0], "expected a buffer declared by T.Buffer(...) without data, which is realized once");
  suite.opened.push_back(
      {BufferRealize{region.buffer, region.region, condition, std::move(scope), Evaluate{0}}, suite.stmts.size()});
  return OkStatus();
}

// T.prefetch(A, [T.Range(0, 64)])
Status FuncBuilder::BuildPrefetch(const PyExpr& e, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"buffer", "bounds"}, 2));
  const NamedValue* value = args[0]->kind == PyExprKind::kName ? names_.Find(args[0]->text) : nullptr;
  const Buffer* buffer = value == nullptr ? nullptr : std::get_if<Buffer>(value);
  if (buffer == nullptr) return Error(*args[0], "expected a buffer");
  Prefetch prefetch{*buffer, {}};
  for (const PyExpr* item : args[1]->items) {
    ASSIGN_OR_RETURN(Range range, exprs_.BuildRange(*item));
    prefetch.bounds.push_back(std::move(range));
  }
  if (prefetch.bounds.size() != prefetch.buffer->shape.size())
    return Error(*args[1], fmt::format("expected {} ranges of buffer \"{}\", got {}", prefetch.buffer->shape.size(),
                                       prefetch.buffer->name, prefetch.bounds.size()));
  suite.stmts.push_back(std::move(prefetch));
  return OkStatus();
}

Status FuncBuilder::BuildAttrStmt(const PyExpr& e, Suite& suite) {
  const PyExpr* dict = e.items.size() == 2 && e.items[1]->kind == PyExprKind::kDict ? e.items[1] : nullptr;
  for (size_t i = 0; dict != nullptr && i < dict->items.size(); i += 2) {  // T.attr({"key": value}), of nothing.
    ASSIGN_OR_RETURN(std::string key, exprs_.BuildString(*dict->items[i]));
    ASSIGN_OR_RETURN(Expr value, exprs_.Build(*dict->items[i + 1]));
    suite.opened.push_back({AttrStmt{std::move(key), std::move(value), Attr(0), Evaluate{0}}, suite.stmts.size()});
  }
  if (dict != nullptr) return OkStatus();
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"node", "attr_key", "value"}, 0));
  if (e.items.size() != 4 || args[1] == nullptr || args[2] == nullptr)
    return Error(e, "expected node, attr_key and value of T.attr");
  AttrTarget node = Attr(std::monostate());
  if (args[0] == nullptr) {
    // None.
  } else if (exprs_.CalleeName(*args[0]) == "iter_var") {
    ASSIGN_OR_RETURN(node, exprs_.BuildIterVar(*args[0]));
  } else if (exprs_.CalleeName(*args[0]) == "comm_reducer") {
    ASSIGN_OR_RETURN(CommReducer reducer, exprs_.BuildReducer(*args[0]));
    if (reducer.result.empty()) return Error(*args[0], "expected a reducer of at least one value");
    const DataType type = reducer.result[0].dtype();
    node = Attr(Expr::Make(type, Reduce{std::move(reducer), {}, {}, {}, True()}));
  } else if (const NamedValue* value = args[0]->kind == PyExprKind::kName ? names_.Find(args[0]->text) : nullptr;
             value != nullptr && std::holds_alternative<Buffer>(*value)) {
    node = std::get<Buffer>(*value);
  } else {
    ASSIGN_OR_RETURN(node, exprs_.BuildAttr(*args[0]));
  }
  ASSIGN_OR_RETURN(std::string key, exprs_.BuildString(*args[1]));
  ASSIGN_OR_RETURN(Expr value, exprs_.Build(*args[2]));
  suite.opened.push_back(
      {AttrStmt{std::move(key), std::move(value), std::move(node), Evaluate{0}}, suite.stmts.size()});
  return OkStatus();
}

// tx = T.launch_thread("threadIdx.x", 128), or T.launch_thread(tx, 128) of tx = T.env_thread("threadIdx.x").
Status FuncBuilder::BuildLaunch(const PyExpr* target, const PyExpr& call, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"thread", "extent"}, 2));
  ASSIGN_OR_RETURN(const Expr extent, exprs_.Build(*args[1]));
  if (!extent.dtype().is_int() || !extent.dtype().is_scalar())
    return Error(*args[1], fmt::format("expected an integer, got {}", extent.dtype().ToString()));
  Range domain{IntConst(extent.dtype(), 0), extent};
  if (StatusOr<std::string> tag = exprs_.BuildString(*args[0]); tag.ok()) {
    const Var var(target == nullptr ? *tag : std::string(target->text), extent.dtype());
    IterVar axis{domain, var, IterKind::kThreadIndex, *std::move(tag)};
    const std::string key(LaunchKey(axis.thread_tag));
    suite.opened.push_back({AttrStmt{key, extent, std::move(axis), Evaluate{0}}, suite.stmts.size()});
    return target == nullptr ? OkStatus() : Define(*target, Expr(var));
  }
  ASSIGN_OR_RETURN(const Expr var, exprs_.Build(*args[0]));
  const auto tag = env_threads_.find(var.get());
  if (tag == env_threads_.end())
    return Error(*args[0], "expected a thread axis such as \"threadIdx.x\", or T.env_thread of one");
  ASSIGN_OR_RETURN(const Expr converted, exprs_.Convert(*args[1], var.dtype(), extent));
  domain = {IntConst(var.dtype(), 0), converted};
  IterVar axis{domain, Var(var), IterKind::kThreadIndex, tag->second};
  const std::string key(LaunchKey(axis.thread_tag));
  suite.opened.push_back({AttrStmt{key, converted, std::move(axis), Evaluate{0}}, suite.stmts.size()});
  return target == nullptr ? OkStatus() : Define(*target, var);
}

Status FuncBuilder::BuildEnvThread(const PyExpr& target, const PyExpr& call) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"thread_tag", "dtype"}, 1));
  ASSIGN_OR_RETURN(const std::string tag, exprs_.BuildString(*args[0]));
  DataType type = kIndexType;
  if (args[1] != nullptr) {
    ASSIGN_OR_RETURN(type, exprs_.BuildType(*args[1]));
  }
  const Var var(std::string(target.text), type);
  env_threads_.emplace(var.get(), tag);
  return Define(target, Expr(var));
}

// X = T.allocate([16], "float32", "global")
Status FuncBuilder::BuildAllocate(const PyExpr& target, const PyExpr& call, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args,
                   exprs_.Bind(call, {"extents", "dtype", "scope", "condition", "annotations"}, 2));
  ASSIGN_OR_RETURN(std::vector<Expr> extents, exprs_.BuildList(*args[0]));
  for (const Expr& extent : extents) RETURN_IF_ERROR(exprs_.CheckIndex(*args[0], extent, false));
  ASSIGN_OR_RETURN(const DataType type, exprs_.BuildType(*args[1]));
  std::string scope = "global";
  if (args[2] != nullptr) {
    ASSIGN_OR_RETURN(scope, exprs_.BuildString(*args[2]));
  }
  Expr condition = True();
  if (args[3] != nullptr) {
    ASSIGN_OR_RETURN(condition, BuildCondition(*args[3]));
  }
  AttrMap annotations;
  if (args[4] != nullptr) {
    ASSIGN_OR_RETURN(annotations, exprs_.BuildAttrs(*args[4]));
  }
  const Var var(std::string(target.text), MakePointerType(type, scope));
  RETURN_IF_ERROR(Enter(target.offset));
  suite.opened.push_back(
      {Allocate{var, type, std::move(extents), std::move(condition), std::move(annotations), Evaluate{0}},
       suite.stmts.size()});
  return Define(target, Expr(var));
}

// X = T.allocate_const([1, 2], "int32", [2])
Status FuncBuilder::BuildAllocateConst(const PyExpr& target, const PyExpr& call, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"data", "dtype", "extents", "annotations"}, 3));
  ASSIGN_OR_RETURN(const DataType type, exprs_.BuildType(*args[1]));
  ASSIGN_OR_RETURN(std::vector<Expr> extents, exprs_.BuildList(*args[2]));
  ASSIGN_OR_RETURN(std::vector<Expr> data, exprs_.BuildList(*args[0]));
  const auto shape = ConstantShape(extents);
  if (!shape) return Error(*args[2], "expected constant extents");
  __int128 size = 1;
  for (const int64_t extent : *shape) size *= extent < 0 || size > int64_t{1} << 40 ? 0 : extent;
  if (size != static_cast<__int128>(data.size()))
    return Error(*args[0], fmt::format("expected one number for each element, got {}", data.size()));
  for (Expr& value : data) {
    ASSIGN_OR_RETURN(value, exprs_.Convert(*args[0], type, value));
    if (value.As<IntImm>() == nullptr && value.As<FloatImm>() == nullptr)
      return Error(*args[0], fmt::format("expected constants of {}", type.ToString()));
  }
  AttrMap annotations;
  if (args[3] != nullptr) {
    ASSIGN_OR_RETURN(annotations, exprs_.BuildAttrs(*args[3]));
  }
  const Var var(std::string(target.text), MakePointerType(type, "global"));
  RETURN_IF_ERROR(Enter(target.offset));
  suite.opened.push_back(
      {AllocateConst{var, type, std::move(extents), std::move(data), std::move(annotations), Evaluate{0}},
       suite.stmts.size()});
  return Define(target, Expr(var));
}

Status FuncBuilder::BuildRegions(const PyExpr& call, std::vector<BufferRegion>& regions) {
  for (size_t i = 1; i < call.items.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<BufferRegion> some, exprs_.BuildRegions(*call.items[i]));
    regions.insert(regions.end(), some.begin(), some.end());
  }
  return OkStatus();
}

// ---- Assignments ---------------------------------------------------------------------------------------------------

Status FuncBuilder::BuildAssign(const PyStmt& stmt, Suite& suite) {
  if (stmt.target->kind == PyExprKind::kSubscript) return BuildStore(stmt, suite);
  if (!stmt.text.empty())
    return Error(*stmt.target, fmt::format("expected an element of a buffer before \"{}=\"", stmt.text));
  ASSIGN_OR_RETURN(const PyExpr* const value, exprs_.ChosenOf(*stmt.value));
  return BuildAssignTo(*stmt.target, stmt.annotation, *value, suite);
}

// a, b = x, y
Status FuncBuilder::Unpack(const PyExpr& target, const PyExpr& value, Suite& suite) {
  if (exprs_.CalleeName(value) == "meta_var") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(value, {"value"}, 1));
    return DefineEach(target, *args[0]);
  }
  const bool is_tuple = value.kind == PyExprKind::kTuple || value.kind == PyExprKind::kList;
  if (is_tuple && value.items.size() == target.items.size()) {
    for (size_t i = 0; i < target.items.size(); ++i)
      RETURN_IF_ERROR(BuildAssignTo(*target.items[i], nullptr, *value.items[i], suite));
    return OkStatus();
  }
  const bool may_be_known =
      value.kind == PyExprKind::kName || value.kind == PyExprKind::kAttribute || exprs_.context().evaluator != nullptr;
  if (is_tuple || !may_be_known) return Error(value, fmt::format("expected {} values", target.items.size()));
  return DefineEach(target, value);
}

// Names for the values, which are not computed anew.
Status FuncBuilder::DefineEach(const PyExpr& target, const PyExpr& value) {
  ASSIGN_OR_RETURN(const ScriptValue known, exprs_.BuildValue(value));
  const auto* items = std::get_if<std::vector<ScriptValue>>(&known);
  if (items == nullptr || items->size() != target.items.size())
    return Error(value, fmt::format("expected {} values", target.items.size()));
  for (size_t i = 0; i < items->size(); ++i) RETURN_IF_ERROR(Define(*target.items[i], (*items)[i]));
  return OkStatus();
}

void FuncBuilder::DeclareSymbol(const PyExpr& target, const Var& var) {
  unbound_.emplace(var.get(), Error(target, fmt::format("expected \"{}\" in the shape of a T.match_buffer; nothing "
                                                        "gives it a value",
                                                        target.text)));
}

// n = T.int32(), T.int32(is_size_var=True), T.handle("float32", "global"), T.var("int32")
Status FuncBuilder::BuildVarDeclaration(const PyExpr& target, const PyExpr& call, const std::string& name) {
  if (name == "handle") {
    ASSIGN_OR_RETURN(const PointerType* const pointer, exprs_.BuildPointer(call));
    const Var var(std::string(target.text), pointer);
    DeclareSymbol(target, var);
    return Define(target, Expr(var));
  }
  const bool is_var = name == "var";
  ASSIGN_OR_RETURN(const BoundArgs args,
                   is_var ? exprs_.Bind(call, {"dtype"}, 0) : exprs_.Bind(call, {"expr", "is_size_var"}, 0));
  DataType type;
  ASSIGN_OR_RETURN(
      type, is_var && args[0] != nullptr ? exprs_.BuildType(*args[0]) : DataType::Parse(is_var ? "int32" : name));
  bool is_size = false;
  if (!is_var && args[1] != nullptr) {
    ASSIGN_OR_RETURN(is_size, exprs_.BuildBool(*args[1]));
  }
  if (TakePredeclared(target.text, type)) return OkStatus();
  const Var var = is_size ? Var::Size(std::string(target.text), type) : Var(std::string(target.text), type);
  DeclareSymbol(target, var);
  return Define(target, Expr(var));
}

Status FuncBuilder::BuildAssignTo(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite) {
  const std::string name = exprs_.CalleeName(value);
  if (name == "axis.remap") return BuildRemap(target, value);
  if (target.kind == PyExprKind::kTuple || target.kind == PyExprKind::kList) return Unpack(target, value, suite);
  if (target.kind != PyExprKind::kName) return Error(target, "expected a name or an element of a buffer before \"=\"");
  if (name == "match_buffer") return BuildMatchBuffer(target, value, suite);
  if (name == "sblock_alloc_buffer" || (name == "alloc_buffer" && !is_of_today_)) return BuildAlloc(target, value);
  if (name == "decl_buffer" || name == "Buffer" || name == "buffer_decl" || name == "alloc_buffer" ||
      name == "alloc_local" || name == "alloc_shared")
    return BuildDeclaration(target, value, suite);
  if (const Buffer* whole = ViewedBuffer(value)) return BuildView(target, value, *whole, suite);
  if (name == "allocate") return BuildAllocate(target, value, suite);
  if (name == "allocate_const") return BuildAllocateConst(target, value, suite);
  if (name == "env_thread") return BuildEnvThread(target, value);
  if (name == "launch_thread") {
    RETURN_IF_ERROR(Enter(target.offset));
    return BuildLaunch(&target, value, suite);
  }
  if (name == "meta_var") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(value, {"value"}, 1));
    ASSIGN_OR_RETURN(ScriptValue known, exprs_.BuildValue(*args[0]));
    return Define(target, std::move(known));
  }
  if (name.starts_with("axis.")) {
    const std::optional<IterKind> kind = IterKindOf(std::string_view(name).substr(5));
    if (!kind)
      return Error(value, fmt::format("expected T.axis.spatial, reduce, scan, opaque or remap, got \"T.{}\"", name));
    return BuildAxis(target, value, *kind);
  }
  const bool is_typed = !name.empty() && DataType::Parse(name).ok();
  const bool has_value = is_typed && value.items.size() > 1 + value.keywords.size();
  if (name == "var" || (is_typed && (!has_value || name == "handle"))) return BuildVarDeclaration(target, value, name);
  return BuildLet(target, annotation, value, suite);
}

Status FuncBuilder::BuildLet(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite) {
  ASSIGN_OR_RETURN(const ScriptValue known, exprs_.BuildValue(value));
  const Attr* attr = std::get_if<Attr>(&known);
  const bool is_number =
      attr != nullptr && (std::holds_alternative<int64_t>(*attr) || std::holds_alternative<double>(*attr) ||
                          std::holds_alternative<bool>(*attr));
  const bool is_value = std::holds_alternative<Expr>(known) || is_number || annotation != nullptr;
  if (!is_value) return Define(target, known);  // A buffer, a tuple, a text, None: only a name for it.
  ASSIGN_OR_RETURN(Expr built, exprs_.ToExpr(value, known));
  const PointerType* pointer = nullptr;
  if (annotation != nullptr && exprs_.TirName(*annotation) != "let") {
    const bool is_let = annotation->kind == PyExprKind::kSubscript && exprs_.TirName(*annotation->items[0]) == "let";
    const PyExpr& written = is_let ? *annotation->items[1] : *annotation;
    const std::string kind = exprs_.CalleeName(written);
    const bool is_handle = kind == "handle" || kind == "Ptr";
    if (is_handle) {
      ASSIGN_OR_RETURN(pointer, exprs_.BuildPointer(written));
    }
    ASSIGN_OR_RETURN(const DataType type,
                     is_handle ? StatusOr<DataType>(DataType::Handle()) : exprs_.BuildType(written));
    if (built.dtype() != type)
      return Error(value,
                   fmt::format("expected a value of {}, got {}; cast it", type.ToString(), built.dtype().ToString()));
  }
  const Var var =
      pointer != nullptr ? Var(std::string(target.text), pointer) : Var(std::string(target.text), built.dtype());
  RETURN_IF_ERROR(Enter(target.offset));
  suite.opened.push_back({Suite::OpenLet{var, built}, suite.stmts.size()});
  return Define(target, Expr(var));
}

Status FuncBuilder::BuildStore(const PyStmt& stmt, Suite& suite) {
  const PyExpr& target = *stmt.target;
  ASSIGN_OR_RETURN(const Buffer buffer, exprs_.BuildBufferUse(*target.items[0]));
  ASSIGN_OR_RETURN(std::vector<Expr> indices, exprs_.BuildIndices(buffer, target));
  ASSIGN_OR_RETURN(Expr value, exprs_.Build(*stmt.value));
  const Expr element = Load(buffer, indices);
  if (!stmt.text.empty()) {  // A[i] += x
    ASSIGN_OR_RETURN(value, exprs_.Infix(target, stmt.text, element, value));
  }
  ASSIGN_OR_RETURN(value, exprs_.Convert(*stmt.value, element.dtype(), value));
  suite.stmts.push_back(BufferStore{buffer, std::move(value), std::move(indices)});
  return OkStatus();
}

// X = T.decl_buffer(...): new memory; over memory that is there if data= is given, as X = T.Buffer(...) always is.
Status FuncBuilder::BuildDeclaration(const PyExpr& target, const PyExpr& call, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, kBufferParams, 1));
  ASSIGN_OR_RETURN(Buffer buffer, BuildBuffer(call, target.text, args, 0, false));
  const std::string name = exprs_.CalleeName(call);
  if (name == "alloc_local" || name == "alloc_shared") {
    BufferNode node = *buffer;
    node.scope = name.substr(sizeof("alloc_") - 1);
    node.data = UnsetData();
    buffer = Buffer(std::move(node));
  }
  if (args[kDataParam] == nullptr && name == "Buffer") {
    const char* problem = "expected data= of a buffer in the body; T.decl_buffer makes memory of its own";
    unrealized_.emplace(buffer.get(), Error(call, problem));  // T.realize may follow.
    return DefineBuffer(target, buffer);
  }
  RETURN_IF_ERROR(Enter(target.offset));
  if (args[kDataParam] != nullptr) {
    suite.opened.push_back({Suite::OpenDeclare{buffer}, suite.stmts.size()});
  } else {
    suite.opened.push_back({Suite::OpenAllocate{buffer}, suite.stmts.size()});
  }
  return DefineBuffer(target, buffer);
}

// A of A.view(8, 8): the same memory in another shape.
const Buffer* FuncBuilder::ViewedBuffer(const PyExpr& e) const {
  const bool is_view = e.kind == PyExprKind::kCall && e.items[0]->kind == PyExprKind::kAttribute &&
                       e.items[0]->text == "view" && e.items[0]->items[0]->kind == PyExprKind::kName;
  const NamedValue* value = is_view ? names_.Find(e.items[0]->items[0]->text) : nullptr;
  return value == nullptr ? nullptr : std::get_if<Buffer>(value);
}

Status FuncBuilder::BuildView(const PyExpr& target, const PyExpr& call, const Buffer& whole, Suite& suite) {
  if (!call.keywords.empty() || call.items.size() < 2)
    return Error(call, fmt::format("expected the extents of a view of \"{}\"", whole->name));
  PyExpr shape = call;
  shape.kind = PyExprKind::kTuple;
  shape.items.erase(shape.items.begin());
  BufferNode node;
  node.name = std::string(target.text);
  node.dtype = whole->dtype;
  node.scope = whole->scope;
  node.data = whole->data;
  node.elem_offset = whole->elem_offset;
  RETURN_IF_ERROR(BuildShape(shape, node));
  RETURN_IF_ERROR(Enter(target.offset));
  suite.opened.push_back({Suite::OpenDeclare{Buffer(std::move(node))}, suite.stmts.size()});
  return DefineBuffer(target, std::get<Suite::OpenDeclare>(suite.opened.back().what).buffer);
}

// The parameter that `e` names, if it is a handle.
const Var* FuncBuilder::FindHandleParam(const PyExpr& e) const {
  const NamedValue* value = e.kind == PyExprKind::kName ? names_.Find(e.text) : nullptr;
  const Expr* expr = value == nullptr ? nullptr : std::get_if<Expr>(value);
  for (const Var& param : func_.params) {
    if (expr != nullptr && param.same_as(*expr) && param.dtype() == DataType::Handle()) return &param;
  }
  return nullptr;
}

Status FuncBuilder::BuildMatchParam(const PyExpr& target, const PyExpr& call, const Var& param, const BoundArgs& args,
                                    Suite& suite) {
  if (args[1] == nullptr) return Error(call, "expected the argument \"shape\" of T.match_buffer, got none");
  ASSIGN_OR_RETURN(Buffer buffer, BuildBuffer(call, target.text, args, 1, true));
  const Buffer* first = FindBuffer(func_, param);
  if (first == nullptr) {
    BindSymbols(buffer);
    func_.buffer_map.push_back({param, buffer});
    matched_.emplace_back(&call, buffer);
    return DefineBuffer(target, buffer);
  }
  BufferNode node = *buffer;  // A second look at the memory of the first.
  node.data = (*first)->data;
  RETURN_IF_ERROR(Enter(target.offset));
  suite.opened.push_back({Suite::OpenDeclare{Buffer(std::move(node))}, suite.stmts.size()});
  return Define(target, std::get<Suite::OpenDeclare>(suite.opened.back().what).buffer);
}

Status FuncBuilder::BuildMatchBuffer(const PyExpr& target, const PyExpr& call, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args,
                   exprs_.Bind(call,
                               {"param", "shape", "dtype", "data", "strides", "elem_offset", "scope", "align",
                                "offset_factor", "buffer_type", "axis_separators"},
                               1));
  if (const Var* param = FindHandleParam(*args[0])) return BuildMatchParam(target, call, *param, args, suite);
  ASSIGN_OR_RETURN(BlockFrame* const block, DirectBlock(call, "T.match_buffer of a region"));
  ASSIGN_OR_RETURN(const BufferRegion source, exprs_.BuildRegion(*args[0]));
  BoundArgs full = args;
  PyExpr whole;  // Without a shape it is the region's.
  whole.kind = PyExprKind::kTuple;
  if (full[1] == nullptr) full[1] = &whole;
  ASSIGN_OR_RETURN(Buffer buffer, BuildBuffer(call, target.text, full, 1, true));
  BufferNode node = *buffer;
  if (args[1] == nullptr) {
    for (const Range& range : source.region) node.shape.push_back(range.extent);
  }
  if (args[2] == nullptr) {
    node.dtype = source.buffer->dtype;
    if (args[1 + kDataParam] == nullptr) node.data = Var(node.name, MakePointerType(node.dtype, node.scope));
  }
  if (node.dtype != source.buffer->dtype) {
    return Error(call, fmt::format("expected the dtype of \"{}\", {}, got {}", source.buffer->name,
                                   source.buffer->dtype.ToString(), node.dtype.ToString()));
  }
  const Buffer view(std::move(node));
  // A stored text stands for the tree that it was printed from.
  const Status match = exprs_.context().evaluator == nullptr ? OkStatus() : CheckMatch(view, source);
  if (!match.ok()) return Error(call, match.message());
  BindSymbols(view);
  block->node.match_buffers.push_back({view, source});
  return DefineBuffer(target, view);
}

Status FuncBuilder::BuildAlloc(const PyExpr& target, const PyExpr& call) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, kBufferParams, 1));
  if (args[kDataParam] != nullptr)
    return Error(*args[kDataParam], "expected memory of its own; other views are declared by T.decl_buffer");
  ASSIGN_OR_RETURN(const Buffer buffer, BuildBuffer(call, target.text, args, 0, false));
  (blocks_.empty() ? root_allocs_ : blocks_.back()->node.alloc_buffers).push_back(buffer);
  return DefineBuffer(target, buffer);
}

// ---- Axes ----------------------------------------------------------------------------------------------------------

StatusOr<FuncBuilder::BlockFrame*> FuncBuilder::DirectBlock(const PyExpr& at, std::string_view what) {
  if (blocks_.empty() || blocks_.back()->suite_depth != suite_depth_)
    return Error(at, fmt::format("expected {} directly in a block", what));
  return blocks_.back();
}

StatusOr<Var> FuncBuilder::MakeIter(const PyExpr& at, std::string name, Range domain, DataType type, IterKind kind,
                                    Expr value) {
  if (at.kind != PyExprKind::kName) return Error(at, "expected a name for the block's variable");
  if (!value.dtype().is_int() || !value.dtype().is_scalar())
    return Error(at, fmt::format("expected an integer bound to \"{}\", got {}", name, value.dtype().ToString()));
  const Var var(std::move(name), type);
  blocks_.back()->node.iter_vars.push_back({std::move(domain), var, kind});
  blocks_.back()->iter_values.push_back(std::move(value));
  return var;
}

// Names that `count` values go to: a, b; one name for all of them, if they are several; a, *rest.
StatusOr<std::vector<FuncBuilder::TargetPart>> FuncBuilder::PartsOf(const PyExpr& target, size_t count) const {
  const bool is_tuple = target.kind == PyExprKind::kTuple || target.kind == PyExprKind::kList;
  const std::vector<const PyExpr*> items = is_tuple ? target.items : std::vector<const PyExpr*>{&target};
  std::vector<TargetPart> parts;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool takes_all = !is_tuple && count != 1;
    if (items[i]->kind != PyExprKind::kStar && !takes_all) {
      parts.push_back({items[i]});
      continue;
    }
    const PyExpr* name = takes_all ? items[i] : items[i]->items[0];
    if (name->kind != PyExprKind::kName) return Error(*name, "expected a name");
    const size_t after = items.size() - i - 1, taken = parts.size() + after;
    if (taken > count) break;
    for (size_t k = 0; k < count - taken; ++k) parts.push_back({name, name, k});
  }
  if (parts.size() != count) return Error(target, fmt::format("expected {} names, got {}", count, items.size()));
  return parts;
}

// Names that stand for several of the values.
Status FuncBuilder::DefineLists(const std::vector<TargetPart>& parts, const std::vector<Expr>& values) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].list == nullptr || parts[i].index != 0) continue;
    std::vector<ScriptValue> list;
    for (size_t k = i; k < parts.size() && parts[k].list == parts[i].list; ++k) list.emplace_back(values[k]);
    RETURN_IF_ERROR(Define(*parts[i].list, NamedValue(std::move(list))));
  }
  return OkStatus();
}

Status FuncBuilder::BuildAxis(const PyExpr& target, const PyExpr& call, IterKind kind) {
  RETURN_IF_ERROR(DirectBlock(call, "T.axis").status());
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"dom", "binding", "dtype"}, 2));
  ASSIGN_OR_RETURN(const Range domain, exprs_.BuildRange(*args[0]));
  ASSIGN_OR_RETURN(const Expr value, exprs_.Build(*args[1]));
  DataType type = domain.extent.dtype();
  if (args[2] != nullptr) {
    ASSIGN_OR_RETURN(type, exprs_.BuildType(*args[2]));
  }
  ASSIGN_OR_RETURN(const Var var, MakeIter(target, std::string(target.text), domain, type, kind, value));
  return Define(target, Expr(var));
}

Status FuncBuilder::BuildRemap(const PyExpr& target, const PyExpr& call) {
  RETURN_IF_ERROR(DirectBlock(call, "T.axis.remap").status());
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"kinds", "bindings", "dtype"}, 2));
  ASSIGN_OR_RETURN(const std::string kinds, exprs_.BuildString(*args[0]));
  ASSIGN_OR_RETURN(const std::vector<Expr> values, exprs_.BuildList(*args[1]));
  if (kinds.size() != values.size())
    return Error(call, fmt::format("expected as many kinds as loops, got {} and {}", kinds.size(), values.size()));
  ASSIGN_OR_RETURN(const std::vector<TargetPart> parts, PartsOf(target, values.size()));
  std::vector<Expr> vars;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<IterKind> kind = IterKindOf(kinds.substr(i, 1));
    if (!kind) return Error(*args[0], fmt::format("expected letters S, R, C or O, got \"{}\"", kinds));
    const auto loop = loop_ranges_.find(values[i].get());
    if (loop == loop_ranges_.end())
      return Error(*args[1], "expected variables of the loops around; bind other values with T.axis.spatial");
    std::string name(parts[i].at->text);
    if (parts[i].list != nullptr) name += fmt::format("_{}", parts[i].index);
    ASSIGN_OR_RETURN(const Var var, MakeIter(*parts[i].at, name, loop->second, values[i].dtype(), *kind, values[i]));
    if (parts[i].list == nullptr) RETURN_IF_ERROR(Define(*parts[i].at, Expr(var)));
    vars.push_back(var);
  }
  return DefineLists(parts, vars);
}

}  // namespace lathe
