#include "compiler/transform/make_packed_api.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_map>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/printer.h"
#include "compiler/transform/func_analysis.h"
#include "compiler/transform/function_abi.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

const DataType kCode32 = DataType::Int(32), kWord64 = DataType::Int(64);

// TVM's numbers: fields of a DLTensor and of a packed value; type codes.
namespace field {
enum Field : uint8_t {
  kData = 1,
  kShape = 2,
  kStrides = 3,
  kNumDims = 4,
  kTypeCode = 5,
  kTypeBits = 6,
  kTypeLanes = 7,
  kByteOffset = 8,
  kDeviceId = 9,
  kDeviceType = 10,
  kValue = 12
};
}
namespace code {
constexpr int kInt = 0, kFloat = 2, kOpaqueHandle = 3, kNull = 4, kTensor = 7, kArray = 13, kBool = 15;
}

Expr Get(DataType type, const Expr& from, int index, field::Field what) {
  return Expr::Make(type, Call{FindOp("tvm_struct_get"), {from, index, int{what}}});
}
Expr Or(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kOr, a, b); }
Expr IsNull(const Var& pointer) { return Expr::Make(DataType::Bool(), Call{FindOp("isnullptr"), {pointer}}); }
Expr Text(std::string text) { return Expr::Make(DataType::Handle(), StringImm{std::move(text)}); }

// What stands before a body: each of it holds for all that follows.
class Prelude {
 public:
  void Let(const Var& var, Expr value) {
    Add([var, value](Stmt body) -> Stmt { return LetStmt{value, var, std::move(body)}; });
  }
  void Declare(const Buffer& buffer) {
    Add([buffer](Stmt body) -> Stmt { return DeclBuffer{buffer, std::move(body)}; });
  }
  void Mark(const AttrTarget& node, const char* key, const Expr& value) {
    Add([=](Stmt body) -> Stmt { return AttrStmt{key, value, node, std::move(body)}; });
  }
  void AssertNotNull(const Var& pointer, std::string message) { Assert(MakeNot(IsNull(pointer)), std::move(message)); }
  void First(const Stmt& stmt) {
    Add([stmt](Stmt body) { return MakeSeq({stmt, std::move(body)}); });
  }
  void Assert(const Expr& condition, std::string message) {
    Add([=](Stmt body) -> Stmt { return AssertStmt{condition, message, std::move(body)}; });
  }
  Stmt Before(Stmt body) const {
    for (size_t i = parts_.size(); i-- > 0;) body = parts_[i](std::move(body));
    return body;
  }

 private:
  using Part = std::function<Stmt(Stmt)>;
  void Add(Part part) { parts_.push_back(std::move(part)); }
  std::vector<Part> parts_;
};

// Variables of parameters and shapes: introduced where they are found first, compared where they are found again.
class ArgBinder {
 public:
  explicit ArgBinder(Var device_id) : device_id_(std::move(device_id)) {}
  Prelude init, asserts;
  Status status;
  bool binds_device() const { return known_.contains(device_id_.get()); }

  bool Bind(const Expr& arg, const Expr& value, const std::string& name) {
    if (IsVar(arg) && known_.insert({arg.get(), true}).second) {
      init.Let(Var(arg), value);
      return true;
    }
    Require(Equal(arg, value), name);
    return false;
  }
  void BindTensor(const Buffer& buffer, int device_type, const Var& handle, const std::string& name) {
    CheckType(buffer, handle, name);
    const Buffer shape = FieldArray(buffer->shape.size(), handle, field::kShape, name + ".shape");
    for (size_t k = 0; k < buffer->shape.size(); ++k)
      Bind(buffer->shape[k], Element(shape, k, buffer->shape[k].dtype()), fmt::format("{}.shape[{}]", name, k));
    BindStrides(buffer, handle, shape, name);
    BindOffset(buffer, handle, name);
    Bind(device_type, Get(kCode32, handle, 0, field::kDeviceType), name + ".device_type");
    Bind(device_id_, Get(kCode32, handle, 0, field::kDeviceId), name + ".device_id");
    BindData(buffer, handle, name);
  }

 private:
  // After the shape: nothing has no address.
  void BindData(const Buffer& buffer, const Var& handle, const std::string& name) {
    if (!Bind(buffer->data, Get(DataType::Handle(), handle, 0, field::kData), name + ".data")) return;
    Expr size = IntConst(IndexType(buffer), 1);
    for (const Expr& extent : buffer->shape) size = size * extent;
    const Expr is_empty = FoldBinary(BinaryOp::kEQ, size, IntConst(size.dtype(), 0));
    asserts.Assert(Or(is_empty, MakeNot(IsNull(buffer->data))), name + " is expected to have non-NULL data pointer");
    init.Mark(Attr(Expr(buffer->data)), "storage_alignment", buffer->data_alignment);
  }
  void Require(const Expr& condition, const std::string& name) {
    const Expr simple = Analyzer().Simplify(condition);
    if (IsConstInt(simple, 1)) return;
    const std::string message = fmt::format("Argument {} has an unsatisfied constraint: {}", name, Print(condition));
    if (IsConstInt(simple, 0)) status = InvalidArgument("MakePackedAPI: " + message);
    asserts.Assert(simple, message);
  }
  static Expr Element(const Buffer& array, size_t k, DataType type) {
    return MakeCast(type, Load(array, {static_cast<int64_t>(k)}));
  }
  Buffer FieldArray(size_t size, const Var& handle, field::Field what, const std::string& name) {
    const Buffer array = MakeBuffer(name, {static_cast<int64_t>(size)}, kWord64);
    init.Let(array->data, Get(DataType::Handle(), handle, 0, what));
    init.Declare(array);
    return array;
  }
  void CheckType(const Buffer& buffer, const Var& handle, const std::string& name) {
    const auto num_dims = static_cast<int64_t>(buffer->shape.size());
    const bool is_bool = buffer->dtype.is_bool();  // TVM's are unsigned integers of one bit.
    const DataType type = is_bool ? DataType::UInt(1, buffer->dtype.lanes) : buffer->dtype;
    const DataType byte = DataType::UInt(8), half = DataType::UInt(16);
    const Expr same_dims = Equal(num_dims, Get(kCode32, handle, 0, field::kNumDims));
    const std::string dims = fmt::format("{}.ndim is expected to equal {}", name, num_dims);
    init.AssertNotNull(handle, name + " is expected to have non-NULL DLTensor* pointer");
    init.Assert(same_dims, dims);
    asserts.Assert(same_dims, dims);
    const Expr same_type =
        And(And(Equal(Get(byte, handle, 0, field::kTypeCode), IntConst(byte, static_cast<int64_t>(type.code))),
                Equal(Get(byte, handle, 0, field::kTypeBits), IntConst(byte, type.bits))),
            Equal(Get(half, handle, 0, field::kTypeLanes), IntConst(half, type.lanes)));
    asserts.Assert(same_type, fmt::format("{}.dtype is expected to be {}", name, buffer->dtype.ToString()));
  }
  static DataType IndexType(const Buffer& buffer) { return buffer->shape.empty() ? kCode32 : buffer->shape[0].dtype(); }
  void BindStrides(const Buffer& buffer, const Var& handle, const Buffer& shape, const std::string& name) {
    const Buffer strides = FieldArray(buffer->strides.size(), handle, field::kStrides, name + ".strides");
    const Expr is_null = IsNull(strides->data);
    if (buffer->strides.empty()) return RequireCompact(buffer, strides, is_null, name);
    const bool broadcasts = buffer->buffer_type == BufferType::kAutoBroadcast;
    Expr compact = IntConst(IndexType(buffer), 1);
    for (size_t k = buffer->strides.size(); k-- > 0;) {
      const DataType type = buffer->shape[k].dtype();
      const auto choose = [&](const Expr& test, const Expr& yes, const Expr& no) {
        return Expr::Make(no.dtype(), Call{FindOp("if_then_else"), {test, MakeCast(no.dtype(), yes), no}});
      };
      Expr value = choose(is_null, compact, Element(strides, k, type));
      if (broadcasts) value = choose(Equal(buffer->shape[k], 1), 0, value);
      Bind(buffer->strides[k], MakeCast(buffer->strides[k].dtype(), value), fmt::format("{}.strides[{}]", name, k));
      compact = compact * (broadcasts ? buffer->shape[k] : Element(shape, k, type));
    }
  }
  void RequireCompact(const Buffer& buffer, const Buffer& strides, const Expr& is_null, const std::string& name) {
    const DataType type = IndexType(buffer);
    Expr expected = IntConst(type, 1), are_compact = True();
    for (size_t k = buffer->shape.size(); k-- > 0;) {
      are_compact = And(are_compact, Equal(expected, Element(strides, k, type)));
      expected = expected * buffer->shape[k];
    }
    if (buffer->shape.empty()) return;
    const Stmt check = AssertStmt{are_compact, name + ".strides: expected to be compact array", Evaluate{0}};
    asserts.First(IfThenElse{MakeNot(is_null), check, std::nullopt});
  }
  void BindOffset(const Buffer& buffer, const Var& handle, const std::string& name) {
    const DataType type = DataType::UInt(64);
    const Expr bytes = Get(type, handle, 0, field::kByteOffset), width = IntConst(type, buffer->dtype.bytes());
    if (const int64_t* offset = AsIntConst(buffer->elem_offset)) {
      Bind(IntConst(type, *offset * buffer->dtype.bytes()), bytes, name + ".byte_offset");
      return;
    }
    const DataType index = buffer->elem_offset.dtype();
    const Expr elements = MakeCast(index, FoldBinary(BinaryOp::kDiv, bytes, width));
    if (Bind(buffer->elem_offset, elements, name + ".elem_offset") && buffer->offset_factor > 1) {
      const Expr rest = FoldBinary(BinaryOp::kTruncMod, buffer->elem_offset, IntConst(index, buffer->offset_factor));
      Require(Equal(rest, IntConst(index, 0)), name + ".elem_offset");
    }
  }

  const Var device_id_;
  std::unordered_map<const ExprNode*, bool> known_;
};

// A value that is returned is stored where the caller wants it.
class ReturnRewriter : public StmtExprMutator {
 public:
  ReturnRewriter(Var value, Var type_code) : value_(std::move(value)), type_code_(BufferAt(type_code, kCode32)) {}
  Status status;

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    parallel_ += loop.kind == ForKind::kParallel ? 1 : 0;
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    parallel_ -= loop.kind == ForKind::kParallel ? 1 : 0;
    return visited;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    const Evaluate* evaluate = stmt.As<Evaluate>();
    const Call* call = evaluate == nullptr ? nullptr : evaluate->value.As<Call>();
    if (call == nullptr || call->op->name != "ret") return StmtExprMutator::VisitStmt(stmt);
    if (parallel_ > 0) status = InvalidArgument("MakePackedAPI: T.ret cannot be used in a parallel loop");
    return WriteOut(call->args[0]);
  }

 private:
  static Buffer BufferAt(const Var& data, DataType type) {
    BufferNode node;
    node.name = data.name();
    node.dtype = type;
    node.shape = {1};
    node.strides = {1};
    node.data = data;
    return Buffer(std::move(node));
  }
  Stmt WriteOut(const Expr& value) {
    const DataType type = value.dtype();
    if (!type.is_int() && !type.is_bool() && !type.is_float())
      status = InvalidArgument(fmt::format("MakePackedAPI: a value of {} cannot be returned", type.ToString()));
    const int type_code = type.is_bool() ? code::kBool : type.is_int() ? code::kInt : code::kFloat;
    const DataType stored = type.is_float() ? DataType::Float(64) : kWord64;
    const Buffer out = values_.try_emplace(type_code, BufferAt(value_, stored)).first->second;
    const Expr converted =
        type.is_float() || type.is_int() || type.is_bool() ? Expr::Make(stored, Cast{value}) : IntConst(kWord64, 0);
    const Expr done = Expr::Make(kCode32, Call{FindOp("ret"), {Expr(0)}});
    const Stmt stores =
        MakeSeq({BufferStore{out, converted, {0}}, BufferStore{type_code_, type_code, {0}}, Evaluate{done}});
    return DeclBuffer{out, DeclBuffer{type_code_, stores}};
  }

  const Var value_;
  const Buffer type_code_;
  std::map<int, Buffer> values_;
  int parallel_ = 0;
};

class PackedFunction {
 public:
  PackedFunction(PrimFunc func, const AttrMap& target)
      : func_(std::move(func)), device_type_(DeviceTypeOf(KindOf(target))), binder_(device_id_) {}

  StatusOr<PrimFunc> Make(const AttrMap& host) {
    ReturnRewriter returns(out_value_, out_code_);
    Stmt body = AttrStmt{"compute_scope", Text(func_.name + "_compute_"), Attr(0), returns(func_.body)};
    RETURN_IF_ERROR(returns.status);
    TakeParams();
    for (const ParamBuffer& entry : func_.buffer_map)
      binder_.BindTensor(entry.buffer, device_type_, entry.param, NameOf(entry.param));
    RETURN_IF_ERROR(binder_.status);
    body = OnDevice(std::move(body));
    for (size_t i = func_.buffer_map.size(); i-- > 0;) body = DeclBuffer{func_.buffer_map[i].buffer, std::move(body)};
    body = MakeSeq({body, Evaluate{Expr::Make(kCode32, Call{FindOp("ret"), {Expr(0)}})}});
    body = binder_.asserts.Before(std::move(body));
    if (binder_.binds_device()) {
      body = AttrStmt{"device_type", device_type_, Attr("default"), std::move(body)};
      body = AttrStmt{"device_id", device_id_, Attr("default"), std::move(body)};
    }
    func_.body = first_.Before(binder_.init.Before(std::move(body)));
    func_.params = {args_, type_codes_->data, num_args_, out_value_, out_code_, resource_};
    func_.buffer_map.clear();
    func_.ret_type = kCode32;
    func_.attrs.insert_or_assign("calling_conv", 1);
    func_.attrs.insert_or_assign("target", host);
    RETURN_IF_ERROR(CheckIsWhole());
    return std::move(func_);
  }

 private:
  static Buffer TypeCodes(int64_t size) {
    BufferNode node = *MakeBuffer("arg_type_ids", {size}, kCode32);
    node.data = Var(node.name, MakePointerType(kCode32, ""));  // TVM says no scope.
    return Buffer(std::move(node));
  }
  std::string NameOf(const Var& param) const { return func_.name + "." + param.name(); }
  void TakeParams() {
    const auto size = static_cast<int64_t>(func_.params.size());
    type_codes_ = TypeCodes(size);
    int64_t num_args = size;
    for (const Var& param : func_.params)
      if (IsContext(param)) --num_args;
    first_.Assert(Equal(num_args_, num_args), fmt::format("{}: num_args should be {}", func_.name, num_args));
    if (num_args > 0) {
      first_.AssertNotNull(args_, func_.name + ": TVMValue* arg pointer was NULL");
      first_.AssertNotNull(type_codes_->data, func_.name + ": int* type_codes was NULL");
    }
    first_.Declare(type_codes_);
    for (int i = 0; i < static_cast<int>(func_.params.size()); ++i) {
      const Var& param = func_.params[i];
      if (IsContext(param))
        resource_ = param;
      else
        TakeParam(param, i);
    }
  }
  // A parameter of this name is the last argument.
  static bool IsContext(const Var& param) { return param.name() == "device_api_context"; }
  void TakeParam(const Var& param, int i) {
    const Var type_code(param.name() + ".code", kCode32);
    first_.Let(type_code, Load(type_codes_, {i}));
    const auto is = [&](int which) { return Equal(type_code, which); };
    const auto require = [&](const Expr& condition, const char* what) {
      first_.Assert(condition, fmt::format("{}: Expect arg[{}] to be {}", func_.name, i, what));
    };
    const DataType type = param.dtype();
    if (type == DataType::Handle())
      require(Or(Or(Or(is(code::kOpaqueHandle), is(code::kArray)), is(code::kTensor)), is(code::kNull)), "pointer");
    else if (type.is_bool())
      require(Or(is(code::kBool), is(code::kInt)), "boolean");
    else
      require(is(type.is_float() ? code::kFloat : code::kInt), type.is_float() ? "float" : "int");
    const DataType packed = type == DataType::Handle() ? type : type.is_float() ? DataType::Float(64) : kWord64;
    const Expr value = Get(packed, args_, i, field::kValue);
    binder_.Bind(param, packed == type ? value : Expr::Make(type, Cast{value}), NameOf(param));
  }
  Stmt OnDevice(Stmt body) const {
    constexpr int kCpu = 1;
    if (!binder_.binds_device() || device_type_ == kCpu) return body;
    const Expr call = Expr::Make(
        kCode32, Call{FindOp("tvm_call_packed"), {Text("__tvm_set_device"), Expr(device_type_), device_id_}});
    return MakeSeq({Evaluate{call}, std::move(body)});
  }
  Status CheckIsWhole() const {
    std::string missing;
    for (const Var& var : UndefinedVars(func_.body)) {
      const bool is_param =
          std::any_of(func_.params.begin(), func_.params.end(), [&](const Var& param) { return param.same_as(var); });
      if (!is_param) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", var.name());
    }
    if (missing.empty()) return OkStatus();
    return InvalidArgument(
        fmt::format("MakePackedAPI: In PrimFunc {} variables [{}] are used, but are not passed in as "
                    "API arguments",
                    func_.name, missing));
  }

  PrimFunc func_;
  const int device_type_;
  const Var args_{"args", DataType::Handle()}, num_args_{"num_args", kCode32}, device_id_{"dev_id", kCode32};
  const Var out_value_{"out_ret_value", MakePointerType(DataType::Void(), "")};
  const Var out_code_{"out_ret_tcode", MakePointerType(kCode32, "")};
  Var resource_{"resource_handle", DataType::Handle()};
  Buffer type_codes_ = TypeCodes(0);
  Prelude first_;
  ArgBinder binder_;
};

StatusOr<PrimFunc> Packed(PrimFunc func) {
  ASSIGN_OR_RETURN(const AttrMap target, TargetForApi(func, "MakePackedAPI"));
  const std::optional<AttrMap> host = HostOf(target);
  if (!host) return func;
  return PackedFunction(std::move(func), target).Make(*host);
}

}  // namespace

StatusOr<IRModule> MakePackedAPI(IRModule module) {
  const auto call_packed = [](const FuncCall& call, DataType type) {
    std::vector<Expr> args = {Text(call.callee)};
    args.insert(args.end(), call.args.begin(), call.args.end());
    args.push_back(Expr::Make(DataType::Handle(), Call{FindOp("reinterpret"), {IntConst(DataType::UInt(64), 0)}}));
    return Expr::Make(type, Call{FindOp("tvm_call_cpacked"), std::move(args)});
  };
  return WithApi(std::move(module), call_packed, Packed);
}

}  // namespace lathe
