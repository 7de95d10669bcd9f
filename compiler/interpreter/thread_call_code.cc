// Calls by which threads of a kernel reach each other: warp shuffles and atomic updates.
#include <fmt/format.h>

#include "compiler/interpreter/code.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class SlotCode : public ExprCode {
 public:
  explicit SlotCode(int slot) : slot_(slot) {}
  Value Eval(Machine& machine, int) const override { return machine.registers[slot_]; }

 private:
  int slot_;
};

class AtomicCode : public ExprCode {
 public:
  AtomicCode(AccessCode access, ExprCodePtr operand, int old_slot, int operand_slot, ExprCodePtr updated)
      : access_(std::move(access)),
        operand_(std::move(operand)),
        old_slot_(old_slot),
        operand_slot_(operand_slot),
        updated_(std::move(updated)) {}
  Value Eval(Machine& machine, int) const override {
    const Value operand = operand_->Eval(machine, 0);
    const int64_t cell = access_.Resolve(machine, 0);
    if (machine.has_failed) return {.i = 0};
    access_.NoteWrite(machine, 0, cell, Machine::Access::kAtomic);
    Value& value = machine.views[access_.slot].storage->cells[cell];
    const Value old = value;
    machine.registers[operand_slot_] = operand;
    machine.registers[old_slot_] = old;
    value = updated_->Eval(machine, 0);
    return old;
  }

 private:
  AccessCode access_;
  ExprCodePtr operand_;
  int old_slot_, operand_slot_;
  ExprCodePtr updated_;
};

struct AtomicKind {
  const char* name;
  std::optional<BinaryOp> op;  // nullopt: the operand replaces the value.
};
constexpr AtomicKind kAtomics[] = {{"atomicAdd", BinaryOp::kAdd},
                                   {"atomicSub", BinaryOp::kSub},
                                   {"atomicMin", BinaryOp::kMin},
                                   {"atomicMax", BinaryOp::kMax},
                                   {"atomicExch", std::nullopt}};

const AtomicKind* FindAtomic(const Call& call) {
  if (call.op->name != "call_extern" || call.args.empty()) return nullptr;
  const StringImm* name = call.args[0].As<StringImm>();
  for (const AtomicKind& kind : kAtomics)
    if (name != nullptr && name->value == kind.name) return &kind;
  return nullptr;
}

StatusOr<ExprCodePtr> CompileAtomic(const Expr& expr, const Call& call, const AtomicKind& kind, Scope& scope) {
  const Call* address = call.args.size() == 3 ? call.args[1].As<Call>() : nullptr;
  const bool is_address = address != nullptr && address->op->name == "address_of" && address->args.size() == 1;
  const BufferLoad* target = is_address ? address->args[0].As<BufferLoad>() : nullptr;
  if (target == nullptr)
    return scope.Error(StatusCode::kInvalidArgument,
                       fmt::format("{} takes T.address_of an element and a value", kind.name));
  const DataType type = target->buffer->dtype;
  if (!type.is_scalar() || call.args[2].dtype() != type || expr.dtype() != type) {
    return scope.Error(StatusCode::kInvalidArgument,
                       fmt::format("{} of an element of {} by a value of {}, the result of {}", kind.name,
                                   type.ToString(), call.args[2].dtype().ToString(), expr.dtype().ToString()));
  }
  ASSIGN_OR_RETURN(AccessCode access, CompileAccess(target->buffer, target->indices, scope));
  ASSIGN_OR_RETURN(ExprCodePtr operand, CompileExpr(call.args[2], scope));
  const int old_slot = scope.DefineVar(Var("old", type)), operand_slot = scope.DefineVar(Var("operand", type));
  ExprCodePtr updated(new SlotCode(operand_slot));
  if (kind.op) {
    ASSIGN_OR_RETURN(updated,
                     CompileBinary(*kind.op, type, ExprCodePtr(new SlotCode(old_slot)), std::move(updated), scope));
  }
  return ExprCodePtr(new AtomicCode(std::move(access), std::move(operand), old_slot, operand_slot, std::move(updated)));
}

StatusOr<ExprCodePtr> CompileShuffle(const Call& call, WarpExchange::Kind kind, Scope& scope) {
  const std::string name = fmt::format("T.{}", call.op->name);
  if (call.args.size() != 5 || !call.args[1].dtype().is_scalar())
    return scope.Error(StatusCode::kInvalidArgument,
                       name + " takes a mask, a value that is no vector, a lane, a width and the size of a warp");
  const int64_t* warp_size = AsIntConst(call.args[4]);
  if (warp_size == nullptr || *warp_size != kWarpSize)
    return scope.Error(StatusCode::kUnimplemented, fmt::format("{} with warps of other than {}", name, kWarpSize));
  WarpExchange exchange{name, kind, nullptr, nullptr, nullptr, scope.CurrentSite()};
  ASSIGN_OR_RETURN(exchange.value, CompileExpr(call.args[1], scope));
  ASSIGN_OR_RETURN(exchange.lane, CompileExpr(call.args[2], scope));
  ASSIGN_OR_RETURN(exchange.width, CompileExpr(call.args[3], scope));
  ASSIGN_OR_RETURN(const int slot, scope.AddExchange(std::move(exchange)));
  return ExprCodePtr(new SlotCode(slot));
}

}  // namespace

StatusOr<ExprCodePtr> CompileThreadCall(const Expr& expr, const Call& call, Scope& scope) {
  const std::string_view name = call.op->name;
  if (const AtomicKind* kind = FindAtomic(call)) return CompileAtomic(expr, call, *kind, scope);
  if (name == "tvm_warp_activemask") return CompileExpr(IntConst(expr.dtype(), UINT32_MAX), scope);
  if (name == "tvm_warp_shuffle") return CompileShuffle(call, WarpExchange::Kind::kIndexed, scope);
  if (name == "tvm_warp_shuffle_up") return CompileShuffle(call, WarpExchange::Kind::kUp, scope);
  if (name == "tvm_warp_shuffle_down") return CompileShuffle(call, WarpExchange::Kind::kDown, scope);
  if (name == "tvm_warp_shuffle_xor") return CompileShuffle(call, WarpExchange::Kind::kXor, scope);
  if (name == "tvm_storage_sync" || name == "ptx_cp_async" || name == "ptx_commit_group" || name == "ptx_wait_group")
    return scope.Error(StatusCode::kInvalidArgument, fmt::format("T.{} has no value; it is a statement", name));
  return ExprCodePtr();
}

}  // namespace lathe
