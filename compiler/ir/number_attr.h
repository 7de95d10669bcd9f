// Numbers among annotations and attributes: of the type that a number has where none is said, plainly, else as a
// constant.
#pragma once

#include <optional>

#include "compiler/ir/attr.h"

namespace lathe {

// One way to hold a constant: int32, float32, booleans and texts as such, an expression where it is something else.
Attr AttrOf(const Expr& value);
// An integer of any type; nullopt: it is none.
std::optional<int64_t> IntOf(const Attr& attr);

}  // namespace lathe
