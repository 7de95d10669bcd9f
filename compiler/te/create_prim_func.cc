#include "compiler/te/create_prim_func.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"
#include "compiler/te/nest.h"
#include "compiler/te/scan.h"
#include "support/status_macros.h"

namespace lathe::te {
namespace {

class Orderer {
 public:
  void Visit(const Operation& op) {
    if (!seen_.insert(op.get()).second) return;
    for (const Tensor& input : op->InputTensors()) Visit(input.op());
    order_.push_back(op);
  }
  std::vector<Operation> Take() { return std::move(order_); }

 private:
  std::unordered_set<const OperationNode*> seen_;
  std::vector<Operation> order_;
};

Status FuncError(const std::string& name, const std::string& why) {
  return InvalidArgument("create_prim_func @" + name + ": " + why);
}

bool IsArgument(const std::vector<Argument>& args, const Tensor& tensor) {
  return std::any_of(args.begin(), args.end(), [&](const Argument& arg) {
    const Tensor* given = std::get_if<Tensor>(&arg);
    return given != nullptr && given->same_as(tensor);
  });
}

using TensorSet = std::unordered_set<const BufferNode*>;

// What the steps of scans read instead of their results.
TensorSet StatesOf(const std::vector<Operation>& operations) {
  TensorSet states;
  for (const Operation& op : operations) {
    const ScanOp* scan = op->As<ScanOp>();
    if (scan == nullptr) continue;
    for (const Tensor& state : scan->state) states.insert(state.buffer().get());
  }
  return states;
}

Status CheckArguments(const std::string& name, const std::vector<Argument>& args,
                      const std::vector<Operation>& operations, bool with_scans) {
  for (size_t i = 0; i < args.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Tensor* a = std::get_if<Tensor>(&args[i]);
      const Tensor* b = std::get_if<Tensor>(&args[j]);
      if (a != nullptr && b != nullptr && a->same_as(*b))
        return FuncError(name, "tensor \"" + a->name() + "\" is argument " + std::to_string(j) + " and " +
                                   std::to_string(i) + "; name it once");
    }
  }
  const TensorSet states = StatesOf(operations);
  for (const Operation& op : operations) {
    if (op->As<ScanOp>() != nullptr && !with_scans)
      return Unimplemented("create_prim_func @" + name + ": operation \"" + op->name() +
                           "\" is a scan, whose steps are no block; write it as a loop in TVMScript");
    for (const Tensor& input : op->InputTensors()) {
      const bool is_given = IsArgument(args, input) || states.contains(input.buffer().get());
      if (input.op()->As<PlaceholderOp>() != nullptr && !is_given)
        return FuncError(name, "operation \"" + op->name() + "\" reads placeholder \"" + input.name() +
                                   "\", which is no argument; add it");
    }
  }
  return OkStatus();
}

// A variable that nobody brings: neither an argument nor part of an argument's shape nor bound inside.
class FreeVarFinder : public StmtExprVisitor {
 public:
  explicit FreeVarFinder(const std::vector<Param>& params) {
    for (const Param& param : params) {
      if (const Var* var = std::get_if<Var>(&param)) Define(*var);
      const Buffer* buffer = std::get_if<Buffer>(&param);
      if (buffer == nullptr) continue;
      for (const Expr& extent : (*buffer)->shape)
        PostOrderVisit(extent, [&](const Expr& e) {
          if (IsVar(e)) Define(Var(e));
        });
    }
  }
  void Define(const Var& var) { known_.insert(var.get()); }
  void Look(const Operation& op) {
    if (const ComputeOp* compute = op->As<ComputeOp>()) {
      for (const auto* axes : {&compute->axis, &compute->reduce_axis})
        for (const IterVar& iter : *axes) Define(iter.var);
      for (const Expr& e : compute->body) VisitExpr(e);
    }
  }
  const std::optional<Var>& found() const { return found_; }

 protected:
  void VisitVar(const Expr& var) override {
    if (known_.count(var.get()) == 0 && var.dtype().code != DataType::Code::kHandle && !found_) found_ = Var(var);
  }
  void VisitExpr(const Expr& e) override {
    if (const Reduce* reduce = e.As<Reduce>()) return VisitReduce(*reduce);
    if (const Let* let = e.As<Let>()) Define(let->var);
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  void VisitReduce(const Reduce& reduce) {
    for (const IterVar& iter : reduce.axis) VisitExpr(iter.domain.extent);
    for (const auto* parts : {&reduce.source, &reduce.init})
      for (const Expr& e : *parts) VisitExpr(e);
    VisitExpr(reduce.condition);
  }

  std::unordered_set<const ExprNode*> known_;
  std::optional<Var> found_;
};

Status CheckVariables(const std::string& name, const std::vector<Param>& params,
                      const std::vector<Operation>& operations) {
  FreeVarFinder finder(params);
  for (const Operation& op : operations) {
    finder.Look(op);
    if (finder.found())
      return FuncError(name, "operation \"" + op->name() + "\" uses variable \"" + finder.found()->name() +
                                 "\", which is no argument; add it, or a tensor of its extent");
  }
  return OkStatus();
}

// Buffers whose data layout the caller may choose: indices of arguments.
std::vector<Attr> LayoutFree(const std::vector<Argument>& args, const std::vector<Operation>& operations) {
  std::vector<Attr> indices;
  for (size_t i = 0; i < args.size(); ++i) {
    const Tensor* tensor = std::get_if<Tensor>(&args[i]);
    const bool is_free =
        tensor != nullptr && std::any_of(operations.begin(), operations.end(), [&](const Operation& op) {
          const ComputeOp* compute = op->As<ComputeOp>();
          return compute != nullptr && std::any_of(compute->layout_free.begin(), compute->layout_free.end(),
                                                   [&](const Tensor& free) { return free.same_as(*tensor); });
        });
    if (is_free) indices.emplace_back(static_cast<int64_t>(i));
  }
  return indices;
}

std::vector<Buffer> BuffersOf(const std::vector<Tensor>& tensors) {
  std::vector<Buffer> buffers;
  for (const Tensor& tensor : tensors) buffers.push_back(tensor.buffer());
  return buffers;
}

// `memory`, a tensor's, as an operation that is written by hand takes it; at an offset of its own.
Buffer AsTaken(const Buffer& memory, const Buffer& taken) {
  BufferNode node = *memory;
  if (IsVar(taken->elem_offset)) node.elem_offset = Var("elem_offset", taken->elem_offset.dtype());
  node.offset_factor = taken->offset_factor;
  node.data_alignment = taken->data_alignment;
  return Buffer(std::move(node));
}

// The arguments that such operations take otherwise than tensors are.
BufferMap MovedArguments(const std::vector<Argument>& args, const std::vector<Operation>& operations) {
  BufferMap moved;
  const auto note = [&](const Tensor& tensor, const Buffer& taken) {
    const Buffer& memory = tensor.buffer();
    const bool is_plain = !IsVar(taken->elem_offset) && taken->offset_factor == memory->offset_factor &&
                          taken->data_alignment == memory->data_alignment;
    if (!is_plain && IsArgument(args, tensor)) moved.try_emplace(memory.get(), AsTaken(memory, taken));
  };
  for (const Operation& op : operations) {
    const ExternOp* external = op->As<ExternOp>();
    if (external == nullptr) continue;
    for (size_t i = 0; i < external->inputs.size(); ++i) note(external->inputs[i], external->input_buffers[i]);
    for (size_t i = 0; i < op->num_outputs(); ++i) note(op->output(i), external->output_buffers[i]);
  }
  return moved;
}

// What lies between, in the memory that it has: what is not global.
BufferMap InScopes(const std::vector<Argument>& args, const std::vector<Operation>& operations,
                   const StageForms& forms) {
  BufferMap moved;
  for (const Operation& op : operations) {
    const std::string scope = forms.scope_of(op);
    for (const Tensor& result : op->outputs()) {
      if (scope == "global" || IsArgument(args, result)) continue;
      BufferNode node = *result.buffer();
      node.scope = scope;
      node.data = UnsetData();
      moved.emplace(result.buffer().get(), Buffer(std::move(node)));
    }
  }
  return moved;
}

// Memory of single steps, for each scan; arguments are not.
using StepMemory = std::unordered_map<const OperationNode*, std::vector<Buffer>>;
StepMemory StepMemoryOf(const std::vector<Argument>& args, const std::vector<Operation>& operations) {
  StepMemory memory;
  for (const Operation& op : operations) {
    if (op->As<ScanOp>() == nullptr) continue;
    std::vector<Buffer> own = BuffersOfSteps(*op, operations);
    std::erase_if(own, [&](const Buffer& buffer) { return IsArgument(args, *Tensor::Of(buffer)); });
    memory.emplace(op.get(), std::move(own));
  }
  return memory;
}

// The nests of all operations. What the steps of a scan compute stands inside of its loop.
StatusOr<std::vector<Stmt>> MakeNests(const std::vector<Operation>& operations, const std::optional<StageForms>& forms,
                                      const BufferMap& moved, const StepMemory& of_steps) {
  Simplifier simplifier;
  const ExprRewrite simplify = [&](const Expr& e) { return simplifier.Simplify(e); };
  std::unordered_set<const OperationNode*> is_inside;
  for (const Operation& op : operations) {
    if (op->As<ScanOp>() == nullptr) continue;
    for (const Operation& inner : ScanBody(*op)) is_inside.insert(inner.get());
  }
  std::vector<Stmt> nests;
  for (const Operation& op : operations) {
    if (is_inside.contains(op.get())) continue;
    if (forms && forms->is_apart(op)) {
      const std::vector<Stmt> apart = MakeNestsApart(*op, BuffersOf(op->outputs()), simplify);
      nests.insert(nests.end(), apart.begin(), apart.end());
      continue;
    }
    if (op->As<ScanOp>() == nullptr) {
      nests.push_back(MakeNest(*op, BuffersOf(op->outputs()), simplify, moved));
      continue;
    }
    ASSIGN_OR_RETURN(std::vector<Stmt> several, MakeScanNests(*op, simplify, of_steps.at(op.get())));
    nests.insert(nests.end(), several.begin(), several.end());
  }
  if (!moved.empty())
    for (Stmt& nest : nests) nest = Substitute(nest, {}, moved);
  return nests;
}

// The buffers of all results but those of single steps; those that are moved in their places.
std::vector<Buffer> ResultsOf(const std::vector<Operation>& operations, const BufferMap& moved,
                              const StepMemory& of_steps) {
  TensorSet inside;
  for (const auto& [scan, own] : of_steps)
    for (const Buffer& buffer : own) inside.insert(buffer.get());
  std::vector<Buffer> computed;
  for (const Operation& op : operations) {
    for (const Buffer& result : BuffersOf(op->outputs())) {
      if (inside.contains(result.get())) continue;
      const auto found = moved.find(result.get());
      computed.push_back(found == moved.end() ? result : found->second);
    }
  }
  return computed;
}

}  // namespace

std::vector<Operation> OrderedOperations(const std::vector<Tensor>& args, bool with_placeholders) {
  Orderer orderer;
  for (const Tensor& tensor : args) orderer.Visit(tensor.op());
  std::vector<Operation> operations = orderer.Take();
  if (!with_placeholders)
    std::erase_if(operations, [](const Operation& op) { return op->As<PlaceholderOp>() != nullptr; });
  return operations;
}

StatusOr<PrimFunc> CreatePrimFunc(const std::vector<Argument>& args, std::string name,
                                  const std::optional<StageForms>& forms) {
  std::vector<Tensor> tensors;
  std::vector<Param> params;
  for (const Argument& arg : args) {
    const Tensor* tensor = std::get_if<Tensor>(&arg);
    if (tensor != nullptr) tensors.push_back(*tensor);
    params.push_back(tensor != nullptr ? Param(tensor->buffer()) : Param(std::get<Var>(arg)));
  }
  const std::vector<Operation> operations = OrderedOperations(tensors);
  RETURN_IF_ERROR(CheckArguments(name, args, operations, forms.has_value()));
  RETURN_IF_ERROR(CheckVariables(name, params, operations));
  const BufferMap moved = forms ? InScopes(args, operations, *forms) : MovedArguments(args, operations);
  const StepMemory of_steps = StepMemoryOf(args, operations);
  ASSIGN_OR_RETURN(const std::vector<Stmt> nests, MakeNests(operations, forms, moved, of_steps));
  for (Param& param : params)
    if (const Buffer* buffer = std::get_if<Buffer>(&param); buffer != nullptr && moved.contains(buffer->get()))
      param = Buffer(moved.at(buffer->get()));
  const std::vector<Buffer> computed = ResultsOf(operations, moved, of_steps);
  AttrMap attrs{{"tir.noalias", true}};
  std::vector<Attr> free = LayoutFree(args, operations);
  if (!free.empty()) attrs.emplace("layout_free_buffers", std::move(free));
  return AssembleFunc(std::move(name), params, nests, computed, std::move(attrs),
                      forms ? LoneBlock::kIsChild : LoneBlock::kIsRoot);
}

}  // namespace lathe::te
