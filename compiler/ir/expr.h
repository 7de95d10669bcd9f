// Expressions of TensorIR: immutable trees behind counted handles. `Var` and `Buffer` have identity: two with the same
// name are different. Index arithmetic is int32 unless a variable says int64; operators promote and fold constants.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/data_type.h"
#include "compiler/ir/fields.h"
#include "compiler/ir/ref.h"

namespace lathe {

struct ExprNode;
struct BufferNode;

class Expr {
 public:
  Expr(int64_t value);                       // NOLINT: implicit int32 constant (int64 when it does not fit)
  Expr(int value) : Expr(int64_t{value}) {}  // NOLINT
  template <typename T>
  static Expr Make(DataType dtype, T alternative);

  DataType dtype() const;
  uint32_t depth() const;  // How deep it is nested: 1 of a constant or a variable.
  const ExprNode& node() const { return *node_; }
  const ExprNode* get() const { return node_.get(); }  // Identity; valid while a handle lives.
  template <typename T>
  const T* As() const;  // The alternative, or nullptr.
  bool same_as(const Expr& other) const { return node_.same_as(other.node_); }

 private:
  friend class Var;
  explicit Expr(ExprNode* node) : node_(node) {}
  Ref<ExprNode> node_;
};

// What a handle points to, where that is known: elements of one type in memory of one scope. `MakePointerType` gives
// one object for each pair, which lives for ever: compare by address.
struct PointerType {
  DataType element;
  std::string scope = "global";
};
const PointerType* MakePointerType(DataType element, std::string_view scope = "global");

// A variable with identity. Defined by a loop, an iter var, a let, a parameter, a buffer (its data); SSA: once per
// function.
class Var : public Expr {
 public:
  explicit Var(std::string name, DataType dtype = kIndexType);
  Var(std::string name, const PointerType* pointer);  // A handle.
  static Var Size(std::string name, DataType dtype = kIndexType);
  explicit Var(const Expr& expr);  // The same variable; CHECKs that `expr` is one.
  const std::string& name() const;
  const PointerType* pointer() const;        // nullptr: no handle, or to nothing known.
  Var CopyWithName(std::string name) const;  // Another variable of the same type.
};

// Typed storage. Compact and row-major unless `strides` are given. Identity, like Var. Several buffers may lie over one
// `data`: see MayAlias.
class Buffer {
 public:
  explicit Buffer(BufferNode node);
  const BufferNode* operator->() const { return node_.get(); }
  const BufferNode& operator*() const { return *node_; }
  const BufferNode* get() const { return node_.get(); }
  bool same_as(const Buffer& other) const { return node_.same_as(other.node_); }

 private:
  Ref<BufferNode> node_;
};

struct IntImm {
  int64_t value = 0;  // uint64 constants are stored by bit pattern; booleans are 0 and 1.
  static constexpr auto Fields() { return std::tuple(Field("value", &IntImm::value)); }
};
struct FloatImm {
  double value = 0;
  static constexpr auto Fields() { return std::tuple(Field("value", &FloatImm::value)); }
};
struct StringImm {
  std::string value;
  static constexpr auto Fields() { return std::tuple(Field("value", &StringImm::value)); }
};
struct VarName {
  std::string name;
  const PointerType* pointer = nullptr;
  bool is_size = false;  // A SizeVar: never negative.
  static constexpr auto Fields() {
    return std::tuple(Field("name", &VarName::name), Field("type_annotation", &VarName::pointer),
                      Field("is_size", &VarName::is_size));
  }
};

// kDiv is true division of floats and truncating division of integers (T.truncdiv); kTruncMod goes with it.
enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kFloorMod,
  kTruncMod,
  kMin,
  kMax,
  kEQ,
  kNE,
  kLT,
  kLE,
  kGT,
  kGE,
  kAnd,
  kOr
};
struct Binary {
  BinaryOp op;
  Expr a, b;  // Same dtype. Comparisons give bool of the same lanes; kAnd, kOr take bools.
  static constexpr auto Fields() {
    return std::tuple(Field("op", &Binary::op), Field("a", &Binary::a), Field("b", &Binary::b));
  }
};
struct Not {
  Expr a;
  static constexpr auto Fields() { return std::tuple(Field("a", &Not::a)); }
};
struct Cast {  // To the expression's dtype. Float to int truncates toward zero.
  Expr value;
  static constexpr auto Fields() { return std::tuple(Field("value", &Cast::value)); }
};
struct Select {  // Both values are evaluated; T.if_then_else (a Call) evaluates one.
  Expr condition, true_value, false_value;
  static constexpr auto Fields() {
    return std::tuple(Field("condition", &Select::condition), Field("true_value", &Select::true_value),
                      Field("false_value", &Select::false_value));
  }
};
struct BufferLoad {  // One index per dimension; only the last may be a vector.
  Buffer buffer;
  std::vector<Expr> indices;
  std::optional<Expr> predicate;  // One boolean per lane of the last index: lanes that are off are not read.
  static constexpr auto Fields() {
    return std::tuple(Field("buffer", &BufferLoad::buffer), Field("indices", &BufferLoad::indices),
                      Field("predicate", &BufferLoad::predicate));
  }
};
struct Let {  // `body` where `var` is `value`.
  Expr value;
  Var var;
  Expr body;
  static constexpr auto Fields() {
    return std::tuple(Field("value", &Let::value), DefField("var", &Let::var), Field("body", &Let::body));
  }
};
struct Shuffle {  // The lanes of all `vectors`, one after the other, picked by constant `indices`.
  std::vector<Expr> vectors, indices;
  static constexpr auto Fields() {
    return std::tuple(Field("vectors", &Shuffle::vectors), Field("indices", &Shuffle::indices));
  }
};
// Lanes of these two are times T.vscale() where the dtype is scalable.
struct Ramp {  // base, base + stride, ...: `lanes` values.
  Expr base, stride;
  int64_t lanes;
  static constexpr auto Fields() {
    return std::tuple(Field("base", &Ramp::base), Field("stride", &Ramp::stride), Field("lanes", &Ramp::lanes));
  }
};
struct Broadcast {
  Expr value;
  int64_t lanes;
  static constexpr auto Fields() {
    return std::tuple(Field("value", &Broadcast::value), Field("lanes", &Broadcast::lanes));
  }
};

// The type that a call has where nothing else is said.
enum class OpResult : uint8_t {
  kNamed,  // None: the call names it, as T.reinterpret("float32", x) does.
  kFirst,  // That of the first argument (if_then_else: the second), to which the others are brought.
  kElement,
  kPredicate,  // Of one bool per lane of the first argument.
  kSecond,     // That of the second argument; the others stay as they are. So they do below.
  kBool,
  kInt32,
  kUInt32,
  kHandle,
  kVoid,
};
// A row of the table of callable operations (compiler/ir/op.cc).
struct Op {
  std::string_view name;  // As TVMScript writes it after "T.", e.g. "exp".
  int num_args;
  bool is_pure;  // No effect, same result for the same arguments.
  OpResult result = OpResult::kFirst;
  bool is_float_only = false;
};
const Op* FindOp(std::string_view name);  // nullptr if there is none. Rows live for ever; compare by address.
struct Call {
  const Op* op;
  std::vector<Expr> args;
  static constexpr auto Fields() { return std::tuple(Field("op", &Call::op), Field("args", &Call::args)); }
};

struct FuncCall {  // Of another function of the module, by its name there.
  std::string callee;
  std::vector<Expr> args;
  static constexpr auto Fields() {
    return std::tuple(Field("callee", &FuncCall::callee), Field("args", &FuncCall::args));
  }
};

struct Range {  // [min, min + extent)
  Expr min, extent;
  static constexpr auto Fields() { return std::tuple(Field("min", &Range::min), Field("extent", &Range::extent)); }
};
// The first four are those of blocks; the rest mark what a stage schedule does with an axis.
enum class IterKind : uint8_t {
  kSpatial,
  kReduce,
  kScan,
  kOpaque,
  kThreadIndex,
  kVirtualThread,
  kUnrolled,
  kVectorized,
  kParallelized,
  kTensorized
};
struct IterVar {  // Takes values in [min, min + extent).
  Range domain;
  Var var;
  IterKind kind = IterKind::kSpatial;
  std::string thread_tag;  // "threadIdx.x" ..., of a thread axis.
  static constexpr auto Fields() {
    return std::tuple(Field("domain", &IterVar::domain), DefField("var", &IterVar::var), Field("kind", &IterVar::kind),
                      Field("thread_tag", &IterVar::thread_tag));
  }
};
struct CommReducer {  // result[i] combines lhs[i] and rhs[i]; identity_element[i] changes nothing.
  std::vector<Var> lhs, rhs;
  std::vector<Expr> result, identity_element;
  static constexpr auto Fields() {
    return std::tuple(DefField("lhs", &CommReducer::lhs), DefField("rhs", &CommReducer::rhs),
                      Field("result", &CommReducer::result), Field("identity_element", &CommReducer::identity_element));
  }
};
struct Reduce {  // Component `value_index` of `source` combined over `axis`, where `condition` holds.
  CommReducer combiner;
  std::vector<IterVar> axis;
  std::vector<Expr> source, init;
  Expr condition;
  int64_t value_index = 0;
  static constexpr auto Fields() {
    return std::tuple(Field("combiner", &Reduce::combiner), Field("axis", &Reduce::axis),
                      Field("source", &Reduce::source), Field("init", &Reduce::init),
                      Field("condition", &Reduce::condition), Field("value_index", &Reduce::value_index));
  }
};

// A rare, large alternative stands outside of the node: all others would pay for its size.
template <typename T>
struct Boxed {
  std::shared_ptr<const T> node;
  Boxed(T value);  // NOLINT: stands for the value
};
template <>
Boxed<Reduce>::Boxed(Reduce value);
template <typename T>
const T& Unbox(const T& node) {
  return node;
}
template <typename T>
const T& Unbox(const Boxed<T>& boxed) {
  return *boxed.node;
}

using ExprVariant = std::variant<IntImm, FloatImm, StringImm, VarName, Binary, Not, Cast, Select, BufferLoad, Ramp,
                                 Broadcast, Call, Let, Shuffle, FuncCall, Boxed<Reduce>>;

// What walks an expression calls itself, and each step has its part of a stack. Whoever takes expressions of any depth
// from a program refuses deeper ones: for these the simplifier needs up to half of a stack of 8 MiB, others less.
inline constexpr uint32_t kMaxProgramDepth = 4000;
Status CheckDepth(const Expr& e);

// How deep the expressions in a field are nested; 0 of others, and of what a buffer is declared with.
inline uint32_t DepthOf(const Expr& e);
template <typename T>
uint32_t DepthOf(const T& field);
template <typename T>
uint32_t DepthOf(const std::optional<T>& field) {
  return field ? DepthOf(*field) : 0;
}
template <typename T>
uint32_t DepthOf(const std::vector<T>& fields) {
  uint32_t depth = 0;
  for (const T& field : fields) depth = std::max(depth, DepthOf(field));
  return depth;
}
template <typename T>
uint32_t DepthOf(const T& node) {
  uint32_t depth = 0;
  if constexpr (requires { T::Fields(); })
    ForEachField(node, [&](const auto&, const auto& field) { depth = std::max(depth, DepthOf(field)); });
  return depth;
}

struct ExprNode : Counted {
  DataType dtype;
  uint32_t depth;
  ExprVariant value;
  template <typename T>
  ExprNode(DataType type, T alternative)
      : dtype(type), depth(DepthOf(Unbox(alternative)) + 1), value(std::move(alternative)) {}
  static void* operator new(size_t size);
  static void operator delete(void* node);
};
// f(alternative), of whichever it is.
template <typename F>
decltype(auto) VisitNode(const Expr& e, F&& f) {
  return std::visit([&](const auto& node) -> decltype(auto) { return f(Unbox(node)); }, e.node().value);
}

enum class BufferType : uint8_t { kDefault, kAutoBroadcast };
inline constexpr int64_t kDefaultDataAlignment = 64;
const Var& UnsetData();  // Stands for "a variable of its own" until the node is in a Buffer.

struct BufferNode : Counted {
  std::string name;
  DataType dtype = DataType::Float(32);
  std::vector<Expr> shape;
  std::vector<Expr> strides;     // Empty, or one per dimension, in elements.
  Expr elem_offset = 0;          // In elements.
  std::string scope = "global";  // "global", "local", "register", "shared" ...; where `data` points to.
  // The memory. Introduced where the buffer is, except by DeclBuffer, which looks at memory that is there. A copy of a
  // node that becomes memory of its own takes UnsetData() again.
  Var data = UnsetData();
  // Promises to those who pass the buffer: of `data` in bytes; that elem_offset is a multiple of `offset_factor`.
  int64_t data_alignment = kDefaultDataAlignment, offset_factor = 1;
  std::vector<int64_t> axis_separators;  // Where flattening to several dimensions cuts.
  BufferType buffer_type = BufferType::kDefault;
  static constexpr auto Fields() {
    return std::tuple(
        Field("name", &BufferNode::name), Field("dtype", &BufferNode::dtype), Field("shape", &BufferNode::shape),
        Field("strides", &BufferNode::strides), Field("elem_offset", &BufferNode::elem_offset),
        Field("scope", &BufferNode::scope), DefField("data", &BufferNode::data),
        Field("data_alignment", &BufferNode::data_alignment), Field("offset_factor", &BufferNode::offset_factor),
        Field("axis_separators", &BufferNode::axis_separators), Field("buffer_type", &BufferNode::buffer_type));
  }
};

template <typename T>
Expr Expr::Make(DataType dtype, T alternative) {
  return Expr(new ExprNode(dtype, std::move(alternative)));
}
inline DataType Expr::dtype() const { return node_->dtype; }
inline uint32_t Expr::depth() const { return node_->depth; }
inline uint32_t DepthOf(const Expr& e) { return e.depth(); }
template <typename T>
const T* Expr::As() const {
  if constexpr (std::is_same_v<T, Reduce>) {
    const Boxed<T>* boxed = std::get_if<Boxed<T>>(&node_->value);
    return boxed == nullptr ? nullptr : boxed->node.get();
  } else {
    return std::get_if<T>(&node_->value);
  }
}
inline bool IsVar(const Expr& e) { return e.As<VarName>() != nullptr; }

// ---- Building. Binary operators first bring both sides to one dtype (constants follow the other side; int32 widens to
// int64, ints become floats; scalars broadcast to vectors), then fold constants and x+0, x*1, x*0, x//1, x%1.
// MakeBinary does neither.
void MatchTypes(Expr& a, Expr& b);
Expr MakeBinary(BinaryOp op, Expr a, Expr b);
Expr FoldBinary(BinaryOp op, Expr a, Expr b);
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr FloorDiv(const Expr& a, const Expr& b);
Expr FloorMod(const Expr& a, const Expr& b);
Expr Min(const Expr& a, const Expr& b);
Expr Max(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b) = delete;  // Ambiguous: write Equal, same_as or StructuralEqual.
Expr Equal(const Expr& a, const Expr& b);
Expr Less(const Expr& a, const Expr& b);
Expr LessEqual(const Expr& a, const Expr& b);
Expr And(const Expr& a, const Expr& b);
Expr MakeNot(const Expr& a);
Expr MakeCast(DataType dtype, const Expr& value);
Expr MakeSelect(const Expr& condition, const Expr& true_value, const Expr& false_value);
Expr MakeCall(DataType dtype, std::string_view op_name, std::vector<Expr> args);  // CHECKs that the op exists.
const Call* AsCall(const Expr& e, std::string_view op_name);                      // nullptr: something else.
Expr IntConst(DataType dtype, int64_t value);  // Any int or bool dtype; vectors broadcast.
Expr FloatConst(DataType dtype, double value);
Expr Load(const Buffer& buffer, std::vector<Expr> indices);
DataType AccessType(const Buffer& buffer, const std::vector<Expr>& indices);  // What is loaded or stored there.
inline constexpr int64_t kMaxLanes = 65535;                                   // Of a type.
// `element` with as many lanes: a constant from 1 to kMaxLanes, or T.vscale() times one. nullopt: anything else.
std::optional<DataType> TypeOfLanes(DataType element, const Expr& lanes);
Expr LanesOf(DataType type);  // 4, or T.vscale() * 4
Expr True();

// Whether a write to one may change the other: they lie over one data variable. Distinct variables point to memory that
// does not overlap (docs/decisions/0025). A view of a block (match_buffer) has a variable of its own; what it touches
// is in the block's reads and writes, in terms of its source.
bool MayAlias(const Buffer& a, const Buffer& b);

// The constant of an integer or boolean expression; lives as long as a handle of it, so ask no temporary.
inline const int64_t* AsIntConst(const Expr& e) {
  const IntImm* imm = e.As<IntImm>();
  return imm == nullptr ? nullptr : &imm->value;
}
const int64_t* AsIntConst(Expr&& e) = delete;
inline bool IsConstInt(const Expr& e, int64_t value) {
  const int64_t* constant = AsIntConst(e);
  return constant != nullptr && *constant == value;
}

}  // namespace lathe
