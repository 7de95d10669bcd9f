// Vectors: ramps and broadcasts take part in arithmetic as the scalars that they are made of. And operations on bits.

#include "compiler/arith/canonicalizer.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

struct Lanes {  // base + lane * stride
  Expr base, stride;
  bool is_broadcast;
};
std::optional<Lanes> AsLanes(const Expr& e) {
  if (const Broadcast* broadcast = e.As<Broadcast>())
    return Lanes{broadcast->value, IntConst(DataType::Int(32), 0), true};
  if (const Ramp* ramp = e.As<Ramp>()) return Lanes{ramp->base, ramp->stride, false};
  return std::nullopt;
}

// Of as many lanes as `shape` has.
Expr MakeRamp(Expr base, Expr stride, DataType shape) {
  const DataType type = base.dtype().shaped_as(shape);
  return Expr::Make(type, Ramp{std::move(base), std::move(stride), shape.lanes});
}
Expr MakeBroadcast(Expr value, DataType shape) {
  const DataType type = value.dtype().shaped_as(shape);
  return Expr::Make(type, Broadcast{std::move(value), shape.lanes});
}

}  // namespace

Expr Canonicalizer::RewriteVector(const Expr& e) {
  const Expr visited = VisitChildren(e);
  if (const Ramp* ramp = visited.As<Ramp>())
    return IsConstInt(ramp->stride, 0) ? MakeBroadcast(ramp->base, e.dtype()) : visited;
  if (const Not* op = visited.As<Not>()) {
    const Broadcast* value = op->a.As<Broadcast>();
    return value != nullptr ? MakeBroadcast(Rewrite(MakeNot(value->value)), e.dtype()) : visited;
  }
  const Binary* op = visited.As<Binary>();
  if (op == nullptr) return visited;
  const std::optional<Lanes> a = AsLanes(op->a), b = AsLanes(op->b);
  if (!a || !b) return visited;
  if (a->is_broadcast && b->is_broadcast)
    return MakeBroadcast(Rewrite(MakeBinary(op->op, a->base, b->base)), e.dtype());
  if (!IsIndexType(op->a.dtype().element())) return visited;
  if (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub || op->op == BinaryOp::kMul)
    return RingOfLanes(*op, e.dtype()).value_or(visited);
  if (!a->is_broadcast && b->is_broadcast) return QuotientOfRamp(*op, e.dtype()).value_or(visited);
  return visited;
}

std::optional<Expr> Canonicalizer::RingOfLanes(const Binary& op, DataType shape) {
  const Lanes a = *AsLanes(op.a), b = *AsLanes(op.b);
  const Expr zero = IntConst(a.base.dtype(), 0);
  const Expr s = a.is_broadcast ? zero : a.stride, t = b.is_broadcast ? zero : b.stride;
  const auto simple = [&](const Expr& x, const Expr& y) { return Rewrite(FoldBinary(op.op, x, y)); };
  if (op.op == BinaryOp::kMul) {
    if (!a.is_broadcast && !b.is_broadcast) return std::nullopt;
    return MakeRamp(simple(a.base, b.base), a.is_broadcast ? simple(a.base, t) : simple(s, b.base), shape);
  }
  const Expr base = simple(a.base, b.base), stride = simple(s, t);
  return IsConstInt(stride, 0) ? MakeBroadcast(base, shape) : MakeRamp(base, stride, shape);
}

// ramp // c and ramp % c where all lanes have one quotient, or c divides the stride.
std::optional<Expr> Canonicalizer::QuotientOfRamp(const Binary& op, DataType shape) {
  const Ramp& ramp = *op.a.As<Ramp>();
  const Expr by = op.b.As<Broadcast>()->value;
  const int64_t *stride = AsIntConst(ramp.stride), *divisor = AsIntConst(by);
  if (op.op != BinaryOp::kFloorDiv && op.op != BinaryOp::kFloorMod) return std::nullopt;
  if (stride == nullptr || divisor == nullptr || *divisor <= 0 || *stride == IntBound::kNegInf) return std::nullopt;
  const bool is_div = op.op == BinaryOp::kFloorDiv;
  const Expr base = Rewrite(MakeBinary(op.op, ramp.base, by));
  if (*stride % *divisor == 0)
    return is_div ? MakeRamp(base, IntConst(by.dtype(), *stride / *divisor), shape) : MakeBroadcast(base, shape);
  // The remainder of the base, and how far the lanes go above it.
  const ModularSet modular = Modular(Form(ramp.base));
  const int64_t step = modular.coeff == 0 ? *divisor : GreatestCommonDivisor(modular.coeff, *divisor);
  int64_t reach;
  if (shape.is_scalable || *stride < 0 || __builtin_mul_overflow(*stride, shape.lanes - 1, &reach)) return std::nullopt;
  if (reach >= step || FloorModulo(modular.base, step) + reach >= step) return std::nullopt;
  return is_div ? MakeBroadcast(base, shape) : MakeRamp(base, ramp.stride, shape);
}

std::optional<Expr> FoldBits(const Call& call, DataType type) {
  if (!type.is_scalar() || !type.is_int() || call.args.empty() || call.args.size() > 2) return std::nullopt;
  const int64_t* x = AsIntConst(call.args[0]);
  const int64_t* y = call.args.size() == 2 ? AsIntConst(call.args[1]) : x;
  if (x == nullptr || y == nullptr) return std::nullopt;
  const auto wrapped = [&](int64_t value) {
    return IntConst(type, WrapToWidth(value, type.bits, type.is_signed_int()));
  };
  const std::string_view name = call.op->name;
  if (name == "bitwise_and") return wrapped(*x & *y);
  if (name == "bitwise_or") return wrapped(*x | *y);
  if (name == "bitwise_xor") return wrapped(*x ^ *y);
  if (name == "bitwise_not") return wrapped(~*x);
  if (*y < 0 || *y >= type.bits) return std::nullopt;
  if (name == "shift_left") return wrapped(static_cast<int64_t>(static_cast<uint64_t>(*x) << *y));
  if (name != "shift_right") return std::nullopt;
  return wrapped(type.is_signed_int() ? *x >> *y : static_cast<int64_t>(static_cast<uint64_t>(*x) >> *y));
}

}  // namespace lathe
