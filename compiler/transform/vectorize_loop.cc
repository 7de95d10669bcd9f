#include "compiler/transform/vectorize_loop.h"

#include <fmt/core.h>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/integer.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

constexpr int64_t kMostLanes = 1024;

// In as many lanes as `shape` has.
Expr Splat(const Expr& e, DataType shape) {
  if (!e.dtype().is_scalar()) return e;
  return Expr::Make(e.dtype().shaped_as(shape), Broadcast{e, shape.lanes});
}

Expr MakeRamp(const Expr& base, const Expr& stride, DataType shape) {
  if (IsConstInt(stride, 0)) return base;
  return Expr::Make(base.dtype().shaped_as(shape), Ramp{base, stride, shape.lanes});
}

// base + stride * lane; scalars have stride 0. nullopt: some other vector.
std::optional<Ramp> AsRamp(const Expr& e) {
  if (e.dtype().is_scalar()) return Ramp{e, IntConst(e.dtype(), 0), 1};
  if (const Ramp* ramp = e.As<Ramp>()) return *ramp;
  return std::nullopt;
}

// Takes a condition base + lane < limit into the accesses under it, as their predicates.
class Predicator : private StmtExprMutator {
 public:
  // nullopt: the condition is another one, or it guards something else than accesses whose lanes are its lanes.
  static std::optional<Stmt> Run(const Stmt& stmt, const Expr& condition) {
    const Binary* less = condition.As<Binary>();
    const Ramp* ramp = less == nullptr || less->op != BinaryOp::kLT ? nullptr : less->a.As<Ramp>();
    const Broadcast* limit = ramp == nullptr ? nullptr : less->b.As<Broadcast>();
    if (limit == nullptr || !IsConstInt(ramp->stride, 1)) return std::nullopt;
    const DataType mask = DataType::UInt(1).shaped_as(condition.dtype());
    Predicator predicator(ramp->base, MakeCall(mask, "get_active_lane_mask", {ramp->base, limit->value}));
    Stmt result = predicator.VisitStmt(stmt);
    if (predicator.num_accesses_ == 0 || !predicator.is_possible_) return std::nullopt;
    return result;
  }

 private:
  Predicator(Expr base, Expr mask) : base_(std::move(base)), mask_(std::move(mask)) {}

  Stmt VisitStmt(const Stmt& stmt) override {
    const bool has_effect =
        stmt.As<Evaluate>() != nullptr || stmt.As<AssertStmt>() != nullptr || stmt.As<While>() != nullptr;
    is_possible_ &= !has_effect;
    return StmtExprMutator::VisitStmt(stmt);
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    BufferStore masked = *StmtExprMutator::VisitBufferStore(self, store).As<BufferStore>();
    Note(masked.indices, masked.predicate);
    masked.predicate = mask_;
    return masked;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    BufferLoad masked = *StmtExprMutator::VisitBufferLoad(self, load).As<BufferLoad>();
    Note(masked.indices, masked.predicate);
    masked.predicate = mask_;
    return Expr::Make(self.dtype(), std::move(masked));
  }
  void Note(const std::vector<Expr>& indices, const std::optional<Expr>& predicate) {
    ++num_accesses_;
    const Ramp* ramp = indices.size() == 1 ? indices[0].As<Ramp>() : nullptr;
    is_possible_ &= ramp != nullptr && !predicate && StructuralEqual(ramp->base, base_);
  }

  const Expr base_, mask_;
  int num_accesses_ = 0;
  bool is_possible_ = true;
};

// What a target makes of vectors.
struct VectorForms {
  bool makes_masks = false;       // Conditions of one boolean per lane.
  bool makes_predicates = false;  // Predicates of loads and stores.
  bool is_scalable = false;       // Lanes times T.vscale().
};

// Rewrites what is inside of one vectorized loop. Expressions come back as scalars (the same in every lane) or with all
// lanes.
class LaneRewriter {
 public:
  // `lanes` is a type of as many lanes as the loop has steps.
  LaneRewriter(const For& loop, DataType lanes, const Analyzer& analyzer, VectorForms forms)
      : var_(loop.loop_var), min_(loop.min), extent_(loop.extent), lanes_(lanes), analyzer_(analyzer), forms_(forms) {
    vectors_.insert_or_assign(var_.get(), MakeRamp(min_, IntConst(min_.dtype(), 1), lanes));
  }

  // nullopt: the loop as a whole must be serial.
  std::optional<Stmt> Rewrite(const Stmt& stmt) {
    Stmt result = RewriteOrSerialize(stmt);
    if (is_serial_) return std::nullopt;
    return result;
  }

 private:
  bool IsInvariant(const Expr& e) const {
    return !UsesVar(e, [this](const ExprNode* node) { return vectors_.count(node) != 0; });
  }

  Stmt RewriteOrSerialize(const Stmt& stmt) {
    if (std::optional<Stmt> vectorized = VectorStmt(stmt)) return *vectorized;
    if (mask_depth_ > 0 || num_lets_ > 0)
      is_serial_ = true;  // A loop of its own would not see the mask or the let's value.
    const Var fresh(var_.name(), var_.dtype());
    const Stmt body = Clone(Substitute(stmt, {{var_.get(), fresh}}));
    return For{fresh, min_, extent_, ForKind::kSerial, "", {}, body};
  }

  std::optional<Stmt> VectorStmt(const Stmt& stmt) {
    if (const Seq* seq = stmt.As<Seq>()) {
      std::vector<Stmt> stmts;
      for (const Stmt& child : seq->stmts) stmts.push_back(RewriteOrSerialize(child));
      return MakeSeq(std::move(stmts));
    }
    if (const BufferStore* store = stmt.As<BufferStore>()) return VectorStore(*store);
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VectorIf(*branch);
    if (const For* loop = stmt.As<For>()) return VectorFor(*loop);
    if (const LetStmt* let = stmt.As<LetStmt>()) return VectorLet(*let);
    if (const Evaluate* evaluate = stmt.As<Evaluate>();
        evaluate != nullptr && IsInvariant(evaluate->value) && mask_depth_ == 0)
      return stmt;
    if (const Evaluate* evaluate = stmt.As<Evaluate>(); evaluate != nullptr && !forms_.makes_masks) {
      const std::optional<Expr> value = VectorExpr(evaluate->value);
      if (value) return Evaluate{*value};
    }
    if (const AssertStmt* assertion = stmt.As<AssertStmt>();
        assertion != nullptr && IsInvariant(assertion->condition) && mask_depth_ == 0)
      return AssertStmt{assertion->condition, assertion->message, RewriteOrSerialize(assertion->body)};
    return std::nullopt;
  }

  std::optional<Stmt> VectorStore(const BufferStore& store) {
    if (store.predicate) return std::nullopt;
    if (!store.value.dtype().is_scalar()) return WideStore(store);
    const std::optional<Expr> value = VectorExpr(store.value);
    const std::optional<std::vector<Expr>> indices = VectorIndices(store.indices);
    if (!value || !indices) return std::nullopt;
    if (indices->empty() || indices->back().dtype().is_scalar()) {
      // One element for all lanes. Serial statements would meet its last value only, so the loop is serial as a whole.
      if (!value->dtype().is_scalar() || mask_depth_ > 0) is_serial_ = true;
      return BufferStore{store.buffer, *value, *indices, std::nullopt};
    }
    return BufferStore{store.buffer, Splat(*value, lanes_), *indices, std::nullopt};
  }

  std::optional<Stmt> WideStore(const BufferStore& store) {
    if (mask_depth_ > 0) return std::nullopt;  // A mask has this loop's lanes.
    const std::optional<Expr> value = WideExpr(store.value);
    const std::optional<std::vector<Expr>> indices = WideIndices(store.indices);
    if (!value || !indices || indices->back().dtype().is_scalar()) return std::nullopt;
    return BufferStore{store.buffer, *value, *indices, std::nullopt};
  }

  std::optional<Stmt> VectorIf(const IfThenElse& branch) {
    const std::optional<Expr> condition = VectorExpr(branch.condition);
    if (!condition) return std::nullopt;
    const bool is_mask = !condition->dtype().is_scalar();
    if (is_mask && !forms_.makes_masks)
      return forms_.makes_predicates ? PredicatedIf(branch, *condition) : std::nullopt;
    mask_depth_ += is_mask;
    const Stmt then_case = RewriteOrSerialize(branch.then_case);
    std::optional<Stmt> else_case;
    if (branch.else_case) else_case = RewriteOrSerialize(*branch.else_case);
    mask_depth_ -= is_mask;
    return IfThenElse{*condition, then_case, else_case};
  }

  std::optional<Stmt> PredicatedIf(const IfThenElse& branch, const Expr& condition) {
    if (branch.else_case) return std::nullopt;
    LaneRewriter inside = *this;
    const std::optional<Stmt> then_case = inside.Rewrite(branch.then_case);
    return then_case ? Predicator::Run(*then_case, condition) : std::nullopt;
  }

  std::optional<Stmt> VectorFor(const For& loop) {
    if (!IsInvariant(loop.min) || !IsInvariant(loop.extent)) return std::nullopt;
    For copy = loop;
    copy.body = RewriteOrSerialize(loop.body);
    return copy;
  }

  std::optional<Stmt> VectorLet(const LetStmt& let) {
    const std::optional<Expr> value = VectorExpr(let.value);
    if (!value) return std::nullopt;
    if (value->dtype().is_scalar()) return LetStmt{*value, let.var, RewriteOrSerialize(let.body)};
    const Var vector(let.var.name(), value->dtype());
    vectors_.insert_or_assign(let.var.get(), vector);
    ++num_lets_;
    Stmt body = RewriteOrSerialize(let.body);
    --num_lets_;
    return LetStmt{*value, vector, body};
  }

  // Only the last index may be a vector.
  std::optional<std::vector<Expr>> VectorIndices(const std::vector<Expr>& indices) {
    std::vector<Expr> result;
    for (size_t d = 0; d < indices.size(); ++d) {
      const std::optional<Expr> index = VectorExpr(indices[d]);
      if (!index || (d + 1 < indices.size() && !index->dtype().is_scalar())) return std::nullopt;
      result.push_back(*index);
    }
    return result;
  }

  // The last index is a vector of the program's own, or one of elements that are vectors.
  std::optional<std::vector<Expr>> WideIndices(const std::vector<Expr>& indices) {
    if (indices.empty() || indices.back().dtype().is_scalar()) return VectorIndices(indices);
    std::vector<Expr> result = indices;
    const std::optional<Expr> last = WideExpr(result.back());
    result.pop_back();
    if (!last || !std::all_of(result.begin(), result.end(), [this](const Expr& e) { return IsInvariant(e); }))
      return std::nullopt;
    result.push_back(*last);
    return result;
  }

  // Of a vector of the program's own: what the steps make of it, one after the other. nullopt: no one vector says so.
  std::optional<Expr> WideExpr(const Expr& e) {
    const DataType type = e.dtype();
    const int64_t lanes = int64_t{type.lanes} * lanes_.lanes;
    if (type.is_scalar() || type.is_scalable || lanes_.is_scalable || lanes > kMaxLanes) return std::nullopt;
    const DataType wide = type.with_lanes(static_cast<int>(lanes));
    if (const Broadcast* same = e.As<Broadcast>()) {
      if (!IsInvariant(same->value)) return std::nullopt;
      return Expr::Make(wide, Broadcast{same->value, wide.lanes});
    }
    if (const Ramp* ramp = e.As<Ramp>()) {
      const std::optional<Expr> base = IsInvariant(ramp->stride) ? VectorExpr(ramp->base) : std::nullopt;
      const std::optional<Ramp> steps = base ? AsRamp(*base) : std::nullopt;
      const Expr step = ramp->stride * IntConst(ramp->stride.dtype(), type.lanes);
      if (!steps || !analyzer_.CanProveEqual(steps->stride, step)) return std::nullopt;
      return Expr::Make(wide, Ramp{steps->base, ramp->stride, wide.lanes});
    }
    if (const BufferLoad* load = e.As<BufferLoad>()) {
      const std::optional<std::vector<Expr>> indices = WideIndices(load->indices);
      if (!indices || load->predicate || indices->back().dtype().is_scalar()) return std::nullopt;
      return Expr::Make(wide, BufferLoad{load->buffer, *indices, std::nullopt});
    }
    if (const Binary* binary = e.As<Binary>()) {
      const std::optional<Expr> a = WideExpr(binary->a), b = WideExpr(binary->b);
      return a && b ? std::optional(MakeBinary(binary->op, *a, *b)) : std::nullopt;
    }
    if (const Cast* cast = e.As<Cast>()) {
      const std::optional<Expr> value = WideExpr(cast->value);
      return value ? std::optional(MakeCast(wide, *value)) : std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Expr> VectorExpr(const Expr& e) {
    if (!e.dtype().is_scalar()) return std::nullopt;  // Vectors of the program's own.
    if (IsInvariant(e)) return e;
    if (IsVar(e)) return vectors_.at(e.get());
    if (const Binary* binary = e.As<Binary>()) return VectorBinary(*binary);
    if (const Not* negation = e.As<Not>()) {
      const std::optional<Expr> a = VectorExpr(negation->a);
      if (!a) return std::nullopt;
      return MakeNot(*a);
    }
    if (const Cast* cast = e.As<Cast>()) return VectorCast(e.dtype(), *cast);
    if (const Select* select = e.As<Select>()) {
      const std::optional<Expr> condition = VectorExpr(select->condition), a = VectorExpr(select->true_value),
                                b = VectorExpr(select->false_value);
      if (!condition || !a || !b) return std::nullopt;
      // By name as in TVM: a condition that is the same in every lane is a vector as well.
      return MakeSelect(forms_.makes_masks ? *condition : Splat(*condition, lanes_), Splat(*a, lanes_),
                        Splat(*b, lanes_));
    }
    if (const BufferLoad* load = e.As<BufferLoad>()) {
      const std::optional<std::vector<Expr>> indices = VectorIndices(load->indices);
      if (!indices || load->predicate) return std::nullopt;
      return Expr::Make(e.dtype().shaped_as(indices->back().dtype()), BufferLoad{load->buffer, *indices, std::nullopt});
    }
    if (const Call* call = e.As<Call>()) return VectorCall(e.dtype(), *call);
    return std::nullopt;
  }

  std::optional<Expr> VectorCast(DataType dtype, const Cast& cast) {
    const std::optional<Expr> value = VectorExpr(cast.value);
    if (!value) return std::nullopt;
    const Ramp* ramp = value->As<Ramp>();
    const bool is_index =
        dtype == DataType::Int(64) && cast.value.dtype() == DataType::Int(32);  // Index arithmetic stays in range.
    if (ramp != nullptr && is_index)
      return MakeRamp(MakeCast(dtype, ramp->base), MakeCast(dtype, ramp->stride), lanes_);
    return MakeCast(dtype.shaped_as(value->dtype()), *value);
  }

  std::optional<Expr> VectorCall(DataType dtype, const Call& call) {
    // Of LLVM's the name and the number of arguments stay; by name only: those of the pipeline are operations by then.
    const bool is_llvm = call.op->name == "call_llvm_pure_intrin" && !forms_.makes_masks;
    const bool is_lanewise = is_llvm || (call.op->is_pure && !call.op->name.starts_with("vector"));
    if (!is_lanewise) return std::nullopt;
    Call vector = call;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const std::optional<Expr> arg = VectorExpr(call.args[i]);
      if (!arg) return std::nullopt;
      const bool may_be_scalar = i == 0 && call.op->name == "if_then_else";
      if (may_be_scalar && !arg->dtype().is_scalar() && !forms_.makes_masks) return std::nullopt;
      vector.args[i] = may_be_scalar || (is_llvm && i < 2) ? *arg : Splat(*arg, lanes_);
    }
    return Expr::Make(dtype.shaped_as(lanes_), std::move(vector));
  }

  std::optional<Expr> VectorBinary(const Binary& binary) {
    const std::optional<Expr> a = VectorExpr(binary.a), b = VectorExpr(binary.b);
    if (!a || !b) return std::nullopt;
    if (binary.a.dtype() == DataType::Int(32) || binary.a.dtype() == DataType::Int(64)) {
      if (std::optional<Expr> ramp = CombineRamps(binary.op, *a, *b)) return ramp;
    }
    return MakeBinary(binary.op, Splat(*a, lanes_), Splat(*b, lanes_));
  }

  std::optional<Expr> CombineRamps(BinaryOp op, const Expr& a, const Expr& b) const {
    const std::optional<Ramp> x = AsRamp(a), y = AsRamp(b);
    if (!x || !y) return std::nullopt;
    switch (op) {
      case BinaryOp::kAdd:
        return MakeRamp(x->base + y->base, x->stride + y->stride, lanes_);
      case BinaryOp::kSub:
        return MakeRamp(x->base - y->base, x->stride - y->stride, lanes_);
      case BinaryOp::kMul:
        if (b.dtype().is_scalar() && MayScale(b)) return MakeRamp(x->base * b, x->stride * b, lanes_);
        if (a.dtype().is_scalar() && MayScale(a)) return MakeRamp(a * y->base, a * y->stride, lanes_);
        return std::nullopt;
      case BinaryOp::kFloorDiv:
      case BinaryOp::kFloorMod:
        return forms_.makes_masks ? DivideRamp(op, *x, b) : std::nullopt;  // By name TVM leaves that to Simplify.
      default:
        return std::nullopt;
    }
  }

  // By name TVM scales by what is positive only.
  bool MayScale(const Expr& factor) const {
    return forms_.makes_masks || analyzer_.CanProve(MakeBinary(BinaryOp::kGT, factor, IntConst(factor.dtype(), 0)));
  }

  // (base + stride*lane) // c and % c, where all lanes fall into one period of c.
  std::optional<Expr> DivideRamp(BinaryOp op, const Ramp& ramp, const Expr& divisor) const {
    const int64_t *c = AsIntConst(divisor), *stride = AsIntConst(ramp.stride);
    if (c == nullptr || *c <= 0 || stride == nullptr) return std::nullopt;
    const bool is_div = op == BinaryOp::kFloorDiv;
    const ModularSet base = analyzer_.Modular(ramp.base);
    if (*stride % *c == 0) {  // Lanes differ by whole periods.
      if (!is_div) return FloorMod(ramp.base, divisor);
      return MakeRamp(FloorDiv(ramp.base, divisor), IntConst(ramp.stride.dtype(), *stride / *c), lanes_);
    }
    // base % c is base.base % step plus a multiple of step, so lanes that stay below the next multiple stay below c.
    const int64_t step = GreatestCommonDivisor(base.coeff, *c);
    if (lanes_.is_scalable || *stride < 0) return std::nullopt;
    if (FloorModulo(base.base, step) + (lanes_.lanes - 1) * *stride >= step) return std::nullopt;
    if (is_div) return FloorDiv(ramp.base, divisor);
    return MakeRamp(FloorMod(ramp.base, divisor), ramp.stride, lanes_);
  }

  Var var_;
  Expr min_, extent_;
  DataType lanes_;
  const Analyzer& analyzer_;
  const VectorForms forms_;
  VarMap vectors_;      // The loop variable and vector lets.
  int mask_depth_ = 0;  // Vector conditions around.
  int num_lets_ = 0;    // Vector lets around.
  bool is_serial_ = false;
};

bool HasWhile(const Stmt& stmt) {
  bool has_while = false;
  PostOrderVisit(stmt, [&](const Stmt& part) { has_while |= part.As<While>() != nullptr; });
  return has_while;
}

class Vectorizer : public StmtExprMutator {
 public:
  Vectorizer(VectorForms forms, std::string target) : forms_(forms), target_(std::move(target)) {}
  const Status& status() const { return status_; }

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    if (loop.kind != ForKind::kVectorized) return visited;
    For serial = *visited.As<For>();
    serial.kind = ForKind::kSerial;
    const std::optional<DataType> lanes = LanesOfLoop(serial);
    if (!lanes) return serial;
    if (lanes->is_scalar()) return Substitute(serial.body, {{serial.loop_var.get(), serial.min}});
    LaneRewriter rewriter(serial, *lanes, analyzer_, forms_);
    return rewriter.Rewrite(serial.body).value_or(Stmt(serial));
  }

 private:
  // nullopt: the loop is serial.
  std::optional<DataType> LanesOfLoop(const For& loop) {
    const Expr extent = analyzer_.Simplify(loop.extent);
    const std::optional<DataType> lanes = TypeOfLanes(DataType::Bool(), extent);
    const bool is_known = lanes ? !lanes->is_scalable || forms_.is_scalable : AsIntConst(extent) != nullptr;
    if (!forms_.makes_masks && (!is_known || HasWhile(loop.body)))
      status_ = InvalidArgument(fmt::format("vectorize_loop: loop \"{}\" {}; leave it serial", loop.loop_var.name(),
                                            is_known ? "holds a while" : WrongExtent(loop.extent)));
    return is_known && lanes && lanes->lanes <= kMostLanes ? lanes : std::nullopt;
  }
  std::string WrongExtent(const Expr& extent) const {
    return fmt::format("has an extent that is no constant, {}: failed to vectorize it for target {}", Print(extent),
                       target_.empty() ? "(none is set)" : target_);
  }

  const VectorForms forms_;
  const std::string target_;
  Analyzer analyzer_;
  Status status_;
};

class VectorizeSkipper : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    if (loop.kind != ForKind::kVectorized) return visited;
    For serial = *visited.As<For>();
    serial.kind = ForKind::kSerial;
    return serial;
  }
};

}  // namespace

PrimFunc VectorizeLoop(PrimFunc func) {
  func.body = Vectorizer({.makes_masks = true}, "")(func.body);
  return func;
}

StatusOr<PrimFunc> VectorizeLoopWithoutMasks(PrimFunc func, const VectorTarget& target) {
  const bool predicates = target.makes_predicates.value_or(target.has_scalable_vectors);
  Vectorizer vectorizer({.makes_predicates = predicates, .is_scalable = target.has_scalable_vectors}, target.name);
  func.body = vectorizer(func.body);
  if (!vectorizer.status().ok()) return vectorizer.status();
  return func;
}

PrimFunc SkipVectorize(PrimFunc func) {
  func.body = VectorizeSkipper{}(func.body);
  return func;
}

}  // namespace lathe
