// Tensors and the operations that compute them, as in TVM's te: descriptions of what is computed, element by element,
// before there are loops. CreatePrimFunc (create_prim_func.h) makes programs of them.
//
// A use of a tensor is a load from its buffer, and whoever holds that buffer keeps the operation alive: expressions may
// outlive the handles that they were written with. Operations that nobody can reach any more go when others are made.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe::te {

class OperationNode;
using Operation = std::shared_ptr<const OperationNode>;  // Known by its identity.

// One result of an operation.
class Tensor {
 public:
  // The tensor whose elements are in `buffer`; nullopt: no operation computes them.
  static std::optional<Tensor> Of(const Buffer& buffer);

  const std::string& name() const { return buffer_->name; }  // The operation's; with "_v0" ... where it has several.
  const std::vector<Expr>& shape() const { return buffer_->shape; }
  size_t ndim() const { return buffer_->shape.size(); }
  DataType dtype() const { return buffer_->dtype; }
  const Operation& op() const { return op_; }
  size_t value_index() const { return index_; }
  const Buffer& buffer() const { return buffer_; }
  bool same_as(const Tensor& other) const { return buffer_.same_as(other.buffer_); }
  // An element. CHECKs that there is an index per dimension.
  Expr operator()(std::vector<Expr> indices) const { return Load(buffer_, std::move(indices)); }

 private:
  friend class OperationNode;
  Tensor(Buffer buffer, Operation op, size_t index) : buffer_(std::move(buffer)), op_(std::move(op)), index_(index) {}
  Buffer buffer_;
  Operation op_;
  size_t index_;
};

// ---- Kinds of operations.
struct PlaceholderOp {};  // Given from outside.
// Result i at `axis` is body[i]. A reduction's body is Reduce nodes over `reduce_axis` that differ in value_index only.
struct ComputeOp {
  std::vector<IterVar> axis, reduce_axis;
  std::vector<Expr> body;
  std::vector<Tensor> layout_free;  // Of its inputs, those whose layout in memory nobody else depends on.
  bool is_reduction() const { return body.front().As<Reduce>() != nullptr; }  // Of no axis, too.
};
// Result i is state i after all steps: `init[i]` says its first elements along the outermost dimension; `update[i]`
// each further one, from elements of `state[i]` that came before.
struct ScanOp {
  IterVar scan_axis;
  std::vector<Tensor> init, update, state, inputs;
  std::vector<IterVar> spatial_axis;  // The other dimensions, result after result.
};
// A statement, or several, written by hand over the inputs' and results' buffers.
struct ExternOp {
  std::vector<Tensor> inputs;
  std::vector<Buffer> input_buffers, output_buffers;  // What `body` calls them.
  Stmt body;
};

struct OutputType {
  std::vector<Expr> shape;
  DataType dtype;
};

class OperationTable;

class OperationNode {
 public:
  using Kind = std::variant<PlaceholderOp, ComputeOp, ScanOp, ExternOp>;
  static Operation Make(std::string name, std::string tag, AttrMap attrs, const std::vector<OutputType>& outputs,
                        Kind kind);

  const std::string& name() const { return name_; }
  const std::string& tag() const { return tag_; }
  const AttrMap& attrs() const { return attrs_; }
  const Kind& kind() const { return kind_; }
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&kind_);
  }
  size_t num_outputs() const { return outputs_.size(); }
  Tensor output(size_t i) const;
  std::vector<Tensor> outputs() const;
  // The tensors that it reads, each once, in order of appearance.
  std::vector<Tensor> InputTensors() const;

 private:
  friend class OperationTable;
  OperationNode(std::string name, std::string tag, AttrMap attrs, const std::vector<OutputType>& outputs, Kind kind);

  std::string name_, tag_;
  AttrMap attrs_;
  Kind kind_;
  std::vector<Buffer> outputs_;
  std::weak_ptr<const OperationNode> self_;
};

// ---- Making operations. What programs may get wrong is InvalidArgument that names the operation.

Tensor Placeholder(std::vector<Expr> shape, DataType dtype = DataType::Float(32), std::string name = "placeholder");

struct ComputeOptions {
  std::string name = "compute", tag;
  AttrMap attrs;
  std::vector<std::string> axis_names;  // "i0", "i1" ... where there are fewer names than dimensions.
  std::vector<Tensor> layout_free;
};
// Axes over `shape` with the names that `options` says.
std::vector<IterVar> MakeAxes(const std::vector<Expr>& shape, const ComputeOptions& options);
// One result per element of `body`. A Reduce may only be the whole of a body, and then all are of one reduction.
StatusOr<Operation> MakeCompute(std::vector<IterVar> axis, std::vector<Expr> body, ComputeOptions options);
// result[point] = value(point). CHECKs what MakeCompute refuses.
using PointValue = std::function<Expr(const std::vector<Expr>& point)>;
Tensor Compute(const std::vector<Expr>& shape, const PointValue& value, ComputeOptions options = {});
// Several results of one shape.
using PointValues = std::function<std::vector<Expr>(const std::vector<Expr>& point)>;
std::vector<Tensor> ComputeSeveral(const std::vector<Expr>& shape, const PointValues& values,
                                   ComputeOptions options = {});

// State i is a placeholder of the whole shape; init[i] covers its first rows, update[i] has its shape.
StatusOr<Operation> MakeScan(std::vector<Tensor> init, std::vector<Tensor> update, std::vector<Tensor> state,
                             std::vector<Tensor> inputs, std::string name = "scan", std::string tag = "",
                             AttrMap attrs = {});
StatusOr<Operation> MakeExtern(std::vector<Tensor> inputs, std::vector<Buffer> input_buffers,
                               std::vector<Buffer> output_buffers, Stmt body, std::string name = "extern",
                               std::string tag = "", AttrMap attrs = {});

}  // namespace lathe::te
