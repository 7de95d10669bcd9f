// ExprBuilder: calls of T's functions.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "compiler/ir/buffer_access.h"
#include "compiler/ir/integer.h"
#include "compiler/script/dialect.h"
#include "compiler/script/expr_builder.h"
#include "compiler/script/operator_rules.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// "inf", "-nan", "nan(0x7ff8000000000001)" (all bits), or digits.
std::optional<double> ParseFloatText(std::string_view text) {
  const bool negative = text.starts_with("-");
  if (negative) text.remove_prefix(1);
  double value = 0;
  if (text.starts_with("nan(0x") && text.ends_with(")")) {
    uint64_t bits = 0;
    const std::string_view digits = text.substr(6, text.size() - 7);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    value = std::bit_cast<double>(bits);
    if (error != std::errc() || end != digits.data() + digits.size() || value == value) return std::nullopt;
  } else if (text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace

std::string_view ExprBuilder::FuncName(const PyExpr& callee) const {
  if (callee.kind == PyExprKind::kName && names_.Find(callee.text) == nullptr)
    return context_->functions.contains(callee.text) ? callee.text : std::string_view();
  if (callee.kind != PyExprKind::kAttribute || callee.items[0]->kind != PyExprKind::kName) return {};
  return context_->modules.contains(callee.items[0]->text) ? callee.text : std::string_view();
}

StatusOr<Expr> ExprBuilder::BuildCall(const PyExpr& e) const {
  const PyExpr& callee = *e.items[0];
  if (callee.kind == PyExprKind::kName && callee.text == "float") return BuildTyped(e, DataType::Float(32));
  const std::string name = TirName(callee);
  const bool has_star =
      std::any_of(e.items.begin(), e.items.end(), [](const PyExpr* item) { return item->kind == PyExprKind::kStar; });
  if (has_star && context_->evaluator != nullptr) {  // T.max(*values)
    ASSIGN_OR_RETURN(const ScriptValue value, Foreign(e));
    return ToExpr(e, value);
  }
  if (!name.empty()) return BuildNamedCall(e, name);
  if (const std::string_view func = FuncName(callee); !func.empty()) return BuildFuncCall(e, func);
  if (callee.kind == PyExprKind::kAttribute) return BuildMethod(e);
  return Error(e, fmt::format("expected a function of T, got \"{}\"", callee.text));
}

// Module.f(x): its type is what f returns; dtype= says it where the file does not.
StatusOr<Expr> ExprBuilder::BuildFuncCall(const PyExpr& e, std::string_view callee) const {
  DataType type = DataType::Void();
  const auto known = context_->functions.find(callee);
  if (known == context_->functions.end() && context_->is_module && context_->evaluator != nullptr)
    return Error(e, fmt::format("expected a function of this module, got \"{}\"", callee));
  const PyExpr* returns = known == context_->functions.end() ? nullptr : known->second->annotation;
  if (returns != nullptr && returns->kind != PyExprKind::kNone) {
    ASSIGN_OR_RETURN(type, BuildType(*returns));
  }
  const size_t num_positional = e.items.size() - e.keywords.size();
  std::vector<Expr> args;
  for (size_t i = 1; i < e.items.size(); ++i) {
    if (i >= num_positional) {
      if (e.keywords[i - num_positional] != "dtype")
        return Error(*e.items[i], fmt::format("expected arguments of \"{}\" or dtype=", callee));
      ASSIGN_OR_RETURN(type, BuildType(*e.items[i]));
      continue;
    }
    ASSIGN_OR_RETURN(Expr arg, Build(*e.items[i]));
    args.push_back(std::move(arg));
  }
  return Expr::Make(type, FuncCall{std::string(callee), std::move(args)});
}

// A.vload([i]), A.access_ptr("r"), A.scope(), x.astype("float32")
StatusOr<Expr> ExprBuilder::BuildMethod(const PyExpr& e) const {
  const PyExpr& callee = *e.items[0];
  const PyExpr& object = *callee.items[0];
  const NamedValue* value = object.kind == PyExprKind::kName ? names_.Find(object.text) : nullptr;
  const Buffer* buffer = value == nullptr ? nullptr : std::get_if<Buffer>(value);
  if (buffer != nullptr && callee.text == "scope") return Expr::Make(DataType::Handle(), StringImm{(*buffer)->scope});
  if (buffer != nullptr && callee.text == "access_ptr") return BuildAccessPtr(e, *buffer);
  if (buffer != nullptr && callee.text == "vload") {
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"begin", "dtype", "predicate"}, 1));
    std::optional<DataType> type;
    if (args[1] != nullptr) {
      ASSIGN_OR_RETURN(type, BuildType(*args[1]));
    }
    ASSIGN_OR_RETURN(const Access access, BuildVectorAccess(*buffer, *args[0], type, args[2]));
    const Expr load = Load(*buffer, access.indices);
    return Expr::Make(load.dtype(), BufferLoad{*buffer, access.indices, access.predicate});
  }
  if (callee.text == "astype") {
    ASSIGN_OR_RETURN(const Expr operand, Build(object));
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"dtype"}, 1));
    ASSIGN_OR_RETURN(const DataType type, BuildType(*args[0]));
    return Convert(e, type, operand);
  }
  return Error(e, buffer != nullptr
                      ? fmt::format("expected vload, access_ptr or scope of a buffer, got \"{}\"", callee.text)
                      : fmt::format("expected a function of T, got \"{}\"", callee.text));
}

StatusOr<ExprBuilder::Access> ExprBuilder::BuildVectorAccess(const Buffer& buffer, const PyExpr& begin,
                                                             std::optional<DataType> type,
                                                             const PyExpr* predicate) const {
  PyExpr subscript = begin;  // The indices of the buffer.
  subscript.items = {&begin};
  if (begin.kind == PyExprKind::kTuple || begin.kind == PyExprKind::kList) {
    subscript.items.insert(subscript.items.end(), begin.items.begin(), begin.items.end());
  } else {
    subscript.items.push_back(&begin);
  }
  Access access;
  ASSIGN_OR_RETURN(access.indices, BuildIndices(buffer, subscript));
  if (type && !access.indices.empty()) {  // vload(begin, "float32x4"): lanes from the type.
    const DataType last = access.indices.back().dtype();
    const int lanes = type->lanes / std::max<int>(1, buffer->dtype.lanes);
    DataType index = last.shaped_as(*type);
    index.lanes = static_cast<uint16_t>(lanes);
    if (lanes > 0 && !index.is_scalar() && last.is_scalar())
      access.indices.back() = Expr::Make(index, Ramp{access.indices.back(), IntConst(last, 1), lanes});
  }
  if (predicate == nullptr) return access;
  ASSIGN_OR_RETURN(access.predicate, Build(*predicate));
  const DataType mask = access.predicate->dtype();
  const DataType index = access.indices.empty() ? kIndexType : access.indices.back().dtype();
  if (!mask.is_bool() && !(mask.is_int() && mask.bits == 1))
    return Error(*predicate, fmt::format("expected booleans, got {}", mask.ToString()));
  if (!mask.has_shape_of(index))
    return Error(*predicate,
                 fmt::format("expected a boolean for each lane of {}, got {}", index.ToString(), mask.ToString()));
  return access;
}

// T.tvm_access_ptr(T.type_annotation(dtype), A.data, offset, extent, mask)
StatusOr<Expr> ExprBuilder::BuildAccessPtr(const PyExpr& e, const Buffer& buffer) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"access_mask", "ptr_type", "content_lanes", "offset", "extent"}, 1));
  int64_t mask = 0;
  if (StatusOr<std::string> text = BuildString(*args[0]); text.ok()) {
    for (const char c : *text) {
      if (c != 'r' && c != 'w')
        return Error(*args[0], fmt::format("expected \"r\", \"w\" or \"rw\", got \"{}\"", *text));
      mask |= c == 'r' ? 1 : 2;
    }
  } else {
    ASSIGN_OR_RETURN(mask, BuildInt(*args[0]));
  }
  DataType pointer = DataType::Handle();
  if (args[1] != nullptr) {
    ASSIGN_OR_RETURN(pointer, BuildType(*args[1]));
  }
  int64_t lanes = 1;
  if (args[2] != nullptr) {
    ASSIGN_OR_RETURN(lanes, BuildInt(*args[2]));
    if (lanes < 1 || lanes > kMaxLanes) return Error(*args[2], fmt::format("expected 1 to {} lanes", kMaxLanes));
  }
  Expr offset = 0;
  if (args[3] != nullptr) {
    ASSIGN_OR_RETURN(offset, Build(*args[3]));
    RETURN_IF_ERROR(CheckIndex(*args[3], offset, false));
  }
  std::optional<Expr> extent;
  if (args[4] != nullptr) {
    ASSIGN_OR_RETURN(extent, Build(*args[4]));
  }
  return AccessPtr(buffer, mask, pointer, lanes, offset, extent);
}

StatusOr<Expr> ExprBuilder::BuildNamedCall(const PyExpr& e, const std::string& name) const {
  for (const BinarySpelling& row : BinarySpellings()) {
    if (row.exact == name) return BuildBinaryCall(e, row.op, false);
    if (!row.folding.empty() && row.folding == name) return BuildBinaryCall(e, row.op, true);
  }
  using Builder = StatusOr<Expr> (ExprBuilder::*)(const PyExpr&) const;
  static const std::unordered_map<std::string_view, Builder> kBuilders = {
      {"Select", &ExprBuilder::BuildSelect},
      {"Ramp", &ExprBuilder::BuildRamp},
      {"ramp", &ExprBuilder::BuildRamp},
      {"Broadcast", &ExprBuilder::BuildBroadcast},
      {"broadcast", &ExprBuilder::BuildBroadcast},
      {"Shuffle", &ExprBuilder::BuildShuffle},
      {"Let", &ExprBuilder::BuildLet},
      {"Reduce", &ExprBuilder::BuildReduce},
      {"reduce", &ExprBuilder::BuildReduce},
      {"Call", &ExprBuilder::BuildCallNode},
      {"call_intrin", &ExprBuilder::BuildCallIntrin},
      {"call_pure_intrin", &ExprBuilder::BuildCallIntrin},
      {"tvm_struct_get", &ExprBuilder::BuildStruct},
      {"llvm_lookup_intrinsic_id", &ExprBuilder::BuildIntrinsicId},
      {"address_of", &ExprBuilder::BuildAddressOf},
      {"ceildiv", &ExprBuilder::BuildRounded},
      {"undef", &ExprBuilder::BuildUndef},
  };
  if (const auto found = kBuilders.find(name); found != kBuilders.end()) return (this->*found->second)(e);
  if (name == "Cast" || name == "cast") return BuildCast(e, name == "Cast");
  if (name == "indexdiv") return BuildBinaryCall(e, BinaryOp::kFloorDiv, true);
  if (name == "indexmod") return BuildBinaryCall(e, BinaryOp::kFloorMod, true);
  if (name == "meta_var") {
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"value"}, 1));
    return Build(*args[0]);
  }
  if (name == "Not") {
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"a"}, 1));
    return BuildNot(e, *args[0], false);
  }
  return BuildNamedOp(e, name);
}

// Names that T has for operations of another name.
StatusOr<Expr> ExprBuilder::BuildNamedOp(const PyExpr& e, const std::string& name) const {
  static const std::unordered_map<std::string_view, std::string_view> kOtherNames = {
      {"power", "pow"},
      {"call_packed", "tvm_call_packed"},
      {"call_cpacked", "tvm_call_cpacked"},
      {"call_packed_lowered", "tvm_call_packed_lowered"},
      {"call_cpacked_lowered", "tvm_call_cpacked_lowered"}};
  const auto other = kOtherNames.find(name);
  if (const Op* op = FindOpOfTvm(other == kOtherNames.end() ? std::string_view(name) : other->second))
    return BuildOp(e, *op);
  if (const StatusOr<DataType> type = DataType::Parse(name); type.ok() && type->code != DataType::Code::kHandle)
    return BuildTyped(e, *type);
  if (name == "handle") {  // T.handle(x): a cast.
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"expr"}, 1));
    ASSIGN_OR_RETURN(const Expr value, Build(*args[0]));
    if (const int64_t* number = AsIntConst(value)) return IntConst(DataType::Handle(), *number);
    return MakeCast(DataType::Handle(), value);
  }
  if (context_->evaluator != nullptr) {  // tir.all
    const StatusOr<ScriptValue> value = Foreign(e);
    if (value.ok()) return ToExpr(e, *value);
  }
  return Error(e, fmt::format("expected an operation of TensorIR, got \"T.{}\"", name));
}

StatusOr<Expr> ExprBuilder::BuildRounded(const PyExpr& e) const {  // T.ceildiv
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"a", "b"}, 2));
  ASSIGN_OR_RETURN(const Expr a, Build(*args[0]));
  ASSIGN_OR_RETURN(const Expr b, Build(*args[1]));
  return At(e, FoldCeilDiv(a, b));
}

// T.undef() is int32.
StatusOr<Expr> ExprBuilder::BuildUndef(const PyExpr& e) const {
  if (e.items.size() == 1) return MakeCall(kIndexType, "undef", {});
  return BuildOp(e, *FindOp("undef"));
}

// T.Let(body, where={x: value}), where x = T.int32() came before.
StatusOr<Expr> ExprBuilder::BuildLet(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"expr", "where"}, 2));
  if (args[1]->kind != PyExprKind::kDict || args[1]->items.empty())
    return Error(*args[1], "expected a dict of variables and their values");
  ASSIGN_OR_RETURN(Expr body, Build(*args[0]));
  for (size_t i = args[1]->items.size(); i > 0; i -= 2) {
    const PyExpr &key = *args[1]->items[i - 2], &value = *args[1]->items[i - 1];
    ASSIGN_OR_RETURN(const Expr var, Build(key));
    if (!IsVar(var)) return Error(key, "expected a variable declared before, such as x = T.int32()");
    ASSIGN_OR_RETURN(const Expr built, Build(value));
    ASSIGN_OR_RETURN(const Expr converted, Convert(value, var.dtype(), built));
    if (bound_ != nullptr) bound_->insert(var.get());
    body = Expr::Make(body.dtype(), Let{converted, Var(var), body});
  }
  return body;
}

StatusOr<Expr> ExprBuilder::BuildShuffle(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"vectors", "indices"}, 2));
  ASSIGN_OR_RETURN(std::vector<Expr> vectors, BuildList(*args[0]));
  ASSIGN_OR_RETURN(std::vector<Expr> indices, BuildList(*args[1]));
  if (vectors.empty() || indices.empty()) return Error(e, "expected vectors and indices, got none");
  int64_t lanes = 0;
  for (const Expr& vector : vectors) {
    if (vector.dtype().element() != vectors[0].dtype().element())
      return Error(*args[0], fmt::format("expected vectors of one type, got {} and {}", vectors[0].dtype().ToString(),
                                         vector.dtype().ToString()));
    lanes += vector.dtype().lanes;
  }
  for (const Expr& index : indices) {
    const int64_t* lane = AsIntConst(index);
    if (lane == nullptr || *lane < 0 || *lane >= lanes)
      return Error(*args[1], fmt::format("expected constant lanes below {}", lanes));
  }
  if (indices.size() > size_t(kMaxLanes)) return Error(*args[1], fmt::format("expected at most {} lanes", kMaxLanes));
  const DataType type = vectors[0].dtype().with_lanes(int(indices.size()));
  return Expr::Make(type, Shuffle{std::move(vectors), std::move(indices)});
}

// T.comm_reducer(lambda x, y: x + y, [identity])
StatusOr<CommReducer> ExprBuilder::BuildReducer(const PyExpr& e) const {
  if (CalleeName(e) != "comm_reducer") return Error(e, "expected T.comm_reducer(lambda x, y: ..., [identity])");
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"combiner", "identity"}, 2));
  CommReducer reducer;
  ASSIGN_OR_RETURN(reducer.identity_element, BuildList(*args[1]));
  const PyExpr& lambda = *args[0];
  const size_t count = reducer.identity_element.size();
  if (lambda.kind != PyExprKind::kLambda || lambda.keywords.size() != 2 * count)
    return Error(lambda, fmt::format("expected a lambda of {} parameters, two for each identity", 2 * count));
  NameTable inner = names_;
  for (size_t i = 0; i < 2 * count; ++i) {
    const Var var(std::string(lambda.keywords[i]), reducer.identity_element[i % count].dtype());
    (i < count ? reducer.lhs : reducer.rhs).push_back(var);
    inner.Redefine(lambda.keywords[i], Expr(var));
  }
  ASSIGN_OR_RETURN(reducer.result, ExprBuilder(*source_, inner, *context_).BuildList(*lambda.items[0]));
  if (reducer.result.size() != count)
    return Error(lambda, fmt::format("expected {} results, got {}", count, reducer.result.size()));
  return reducer;
}

// T.iter_var(v, dom, "ThreadIndex", "threadIdx.x"): v is a variable or a name, dom may be None.
StatusOr<IterVar> ExprBuilder::BuildIterVar(const PyExpr& e) const {
  if (CalleeName(e) != "iter_var") return Error(e, "expected T.iter_var(...)");
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"v", "dom", "iter_type", "thread_tag"}, 1));
  Range domain{0, 0};
  if (args[1] != nullptr) {
    ASSIGN_OR_RETURN(domain, BuildRange(*args[1]));
  }
  IterVar axis{domain, Var("v", domain.extent.dtype())};
  if (args[0]->kind == PyExprKind::kString) {
    axis.var = Var(args[0]->string_value, domain.extent.dtype());
  } else if (const StatusOr<DataType> type = BuildType(*args[0]); type.ok() && args[0]->items.size() == 1) {
    axis.var = Var("v", *type);  // T.int32()
  } else {
    ASSIGN_OR_RETURN(const Expr var, Build(*args[0]));
    if (!IsVar(var)) return Error(*args[0], "expected a variable or its name");
    axis.var = Var(var);
    if (bound_ != nullptr) bound_->insert(var.get());
  }
  if (args[2] != nullptr) {
    ASSIGN_OR_RETURN(const std::string type, BuildString(*args[2]));
    const std::optional<IterKind> kind = AxisTypeOf(type);
    if (!kind)
      return Error(*args[2], fmt::format("expected DataPar, ThreadIndex, CommReduce or alike, got \"{}\"", type));
    axis.kind = *kind;
  }
  if (args[3] != nullptr) {
    ASSIGN_OR_RETURN(axis.thread_tag, BuildString(*args[3]));
  }
  return axis;
}

StatusOr<Expr> ExprBuilder::BuildReduce(const PyExpr& e) const {
  const bool is_printed = CalleeName(e) == "reduce";  // As TVM prints it, or as its constructor takes it.
  const std::string_view source = is_printed ? "source" : "src", axes = is_printed ? "axis" : "rdom";
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"combiner", source, axes, "condition", "value_index", "init"}, 5));
  Reduce reduce{.condition = True()};
  ASSIGN_OR_RETURN(reduce.combiner, BuildReducer(*args[0]));
  for (const PyExpr* axis : args[2]->items) {
    ASSIGN_OR_RETURN(IterVar one, BuildIterVar(*axis));
    reduce.axis.push_back(std::move(one));
  }
  ASSIGN_OR_RETURN(reduce.source, BuildList(*args[1]));
  ASSIGN_OR_RETURN(reduce.condition, Build(*args[3]));
  ASSIGN_OR_RETURN(reduce.value_index, BuildInt(*args[4]));
  if (args[5] != nullptr) {
    ASSIGN_OR_RETURN(reduce.init, BuildList(*args[5]));
  }
  if (reduce.value_index < 0 || reduce.value_index >= static_cast<int64_t>(reduce.source.size()))
    return Error(*args[4],
                 fmt::format("expected one of {} components, got {}", reduce.source.size(), reduce.value_index));
  const DataType type = reduce.source[size_t(reduce.value_index)].dtype();
  return Expr::Make(type, std::move(reduce));
}

// T.tvm_struct_get(array, index, field, dtype)
StatusOr<Expr> ExprBuilder::BuildStruct(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"arr", "index", "field", "dtype"}, 4));
  ASSIGN_OR_RETURN(const DataType type, BuildType(*args[3]));
  std::vector<Expr> values;
  for (size_t i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(Expr value, Build(*args[i]));
    values.push_back(std::move(value));
  }
  return MakeCall(type, "tvm_struct_get", std::move(values));
}

// T.llvm_lookup_intrinsic_id("llvm.fabs"): here an intrinsic is called by its name, numbers differ between LLVMs.
StatusOr<Expr> ExprBuilder::BuildIntrinsicId(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"name"}, 1));
  ASSIGN_OR_RETURN(std::string name, BuildString(*args[0]));
  return Expr::Make(DataType::Handle(), StringImm{std::move(name)});
}

// Of an element, or of a whole buffer: its first.
StatusOr<Expr> ExprBuilder::BuildAddressOf(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"buffer_load"}, 1));
  const NamedValue* value = args[0]->kind == PyExprKind::kName ? names_.Find(args[0]->text) : nullptr;
  if (const Buffer* buffer = value == nullptr ? nullptr : std::get_if<Buffer>(value)) {
    std::vector<Expr> first;
    for (const Expr& extent : (*buffer)->shape) first.push_back(IntConst(extent.dtype(), 0));
    return MakeCall(DataType::Handle(), "address_of", {Load(*buffer, std::move(first))});
  }
  ASSIGN_OR_RETURN(const Expr element, Build(*args[0]));
  if (element.As<BufferLoad>() == nullptr && !IsVar(element)) return Error(*args[0], "expected an element of a buffer");
  return MakeCall(DataType::Handle(), "address_of", {element});
}

StatusOr<Expr> ExprBuilder::BuildBinaryCall(const PyExpr& e, BinaryOp op, bool fold) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"a", "b"}, 2));
  ASSIGN_OR_RETURN(Expr a, Build(*args[0]));
  ASSIGN_OR_RETURN(Expr b, Build(*args[1]));
  return Combine(e, op, std::move(a), std::move(b), fold);
}

// T.float32(1), T.int64(n): a constant of the type, or a cast to it.
StatusOr<Expr> ExprBuilder::BuildTyped(const PyExpr& e, DataType type) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"expr"}, 0));
  if (args[0] == nullptr)
    return Error(e, fmt::format("expected a value of {}; a variable is declared by a line of its own: n = T.{}()",
                                type.ToString(), type.ToString()));
  const PyExpr* literal = args[0];
  const bool negative = literal->kind == PyExprKind::kUnary && literal->text == "-";
  if (negative) literal = literal->items[0];
  const bool is_number = literal->kind == PyExprKind::kInt || literal->kind == PyExprKind::kFloat;
  if (is_number || (!negative && (literal->kind == PyExprKind::kString || literal->kind == PyExprKind::kTrue ||
                                  literal->kind == PyExprKind::kFalse))) {
    ASSIGN_OR_RETURN(const Expr scalar, BuildTypedLiteral(e, *literal, type.element(), negative));
    return type.is_scalar() ? scalar : Expr::Make(type, Broadcast{scalar, type.lanes});
  }
  ASSIGN_OR_RETURN(const Expr value, Build(*args[0]));
  return Convert(e, type, value);
}

StatusOr<Expr> ExprBuilder::BuildTypedLiteral(const PyExpr& at, const PyExpr& literal, DataType type,
                                              bool negative) const {
  const auto mismatch = [&] { return Error(literal, fmt::format("expected a value of {}", type.ToString())); };
  if (type.is_float()) {
    double value = literal.float_value;
    if (literal.kind == PyExprKind::kString) {
      const std::optional<double> parsed = ParseFloatText(literal.string_value);
      if (!parsed) return mismatch();
      value = *parsed;
    } else if (literal.kind == PyExprKind::kInt) {
      value = static_cast<double>(literal.int_value);
    } else if (literal.kind != PyExprKind::kFloat) {
      value = literal.kind == PyExprKind::kTrue ? 1 : 0;
    }
    return FloatConst(type, negative ? -value : value);
  }
  if (literal.kind == PyExprKind::kTrue || literal.kind == PyExprKind::kFalse)
    return IntConst(type, literal.kind == PyExprKind::kTrue);
  if (literal.kind != PyExprKind::kInt) return mismatch();
  const uint64_t magnitude = literal.int_value;
  if (type.is_bool()) return IntConst(type, magnitude != 0);
  if (type.is_signed_int() ? magnitude > (uint64_t{1} << 63) - (negative ? 0 : 1) : negative && magnitude != 0)
    return mismatch();
  const int64_t value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  if (WrapToWidth(value, type.bits, type.is_signed_int()) != value) return mismatch();
  return IntConst(type, value);
}

StatusOr<Expr> ExprBuilder::BuildSelect(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"condition", "true_value", "false_value"}, 3));
  ASSIGN_OR_RETURN(const Expr condition, Build(*args[0]));
  ASSIGN_OR_RETURN(const Expr a, Build(*args[1]));
  ASSIGN_OR_RETURN(const Expr b, Build(*args[2]));
  if (!condition.dtype().is_bool())
    return Error(*args[0], fmt::format("expected a boolean, got {}", condition.dtype().ToString()));
  if (a.dtype() != b.dtype())
    return Error(e, fmt::format("expected two values of one type, got {} and {}; cast one of them",
                                a.dtype().ToString(), b.dtype().ToString()));
  return Expr::Make(a.dtype(), Select{condition, a, b});
}

StatusOr<Expr> ExprBuilder::BuildCast(const PyExpr& e,
                                      bool exact) const {  // T.Cast("float32", x) is exact, T.cast(x, "float32") folds.
  ASSIGN_OR_RETURN(const BoundArgs args, exact ? Bind(e, {"dtype", "value"}, 2) : Bind(e, {"value", "dtype"}, 2));
  ASSIGN_OR_RETURN(const DataType type, BuildType(*args[exact ? 0 : 1]));
  ASSIGN_OR_RETURN(const Expr value, Build(*args[exact ? 1 : 0]));
  if (!exact) return Convert(e, type, value);
  if (!value.dtype().has_shape_of(type))
    return Error(e, fmt::format("expected as many lanes as {} has, got {}", type.ToString(), value.dtype().ToString()));
  return Expr::Make(type, Cast{value});
}

StatusOr<DataType> ExprBuilder::BuildLanes(const PyExpr& e, DataType element) const {
  ASSIGN_OR_RETURN(const Expr lanes, Build(e));
  if (const std::optional<DataType> type = TypeOfLanes(element, lanes)) return *type;
  const int64_t* number = AsIntConst(lanes);
  if (number != nullptr) return Error(e, fmt::format("expected 1 to {} lanes, got {}", kMaxLanes, *number));
  return Error(e, "expected a constant number of lanes, or T.vscale() times one");
}

StatusOr<Expr> ExprBuilder::BuildRamp(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"base", "stride", "lanes"}, 3));
  ASSIGN_OR_RETURN(Expr base, Build(*args[0]));
  ASSIGN_OR_RETURN(Expr stride, Build(*args[1]));
  RETURN_IF_ERROR(CheckIndex(*args[0], base, false));
  RETURN_IF_ERROR(CheckIndex(*args[1], stride, false));
  MatchTypes(base, stride);
  ASSIGN_OR_RETURN(const DataType type, BuildLanes(*args[2], base.dtype()));
  return Expr::Make(type, Ramp{base, stride, type.lanes});
}

StatusOr<Expr> ExprBuilder::BuildBroadcast(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"value", "lanes"}, 2));
  ASSIGN_OR_RETURN(const Expr value, Build(*args[0]));
  if (!value.dtype().is_scalar())
    return Error(*args[0], fmt::format("expected a scalar, got {}", value.dtype().ToString()));
  ASSIGN_OR_RETURN(const DataType type, BuildLanes(*args[1], value.dtype()));
  return Expr::Make(type, Broadcast{value, type.lanes});
}

StatusOr<std::vector<Expr>> ExprBuilder::BuildArgs(const PyExpr& e, size_t first) const {
  PyExpr list = e;  // The arguments, as a list.
  list.kind = PyExprKind::kList;
  list.items.assign(e.items.begin() + std::ptrdiff_t(std::min(first, e.items.size())), e.items.end());
  return BuildList(list);
}

// T.exp(x=a) as T.exp(a).
StatusOr<PyExpr> ExprBuilder::InOrder(const PyExpr& e, const Op& op, size_t first) const {
  const std::span<const std::string_view> params = ParamsOf(op);
  if (params.empty() || first != 1)
    return Error(e, fmt::format("expected no keyword for T.{}, got \"{}\"", op.name, e.keywords[0]));
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, params, params.size()));
  PyExpr in_order = e;
  in_order.keywords.clear();
  in_order.items.resize(1);
  in_order.items.insert(in_order.items.end(), args.begin(), args.end());
  return in_order;
}

StatusOr<std::vector<Expr>> ExprBuilder::BuildOpArgs(const PyExpr& e, const Op& op, size_t first) const {
  if (!e.keywords.empty()) {
    ASSIGN_OR_RETURN(const PyExpr in_order, InOrder(e, op, first));
    return BuildOpArgs(in_order, op, first);
  }
  ASSIGN_OR_RETURN(std::vector<Expr> args, BuildArgs(e, first));
  if (op.num_args >= 0 && args.size() != size_t(op.num_args))
    return Error(e, fmt::format("expected {} arguments of T.{}, got {}", op.num_args, op.name, args.size()));
  return args;
}

// T.call_intrin("float32", "tir.exp", x): any operation with its type, nothing converted.
// T.Call(dtype, op, [args]): T.call_intrin(dtype, op, args...).
StatusOr<Expr> ExprBuilder::BuildCallNode(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"dtype", "op", "args"}, 3));
  if (args[2]->kind != PyExprKind::kList && args[2]->kind != PyExprKind::kTuple)
    return Error(*args[2], "expected a list of arguments");
  PyExpr call = e;
  call.keywords.clear();
  call.items = {e.items[0], args[0], args[1]};
  call.items.insert(call.items.end(), args[2]->items.begin(), args[2]->items.end());
  return BuildCallIntrin(call);
}

StatusOr<Expr> ExprBuilder::BuildCallIntrin(const PyExpr& e) const {
  if (e.items.size() < 3) return Error(e, "expected dtype and operation");
  ASSIGN_OR_RETURN(const DataType type, BuildType(*e.items[1]));
  ASSIGN_OR_RETURN(const std::string name, BuildString(*e.items[2]));
  std::string_view short_name = name;
  for (const std::string_view prefix : {"tir.", "tirx.", "prim."}) {
    if (short_name.starts_with(prefix)) short_name.remove_prefix(prefix.size());
  }
  const Op* op = FindOpOfTvm(short_name);
  if (op == nullptr) return Error(*e.items[2], fmt::format("expected an operation of TensorIR, got \"{}\"", name));
  ASSIGN_OR_RETURN(std::vector<Expr> args, BuildOpArgs(e, *op, 3));
  return Expr::Make(type, Call{op, std::move(args)});
}

namespace {

// dtype= of an operation that has one type says nothing, as in TVM.
PyExpr WithoutType(PyExpr e) {
  const auto found = std::find(e.keywords.begin(), e.keywords.end(), std::string_view("dtype"));
  if (found == e.keywords.end()) return e;
  e.items.erase(e.items.end() - (e.keywords.end() - found));
  e.keywords.erase(found);
  return e;
}

}  // namespace

StatusOr<Expr> ExprBuilder::BuildOp(const PyExpr& e, const Op& op) const {
  if (TakesTypeFirst(op)) {
    if (e.keywords.size() == 1 && e.keywords[0] == "dtype") {  // T.ptx_mma(..., dtype="float32")
      PyExpr first = e;
      first.keywords.clear();
      first.items.insert(first.items.begin() + 1, first.items.back());
      first.items.pop_back();
      return BuildOp(first, op);
    }
    if (e.items.size() < 2) return Error(e, fmt::format("expected a dtype as first argument of T.{}", op.name));
    ASSIGN_OR_RETURN(const DataType type, BuildType(*e.items[1]));
    ASSIGN_OR_RETURN(const std::vector<Expr> args, BuildOpArgs(e, op, 2));
    // A program means the number; a stored text stands for the tree that it was printed from.
    const bool is_number = IsLimit(op) && args.empty() && context_->evaluator != nullptr;
    return At(e, is_number ? LimitOf(op, type) : FoldTypedCall(op, type, args));
  }
  ASSIGN_OR_RETURN(const std::vector<Expr> args,
                   e.keywords.empty() ? BuildOpArgs(e, op, 1) : BuildOpArgs(WithoutType(e), op, 1));
  return At(e, FoldCall(op, args));
}

}  // namespace lathe
