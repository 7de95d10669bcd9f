// Attributes of nodes by TVM's field names, read from the table of fields (compiler/ir/fields.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python/src/node.h"

namespace lathe::python {

// The field `name` of the node as a Python value; a null object if the node has none.
py::object FieldOf(const Node& node, std::string_view name);
// The names that FieldOf knows.
std::vector<std::string> FieldNames(const Node& node);

}  // namespace lathe::python
