#include "compiler/stage/tensor_intrin.h"

#include <atomic>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/tensor_intrin.h"
#include "compiler/script/complete.h"
#include "compiler/te/nest.h"
#include "support/status_macros.h"

namespace lathe::te {
namespace {

BufferRegion WholeOf(const Buffer& buffer) {
  BufferRegion whole{buffer, {}};
  for (const Expr& extent : buffer->shape) whole.region.push_back({IntConst(extent.dtype(), 0), extent});
  return whole;
}

// The nest without the start of its reduction.
class InitDropper : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    if (realize == nullptr || !realize->block->init) return VisitChildren(stmt);
    BlockRealize made = *realize;
    BlockNode& block = made.block.Mutable();
    block.init.reset();
    RecomputeRegions(block);
    return made;
  }
};

// The start alone: its nest over the axes of the result.
Stmt StartOf(const OperationNode& op, const Buffer& result) {
  const ComputeOp& compute = *op.As<ComputeOp>();
  const Reduce& reduce = *compute.body[0].As<Reduce>();
  const Operation start =
      MakeCompute(compute.axis, {reduce.combiner.identity_element[0]},
                  {.name = op.name() + "_init", .tag = "", .attrs = {}, .axis_names = {}, .layout_free = {}})
          .value();
  return MakeNest(*start, {result}, [](const Expr& e) { return e; });
}

PrimFunc WithRoot(const std::vector<Buffer>& params, const std::vector<Buffer>& reads, const Buffer& result,
                  Stmt body) {
  BlockNode root{.name = "root", .body = std::move(body)};
  for (const Buffer& buffer : reads) root.reads.push_back(WholeOf(buffer));
  root.writes = {WholeOf(result)};
  return MakePrimFunc("intrin", {params.begin(), params.end()}, BlockRealize{{}, True(), Block(std::move(root))});
}

StatusOr<std::string> Register(const std::string& name, PrimFunc description, PrimFunc implementation) {
  static std::atomic<int64_t> count = 0;
  const std::string unique = "te." + name + "." + std::to_string(count++);
  ASSIGN_OR_RETURN(auto intrin, MakeTensorIntrin(Clone(description), Clone(implementation)));
  RETURN_IF_ERROR(RegisterTensorIntrin(unique, std::move(intrin), false));
  return unique;
}

}  // namespace

StatusOr<IntrinNames> RegisterIntrin(const DeclaredIntrin& intrin) {
  const ComputeOp* compute = intrin.op->As<ComputeOp>();
  const std::vector<Tensor> inputs = intrin.op->InputTensors();
  if (compute == nullptr || compute->body.size() != 1)
    return InvalidArgument("decl_tensor_intrin: operation \"" + intrin.op->name() + "\" is no compute of one result");
  if (intrin.buffers.size() != inputs.size() + 1)
    return InvalidArgument("decl_tensor_intrin: expected a buffer for each input of \"" + intrin.op->name() +
                           "\" and one for its result");
  const Buffer& result = intrin.buffers.back();
  std::vector<Buffer> reads(intrin.buffers.begin(), intrin.buffers.end() - 1);
  BufferMap declared;
  for (size_t i = 0; i < inputs.size(); ++i) declared.emplace(inputs[i].buffer().get(), intrin.buffers[i]);
  const bool is_reduction = compute->body[0].As<Reduce>() != nullptr;
  const Stmt nest = MakeNest(*intrin.op, {result}, [](const Expr& e) { return e; });
  const Stmt described = InitDropper()(Substitute(nest, {}, declared));
  if (is_reduction) reads.insert(reads.begin(), result);
  IntrinNames names;
  ASSIGN_OR_RETURN(names.update,
                   Register(intrin.name, WithRoot(intrin.buffers, reads, result, described),
                            WithRoot(intrin.buffers, reads, result, intrin.update.value_or(intrin.body))));
  if (!is_reduction) return names;
  ASSIGN_OR_RETURN(names.reset,
                   Register(intrin.name + ".reset", WithRoot({result}, {}, result, StartOf(*intrin.op, result)),
                            WithRoot({result}, {}, result, intrin.reset.value_or(Evaluate{0}))));
  return names;
}

}  // namespace lathe::te
