#include "compiler/relax/struct_info.h"

#include <fmt/format.h>

#include "compiler/ir/stmt.h"
#include "compiler/ir/structural.h"
#include "compiler/script/printer.h"

namespace lathe::relax {
namespace {

bool SameOptionalShape(const std::optional<PrimShape>& a, const std::optional<PrimShape>& b) {
  return a.has_value() == b.has_value() && (!a || SameShape(*a, *b));
}

}  // namespace

TensorStructInfo MakeTensorInfo(PrimShape shape, DataType dtype) {
  const int ndim = static_cast<int>(shape.size());
  return {std::move(shape), dtype, ndim};
}

TensorStructInfo MakeTensorInfo(const std::vector<int64_t>& shape, DataType dtype) {
  return MakeTensorInfo(ToPrimShape(shape), dtype);
}

std::optional<std::vector<int64_t>> ConstantShapeOf(const StructInfo& info) {
  const TensorStructInfo* tensor = info.As<TensorStructInfo>();
  if (tensor == nullptr || !tensor->shape) return std::nullopt;
  return ConstantShape(*tensor->shape);
}

PrimShape ToPrimShape(const std::vector<int64_t>& shape) { return PrimShape(shape.begin(), shape.end()); }

bool SameShape(const PrimShape& a, const PrimShape& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t *x = AsIntConst(a[i]), *y = AsIntConst(b[i]);
    const bool same = x != nullptr && y != nullptr ? *x == *y : StructuralEqual(a[i], b[i]);
    if (!same) return false;
  }
  return true;
}

bool Equal(const StructInfo& a, const StructInfo& b) {
  if (const auto* x = a.As<TensorStructInfo>()) {
    const auto* y = b.As<TensorStructInfo>();
    return y != nullptr && x->dtype == y->dtype && x->ndim == y->ndim && SameOptionalShape(x->shape, y->shape);
  }
  if (const auto* x = a.As<ShapeStructInfo>()) {
    const auto* y = b.As<ShapeStructInfo>();
    return y != nullptr && x->ndim == y->ndim && SameOptionalShape(x->values, y->values);
  }
  if (const auto* x = a.As<TupleStructInfo>()) {
    const auto* y = b.As<TupleStructInfo>();
    if (y == nullptr || x->fields.size() != y->fields.size()) return false;
    for (size_t i = 0; i < x->fields.size(); ++i) {
      if (!Equal(x->fields[i], y->fields[i])) return false;
    }
    return true;
  }
  return b.As<ObjectStructInfo>() != nullptr;
}

std::string ToText(const PrimShape& shape) {
  std::vector<std::string> extents;
  for (const PrimExpr& extent : shape) {
    const int64_t* value = AsIntConst(extent);
    extents.push_back(value != nullptr ? fmt::format("{}", *value) : Print(extent));
  }
  return fmt::format("({}{})", fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
}

std::string ToText(const StructInfo& info) {
  if (const auto* tensor = info.As<TensorStructInfo>()) {
    if (tensor->shape)
      return fmt::format("R.Tensor({}, dtype=\"{}\")", ToText(*tensor->shape), tensor->dtype.ToString());
    return tensor->ndim < 0 ? fmt::format("R.Tensor(dtype=\"{}\")", tensor->dtype.ToString())
                            : fmt::format("R.Tensor(dtype=\"{}\", ndim={})", tensor->dtype.ToString(), tensor->ndim);
  }
  if (const auto* shape = info.As<ShapeStructInfo>()) {
    if (!shape->values) return shape->ndim < 0 ? "R.Shape" : fmt::format("R.Shape(ndim={})", shape->ndim);
    std::string values = ToText(*shape->values);
    const size_t end = values.size() - (values.ends_with(",)") ? 2 : 1);
    return fmt::format("R.Shape([{}])", values.substr(1, end - 1));
  }
  if (const auto* tuple = info.As<TupleStructInfo>()) {
    std::vector<std::string> fields;
    for (const StructInfo& field : tuple->fields) fields.push_back(ToText(field));
    return fmt::format("R.Tuple({})", fmt::join(fields, ", "));
  }
  return "R.Object";
}

}  // namespace lathe::relax
