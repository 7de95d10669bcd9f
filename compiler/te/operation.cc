#include "compiler/te/operation.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "support/check.h"
#include "support/status_macros.h"

namespace lathe::te {

// Which operation computes the elements of a buffer, for all buffers that somebody may still read. Thread-safe.
class OperationTable {
 public:
  static OperationTable& Get() {
    static OperationTable* const table = new OperationTable;  // Outlives every tensor.
    return *table;
  }
  void Add(const Operation& op) {
    const std::lock_guard lock(mutex_);
    if (operations_.size() >= next_collection_) Collect();
    operations_.push_back(op);
    for (size_t i = 0; i < op->outputs_.size(); ++i) of_.emplace(op->outputs_[i].get(), Result{op.get(), i});
  }
  struct Result {
    const OperationNode* op;
    size_t index;
  };
  // The operation stays while the caller holds `buffer`.
  std::optional<Result> Find(const Buffer& buffer) {
    const std::lock_guard lock(mutex_);
    const auto found = of_.find(buffer.get());
    return found == of_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  // Of no use to anybody: neither it nor a buffer of its results is held elsewhere.
  static bool IsUnreachable(const Operation& op) {
    return op.use_count() == 1 && std::all_of(op->outputs_.begin(), op->outputs_.end(), [](const Buffer& buffer) {
             return buffer->refs.load(std::memory_order_acquire) == 1;
           });
  }
  // One that goes may be the last reader of others, which were made before it.
  void Collect() {
    for (size_t i = operations_.size(); i-- > 0;) {
      if (!IsUnreachable(operations_[i])) continue;
      for (const Buffer& buffer : operations_[i]->outputs_) of_.erase(buffer.get());
      operations_[i].reset();
    }
    std::erase(operations_, nullptr);
    next_collection_ = 2 * operations_.size() + 64;
  }

  std::mutex mutex_;
  std::vector<Operation> operations_;  // In the order in which they were made.
  std::unordered_map<const BufferNode*, Result> of_;
  size_t next_collection_ = 64;
};

namespace {

void AddUnlessThere(std::vector<Tensor>& tensors, const Tensor& tensor) {
  const bool is_there = std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.same_as(tensor); });
  if (!is_there) tensors.push_back(tensor);
}

void AddTensorsRead(std::vector<Tensor>& tensors, const Expr& e) {
  PostOrderVisit(e, [&](const Expr& part) {
    const BufferLoad* load = part.As<BufferLoad>();
    const std::optional<Tensor> tensor = load == nullptr ? std::nullopt : Tensor::Of(load->buffer);
    if (tensor) AddUnlessThere(tensors, *tensor);
  });
}

// The buffers of an operation's results.
std::vector<Buffer> MakeResults(const std::string& name, const std::vector<OutputType>& outputs) {
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string own = outputs.size() == 1 ? name : name + "_v" + std::to_string(i);
    buffers.push_back(MakeBuffer(own, outputs[i].shape, outputs[i].dtype));
  }
  return buffers;
}

Status ComputeError(const std::string& name, const std::string& why) {
  return InvalidArgument("compute \"" + name + "\": " + why);
}

bool HasReduce(const Expr& e) {
  bool found = false;
  PostOrderVisit(e, [&](const Expr& part) { found |= part.As<Reduce>() != nullptr; });
  return found;
}

// The Reduce that `e` is has none below it, and what is none has none anywhere.
Status CheckReduceIsWhole(const std::string& name, const Expr& e) {
  const Reduce* reduce = e.As<Reduce>();
  const auto below = [&](const std::vector<Expr>& parts) { return std::any_of(parts.begin(), parts.end(), HasReduce); };
  const bool is_nested = reduce == nullptr ? HasReduce(e) : below(reduce->source) || HasReduce(reduce->condition);
  if (!is_nested) return OkStatus();
  return ComputeError(name, "a reduction is part of an expression; make it a tensor of its own and use that");
}

bool SameAxes(const std::vector<IterVar>& a, const std::vector<IterVar>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const IterVar& x, const IterVar& y) { return x.var.same_as(y.var); });
}
bool SameExprs(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return StructuralEqual(x, y); });
}

// Results of one reduction: component i of the same sources over the same axes.
Status CheckOneReduction(const std::string& name, const std::vector<Expr>& body) {
  const Reduce* first = body.front().As<Reduce>();
  for (auto axis = first->axis.begin(); axis != first->axis.end(); ++axis) {
    const auto is_later = [&](const ExprNode* var) {
      return std::any_of(axis, first->axis.end(), [&](const IterVar& other) { return other.var.get() == var; });
    };
    if (UsesVar(axis->domain.min, is_later) || UsesVar(axis->domain.extent, is_later))
      return ComputeError(name, "the range of reduction axis \"" + axis->var.name() +
                                    "\" depends on a later one's place; put that first");
  }
  for (size_t i = 0; i < body.size(); ++i) {
    const Reduce* reduce = body[i].As<Reduce>();
    const bool is_same =
        reduce != nullptr && SameAxes(reduce->axis, first->axis) && SameExprs(reduce->source, first->source) &&
        reduce->combiner.lhs.size() == first->combiner.lhs.size() && reduce->value_index == static_cast<int64_t>(i);
    if (!is_same)
      return ComputeError(name, "result " + std::to_string(i) +
                                    " is not that component of the reduction of result 0; return the whole reduction");
  }
  if (body.size() == first->source.size()) return OkStatus();
  return ComputeError(name, "the reduction has " + std::to_string(first->source.size()) + " components, the compute " +
                                std::to_string(body.size()) + " results; return all of them");
}

Status CheckBody(const std::string& name, const std::vector<Expr>& body) {
  if (body.empty()) return ComputeError(name, "it has no result; return at least one value");
  bool has_reduction = false;
  for (const Expr& e : body) {
    RETURN_IF_ERROR(CheckDepth(e).WithContext(fmt::format("compute \"{}\"", name)));
    RETURN_IF_ERROR(CheckReduceIsWhole(name, e));
    has_reduction |= e.As<Reduce>() != nullptr;
    if (e.dtype().code == DataType::Code::kHandle || !e.dtype().is_scalar())
      return ComputeError(name, "a result is " + e.dtype().ToString() + "; elements are scalar numbers");
  }
  if (!has_reduction) return OkStatus();
  if (body.front().As<Reduce>() == nullptr)
    return ComputeError(name, "some results are reductions and some are not; make two computes of them");
  return CheckOneReduction(name, body);
}

std::vector<Expr> ExtentsOf(const std::vector<IterVar>& axis) {
  std::vector<Expr> shape;
  for (const IterVar& iter : axis) shape.push_back(iter.domain.extent);
  return shape;
}

bool SameShape(const std::vector<Expr>& a, const std::vector<Expr>& b, size_t from = 0) {
  return a.size() == b.size() &&
         (a.size() <= from || SameExprs({a.begin() + from, a.end()}, {b.begin() + from, b.end()}));
}

}  // namespace

std::optional<Tensor> Tensor::Of(const Buffer& buffer) {
  const std::optional<OperationTable::Result> result = OperationTable::Get().Find(buffer);
  if (!result) return std::nullopt;
  return result->op->output(result->index);
}

OperationNode::OperationNode(std::string name, std::string tag, AttrMap attrs, const std::vector<OutputType>& outputs,
                             Kind kind)
    : name_(std::move(name)),
      tag_(std::move(tag)),
      attrs_(std::move(attrs)),
      kind_(std::move(kind)),
      outputs_(MakeResults(name_, outputs)) {}

Operation OperationNode::Make(std::string name, std::string tag, AttrMap attrs, const std::vector<OutputType>& outputs,
                              Kind kind) {
  const std::shared_ptr<OperationNode> op(
      new OperationNode(std::move(name), std::move(tag), std::move(attrs), outputs, std::move(kind)));
  op->self_ = op;
  OperationTable::Get().Add(op);
  return op;
}

Tensor OperationNode::output(size_t i) const {
  CHECK(i < outputs_.size()) << name_ << " has " << outputs_.size() << " results, not one at " << i;
  return Tensor(outputs_[i], self_.lock(), i);
}

std::vector<Tensor> OperationNode::outputs() const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < outputs_.size(); ++i) tensors.push_back(output(i));
  return tensors;
}

std::vector<Tensor> OperationNode::InputTensors() const {
  std::vector<Tensor> tensors;
  if (const ComputeOp* compute = As<ComputeOp>()) {
    for (const Expr& e : compute->body) {
      AddTensorsRead(tensors, e);
      if (compute->is_reduction()) break;  // Every further result has the same parts.
    }
  } else if (const ScanOp* scan = As<ScanOp>()) {
    for (const auto* part : {&scan->init, &scan->update}) {
      for (const Tensor& tensor : *part) AddUnlessThere(tensors, tensor);
    }
  } else if (const ExternOp* external = As<ExternOp>()) {
    for (const Tensor& tensor : external->inputs) AddUnlessThere(tensors, tensor);
  }
  return tensors;
}

Tensor Placeholder(std::vector<Expr> shape, DataType dtype, std::string name) {
  return OperationNode::Make(std::move(name), "", {}, {{std::move(shape), dtype}}, PlaceholderOp{})->output(0);
}

std::vector<IterVar> MakeAxes(const std::vector<Expr>& shape, const ComputeOptions& options) {
  std::vector<IterVar> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::string name = i < options.axis_names.size() ? options.axis_names[i] : "i" + std::to_string(i);
    axes.push_back({{IntConst(shape[i].dtype(), 0), shape[i]}, Var(name, shape[i].dtype()), IterKind::kSpatial, ""});
  }
  return axes;
}

StatusOr<Operation> MakeCompute(std::vector<IterVar> axis, std::vector<Expr> body, ComputeOptions options) {
  const Status status = CheckBody(options.name, body);
  if (!status.ok()) return status;
  std::vector<OutputType> outputs;
  for (const Expr& e : body) outputs.push_back({ExtentsOf(axis), e.dtype()});
  const Reduce* reduce = body.front().As<Reduce>();
  ComputeOp compute{std::move(axis), reduce == nullptr ? std::vector<IterVar>{} : reduce->axis, std::move(body),
                    std::move(options.layout_free)};
  return OperationNode::Make(std::move(options.name), std::move(options.tag), std::move(options.attrs), outputs,
                             std::move(compute));
}

Tensor Compute(const std::vector<Expr>& shape, const PointValue& value, ComputeOptions options) {
  return ComputeSeveral(
             shape, [&](const std::vector<Expr>& point) { return std::vector<Expr>{value(point)}; }, std::move(options))
      .front();
}

std::vector<Tensor> ComputeSeveral(const std::vector<Expr>& shape, const PointValues& values, ComputeOptions options) {
  std::vector<IterVar> axis = MakeAxes(shape, options);
  std::vector<Expr> point;
  for (const IterVar& iter : axis) point.push_back(iter.var);
  return MakeCompute(std::move(axis), values(point), std::move(options)).value()->outputs();
}

StatusOr<Operation> MakeScan(std::vector<Tensor> init, std::vector<Tensor> update, std::vector<Tensor> state,
                             std::vector<Tensor> inputs, std::string name, std::string tag, AttrMap attrs) {
  const auto error = [&](const std::string& why) { return InvalidArgument("scan \"" + name + "\": " + why); };
  if (init.empty() || init.size() != update.size() || init.size() != state.size())
    return error("expected as many inits and updates as states, at least one, got " + std::to_string(init.size()) +
                 ", " + std::to_string(update.size()) + " and " + std::to_string(state.size()));
  std::vector<OutputType> outputs;
  for (size_t i = 0; i < state.size(); ++i) {
    const std::vector<Expr>& shape = state[i].shape();
    const std::string place = "state " + std::to_string(i);
    if (shape.empty() || state[i].op()->As<PlaceholderOp>() == nullptr)
      return error(place + " is no placeholder with a dimension to scan over");
    if (!SameShape(shape, update[i].shape()) || !SameShape(shape, init[i].shape(), 1))
      return error(place + ": its shape is not that of its update, or init differs beyond the first dimension");
    if (state[i].dtype() != update[i].dtype() || state[i].dtype() != init[i].dtype())
      return error(place + ": state, init and update have different types");
    if (!StructuralEqual(shape[0], state[0].shape()[0])) return error(place + " has another number of steps");
    outputs.push_back({shape, state[i].dtype()});
  }
  const Expr first = init[0].shape()[0], steps = state[0].shape()[0];
  const IterVar axis{{first, steps - first}, Var(name + ".idx", steps.dtype()), IterKind::kScan, ""};
  std::vector<IterVar> spatial;
  for (size_t i = 0; i < state.size(); ++i) {
    for (size_t d = 1; d < state[i].ndim(); ++d) {
      const Expr& extent = state[i].shape()[d];
      const Var var(name + ".out" + std::to_string(i) + ".i" + std::to_string(d), extent.dtype());
      spatial.push_back({{IntConst(extent.dtype(), 0), extent}, var, IterKind::kOpaque, ""});
    }
  }
  ScanOp scan{axis, std::move(init), std::move(update), std::move(state), std::move(inputs), std::move(spatial)};
  return OperationNode::Make(std::move(name), std::move(tag), std::move(attrs), outputs, std::move(scan));
}

StatusOr<Operation> MakeExtern(std::vector<Tensor> inputs, std::vector<Buffer> input_buffers,
                               std::vector<Buffer> output_buffers, Stmt body, std::string name, std::string tag,
                               AttrMap attrs) {
  const auto error = [&](const std::string& why) { return InvalidArgument("extern \"" + name + "\": " + why); };
  if (inputs.size() != input_buffers.size())
    return error("expected a buffer per input, got " + std::to_string(inputs.size()) + " inputs and " +
                 std::to_string(input_buffers.size()) + " buffers");
  if (output_buffers.empty()) return error("it has no result; give at least one shape");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != input_buffers[i]->dtype || inputs[i].ndim() != input_buffers[i]->shape.size())
      return error("the buffer of input " + std::to_string(i) + " has another type or number of dimensions than it");
  }
  std::vector<OutputType> outputs;
  for (const Buffer& buffer : output_buffers) outputs.push_back({buffer->shape, buffer->dtype});
  return OperationNode::Make(
      std::move(name), std::move(tag), std::move(attrs), outputs,
      ExternOp{std::move(inputs), std::move(input_buffers), std::move(output_buffers), std::move(body)});
}

}  // namespace lathe::te
