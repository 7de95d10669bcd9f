#include "compiler/ir/workload_facts.h"

#include <algorithm>

#include "compiler/ir/contraction.h"
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

// Whether the value is rounded to its type: by arithmetic, a function, or a conversion from more bits. Choices, minima
// and maxima take one of their operands as it is.
bool Rounds(const Expr& value) {
  if (!value.dtype().is_float()) return false;
  if (const auto* binary = value.As<Binary>()) return binary->op != BinaryOp::kMax && binary->op != BinaryOp::kMin;
  if (const auto* call = value.As<Call>()) return IsArithmetic(*call);
  const auto* cast = value.As<Cast>();
  return cast != nullptr && (!cast->value.dtype().is_float() || cast->value.dtype().bits > value.dtype().bits);
}

// What holds it before a conversion.
DataType TypeBeforeCast(const Expr& value) {
  const auto* cast = value.As<Cast>();
  return (cast == nullptr ? value : cast->value).dtype().element();
}

bool LoadsFrom(const Expr& value, const Buffer& buffer) {
  bool found = false;
  PostOrderVisit(value, [&](const Expr& part) {
    const auto* load = part.As<BufferLoad>();
    found |= load != nullptr && MayAlias(load->buffer, buffer);
  });
  return found;
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
    steps_.push_back(StepOf(loop.loop_var, extent, true));
    (*this)(loop.body);
    steps_.pop_back();
    times_ = outside;
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    const std::optional<Contraction> contraction = ContractionOf(*realize.block);
    if (realize.block->init && contraction && contraction->is_plain())
      facts.contraction_flops += 2 * IterationsOf(*realize.block);
    const std::vector<Step> outside = steps_;
    std::erase_if(steps_, [](const Step& step) { return step.is_loop; });  // They are what the iter vars are bound to.
    for (const IterVar& iter : realize.block->iter_vars) {
      if (iter.kind != IterKind::kReduce) continue;
      const int64_t* extent = AsIntConst(iter.domain.extent);
      is_symbolic |= extent == nullptr;
      steps_.push_back(StepOf(iter.var, extent, false));
    }
    (*this)(realize.block->body);  // What an init does happens once per sum, not once per term: left out.
    steps_ = outside;
  }
  void VisitBufferStore(const Stmt&, const BufferStore& store) override {
    rounded_.clear();
    (*this)(store.value);
    // What is rounded last is, in a sum, what has been added up; what is added to it was rounded once.
    const DataType last = store.value.dtype().element();
    if (Rounds(store.value)) Note(last, NumTerms(store));
    for (const DataType type : rounded_)
      if (!Rounds(store.value) || type != last) Note(type, 1);
  }
  void VisitBufferLoad(const Expr&, const BufferLoad&) override {}  // Index arithmetic is no work of the algorithm.
  void VisitExpr(const Expr& e) override {
    const auto* binary = e.As<Binary>();
    const auto* call = e.As<Call>();
    const bool is_arithmetic =
        (binary != nullptr && IsArithmetic(binary->op)) || (call != nullptr && IsArithmetic(*call));
    // Integers count where they are data: what computes an index or a bound reads no memory.
    if (is_arithmetic && (e.dtype().is_float() || HasLoad(e))) facts.flops += times_ * e.dtype().lanes;
    if (binary != nullptr && binary->op == BinaryOp::kMul && HasLoad(e)) NoteFactor(TypeBeforeCast(binary->a));
    const bool is_new = std::find(rounded_.begin(), rounded_.end(), e.dtype().element()) == rounded_.end();
    if (Rounds(e) && is_new) rounded_.push_back(e.dtype().element());
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  struct Step {
    const ExprNode* var;
    double extent;
    bool is_loop;
  };

  static double IterationsOf(const BlockNode& block) {
    double count = 1;
    for (const IterVar& iter : block.iter_vars) {
      const int64_t* extent = AsIntConst(iter.domain.extent);
      if (extent != nullptr) count *= static_cast<double>(*extent);
    }
    return count;
  }
  static Step StepOf(const Var& var, const int64_t* extent, bool is_loop) {
    return {var.get(), extent == nullptr ? 1 : std::max(1.0, static_cast<double>(*extent)), is_loop};
  }
  // How often one element is stored to: the steps that its indices do not name, if what is stored comes from itself.
  double NumTerms(const BufferStore& store) const {
    double terms = 1;
    if (!LoadsFrom(store.value, store.buffer)) return terms;
    for (const Step& step : steps_) {
      const bool is_named = std::any_of(store.indices.begin(), store.indices.end(),
                                        [&](const Expr& index) { return UsesVar(index, step.var); });
      if (!is_named) terms *= step.extent;
    }
    return terms;
  }
  void NoteFactor(DataType type) {
    const int narrowest = facts.narrow_factor ? facts.narrow_factor->bits : 32;
    if (type.bits < narrowest) facts.narrow_factor = type;
  }
  void Note(DataType type, double count) {
    const auto known = std::find_if(facts.roundings.begin(), facts.roundings.end(),
                                    [&](const Rounding& rounding) { return rounding.type == type; });
    if (known == facts.roundings.end())
      facts.roundings.push_back({type, count});
    else
      known->count += count;
  }

  double times_ = 1;
  std::vector<DataType> rounded_;  // Within the value of a store; each once.
  std::vector<Step> steps_;        // Loops in the innermost block, reduction iter vars of all blocks around.
};

}  // namespace

WorkloadFacts FactsOf(const PrimFunc& func) {
  Counter counter;
  counter(func.body);
  if (counter.is_symbolic) counter.facts.flops = 0;
  return counter.facts;
}

}  // namespace lathe
