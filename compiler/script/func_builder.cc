#include "compiler/script/func_builder.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "compiler/script/dialect.h"
#include "compiler/script/func_builder_detail.h"
#include "support/status_macros.h"

namespace lathe {

// ---- Functions and parameters --------------------------------------------------------------------------------------

StatusOr<PrimFunc> FuncBuilder::Build(const PyStmt& function) {
  func_.name = std::string(function.text);
  for (const PyParam& param : function.params) RETURN_IF_ERROR(BuildParam(param));
  ASSIGN_OR_RETURN(func_.body, BuildSuite(function.body));
  if (!unbound_.empty()) {
    const auto& [var, at] = *unbound_.begin();
    return Error(*at,
                 fmt::format("expected \"{}\" in the shape of a T.match_buffer; nothing gives it a value", at->text));
  }
  return Complete(std::move(func_), std::move(root_allocs_));
}

Status FuncBuilder::BuildParam(const PyParam& param) {
  PyExpr name;  // Where a second definition is reported.
  name.offset = param.offset;
  name.text = param.name;
  if (param.annotation == nullptr)
    return Error(name,
                 fmt::format("expected a type of parameter \"{}\", such as T.Buffer((128,), \"float32\")", param.name));
  const PyExpr& type = *param.annotation;
  const bool is_call = type.kind == PyExprKind::kCall, is_subscript = type.kind == PyExprKind::kSubscript;
  const std::string tir_name = exprs_.TirName(is_call || is_subscript ? *type.items[0] : type);
  if (tir_name == "Buffer") {
    BoundArgs args;
    if (is_call) {
      ASSIGN_OR_RETURN(args, exprs_.Bind(type,
                                         {"shape", "dtype", "data", "strides", "elem_offset", "scope", "align",
                                          "offset_factor", "buffer_type", "axis_separators"},
                                         1));
    } else {  // T.Buffer[(128,), "float32"]
      args.assign(8, nullptr);
      for (size_t i = 1; i < type.items.size() && i <= 2; ++i) args[i - 1] = type.items[i];
    }
    if (args.empty() || args[0] == nullptr) return Error(type, "expected a shape");
    ASSIGN_OR_RETURN(Buffer buffer, BuildBuffer(type, param.name, args, 0, true));
    BindSymbols(buffer);
    func_.params.emplace_back(buffer);
    return Define(name, buffer);
  }
  StatusOr<DataType> dtype = exprs_.BuildType(is_call ? *type.items[0] : type);
  if (!dtype.ok())
    return Error(
        type, fmt::format("expected T.Buffer(...), T.handle or a dtype such as T.int32 as type of \"{}\"", param.name));
  const Var var{std::string(param.name), *dtype};
  func_.params.emplace_back(var);
  if (*dtype == DataType::Handle()) return Define(name, HandleParam{func_.params.size() - 1});
  return Define(name, Expr(var));
}

// args: shape, dtype, data, strides, elem_offset, scope, align, offset_factor, from `shape_arg` on. `align` and
// `offset_factor` are promises that TensorIR here does not need. `may_declare`: strides may be given as names, and
// unknown offsets become variables.
StatusOr<Buffer> FuncBuilder::BuildBuffer(const PyExpr& at, std::string_view name, const BoundArgs& args,
                                          size_t shape_arg, bool may_declare) {
  const auto arg = [&](size_t i) { return args[shape_arg + i]; };
  BufferNode node;
  node.name = std::string(name);
  ASSIGN_OR_RETURN(node.shape, exprs_.BuildList(*arg(0)));
  for (const Expr& extent : node.shape) {
    if (!extent.dtype().is_int() || !extent.dtype().is_scalar())
      return Error(*arg(0), fmt::format("expected integers as shape, got {}", extent.dtype().ToString()));
    if (AsIntConst(extent) != nullptr && *AsIntConst(extent) < 0)
      return Error(*arg(0), fmt::format("expected a shape, got extent {}", *AsIntConst(extent)));
  }
  if (arg(1) != nullptr) {
    ASSIGN_OR_RETURN(node.dtype, exprs_.BuildType(*arg(1)));
  }
  if (arg(2) != nullptr)
    return Error(*arg(2), "expected a buffer of its own; aliases by data= are written as T.match_buffer");
  if (arg(3) != nullptr) {
    const bool is_list = arg(3)->kind == PyExprKind::kList || arg(3)->kind == PyExprKind::kTuple;
    if (!is_list) return Error(*arg(3), "expected a list of strides");
    for (const PyExpr* item : arg(3)->items) {
      if (item->kind == PyExprKind::kString && may_declare) {
        node.strides.push_back(Var(item->string_value));
        continue;
      }
      ASSIGN_OR_RETURN(Expr stride, exprs_.Build(*item));
      node.strides.push_back(std::move(stride));
    }
    if (!node.strides.empty() && node.strides.size() != node.shape.size()) {
      return Error(*arg(3), fmt::format("expected {} strides, got {}", node.shape.size(), node.strides.size()));
    }
  }
  if (arg(4) != nullptr) {
    ASSIGN_OR_RETURN(node.elem_offset, exprs_.Build(*arg(4)));
  } else if (arg(7) != nullptr && may_declare) {
    ASSIGN_OR_RETURN(const int64_t factor, exprs_.BuildInt(*arg(7)));
    if (factor != 0)
      node.elem_offset = Var(node.name + "_elem_offset", node.shape.empty() ? kIndexType : node.shape[0].dtype());
  }
  for (const std::vector<Expr>& list : {node.strides, std::vector<Expr>{node.elem_offset}}) {
    for (const Expr& e : list) {
      if (!e.dtype().is_int() || !e.dtype().is_scalar())
        return Error(at, fmt::format("expected integers as strides and offset, got {}", e.dtype().ToString()));
    }
  }
  if (arg(5) != nullptr) {
    ASSIGN_OR_RETURN(node.scope, exprs_.BuildString(*arg(5)));
  }
  return Buffer(std::move(node));
}

void FuncBuilder::BindSymbols(const Buffer& buffer) {
  if (unbound_.empty()) return;
  std::vector<Expr> exprs = buffer->shape;
  exprs.insert(exprs.end(), buffer->strides.begin(), buffer->strides.end());
  exprs.push_back(buffer->elem_offset);
  for (const Expr& e : exprs) PostOrderVisit(e, [&](const Expr& part) { unbound_.erase(part.get()); });
}

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
  const int nesting = nesting_;
  if (!lines.empty()) RETURN_IF_ERROR(Enter(lines[0]->offset));
  ++suite_depth_;
  Suite suite;
  for (const PyStmt* line : lines) RETURN_IF_ERROR(BuildStmt(*line, suite));
  --suite_depth_;
  nesting_ = nesting;
  names_.Close(names);
  return suite.Close();
}

Status FuncBuilder::BuildStmt(const PyStmt& stmt, Suite& suite) {
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
    case PyStmtKind::kWhile: {
      ASSIGN_OR_RETURN(const Expr condition, BuildCondition(*stmt.value));
      ASSIGN_OR_RETURN(Stmt body, BuildSuite(stmt.body));
      suite.stmts.push_back(While{condition, std::move(body)});
      return OkStatus();
    }
    default:
      return ErrorAt(exprs_.source(), stmt.offset, "expected a statement of TensorIR");
  }
}

StatusOr<Expr> FuncBuilder::BuildCondition(const PyExpr& e, bool may_be_vector) {
  ASSIGN_OR_RETURN(const Expr condition, exprs_.Build(e));
  const bool fits = may_be_vector ? condition.dtype().is_bool() : condition.dtype() == DataType::Bool();
  if (!fits) return Error(e, fmt::format("expected a boolean, got {}", condition.dtype().ToString()));
  return condition;
}

Status FuncBuilder::BuildAssert(const PyExpr& at, const PyExpr& condition, const PyExpr* message, Suite& suite) {
  ASSIGN_OR_RETURN(const Expr test, BuildCondition(condition));
  std::string text = "assertion failed";
  if (message != nullptr) {
    ASSIGN_OR_RETURN(text, exprs_.BuildString(*message));
  }
  suite.stmts.push_back(AssertStmt{test, std::move(text)});
  return OkStatus();
}

Status FuncBuilder::BuildExprStmt(const PyStmt& stmt, Suite& suite) {
  const PyExpr& e = *stmt.value;
  if (e.kind == PyExprKind::kString) return OkStatus();  // A docstring.
  const std::string name = exprs_.CalleeName(e);
  if (name == "func_attr") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"attrs"}, 1));
    ASSIGN_OR_RETURN(AttrMap attrs, exprs_.BuildAttrs(*args[0]));
    if (const auto symbol = attrs.extract("global_symbol")) {
      const std::string* text = std::get_if<std::string>(&symbol.mapped());
      if (text == nullptr) return Error(*args[0], "expected a string as global_symbol");
      func_.name = *text;
    }
    func_.attrs.merge(attrs);
    return OkStatus();
  }
  if (name == "reads" || name == "writes") {
    ASSIGN_OR_RETURN(BlockFrame* const block, DirectBlock(e, "T." + name));
    (name == "reads" ? block->has_reads : block->has_writes) = true;
    return BuildRegions(e, name == "reads" ? block->node.reads : block->node.writes);
  }
  if (name == "where") {
    ASSIGN_OR_RETURN(BlockFrame* const block, DirectBlock(e, "T.where"));
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"predicate"}, 1));
    ASSIGN_OR_RETURN(block->predicate, BuildCondition(*args[0]));
    return OkStatus();
  }
  if (name == "block_attr" || name == "sblock_attr") {
    ASSIGN_OR_RETURN(BlockFrame* const block, DirectBlock(e, "T.block_attr"));
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"attrs"}, 1));
    ASSIGN_OR_RETURN(AttrMap attrs, exprs_.BuildAttrs(*args[0]));
    block->node.annotations.merge(attrs);
    return OkStatus();
  }
  if (name == "Assert") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"condition", "message"}, 1));
    return BuildAssert(e, *args[0], args[1], suite);
  }
  const PyExpr* value = &e;
  if (name == "evaluate") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"value"}, 1));
    value = args[0];
  } else if (e.kind != PyExprKind::kCall) {
    return Error(e, "expected a statement; a value alone does nothing");
  }
  ASSIGN_OR_RETURN(Expr built, exprs_.Build(*value));
  suite.stmts.push_back(Evaluate{std::move(built)});
  return OkStatus();
}

Status FuncBuilder::BuildRegions(const PyExpr& call, std::vector<BufferRegion>& regions) {
  for (size_t i = 1; i < call.items.size(); ++i) {
    const PyExpr& item = *call.items[i];
    const bool is_list = item.kind == PyExprKind::kList || item.kind == PyExprKind::kTuple;
    for (const PyExpr* one : is_list ? item.items : std::vector<const PyExpr*>{&item}) {
      ASSIGN_OR_RETURN(BufferRegion region, exprs_.BuildRegion(*one));
      regions.push_back(std::move(region));
    }
  }
  return OkStatus();
}

// ---- Assignments ---------------------------------------------------------------------------------------------------

Status FuncBuilder::BuildAssign(const PyStmt& stmt, Suite& suite) {
  if (stmt.target->kind == PyExprKind::kSubscript) return BuildStore(stmt, suite);
  if (!stmt.text.empty())
    return Error(*stmt.target, fmt::format("expected an element of a buffer before \"{}=\"", stmt.text));
  return BuildAssignTo(*stmt.target, stmt.annotation, *stmt.value, suite);
}

Status FuncBuilder::BuildAssignTo(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite) {
  const std::string name = exprs_.CalleeName(value);
  if (name == "axis.remap") return BuildRemap(target, value);
  const bool is_tuple = target.kind == PyExprKind::kTuple || target.kind == PyExprKind::kList;
  if (is_tuple && (value.kind != PyExprKind::kTuple || value.items.size() != target.items.size())) {
    return Error(value, fmt::format("expected {} values", target.items.size()));
  }
  if (is_tuple) {
    for (size_t i = 0; i < target.items.size(); ++i)
      RETURN_IF_ERROR(BuildAssignTo(*target.items[i], nullptr, *value.items[i], suite));
    return OkStatus();
  }
  if (target.kind != PyExprKind::kName) return Error(target, "expected a name or an element of a buffer before \"=\"");
  if (name == "match_buffer") return BuildMatchBuffer(target, value);
  if (name == "alloc_buffer" || name == "sblock_alloc_buffer") return BuildAlloc(target, value);
  if (name == "decl_buffer") {
    ASSIGN_OR_RETURN(
        const BoundArgs args,
        exprs_.Bind(value, {"shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor"}, 1));
    ASSIGN_OR_RETURN(Buffer buffer, BuildBuffer(value, target.text, args, 0, false));
    RETURN_IF_ERROR(Enter(target.offset));
    suite.opened.push_back({Suite::OpenAllocate{buffer}, suite.stmts.size()});
    return Define(target, buffer);
  }
  if (name.starts_with("axis.")) {
    const std::optional<IterKind> kind = IterKindOf(std::string_view(name).substr(5));
    if (!kind)
      return Error(value, fmt::format("expected T.axis.spatial, reduce, scan, opaque or remap, got \"T.{}\"", name));
    return BuildAxis(target, value, *kind);
  }
  if (name == "var" || (!name.empty() && value.items.size() == 1 && DataType::Parse(name).ok())) {  // n = T.int32()
    DataType type;
    ASSIGN_OR_RETURN(type, name == "var" && value.items.size() > 1 ? exprs_.BuildType(*value.items[1])
                                                                   : DataType::Parse(name == "var" ? "int32" : name));
    const Var var(std::string(target.text), type);
    unbound_.emplace(var.get(), &target);
    return Define(target, Expr(var));
  }
  return BuildLet(target, annotation, value, suite);
}

Status FuncBuilder::BuildLet(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite) {
  ASSIGN_OR_RETURN(Expr built, exprs_.Build(value));
  if (annotation != nullptr && exprs_.TirName(*annotation) != "let") {
    const bool is_let = annotation->kind == PyExprKind::kSubscript && exprs_.TirName(*annotation->items[0]) == "let";
    ASSIGN_OR_RETURN(const DataType type, exprs_.BuildType(is_let ? *annotation->items[1] : *annotation));
    ASSIGN_OR_RETURN(built, exprs_.Convert(value, type, built));
  }
  const Var var(std::string(target.text), built.dtype());
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
    std::optional<BinaryOp> op;
    for (const BinarySpelling& row : BinarySpellings()) {
      if (row.infix == stmt.text && HasInfix(row.op, element.dtype())) op = row.op;
    }
    if (!op) return Error(target, fmt::format("expected \"=\", got \"{}=\"", stmt.text));
    ASSIGN_OR_RETURN(value, exprs_.Combine(target, *op, element, value));
  }
  ASSIGN_OR_RETURN(value, exprs_.Convert(*stmt.value, element.dtype(), value));
  suite.stmts.push_back(BufferStore{buffer, std::move(value), std::move(indices)});
  return OkStatus();
}

Status FuncBuilder::BuildMatchBuffer(const PyExpr& target, const PyExpr& call) {
  ASSIGN_OR_RETURN(const BoundArgs args,
                   exprs_.Bind(call,
                               {"param", "shape", "dtype", "data", "strides", "elem_offset", "scope", "align",
                                "offset_factor", "buffer_type", "axis_separators"},
                               1));
  const NamedValue* param = args[0]->kind == PyExprKind::kName ? names_.Find(args[0]->text) : nullptr;
  if (param != nullptr && std::holds_alternative<HandleParam>(*param)) {
    const size_t index = std::get<HandleParam>(*param).index;
    if (args[1] == nullptr) return Error(call, "expected the argument \"shape\" of T.match_buffer, got none");
    if (std::holds_alternative<Buffer>(func_.params[index]))
      return Error(*args[0], fmt::format("expected one T.match_buffer of \"{}\", got a second", args[0]->text));
    ASSIGN_OR_RETURN(const Buffer buffer, BuildBuffer(call, target.text, args, 1, true));
    BindSymbols(buffer);
    func_.params[index] = buffer;
    return Define(target, buffer);
  }
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
  if (args[2] == nullptr) node.dtype = source.buffer->dtype;
  if (node.dtype != source.buffer->dtype) {
    return Error(call, fmt::format("expected the dtype of \"{}\", {}, got {}", source.buffer->name,
                                   source.buffer->dtype.ToString(), node.dtype.ToString()));
  }
  const Buffer view(std::move(node));
  BindSymbols(view);
  block->node.match_buffers.push_back({view, source});
  return Define(target, view);
}

Status FuncBuilder::BuildAlloc(const PyExpr& target, const PyExpr& call) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call,
                                                     {"shape", "dtype", "data", "strides", "elem_offset", "scope",
                                                      "align", "offset_factor", "buffer_type", "axis_separators"},
                                                     1));
  ASSIGN_OR_RETURN(const Buffer buffer, BuildBuffer(call, target.text, args, 0, false));
  const int home = blocks_.empty() ? 1 : blocks_.back()->suite_depth;
  if (suite_depth_ != home)
    return Error(call, "expected T.alloc_buffer directly in a block or function; use T.decl_buffer elsewhere");
  (blocks_.empty() ? root_allocs_ : blocks_.back()->node.alloc_buffers).push_back(buffer);
  return Define(target, buffer);
}

// ---- Axes ----------------------------------------------------------------------------------------------------------

StatusOr<FuncBuilder::BlockFrame*> FuncBuilder::DirectBlock(const PyExpr& at, std::string_view what) {
  if (blocks_.empty() || blocks_.back()->suite_depth != suite_depth_)
    return Error(at, fmt::format("expected {} directly in a block", what));
  return blocks_.back();
}

Status FuncBuilder::DefineIter(const PyExpr& target, Range domain, DataType type, IterKind kind, Expr value) {
  if (target.kind != PyExprKind::kName) return Error(target, "expected a name for the block's variable");
  if (!value.dtype().is_int() || !value.dtype().is_scalar())
    return Error(target,
                 fmt::format("expected an integer bound to \"{}\", got {}", target.text, value.dtype().ToString()));
  const Var var(std::string(target.text), type);
  blocks_.back()->node.iter_vars.push_back({std::move(domain), var, kind});
  blocks_.back()->iter_values.push_back(std::move(value));
  return Define(target, Expr(var));
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
  return DefineIter(target, domain, type, kind, value);
}

Status FuncBuilder::BuildRemap(const PyExpr& target, const PyExpr& call) {
  RETURN_IF_ERROR(DirectBlock(call, "T.axis.remap").status());
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"kinds", "bindings", "dtype"}, 2));
  ASSIGN_OR_RETURN(const std::string kinds, exprs_.BuildString(*args[0]));
  ASSIGN_OR_RETURN(const std::vector<Expr> values, exprs_.BuildList(*args[1]));
  const std::vector<const PyExpr*> targets = target.kind == PyExprKind::kTuple || target.kind == PyExprKind::kList
                                                 ? target.items
                                                 : std::vector<const PyExpr*>{&target};
  if (kinds.size() != values.size() || targets.size() != values.size()) {
    return Error(call, fmt::format("expected as many names and kinds as loops, got {}, {} and {}", targets.size(),
                                   kinds.size(), values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<IterKind> kind = IterKindOf(kinds.substr(i, 1));
    if (!kind) return Error(*args[0], fmt::format("expected letters S, R, C or O, got \"{}\"", kinds));
    const auto loop = loop_ranges_.find(values[i].get());
    if (loop == loop_ranges_.end())
      return Error(*args[1], "expected variables of the loops around; bind other values with T.axis.spatial");
    RETURN_IF_ERROR(DefineIter(*targets[i], loop->second, values[i].dtype(), *kind, values[i]));
  }
  return OkStatus();
}

}  // namespace lathe
