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
  if (function.annotation != nullptr && function.annotation->kind != PyExprKind::kNone) {
    ASSIGN_OR_RETURN(func_.ret_type, exprs_.BuildType(*function.annotation));
  }
  ASSIGN_OR_RETURN(func_.body, BuildSuite(function.body));
  for (const ExprNode* var : bound_) unbound_.erase(var);
  if (!unbound_.empty()) {
    const auto& [var, at] = *unbound_.begin();
    return Error(*at,
                 fmt::format("expected \"{}\" in the shape of a T.match_buffer; nothing gives it a value", at->text));
  }
  SortBufferMap();
  return Complete(std::move(func_), std::move(root_allocs_));
}

// Matches may be written in any order.
void FuncBuilder::SortBufferMap() {
  std::vector<ParamBuffer> sorted;
  for (const Var& param : func_.params) {
    if (const Buffer* buffer = FindBuffer(func_, param)) sorted.push_back({param, *buffer});
  }
  func_.buffer_map = std::move(sorted);
}

namespace {

constexpr std::string_view kBufferParams[] = {"shape", "dtype", "data",          "strides",     "elem_offset",
                                              "scope", "align", "offset_factor", "buffer_type", "axis_separators"};
constexpr size_t kDataParam = 2;

}  // namespace

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
  if (tir_name == "Buffer") return BuildBufferParam(name, type);
  if (tir_name == "handle") {
    ASSIGN_OR_RETURN(const PointerType* const pointer, exprs_.BuildPointer(type));
    func_.params.emplace_back(std::string(param.name), pointer);
    return Define(name, Expr(func_.params.back()));
  }
  StatusOr<DataType> dtype = exprs_.BuildType(is_call ? *type.items[0] : type);
  if (dtype.ok() && is_call && !type.keywords.empty()) {  // n: T.int32(is_size_var=True)
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(type, {"expr", "is_size_var"}, 0));
    ASSIGN_OR_RETURN(const bool is_size, args[1] == nullptr ? StatusOr<bool>(false) : exprs_.BuildBool(*args[1]));
    func_.params.push_back(is_size ? Var::Size(std::string(param.name), *dtype) : Var(std::string(param.name), *dtype));
    return Define(name, Expr(func_.params.back()));
  }
  if (!dtype.ok())
    return Error(
        type, fmt::format("expected T.Buffer(...), T.handle or a dtype such as T.int32 as type of \"{}\"", param.name));
  func_.params.emplace_back(std::string(param.name), *dtype);
  return Define(name, Expr(func_.params.back()));
}

// A: T.Buffer(...), or T.Buffer[(128,), "float32"]
Status FuncBuilder::BuildBufferParam(const PyExpr& name, const PyExpr& type) {
  BoundArgs args(std::size(kBufferParams), nullptr);
  if (type.kind == PyExprKind::kCall) {
    ASSIGN_OR_RETURN(args, exprs_.Bind(type, kBufferParams, 1));
  } else {
    for (size_t i = 1; i < type.items.size() && i <= 2; ++i) args[i - 1] = type.items[i];
  }
  if (args[0] == nullptr) return Error(type, "expected a shape");
  if (args[kDataParam] != nullptr)
    return Error(*args[kDataParam], "expected a parameter's own memory; declare other views in the body");
  ASSIGN_OR_RETURN(const Buffer buffer, BuildBuffer(type, name.text, args, 0, true));
  BindSymbols(buffer);
  func_.params.emplace_back(std::string(name.text) + "_handle", DataType::Handle());
  func_.buffer_map.push_back({func_.params.back(), buffer});
  return DefineBuffer(name, buffer);
}

Status FuncBuilder::DefineBuffer(const PyExpr& target, const Buffer& buffer) {
  owners_.emplace(buffer->data.get(), buffer);
  return Define(target, buffer);
}

// args: those of kBufferParams, from `shape_arg` on. `may_declare`: strides may be given as names, and unknown offsets
// become variables.
StatusOr<Buffer> FuncBuilder::BuildBuffer(const PyExpr& at, std::string_view name, const BoundArgs& args,
                                          size_t shape_arg, bool may_declare) {
  const auto arg = [&](size_t i) { return args[shape_arg + i]; };
  BufferNode node;
  node.name = std::string(name);
  RETURN_IF_ERROR(BuildShape(*arg(0), node));
  if (arg(1) != nullptr) {
    ASSIGN_OR_RETURN(node.dtype, exprs_.BuildType(*arg(1)));
  }
  if (arg(kDataParam) != nullptr) RETURN_IF_ERROR(BuildData(*arg(kDataParam), node));
  if (arg(3) != nullptr) RETURN_IF_ERROR(BuildStrides(*arg(3), may_declare, node));
  if (arg(5) != nullptr) {
    ASSIGN_OR_RETURN(node.scope, exprs_.BuildString(*arg(5)));
  }
  RETURN_IF_ERROR(BuildPromises(args, shape_arg, node));
  if (arg(4) != nullptr) {
    ASSIGN_OR_RETURN(node.elem_offset, exprs_.Build(*arg(4)));
  } else if (arg(7) != nullptr && may_declare) {
    ASSIGN_OR_RETURN(const int64_t factor, exprs_.BuildInt(*arg(7)));
    if (factor != 0)
      node.elem_offset = Var(node.name + "_elem_offset", node.shape.empty() ? kIndexType : node.shape[0].dtype());
  }
  std::vector<Expr> positions = node.strides;
  positions.push_back(node.elem_offset);
  for (const Expr& e : positions) {
    if (!e.dtype().is_int() || !e.dtype().is_scalar())
      return Error(at, fmt::format("expected integers as strides and offset, got {}", e.dtype().ToString()));
  }
  return Buffer(std::move(node));
}

Status FuncBuilder::BuildShape(const PyExpr& shape, BufferNode& node) {
  ASSIGN_OR_RETURN(node.shape, exprs_.BuildList(shape));
  for (const Expr& extent : node.shape) {
    if (!extent.dtype().is_int() || !extent.dtype().is_scalar())
      return Error(shape, fmt::format("expected integers as shape, got {}", extent.dtype().ToString()));
    if (AsIntConst(extent) != nullptr && *AsIntConst(extent) < 0)
      return Error(shape, fmt::format("expected a shape, got extent {}", *AsIntConst(extent)));
  }
  return OkStatus();
}

Status FuncBuilder::BuildData(const PyExpr& data, BufferNode& node) {
  ASSIGN_OR_RETURN(const Expr var, exprs_.Build(data));
  if (!IsVar(var) || var.dtype() != DataType::Handle())
    return Error(data, "expected the data of a buffer or another handle variable");
  unbound_.erase(var.get());
  node.data = Var(var);
  if (node.data.pointer() != nullptr) node.scope = node.data.pointer()->scope;
  return OkStatus();
}

Status FuncBuilder::BuildStrides(const PyExpr& strides, bool may_declare, BufferNode& node) {
  const bool is_list = strides.kind == PyExprKind::kList || strides.kind == PyExprKind::kTuple;
  if (!is_list) return Error(strides, "expected a list of strides");
  for (const PyExpr* item : strides.items) {
    if (item->kind == PyExprKind::kString && may_declare) {
      node.strides.push_back(Var(item->string_value));
      continue;
    }
    ASSIGN_OR_RETURN(Expr stride, exprs_.Build(*item));
    node.strides.push_back(std::move(stride));
  }
  if (!node.strides.empty() && node.strides.size() != node.shape.size())
    return Error(strides, fmt::format("expected {} strides, got {}", node.shape.size(), node.strides.size()));
  return OkStatus();
}

// align, offset_factor, buffer_type and axis_separators.
Status FuncBuilder::BuildPromises(const BoundArgs& args, size_t shape_arg, BufferNode& node) {
  const auto arg = [&](size_t i) { return args[shape_arg + i]; };
  if (arg(6) != nullptr) {
    ASSIGN_OR_RETURN(const int64_t align, exprs_.BuildInt(*arg(6)));
    if (align > 0) node.data_alignment = align;  // -1: the default, as in TVM.
  }
  if (arg(7) != nullptr) {
    ASSIGN_OR_RETURN(const int64_t factor, exprs_.BuildInt(*arg(7)));
    if (factor < 0) return Error(*arg(7), fmt::format("expected a factor of the offset, got {}", factor));
    if (factor > 0) node.offset_factor = factor;  // 0: the default.
  }
  if (arg(8) != nullptr) {
    ASSIGN_OR_RETURN(const std::string type, exprs_.BuildString(*arg(8)));
    if (type == "auto_broadcast") node.buffer_type = BufferType::kAutoBroadcast;
    if (type != "auto_broadcast" && type != "default" && !type.empty())
      return Error(*arg(8), fmt::format("expected \"default\" or \"auto_broadcast\", got \"{}\"", type));
  }
  if (arg(9) == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Expr> separators, exprs_.BuildList(*arg(9)));
  int64_t last = 0;
  for (const Expr& separator : separators) {
    const int64_t* axis = AsIntConst(separator);
    if (axis == nullptr || *axis < last || *axis > static_cast<int64_t>(node.shape.size()))
      return Error(*arg(9), fmt::format("expected increasing axes of {} dimensions", node.shape.size()));
    last = *axis;
    node.axis_separators.push_back(last);
  }
  return OkStatus();
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
    case PyStmtKind::kReturn: {
      if (stmt.value == nullptr) return ErrorAt(exprs_.source(), stmt.offset, "expected a value to return");
      ASSIGN_OR_RETURN(const Expr value, exprs_.Build(*stmt.value));
      suite.stmts.push_back(Evaluate{MakeCall(value.dtype(), "ret", {value})});
      return OkStatus();
    }
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

Status FuncBuilder::BuildFuncAttr(const PyExpr& e) {
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

Status FuncBuilder::BuildBlockLine(const PyExpr& e, const std::string& name) {
  ASSIGN_OR_RETURN(BlockFrame* const block, DirectBlock(e, "T." + name));
  if (name == "reads" || name == "writes") {
    (name == "reads" ? block->has_reads : block->has_writes) = true;
    return BuildRegions(e, name == "reads" ? block->node.reads : block->node.writes);
  }
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

// A.vstore([T.Ramp(0, 1, 4)], value, predicate=p)
Status FuncBuilder::BuildVstore(const PyExpr& e, Suite& suite) {
  ASSIGN_OR_RETURN(const Buffer buffer, exprs_.BuildBufferUse(*e.items[0]->items[0]));
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"begin", "value", "predicate"}, 2));
  ASSIGN_OR_RETURN(ExprBuilder::Access access, exprs_.BuildVectorAccess(buffer, *args[0], nullptr, args[2]));
  ASSIGN_OR_RETURN(const Expr value, exprs_.Build(*args[1]));
  ASSIGN_OR_RETURN(const Expr converted, exprs_.Convert(*args[1], Load(buffer, access.indices).dtype(), value));
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
  if (const PyStmt* macro = FindMacro(e)) return BuildMacroCall(*macro, e, suite);
  const bool is_method = e.kind == PyExprKind::kCall && e.items[0]->kind == PyExprKind::kAttribute && name.empty();
  if (is_method && e.items[0]->text == "vstore") return BuildVstore(e, suite);
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

// ---- Attributes, threads, memory -----------------------------------------------------------------------------------

Status FuncBuilder::BuildAttrStmt(const PyExpr& e, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(e, {"node", "attr_key", "value"}, 0));
  if (e.items.size() != 4 || args[1] == nullptr || args[2] == nullptr)
    return Error(e, "expected node, attr_key and value of T.attr");
  AttrTarget node = Attr(std::monostate());
  if (args[0] == nullptr) {
    // None.
  } else if (exprs_.CalleeName(*args[0]) == "iter_var") {
    ASSIGN_OR_RETURN(node, exprs_.BuildIterVar(*args[0]));
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
    suite.opened.push_back({AttrStmt{"thread_extent", extent, std::move(axis), Evaluate{0}}, suite.stmts.size()});
    return target == nullptr ? OkStatus() : Define(*target, Expr(var));
  }
  ASSIGN_OR_RETURN(const Expr var, exprs_.Build(*args[0]));
  const auto tag = env_threads_.find(var.get());
  if (tag == env_threads_.end())
    return Error(*args[0], "expected a thread axis such as \"threadIdx.x\", or T.env_thread of one");
  ASSIGN_OR_RETURN(const Expr converted, exprs_.Convert(*args[1], var.dtype(), extent));
  domain = {IntConst(var.dtype(), 0), converted};
  IterVar axis{domain, Var(var), IterKind::kThreadIndex, tag->second};
  suite.opened.push_back({AttrStmt{"thread_extent", converted, std::move(axis), Evaluate{0}}, suite.stmts.size()});
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

// ---- Macros --------------------------------------------------------------------------------------------------------

const PyStmt* FuncBuilder::FindMacro(const PyExpr& e) const {
  if (e.kind != PyExprKind::kCall || e.items[0]->kind != PyExprKind::kName) return nullptr;
  const auto found = exprs_.context().macros.find(e.items[0]->text);
  return found == exprs_.context().macros.end() ? nullptr : found->second;
}

namespace {

// @T.macro(hygienic=False)
bool IsHygienic(const PyStmt& macro) {
  for (const PyExpr* decorator : macro.decorators) {
    for (size_t i = 0; i < decorator->keywords.size(); ++i) {
      const size_t at = decorator->items.size() - decorator->keywords.size() + i;
      if (decorator->keywords[i] == "hygienic" && decorator->items[at]->kind == PyExprKind::kFalse) return false;
    }
  }
  return true;
}

}  // namespace

// The macro's lines, where it is called: a hygienic one sees its parameters and the constants of the file, another one
// the names around the call, too.
Status FuncBuilder::BuildMacroCall(const PyStmt& macro, const PyExpr& call, Suite& suite) {
  if (macro_depth_ >= 64) return Error(call, fmt::format("macro \"{}\" expands itself too often", macro.text));
  std::vector<std::string_view> params;
  for (const PyParam& param : macro.params) params.push_back(param.name);
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, std::span<const std::string_view>(params), 0));
  std::vector<NamedValue> values;
  for (size_t i = 0; i < args.size(); ++i) {
    const PyExpr* value = args[i] != nullptr ? args[i] : macro.params[i].otherwise;
    if (value == nullptr)
      return Error(call, fmt::format("expected the argument \"{}\" of {}, got none", params[i], macro.text));
    ASSIGN_OR_RETURN(NamedValue built, exprs_.BuildValue(*value));
    values.push_back(std::move(built));
  }
  NameTable::Hidden hidden = names_.BeginMacro(IsHygienic(macro));
  for (size_t i = 0; i < values.size(); ++i) names_.Redefine(params[i], std::move(values[i]));
  ++macro_depth_;
  Status status;
  for (const PyStmt* line : macro.body) {
    if (status.ok()) status = BuildStmt(*line, suite);
  }
  --macro_depth_;
  names_.EndMacro(std::move(hidden));
  return status;
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

// a, b = x, y
Status FuncBuilder::Unpack(const PyExpr& target, const PyExpr& value, Suite& suite) {
  const bool is_tuple = value.kind == PyExprKind::kTuple || value.kind == PyExprKind::kList;
  if (is_tuple && value.items.size() == target.items.size()) {
    for (size_t i = 0; i < target.items.size(); ++i)
      RETURN_IF_ERROR(BuildAssignTo(*target.items[i], nullptr, *value.items[i], suite));
    return OkStatus();
  }
  const bool may_be_known =
      value.kind == PyExprKind::kName || value.kind == PyExprKind::kAttribute || exprs_.context().evaluator != nullptr;
  if (is_tuple || !may_be_known) return Error(value, fmt::format("expected {} values", target.items.size()));
  ASSIGN_OR_RETURN(const ScriptValue known, exprs_.BuildValue(value));
  const auto* items = std::get_if<std::vector<ScriptValue>>(&known);
  if (items == nullptr || items->size() != target.items.size())
    return Error(value, fmt::format("expected {} values", target.items.size()));
  for (size_t i = 0; i < items->size(); ++i) RETURN_IF_ERROR(Define(*target.items[i], (*items)[i]));
  return OkStatus();
}

// n = T.int32(), T.int32(is_size_var=True), T.handle("float32", "global"), T.var("int32")
Status FuncBuilder::BuildVarDeclaration(const PyExpr& target, const PyExpr& call, const std::string& name) {
  if (name == "handle") {
    ASSIGN_OR_RETURN(const PointerType* const pointer, exprs_.BuildPointer(call));
    const Var var(std::string(target.text), pointer);
    unbound_.emplace(var.get(), &target);
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
  const Var var = is_size ? Var::Size(std::string(target.text), type) : Var(std::string(target.text), type);
  unbound_.emplace(var.get(), &target);
  return Define(target, Expr(var));
}

Status FuncBuilder::BuildAssignTo(const PyExpr& target, const PyExpr* annotation, const PyExpr& value, Suite& suite) {
  const std::string name = exprs_.CalleeName(value);
  if (name == "axis.remap") return BuildRemap(target, value);
  if (target.kind == PyExprKind::kTuple || target.kind == PyExprKind::kList) return Unpack(target, value, suite);
  if (target.kind != PyExprKind::kName) return Error(target, "expected a name or an element of a buffer before \"=\"");
  if (name == "match_buffer") return BuildMatchBuffer(target, value, suite);
  if (name == "alloc_buffer" || name == "sblock_alloc_buffer") return BuildAlloc(target, value);
  if (name == "decl_buffer" || name == "Buffer" || name == "buffer_decl") return BuildDeclaration(target, value, suite);
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
  const bool is_value = std::holds_alternative<Expr>(known) || annotation != nullptr;
  if (!is_value) return Define(target, known);  // A buffer, a tuple, a text, None: only a name for it.
  ASSIGN_OR_RETURN(Expr built, exprs_.Build(value));
  const PointerType* pointer = nullptr;
  if (annotation != nullptr && exprs_.TirName(*annotation) != "let") {
    const bool is_let = annotation->kind == PyExprKind::kSubscript && exprs_.TirName(*annotation->items[0]) == "let";
    const PyExpr& written = is_let ? *annotation->items[1] : *annotation;
    const bool is_handle = exprs_.CalleeName(written) == "handle";
    if (is_handle) {
      ASSIGN_OR_RETURN(pointer, exprs_.BuildPointer(written));
    }
    ASSIGN_OR_RETURN(const DataType type,
                     is_handle ? StatusOr<DataType>(DataType::Handle()) : exprs_.BuildType(written));
    ASSIGN_OR_RETURN(built, exprs_.Convert(value, type, built));
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

// X = T.decl_buffer(...): new memory; over memory that is there if data= is given, as X = T.Buffer(...) always is.
Status FuncBuilder::BuildDeclaration(const PyExpr& target, const PyExpr& call, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, kBufferParams, 1));
  ASSIGN_OR_RETURN(const Buffer buffer, BuildBuffer(call, target.text, args, 0, false));
  if (args[kDataParam] == nullptr && exprs_.CalleeName(call) == "Buffer")
    return Error(call, "expected data= of a buffer in the body; T.decl_buffer makes memory of its own");
  RETURN_IF_ERROR(Enter(target.offset));
  if (args[kDataParam] != nullptr) {
    suite.opened.push_back({Suite::OpenDeclare{buffer}, suite.stmts.size()});
  } else {
    suite.opened.push_back({Suite::OpenAllocate{buffer}, suite.stmts.size()});
  }
  return DefineBuffer(target, buffer);
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
  if (args[2] == nullptr) node.dtype = source.buffer->dtype;
  if (node.dtype != source.buffer->dtype) {
    return Error(call, fmt::format("expected the dtype of \"{}\", {}, got {}", source.buffer->name,
                                   source.buffer->dtype.ToString(), node.dtype.ToString()));
  }
  const Buffer view(std::move(node));
  BindSymbols(view);
  block->node.match_buffers.push_back({view, source});
  return DefineBuffer(target, view);
}

Status FuncBuilder::BuildAlloc(const PyExpr& target, const PyExpr& call) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, kBufferParams, 1));
  if (args[kDataParam] != nullptr)
    return Error(*args[kDataParam], "expected memory of its own; other views are declared by T.decl_buffer");
  ASSIGN_OR_RETURN(const Buffer buffer, BuildBuffer(call, target.text, args, 0, false));
  const int home = blocks_.empty() ? 1 : blocks_.back()->suite_depth;
  if (suite_depth_ != home)
    return Error(call, "expected T.alloc_buffer directly in a block or function; use T.decl_buffer elsewhere");
  (blocks_.empty() ? root_allocs_ : blocks_.back()->node.alloc_buffers).push_back(buffer);
  return DefineBuffer(target, buffer);
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
