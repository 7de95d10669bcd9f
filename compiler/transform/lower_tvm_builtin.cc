#include "compiler/transform/lower_tvm_builtin.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int64_t kMaxStackBytes = 1024;  // What is smaller lies on the stack.
constexpr int64_t kWorkspaceAlignment = 64;
constexpr int64_t kCpu = 1;

// Fields of T.tvm_struct_set, and codes of types, as TVM 0.18 numbers them.
namespace stack_field {
enum : int {
  kAddress = 0,
  kData,
  kShape,
  kStrides,
  kNumDims,
  kTypeCode,
  kTypeBits,
  kTypeLanes,
  kByteOffset,
  kDeviceId,
  kDeviceType,
  kValue = 12
};
}
namespace arg_code {
constexpr int kUInt = 1, kOpaqueHandle = 3, kNull = 4, kTensor = 7, kText = 11;
}

Expr HostInt(int64_t value) { return IntConst(DataType::Int(32), value); }
Stmt Run(Expr e) { return Evaluate{std::move(e)}; }
Expr NullHandle() { return MakeCall(DataType::Handle(), "reinterpret", {IntConst(DataType::UInt(64), 0)}); }
Expr IsNullHandle(const Expr& handle) { return MakeCall(DataType::Bool(), "isnullptr", {handle}); }
Expr HostCast(DataType type, const Expr& e) {
  const int64_t* value = AsIntConst(e);
  return value == nullptr ? MakeCast(type, e) : IntConst(type, *value);
}
Stmt StructSet(const Expr& memory, const Expr& index, int what, const Expr& value) {
  const Expr args[] = {memory, index, HostInt(what), value};
  return Run(MakeCall(DataType::Int(32), "tvm_struct_set", {std::begin(args), std::end(args)}));
}
struct StackSizes {
  int64_t shape = 0, array = 0, arg = 0;
};

// How much of the stacks the calls of one scope need at most. Stacks are used again after each call.
class StackMeter : public StmtExprVisitor {
 public:
  StackSizes most;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    if (loop.kind != ForKind::kParallel) return StmtExprVisitor::VisitFor(self, loop);
    VisitExpr(loop.min);
    VisitExpr(loop.extent);
  }
  void VisitExpr(const Expr& e) override {
    const Call* call = e.As<Call>();
    if (call == nullptr) return StmtExprVisitor::VisitExpr(e);
    const bool is_call = call->op->name == "tvm_call_packed" || call->op->name == "tvm_call_cpacked";
    const StackSizes outer = used_;
    const int64_t count = static_cast<int64_t>(call->args.size());
    used_.arg += is_call ? count : 0;
    used_.shape += call->op->name == "tvm_stack_make_shape" ? count : 0;
    StmtExprVisitor::VisitExpr(e);
    used_.array += call->op->name == "tvm_stack_make_array" ? 1 : 0;
    most = {std::max(most.shape, used_.shape), std::max(most.array, used_.array), std::max(most.arg, used_.arg)};
    if (is_call) used_ = outer;
  }

 private:
  StackSizes used_;
};

// The memory that the calls of one scope share.
struct Stacks {
  explicit Stacks(const StackSizes& most)
      : most(most),
        codes(MakeBuffer("stack_tcode", {IntConst(DataType::Int(64), most.arg)}, DataType::Int(32))),
        shape(MakeBuffer("stack_shape", {IntConst(DataType::Int(64), most.shape)}, DataType::Int(64))) {}
  StackSizes most, used;
  Var value{"stack_value", DataType::Handle()}, array{"stack_array", DataType::Handle()};
  Buffer codes, shape;
};

// Calls of packed functions below one scope become what fills the stacks, and calls of what takes those.
class BuiltinLowerer : public StmtExprMutator {
 public:
  Status status;

  Stmt InScope(const Stmt& body) {
    StackMeter meter;
    meter(body);
    Stacks own(meter.most);
    Stacks* const outer = std::exchange(stacks_, &own);
    Stmt lowered = VisitStmt(body);
    stacks_ = outer;
    return WithStacks(own, std::move(lowered));
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    std::vector<Stmt> outer = std::exchange(before_, {});
    Stmt visited = VisitKind(stmt);
    std::swap(before_, outer);
    if (outer.empty()) return visited;
    outer.push_back(std::move(visited));
    return MakeSeq(std::move(outer));
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (loop.kind != ForKind::kParallel) return StmtExprMutator::VisitFor(self, loop);
    For copy = loop;
    copy.min = VisitExpr(loop.min);
    copy.extent = VisitExpr(loop.extent);
    copy.body = InScope(loop.body);
    return copy;
  }
  Expr VisitExpr(const Expr& e) override {
    if (const Call* call = AsCall(e, "tvm_call_packed")) return PackedCall(*call, "tvm_call_packed_lowered");
    if (const Call* call = AsCall(e, "tvm_call_cpacked")) return PackedCall(*call, "tvm_call_cpacked_lowered");
    if (const Call* call = AsCall(e, "tvm_stack_make_shape")) return Shape(*call);
    if (const Call* call = AsCall(e, "tvm_stack_make_array")) return Array(*call);
    return StmtExprMutator::VisitExpr(e);
  }

 private:
  Stmt VisitKind(const Stmt& stmt) {
    std::optional<Stmt> from_runtime;
    if (const AllocBuffer* alloc = stmt.As<AllocBuffer>()) {
      const Buffer& buffer = alloc->buffer;
      from_runtime = FromRuntime({buffer->data, buffer->dtype, buffer->shape}, DeclBuffer{buffer, alloc->body});
    } else if (const Allocate* memory = stmt.As<Allocate>()) {
      from_runtime = FromRuntime({memory->buffer_var, memory->dtype, memory->extents}, memory->body);
    }
    if (from_runtime) return *from_runtime;
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const bool is_id = attr != nullptr && attr->attr_key == "device_id";
    if (!is_id && (attr == nullptr || attr->attr_key != "device_type")) return StmtExprMutator::VisitStmt(stmt);
    std::optional<Expr>& device = is_id ? device_id_ : device_type_;
    const std::optional<Expr> outer = std::exchange(device, attr->value);
    Stmt body = VisitStmt(attr->body);
    device = outer;
    return body;
  }

  bool HasDevice(std::string_view what) {
    if (device_type_ && device_id_) return true;
    status = InvalidArgument(fmt::format(
        "LowerTVMBuiltin {}: Unknown device {} in current IR; put T.attr(..., \"device_{}\", ...) around it", what,
        device_type_ ? "id" : "type", device_type_ ? "id" : "type"));
    return false;
  }

  // Booleans are unsigned integers of one bit.
  static int64_t NumberOf(DataType type) { return type.is_bool() ? arg_code::kUInt : static_cast<int64_t>(type.code); }
  static int64_t BitsOf(DataType type) { return type.is_bool() ? 1 : type.bits; }

  // ---- Memory.
  struct Memory {
    Var data;
    DataType type;
    std::vector<Expr> extents;
  };
  bool IsOnStack(const Memory& memory) const {
    const std::optional<std::vector<int64_t>> shape = ConstantShape(memory.extents);
    const bool is_of_cpu = !device_type_ || IsConstInt(*device_type_, kCpu);
    if (!shape || ScopeOf(memory.data) != "global" || !is_of_cpu) return false;
    int64_t bytes = memory.type.bytes();
    for (int64_t extent : *shape) bytes = std::min(kMaxStackBytes, bytes * std::min(extent, kMaxStackBytes));
    return 0 < bytes && bytes < kMaxStackBytes;
  }
  static Expr BytesOf(const Memory& memory) {
    const DataType type = DataType::UInt(64);
    Expr bytes = IntConst(type, memory.type.bytes());
    for (const Expr& extent : memory.extents) bytes = bytes * HostCast(type, extent);
    return bytes;
  }
  // nullopt: it stays where it is.
  std::optional<Stmt> FromRuntime(const Memory& memory, const Stmt& users) {
    if (IsOnStack(memory) || !HasDevice("memory \"" + memory.data.name() + "\"")) return std::nullopt;
    const Expr type = HostCast(DataType::Int(32), *device_type_), id = HostCast(DataType::Int(32), *device_id_);
    const Stmt fail = Run(MakeCall(DataType::Int(32), "tvm_throw_last_error", {}));
    const Expr workspace = MakeCall(DataType::Handle(), "TVMBackendAllocWorkspace",
                                    {type, id, BytesOf(memory), NumberOf(memory.type), BitsOf(memory.type)});
    const Expr freed = MakeCall(DataType::Int(32), "TVMBackendFreeWorkspace", {type, id, memory.data});
    Stmt body = MakeSeq({IfThenElse{IsNullHandle(memory.data), fail, std::nullopt}, VisitStmt(users),
                         IfThenElse{FoldBinary(BinaryOp::kNE, freed, HostInt(0)), fail, std::nullopt}});
    body = AttrStmt{"storage_alignment", HostInt(kWorkspaceAlignment), Attr(Expr(memory.data)), std::move(body)};
    return LetStmt{workspace, memory.data, std::move(body)};
  }

  // ---- Calls.
  static Expr AsArgument(const Expr& e) {
    if (e.dtype().is_float()) return MakeCast(DataType::Float(64), e);
    return e.dtype().is_int() || e.dtype().is_bool() ? MakeCast(DataType::Int(64), e) : e;
  }
  static int CodeOf(const Expr& arg) {
    if (arg.As<StringImm>() != nullptr) return arg_code::kText;
    const Call* get = AsCall(arg, "tvm_struct_get");
    if (get != nullptr && IsConstInt(get->args[2], stack_field::kAddress)) return arg_code::kTensor;
    if (arg.dtype().is_float() || arg.dtype().is_int()) return static_cast<int>(arg.dtype().code);
    return arg_code::kOpaqueHandle;
  }
  void SetArgument(const Expr& slot, const Expr& given) {
    const Expr arg = AsArgument(given);
    before_.push_back(StructSet(stacks_->value, slot, stack_field::kValue, arg));
    const auto set_code = [&](int what) { return MakeStore(stacks_->codes, HostInt(what), {slot}); };
    const int what = CodeOf(arg);
    before_.push_back(what == arg_code::kOpaqueHandle ? Stmt(IfThenElse{IsNullHandle(arg), set_code(arg_code::kNull),
                                                                        set_code(arg_code::kOpaqueHandle)})
                                                      : set_code(what));
  }
  // Arguments are in slots from `begin`; one more is for what is returned.
  Expr PackedCall(const Call& call, const char* lowered) {
    const StackSizes outer = stacks_->used;
    const int64_t begin = outer.arg, count = static_cast<int64_t>(call.args.size());
    stacks_->used.arg += count;
    std::vector<Expr> args;
    for (size_t i = 1; i < call.args.size(); ++i) args.push_back(VisitExpr(call.args[i]));
    for (size_t i = 0; i < args.size(); ++i) SetArgument(HostInt(begin + static_cast<int64_t>(i)), args[i]);
    stacks_->used = outer;
    return MakeCall(DataType::Int(32), lowered,
                    {call.args[0], stacks_->value, stacks_->codes->data, HostInt(begin), HostInt(begin + count - 1)});
  }
  Expr Shape(const Call& call) {
    const int64_t begin = stacks_->used.shape;
    stacks_->used.shape += static_cast<int64_t>(call.args.size());
    std::vector<Expr> extents;
    for (const Expr& arg : call.args) extents.push_back(VisitExpr(arg));
    for (size_t i = 0; i < extents.size(); ++i)
      before_.push_back(MakeStore(stacks_->shape, HostCast(DataType::Int(64), extents[i]),
                                  {HostInt(begin + static_cast<int64_t>(i))}));
    BufferNode node;
    node.name = stacks_->shape->name;
    node.dtype = DataType::Int(64);
    node.shape = {HostInt(begin + 1)};
    node.data = stacks_->shape->data;
    return MakeCall(DataType::Handle(), "address_of", {Load(Buffer(std::move(node)), {HostInt(begin)})});
  }
  Expr Array(const Call& call) {
    if (!HasDevice("array")) return call.args[0];
    std::vector<Expr> args;
    for (const Expr& arg : call.args) args.push_back(VisitExpr(arg));
    const Expr at = HostInt(stacks_->used.array++);
    const auto set = [&](int what, const Expr& value) {
      before_.push_back(StructSet(stacks_->array, at, what, value));
    };
    const DataType type = args[4].dtype();
    const bool has_strides = !IsConstInt(args[2], 0);
    set(stack_field::kData, args[0]);
    set(stack_field::kShape, args[1]);
    set(stack_field::kStrides, has_strides ? args[2] : NullHandle());
    set(stack_field::kNumDims, args[3]);
    set(stack_field::kTypeCode, IntConst(DataType::UInt(8), NumberOf(type)));
    set(stack_field::kTypeBits, IntConst(DataType::UInt(8), BitsOf(type)));
    set(stack_field::kTypeLanes, IntConst(DataType::UInt(16), type.lanes));
    set(stack_field::kByteOffset, HostCast(DataType::UInt(64), args[5] * HostInt(type.bytes())));
    set(stack_field::kDeviceId, HostCast(DataType::Int(32), *device_id_));
    set(stack_field::kDeviceType, HostCast(DataType::Int(32), *device_type_));
    return MakeCall(DataType::Handle(), "tvm_struct_get", {stacks_->array, at, HostInt(stack_field::kAddress)});
  }

  static Stmt OnStack(const Var& var, const char* kind, int64_t count, Stmt body) {
    const Expr name = Expr::Make(DataType::Handle(), StringImm{kind});
    return LetStmt{MakeCall(DataType::Handle(), "tvm_stack_alloca", {name, HostInt(count)}), var, std::move(body)};
  }
  static Stmt WithStacks(const Stacks& stacks, Stmt body) {
    if (stacks.most.shape != 0)
      body = OnStack(stacks.shape->data, "shape", stacks.most.shape, DeclBuffer{stacks.shape, std::move(body)});
    if (stacks.most.array != 0) body = OnStack(stacks.array, "array", stacks.most.array, std::move(body));
    if (stacks.most.arg == 0) return body;
    body = OnStack(stacks.value, "arg_value", stacks.most.arg, std::move(body));
    return OnStack(stacks.codes->data, "arg_tcode", stacks.most.arg, DeclBuffer{stacks.codes, std::move(body)});
  }

  std::optional<Expr> device_type_, device_id_;
  Stacks* stacks_ = nullptr;
  std::vector<Stmt> before_;  // What has to be done before the statement here.
};

bool IsOfHost(const PrimFunc& func) {
  const auto found = func.attrs.find("tir.is_host_func");
  if (found != func.attrs.end()) return !(found->second == Attr(false) || found->second == Attr(0));
  return DeviceTypeOf(TargetKind(func.attrs)) == kCpu;
}

}  // namespace

StatusOr<PrimFunc> LowerTVMBuiltin(PrimFunc func) {
  if (!IsOfHost(func)) return func;
  BuiltinLowerer lowerer;
  Stmt body = lowerer.InScope(func.body);
  RETURN_IF_ERROR(lowerer.status);
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
