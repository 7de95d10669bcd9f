// One ONNX node while it is translated: its inputs as Relax expressions, its attributes, and the function that grows.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/relax/block_builder.h"
#include "compiler/relax/evaluate.h"
#include "support/status.h"

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace lathe {

// Makes bindings, and evaluates what depends on constants alone at once, so that shape arithmetic is gone when it is
// needed.
class GraphBuilder {
 public:
  // Its bytes are those of all constants. Shape arithmetic, without which nothing can be imported, has as many steps
  // again, so that folded weights do not use them up.
  explicit GraphBuilder(relax::EvaluationBudget budget) : budget_(budget), shape_steps_(budget.steps_left) {}
  StatusOr<relax::Expr> Emit(std::string_view op, std::vector<relax::Expr> args, AttrMap attrs = {},
                             const std::string& name = "");
  // Takes the bytes from the budget, or says why not.
  Status Reserve(int64_t bytes);
  relax::BlockBuilder& builder() { return builder_; }
  // Whether a call on constants was left to run time because its steps were used up.
  bool HasRunOut() const { return budget_.steps_left <= 0 || shape_steps_ <= 0; }

 private:
  relax::BlockBuilder builder_;
  relax::EvaluationBudget budget_;
  int64_t shape_steps_;
};

class OnnxNode {
 public:
  // Keeps the references. `inputs` has nullopt where an optional input is absent.
  OnnxNode(const onnx::NodeProto& proto, int64_t opset, std::vector<std::optional<relax::Expr>> inputs,
           GraphBuilder& graph)
      : proto_(proto), opset_(opset), inputs_(std::move(inputs)), graph_(graph) {}

  int64_t opset() const { return opset_; }
  size_t num_inputs() const { return inputs_.size(); }
  bool HasInput(size_t i) const { return i < inputs_.size() && inputs_[i].has_value(); }
  StatusOr<relax::Expr> Input(size_t i) const;  // Absent ones are an error.
  StatusOr<std::vector<int64_t>> Shape(size_t i) const;
  StatusOr<DataType> DType(size_t i) const;
  // The elements of an input that must be constant here.
  StatusOr<relax::TensorData> ConstantInput(size_t i) const;
  StatusOr<std::vector<int64_t>> ConstantInts(size_t i) const;
  size_t num_outputs() const;  // Those named "" too.
  bool WantsOutput(size_t i) const;

  // Attributes; one of another type is an error that status() tells.
  bool Has(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t absent) const;
  double Float(std::string_view name, double absent) const;
  std::string String(std::string_view name, std::string_view absent) const;
  std::vector<int64_t> Ints(std::string_view name) const;
  std::vector<double> Floats(std::string_view name) const;
  StatusOr<relax::TensorData> TensorAttr(std::string_view name) const;
  const Status& attr_status() const { return attr_status_; }
  // After the translation: an attribute that nobody asked for would be dropped without a word.
  Status CheckAllAttributesRead() const;
  // Attribute `name` in opsets below `input_since`, else input `i`; absent: nullopt.
  StatusOr<std::optional<std::vector<int64_t>>> IntsAttrOrInput(std::string_view name, size_t i,
                                                                int64_t input_since) const;

  StatusOr<relax::Expr> Emit(std::string_view op, std::vector<relax::Expr> args, AttrMap attrs = {}) const;
  StatusOr<relax::Expr> Reshape(const relax::Expr& e, const std::vector<int64_t>& shape) const;
  GraphBuilder& graph() const { return graph_; }
  // Without the node: whoever translates it says which one it is.
  static Status Error(std::string what);

 private:
  const onnx::AttributeProto* Find(std::string_view name, int type) const;
  const onnx::NodeProto& proto_;
  int64_t opset_;
  std::vector<std::optional<relax::Expr>> inputs_;
  GraphBuilder& graph_;
  mutable Status attr_status_;
  mutable std::set<std::string> asked_;  // Names of attributes.
};

// The outputs of a node, as many as are wanted or the first ones of them.
using NodeOutputs = StatusOr<std::vector<relax::Expr>>;
NodeOutputs OneOutput(StatusOr<relax::Expr> output);
StatusOr<std::vector<int64_t>> ShapeOf(const relax::Expr& e);
// "Conv_12", or the name of its first output.
std::string NodeName(const onnx::NodeProto& proto);

}  // namespace lathe
