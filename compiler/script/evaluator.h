// What a text takes from the program around it: values of a closure, calls of helper functions, comprehensions, macros.
// The parser asks for them; whoever embeds it (the Python binding) answers.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/attr.h"
#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct ScriptMacro;
// Something that only the program around knows, such as an object with methods: a name for it may be passed on.
class HostObject {
 public:
  virtual ~HostObject() = default;
  virtual std::string Describe() const = 0;                              // For errors: "a list_iterator".
  virtual std::optional<Range> AsRange() const { return std::nullopt; }  // nullopt: it is something else.
  // Of an array, row by row; nullopt: it is something else.
  virtual std::optional<std::vector<Attr>> Numbers() const { return std::nullopt; }
};

struct ScriptValue;
struct ScriptLoops;
using ScriptVariant = std::variant<Expr, Buffer, Attr, DataType, BufferRegion, std::vector<ScriptValue>,
                                   std::shared_ptr<const ScriptMacro>, std::shared_ptr<const ScriptLoops>,
                                   std::shared_ptr<const HostObject>>;
// A tuple or list where it holds several. Numbers, texts, dicts and None of the program are Attrs; an Expr is of the
// IR.
struct ScriptValue : ScriptVariant {
  using variant::variant;
};
using ConstantTable = std::unordered_map<std::string_view, ScriptValue>;

// What a call of the program gives, and the statements that it emits meanwhile.
struct ScriptEffect {
  ScriptValue value;
  std::vector<Stmt> stmts;
};

// A name that an expression uses and that the text has defined.
using ScriptScope = std::vector<std::pair<std::string_view, ScriptValue>>;

class ScriptEvaluator {
 public:
  virtual ~ScriptEvaluator() = default;
  // The value of `text`, an expression of Python that stands at byte `offset` of the source. Called for every
  // expression that names something which the text does not define. An error's message follows "file.py:12:17: ".
  virtual StatusOr<ScriptValue> Evaluate(std::string_view text, uint32_t offset, const ScriptScope& scope) = 0;
  // As Evaluate, of a call that is a statement.
  virtual StatusOr<ScriptEffect> Run(std::string_view text, uint32_t offset, const ScriptScope& scope) {
    StatusOr<ScriptValue> value = Evaluate(text, offset, scope);
    if (!value.ok()) return value.status();
    return ScriptEffect{*std::move(value), {}};
  }
  // Buffers that evaluating has allocated since the last call: T.alloc_buffer in a helper.
  virtual std::vector<Buffer> TakeAllocations() { return {}; }
};

// Names for single members of the TIR dialect: "B" for "Buffer", "S" for "axis.spatial".
using TirMemberNames = std::unordered_map<std::string_view, std::string>;

// Loops inside of each other that the program has made, such as kinds[0](4) or T.grid(*shape) in a helper.
struct ScriptLoops {
  std::vector<Range> ranges;
  ForKind kind = ForKind::kSerial;
  std::string thread;
  AttrMap annotations;
  std::shared_ptr<const HostObject> object;  // What the program calls them.
};

// A macro whose text stands elsewhere: one decorated function, and what its names mean there.
struct ScriptMacro {
  std::string file_name, text;
  std::vector<ScriptValue> first_args;       // A method's object.
  std::shared_ptr<const HostObject> object;  // What the program calls it.
  std::set<std::string_view> tir_names;      // What the TIR dialect is called there, beside "T" and "tir".
  TirMemberNames tir_members;
  std::shared_ptr<ScriptEvaluator> evaluator;  // Of the names around it. Keeps alive what the other two point into.
  const ConstantTable* constants = nullptr;
};

}  // namespace lathe
