#include "compiler/import/tvm/graph_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "compiler/import/tvm/tvm_json.h"
#include "compiler/schedule/trace_map.h"
#include "compiler/script/dialect.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kNone = 0;
// Those that live in another place than most, since 0.27.
constexpr std::string_view kPrimOps[] = {"ceil", "clz", "if_then_else", "likely", "log2", "vscale"};

// What 0.27 has nodes for.
constexpr std::pair<std::string_view, std::string_view> kBitwise[] = {
    {"bitwise_and", "prim.BitwiseAnd"}, {"bitwise_or", "prim.BitwiseOr"}, {"bitwise_xor", "prim.BitwiseXor"},
    {"bitwise_not", "prim.BitwiseNot"}, {"shift_left", "prim.LShift"},    {"shift_right", "prim.RShift"}};
// Operators of v0.18 that 0.27 does not know: it reads no file that names one.
constexpr std::string_view kGone[] = {"create_barriers",
                                      "infinity",
                                      "large_uint_imm",
                                      "max_value",
                                      "min_value",
                                      "ptx_arrive_barrier",
                                      "ptx_commit_group",
                                      "ptx_arrive_barrier_expect_tx",
                                      "ptx_cp_async",
                                      "ptx_cp_async_bulk",
                                      "ptx_cp_async_barrier",
                                      "ptx_init_barrier_thread_count",
                                      "ptx_ldg32",
                                      "ptx_ldmatrix",
                                      "ptx_mma",
                                      "ptx_mma_sp",
                                      "ptx_wait_barrier",
                                      "ptx_wait_group",
                                      "ret",
                                      "tvm_check_return",
                                      "tvm_mfma",
                                      "tvm_mfma_store",
                                      "tvm_rdna_wmma",
                                      "tvm_rdna_wmma_store",
                                      "tvm_thread_context",
                                      "vector_reduce_add"};

// As 0.27 writes abs of integers.
Expr AbsoluteOf(const Expr& e) {
  const Expr zero = IntConst(e.dtype(), 0);
  return MakeSelect(MakeBinary(BinaryOp::kGE, e, zero), e, MakeBinary(BinaryOp::kSub, zero, e));
}

std::string Number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{:.17g}", value);
  const bool is_whole = text.find_first_of(".e") == std::string::npos && std::fabs(value) < 0x1p53;
  return is_whole ? text + ".0" : text;
}

// Numbers of nodes, in the order in which they are added. What is not known yet is added first.
class GraphWriter {
 public:
  GraphWriter() { nodes_.emplace_back(R"({"type":"None"})"); }

  StatusOr<std::string> Write(const TraceMap& map) {
    for (const auto& [var, sampled] : map.sampled) names_.emplace(var.get(), NameOf(sampled));
    return Graph(IndexMapOf(*map));
  }
  StatusOr<std::string> Write(const PrimFunc& func) {
    const StatusOr<int> written = Function(func);
    const int name = Text("main"), empty = Node("ffi.Map", "[]");
    const StatusOr<int> global = Made("ir.GlobalVar", {{"span", kNone}, {"ty", FunctionType()}, {"name_hint", name}});
    if (!written.ok() || !global.ok()) return written.ok() ? global.status() : written.status();
    return Graph(Made("ir.IRModule", {{"functions", Pairs({*global, *written})},
                                      {"global_var_map_", Pairs({name, *global})},
                                      {"source_map", Made("ir.SourceMap", {{"source_map", empty}})},
                                      {"attrs", Made("ir.DictAttrs", {{"__dict__", empty}})},
                                      {"global_infos", empty}}));
  }

 private:
  using Field = std::pair<std::string_view, StatusOr<int>>;

  StatusOr<std::string> Graph(const StatusOr<int>& root) const {
    if (!root.ok()) return root.status();
    return fmt::format(R"({{"root_index":{},"nodes":[{}],"metadata":{{"tvm_version":"0.27.0.post1"}}}})", *root,
                       fmt::join(nodes_, ","));
  }
  static Status Unknown(std::string_view what) {
    return Unimplemented(fmt::format("write TVM's nodes: {} is of no function to be scheduled", what));
  }
  int Node(std::string_view type, std::string_view data) {
    nodes_.push_back(fmt::format(R"({{"type":"{}","data":{}}})", type, data));
    return static_cast<int>(nodes_.size()) - 1;
  }
  // What is the same wherever it stands.
  int Once(std::string_view type, std::string_view data) {
    const auto [entry, is_new] = known_.emplace(fmt::format("{} {}", type, data), 0);
    if (is_new) entry->second = Node(type, data);
    return entry->second;
  }
  // A node of these fields, or the first error among them.
  StatusOr<int> Made(std::string_view type, const std::vector<Field>& fields) {
    ASSIGN_OR_RETURN(const std::string data, DataOf(fields));
    return Node(type, data);
  }
  static StatusOr<std::string> DataOf(const std::vector<Field>& fields) {
    std::string data;
    for (const auto& [name, node] : fields) {
      if (!node.ok()) return node.status();
      data += fmt::format(R"({}"{}":{})", data.empty() ? "" : ",", name, *node);
    }
    return "{" + data + "}";
  }
  template <typename T, typename F>
  StatusOr<int> Each(const std::vector<T>& list, const F& write) {
    std::vector<int> items;
    for (const T& one : list) {
      ASSIGN_OR_RETURN(const int item, write(one));
      items.push_back(item);
    }
    return Array(items);
  }

  int Text(const std::string& text) { return Once("ffi.String", ToPlainText(TvmJson(text))); }
  int Type(DataType type) { return Once("ir.PrimType", fmt::format(R"({{"span":0,"dtype":"{}"}})", type.ToString())); }
  int Int(int64_t value) { return Once("int", std::to_string(value)); }
  int Bool(bool value) { return Once("bool", value ? "true" : "false"); }
  int Array(const std::vector<int>& items) { return Node("ffi.Array", fmt::format("[{}]", fmt::join(items, ","))); }
  int Pairs(const std::vector<int>& items) { return Node("ffi.Map", fmt::format("[{}]", fmt::join(items, ","))); }
  int NoResult() { return Once("ir.TupleType", fmt::format(R"({{"span":0,"fields":{}}})", Array({}))); }
  int FunctionType() {  // TVM does not look at it.
    const int params = Array({}), result = NoResult();
    return Node("relax.FuncType",
                fmt::format(R"({{"span":0,"params":{},"ret":{},"derive_func":0,"purity":false}})", params, result));
  }

  // ---- Attributes
  StatusOr<int> Value(const Attr& attr) {
    if (const auto* number = std::get_if<int64_t>(&attr)) return Int(*number);
    if (const auto* truth = std::get_if<bool>(&attr)) return Bool(*truth);
    if (const auto* real = std::get_if<double>(&attr)) return Once("float", Number(*real));
    if (const auto* text = std::get_if<std::string>(&attr)) return Text(*text);
    if (const auto* map = std::get_if<AttrMap>(&attr)) return Map(*map);
    if (const lathe::Expr* e = std::get_if<lathe::Expr>(&attr)) return Expr(*e);
    const auto* list = std::get_if<std::vector<Attr>>(&attr);
    if (list == nullptr) return kNone;
    return Each(*list, [&](const Attr& item) { return Value(item); });
  }
  StatusOr<int> Map(const AttrMap& attrs, std::vector<int> items = {}) {
    for (const auto& [key, attr] : attrs) {
      if (key == "T.target") return Unknown("a target");
      ASSIGN_OR_RETURN(const int value, Value(attr));
      items.push_back(Text(key.starts_with("tir.") ? "tirx." + key.substr(4) : key));
      items.push_back(value);
    }
    return Pairs(items);
  }

  // ---- Index maps
  StatusOr<int> IndexMapOf(const IndexMap& map) {
    const StatusOr<int> from = Vars(map.initial_indices), to = Exprs(map.final_indices);
    const StatusOr<int> inverse = map.inverse_index_map == nullptr ? kNone : IndexMapOf(*map.inverse_index_map);
    return Made("tirx.IndexMap", {{"initial_indices", from}, {"final_indices", to}, {"inverse_index_map", inverse}});
  }

  // ---- Variables and buffers
  int Named(const void* what, const std::string& name, int type) {
    const int node = Node("ir.Var", fmt::format(R"({{"span":0,"ty":{},"name":{}}})", type, Text(name)));
    if (what != nullptr) vars_.emplace(what, node);
    return node;
  }
  int VarOf(const lathe::Expr& var) {
    const auto found = vars_.find(var.get());
    if (found != vars_.end()) return found->second;
    const auto name = names_.find(var.get());
    return Named(var.get(), name == names_.end() ? var.As<VarName>()->name : name->second, Type(var.dtype()));
  }
  StatusOr<int> BufferOf(const Buffer& buffer) {
    const auto found = vars_.find(buffer.get());
    if (found != vars_.end()) return found->second;
    ASSIGN_OR_RETURN(const int type, BufferType(*buffer));
    return Named(buffer.get(), buffer->name, type);
  }
  StatusOr<int> BufferType(const BufferNode& buffer) {
    const int64_t alignment = buffer.data_alignment, factor = buffer.offset_factor;  // Numbers, no nodes.
    return Made("tirx.BufferType", {{"span", kNone},
                                    {"dtype", Type(buffer.dtype)},
                                    {"storage_scope", Text(buffer.scope.empty() ? "global" : buffer.scope)},
                                    {"shape", Exprs(buffer.shape)},
                                    {"strides", Exprs(buffer.strides)},
                                    {"elem_offset", Expr(buffer.elem_offset)},
                                    {"data_alignment", static_cast<int>(alignment)},
                                    {"offset_factor", static_cast<int>(factor)},
                                    {"layout", kNone},
                                    {"allocated_addr", Array({})}});
  }
  StatusOr<int> RangeOf(const Range& range) {
    return Made("ir.Range", {{"min", Expr(range.min)}, {"extent", Expr(range.extent)}, {"span", kNone}});
  }
  StatusOr<int> Region(const BufferRegion& region) {
    return Made("ir.TensorRegion", {{"span", kNone},
                                    {"ty", Once("tirx.BufferRegionType", R"({"span":0})")},
                                    {"source", BufferOf(region.buffer)},
                                    {"region", Each(region.region, [&](const Range& r) { return RangeOf(r); })}});
  }
  StatusOr<int> Regions(const std::vector<BufferRegion>& regions) {
    return Each(regions, [&](const BufferRegion& region) { return Region(region); });
  }
  StatusOr<int> Iter(const IterVar& iter) {
    constexpr int kKinds[] = {0, 2, 3, 4};  // Spatial, reduce, scan, opaque.
    if (iter.kind > IterKind::kOpaque) return Unknown("a thread as an iter var of a block");
    return Thread(RangeOf(iter.domain), VarOf(iter.var), kKinds[static_cast<int>(iter.kind)], iter.thread_tag);
  }
  StatusOr<int> Thread(StatusOr<int> dom, int var, int kind, const std::string& tag) {
    return Made(
        "tirx.IterVar",
        {{"dom", std::move(dom)}, {"var", var}, {"iter_type", kind}, {"thread_tag", Text(tag)}, {"span", kNone}});
  }

  // ---- Expressions
  StatusOr<int> Exprs(const std::vector<lathe::Expr>& list) {
    return Each(list, [&](const lathe::Expr& e) { return Expr(e); });
  }
  StatusOr<int> Vars(const std::vector<Var>& vars) {
    return Each(vars, [&](const Var& var) { return StatusOr<int>(VarOf(var)); });
  }
  // A node that is shared stays so.
  StatusOr<int> Expr(const lathe::Expr& e) {
    if (const auto known = exprs_.find(e.get()); known != exprs_.end()) return known->second;
    ASSIGN_OR_RETURN(const int node, NewExpr(e));
    if (!IsCommonConstant(e)) exprs_.emplace(e.get(), node);
    return node;
  }
  StatusOr<int> NewExpr(const lathe::Expr& e) {
    if (AsIntConst(e) != nullptr || e.As<FloatImm>() != nullptr || IsVar(e)) return Leaf(e);
    const Field type{"ty", Type(e.dtype())};
    if (const Binary* op = e.As<Binary>())
      return Made(fmt::format("prim.{}", SpellingOf(op->op).exact),
                  {{"span", kNone}, type, {"a", Expr(op->a)}, {"b", Expr(op->b)}});
    if (const Not* op = e.As<Not>()) return Made("prim.Not", {{"span", kNone}, type, {"a", Expr(op->a)}});
    if (const Cast* cast = e.As<Cast>())
      return Made("prim.Cast", {{"span", kNone}, type, {"value", Expr(cast->value)}});
    if (const Select* select = e.As<Select>()) return SelectOf(type, *select);
    if (const BufferLoad* load = e.As<BufferLoad>()) return Load(type, *load);
    if (const Call* call = e.As<Call>()) return CallOf(e, *call);
    if (const StringImm* text = e.As<StringImm>())
      return Made("ir.StringImm",
                  {{"span", kNone}, {"ty", Once("ir.StringType", R"({"span":0})")}, {"value", Text(text->value)}});
    if (const Ramp* ramp = e.As<Ramp>())
      return Made("prim.Ramp", {{"span", kNone},
                                type,
                                {"base", Expr(ramp->base)},
                                {"stride", Expr(ramp->stride)},
                                {"lanes", Expr(LanesOf(e.dtype()))}});
    if (const Broadcast* spread = e.As<Broadcast>())
      return Made("prim.Broadcast",
                  {{"span", kNone}, type, {"value", Expr(spread->value)}, {"lanes", Expr(LanesOf(e.dtype()))}});
    return Unknown("an expression of this kind");
  }
  StatusOr<int> Leaf(const lathe::Expr& e) {
    if (IsVar(e)) return VarOf(e);
    if (const int64_t* value = AsIntConst(e)) {
      return Made("ir.IntImm", {{"span", kNone}, {"ty", Type(e.dtype())}, {"value", Int(*value)}});
    }
    return Float(e.dtype(), e.As<FloatImm>()->value);
  }
  StatusOr<int> Float(DataType type, double value) {
    return Node("ir.FloatImm", fmt::format(R"({{"span":0,"ty":{},"value":{}}})", Type(type), Number(value)));
  }
  StatusOr<int> SelectOf(const Field& type, const Select& select) {
    return Made("prim.Select", {{"span", kNone},
                                type,
                                {"condition", Expr(select.condition)},
                                {"true_value", Expr(select.true_value)},
                                {"false_value", Expr(select.false_value)}});
  }
  StatusOr<int> Load(const Field& type, const BufferLoad& load) {
    if (load.predicate) return Unknown("a load with a predicate");
    return Made("ir.TensorLoad",
                {{"span", kNone}, type, {"source", BufferOf(load.buffer)}, {"indices", Exprs(load.indices)}});
  }
  StatusOr<int> OpOf(const Op& op) {
    const std::string name(TvmNameOf(op));
    if (std::find(std::begin(kGone), std::end(kGone), name) != std::end(kGone))
      return Unimplemented(fmt::format("write TVM's nodes: 0.27 has no operator {}", name));
    const bool is_prim = std::find(std::begin(kPrimOps), std::end(kPrimOps), name) != std::end(kPrimOps);
    return Once("ir.Op", fmt::format(R"("{}.{}")", is_prim ? "prim" : "tirx", name));
  }
  StatusOr<int> CallOf(const lathe::Expr& e, const Call& call) {
    const Field type{"ty", Type(e.dtype())};
    for (const auto& [name, node] : kBitwise) {
      if (call.op->name != name) continue;
      std::vector<Field> fields{{"span", kNone}, type, {"a", Expr(call.args[0])}};
      if (call.args.size() > 1) fields.emplace_back("b", Expr(call.args[1]));
      return Made(node, fields);
    }
    if (call.op->name == "abs" && !e.dtype().is_float()) return Expr(AbsoluteOf(call.args[0]));
    return Made("ir.Call", {{"span", kNone},
                            type,
                            {"op", OpOf(*call.op)},
                            {"args", Exprs(call.args)},
                            {"attrs", kNone},
                            {"ty_args", Array({})}});
  }

  // ---- Statements
  StatusOr<int> Stmt(const lathe::Stmt& stmt) {
    if (const Seq* seq = stmt.As<Seq>()) return SeqOf(*seq);
    if (const For* loop = stmt.As<For>()) return Loop(*loop);
    if (const BlockRealize* realize = stmt.As<BlockRealize>()) return Realize(*realize);
    if (const BufferStore* store = stmt.As<BufferStore>()) return Store(*store);
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return Branch(*branch);
    if (stmt.As<LetStmt>() != nullptr) return SeqOf(Seq{{stmt}});
    const Evaluate* evaluate = stmt.As<Evaluate>();
    if (evaluate == nullptr) return Unknown("a statement of this kind");
    return Made("tirx.Evaluate", {{"span", kNone}, {"value", Expr(evaluate->value)}});
  }
  StatusOr<int> SeqOf(const Seq& seq) {
    std::vector<int> items;
    for (const lathe::Stmt& stmt : seq.stmts) RETURN_IF_ERROR(AddTo(items, stmt));
    return Made("tirx.SeqStmt", {{"span", kNone}, {"seq", Array(items)}});
  }
  // 0.27's lets have no body: they hold for what follows.
  Status AddTo(std::vector<int>& items, const lathe::Stmt& stmt) {
    const LetStmt* let = stmt.As<LetStmt>();
    const Seq* seq = stmt.As<Seq>();
    for (const lathe::Stmt& one : seq != nullptr ? seq->stmts : std::vector<lathe::Stmt>())
      RETURN_IF_ERROR(AddTo(items, one));
    if (seq != nullptr) return OkStatus();
    ASSIGN_OR_RETURN(const int item, let == nullptr ? Stmt(stmt) : Bind(*let));
    items.push_back(item);
    return let == nullptr ? OkStatus() : AddTo(items, let->body);
  }
  StatusOr<int> Bind(const LetStmt& let) {
    const StatusOr<int> value = Expr(let.value);
    return Made("tirx.Bind", {{"span", kNone}, {"var", VarOf(let.var)}, {"value", value}});
  }
  StatusOr<int> ThreadOf(const For& loop) {
    if (loop.thread.empty()) return kNone;
    return Thread(kNone, Named(nullptr, "iter", Type(loop.loop_var.dtype())), 1, loop.thread);
  }
  StatusOr<int> Loop(const For& loop) {
    return Made("tirx.For", {{"span", kNone},
                             {"loop_var", VarOf(loop.loop_var)},
                             {"min", Expr(loop.min)},
                             {"extent", Expr(loop.extent)},
                             {"kind", static_cast<int>(loop.kind)},
                             {"body", Stmt(loop.body)},
                             {"thread_binding", ThreadOf(loop)},
                             {"annotations", Map(loop.annotations)},
                             {"step", kNone}});
  }
  StatusOr<int> Store(const BufferStore& store) {
    if (store.predicate) return Unknown("a store with a predicate");
    return Made("tirx.BufferStore", {{"span", kNone},
                                     {"buffer", BufferOf(store.buffer)},
                                     {"value", Expr(store.value)},
                                     {"indices", Exprs(store.indices)}});
  }
  StatusOr<int> Maybe(const std::optional<lathe::Stmt>& stmt) { return stmt ? Stmt(*stmt) : StatusOr<int>(kNone); }
  StatusOr<int> Branch(const IfThenElse& branch) {
    return Made("tirx.IfThenElse", {{"span", kNone},
                                    {"condition", Expr(branch.condition)},
                                    {"then_case", Stmt(branch.then_case)},
                                    {"else_case", Maybe(branch.else_case)}});
  }
  StatusOr<int> Realize(const BlockRealize& realize) {
    return Made("s_tir.SBlockRealize", {{"span", kNone},
                                        {"iter_values", Exprs(realize.iter_values)},
                                        {"predicate", Expr(realize.predicate)},
                                        {"block", BlockOf(*realize.block)}});
  }
  StatusOr<int> Match(const MatchBufferRegion& match) {
    const StatusOr<int> source = Region(match.source);
    return Made("s_tir.MatchBufferRegion", {{"buffer", BufferOf(match.buffer)}, {"source", source}});
  }
  StatusOr<int> BlockOf(const BlockNode& block) {
    return Made("s_tir.SBlock",
                {{"span", kNone},
                 {"iter_vars", Each(block.iter_vars, [&](const IterVar& iter) { return Iter(iter); })},
                 {"reads", Regions(block.reads)},
                 {"writes", Regions(block.writes)},
                 {"name_hint", Text(block.name)},
                 {"alloc_buffers", Each(block.alloc_buffers, [&](const Buffer& b) { return BufferOf(b); })},
                 {"match_buffers", Each(block.match_buffers, [&](const MatchBufferRegion& m) { return Match(m); })},
                 {"annotations", Map(block.annotations)},
                 {"init", Maybe(block.init)},
                 {"body", Stmt(block.body)}});
  }
  StatusOr<int> ParamOf(const Param& param) {
    const Buffer* buffer = std::get_if<Buffer>(&param);
    return buffer == nullptr ? StatusOr<int>(VarOf(std::get<Var>(param))) : BufferOf(*buffer);
  }
  StatusOr<int> Function(const PrimFunc& func) {
    const StatusOr<int> attrs = Map(func.attrs, {Text("global_symbol"), Text("main"), Text("s_tir"), Bool(true)});
    return Made("tirx.PrimFunc", {{"span", kNone},
                                  {"ty", FunctionType()},
                                  {"attrs", Made("ir.DictAttrs", {{"__dict__", attrs}})},
                                  {"params", Each(ParamsOf(func), [&](const Param& param) { return ParamOf(param); })},
                                  {"ret_type", NoResult()},
                                  {"body", Stmt(func.body)}});
  }

  std::vector<std::string> nodes_;
  std::unordered_map<std::string, int> known_;
  std::unordered_map<const void*, int> vars_;  // Variables and buffers.
  std::unordered_map<const ExprNode*, int> exprs_;
  std::unordered_map<const ExprNode*, std::string> names_;  // Of variables that have others here.
};

}  // namespace

StatusOr<std::string> WriteTvmModule(const PrimFunc& func) { return GraphWriter().Write(func); }
StatusOr<std::string> WriteTvmIndexMap(const TraceMap& map) {
  ASSIGN_OR_RETURN(const std::string graph, GraphWriter().Write(map));
  return Indented(graph);
}
bool IsCommonConstant(const Expr& e) {
  const int64_t* value = AsIntConst(e);
  return value != nullptr && e.same_as(IntConst(e.dtype(), *value));
}

}  // namespace lathe
