#include "compiler/import/tvm/script_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/script/dialect.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kMaxDepth = 400;
constexpr int kMaxWritten = 1 << 18;

// `wish` as an identifier that no keyword is.
std::string Identifier(const std::string& wish) {
  static constexpr std::string_view kTaken[] = {"T",  "and",  "or",     "not",  "if",    "else", "for",  "in",
                                                "is", "with", "lambda", "pass", "while", "def",  "True", "False",
                                                "as", "None", "assert", "elif", "range", "tir",  "I",    "from"};
  std::string name;
  for (const char c : wish) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "v" + name;
  return std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken) ? name + "_" : name;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

class TvmScriptWriter::Suite {
 public:
  explicit Suite(TvmScriptWriter& writer) : writer_(writer), names_(writer.open_.size()) { ++writer_.indent_; }
  ~Suite() {
    --writer_.indent_;
    writer_.Forget(names_);
  }

 private:
  TvmScriptWriter& writer_;
  const size_t names_;
};

// ---- Names ------------------------------------------------------------------------------------------------------

void TvmScriptWriter::Line(const std::string& text) { text_ += std::string(4 * indent_, ' ') + text + "\n"; }

void TvmScriptWriter::Forget(size_t names) {
  for (; open_.size() > names; open_.pop_back()) names_.erase(open_.back().first);
}

StatusOr<std::string> TvmScriptWriter::Define(int node, int name_node) {
  if (names_.count(node) != 0) return graph_.Error(node, "it is defined twice");
  ASSIGN_OR_RETURN(const std::string wish, graph_.StringOf(name_node));
  const std::string base = Identifier(wish);
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(open_.begin(), open_.end(), [&](const auto& open) { return open.second == name; });
  };
  std::string name = base;
  for (int i = 1; is_taken(name); ++i) name = fmt::format("{}_{}", base, i);
  names_.emplace(node, name);
  open_.emplace_back(node, name);
  return name;
}

StatusOr<std::string> TvmScriptWriter::NameOf(int node) const {
  const auto found = names_.find(node);
  if (found == names_.end()) return graph_.Error(node, "it is used where it is not defined");
  return found->second;
}

// ---- Functions and buffers --------------------------------------------------------------------------------------

// 0 if the parameter is a scalar. In v0.18 a map says which handle is which buffer; in 0.27 the parameter is the
// buffer.
StatusOr<int> TvmScriptWriter::BufferOfParam(int param, int buffer_map) const {
  const std::vector<int>& items = graph_.Items(buffer_map);
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i] == param) return items[i + 1];
  if (!graph_.Has(param, "ty")) return 0;
  ASSIGN_OR_RETURN(const int type, graph_.Ref(param, "ty"));
  return graph_.TypeOf(type) == "BufferType" ? param : 0;
}

StatusOr<int> TvmScriptWriter::LayoutOf(int buffer) const {
  if (!graph_.Has(buffer, "ty")) return buffer;
  ASSIGN_OR_RETURN(const int type, graph_.Ref(buffer, "ty"));
  if (graph_.TypeOf(type) != "BufferType") return graph_.Error(buffer, "it is no buffer");
  return type;
}

Status TvmScriptWriter::DeclareVarsOf(int expr) {
  if (graph_.TypeOf(expr) != "Var" || names_.count(expr) != 0) return OkStatus();
  ASSIGN_OR_RETURN(const int name_node, graph_.Ref(expr, "name"));
  ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(expr));
  ASSIGN_OR_RETURN(const std::string name, Define(expr, name_node));
  Line(fmt::format("{} = T.{}()", name, dtype));
  return OkStatus();
}

Status TvmScriptWriter::DeclareVars(int buffer) {
  ASSIGN_OR_RETURN(const int layout, LayoutOf(buffer));
  for (const char* field : {"shape", "strides"}) {
    ASSIGN_OR_RETURN(const int array, graph_.Ref(layout, field));
    for (int dim : graph_.Items(array)) RETURN_IF_ERROR(DeclareVarsOf(dim));
  }
  ASSIGN_OR_RETURN(const int offset, graph_.Ref(layout, "elem_offset"));
  return offset == 0 ? OkStatus() : DeclareVarsOf(offset);
}

// (shape), "float32", scope="local"
StatusOr<std::string> TvmScriptWriter::BufferArguments(int buffer) {
  ASSIGN_OR_RETURN(const int layout, LayoutOf(buffer));
  ASSIGN_OR_RETURN(const int shape, graph_.Ref(layout, "shape"));
  ASSIGN_OR_RETURN(const std::string dims, List(shape));
  ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(layout));
  std::string text = fmt::format("({}{}), {}", dims, graph_.Items(shape).size() == 1 ? "," : "", Quoted(dtype));
  ASSIGN_OR_RETURN(const int strides, graph_.Ref(layout, "strides"));
  if (!graph_.Items(strides).empty()) {
    ASSIGN_OR_RETURN(const std::string steps, List(strides));
    text += fmt::format(", strides=[{}]", steps);
  }
  ASSIGN_OR_RETURN(const int offset, graph_.Ref(layout, "elem_offset"));
  ASSIGN_OR_RETURN(const bool is_at_start, IsConstInt(offset, 0));
  if (offset != 0 && !is_at_start) {
    ASSIGN_OR_RETURN(const std::string first, Expr(offset));
    text += ", elem_offset=" + first;
  }
  for (const auto& [field, name, usual] : {std::tuple("data_alignment", "align", kDefaultDataAlignment),
                                           std::tuple("offset_factor", "offset_factor", int64_t{1})}) {
    ASSIGN_OR_RETURN(const int64_t promise, graph_.Int(layout, field));
    if (promise > 0 && promise != usual) text += fmt::format(", {}={}", name, promise);
  }
  ASSIGN_OR_RETURN(const std::string scope, ScopeOf(layout));
  return scope.empty() || scope == "global" ? text : text + ", scope=" + Quoted(scope);
}

// v0.18 has it in the type of the pointer.
StatusOr<std::string> TvmScriptWriter::ScopeOf(int layout) const {
  int holder = layout;
  if (!graph_.Has(layout, "storage_scope")) {
    ASSIGN_OR_RETURN(const int pointer, graph_.Ref(layout, "data"));
    ASSIGN_OR_RETURN(holder, graph_.Ref(pointer, "type_annotation"));
  }
  ASSIGN_OR_RETURN(const int scope, graph_.Ref(holder, "storage_scope"));
  return graph_.StringOf(scope);
}

// What stands in the signature. Buffers with variables in their shapes are matched in the body.
StatusOr<std::string> TvmScriptWriter::WriteParam(int param, int buffer_map, std::vector<int>& to_match) {
  ASSIGN_OR_RETURN(const int buffer, BufferOfParam(param, buffer_map));
  ASSIGN_OR_RETURN(const int name_node, graph_.Ref(buffer == 0 ? param : buffer, "name"));
  if (buffer != 0) {
    ASSIGN_OR_RETURN(const std::string name, Define(buffer, name_node));
    to_match.push_back(buffer);
    return name + "_handle: T.handle";
  }
  ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(param));
  ASSIGN_OR_RETURN(const std::string name, Define(param, name_node));
  return fmt::format("{}: T.{}", name, dtype);
}

Status TvmScriptWriter::WriteFunction(int func, const std::string& name) {
  if (graph_.TypeOf(func) != "PrimFunc")
    return Unimplemented(graph_.Error(func, "only functions of TensorIR are read").message());
  int buffer_map = 0;
  if (graph_.Has(func, "buffer_map")) {
    ASSIGN_OR_RETURN(buffer_map, graph_.Ref(func, "buffer_map"));
  }
  ASSIGN_OR_RETURN(const int params, graph_.Ref(func, "params"));
  std::vector<std::string> signature;
  std::vector<int> to_match;
  for (int param : graph_.Items(params)) {
    ASSIGN_OR_RETURN(std::string text, WriteParam(param, buffer_map, to_match));
    signature.push_back(std::move(text));
  }
  Line("@T.prim_func");
  Line(fmt::format("def {}({}):", Identifier(name), fmt::join(signature, ", ")));
  const Suite body(*this);
  ASSIGN_OR_RETURN(const int attrs, graph_.Ref(func, "attrs"));
  RETURN_IF_ERROR(WriteFuncAttrs(attrs));
  for (int buffer : to_match) {
    RETURN_IF_ERROR(DeclareVars(buffer));
    ASSIGN_OR_RETURN(const std::string buffer_name, NameOf(buffer));
    ASSIGN_OR_RETURN(const std::string arguments, BufferArguments(buffer));
    Line(fmt::format("{0} = T.match_buffer({0}_handle, {1})", buffer_name, arguments));
  }
  ASSIGN_OR_RETURN(const int stmt, graph_.Ref(func, "body"));
  return WriteStmt(stmt);
}

Status TvmScriptWriter::WriteFuncAttrs(int attrs) {
  if (attrs == 0) return OkStatus();
  ASSIGN_OR_RETURN(const int map, graph_.Ref(attrs, "__dict__"));
  ASSIGN_OR_RETURN(const std::string text, Attributes(map));
  if (text != "{}") Line(fmt::format("T.func_attr({})", text));
  return OkStatus();
}

Status TvmScriptWriter::WriteAlloc(int buffer) {
  ASSIGN_OR_RETURN(const int name_node, graph_.Ref(buffer, "name"));
  ASSIGN_OR_RETURN(const std::string name, Define(buffer, name_node));
  ASSIGN_OR_RETURN(const std::string arguments, BufferArguments(buffer));
  Line(fmt::format("{} = T.alloc_buffer({})", name, arguments));
  return OkStatus();
}

// ---- Statements -------------------------------------------------------------------------------------------------

Status TvmScriptWriter::WriteStmt(int stmt) {
  RETURN_IF_ERROR(Enter(stmt));
  const std::string& type = graph_.TypeOf(stmt);
  Status status = OkStatus();
  if (type == "SeqStmt") {
    ASSIGN_OR_RETURN(const int seq, graph_.Ref(stmt, "seq"));
    for (int child : graph_.Items(seq)) RETURN_IF_ERROR(WriteStmt(child));
  } else if (type == "For") {
    status = WriteFor(stmt);
  } else if (type == "BlockRealize") {
    status = WriteBlock(stmt);
  } else if (type == "BufferStore") {
    status = WriteStore(stmt);
  } else if (type == "IfThenElse") {
    status = WriteIf(stmt);
  } else if (type == "Evaluate") {
    ASSIGN_OR_RETURN(const std::string value, Function("evaluate", stmt, {"value"}));
    Line(value);
  } else if (type == "Bind") {
    status = WriteLet(stmt);
  } else if (type == "LetStmt") {
    RETURN_IF_ERROR(WriteLet(stmt));
    ASSIGN_OR_RETURN(const int body, graph_.Ref(stmt, "body"));
    status = WriteStmt(body);
  } else {
    return Unimplemented(graph_.Error(stmt, "no statement of a function to be scheduled").message());
  }
  --depth_;
  return status;
}

Status TvmScriptWriter::WriteFor(int loop) {
  static constexpr std::string_view kKinds[] = {"serial", "parallel", "vectorized", "unroll", "thread_binding"};
  ASSIGN_OR_RETURN(const int64_t kind, graph_.Int(loop, "kind"));
  if (kind < 0 || kind >= 5) return graph_.Error(loop, fmt::format("there is no loop of kind {}", kind));
  ASSIGN_OR_RETURN(const int min, graph_.Ref(loop, "min"));
  ASSIGN_OR_RETURN(const int extent, graph_.Ref(loop, "extent"));
  ASSIGN_OR_RETURN(const bool is_from_0, IsConstInt(min, 0));
  if (!is_from_0) return Unimplemented(graph_.Error(loop, "it does not start at 0").message());
  ASSIGN_OR_RETURN(std::string arguments, Expr(extent));
  ASSIGN_OR_RETURN(const int var, graph_.Ref(loop, "loop_var"));
  ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(var));
  ASSIGN_OR_RETURN(const std::string extent_dtype, graph_.Dtype(extent));
  if (dtype != extent_dtype) arguments += ", dtype=" + Quoted(dtype);
  if (kind == 4) {
    ASSIGN_OR_RETURN(const int thread, graph_.Ref(loop, "thread_binding"));
    ASSIGN_OR_RETURN(const int tag_node, graph_.Ref(thread, "thread_tag"));
    ASSIGN_OR_RETURN(const std::string tag, graph_.StringOf(tag_node));
    arguments += ", thread=" + Quoted(tag);
  }
  ASSIGN_OR_RETURN(const int annotations, graph_.Ref(loop, "annotations"));
  ASSIGN_OR_RETURN(const std::string notes, Attributes(annotations));
  if (notes != "{}") arguments += ", annotations=" + notes;
  const size_t names = open_.size();
  ASSIGN_OR_RETURN(const int name_node, graph_.Ref(var, "name"));
  ASSIGN_OR_RETURN(const std::string name, Define(var, name_node));
  Line(fmt::format("for {} in T.{}({}):", name, kKinds[kind], arguments));
  {
    const Suite body(*this);
    ASSIGN_OR_RETURN(const int stmt, graph_.Ref(loop, "body"));
    RETURN_IF_ERROR(WriteStmt(stmt));
  }
  Forget(names);
  return OkStatus();
}

Status TvmScriptWriter::WriteIterVars(int realize, int block) {
  static constexpr std::string_view kKinds[] = {"spatial", "", "reduce", "scan", "opaque"};
  ASSIGN_OR_RETURN(const int vars, graph_.Ref(block, "iter_vars"));
  ASSIGN_OR_RETURN(const int values, graph_.Ref(realize, "iter_values"));
  if (graph_.Items(vars).size() != graph_.Items(values).size())
    return graph_.Error(realize, "there is not one value for each iter var");
  for (size_t i = 0; i < graph_.Items(vars).size(); ++i) {
    const int iter = graph_.Items(vars)[i];
    ASSIGN_OR_RETURN(const int64_t kind, graph_.Int(iter, "iter_type"));
    if (kind < 0 || kind >= 5 || kind == 1) return graph_.Error(iter, fmt::format("iter_type {} is none", kind));
    ASSIGN_OR_RETURN(const std::string value, Expr(graph_.Items(values)[i]));
    ASSIGN_OR_RETURN(const int dom, graph_.Ref(iter, "dom"));
    ASSIGN_OR_RETURN(const int min, graph_.Ref(dom, "min"));
    ASSIGN_OR_RETURN(const bool is_from_0, IsConstInt(min, 0));
    ASSIGN_OR_RETURN(std::string range, Function("Range", dom, {"min", "extent"}));
    if (is_from_0) {
      ASSIGN_OR_RETURN(const int extent, graph_.Ref(dom, "extent"));
      ASSIGN_OR_RETURN(range, Expr(extent));
    } else {
      range.insert(range.rfind(", ") + 2, "extent=");
    }
    ASSIGN_OR_RETURN(const int var, graph_.Ref(iter, "var"));
    ASSIGN_OR_RETURN(const int name_node, graph_.Ref(var, "name"));
    ASSIGN_OR_RETURN(const std::string name, Define(var, name_node));
    Line(fmt::format("{} = T.axis.{}({}, {})", name, kKinds[kind], range, value));
  }
  return OkStatus();
}

Status TvmScriptWriter::WriteRegions(const char* function, int regions) {
  std::vector<std::string> texts;
  for (int region : graph_.Items(regions)) {
    ASSIGN_OR_RETURN(std::string text, Region(region));
    texts.push_back(std::move(text));
  }
  Line(fmt::format("T.{}({})", function, fmt::join(texts, ", ")));
  return OkStatus();
}

Status TvmScriptWriter::WriteMatchBuffers(int matches) {
  for (int match : graph_.Items(matches)) {
    ASSIGN_OR_RETURN(const int buffer, graph_.Ref(match, "buffer"));
    ASSIGN_OR_RETURN(const int source, graph_.Ref(match, "source"));
    ASSIGN_OR_RETURN(const std::string region, Region(source));
    RETURN_IF_ERROR(DeclareVars(buffer));
    ASSIGN_OR_RETURN(const int name_node, graph_.Ref(buffer, "name"));
    ASSIGN_OR_RETURN(const std::string name, Define(buffer, name_node));
    ASSIGN_OR_RETURN(const std::string arguments, BufferArguments(buffer));
    Line(fmt::format("{} = T.match_buffer({}, {})", name, region, arguments));
  }
  return OkStatus();
}

Status TvmScriptWriter::WriteBlockHead(int realize, int block) {
  RETURN_IF_ERROR(WriteIterVars(realize, block));
  ASSIGN_OR_RETURN(const int predicate, graph_.Ref(realize, "predicate"));
  ASSIGN_OR_RETURN(const bool is_always, IsConstInt(predicate, 1));
  if (!is_always) {
    ASSIGN_OR_RETURN(const std::string condition, Expr(predicate));
    Line(fmt::format("T.where({})", condition));
  }
  for (const char* access : {"reads", "writes"}) {
    ASSIGN_OR_RETURN(const int regions, graph_.Ref(block, access));
    RETURN_IF_ERROR(WriteRegions(access, regions));
  }
  ASSIGN_OR_RETURN(const int annotations, graph_.Ref(block, "annotations"));
  ASSIGN_OR_RETURN(const std::string notes, Attributes(annotations));
  if (notes != "{}") Line(fmt::format("T.block_attr({})", notes));
  ASSIGN_OR_RETURN(const int allocs, graph_.Ref(block, "alloc_buffers"));
  for (int buffer : graph_.Items(allocs)) RETURN_IF_ERROR(WriteAlloc(buffer));
  ASSIGN_OR_RETURN(const int matches, graph_.Ref(block, "match_buffers"));
  return WriteMatchBuffers(matches);
}

Status TvmScriptWriter::WriteBlock(int realize) {
  ASSIGN_OR_RETURN(const int block, graph_.Ref(realize, "block"));
  ASSIGN_OR_RETURN(const int name_node, graph_.Ref(block, "name_hint"));
  ASSIGN_OR_RETURN(const std::string name, graph_.StringOf(name_node));
  Line(fmt::format("with T.block({}):", Quoted(name)));
  const Suite suite(*this);
  RETURN_IF_ERROR(WriteBlockHead(realize, block));
  ASSIGN_OR_RETURN(const int init, graph_.Ref(block, "init"));
  if (init != 0) {
    Line("with T.init():");
    const Suite inner(*this);
    RETURN_IF_ERROR(WriteStmt(init));
  }
  ASSIGN_OR_RETURN(const int body, graph_.Ref(block, "body"));
  return WriteStmt(body);
}

Status TvmScriptWriter::WriteStore(int store) {
  ASSIGN_OR_RETURN(const int buffer, graph_.Ref(store, "buffer"));
  ASSIGN_OR_RETURN(const int indices, graph_.Ref(store, "indices"));
  ASSIGN_OR_RETURN(const std::string target, Element(buffer, indices));
  ASSIGN_OR_RETURN(const int value_node, graph_.Ref(store, "value"));
  ASSIGN_OR_RETURN(const std::string value, Expr(value_node));
  Line(fmt::format("{} = {}", target, value));
  return OkStatus();
}

// A name until the end of the suite.
Status TvmScriptWriter::WriteLet(int let) {
  ASSIGN_OR_RETURN(const int var, graph_.Ref(let, "var"));
  ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(var));
  ASSIGN_OR_RETURN(const int value_node, graph_.Ref(let, "value"));
  ASSIGN_OR_RETURN(const std::string value, Expr(value_node));
  ASSIGN_OR_RETURN(const int name_node, graph_.Ref(var, "name"));
  ASSIGN_OR_RETURN(const std::string name, Define(var, name_node));
  Line(fmt::format("{}: T.{} = {}", name, dtype, value));
  return OkStatus();
}

Status TvmScriptWriter::WriteIf(int branch) {
  ASSIGN_OR_RETURN(const int condition_node, graph_.Ref(branch, "condition"));
  ASSIGN_OR_RETURN(const std::string condition, Expr(condition_node));
  Line(fmt::format("if {}:", condition));
  {
    const Suite suite(*this);
    ASSIGN_OR_RETURN(const int stmt, graph_.Ref(branch, "then_case"));
    RETURN_IF_ERROR(WriteStmt(stmt));
  }
  ASSIGN_OR_RETURN(const int other, graph_.Ref(branch, "else_case"));
  if (other == 0) return OkStatus();
  Line("else:");
  const Suite suite(*this);
  return WriteStmt(other);
}

// ---- Expressions ------------------------------------------------------------------------------------------------

StatusOr<bool> TvmScriptWriter::IsConstInt(int expr, int64_t value) const {
  if (graph_.TypeOf(expr) != "IntImm") return false;
  ASSIGN_OR_RETURN(const int64_t constant, graph_.IntValue(expr, "value"));
  return constant == value;
}

StatusOr<std::string> TvmScriptWriter::Constant(int expr) {
  ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(expr));
  if (graph_.TypeOf(expr) == "FloatImm") {
    ASSIGN_OR_RETURN(const double value, graph_.Float(expr, "value"));
    const std::string digits = fmt::format("{}", value);  // Text where it is no plain number: "inf", "-0.5".
    return fmt::format("T.{}({})", dtype, value - value == 0 && value >= 0 ? digits : Quoted(digits));
  }
  ASSIGN_OR_RETURN(const int64_t value, graph_.IntValue(expr, "value"));
  if (dtype == "bool" || dtype == "uint1") return std::string(value != 0 ? "T.bool(True)" : "T.bool(False)");
  return dtype == "int32" ? std::to_string(value) : fmt::format("T.{}({})", dtype, value);
}

StatusOr<std::string> TvmScriptWriter::Function(std::string_view name, int node,
                                                std::initializer_list<std::string_view> fields) {
  std::vector<std::string> arguments;
  for (std::string_view field : fields) {
    ASSIGN_OR_RETURN(const int argument, graph_.Ref(node, field));
    ASSIGN_OR_RETURN(std::string text, Expr(argument));
    arguments.push_back(std::move(text));
  }
  return fmt::format("T.{}({})", name, fmt::join(arguments, ", "));
}

StatusOr<std::string> TvmScriptWriter::List(int array) {
  std::vector<std::string> items;
  for (int item : graph_.Items(array)) {
    ASSIGN_OR_RETURN(std::string text, Expr(item));
    items.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

StatusOr<std::string> TvmScriptWriter::Call(int call) {
  ASSIGN_OR_RETURN(const int op, graph_.Ref(call, "op"));
  ASSIGN_OR_RETURN(const std::string name, graph_.StringOf(op));
  ASSIGN_OR_RETURN(const int args, graph_.Ref(call, "args"));
  ASSIGN_OR_RETURN(const std::string arguments, List(args));
  const std::string known = name.substr(name.rfind('.') + 1);
  if (const Op* ours = FindOpOfTvm(known); ours != nullptr && ours->result == OpResult::kNamed) {
    ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(call));
    return fmt::format("T.call_intrin({}, {}{}{})", Quoted(dtype), Quoted("tir." + known),
                       arguments.empty() ? "" : ", ", arguments);
  }
  return fmt::format("T.{}({})", Identifier(name.substr(name.rfind('.') + 1)), arguments);
}

StatusOr<std::string> TvmScriptWriter::Element(int buffer, int indices) {
  ASSIGN_OR_RETURN(const std::string name, NameOf(buffer));
  ASSIGN_OR_RETURN(const std::string list, List(indices));
  return fmt::format("{}[{}]", name, list.empty() ? "()" : list);
}

StatusOr<std::string> TvmScriptWriter::Region(int region) {
  ASSIGN_OR_RETURN(const int buffer, graph_.Ref(region, graph_.Has(region, "buffer") ? "buffer" : "source"));
  ASSIGN_OR_RETURN(const std::string name, NameOf(buffer));
  ASSIGN_OR_RETURN(const int ranges, graph_.Ref(region, "region"));
  std::vector<std::string> texts;
  for (int range : graph_.Items(ranges)) {
    ASSIGN_OR_RETURN(const int min_node, graph_.Ref(range, "min"));
    ASSIGN_OR_RETURN(const int extent_node, graph_.Ref(range, "extent"));
    ASSIGN_OR_RETURN(const std::string min, Expr(min_node));
    ASSIGN_OR_RETURN(const std::string extent, Expr(extent_node));
    ASSIGN_OR_RETURN(const bool is_point, IsConstInt(extent_node, 1));
    texts.push_back(is_point ? min : fmt::format("T.Range({}, extent={})", min, extent));
  }
  return fmt::format("{}[{}]", name, texts.empty() ? "()" : fmt::format("{}", fmt::join(texts, ", ")));
}

// Nodes may be shared, and a hostile graph may turn in circles.
Status TvmScriptWriter::Enter(int node) {
  if (++depth_ > kMaxDepth) return graph_.Error(node, fmt::format("more than {} levels of nesting", kMaxDepth));
  if (++written_ > kMaxWritten)
    return graph_.Error(node, fmt::format("the function's text would have more than {} nodes", kMaxWritten));
  return OkStatus();
}

StatusOr<std::string> TvmScriptWriter::Expr(int expr) {
  RETURN_IF_ERROR(Enter(expr));
  StatusOr<std::string> text = ExprOf(expr, graph_.TypeOf(expr));
  --depth_;
  return text;
}

// v0.18 writes the text into the node, 0.27 names it.
StatusOr<std::string> TvmScriptWriter::TextOf(int text) {
  if (const StatusOr<std::string> inside = graph_.Text(text, "value"); inside.ok()) return Quoted(*inside);
  ASSIGN_OR_RETURN(const int value, graph_.Ref(text, "value"));
  ASSIGN_OR_RETURN(const std::string plain, graph_.StringOf(value));
  return Quoted(plain);
}

StatusOr<std::string> TvmScriptWriter::ExprOf(int expr, const std::string& type) {
  static constexpr std::string_view kBinary[] = {"Add",      "Sub", "Mul", "Div", "Mod", "FloorDiv",
                                                 "FloorMod", "Min", "Max", "EQ",  "NE",  "LT",
                                                 "LE",       "GT",  "GE",  "And", "Or"};
  // What 0.27 has nodes for, v0.18 operators.
  static constexpr std::pair<std::string_view, std::string_view> kBitwise[] = {
      {"BitwiseAnd", "bitwise_and"}, {"BitwiseOr", "bitwise_or"}, {"BitwiseXor", "bitwise_xor"},
      {"BitwiseNot", "bitwise_not"}, {"LShift", "shift_left"},    {"RShift", "shift_right"}};
  if (type == "Var" || type == "SizeVar") return NameOf(expr);
  if (type == "IntImm" || type == "FloatImm") return Constant(expr);
  if (std::find(std::begin(kBinary), std::end(kBinary), type) != std::end(kBinary))
    return Function(type, expr, {"a", "b"});
  if (type == "StringImm") return TextOf(expr);
  for (const auto& [node, function] : kBitwise)
    if (type == node)
      return graph_.Has(expr, "b") ? Function(function, expr, {"a", "b"}) : Function(function, expr, {"a"});
  if (type == "Not") return Function(type, expr, {"a"});
  if (type == "Select") return Function(type, expr, {"condition", "true_value", "false_value"});
  if (type == "Ramp") return Function(type, expr, {"base", "stride", "lanes"});
  if (type == "Broadcast") return Function(type, expr, {"value", "lanes"});
  if (type == "Call") return Call(expr);
  if (type == "Cast") {
    ASSIGN_OR_RETURN(const std::string dtype, graph_.Dtype(expr));
    ASSIGN_OR_RETURN(std::string cast, Function(type, expr, {"value"}));
    return cast.insert(cast.find('(') + 1, Quoted(dtype) + ", ");
  }
  if (type == "BufferLoad") {
    ASSIGN_OR_RETURN(const int buffer, graph_.Ref(expr, graph_.Has(expr, "buffer") ? "buffer" : "source"));
    ASSIGN_OR_RETURN(const int indices, graph_.Ref(expr, "indices"));
    return Element(buffer, indices);
  }
  return Unimplemented(graph_.Error(expr, "no expression of a function to be scheduled").message());
}

StatusOr<std::string> TvmScriptWriter::Attribute(int value) {
  const TvmJson& plain = graph_.ValueOf(value);
  if (const bool* flag = plain.As<bool>()) return std::string(*flag ? "True" : "False");
  if (const int64_t* number = plain.As<int64_t>()) return std::to_string(*number);
  if (const double* real = plain.As<double>()) return fmt::format("{:#}", *real);
  if (const std::string* text = plain.As<std::string>()) return Quoted(*text);
  if (graph_.TypeOf(value) != "Array" && graph_.TypeOf(value) != "Map") return Expr(value);
  RETURN_IF_ERROR(Enter(value));
  if (graph_.TypeOf(value) == "Map") {
    ASSIGN_OR_RETURN(std::string map, Attributes(value));
    --depth_;
    return map;
  }
  std::vector<std::string> items;
  for (int item : graph_.Items(value)) {
    ASSIGN_OR_RETURN(std::string text, Attribute(item));
    items.push_back(std::move(text));
  }
  --depth_;
  return fmt::format("[{}]", fmt::join(items, ", "));
}

StatusOr<std::string> TvmScriptWriter::Attributes(int map) {
  const std::vector<std::string>& keys = graph_.Keys(map);
  const std::vector<int>& items = graph_.Items(map);
  const size_t step = keys.empty() ? 2 : 1;
  std::vector<std::string> texts;
  for (size_t i = 0; i + step <= items.size(); i += step) {
    std::string key = keys.empty() ? "" : keys[i];
    if (keys.empty()) {
      ASSIGN_OR_RETURN(key, graph_.StringOf(items[i]));
    }
    if (key == "s_tir") continue;  // 0.27's mark of a function with blocks; here, as in v0.18, the blocks say so.
    if (key.starts_with("tirx.")) key = "tir." + key.substr(5);
    ASSIGN_OR_RETURN(const std::string value, Attribute(items[i + step - 1]));
    texts.push_back(fmt::format("{}: {}", Quoted(key), value));
  }
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

}  // namespace lathe
