#include "compiler/transform/instrument_bound_checkers.h"

#include "compiler/transform/fact_mutator.h"

namespace lathe {
namespace {

Expr NotInside() { return IntConst(DataType::Bool(), 0); }
Expr InsideBoth(const Expr& first, const Expr& second) {  // The second is evaluated where the first holds.
  if (IsConstInt(second, 1) || IsConstInt(first, 0)) return first;
  return IsConstInt(first, 1) ? second : MakeCall(DataType::Bool(), "if_then_else", {first, second, NotInside()});
}

// What has to hold for an expression to read inside of its buffers; the parts that facts do not show.
class ReadChecker {
 public:
  explicit ReadChecker(Simplifier& facts) : facts_(facts) {}

  Expr CheckOf(const Expr& e) {
    if (const BufferLoad* load = e.As<BufferLoad>()) return CheckOf(load->buffer, load->indices, load->predicate);
    const Call* call = e.As<Call>();
    if (call != nullptr && call->op->name == "if_then_else") return OfChoice(*call);
    if (call != nullptr && call->op->name == "address_of") return True();
    Expr check = True();
    ForChildren(e, [&](const Expr& child) { check = InsideBoth(check, CheckOf(child)); });
    return check;
  }
  // An element, and what its indices read. Lanes that a predicate may switch off are not checked.
  Expr CheckOf(const Buffer& buffer, const std::vector<Expr>& indices, const std::optional<Expr>& predicate) {
    Expr check = True();
    for (const Expr& index : indices) check = InsideBoth(check, CheckOf(index));
    if (predicate || indices.size() != buffer->shape.size()) return check;
    for (size_t d = 0; d < indices.size(); ++d) {
      const auto [low, high] = EndsOf(indices[d]);
      check = InsideBoth(check, Unless(LessEqual(IntConst(low.dtype(), 0), low)));
      check = InsideBoth(check, Unless(Less(high, buffer->shape[d])));
    }
    return check;
  }

 private:
  static void ForChildren(const Expr& e, const std::function<void(const Expr&)>& f) {
    class Children : public StmtExprVisitor {
     public:
      explicit Children(const std::function<void(const Expr&)>& f) : f_(f) {}
      void Of(const Expr& e) { VisitChildren(e); }

     protected:
      void VisitExpr(const Expr& e) override { f_(e); }

     private:
      const std::function<void(const Expr&)>& f_;
    };
    Children(f).Of(e);
  }

  Expr OfChoice(const Call& choice) {
    const Expr& condition = choice.args[0];
    const auto under = [&](const Expr& holds, const Expr& e) {
      if (HasLoad(holds) || !holds.dtype().is_scalar()) return CheckOf(e);
      const Simplifier::Scope inside(facts_, holds);
      return CheckOf(e);
    };
    const Expr yes = under(condition, choice.args[1]), no = under(MakeNot(condition), choice.args[2]);
    const Expr check = CheckOf(condition);
    if (IsConstInt(yes, 1) && IsConstInt(no, 1)) return check;
    return InsideBoth(check, MakeCall(DataType::Bool(), "if_then_else", {condition, yes, no}));
  }
  // True where it is known; else the condition.
  Expr Unless(const Expr& condition) { return facts_.CanProve(condition) ? True() : condition; }

  // The least and the greatest of an index.
  static std::pair<Expr, Expr> EndsOf(const Expr& index) {
    if (const Broadcast* broadcast = index.As<Broadcast>()) return {broadcast->value, broadcast->value};
    const Ramp* ramp = index.As<Ramp>();
    if (ramp == nullptr || index.dtype().is_scalable) return {index, index};
    const Expr last = ramp->base + ramp->stride * IntConst(ramp->stride.dtype(), ramp->lanes - 1);
    return {Min(ramp->base, last), Max(ramp->base, last)};
  }
  Simplifier& facts_;
};

class BoundChecker : public FactMutator {
 protected:
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    ReadChecker checker(facts_);
    const Expr check =
        InsideBoth(checker.CheckOf(store.buffer, store.indices, store.predicate), checker.CheckOf(store.value));
    if (IsConstInt(check, 1)) return self;
    return IfThenElse{check, self, Stmt(AssertStmt{NotInside(), "OUT OF THE BOUNDS", Evaluate{0}})};
  }
};

}  // namespace

PrimFunc InstrumentBoundCheckers(PrimFunc func) {
  func.body = BoundChecker()(func.body);
  return func;
}

}  // namespace lathe
