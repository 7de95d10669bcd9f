#include "compiler/ir/workload_facts.h"

#include <algorithm>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

bool IsArithmetic(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return true;
    default:
      return false;
  }
}

// Calls that compute something; the others only choose or move values.
bool IsArithmetic(const Call& call) {
  return call.op->is_pure && call.op->name != "if_then_else" && call.op->name != "reinterpret" && call.op->num_args > 0;
}

class Counter : public StmtExprVisitor {
 public:
  WorkloadFacts facts;
  bool is_symbolic = false;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    const int64_t* extent = AsIntConst(loop.extent);
    is_symbolic |= extent == nullptr;
    const double outside = times_;
    times_ *= extent == nullptr ? 0 : static_cast<double>(*extent);
    (*this)(loop.body);
    times_ = outside;
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    int64_t length = 1;
    bool reduces = false;
    for (const IterVar& iter : realize.block->iter_vars) {
      if (iter.kind != IterKind::kReduce) continue;
      const int64_t* extent = AsIntConst(iter.domain.extent);
      is_symbolic |= extent == nullptr;
      reduces = true;
      length *= extent == nullptr ? 1 : std::max<int64_t>(*extent, 1);
    }
    if (reduces) sum_lengths_ += length;
    (*this)(realize.block->body);  // What an init does happens once per sum, not once per term: left out.
    facts.reduction_length = std::max<int64_t>(sum_lengths_, 1);
  }
  void VisitBufferStore(const Stmt&, const BufferStore& store) override { (*this)(store.value); }
  void VisitBufferLoad(const Expr&, const BufferLoad&) override {}  // Index arithmetic is no work of the algorithm.
  void VisitExpr(const Expr& e) override {
    const auto* binary = e.As<Binary>();
    const auto* call = e.As<Call>();
    const bool is_arithmetic =
        (binary != nullptr && IsArithmetic(binary->op)) || (call != nullptr && IsArithmetic(*call));
    // Integers count where they are data: what computes an index or a bound reads no memory.
    if (is_arithmetic && (e.dtype().is_float() || HasLoad(e))) facts.flops += times_ * e.dtype().lanes;
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  double times_ = 1;
  int64_t sum_lengths_ = 0;
};

}  // namespace

WorkloadFacts FactsOf(const PrimFunc& func) {
  Counter counter;
  counter(func.body);
  if (counter.is_symbolic) counter.facts.flops = 0;
  return counter.facts;
}

}  // namespace lathe
