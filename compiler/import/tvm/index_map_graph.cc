#include "compiler/import/tvm/index_map_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "compiler/import/tvm/graph_writer.h"
#include "compiler/import/tvm/node_graph.h"
#include "compiler/import/tvm/tvm_json.h"
#include "compiler/schedule/trace_map.h"
#include "compiler/script/checked_expr.h"
#include "compiler/script/dialect.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// ---- Reading ----------------------------------------------------------------------------------------------------

class MapReader {
 public:
  explicit MapReader(const NodeGraph& graph) : graph_(graph) {}

  StatusOr<IndexMap> Read(int map, int depth = 0) {
    if (graph_.TypeOf(map) != "IndexMap") return graph_.Error(map, "it is no index map");
    if (depth > 4) return graph_.Error(map, "an inverse of an inverse of an inverse");
    IndexMap result;
    ASSIGN_OR_RETURN(const int from, graph_.Ref(map, "initial_indices"));
    for (int var : graph_.Items(from)) {
      ASSIGN_OR_RETURN(const Expr index, ReadExpr(var));
      if (!IsVar(index)) return graph_.Error(var, "an index of a map is no variable");
      result.initial_indices.emplace_back(index);
    }
    ASSIGN_OR_RETURN(const int to, graph_.Ref(map, "final_indices"));
    ASSIGN_OR_RETURN(result.final_indices, ReadList(to));
    ASSIGN_OR_RETURN(const int inverse, graph_.Ref(map, "inverse_index_map"));
    if (graph_.TypeOf(inverse) != "IndexMap") return result;
    ASSIGN_OR_RETURN(IndexMap back, Read(inverse, depth + 1));
    result.inverse_index_map = std::make_shared<const IndexMap>(std::move(back));
    return result;
  }

 private:
  static constexpr int kMaxDepth = 200;

  StatusOr<Expr> ReadExpr(int node) {
    if (const auto known = known_.find(node); known != known_.end()) return known->second;
    if (++depth_ > kMaxDepth) return graph_.Error(node, fmt::format("more than {} levels of nesting", kMaxDepth));
    ASSIGN_OR_RETURN(Expr e, Make(node, graph_.TypeOf(node)));
    --depth_;
    known_.emplace(node, e);
    return e;
  }
  StatusOr<Expr> Field(int node, std::string_view field) {
    ASSIGN_OR_RETURN(const int operand, graph_.Ref(node, field));
    return ReadExpr(operand);
  }
  StatusOr<std::vector<Expr>> ReadList(int array) {
    std::vector<Expr> items;
    for (int item : graph_.Items(array)) {
      ASSIGN_OR_RETURN(Expr e, ReadExpr(item));
      items.push_back(std::move(e));
    }
    return items;
  }

  StatusOr<Expr> Make(int node, const std::string& type) {
    for (const BinarySpelling& row : BinarySpellings()) {
      if (row.exact == type) return MakeBinaryOf(node, row.op);
    }
    if (type == "Not") {
      ASSIGN_OR_RETURN(const Expr a, Field(node, "a"));
      return a.dtype().is_bool() ? StatusOr<Expr>(Expr::Make(a.dtype(), Not{a})) : graph_.Error(node, "of no boolean");
    }
    if (type == "Select") return MakeSelectOf(node);
    if (type == "Call") return MakeCallOf(node);
    const bool is_leaf = type == "Var" || type == "SizeVar" || type == "IntImm" || type == "FloatImm";
    if (!is_leaf && type != "Cast") return Unimplemented(graph_.Error(node, "no expression of an index map").message());
    ASSIGN_OR_RETURN(const std::string name, graph_.Dtype(node));
    ASSIGN_OR_RETURN(const DataType dtype, DataType::Parse(name));
    if (!dtype.is_scalar() || !IsNumber(dtype)) return graph_.Error(node, fmt::format("it is of type {}", name));
    if (is_leaf) return MakeLeaf(node, type, dtype);
    ASSIGN_OR_RETURN(const Expr value, Field(node, "value"));
    return Expr::Make(dtype, Cast{value});
  }
  StatusOr<Expr> MakeBinaryOf(int node, BinaryOp op) {
    ASSIGN_OR_RETURN(const Expr a, Field(node, "a"));
    ASSIGN_OR_RETURN(const Expr b, Field(node, "b"));
    return CombineExprs(op, a, b, /*fold=*/false);
  }
  StatusOr<Expr> MakeSelectOf(int node) {
    ASSIGN_OR_RETURN(const Expr condition, Field(node, "condition"));
    ASSIGN_OR_RETURN(const Expr yes, Field(node, "true_value"));
    ASSIGN_OR_RETURN(const Expr no, Field(node, "false_value"));
    if (!condition.dtype().is_bool() || yes.dtype() != no.dtype()) return graph_.Error(node, "its types do not fit");
    return Expr::Make(yes.dtype(), Select{condition, yes, no});
  }
  StatusOr<Expr> MakeCallOf(int node) {
    ASSIGN_OR_RETURN(const int op, graph_.Ref(node, "op"));
    ASSIGN_OR_RETURN(const std::string name, graph_.StringOf(op));
    const Op* known = FindOpOfTvm(std::string_view(name).substr(name.rfind('.') + 1));
    if (known == nullptr) return Unimplemented(graph_.Error(op, "there is no such operation here").message());
    ASSIGN_OR_RETURN(const int list, graph_.Ref(node, "args"));
    ASSIGN_OR_RETURN(std::vector<Expr> args, ReadList(list));
    return CallExpr(*known, std::move(args));
  }
  // A node of its own, also where the constant is a common one.
  StatusOr<Expr> MakeLeaf(int node, const std::string& type, DataType dtype) {
    if (type == "IntImm") {
      ASSIGN_OR_RETURN(const int64_t value, graph_.IntValue(node, "value"));
      if (dtype.is_float()) return graph_.Error(node, "an integer of a type of floats");
      ASSIGN_OR_RETURN(const Expr fits, ConvertExpr(dtype, IntConst(DataType::Int(64), value)));
      return Expr::Make(dtype, IntImm{*AsIntConst(fits)});
    }
    if (type == "FloatImm") {
      ASSIGN_OR_RETURN(const double value, graph_.Float(node, "value"));
      return dtype.is_float() ? StatusOr<Expr>(Expr::Make(dtype, FloatImm{value})) : graph_.Error(node, "of no float");
    }
    ASSIGN_OR_RETURN(const int name_node, graph_.Ref(node, "name"));
    ASSIGN_OR_RETURN(std::string name, graph_.StringOf(name_node));
    return Expr(Var(std::move(name), dtype));
  }

  const NodeGraph& graph_;
  std::unordered_map<int, Expr> known_;
  int depth_ = 0;
};

// ---- Writing, as v0.18 does --------------------------------------------------------------------------------------

// Nodes before what they refer to, fields by name as texts; laid out as dmlc's JSONWriter does.
class OldGraphWriter {
 public:
  explicit OldGraphWriter(const TraceMap& map) {
    for (const auto& [var, sampled] : map.sampled) names_.emplace(var.get(), NameOf(sampled));
  }

  StatusOr<std::string> Write(const IndexMap& map) {
    nodes_.emplace_back("    {\n      \"type_key\": \"\"\n    }");
    const int root = Map(map);
    if (!unknown_.empty()) return Unimplemented(fmt::format("write TVM's nodes: {} is of no index map", unknown_));
    return fmt::format(
        "{{\n  \"root\": {}, \n  \"nodes\": [\n{}\n  ], \n  \"b64ndarrays\": [], \n"
        "  \"attrs\": {{\"tvm_version\": \"0.18.0\"}}\n}}",
        root, fmt::join(nodes_, ", \n"));
  }

 private:
  using Fields = std::map<std::string, std::string>;

  int NewNode() {
    nodes_.emplace_back();
    return static_cast<int>(nodes_.size()) - 1;
  }
  void Fill(int node, std::string_view type, std::string_view rest) {
    nodes_[node] = fmt::format("    {{\n      \"type_key\": \"{}\"{}\n    }}", type, rest);
  }
  void Fill(int node, std::string_view type, const Fields& fields) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : fields) texts.push_back(fmt::format("\"{}\": {}", name, Quoted(value)));
    if (texts.size() == 1) return Fill(node, type, fmt::format(", \n      \"attrs\": {{{}}}", texts[0]));
    Fill(node, type, fmt::format(", \n      \"attrs\": {{\n        {}\n      }}", fmt::join(texts, ", \n        ")));
  }
  static std::string Quoted(const std::string& text) { return ToTvmText(TvmJson(text)); }

  int Map(const IndexMap& map) {
    const int node = NewNode();
    const int from = Array({map.initial_indices.begin(), map.initial_indices.end()}), to = Array(map.final_indices);
    const int inverse = map.inverse_index_map == nullptr ? 0 : Map(*map.inverse_index_map);
    Fill(node, "tir.IndexMap",
         Fields{{"initial_indices", std::to_string(from)},
                {"final_indices", std::to_string(to)},
                {"inverse_index_map", std::to_string(inverse)}});
    return node;
  }
  int Array(const std::vector<lathe::Expr>& items) {
    const int node = NewNode();
    std::vector<int> numbers;
    for (const lathe::Expr& item : items) numbers.push_back(Expr(item));
    const std::string list = numbers.size() > 10
                                 ? fmt::format("[\n        {}\n      ]", fmt::join(numbers, ", \n        "))
                                 : fmt::format("[{}]", fmt::join(numbers, ", "));
    Fill(node, "Array", numbers.empty() ? "" : fmt::format(", \n      \"data\": {}", list));
    return node;
  }
  int Text(const std::string& text) {
    const int node = NewNode();
    Fill(node, "runtime.String", text.empty() ? "" : fmt::format(", \n      \"repr_str\": {}", Quoted(text)));
    return node;
  }

  int Expr(const lathe::Expr& e) {
    const auto known = known_.find(e.get());
    if (known != known_.end()) return known->second;
    const int node = NewNode();
    if (!IsCommonConstant(e)) known_.emplace(e.get(), node);
    Fields fields{{"dtype", e.dtype().ToString()}, {"span", "0"}};
    const std::string type = VisitNode(e, [&](const auto& part) { return Add(e, part, fields); });
    if (type.empty()) unknown_ = "an expression of this kind";
    Fill(node, type, fields);
    return node;
  }
  void Add(Fields& fields, const char* name, const lathe::Expr& e) { fields[name] = std::to_string(Expr(e)); }
  std::string Add(const lathe::Expr& e, const VarName& var, Fields& fields) {
    const auto name = names_.find(e.get());
    fields["name"] = std::to_string(Text(name == names_.end() ? var.name : name->second));
    const int type = NewNode();
    Fill(type, "PrimType", Fields{{"dtype", e.dtype().ToString()}});
    fields["type_annotation"] = std::to_string(type);
    return "tir.Var";
  }
  std::string Add(const lathe::Expr&, const IntImm& number, Fields& fields) {
    fields["value"] = std::to_string(number.value);
    return "IntImm";
  }
  std::string Add(const lathe::Expr&, const FloatImm& number, Fields& fields) {
    fields["value"] = fmt::format("{:.17g}", number.value);
    return "FloatImm";
  }
  std::string Add(const lathe::Expr&, const Binary& op, Fields& fields) {
    Add(fields, "a", op.a);
    Add(fields, "b", op.b);
    return fmt::format("tir.{}", SpellingOf(op.op).exact);
  }
  std::string Add(const lathe::Expr&, const Not& op, Fields& fields) {
    Add(fields, "a", op.a);
    return "tir.Not";
  }
  std::string Add(const lathe::Expr&, const Cast& cast, Fields& fields) {
    Add(fields, "value", cast.value);
    return "tir.Cast";
  }
  std::string Add(const lathe::Expr&, const Select& select, Fields& fields) {
    Add(fields, "condition", select.condition);
    Add(fields, "true_value", select.true_value);
    Add(fields, "false_value", select.false_value);
    return "tir.Select";
  }
  std::string Add(const lathe::Expr&, const lathe::Call& call, Fields& fields) {
    const int op = NewNode();
    Fill(op, "Op", fmt::format(", \n      \"repr_str\": \"tir.{}\"", TvmNameOf(*call.op)));
    fields["op"] = std::to_string(op);
    fields["args"] = std::to_string(Array(call.args));
    return "tir.Call";
  }
  template <typename T>
  std::string Add(const lathe::Expr&, const T&, Fields&) {
    return "";
  }

  std::vector<std::string> nodes_;
  std::unordered_map<const ExprNode*, int> known_;
  std::unordered_map<const ExprNode*, std::string> names_;
  std::string unknown_;
};

}  // namespace

StatusOr<IndexMap> ReadTvmIndexMap(std::string_view text) {
  ASSIGN_OR_RETURN(const NodeGraph graph, NodeGraph::Read(text));
  return MapReader(graph).Read(graph.root());
}

StatusOr<std::string> WriteOldTvmIndexMap(const TraceMap& map) { return OldGraphWriter(map).Write(*map); }

}  // namespace lathe
