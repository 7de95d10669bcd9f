#include "compiler/ir/expr.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "compiler/ir/integer.h"
#include "compiler/ir/node_pool.h"

namespace lathe {

template <>
Boxed<Reduce>::Boxed(Reduce value) : node(std::make_shared<const Reduce>(std::move(value))) {}
namespace {

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEQ && op <= BinaryOp::kGE; }
bool IsLogical(BinaryOp op) { return op == BinaryOp::kAnd || op == BinaryOp::kOr; }

DataType ResultType(BinaryOp op, DataType operand) {
  return IsComparison(op) ? DataType::Bool().shaped_as(operand) : operand;
}

int Rank(DataType type) {  // Which side gives way when types differ.
  if (type.is_bool()) return 0;
  if (type.is_int()) return 1 + type.bits;
  return 1000 + type.bits;
}

Expr ConvertTo(DataType type, const Expr& e) {
  if (e.dtype() == type) return e;
  if (const IntImm* imm = e.As<IntImm>()) {
    if (type.is_scalar() && type.is_int())
      return Expr::Make(type, IntImm{WrapToWidth(imm->value, type.bits, type.is_signed_int())});
    const bool is_uint64 = e.dtype() == DataType::UInt(64);
    if (type.is_scalar() && type.is_float())
      return FloatConst(
          type, is_uint64 ? static_cast<double>(static_cast<uint64_t>(imm->value)) : static_cast<double>(imm->value));
  }
  if (const FloatImm* imm = e.As<FloatImm>();
      imm != nullptr && type.is_scalar() && type.is_float() && type.bits > e.dtype().bits) {
    return FloatConst(type, imm->value);
  }
  if (!type.is_scalar() && e.dtype().is_scalar()) {
    return Expr::Make(type, Broadcast{ConvertTo(type.element(), e), type.lanes});
  }
  return MakeCast(type, e);
}

}  // namespace

void MatchTypes(Expr& a, Expr& b) {
  if (a.dtype() == b.dtype()) return;
  DataType wide = Rank(a.dtype()) >= Rank(b.dtype()) ? a.dtype() : b.dtype();
  const bool a_is_constant = a.As<IntImm>() != nullptr, b_is_constant = b.As<IntImm>() != nullptr;
  if (a_is_constant != b_is_constant && a.dtype().is_int() &&
      b.dtype().is_int()) {  // A literal takes the other side's type if it fits.
    const Expr& literal = a_is_constant ? a : b;
    const DataType other = (a_is_constant ? b : a).dtype().element();
    const int64_t value = literal.As<IntImm>()->value;
    if (WrapToWidth(value, other.bits, other.is_signed_int()) == value) wide = other;
  }
  wide = wide.shaped_as(a.dtype().is_scalar() ? b.dtype() : a.dtype());
  a = ConvertTo(wide, a);
  b = ConvertTo(wide, b);
}

namespace {

// The operations whose result depends on how the bits of 64 are read.
std::optional<Expr> FoldUInt64s(BinaryOp op, uint64_t x, uint64_t y) {
  const auto number = [](uint64_t value) { return IntConst(DataType::UInt(64), static_cast<int64_t>(value)); };
  const auto boolean = [](bool value) { return IntConst(DataType::Bool(), value); };
  const auto quotient = [&](uint64_t value) { return y == 0 ? std::nullopt : std::optional(number(value)); };
  switch (op) {
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
      return quotient(y == 0 ? 0 : x / y);
    case BinaryOp::kTruncMod:
    case BinaryOp::kFloorMod:
      return quotient(y == 0 ? 0 : x % y);
    case BinaryOp::kMin:
      return number(std::min(x, y));
    case BinaryOp::kMax:
      return number(std::max(x, y));
    case BinaryOp::kLT:
      return boolean(x < y);
    case BinaryOp::kLE:
      return boolean(x <= y);
    case BinaryOp::kGT:
      return boolean(x > y);
    case BinaryOp::kGE:
      return boolean(x >= y);
    default:
      return std::nullopt;
  }
}
bool DependsOnSign(BinaryOp op) {
  switch (op) {
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kTruncMod:
    case BinaryOp::kFloorMod:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kLT:
    case BinaryOp::kLE:
    case BinaryOp::kGT:
    case BinaryOp::kGE:
      return true;
    default:
      return false;
  }
}

std::optional<Expr> FoldInts(BinaryOp op, DataType type, int64_t x, int64_t y) {
  if (type == DataType::UInt(64) && DependsOnSign(op))
    return FoldUInt64s(op, static_cast<uint64_t>(x), static_cast<uint64_t>(y));
  const auto wrap = [&](int64_t value) { return IntConst(type, WrapToWidth(value, type.bits, type.is_signed_int())); };
  const auto boolean = [&](bool value) { return IntConst(DataType::Bool(), value); };
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  switch (op) {
    case BinaryOp::kAdd:
      return wrap(static_cast<int64_t>(ux + uy));
    case BinaryOp::kSub:
      return wrap(static_cast<int64_t>(ux - uy));
    case BinaryOp::kMul:
      return wrap(static_cast<int64_t>(ux * uy));
    case BinaryOp::kDiv:
      if (y == 0 || (y == -1 && x == INT64_MIN)) return std::nullopt;
      return wrap(x / y);
    case BinaryOp::kTruncMod:
      if (y == 0 || y == -1) return std::nullopt;
      return wrap(x % y);
    case BinaryOp::kFloorDiv:
      if (y == 0 || (y == -1 && x == INT64_MIN)) return std::nullopt;
      return wrap(FloorDivide(x, y));
    case BinaryOp::kFloorMod:
      if (y == 0 || y == -1) return std::nullopt;
      return wrap(FloorModulo(x, y));
    case BinaryOp::kMin:
      return wrap(std::min(x, y));
    case BinaryOp::kMax:
      return wrap(std::max(x, y));
    case BinaryOp::kEQ:
      return boolean(x == y);
    case BinaryOp::kNE:
      return boolean(x != y);
    case BinaryOp::kLT:
      return boolean(x < y);
    case BinaryOp::kLE:
      return boolean(x <= y);
    case BinaryOp::kGT:
      return boolean(x > y);
    case BinaryOp::kGE:
      return boolean(x >= y);
    case BinaryOp::kAnd:
      return boolean(x != 0 && y != 0);
    case BinaryOp::kOr:
      return boolean(x != 0 || y != 0);
  }
  return std::nullopt;
}

// x op constant, where the result is x or the constant. Integers and booleans only: floats keep NaN and -0.
std::optional<Expr> FoldIdentity(BinaryOp op, const Expr& a, const Expr& b) {
  if (a.dtype().is_float()) return std::nullopt;
  const int64_t* x = AsIntConst(a);
  const int64_t* y = AsIntConst(b);
  switch (op) {
    case BinaryOp::kAdd:
      if (y && *y == 0) return a;
      if (x && *x == 0) return b;
      break;
    case BinaryOp::kSub:
      if (y && *y == 0) return a;
      break;
    case BinaryOp::kMul:
      if ((y && *y == 1) || (x && *x == 0)) return a;
      if ((x && *x == 1) || (y && *y == 0)) return b;
      break;
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
      if ((y && *y == 1) || (x && *x == 0 && y && *y != 0)) return a;
      break;
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncMod:
      if (y && *y == 1) return IntConst(a.dtype(), 0);
      break;
    case BinaryOp::kAnd:
      if (y) return *y != 0 ? a : b;
      if (x) return *x != 0 ? b : a;
      break;
    case BinaryOp::kOr:
      if (y) return *y != 0 ? b : a;
      if (x) return *x != 0 ? a : b;
      break;
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace

void* ExprNode::operator new(size_t) { return NodePool<sizeof(ExprNode)>::Take(); }
void ExprNode::operator delete(void* node) { NodePool<sizeof(ExprNode)>::Give(node); }

Expr::Expr(int64_t value)
    : Expr(IntConst(value >= INT32_MIN && value <= INT32_MAX ? DataType::Int(32) : DataType::Int(64), value)) {}

Var::Var(std::string name, DataType dtype) : Expr(Make(dtype, VarName{std::move(name)})) {}
Var Var::Size(std::string name, DataType dtype) { return Var(Make(dtype, VarName{std::move(name), nullptr, true})); }
Var::Var(const Expr& expr) : Expr(expr) { CHECK(IsVar(expr)) << "expression is no variable"; }
Var::Var(std::string name, const PointerType* pointer)
    : Expr(Make(DataType::Handle(), VarName{std::move(name), pointer})) {}
const std::string& Var::name() const { return As<VarName>()->name; }
const PointerType* Var::pointer() const { return As<VarName>()->pointer; }

Var Var::CopyWithName(std::string name) const {
  VarName copy = *As<VarName>();
  copy.name = std::move(name);
  return Var(Make(dtype(), std::move(copy)));
}

const PointerType* MakePointerType(DataType element, std::string_view scope) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<uint64_t, std::string>, PointerType>();  // Never destroyed.
  const uint64_t type = (uint64_t(element.code) << 32) | (uint64_t(element.bits) << 24) |
                        (uint64_t(element.is_scalable) << 16) | element.lanes;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace({type, std::string(scope)});
  if (is_new) entry->second = {element, std::string(scope)};
  return &entry->second;
}

const Var& UnsetData() {
  static const Var& unset = *new Var("", DataType::Handle());  // Never destroyed.
  return unset;
}

Buffer::Buffer(BufferNode node) : node_(new BufferNode(std::move(node))) {
  BufferNode& mine = node_.Mutable();
  if (mine.data.same_as(UnsetData())) mine.data = Var(mine.name, MakePointerType(mine.dtype, mine.scope));
}

bool MayAlias(const Buffer& a, const Buffer& b) { return a->data.same_as(b->data); }

Expr MakeBinary(BinaryOp op, Expr a, Expr b) {
  CHECK(a.dtype() == b.dtype()) << "operands are " << a.dtype().ToString() << " and " << b.dtype().ToString();
  const DataType type = ResultType(op, a.dtype());
  return Expr::Make(type, Binary{op, std::move(a), std::move(b)});
}

Expr FoldBinary(BinaryOp op, Expr a, Expr b) {
  MatchTypes(a, b);
  const int64_t* x = AsIntConst(a);
  const int64_t* y = AsIntConst(b);
  if (x != nullptr && y != nullptr && a.dtype().is_scalar()) {
    if (std::optional<Expr> folded = FoldInts(op, a.dtype(), *x, *y)) return *folded;
  }
  if (std::optional<Expr> folded = FoldIdentity(op, a, b)) return *folded;
  if (IsLogical(op)) CHECK(a.dtype().is_bool()) << "and/or of " << a.dtype().ToString();
  return MakeBinary(op, std::move(a), std::move(b));
}

Expr operator+(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kAdd, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kSub, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kMul, a, b); }
Expr operator/(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kDiv, a, b); }
Expr FloorDiv(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kFloorDiv, a, b); }
Expr FloorMod(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kFloorMod, a, b); }
Expr Min(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kMin, a, b); }
Expr Max(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kMax, a, b); }
Expr Equal(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kEQ, a, b); }
Expr Less(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kLT, a, b); }
Expr LessEqual(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kLE, a, b); }
Expr And(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kAnd, a, b); }

Expr MakeNot(const Expr& a) {
  if (const int64_t* value = AsIntConst(a)) return IntConst(a.dtype(), *value == 0);
  return Expr::Make(a.dtype(), Not{a});
}

Expr MakeCast(DataType dtype, const Expr& value) {
  if (value.dtype() == dtype) return value;
  return Expr::Make(dtype, Cast{value});
}

Expr MakeSelect(const Expr& condition, const Expr& true_value, const Expr& false_value) {
  if (const int64_t* known = AsIntConst(condition)) return *known != 0 ? true_value : false_value;
  return Expr::Make(true_value.dtype(), Select{condition, true_value, false_value});
}

Expr MakeCall(DataType dtype, std::string_view op_name, std::vector<Expr> args) {
  const Op* op = FindOp(op_name);
  CHECK(op != nullptr) << "no operation named " << op_name;
  return Expr::Make(dtype, Call{op, std::move(args)});
}
Status CheckDepth(const Expr& e) {
  if (e.depth() <= kMaxProgramDepth) return OkStatus();
  return InvalidArgument(fmt::format("an expression is nested more than {} deep; split it up", kMaxProgramDepth));
}
const Call* AsCall(const Expr& e, std::string_view op_name) {
  const Call* call = e.As<Call>();
  return call != nullptr && call->op->name == op_name ? call : nullptr;
}

namespace {

// Small constants of one type, which live for ever: most arithmetic on indices ends in one.
class SmallInts {
 public:
  explicit SmallInts(DataType type) {
    for (int64_t value = kFirst; value < kEnd; ++value) {
      all_.push_back(Expr::Make(type, IntImm{value}));
      all_.back().node().refs.store(Counted::kImmortal, std::memory_order_relaxed);
    }
  }
  static bool Has(int64_t value) { return value >= kFirst && value < kEnd; }
  const Expr& operator[](int64_t value) const { return all_[static_cast<size_t>(value - kFirst)]; }

 private:
  static constexpr int64_t kFirst = -16, kEnd = 1025;
  std::vector<Expr> all_;
};

struct IndexConstants {
  SmallInts int32{DataType::Int(32)}, int64{DataType::Int(64)}, boolean{DataType::Bool()};
};

[[gnu::noinline]] const IndexConstants& MakeIndexConstants() { return *new IndexConstants; }  // Never destroyed.

// nullptr: the type has none.
const SmallInts* SmallIntsOf(DataType type) {
  static const IndexConstants& all = MakeIndexConstants();
  if (!type.is_scalar()) return nullptr;
  if (type.is_bool()) return &all.boolean;
  if (!type.is_signed_int()) return nullptr;
  return type.bits == 32 ? &all.int32 : type.bits == 64 ? &all.int64 : nullptr;
}

}  // namespace

namespace {

// Apart from the way that most take.
[[gnu::noinline]] Expr NewIntConst(DataType dtype, int64_t value) {
  CHECK(!dtype.is_float()) << "integer constant of type " << dtype.ToString();
  Expr scalar = Expr::Make(dtype.element(), IntImm{value});
  return dtype.is_scalar() ? scalar : Expr::Make(dtype, Broadcast{scalar, dtype.lanes});
}

}  // namespace

Expr IntConst(DataType dtype, int64_t value) {
  if (SmallInts::Has(value)) {
    if (const SmallInts* known = SmallIntsOf(dtype)) return (*known)[value];
  }
  return NewIntConst(dtype, value);
}

Expr FloatConst(DataType dtype, double value) {
  CHECK(dtype.is_float()) << "float constant of type " << dtype.ToString();
  Expr scalar = Expr::Make(dtype.element(), FloatImm{value});
  return dtype.is_scalar() ? scalar : Expr::Make(dtype, Broadcast{scalar, dtype.lanes});
}

DataType AccessType(const Buffer& buffer, const std::vector<Expr>& indices) {
  DataType type = buffer->dtype;
  if (indices.empty()) return type;
  const DataType index = indices.back().dtype();
  type.lanes = static_cast<uint16_t>(type.lanes * index.lanes);
  type.is_scalable |= index.is_scalable;
  return type;
}

std::optional<DataType> TypeOfLanes(DataType element, const Expr& lanes) {
  const auto is_vscale = [](const Expr& x) { return AsCall(x, "vscale") != nullptr; };
  const Binary* product = lanes.As<Binary>();
  const bool is_product =
      product != nullptr && product->op == BinaryOp::kMul && (is_vscale(product->a) || is_vscale(product->b));
  const bool is_scalable = is_product || is_vscale(lanes);
  const Expr& factor = is_product ? (is_vscale(product->a) ? product->b : product->a) : lanes;
  const int64_t* count = AsIntConst(factor);
  const int64_t number = count != nullptr ? *count : is_scalable && !is_product ? 1 : 0;
  if (number < 1 || number > kMaxLanes) return std::nullopt;
  return is_scalable ? element.with_scalable_lanes(static_cast<int>(number))
                     : element.with_lanes(static_cast<int>(number));
}
Expr LanesOf(DataType type) {
  const Expr number = IntConst(kIndexType, type.lanes);
  return type.is_scalable ? MakeBinary(BinaryOp::kMul, MakeCall(kIndexType, "vscale", {}), number) : number;
}

Expr Load(const Buffer& buffer, std::vector<Expr> indices) {
  CHECK(indices.size() == buffer->shape.size() || indices.size() == 1)
      << "load of " << buffer->name << " with " << indices.size() << " indices";
  const DataType type = AccessType(buffer, indices);  // Before they are moved, whatever order arguments have.
  return Expr::Make(type, BufferLoad{buffer, std::move(indices), std::nullopt});
}

Expr True() { return IntConst(DataType::Bool(), 1); }

}  // namespace lathe
