#include "compiler/transform/vectorize_loop.h"

#include "compiler/arith/analyzer.h"
#include "compiler/ir/integer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr int64_t kMaxLanes = 1024;

Expr Splat(const Expr& e, int lanes) {
  if (!e.dtype().is_scalar()) return e;
  return Expr::Make(e.dtype().with_lanes(lanes), Broadcast{e, lanes});
}

Expr MakeRamp(const Expr& base, const Expr& stride, int lanes) {
  if (IsConstInt(stride, 0)) return base;
  return Expr::Make(base.dtype().with_lanes(lanes), Ramp{base, stride, lanes});
}

// base + stride * lane; scalars have stride 0. nullopt: some other vector.
std::optional<Ramp> AsRamp(const Expr& e) {
  if (e.dtype().is_scalar()) return Ramp{e, IntConst(e.dtype(), 0), 1};
  if (const Ramp* ramp = e.As<Ramp>()) return *ramp;
  return std::nullopt;
}

// Rewrites what is inside of one vectorized loop. Expressions come back as scalars (the same in every lane) or with all
// lanes.
class LaneRewriter {
 public:
  LaneRewriter(const Var& var, const Expr& min, int lanes, const Analyzer& analyzer, bool makes_masks)
      : var_(var), min_(min), lanes_(lanes), analyzer_(analyzer), makes_masks_(makes_masks) {
    vectors_.insert_or_assign(var.get(), MakeRamp(min, IntConst(min.dtype(), 1), lanes));
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
    return For{fresh, min_, IntConst(fresh.dtype(), lanes_), ForKind::kSerial, "", {}, body};
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
    if (const Evaluate* evaluate = stmt.As<Evaluate>(); evaluate != nullptr && !makes_masks_) {
      const std::optional<Expr> value = VectorExpr(evaluate->value);
      if (value) return Evaluate{*value};
    }
    if (const AssertStmt* assertion = stmt.As<AssertStmt>();
        assertion != nullptr && IsInvariant(assertion->condition) && mask_depth_ == 0)
      return stmt;
    return std::nullopt;
  }

  std::optional<Stmt> VectorStore(const BufferStore& store) {
    if (store.buffer->dtype.lanes != 1 || store.predicate) return std::nullopt;
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

  std::optional<Stmt> VectorIf(const IfThenElse& branch) {
    const std::optional<Expr> condition = VectorExpr(branch.condition);
    if (!condition) return std::nullopt;
    const bool is_mask = !condition->dtype().is_scalar();
    if (is_mask && !makes_masks_) return std::nullopt;
    mask_depth_ += is_mask;
    const Stmt then_case = RewriteOrSerialize(branch.then_case);
    std::optional<Stmt> else_case;
    if (branch.else_case) else_case = RewriteOrSerialize(*branch.else_case);
    mask_depth_ -= is_mask;
    return IfThenElse{*condition, then_case, else_case};
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
      return MakeSelect(*condition, Splat(*a, lanes_), Splat(*b, lanes_));
    }
    if (const BufferLoad* load = e.As<BufferLoad>()) {
      const std::optional<std::vector<Expr>> indices = VectorIndices(load->indices);
      if (!indices || load->predicate) return std::nullopt;
      return Expr::Make(e.dtype().with_lanes(indices->back().dtype().lanes),
                        BufferLoad{load->buffer, *indices, std::nullopt});
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
    return MakeCast(dtype.with_lanes(lanes_), *value);
  }

  std::optional<Expr> VectorCall(DataType dtype, const Call& call) {
    const bool is_lanewise = call.op->is_pure && !call.op->name.starts_with("vector");
    if (!is_lanewise) return std::nullopt;
    Call vector = call;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const std::optional<Expr> arg = VectorExpr(call.args[i]);
      if (!arg) return std::nullopt;
      const bool may_be_scalar = i == 0 && call.op->name == "if_then_else";
      vector.args[i] = may_be_scalar ? *arg : Splat(*arg, lanes_);
    }
    return Expr::Make(dtype.with_lanes(lanes_), std::move(vector));
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
        if (b.dtype().is_scalar()) return MakeRamp(x->base * b, x->stride * b, lanes_);
        if (a.dtype().is_scalar()) return MakeRamp(a * y->base, a * y->stride, lanes_);
        return std::nullopt;
      case BinaryOp::kFloorDiv:
      case BinaryOp::kFloorMod:
        return DivideRamp(op, *x, b);
      default:
        return std::nullopt;
    }
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
    if (*stride < 0 || FloorModulo(base.base, step) + (lanes_ - 1) * *stride >= step) return std::nullopt;
    if (is_div) return FloorDiv(ramp.base, divisor);
    return MakeRamp(FloorMod(ramp.base, divisor), ramp.stride, lanes_);
  }

  Var var_;
  Expr min_;
  int lanes_;
  const Analyzer& analyzer_;
  const bool makes_masks_;
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
  explicit Vectorizer(bool makes_masks) : makes_masks_(makes_masks) {}
  const Status& status() const { return status_; }

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    if (loop.kind != ForKind::kVectorized) return visited;
    For serial = *visited.As<For>();
    serial.kind = ForKind::kSerial;
    const int64_t* extent = AsIntConst(serial.extent);
    if (!makes_masks_ && (extent == nullptr || HasWhile(serial.body)))
      status_ = InvalidArgument("vectorize_loop: loop \"" + serial.loop_var.name() + "\" " +
                                (extent == nullptr ? "has an extent that is no constant" : "holds a while") +
                                "; leave it serial");
    if (extent == nullptr || *extent < 1 || *extent > kMaxLanes) return serial;
    if (*extent == 1) return Substitute(serial.body, {{serial.loop_var.get(), serial.min}});
    LaneRewriter lanes(serial.loop_var, serial.min, static_cast<int>(*extent), analyzer_, makes_masks_);
    return lanes.Rewrite(serial.body).value_or(Stmt(serial));
  }

 private:
  const bool makes_masks_;
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
  func.body = Vectorizer(true)(func.body);
  return func;
}

StatusOr<PrimFunc> VectorizeLoopWithoutMasks(PrimFunc func) {
  Vectorizer vectorizer(false);
  func.body = vectorizer(func.body);
  if (!vectorizer.status().ok()) return vectorizer.status();
  return func;
}

PrimFunc SkipVectorize(PrimFunc func) {
  func.body = VectorizeSkipper{}(func.body);
  return func;
}

}  // namespace lathe
