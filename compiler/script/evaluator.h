// What a text takes from the program around it: values of a closure, calls of helper functions, comprehensions. The
// parser asks for them; whoever embeds it (the Python binding) answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/attr.h"
#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// A tuple or list where it holds several; AttrMap, None and texts are Attrs.
struct ScriptValue : std::variant<Expr, Buffer, Attr, DataType, BufferRegion, std::vector<ScriptValue>> {
  using variant::variant;
};

// A name that an expression uses and that the text has defined.
using ScriptScope = std::vector<std::pair<std::string_view, ScriptValue>>;

class ScriptEvaluator {
 public:
  virtual ~ScriptEvaluator() = default;
  // The value of `text`, an expression of Python that stands at byte `offset` of the source. Called for every
  // expression that names something which the text does not define. An error's message follows "file.py:12:17: ".
  virtual StatusOr<ScriptValue> Evaluate(std::string_view text, uint32_t offset, const ScriptScope& scope) = 0;
};

}  // namespace lathe
