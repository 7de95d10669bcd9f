// What is known about a value before it is computed: TVM's struct info. Dimensions are TensorIR expressions, so they
// may be symbolic.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/expr.h"

namespace lathe::relax {

using PrimExpr = lathe::Expr;
using PrimShape = std::vector<PrimExpr>;

struct StructInfoNode;
class StructInfo {
 public:
  template <typename T>
    requires requires { T::Fields(); }
  StructInfo(T alternative);  // NOLINT: any alternative is a struct info
  StructInfo(const StructInfo&) = default;
  StructInfo(StructInfo&) = default;
  StructInfo(StructInfo&&) = default;
  StructInfo& operator=(const StructInfo&) = default;
  StructInfo& operator=(StructInfo&&) = default;
  template <typename T>
  const T* As() const;
  const StructInfoNode& node() const { return *node_; }

 private:
  Ref<StructInfoNode> node_;
};

struct ObjectStructInfo {  // Nothing is known.
  static constexpr auto Fields() { return std::tuple<>(); }
};
struct TensorStructInfo {
  std::optional<PrimShape> shape;  // nullopt: not known.
  DataType dtype = DataType::Float(32);
  int ndim = -1;  // shape->size() where the shape is known; -1: not known.
  static constexpr auto Fields() {
    return std::tuple(Field("shape", &TensorStructInfo::shape), Field("dtype", &TensorStructInfo::dtype),
                      Field("ndim", &TensorStructInfo::ndim));
  }
};
struct ShapeStructInfo {
  std::optional<PrimShape> values;
  int ndim = -1;
  static constexpr auto Fields() {
    return std::tuple(Field("values", &ShapeStructInfo::values), Field("ndim", &ShapeStructInfo::ndim));
  }
};
struct TupleStructInfo {
  std::vector<StructInfo> fields;
  static constexpr auto Fields() { return std::tuple(Field("fields", &TupleStructInfo::fields)); }
};

struct StructInfoNode : Counted {
  std::variant<ObjectStructInfo, TensorStructInfo, ShapeStructInfo, TupleStructInfo> value;
  template <typename T>
  explicit StructInfoNode(T alternative) : value(std::move(alternative)) {}
};
template <typename T>
  requires requires { T::Fields(); }
StructInfo::StructInfo(T alternative) : node_(new StructInfoNode(std::move(alternative))) {}
template <typename T>
const T* StructInfo::As() const {
  return std::get_if<T>(&node_->value);
}

TensorStructInfo MakeTensorInfo(PrimShape shape, DataType dtype);
TensorStructInfo MakeTensorInfo(const std::vector<int64_t>& shape, DataType dtype);
// The constant extents of a tensor; nullopt if it is no tensor or an extent is symbolic or unknown.
std::optional<std::vector<int64_t>> ConstantShapeOf(const StructInfo& info);
PrimShape ToPrimShape(const std::vector<int64_t>& shape);  // int32 where it fits.

// Whether both say the same. Symbolic extents are compared structurally.
bool Equal(const StructInfo& a, const StructInfo& b);
bool SameShape(const PrimShape& a, const PrimShape& b);
// As Relax's TVMScript writes it: R.Tensor((1, 3, 224, 224), dtype="float32").
std::string ToText(const StructInfo& info);
std::string ToText(const PrimShape& shape);  // "(1, 3)", "(7,)"

}  // namespace lathe::relax
