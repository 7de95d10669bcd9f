#include "compiler/te/scan.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "support/status_macros.h"

namespace lathe::te {
namespace {

class BodyFinder {
 public:
  explicit BodyFinder(const ScanOp& scan) {
    for (const Tensor& state : scan.state) depends_.emplace(state.op().get(), true);
    for (const Tensor& update : scan.update) Visit(update.op());
    // What an update is must be computed step by step, even where it reads no state.
    for (const Tensor& update : scan.update) {
      if (!depends_.at(update.op().get())) body_.push_back(update.op());
    }
  }
  std::vector<Operation> Take() { return std::move(body_); }

 private:
  bool Visit(const Operation& op) {
    if (const auto known = depends_.find(op.get()); known != depends_.end()) return known->second;
    bool depends = false;
    for (const Tensor& input : op->InputTensors()) depends |= Visit(input.op());
    depends_.emplace(op.get(), depends);
    if (depends) body_.push_back(op);
    return depends;
  }

  std::unordered_map<const OperationNode*, bool> depends_;  // On a state.
  std::vector<Operation> body_;
};

// to[first, ...] = from[first, ...] for all that `shape` holds beside `first`.
Stmt CopyNest(const std::string& name, const Buffer& from, const Buffer& to, std::vector<Expr> shape,
              const std::optional<Expr>& first) {
  std::vector<IterVar> iters;
  std::vector<Expr> values, point;
  std::vector<Var> loops;
  if (first) {
    iters.push_back({{IntConst(first->dtype(), 0), to->shape[0]}, Var("v_i0", first->dtype()), IterKind::kSpatial, ""});
    values.push_back(*first);
  }
  for (size_t i = first ? 1 : 0; i < shape.size(); ++i) {
    loops.emplace_back("i" + std::to_string(i), shape[i].dtype());
    iters.push_back({{IntConst(shape[i].dtype(), 0), shape[i]},
                     Var("v_" + loops.back().name(), shape[i].dtype()),
                     IterKind::kSpatial,
                     ""});
    values.push_back(loops.back());
  }
  for (const IterVar& iter : iters) point.push_back(iter.var);
  BlockNode block{.name = name, .body = MakeStore(to, Load(from, point), point)};
  block.iter_vars = iters;
  RecomputeRegions(block);
  Stmt nest = BlockRealize{std::move(values), True(), Block(std::move(block))};
  for (size_t i = loops.size(); i-- > 0;)
    nest = For{
        loops[i],       IntConst(loops[i].dtype(), 0), shape[shape.size() - loops.size() + i], ForKind::kSerial, "", {},
        std::move(nest)};
  return nest;
}

// A nest over all steps, for one of them.
StatusOr<Stmt> SliceOf(const OperationNode& scan, const Operation& op, const Expr& step, const ExprRewrite& rewrite) {
  const ComputeOp* compute = op->As<ComputeOp>();
  std::vector<Buffer> results;
  for (const Tensor& tensor : op->outputs()) results.push_back(tensor.buffer());
  const Stmt nest = compute == nullptr || compute->axis.empty() ? Stmt(Evaluate{0}) : MakeNest(*op, results, rewrite);
  const For* steps = nest.As<For>();
  if (steps == nullptr || steps->loop_var.dtype() != step.dtype())
    return Unimplemented("scan \"" + scan.name() + "\": operation \"" + op->name() +
                         "\" of its steps is no compute over the steps; write it as a loop in TVMScript");
  VarMap at;
  at.emplace(steps->loop_var.get(), step);
  return Substitute(steps->body, at);
}

}  // namespace

namespace {

// Follows dimensions of the states through the operations of the body.
class DimensionTracer {
 public:
  explicit DimensionTracer(const ScanOp& scan) : is_fixed_(scan.spatial_axis.size(), true) {
    size_t axis = 0;
    for (const Tensor& state : scan.state) {
      for (size_t d = 1; d < state.ndim(); ++d) axis_of_[{state.buffer().get(), d}] = axis++;
    }
  }
  void Visit(const Operation& op) {
    const ComputeOp* compute = op->As<ComputeOp>();
    if (compute == nullptr) return is_fixed_.assign(is_fixed_.size(), false);
    for (const Expr& body : compute->body) {
      PostOrderVisit(body, [&](const Expr& e) {
        if (const BufferLoad* load = e.As<BufferLoad>()) VisitLoad(*op, *compute, *load);
      });
    }
  }
  std::vector<bool> Finish(const ScanOp& scan) {
    size_t axis = 0;
    for (const Tensor& update : scan.update) {
      for (size_t d = 1; d < update.ndim(); ++d, ++axis) {
        const auto found = axis_of_.find({update.buffer().get(), d});
        if (found == axis_of_.end() || found->second != axis) is_fixed_[axis] = false;
      }
    }
    return std::move(is_fixed_);
  }

 private:
  void VisitLoad(const OperationNode& op, const ComputeOp& compute, const BufferLoad& load) {
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const auto known = axis_of_.find({load.buffer.get(), d});
      if (known == axis_of_.end()) continue;
      const auto own = std::find_if(compute.axis.begin(), compute.axis.end(),
                                    [&](const IterVar& axis) { return axis.var.same_as(load.indices[d]); });
      if (own == compute.axis.end())
        is_fixed_[known->second] = false;
      else
        Join(op, static_cast<size_t>(own - compute.axis.begin()), known->second);
    }
  }
  // Dimension `d` of the results is that axis of the states; not two of them.
  void Join(const OperationNode& op, size_t d, size_t axis) {
    for (const Tensor& result : op.outputs()) {
      const auto [known, is_new] = axis_of_.insert({{result.buffer().get(), d}, axis});
      if (!is_new && known->second != axis) is_fixed_[axis] = is_fixed_[known->second] = false;
    }
  }

  std::map<std::pair<const BufferNode*, size_t>, size_t> axis_of_;
  std::vector<bool> is_fixed_;
};

// What `op`, of the body of a scan, reads elsewhere than at its own step.
void NoteOtherSteps(const OperationNode& op, std::unordered_set<const BufferNode*>& found) {
  const ComputeOp* compute = op.As<ComputeOp>();
  if (compute == nullptr || compute->axis.empty()) {
    for (const Tensor& input : op.InputTensors()) found.insert(input.buffer().get());
    return;
  }
  for (const Expr& body : compute->body) {
    PostOrderVisit(body, [&](const Expr& e) {
      const BufferLoad* load = e.As<BufferLoad>();
      const bool is_elsewhere =
          load != nullptr && (load->indices.empty() || !load->indices[0].same_as(compute->axis[0].var));
      if (is_elsewhere) found.insert(load->buffer.get());
    });
  }
}

}  // namespace

std::vector<bool> ScanFixPoints(const OperationNode& scan) {
  const ScanOp& what = *scan.As<ScanOp>();
  DimensionTracer tracer(what);
  for (const Operation& op : ScanBody(scan)) tracer.Visit(op);
  return tracer.Finish(what);
}

std::vector<Buffer> BuffersOfSteps(const OperationNode& scan, const std::vector<Operation>& operations) {
  const std::vector<Operation> body = ScanBody(scan);
  std::unordered_set<const BufferNode*> stay;  // Beyond a step.
  for (const Tensor& update : scan.As<ScanOp>()->update) stay.insert(update.buffer().get());
  for (const Operation& op : operations) {
    if (std::find(body.begin(), body.end(), op) != body.end()) {
      NoteOtherSteps(*op, stay);
    } else {
      for (const Tensor& input : op->InputTensors()) stay.insert(input.buffer().get());
    }
  }
  std::vector<Buffer> own;
  for (const Operation& op : body)
    for (const Tensor& result : op->outputs())
      if (!stay.contains(result.buffer().get())) own.push_back(result.buffer());
  return own;
}

std::vector<Operation> ScanBody(const OperationNode& scan) { return BodyFinder(*scan.As<ScanOp>()).Take(); }

StatusOr<std::vector<Stmt>> MakeScanNests(const OperationNode& scan, const ExprRewrite& rewrite,
                                          std::vector<Buffer> own) {
  const ScanOp& what = *scan.As<ScanOp>();
  std::vector<Stmt> nests, inside;
  for (size_t i = 0; i < what.init.size(); ++i)
    nests.push_back(CopyNest(scan.name() + "_init", what.init[i].buffer(), scan.output(i).buffer(),
                             what.init[i].shape(), std::nullopt));
  const Range domain{what.scan_axis.domain.min, what.scan_axis.domain.extent};
  const Var loop(what.scan_axis.var.name(), domain.extent.dtype()), step("v_" + loop.name(), loop.dtype());
  BufferMap states;
  for (size_t i = 0; i < what.state.size(); ++i) states.emplace(what.state[i].buffer().get(), scan.output(i).buffer());
  for (const Operation& op : ScanBody(scan)) {
    ASSIGN_OR_RETURN(const Stmt slice, SliceOf(scan, op, step, rewrite));
    inside.push_back(Substitute(slice, {}, states));
  }
  for (size_t i = 0; i < what.update.size(); ++i)
    inside.push_back(CopyNest(scan.name() + "_step", what.update[i].buffer(), scan.output(i).buffer(),
                              what.update[i].shape(), Expr(step)));
  BlockNode block{.name = scan.name(), .body = MakeSeq(std::move(inside))};
  block.iter_vars = {{domain, step, IterKind::kOpaque, ""}};
  block.annotations = scan.attrs();
  block.alloc_buffers = std::move(own);
  RecomputeRegions(block);
  const Stmt realize = BlockRealize{{loop}, True(), Block(std::move(block))};
  nests.push_back(For{loop, domain.min, domain.extent, ForKind::kSerial, "", {}, realize});
  return nests;
}

}  // namespace lathe::te
