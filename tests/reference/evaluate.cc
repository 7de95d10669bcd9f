#include "tests/reference/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <fstream>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "support/status_macros.h"
#include "tests/reference/operators.h"
#include "tests/reference/tensor_io.h"

namespace lathe::reference {
namespace {

constexpr int64_t kNewestOpset = 22;

bool IsDefaultDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string NodeName(const onnx::NodeProto& node) {
  if (!node.name().empty()) return fmt::format("\"{}\"", node.name());
  return fmt::format("(makes \"{}\")", node.output_size() > 0 ? node.output(0) : "");
}

std::string OperatorName(const onnx::NodeProto& node) {
  return IsDefaultDomain(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
}

StatusOr<int64_t> DefaultOpset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (!IsDefaultDomain(import.domain())) continue;
    if (import.version() >= 1 && import.version() <= kNewestOpset) return static_cast<int64_t>(import.version());
    return Unimplemented(fmt::format("operator set {}: the evaluator knows 1 to {}", import.version(), kNewestOpset));
  }
  if (model.ir_version() < 3) return int64_t{1};  // Operator sets came with IR version 3.
  return InvalidArgument("the model imports no operator set of the default domain");
}

Status CheckOperators(const onnx::GraphProto& graph) {
  std::map<std::string, std::vector<std::string>> unknown;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!IsDefaultDomain(node.domain()) || !FindOperator(node.op_type()))
      unknown[OperatorName(node)].push_back(NodeName(node));
  }
  if (unknown.empty()) return OkStatus();
  std::vector<std::string> lines;
  for (const auto& [op, nodes] : unknown) lines.push_back(fmt::format("{} at {}", op, fmt::join(nodes, ", ")));
  return Unimplemented(fmt::format("{} unknown operators: {}", unknown.size(), fmt::join(lines, "; ")));
}

std::unordered_set<std::string> InitializerNames(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  return names;
}

std::vector<const onnx::ValueInfoProto*> RealInputs(const onnx::GraphProto& graph) {
  const std::unordered_set<std::string> initializers = InitializerNames(graph);
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const auto& input : graph.input()) {
    if (!initializers.contains(input.name())) inputs.push_back(&input);
  }
  return inputs;
}

Status CheckInput(const onnx::ValueInfoProto& declared, const Tensor& given) {
  const auto& type = declared.type().tensor_type();
  bool fits = !declared.type().has_tensor_type() || type.elem_type() == static_cast<int>(given.type);
  if (declared.type().has_tensor_type() && type.has_shape()) {
    fits &= type.shape().dim_size() == given.rank();
    for (int64_t a = 0; fits && a < given.rank(); ++a) {
      const auto& dim = type.shape().dim(static_cast<int>(a));
      fits &= !dim.has_dim_value() || dim.dim_value() == given.dims[a];
    }
  }
  if (fits) return OkStatus();
  std::string shape = type.has_shape() ? "[" : "";
  for (int a = 0; a < type.shape().dim_size(); ++a) {
    const auto& dim = type.shape().dim(a);
    shape += (a > 0 ? ", " : "") + (dim.has_dim_value()       ? std::to_string(dim.dim_value())
                                    : dim.dim_param().empty() ? "?"
                                                              : dim.dim_param());
  }
  return InvalidArgument(fmt::format("input \"{}\" is {}, the model declares data type {} {}{}", declared.name(),
                                     TypeText(given), type.elem_type(), shape, type.has_shape() ? "]" : ""));
}

// Evaluates on demand, depth first, so that a weight made by a node exists only while somebody needs it.
class Evaluation {
 public:
  Evaluation(const onnx::GraphProto& graph, int64_t opset) : graph_(graph), opset_(opset) {}

  Status Bind(const std::vector<Tensor>& inputs) {
    const auto declared = RealInputs(graph_);
    if (inputs.size() != declared.size()) {
      return InvalidArgument(fmt::format("{} inputs given, the model has {}", inputs.size(), declared.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      RETURN_IF_ERROR(CheckInput(*declared[i], inputs[i]));
      borrowed_[declared[i]->name()] = &inputs[i];
    }
    for (const auto& tensor : graph_.initializer()) initializers_[tensor.name()] = &tensor;
    for (const auto& node : graph_.node()) {
      for (const std::string& output : node.output()) {
        if (output.empty()) continue;
        if (IsSource(output) || !producers_.emplace(output, &node).second) {
          return InvalidArgument(
              fmt::format("value \"{}\" is made twice; the second time by node {}", output, NodeName(node)));
        }
      }
    }
    return OkStatus();
  }

  StatusOr<std::vector<Tensor>> Run(const std::vector<std::string>& names) {
    ASSIGN_OR_RETURN(const std::vector<const onnx::NodeProto*> order, Order(names));
    for (const onnx::NodeProto* node : order) {
      for (const std::string& input : node->input()) ++uses_[input];
    }
    for (const std::string& name : names) ++uses_[name];
    for (const onnx::NodeProto* node : order) {
      Status status = RunNode(*node);
      if (!status.ok()) return status.WithContext(fmt::format("{} {}", OperatorName(*node), NodeName(*node)));
    }
    std::vector<Tensor> results;
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(const Tensor* value, Find(name));
      results.push_back(*value);
    }
    return results;
  }

 private:
  bool IsSource(const std::string& name) const { return borrowed_.contains(name) || initializers_.contains(name); }

  // Nodes that `names` need, each after the makers of its inputs.
  StatusOr<std::vector<const onnx::NodeProto*>> Order(const std::vector<std::string>& names) const {
    struct Visit {
      const onnx::NodeProto* node;
      int next_input;
    };
    std::vector<const onnx::NodeProto*> order;
    std::unordered_map<const onnx::NodeProto*, bool> finished;  // false while on the stack.
    std::vector<Visit> stack;
    const auto enter = [&](const std::string& name, const std::string& reader) -> Status {
      if (name.empty() || IsSource(name)) return OkStatus();
      const auto producer = producers_.find(name);
      if (producer == producers_.end())
        return InvalidArgument(
            fmt::format("value \"{}\", needed by {}, is made by no node, input or initializer", name, reader));
      const auto [state, is_new] = finished.emplace(producer->second, false);
      if (is_new) stack.push_back({producer->second, 0});
      if (!is_new && !state->second) return InvalidArgument(fmt::format("value \"{}\" depends on itself", name));
      return OkStatus();
    };
    for (const std::string& name : names) {
      RETURN_IF_ERROR(enter(name, "the caller"));
      while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.next_input < top.node->input_size()) {
          RETURN_IF_ERROR(enter(top.node->input(top.next_input++), "node " + NodeName(*top.node)));  // May move `top`.
          continue;
        }
        finished[top.node] = true;
        order.push_back(top.node);
        stack.pop_back();
      }
    }
    return order;
  }

  StatusOr<const Tensor*> Find(const std::string& name) {
    if (const auto input = borrowed_.find(name); input != borrowed_.end()) return input->second;
    if (const auto value = values_.find(name); value != values_.end()) return &value->second;
    const auto initializer = initializers_.find(name);
    if (initializer == initializers_.end()) return InvalidArgument(fmt::format("no value \"{}\"", name));
    ASSIGN_OR_RETURN(Tensor tensor, FromProto(*initializer->second));
    return &values_.emplace(name, std::move(tensor)).first->second;
  }

  Status RunNode(const onnx::NodeProto& proto) {
    const OperatorRow& row = *FindOperator(proto.op_type());
    std::vector<const Tensor*> inputs;
    for (const std::string& name : proto.input()) {
      inputs.push_back(nullptr);
      if (name.empty()) continue;
      ASSIGN_OR_RETURN(inputs.back(), Find(name));
    }
    const Node node(proto, opset_, std::move(inputs));
    for (size_t i = 0; i < row.min_inputs; ++i) {
      if (!node.HasInput(i)) return InvalidArgument(fmt::format("input {} is absent", i));
    }
    if (node.num_inputs() > row.max_inputs)
      return InvalidArgument(fmt::format("{} inputs, at most {}", node.num_inputs(), row.max_inputs));
    ASSIGN_OR_RETURN(std::vector<Tensor> outputs, row.evaluate(node));
    RETURN_IF_ERROR(node.attribute_status());
    for (size_t i = 0; i < node.num_outputs(); ++i) {
      if (!node.WantsOutput(i)) continue;
      if (i >= outputs.size()) return Unimplemented(fmt::format("output {} of {}", i, outputs.size()));
      const std::string& name = proto.output(static_cast<int>(i));
      if (uses_[name] > 0) values_[name] = std::move(outputs[i]);
    }
    for (const std::string& name : proto.input()) {
      if (--uses_[name] == 0) values_.erase(name);
    }
    return OkStatus();
  }

  const onnx::GraphProto& graph_;
  const int64_t opset_;
  std::unordered_map<std::string, const Tensor*> borrowed_;                 // The caller's inputs.
  std::unordered_map<std::string, const onnx::TensorProto*> initializers_;  // Decoded at first use.
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_map<std::string, Tensor> values_;
  std::unordered_map<std::string, int64_t> uses_;  // That are still to come.
};

}  // namespace

StatusOr<std::shared_ptr<const onnx::ModelProto>> LoadModel(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(fmt::format("open {}: cannot be read; check the path", path));
  auto model = std::make_shared<onnx::ModelProto>();
  if (!model->ParseFromIstream(&file))
    return InvalidArgument(fmt::format("read {}: not a serialized ONNX model", path));
  return std::shared_ptr<const onnx::ModelProto>(std::move(model));
}

std::vector<std::string> InputNames(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto* input : RealInputs(model.graph())) names.push_back(input->name());
  return names;
}

std::vector<std::string> OutputNames(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& output : model.graph().output()) names.push_back(output.name());
  return names;
}

StatusOr<std::vector<Tensor>> Evaluate(const onnx::ModelProto& model, const std::vector<Tensor>& inputs) {
  return EvaluateValues(model, inputs, OutputNames(model));
}

StatusOr<std::vector<Tensor>> EvaluateValues(const onnx::ModelProto& model, const std::vector<Tensor>& inputs,
                                             const std::vector<std::string>& names) {
  const auto run = [&]() -> StatusOr<std::vector<Tensor>> {
    ASSIGN_OR_RETURN(const int64_t opset, DefaultOpset(model));
    RETURN_IF_ERROR(CheckOperators(model.graph()));
    Evaluation evaluation(model.graph(), opset);
    RETURN_IF_ERROR(evaluation.Bind(inputs));
    return evaluation.Run(names);
  };
  StatusOr<std::vector<Tensor>> results = run();
  if (!results.ok()) return results.status().WithContext(fmt::format("evaluate graph \"{}\"", model.graph().name()));
  return results;
}

}  // namespace lathe::reference
