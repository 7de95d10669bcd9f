// Expressions of TensorIR: immutable trees behind counted handles. `Var` and `Buffer` have identity: two with the same
// name are different. Index arithmetic is int32 unless a variable says int64; operators promote and fold constants.
#pragma once

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

// A variable with identity. Defined by a loop, an iter var, a let, a parameter; SSA: once per function.
class Var : public Expr {
 public:
  explicit Var(std::string name, DataType dtype = kIndexType);
  explicit Var(const Expr& expr);  // The same variable; CHECKs that `expr` is one.
  const std::string& name() const;
};

// Typed storage. Compact and row-major unless `strides` are given. Identity, like Var.
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
  static constexpr auto Fields() { return std::tuple(Field("name", &VarName::name)); }
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
  static constexpr auto Fields() {
    return std::tuple(Field("buffer", &BufferLoad::buffer), Field("indices", &BufferLoad::indices));
  }
};
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

// A row of the table of callable operations (compiler/ir/op.cc).
struct Op {
  std::string_view name;  // As TVMScript writes it after "T.", e.g. "exp".
  int num_args;
  bool is_pure;  // No effect, same result for the same arguments.
};
const Op* FindOp(std::string_view name);  // nullptr if there is none. Rows live for ever; compare by address.
struct Call {
  const Op* op;
  std::vector<Expr> args;
  static constexpr auto Fields() { return std::tuple(Field("op", &Call::op), Field("args", &Call::args)); }
};

using ExprVariant =
    std::variant<IntImm, FloatImm, StringImm, VarName, Binary, Not, Cast, Select, BufferLoad, Ramp, Broadcast, Call>;
struct ExprNode : Counted {
  DataType dtype;
  ExprVariant value;
  template <typename T>
  ExprNode(DataType type, T alternative) : dtype(type), value(std::move(alternative)) {}
};

struct BufferNode : Counted {
  std::string name;
  DataType dtype = DataType::Float(32);
  std::vector<Expr> shape;
  std::vector<Expr> strides;     // Empty, or one per dimension, in elements.
  Expr elem_offset = 0;          // In elements.
  std::string scope = "global";  // "global", "local", "register", "shared" ...
  static constexpr auto Fields() {
    return std::tuple(Field("name", &BufferNode::name), Field("dtype", &BufferNode::dtype),
                      Field("shape", &BufferNode::shape), Field("strides", &BufferNode::strides),
                      Field("elem_offset", &BufferNode::elem_offset), Field("scope", &BufferNode::scope));
  }
};

template <typename T>
Expr Expr::Make(DataType dtype, T alternative) {
  return Expr(new ExprNode(dtype, std::move(alternative)));
}
inline DataType Expr::dtype() const { return node_->dtype; }
template <typename T>
const T* Expr::As() const {
  return std::get_if<T>(&node_->value);
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
Expr IntConst(DataType dtype, int64_t value);  // Any int or bool dtype; vectors broadcast.
Expr FloatConst(DataType dtype, double value);
Expr Load(const Buffer& buffer, std::vector<Expr> indices);
Expr True();

// The constant of an integer or boolean expression; lives as long as a handle of it, so ask no temporary.
const int64_t* AsIntConst(const Expr& e);
const int64_t* AsIntConst(Expr&& e) = delete;
bool IsConstInt(const Expr& e, int64_t value);

}  // namespace lathe
