// Relax: the graph around the kernels, in A-normal form. Immutable nodes behind counted handles, as in TensorIR; a Var
// has identity.
//
// Every expression that an op computes is bound to a variable; what stands as an argument is a variable, a constant, a
// shape, a global name, or a tuple of those. Expressions know their struct info.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/attr.h"
#include "compiler/relax/struct_info.h"
#include "compiler/relax/tensor_data.h"

namespace lathe::relax {

struct Op;  // relax/op.h
struct ExprNode;

class Expr {
 public:
  template <typename T>
  static Expr Make(StructInfo info, T alternative);
  template <typename T>
  const T* As() const;
  const StructInfo& struct_info() const;
  const ExprNode* get() const { return node_.get(); }  // Identity; valid while a handle lives.
  const ExprNode& node() const { return *node_; }
  bool same_as(const Expr& other) const { return node_.same_as(other.node_); }

 private:
  explicit Expr(ExprNode* node) : node_(node) {}
  Ref<ExprNode> node_;
};

class Var : public Expr {
 public:
  Var(std::string name, StructInfo info, bool is_dataflow = false);
  explicit Var(const Expr& expr);  // The same variable; CHECKs that `expr` is one.
  const std::string& name() const;
  bool is_dataflow() const;  // Visible in its dataflow block only.
};

struct VarName {
  std::string name;
  bool is_dataflow = false;
  static constexpr auto Fields() {
    return std::tuple(Field("name", &VarName::name), Field("is_dataflow", &VarName::is_dataflow));
  }
};
struct Constant {
  TensorData data;
  static constexpr auto Fields() { return std::tuple(Field("data", &Constant::data)); }
};
struct GlobalVar {  // A function of the module, by name.
  std::string name;
  static constexpr auto Fields() { return std::tuple(Field("name", &GlobalVar::name)); }
};
struct ShapeExpr {
  PrimShape values;
  static constexpr auto Fields() { return std::tuple(Field("values", &ShapeExpr::values)); }
};
struct TupleExpr {
  std::vector<Expr> fields;
  static constexpr auto Fields() { return std::tuple(Field("fields", &TupleExpr::fields)); }
};
struct TupleGetItem {
  Expr tuple;
  int64_t index = 0;
  static constexpr auto Fields() {
    return std::tuple(Field("tuple", &TupleGetItem::tuple), Field("index", &TupleGetItem::index));
  }
};
// An op of the table; or, where `op` is null, args[0] is the GlobalVar of a Relax function and the rest its arguments.
// call_tir's arguments are a GlobalVar and a tuple; its result is the call's struct info.
struct Call {
  const Op* op = nullptr;
  std::vector<Expr> args;
  AttrMap attrs;
  static constexpr auto Fields() {
    return std::tuple(Field("op", &Call::op), Field("args", &Call::args), Field("attrs", &Call::attrs));
  }
};

using ExprVariant = std::variant<VarName, Constant, GlobalVar, ShapeExpr, TupleExpr, TupleGetItem, Call>;
struct ExprNode : Counted {
  StructInfo struct_info;
  ExprVariant value;
  template <typename T>
  ExprNode(StructInfo info, T alternative) : struct_info(std::move(info)), value(std::move(alternative)) {}
};
template <typename T>
Expr Expr::Make(StructInfo info, T alternative) {
  return Expr(new ExprNode(std::move(info), std::move(alternative)));
}
template <typename T>
const T* Expr::As() const {
  return std::get_if<T>(&node_->value);
}
inline const StructInfo& Expr::struct_info() const { return node_->struct_info; }

struct Binding {
  Var var;
  Expr value;
  static constexpr auto Fields() { return std::tuple(Field("value", &Binding::value), DefField("var", &Binding::var)); }
};
struct BindingBlock {  // A dataflow block has no effects and no control flow, so passes may reorder and drop its
                       // bindings.
  bool is_dataflow = true;
  std::vector<Binding> bindings;
  static constexpr auto Fields() {
    return std::tuple(Field("is_dataflow", &BindingBlock::is_dataflow), Field("bindings", &BindingBlock::bindings));
  }
};
struct SeqExpr {
  std::vector<BindingBlock> blocks;
  Expr body;  // A variable, a constant, or a tuple of those.
  static constexpr auto Fields() {
    return std::tuple(Field("blocks", &SeqExpr::blocks), Field("body", &SeqExpr::body));
  }
};
struct Function {
  std::string name;
  std::vector<Var> params;
  SeqExpr body;
  AttrMap attrs;
  static constexpr auto Fields() {
    return std::tuple(Field("name", &Function::name), DefField("params", &Function::params),
                      Field("body", &Function::body), Field("attrs", &Function::attrs));
  }
};

Expr MakeConstant(TensorData data);
Expr MakeScalar(DataType dtype, double value);  // A constant without dimensions.
Expr MakeShape(PrimShape values);
Expr MakeShape(const std::vector<int64_t>& values);
Expr MakeTuple(std::vector<Expr> fields);
Expr MakeGlobalVar(std::string name);
Expr MakeTupleGetItem(const Expr& tuple, int64_t index);  // CHECKs that the tuple has it.
Expr MakeCallTir(const std::string& prim_func, std::vector<Expr> args, StructInfo out, AttrMap attrs = {});

bool IsVar(const Expr& e);
const TensorData* AsConstant(const Expr& e);  // nullptr if it is none.

// Attributes of calls. A missing one is `absent`; another type is a bug of ours.
int64_t IntAttr(const AttrMap& attrs, const std::string& name, int64_t absent);
double FloatAttr(const AttrMap& attrs, const std::string& name, double absent);
bool BoolAttr(const AttrMap& attrs, const std::string& name, bool absent);
std::string StringAttr(const AttrMap& attrs, const std::string& name, const std::string& absent);
std::vector<int64_t> IntsAttr(const AttrMap& attrs, const std::string& name);  // Empty if missing.
Attr MakeIntsAttr(const std::vector<int64_t>& values);

}  // namespace lathe::relax
