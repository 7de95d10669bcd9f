#include "compiler/transform/inject_copy_intrin.h"

#include "compiler/arith/analyzer.h"
#include "compiler/arith/linear_equation.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

// A nest of loops from 0 around one store.
struct CopyNest {
  std::vector<const For*> loops;
  std::vector<Var> vars;
  const BufferStore* store = nullptr;
};
std::optional<CopyNest> AsNest(const Stmt& stmt) {
  CopyNest nest;
  const Stmt* body = &stmt;
  for (const For* loop = body->As<For>(); loop != nullptr; loop = body->As<For>()) {
    if (!IsConstInt(loop->min, 0)) return std::nullopt;
    nest.loops.push_back(loop);
    nest.vars.push_back(loop->loop_var);
    body = &loop->body;
  }
  nest.store = body->As<BufferStore>();
  const bool is_flat = nest.store != nullptr && nest.store->indices.size() == 1 && !nest.store->predicate;
  return is_flat ? std::optional(std::move(nest)) : std::nullopt;
}

// The element that is copied, where `condition` holds, and what stands elsewhere.
struct CopiedValue {
  const BufferLoad* load = nullptr;
  std::optional<Expr> condition, otherwise;
};
CopiedValue ValueOf(const Expr& value) {
  if (const Select* select = value.As<Select>())
    return {select->true_value.As<BufferLoad>(), select->condition, select->false_value};
  if (const Call* call = value.As<Call>(); call != nullptr && call->op->name == "if_then_else")
    return {call->args[1].As<BufferLoad>(), call->args[0], call->args[2]};
  if (const Cast* cast = value.As<Cast>()) return {cast->value.As<BufferLoad>(), std::nullopt, std::nullopt};
  return {value.As<BufferLoad>(), std::nullopt, std::nullopt};
}

// The memory of `buffer` with a dimension per coefficient of a linear index; the last one is the offset.
Buffer ViewOf(const Buffer& buffer, std::vector<Expr> shape, std::vector<Expr> coefficients) {
  BufferNode node = *buffer;
  node.elem_offset = coefficients.back();
  coefficients.pop_back();
  node.shape = std::move(shape);
  node.strides = std::move(coefficients);
  if (node.strides.empty()) node.strides = {Expr(1)};
  return Buffer(std::move(node));
}

class CopyMatcher {
 public:
  static std::optional<CopiedRegion> Match(const Stmt& stmt) {
    const std::optional<CopyNest> nest = AsNest(stmt);
    if (!nest) return std::nullopt;
    const CopiedValue value = ValueOf(nest->store->value);
    if (value.load == nullptr || value.load->indices.size() != 1 || value.load->predicate) return std::nullopt;
    const std::vector<Expr> to = DetectLinearEquation(nest->store->indices[0], nest->vars);
    std::vector<Expr> from = DetectLinearEquation(value.load->indices[0], nest->vars);
    if (to.empty() || from.empty()) return std::nullopt;
    std::vector<Expr> shape;
    for (const For* loop : nest->loops) shape.push_back(loop->extent);
    if (shape.empty()) shape = {Expr(1)};
    CopyMatcher matcher;
    if (value.condition && !matcher.Pad(*nest, *value.condition, shape, from)) return std::nullopt;
    std::vector<Expr> source = shape;
    for (size_t i = 0; i < matcher.before_.size(); ++i)
      source[i] = matcher.analyzer_.Simplify(shape[i] - matcher.before_[i] - matcher.after_[i]);
    return CopiedRegion{ViewOf(value.load->buffer, source, from), ViewOf(nest->store->buffer, shape, to),
                        matcher.before_, matcher.after_, value.otherwise};
  }

 private:
  // Where the condition does not hold; the source begins after that.
  bool Pad(const CopyNest& nest, const Expr& condition, const std::vector<Expr>& shape, std::vector<Expr>& from) {
    const std::vector<ClipBound> bounds = DetectClipBound(condition, nest.vars);
    if (bounds.size() != nest.vars.size()) return false;
    for (size_t i = 0; i < bounds.size(); ++i) {
      const Expr zero = IntConst(nest.vars[i].dtype(), 0), one = IntConst(nest.vars[i].dtype(), 1);
      before_.push_back(bounds[i].min ? analyzer_.Simplify(Max(*bounds[i].min, zero)) : zero);
      after_.push_back(bounds[i].max ? analyzer_.Simplify(Max(shape[i] - *bounds[i].max - one, zero)) : zero);
      from.back() = from.back() + before_[i] * from[i];
    }
    from.back() = analyzer_.Simplify(from.back());
    return true;
  }

  Analyzer analyzer_;
  std::vector<Expr> before_, after_;
};

class CopyInjector : public StmtExprMutator {
 public:
  CopyInjector(const std::string& key, const CopyLowering& lower) : key_("pragma_" + key), lower_(lower) {}
  const Status& status() const { return status_; }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr == nullptr || attr->attr_key != key_) return StmtExprMutator::VisitStmt(stmt);
    const std::optional<CopiedRegion> copied = CopyMatcher::Match(attr->body);
    if (copied) return lower_(*copied);
    status_ = InvalidArgument("inject_copy_intrin: what stands under \"" + key_ +
                              "\" is no copy between flat buffers; run StorageFlatten before, or remove the pragma:\n" +
                              Print(attr->body));
    return stmt;
  }

 private:
  const std::string key_;
  const CopyLowering& lower_;
  Status status_;
};

}  // namespace

StatusOr<PrimFunc> InjectCopyIntrin(PrimFunc func, const std::string& key, const CopyLowering& lower) {
  CopyInjector injector(key, lower);
  func.body = injector(func.body);
  if (!injector.status().ok()) return injector.status();
  return func;
}

}  // namespace lathe
