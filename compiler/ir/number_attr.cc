#include "compiler/ir/number_attr.h"

namespace lathe {

Attr AttrOf(const Expr& value) {
  if (const StringImm* text = value.As<StringImm>()) return Attr(text->value);
  if (const FloatImm* number = value.As<FloatImm>())
    return value.dtype() == DataType::Float(32) ? Attr(number->value) : Attr(value);
  const IntImm* number = value.As<IntImm>();
  if (number == nullptr) return Attr(value);
  if (value.dtype() == DataType::Bool()) return Attr(number->value != 0);
  return value.dtype() == Expr(number->value).dtype() ? Attr(number->value) : Attr(value);
}

std::optional<int64_t> IntOf(const Attr& attr) {
  if (const int64_t* value = std::get_if<int64_t>(&attr)) return *value;
  const Expr* typed = std::get_if<Expr>(&attr);
  const int64_t* value = typed == nullptr || !typed->dtype().is_int() ? nullptr : AsIntConst(*typed);
  return value == nullptr ? std::nullopt : std::optional<int64_t>(*value);
}

}  // namespace lathe
