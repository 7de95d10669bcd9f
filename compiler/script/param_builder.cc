// FuncBuilder: functions, their parameters, buffers.
#include <fmt/core.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "compiler/script/func_builder_detail.h"
#include "support/status_macros.h"

namespace lathe {

namespace {

// @T.prim_func(s_tir=True): as TVM prints today, where T.alloc_buffer is a statement.
bool IsOfToday(const PyStmt& function) {
  for (const PyExpr* decorator : function.decorators) {
    if (std::find(decorator->keywords.begin(), decorator->keywords.end(), "s_tir") != decorator->keywords.end())
      return true;
  }
  return false;
}

// Names that a signature gives as texts: A: T.Buffer(("n", "m"), strides=("s", 1)).
void CollectSymbols(const PyExpr& type, std::set<std::string_view>& symbols) {
  if (type.kind != PyExprKind::kCall) return;
  const size_t num_positional = type.items.size() - type.keywords.size();
  for (size_t i = 1; i < type.items.size(); ++i) {
    const std::string_view param =
        i >= num_positional ? type.keywords[i - num_positional] : kBufferParams[std::min<size_t>(i - 1, kDataParam)];
    const PyExpr& value = *type.items[i];
    if ((param != "shape" && param != "strides") ||
        (value.kind != PyExprKind::kTuple && value.kind != PyExprKind::kList))
      continue;
    for (const PyExpr* item : value.items)
      if (item->kind == PyExprKind::kString) symbols.insert(item->string_value);
  }
}

}  // namespace

// ---- Functions and parameters --------------------------------------------------------------------------------------

StatusOr<PrimFunc> FuncBuilder::Build(const PyStmt& function) {
  func_.name = std::string(function.text);
  is_of_today_ = IsOfToday(function);
  PredeclareSymbols(function);
  for (const PyParam& param : function.params) RETURN_IF_ERROR(BuildParam(param));
  if (function.annotation != nullptr && function.annotation->kind != PyExprKind::kNone) {
    ASSIGN_OR_RETURN(func_.ret_type, exprs_.BuildType(*function.annotation));
  }
  ASSIGN_OR_RETURN(func_.body, BuildLines(function.body));
  if (!unrealized_.empty()) return unrealized_.begin()->second;
  RETURN_IF_ERROR(CheckMatched());
  for (const ExprNode* var : bound_) unbound_.erase(var);
  SortBufferMap();
  DropRegionsOfRoot();
  PrimFunc complete = Complete(std::move(func_), std::move(root_allocs_), LoneBlock::kIsRoot);
  for (const auto& [var, error] : unbound_) {  // One that nobody uses needs no value.
    if (UsesVar(complete.body, var) && !exprs_.context().may_be_undefined) return error;
  }
  return complete;
}

// A body that is one block without iter vars is the root, of which nothing is found out, as in TVM.
void FuncBuilder::DropRegionsOfRoot() {
  const BlockRealize* realize = func_.body.As<BlockRealize>();
  if (realize == nullptr || !root_allocs_.empty() || NeedsRootBlock(func_.body)) return;
  BlockRealize root = *realize;
  if (!last_has_reads_) root.block.Mutable().reads.clear();
  if (!last_has_writes_) root.block.Mutable().writes.clear();
  func_.body = std::move(root);
}

// Such a name means the scalar parameter or the variable declared in the body that is called so; else a new variable.
void FuncBuilder::PredeclareSymbols(const PyStmt& function) {
  std::set<std::string_view> symbols;
  for (const PyParam& param : function.params)
    if (param.annotation != nullptr) CollectSymbols(*param.annotation, symbols);
  std::unordered_map<std::string_view, const PyExpr*> types;
  for (const PyStmt* line : function.body) {
    const bool is_declaration = line->kind == PyStmtKind::kAssign && line->target->kind == PyExprKind::kName &&
                                line->value->kind == PyExprKind::kCall && line->value->items.size() == 1;
    if (is_declaration) types.emplace(line->target->text, line->value);
  }
  for (const PyParam& param : function.params)
    if (param.annotation != nullptr) types.insert_or_assign(param.name, param.annotation);
  for (const std::string_view symbol : symbols) {
    const auto type = types.find(symbol);
    const StatusOr<DataType> dtype = type == types.end() ? kIndexType : exprs_.BuildType(*type->second);
    const Var var(std::string(symbol), dtype.ok() ? *dtype : kIndexType);
    if (names_.Define(symbol, Expr(var))) predeclared_.emplace(symbol, var);
  }
}

// The variable of that name and type, if the signature has named it already.
std::optional<Var> FuncBuilder::TakePredeclared(std::string_view name, DataType type) {
  const auto found = predeclared_.find(name);
  if (found == predeclared_.end() || found->second.dtype() != type) return std::nullopt;
  const Var var = found->second;
  predeclared_.erase(found);
  return var;
}

// Matches may be written in any order.
void FuncBuilder::SortBufferMap() {
  std::vector<ParamBuffer> sorted;
  for (const Var& param : func_.params) {
    if (const Buffer* buffer = FindBuffer(func_, param)) sorted.push_back({param, *buffer});
  }
  func_.buffer_map = std::move(sorted);
}

// A type that the program made: a buffer or a variable of its kind.
StatusOr<bool> FuncBuilder::BuildParamLike(const PyExpr& name, const PyExpr& type) {
  const StatusOr<ScriptValue> value = exprs_.BuildValue(type);
  const Buffer* buffer = value.ok() ? std::get_if<Buffer>(&*value) : nullptr;
  const Expr* var = value.ok() ? std::get_if<Expr>(&*value) : nullptr;
  if (buffer != nullptr) {
    BufferNode node = **buffer;
    node.name = std::string(name.text);
    node.data = UnsetData();
    RETURN_IF_ERROR(AddBufferParam(name, Buffer(std::move(node))));
  } else if (var != nullptr && IsVar(*var)) {
    func_.params.push_back(Var(*var).CopyWithName(std::string(name.text)));
    RETURN_IF_ERROR(Define(name, Expr(func_.params.back())));
  } else {
    return false;
  }
  return true;
}

Status FuncBuilder::BuildParam(const PyParam& param) {
  PyExpr name;  // Where a second definition is reported.
  name.offset = param.offset;
  name.text = param.name;
  if (param.kind != PyParamKind::kPlain) return Error(name, "expected no \"*\" among the parameters of a function");
  if (param.annotation == nullptr)
    return Error(name,
                 fmt::format("expected a type of parameter \"{}\", such as T.Buffer((128,), \"float32\")", param.name));
  const PyExpr& type = *param.annotation;
  const bool is_call = type.kind == PyExprKind::kCall, is_subscript = type.kind == PyExprKind::kSubscript;
  const std::string tir_name = exprs_.TirName(is_call || is_subscript ? *type.items[0] : type);
  if (tir_name == "Buffer") return BuildBufferParam(name, type);
  if (tir_name == "handle" || tir_name == "Ptr") {
    ASSIGN_OR_RETURN(const PointerType* const pointer, exprs_.BuildPointer(type));
    func_.params.emplace_back(std::string(param.name), pointer);
    return Define(name, Expr(func_.params.back()));
  }
  if (tir_name.empty() && type.kind != PyExprKind::kString) {
    ASSIGN_OR_RETURN(const bool is_done, BuildParamLike(name, type));
    if (is_done) return OkStatus();
  }
  return BuildScalarParam(name, type);
}

// n: T.int32, n: "int32", n: T.int32(is_size_var=True)
Status FuncBuilder::BuildScalarParam(const PyExpr& name, const PyExpr& type) {
  const bool is_call = type.kind == PyExprKind::kCall;
  StatusOr<DataType> dtype = exprs_.BuildType(is_call ? *type.items[0] : type);
  if (!dtype.ok())
    return Error(
        type, fmt::format("expected T.Buffer(...), T.handle or a dtype such as T.int32 as type of \"{}\"", name.text));
  if (is_call && !type.keywords.empty()) {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(type, {"expr", "is_size_var"}, 0));
    ASSIGN_OR_RETURN(const bool is_size, args[1] == nullptr ? StatusOr<bool>(false) : exprs_.BuildBool(*args[1]));
    func_.params.push_back(is_size ? Var::Size(std::string(name.text), *dtype) : Var(std::string(name.text), *dtype));
    return Define(name, Expr(func_.params.back()));
  }
  if (const std::optional<Var> known = TakePredeclared(name.text, *dtype)) {
    func_.params.push_back(*known);
    return OkStatus();
  }
  func_.params.emplace_back(std::string(name.text), *dtype);
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
  return AddBufferParam(name, buffer);
}

Status FuncBuilder::AddBufferParam(const PyExpr& name, const Buffer& buffer) {
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
  const std::optional<Var> new_offset = arg(4) != nullptr && may_declare ? NewVarOf(*arg(4)) : std::nullopt;
  if (new_offset) {
    node.elem_offset = *new_offset;
  } else if (arg(4) != nullptr) {
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
  for (Expr& extent : node.shape) {
    const StringImm* name = extent.As<StringImm>();
    const NamedValue* symbol = name == nullptr ? nullptr : names_.Find(name->value);
    if (symbol != nullptr && std::holds_alternative<Expr>(*symbol)) extent = Expr(std::get<Expr>(*symbol));
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

std::optional<Var> FuncBuilder::NewVarOf(const PyExpr& e) const {
  const bool is_empty_call = e.kind == PyExprKind::kCall && e.items.size() == 1;
  const StatusOr<DataType> type = is_empty_call ? DataType::Parse(exprs_.CalleeName(e)) : kIndexType;
  return is_empty_call && type.ok() && type->is_int() ? std::optional(Var("", *type)) : std::nullopt;
}

Status FuncBuilder::BuildStrides(const PyExpr& strides, bool may_declare, BufferNode& node) {
  const bool is_list = strides.kind == PyExprKind::kList || strides.kind == PyExprKind::kTuple;
  if (!is_list) {
    ASSIGN_OR_RETURN(node.strides, exprs_.BuildList(strides));
  }
  for (const PyExpr* item : is_list ? strides.items : std::vector<const PyExpr*>()) {
    if (const NamedValue* known = item->kind == PyExprKind::kString ? names_.Find(item->string_value) : nullptr;
        known != nullptr && std::holds_alternative<Expr>(*known)) {
      node.strides.push_back(std::get<Expr>(*known));
      continue;
    }
    if (item->kind == PyExprKind::kString && may_declare) {
      node.strides.push_back(Var(item->string_value));
      continue;
    }
    if (const std::optional<Var> stride = may_declare ? NewVarOf(*item) : std::nullopt) {
      node.strides.push_back(*stride);
      continue;
    }
    ASSIGN_OR_RETURN(Expr stride, exprs_.Build(*item));
    node.strides.push_back(std::move(stride));
  }
  // TVM's cache_index gives its buffers one stride of 1 whatever their rank: they are dense.
  if (node.strides.size() == 1 && node.shape.size() > 1 && IsConstInt(node.strides[0], 1)) node.strides.clear();
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
    const bool is_auto = type == "auto" || type == "auto_broadcast";  // As T and as tir.decl_buffer call it.
    if (is_auto) node.buffer_type = BufferType::kAutoBroadcast;
    if (!is_auto && type != "default" && !type.empty())
      return Error(*arg(8), fmt::format("expected \"default\" or \"auto\", got \"{}\"", type));
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

namespace {

std::vector<Expr> DimsOf(const Buffer& buffer) {
  std::vector<Expr> exprs = buffer->shape;
  exprs.insert(exprs.end(), buffer->strides.begin(), buffer->strides.end());
  exprs.push_back(buffer->elem_offset);
  return exprs;
}

// Variables of loops, blocks and lets.
std::set<const ExprNode*> DefinedIn(const Stmt& body) {
  std::set<const ExprNode*> defined;
  PostOrderVisit(body, [&](const Stmt& stmt) {
    if (const For* loop = stmt.As<For>()) defined.insert(loop->loop_var.get());
    if (const LetStmt* let = stmt.As<LetStmt>()) defined.insert(let->var.get());
    if (const BlockRealize* realize = stmt.As<BlockRealize>())
      for (const IterVar& iter : realize->block->iter_vars) defined.insert(iter.var.get());
  });
  return defined;
}

}  // namespace

void FuncBuilder::BindSymbols(const Buffer& buffer) {
  if (unbound_.empty()) return;
  for (const Expr& e : DimsOf(buffer)) PostOrderVisit(e, [&](const Expr& part) { unbound_.erase(part.get()); });
}

Status FuncBuilder::CheckMatched() const {
  std::optional<std::set<const ExprNode*>> defined;
  for (const auto& [call, buffer] : matched_) {
    std::optional<Var> found;
    const auto look = [&](const Expr& part) {
      if (!IsVar(part)) return;
      if (!defined) defined = DefinedIn(func_.body);
      if (defined->contains(part.get())) found = Var(part);
    };
    for (const Expr& e : DimsOf(buffer)) PostOrderVisit(e, look);
    if (found)
      return Error(*call, fmt::format("expected a shape of parameters and of variables declared as n = T.int32(), got "
                                      "\"{}\", to which a statement of the body gives a value",
                                      found->name()));
  }
  return OkStatus();
}

}  // namespace lathe
