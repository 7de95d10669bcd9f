// Compiles expressions other than arithmetic and calls.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/interpreter/code.h"
#include "compiler/ir/integer.h"
#include "compiler/ir/plain_call.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class Constant : public ExprCode {
 public:
  explicit Constant(Value value) : value_(value) {}
  Value Eval(Machine&, int) const override { return value_; }

 private:
  Value value_;
};

class Register : public ExprCode {
 public:
  explicit Register(int slot) : slot_(slot) {}
  Value Eval(Machine& machine, int) const override { return machine.registers[slot_]; }

 private:
  int slot_;
};

class VectorRegister : public ExprCode {  // A let-bound vector: one register per lane.
 public:
  explicit VectorRegister(int slot) : slot_(slot) {}
  Value Eval(Machine& machine, int lane) const override { return machine.registers[slot_ + lane]; }

 private:
  int slot_;
};

// The right side is not evaluated where the left one decides, as in generated code where the right one reads memory.
class LogicalCode : public ExprCode {
 public:
  LogicalCode(bool is_and, ExprCodePtr a, ExprCodePtr b) : is_and_(is_and), a_(std::move(a)), b_(std::move(b)) {}
  Value Eval(Machine& machine, int lane) const override {
    const bool a = a_->Eval(machine, lane).i != 0;
    return {.i = a != is_and_ ? a : b_->Eval(machine, lane).i != 0};
  }

 private:
  const bool is_and_;
  ExprCodePtr a_, b_;
};

class NotCode : public ExprCode {
 public:
  explicit NotCode(ExprCodePtr a) : a_(std::move(a)) {}
  Value Eval(Machine& machine, int lane) const override { return {.i = a_->Eval(machine, lane).i == 0}; }

 private:
  ExprCodePtr a_;
};

class CastCode : public ExprCode {
 public:
  CastCode(DataType from, DataType to, FloatRounding rounding, ExprCodePtr a)
      : from_(from), to_(to), rounding_(rounding), a_(std::move(a)) {}
  Value Eval(Machine& machine, int lane) const override {
    const Value value = a_->Eval(machine, lane);
    if (to_.is_float()) return {.f = rounding_(from_.is_float() ? value.f : IntToFloat(from_, value.i))};
    if (to_.is_bool()) return {.i = from_.is_float() ? value.f != 0 : value.i != 0};
    if (from_.is_float()) return {.i = FloatToInt(to_, value.f)};
    return {.i = WrapToWidth(value.i, to_.bits, to_.is_signed_int())};
  }

 private:
  DataType from_, to_;
  FloatRounding rounding_;
  ExprCodePtr a_;
};

class SelectCode : public ExprCode {
 public:
  SelectCode(ExprCodePtr condition, ExprCodePtr a, ExprCodePtr b)
      : condition_(std::move(condition)), a_(std::move(a)), b_(std::move(b)) {}
  Value Eval(Machine& machine, int lane) const override {
    const bool is_true = condition_->Eval(machine, lane).i != 0;
    const Value a = a_->Eval(machine, lane), b = b_->Eval(machine, lane);
    return is_true ? a : b;
  }

 private:
  ExprCodePtr condition_, a_, b_;
};

class RampCode : public ExprCode {
 public:
  RampCode(DataType dtype, ExprCodePtr base, ExprCodePtr stride)
      : dtype_(dtype), base_(std::move(base)), stride_(std::move(stride)) {}
  Value Eval(Machine& machine, int lane) const override {
    const uint64_t base = static_cast<uint64_t>(base_->Eval(machine, 0).i),
                   stride = static_cast<uint64_t>(stride_->Eval(machine, 0).i);
    return {.i = WrapToWidth(static_cast<int64_t>(base + stride * static_cast<uint64_t>(lane)), dtype_.bits,
                             dtype_.is_signed_int())};
  }

 private:
  DataType dtype_;
  ExprCodePtr base_, stride_;
};

class BroadcastCode : public ExprCode {
 public:
  BroadcastCode(int inner_lanes, ExprCodePtr value) : inner_lanes_(inner_lanes), value_(std::move(value)) {}
  Value Eval(Machine& machine, int lane) const override { return value_->Eval(machine, lane % inner_lanes_); }

 private:
  int inner_lanes_;
  ExprCodePtr value_;
};

class LoadCode : public ExprCode {
 public:
  explicit LoadCode(AccessCode access) : access_(std::move(access)) {}
  Value Eval(Machine& machine, int lane) const override { return access_.Read(machine, lane); }

 private:
  AccessCode access_;
};
class ScalarLoadCode : public ExprCode {  // Evaluated inside of a vector expression it still has one lane.
 public:
  explicit ScalarLoadCode(AccessCode access) : access_(std::move(access)) {}
  Value Eval(Machine& machine, int) const override { return access_.Read(machine, 0); }

 private:
  AccessCode access_;
};

StatusOr<ExprCodePtr> CompileLoad(const Expr& expr, const BufferLoad& load, Scope& scope) {
  if (load.predicate) {  // Lanes that are off are zero.
    const DataType type = expr.dtype();
    const Expr plain = Expr::Make(type, BufferLoad{load.buffer, load.indices, std::nullopt});
    const Expr zero = type.is_float() ? FloatConst(type, 0) : IntConst(type, 0);
    return CompileExpr(MakeCall(type, "if_then_else", {*load.predicate, plain, zero}), scope);
  }
  ASSIGN_OR_RETURN(AccessCode access, CompileAccess(load.buffer, load.indices, scope));
  if (expr.dtype().is_scalar()) return ExprCodePtr(new ScalarLoadCode(std::move(access)));
  return ExprCodePtr(new LoadCode(std::move(access)));
}

StatusOr<ExprCodePtr> CompileSelect(const Select& select, Scope& scope) {
  ASSIGN_OR_RETURN(ExprCodePtr condition, CompileExpr(select.condition, scope));
  ASSIGN_OR_RETURN(ExprCodePtr a, CompileExpr(select.true_value, scope));
  ASSIGN_OR_RETURN(ExprCodePtr b, CompileExpr(select.false_value, scope));
  return ExprCodePtr(new SelectCode(std::move(condition), std::move(a), std::move(b)));
}

}  // namespace

int64_t AccessCode::Resolve(Machine& machine, int lane) const {
  const View& view = machine.views[slot];
  const int index_lane = element_lanes == 1 ? lane : lane / element_lanes;
  int64_t element = view.offset;
  bool is_inside = true;
  if (is_flat) {
    const int64_t index = indices[0]->Eval(machine, index_lane).i;
    element += index;
    is_inside = index >= 0 && element < static_cast<int64_t>(view.storage->cells.size()) / element_lanes;
  }
  for (size_t d = 0; !is_flat && d < indices.size(); ++d) {
    const int64_t index = indices[d]->Eval(machine, index_lane).i;
    is_inside &= static_cast<uint64_t>(index) < static_cast<uint64_t>(view.shape[d]);
    element += index * view.strides[d];
  }
  if (machine.has_failed) return -1;
  if (!is_inside) {
    std::string shape;
    for (const int64_t extent : view.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    machine.Fail(StatusCode::kOutOfRange, *site,
                 fmt::format("{} is outside of shape [{}]", Describe(machine, lane), shape));
    return -1;
  }
  return element_lanes == 1 ? element : element * element_lanes + lane % element_lanes;
}

Value AccessCode::Read(Machine& machine, int lane) const {
  bool* const is_unwritten = std::exchange(machine.is_unwritten, nullptr);  // Indices have to be written in any case.
  const int64_t cell = Resolve(machine, lane);
  if (cell < 0) return {.i = 0};
  Storage& storage = *machine.views[slot].storage;
  if (machine.has_shadow()) {
    bool is_missing = false;
    const std::string race = machine.Note(storage, cell, Machine::Access::kRead, statement, is_missing);
    if (is_missing && is_unwritten != nullptr) {
      *is_unwritten = true;
    } else if (is_missing) {
      machine.Fail(StatusCode::kFailedPrecondition, *site,
                   fmt::format("{} is read before it was written", Describe(machine, lane)));
    } else if (!race.empty()) {
      machine.Fail(StatusCode::kFailedPrecondition, *site,
                   fmt::format("data race: {} is read here and {}", Describe(machine, lane), race));
    }
  }
  if (IsWrittenByCopy(storage, cell)) {
    machine.Fail(
        StatusCode::kFailedPrecondition, *site,
        fmt::format("{} is read while a copy into it is in flight; wait for its group first", Describe(machine, lane)));
  }
  return storage.cells[cell];
}

void AccessCode::NoteWrite(Machine& machine, int lane, int64_t cell, Machine::Access access) const {
  Storage& storage = *machine.views[slot].storage;
  if (IsInFlight(storage, cell)) {
    machine.Fail(StatusCode::kFailedPrecondition, *site,
                 fmt::format("{} is written while a copy of it is in flight; wait for its group first",
                             Describe(machine, lane)));
  }
  if (!machine.has_shadow()) return;
  bool is_missing = false;
  const std::string race = machine.Note(storage, cell, access, statement, is_missing);
  if (is_missing) {
    machine.Fail(StatusCode::kFailedPrecondition, *site,
                 fmt::format("{} is updated before it was written", Describe(machine, lane)));
  } else if (!race.empty()) {
    machine.Fail(StatusCode::kFailedPrecondition, *site,
                 fmt::format("data race: {} is written here and {}", Describe(machine, lane), race));
  }
}

std::string AccessCode::Describe(Machine& machine, int lane) const {
  std::string text;
  const int index_lane = lane / element_lanes;
  for (const ExprCodePtr& index : indices)
    text += (text.empty() ? "" : ", ") + std::to_string(index->Eval(machine, index_lane).i);
  return fmt::format("{}[{}]", buffer_name, text);
}

StatusOr<AccessCode> CompileAccess(const Buffer& buffer, const std::vector<Expr>& indices, Scope& scope) {
  const bool is_flat = indices.size() == 1 && buffer->shape.size() != 1;
  if (!is_flat && indices.size() != buffer->shape.size()) {
    return scope.Error(StatusCode::kInvalidArgument,
                       fmt::format("buffer \"{}\" has {} dimensions and is accessed with {} indices", buffer->name,
                                   buffer->shape.size(), indices.size()));
  }
  ASSIGN_OR_RETURN(const int slot, scope.BufferSlot(buffer));
  AccessCode access{slot, buffer->name,        buffer->dtype.lanes,     is_flat,
                    {},   scope.CurrentSite(), scope.CurrentStatement()};
  for (const Expr& index : indices) {
    if (!index.dtype().is_int() && !index.dtype().is_bool()) {
      return scope.Error(StatusCode::kInvalidArgument, fmt::format("buffer \"{}\" is indexed by a value of type {}",
                                                                   buffer->name, index.dtype().ToString()));
    }
    ASSIGN_OR_RETURN(ExprCodePtr code, CompileExpr(index, scope));
    access.indices.push_back(std::move(code));
  }
  return access;
}

namespace {

// Whether one lane of the operation may need other lanes of its operands.
bool MixesLanes(const Expr& e) {
  const auto has_other_lanes = [&](const Expr& arg) { return arg.dtype().lanes != e.dtype().lanes; };
  if (const Broadcast* broadcast = e.As<Broadcast>()) return !broadcast->value.dtype().is_scalar();
  if (const BufferLoad* load = e.As<BufferLoad>()) return !load->buffer->dtype.is_scalar();
  if (const Call* call = e.As<Call>()) return std::any_of(call->args.begin(), call->args.end(), has_other_lanes);
  return e.As<Shuffle>() != nullptr;
}

class LetValueCode : public ExprCode {
 public:
  LetValueCode(int slot, int lanes, ExprCodePtr value, ExprCodePtr body)
      : slot_(slot), lanes_(lanes), value_(std::move(value)), body_(std::move(body)) {}
  Value Eval(Machine& machine, int lane) const override {
    for (int i = 0; i < lanes_; ++i) machine.registers[slot_ + i] = value_->Eval(machine, i);
    return body_->Eval(machine, lane);
  }

 private:
  int slot_, lanes_;
  ExprCodePtr value_, body_;
};

// A vector of which each lane of the body takes its own: the others are not evaluated, or those of lets within lets
// would be again and again.
class LetLaneCode : public ExprCode {
 public:
  LetLaneCode(int slot, ExprCodePtr value, ExprCodePtr body)
      : slot_(slot), value_(std::move(value)), body_(std::move(body)) {}
  Value Eval(Machine& machine, int lane) const override {
    machine.registers[slot_ + lane] = value_->Eval(machine, lane);
    return body_->Eval(machine, lane);
  }

 private:
  int slot_;
  ExprCodePtr value_, body_;
};

StatusOr<ExprCodePtr> CompileLetValue(const Let& let, Scope& scope) {
  ASSIGN_OR_RETURN(ExprCodePtr value, CompileExpr(let.value, scope));
  const int slot = scope.DefineVar(let.var);
  scope.BeginLater();
  ASSIGN_OR_RETURN(ExprCodePtr body, CompileExpr(let.body, scope));
  scope.EndLater();
  const int lanes = let.var.dtype().lanes;
  bool mixes = lanes == 1 || lanes != let.body.dtype().lanes;
  PostOrderVisit(let.body, [&](const Expr& part) { mixes = mixes || MixesLanes(part); });
  if (!mixes) return ExprCodePtr(new LetLaneCode(slot, std::move(value), std::move(body)));
  return ExprCodePtr(new LetValueCode(slot, lanes, std::move(value), std::move(body)));
}

class ShuffleCode : public ExprCode {
 public:
  ShuffleCode(std::vector<ExprCodePtr> vectors, std::vector<std::pair<size_t, int>> picks)
      : vectors_(std::move(vectors)), picks_(std::move(picks)) {}
  Value Eval(Machine& machine, int lane) const override {
    const auto& [vector, from] = picks_[static_cast<size_t>(lane)];
    return vectors_[vector]->Eval(machine, from);
  }

 private:
  std::vector<ExprCodePtr> vectors_;
  std::vector<std::pair<size_t, int>> picks_;  // For each lane: vector, its lane.
};

StatusOr<ExprCodePtr> CompileShuffle(const Shuffle& shuffle, Scope& scope) {
  std::vector<std::pair<size_t, int>> lanes, picks;
  std::vector<ExprCodePtr> vectors;
  for (const Expr& vector : shuffle.vectors) {
    for (int i = 0; i < vector.dtype().lanes; ++i) lanes.emplace_back(vectors.size(), i);
    ASSIGN_OR_RETURN(ExprCodePtr code, CompileExpr(vector, scope));
    vectors.push_back(std::move(code));
  }
  for (const Expr& index : shuffle.indices) {
    const int64_t* lane = AsIntConst(index);
    if (lane == nullptr || *lane < 0 || *lane >= static_cast<int64_t>(lanes.size()))
      return scope.Error(StatusCode::kInvalidArgument, "T.Shuffle picks a lane that is no constant or not there");
    picks.push_back(lanes[static_cast<size_t>(*lane)]);
  }
  return ExprCodePtr(new ShuffleCode(std::move(vectors), std::move(picks)));
}

Status Unknown(const Expr& expr, Scope& scope) {
  std::string_view what = "a string has no value here";
  if (expr.As<Reduce>() != nullptr) what = "T.Reduce as a value; write a block with T.axis.reduce";
  if (const FuncCall* call = expr.As<FuncCall>())
    return scope.Error(StatusCode::kUnimplemented, fmt::format("a call of function \"{}\"; inline it", call->callee));
  const bool is_text = expr.As<StringImm>() != nullptr;
  return scope.Error(is_text ? StatusCode::kInvalidArgument : StatusCode::kUnimplemented, std::string(what));
}

}  // namespace

StatusOr<ExprCodePtr> CompileExpr(const Expr& expr, Scope& scope) {
  if (expr.dtype().is_scalable || expr.dtype().is_narrow_float())
    return scope.Error(StatusCode::kUnimplemented, fmt::format("a value of {}", expr.dtype().ToString()));
  if (const IntImm* imm = expr.As<IntImm>()) return ExprCodePtr(new Constant({.i = imm->value}));
  if (const FloatImm* imm = expr.As<FloatImm>()) {
    const FloatRounding rounding =
        scope.float_mode() == FloatMode::kExact ? FloatRounding(expr.dtype()) : FloatRounding::None();
    return ExprCodePtr(new Constant({.f = rounding(imm->value)}));
  }
  if (IsVar(expr)) {
    ASSIGN_OR_RETURN(const int slot, scope.VarSlot(Var(expr)));
    if (expr.dtype().is_scalar()) return ExprCodePtr(new Register(slot));
    return ExprCodePtr(new VectorRegister(slot));
  }
  if (const Binary* binary = expr.As<Binary>()) {
    ASSIGN_OR_RETURN(ExprCodePtr a, CompileExpr(binary->a, scope));
    ASSIGN_OR_RETURN(ExprCodePtr b, CompileExpr(binary->b, scope));
    const bool is_logical = binary->op == BinaryOp::kAnd || binary->op == BinaryOp::kOr;
    if (is_logical && expr.dtype().is_scalar() && HasLoad(binary->b))
      return ExprCodePtr(new LogicalCode(binary->op == BinaryOp::kAnd, std::move(a), std::move(b)));
    return CompileBinary(binary->op, binary->a.dtype(), std::move(a), std::move(b), scope);
  }
  if (const Not* negation = expr.As<Not>()) {
    ASSIGN_OR_RETURN(ExprCodePtr a, CompileExpr(negation->a, scope));
    return ExprCodePtr(new NotCode(std::move(a)));
  }
  if (const Cast* cast = expr.As<Cast>()) {
    ASSIGN_OR_RETURN(ExprCodePtr a, CompileExpr(cast->value, scope));
    const FloatRounding rounding =
        scope.float_mode() == FloatMode::kExact ? FloatRounding(expr.dtype()) : FloatRounding::None();
    return ExprCodePtr(new CastCode(cast->value.dtype(), expr.dtype(), rounding, std::move(a)));
  }
  if (const Select* select = expr.As<Select>()) return CompileSelect(*select, scope);
  if (const BufferLoad* load = expr.As<BufferLoad>()) return CompileLoad(expr, *load, scope);
  if (const Ramp* ramp = expr.As<Ramp>()) {
    ASSIGN_OR_RETURN(ExprCodePtr base, CompileExpr(ramp->base, scope));
    ASSIGN_OR_RETURN(ExprCodePtr stride, CompileExpr(ramp->stride, scope));
    return ExprCodePtr(new RampCode(expr.dtype(), std::move(base), std::move(stride)));
  }
  if (const Broadcast* broadcast = expr.As<Broadcast>()) {
    ASSIGN_OR_RETURN(ExprCodePtr value, CompileExpr(broadcast->value, scope));
    return ExprCodePtr(new BroadcastCode(broadcast->value.dtype().lanes, std::move(value)));
  }
  if (const std::optional<Expr> plain = PlainCall(expr)) return CompileExpr(*plain, scope);
  if (const Call* call = expr.As<Call>()) return CompileCall(expr, *call, scope);
  if (const Let* let = expr.As<Let>()) return CompileLetValue(*let, scope);
  if (const Shuffle* shuffle = expr.As<Shuffle>()) return CompileShuffle(*shuffle, scope);
  return Unknown(expr, scope);
}

}  // namespace lathe
