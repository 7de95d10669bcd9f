#include "compiler/relax/expr.h"

#include "compiler/interpreter/tensor.h"
#include "compiler/relax/op.h"

namespace lathe::relax {
namespace {

template <typename T>
const T* FindAttr(const AttrMap& attrs, const std::string& name) {
  const auto found = attrs.find(name);
  if (found == attrs.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  CHECK(value != nullptr) << "attribute " << name << " has another type";
  return value;
}

}  // namespace

Var::Var(std::string name, StructInfo info, bool is_dataflow)
    : Expr(Make(std::move(info), VarName{std::move(name), is_dataflow})) {}
Var::Var(const Expr& expr) : Expr(expr) { CHECK(IsVar(expr)) << "expression is no variable"; }
const std::string& Var::name() const { return As<VarName>()->name; }
bool Var::is_dataflow() const { return As<VarName>()->is_dataflow; }

Expr MakeConstant(TensorData data) {
  StructInfo info = MakeTensorInfo(data.shape(), data.dtype());
  return Expr::Make(std::move(info), Constant{std::move(data)});
}

Expr MakeScalar(DataType dtype, double value) {
  return MakeConstant(TensorData(dtype, {}, Tensor::FromDoubles(dtype, {}, {value}).data));
}

Expr MakeShape(PrimShape values) {
  const int ndim = static_cast<int>(values.size());
  return Expr::Make(ShapeStructInfo{values, ndim}, ShapeExpr{values});
}
Expr MakeShape(const std::vector<int64_t>& values) { return MakeShape(ToPrimShape(values)); }

Expr MakeTuple(std::vector<Expr> fields) {
  TupleStructInfo info;
  for (const Expr& field : fields) info.fields.push_back(field.struct_info());
  return Expr::Make(std::move(info), TupleExpr{std::move(fields)});
}

Expr MakeGlobalVar(std::string name) { return Expr::Make(ObjectStructInfo{}, GlobalVar{std::move(name)}); }

Expr MakeTupleGetItem(const Expr& tuple, int64_t index) {
  const TupleStructInfo* info = tuple.struct_info().As<TupleStructInfo>();
  CHECK(info != nullptr && index >= 0 && index < static_cast<int64_t>(info->fields.size())) << "no field " << index;
  return Expr::Make(info->fields[index], TupleGetItem{tuple, index});
}

Expr MakeCallTir(const std::string& prim_func, std::vector<Expr> args, StructInfo out, AttrMap attrs) {
  return Expr::Make(std::move(out),
                    Call{&CallTirOp(), {MakeGlobalVar(prim_func), MakeTuple(std::move(args))}, std::move(attrs)});
}

bool IsVar(const Expr& e) { return e.As<VarName>() != nullptr; }
const TensorData* AsConstant(const Expr& e) {
  const Constant* constant = e.As<Constant>();
  return constant == nullptr ? nullptr : &constant->data;
}

int64_t IntAttr(const AttrMap& attrs, const std::string& name, int64_t absent) {
  const int64_t* value = FindAttr<int64_t>(attrs, name);
  return value == nullptr ? absent : *value;
}
double FloatAttr(const AttrMap& attrs, const std::string& name, double absent) {
  const double* value = FindAttr<double>(attrs, name);
  return value == nullptr ? absent : *value;
}
bool BoolAttr(const AttrMap& attrs, const std::string& name, bool absent) {
  const bool* value = FindAttr<bool>(attrs, name);
  return value == nullptr ? absent : *value;
}
std::string StringAttr(const AttrMap& attrs, const std::string& name, const std::string& absent) {
  const std::string* value = FindAttr<std::string>(attrs, name);
  return value == nullptr ? absent : *value;
}
std::vector<int64_t> IntsAttr(const AttrMap& attrs, const std::string& name) {
  std::vector<int64_t> values;
  if (const auto* list = FindAttr<std::vector<Attr>>(attrs, name)) {
    for (const Attr& item : *list) values.push_back(std::get<int64_t>(item));
  }
  return values;
}
Attr MakeIntsAttr(const std::vector<int64_t>& values) { return std::vector<Attr>(values.begin(), values.end()); }

}  // namespace lathe::relax
