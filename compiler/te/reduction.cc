#include "compiler/te/reduction.h"

#include <cmath>
#include <limits>

#include "compiler/ir/integer.h"
#include "compiler/script/checked_expr.h"
#include "support/check.h"
#include "support/status_macros.h"

namespace lathe::te {
namespace {

Status CheckCount(const std::string& name, const char* what, size_t got, size_t expected) {
  if (got == expected) return OkStatus();
  return InvalidArgument("reducer \"" + name + "\": " + what + " gives " + std::to_string(got) + " values, expected " +
                         std::to_string(expected));
}

// Each value as an element of its type: literals take it.
StatusOr<std::vector<Expr>> AsTypes(const std::string& name, const char* what, const std::vector<Expr>& values,
                                    const std::vector<DataType>& types) {
  RETURN_IF_ERROR(CheckCount(name, what, values.size(), types.size()));
  std::vector<Expr> converted;
  for (size_t i = 0; i < values.size(); ++i) {
    StatusOr<Expr> value = ConvertExpr(types[i], values[i]);
    if (!value.ok()) return value.status().WithContext("reducer \"" + name + "\": " + what);
    converted.push_back(*std::move(value));
  }
  return converted;
}

DataType TypeOf(const Expr& e) { return e.dtype(); }

template <typename T>
std::vector<DataType> TypesOf(const std::vector<T>& values) {
  std::vector<DataType> types;
  for (const T& value : values) types.push_back(TypeOf(value));
  return types;
}

std::vector<Var> Operands(const std::string& prefix, const std::vector<DataType>& types) {
  std::vector<Var> vars;
  for (size_t i = 0; i < types.size(); ++i)
    vars.emplace_back(types.size() == 1 ? prefix : prefix + std::to_string(i), types[i]);
  return vars;
}

Expr CombineNamed(Combiner combiner, const Expr& a, const Expr& b) {
  switch (combiner) {
    case Combiner::kSum:
      return a + b;
    case Combiner::kProd:
      return a * b;
    case Combiner::kMin:
      return Min(a, b);
    case Combiner::kMax:
      return Max(a, b);
    case Combiner::kAll:
      return MakeBinary(BinaryOp::kAnd, a, b);
    case Combiner::kAny:
      return MakeBinary(BinaryOp::kOr, a, b);
  }
  CHECK(false) << "combiner " << static_cast<int>(combiner);
  return a;
}

Expr NumberOf(DataType type, int64_t value) {
  return type.is_float() ? FloatConst(type, static_cast<double>(value)) : IntConst(type, value);
}

Expr IdentityOf(Combiner combiner, DataType type) {
  switch (combiner) {
    case Combiner::kSum:
      return NumberOf(type, 0);
    case Combiner::kProd:
      return NumberOf(type, 1);
    case Combiner::kMin:
      return MaxValue(type);
    case Combiner::kMax:
      return MinValue(type);
    case Combiner::kAll:
      return IntConst(type, 1);
    case Combiner::kAny:
      return IntConst(type, 0);
  }
  CHECK(false) << "combiner " << static_cast<int>(combiner);
  return 0;
}

double GreatestFloat(DataType type) {
  if (type.code == DataType::Code::kBFloat) return 0x1.fep127;
  switch (type.bits) {
    case 64:
      return std::numeric_limits<double>::max();
    case 32:
      return std::numeric_limits<float>::max();
    case 16:
      return 65504;
  }
  CHECK(type.code == DataType::Code::kFloat8E4M3FN || type.code == DataType::Code::kFloat8E5M2)
      << "no greatest value of " << type.ToString();
  return type.code == DataType::Code::kFloat8E5M2 ? 57344 : 448;
}

}  // namespace

IterVar ReduceAxis(Range domain, std::string name) {
  const DataType type = domain.extent.dtype();
  return {std::move(domain), Var(std::move(name), type), IterKind::kReduce, ""};
}

IterVar ReduceAxisTo(const Expr& extent, std::string name) {
  return ReduceAxis({IntConst(extent.dtype(), 0), extent}, std::move(name));
}

IterVar ThreadAxis(std::optional<Range> domain, std::string tag, std::string name) {
  const DataType type = domain ? domain->extent.dtype() : kIndexType;
  const Range range = domain ? *std::move(domain) : Range{0, 0};
  const IterKind kind =
      tag == "vthread" || tag.starts_with("vthread.") ? IterKind::kVirtualThread : IterKind::kThreadIndex;
  return {range, Var(name.empty() ? tag : std::move(name), type), kind, std::move(tag)};
}

StatusOr<CommReducer> MakeReducer(const std::vector<DataType>& types, const CombineValues& combine,
                                  const IdentityValues& identity, const std::string& name) {
  CommReducer reducer{Operands("x", types), Operands("y", types), {}, {}};
  const std::vector<Expr> lhs(reducer.lhs.begin(), reducer.lhs.end()), rhs(reducer.rhs.begin(), reducer.rhs.end());
  ASSIGN_OR_RETURN(reducer.result, AsTypes(name, "the combination", combine(lhs, rhs), types));
  ASSIGN_OR_RETURN(reducer.identity_element, AsTypes(name, "the identity", identity(types), types));
  return reducer;
}

StatusOr<std::vector<Expr>> MakeReduce(const CommReducer& combiner, const std::vector<Expr>& source,
                                       const std::vector<IterVar>& axis, const std::vector<Expr>& init,
                                       std::optional<Expr> condition, const std::string& name) {
  for (const IterVar& iter : axis) {
    if (iter.kind != IterKind::kReduce)
      return InvalidArgument("reducer \"" + name + "\": axis \"" + iter.var.name() +
                             "\" is not of a reduction; make it by reduce_axis");
  }
  const std::vector<DataType> types = TypesOf(combiner.lhs);
  ASSIGN_OR_RETURN(const std::vector<Expr> values, AsTypes(name, "the source", source, types));
  std::vector<Expr> starts;
  if (!init.empty()) {
    ASSIGN_OR_RETURN(starts, AsTypes(name, "init", init, types));
  }
  const Expr where = condition ? *condition : True();
  if (!where.dtype().is_bool())
    return InvalidArgument("reducer \"" + name + "\": the condition is " + where.dtype().ToString() + ", not a bool");
  std::vector<Expr> results;
  for (size_t i = 0; i < values.size(); ++i)
    results.push_back(Expr::Make(types[i], Reduce{combiner, axis, values, starts, where, static_cast<int64_t>(i)}));
  return results;
}

CommReducer NamedReducer(Combiner combiner, DataType type) {
  const Var x("x", type), y("y", type);
  return {{x}, {y}, {CombineNamed(combiner, x, y)}, {IdentityOf(combiner, type)}};
}

Expr ReduceOver(Combiner combiner, const Expr& source, const std::vector<IterVar>& axis) {
  return MakeReduce(NamedReducer(combiner, source.dtype()), {source}, axis).value().front();
}

Expr MaxValue(DataType type) {
  if (type.is_float()) return FloatConst(type, GreatestFloat(type));
  if (type.is_bool()) return IntConst(type, 1);
  CHECK(type.is_int()) << "no greatest value of " << type.ToString();
  if (type.is_signed_int()) return IntConst(type, static_cast<int64_t>(~uint64_t{0} >> (65 - type.bits)));
  return IntConst(type, static_cast<int64_t>(~uint64_t{0} >> (64 - type.bits)));
}

Expr MinValue(DataType type) {
  if (type.is_float()) return FloatConst(type, -GreatestFloat(type));
  if (!type.is_signed_int()) return IntConst(type, 0);
  return IntConst(type, -static_cast<int64_t>(~uint64_t{0} >> (65 - type.bits)) - 1);
}

}  // namespace lathe::te
