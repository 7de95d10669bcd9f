#include "python/src/evaluator.h"

#include <fmt/format.h>
#include <pybind11/eval.h>

#include <algorithm>
#include <deque>

#include "python/src/cast.h"

namespace lathe::python {
namespace {

struct PythonObject : HostObject {
  explicit PythonObject(py::object object) : value(std::move(object)) {}
  std::string Describe() const override {
    return fmt::format("a Python object of type {}", py::cast<std::string>(py::type::of(value).attr("__name__")));
  }
  std::optional<Range> AsRange() const override {
    const Range* range = UnwrapAs<Range>(value);
    return range == nullptr ? std::nullopt : std::optional(*range);
  }
  std::optional<std::vector<Attr>> Numbers() const override {
    if (!py::hasattr(value, "ravel") || !py::hasattr(value, "tolist")) return std::nullopt;
    return py::cast<std::vector<Attr>>(value.attr("ravel")().attr("tolist")());
  }
  py::object value;
};

py::object Plain(const Attr& attr);
py::object Plain(int64_t value) { return py::int_(value); }
py::object Plain(double value) { return py::float_(value); }
py::object Plain(bool value) { return py::bool_(value); }
py::object Plain(const std::string& value) { return py::str(value); }
py::object Plain(const Expr& value) { return Wrap(value); }
py::object Plain(std::monostate) { return py::none(); }
py::object Plain(const std::shared_ptr<const IndexMap>&) { return py::none(); }  // Stands in traces only.
py::object Plain(const std::vector<Attr>& items) {
  py::list list;
  for (const Attr& item : items) list.append(Plain(item));
  return list;
}
py::object Plain(const AttrMap& items) {
  py::dict dict;
  for (const auto& [key, value] : items) dict[py::str(key)] = Plain(value);
  return dict;
}
py::object Plain(const Attr& attr) {
  return std::visit([](const auto& value) { return Plain(value); }, static_cast<const AttrVariant&>(attr));
}

// What Python code sees of a value of the text.
struct ToPythonVisitor {
  py::object operator()(const Attr& value) const { return Plain(value); }
  py::object operator()(DataType value) const { return py::str(value.ToString()); }
  py::object operator()(const std::vector<ScriptValue>& items) const {
    py::tuple tuple(items.size());
    for (size_t i = 0; i < items.size(); ++i) tuple[i] = std::visit(*this, static_cast<const ScriptVariant&>(items[i]));
    return tuple;
  }
  py::object operator()(const std::shared_ptr<const ScriptMacro>& macro) const { return (*this)(macro->object); }
  py::object operator()(const std::shared_ptr<const ScriptLoops>& loops) const { return (*this)(loops->object); }
  py::object operator()(const std::shared_ptr<const HostObject>& object) const {
    return static_cast<const PythonObject&>(*object).value;
  }
  template <typename T>
  py::object operator()(const T& node) const {
    return Wrap(Node(node));
  }
};

bool IsInstance(py::handle object, const char* module, const char* name) {
  return py::isinstance(object, py::module_::import(module).attr(name));
}

std::optional<ScriptValue> FromNode(py::handle object) {
  const Node* node = Unwrap(object);
  if (node == nullptr) return std::nullopt;
  if (const Expr* e = std::get_if<Expr>(node)) return ScriptValue(*e);
  if (const Buffer* buffer = std::get_if<Buffer>(node)) return ScriptValue(*buffer);
  if (const BufferRegion* region = std::get_if<BufferRegion>(node)) return ScriptValue(*region);
  if (const IterVar* axis = std::get_if<IterVar>(node)) return ScriptValue(Expr(axis->var));
  return std::nullopt;
}

std::optional<ScriptValue> FromWhole(py::handle object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  return overflow != 0 ? std::nullopt : std::optional<ScriptValue>(Attr(int64_t{value}));
}

// Numbers, texts, None.
std::optional<ScriptValue> FromPlain(py::handle object) {
  if (object.is_none()) return ScriptValue(Attr(std::monostate()));
  if (PyBool_Check(object.ptr())) return ScriptValue(Attr(object.ptr() == Py_True));
  if (PyLong_Check(object.ptr())) return FromWhole(object);
  if (PyFloat_Check(object.ptr())) return ScriptValue(Attr(PyFloat_AsDouble(object.ptr())));
  if (PyUnicode_Check(object.ptr())) return ScriptValue(Attr(py::cast<std::string>(object)));
  return std::nullopt;
}

ScriptValue FromPython(const py::object& object);

ScriptValue FromSequence(const py::object& object) {
  std::vector<ScriptValue> items;
  for (const py::handle item : object) items.push_back(FromPython(py::reinterpret_borrow<py::object>(item)));
  return items;
}

std::shared_ptr<const ScriptMacro> FromMacro(const py::object& object);

// T.grid(4, 4), T.parallel(8): what a frame of loops makes.
std::shared_ptr<const ScriptLoops> FromLoops(const py::object& object) {
  auto loops = std::make_shared<ScriptLoops>();
  for (const py::handle loop : object.attr("ranges"))
    loops->ranges.push_back(*UnwrapAs<Range>(py::reinterpret_borrow<py::tuple>(loop)[1]));
  loops->kind = static_cast<ForKind>(py::cast<int>(object.attr("kind")));
  if (const py::object thread = object.attr("thread"); !thread.is_none()) loops->thread = py::cast<std::string>(thread);
  if (const py::object attrs = object.attr("annotations"); !attrs.is_none())
    loops->annotations = std::get<AttrMap>(py::cast<Attr>(attrs));
  loops->object = std::make_shared<const PythonObject>(object);
  return loops;
}

// What cannot be held is kept as it is.
ScriptValue FromPython(const py::object& object) {
  if (std::optional<ScriptValue> node = FromNode(object)) return *std::move(node);
  if (std::optional<ScriptValue> plain = FromPlain(object)) return *std::move(plain);
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) return FromSequence(object);
  if (PyDict_Check(object.ptr())) {
    if (std::optional<Attr> attr = ToAttr(object, NumberTypes::kKept)) return *std::move(attr);
  }
  if (IsInstance(object, "lathe.script.decorator", "TIRMacro")) return FromMacro(object);
  if (IsInstance(object, "lathe.script.ir_builder.tir", "ForFrame")) return FromLoops(object);
  if (py::hasattr(object, "as_attr")) {  // A target.
    if (std::optional<Attr> attr = ToAttr(object, NumberTypes::kKept)) return *std::move(attr);
  }
  if (py::hasattr(object, "asobject")) return FromPython(object.attr("asobject")());  // a == b
  if (py::hasattr(object, "dtype") && py::hasattr(object, "item") && py::len_hint(object) == 0)
    return FromPython(object.attr("item")());  // A number of numpy's.
  return std::make_shared<const PythonObject>(object);
}

}  // namespace

// Evaluates in the names of the program and those that the text adds.
class PythonEvaluator : public ScriptEvaluator {
 public:
  explicit PythonEvaluator(const py::object& known, bool is_checked = true)
      : known_(known.is_none() ? py::dict() : py::dict(known)) {
    if (!known.is_none()) around.evaluator = this;
    around.may_be_undefined = !is_checked;
    const py::object dialect = py::module_::import("lathe.script.tir");
    for (const auto& [key, value] : known_) {
      const std::string& name = names_.emplace_back(py::cast<std::string>(key));
      const py::object object = py::reinterpret_borrow<py::object>(value);
      if (object.is(dialect)) around.tir_names.insert(name);
      if (object.is(dialect) || IsInstance(object, "lathe.script.decorator", "TIRMacro")) continue;  // Asked for later.
      ScriptValue constant = FromPython(object);
      if (!std::holds_alternative<std::shared_ptr<const HostObject>>(constant)) {
        around.constants.emplace(name, std::move(constant));
      } else if (const py::object member = dialect.attr("member_name")(object); !member.is_none()) {
        around.tir_members.emplace(name, py::cast<std::string>(member));
      }
    }
  }

  StatusOr<ScriptValue> Evaluate(std::string_view text, uint32_t, const ScriptScope& scope) override {
    py::dict names = py::reinterpret_steal<py::dict>(PyDict_Copy(known_.ptr()));
    for (const auto& [name, value] : scope)
      names[py::str(std::string(name))] = std::visit(ToPythonVisitor(), static_cast<const ScriptVariant&>(value));
    try {
      const py::object allocations = py::module_::import("lathe.script.tir").attr("_allocations");
      allocations.attr("clear")();
      const ScriptValue value = FromPython(py::eval("(" + std::string(text) + "\n)", names));
      for (const py::handle buffer : allocations) allocations_.push_back(*UnwrapAs<Buffer>(buffer));
      return value;
    } catch (const py::error_already_set& error) {
      const std::string type = py::cast<std::string>(error.type().attr("__name__"));
      return InvalidArgument(fmt::format("{}: {}", type, py::cast<std::string>(py::str(error.value()))));
    }
  }
  StatusOr<ScriptEffect> Run(std::string_view text, uint32_t offset, const ScriptScope& scope) override {
    std::optional<StatusOr<ScriptValue>> value;
    const py::cpp_function call([&] { value = Evaluate(text, offset, scope); });
    try {
      const py::object stmts = py::module_::import("lathe.script.ir_builder.base").attr("emitted_by")(call);
      if (!value->ok()) return value->status();
      return ScriptEffect{**std::move(value), py::cast<std::vector<Stmt>>(stmts)};
    } catch (const py::error_already_set& error) {
      return InvalidArgument(py::cast<std::string>(py::str(error.value())));
    }
  }
  std::vector<Buffer> TakeAllocations() override { return std::exchange(allocations_, {}); }

  Surroundings around;

 private:
  const py::dict known_;
  std::deque<std::string> names_;  // What the keys of `around` point into.
  std::vector<Buffer> allocations_;
};

namespace {

std::shared_ptr<const ScriptMacro> FromMacro(const py::object& object) {
  auto macro = std::make_shared<ScriptMacro>();
  macro->file_name = py::cast<std::string>(object.attr("file_name"));
  macro->text = AtItsPlace(py::cast<std::string>(object.attr("text")), py::cast<int>(object.attr("first_line")));
  macro->first_args = std::get<std::vector<ScriptValue>>(FromSequence(object.attr("first_args")));
  macro->object = std::make_shared<const PythonObject>(object);
  const auto evaluator = std::make_shared<PythonEvaluator>(object.attr("known"));
  macro->tir_names = evaluator->around.tir_names;
  macro->tir_members = evaluator->around.tir_members;
  macro->constants = &evaluator->around.constants;
  macro->evaluator = evaluator;
  return macro;
}

}  // namespace

NamesAround::NamesAround(const py::object& known, bool is_checked)
    : evaluator_(std::make_shared<PythonEvaluator>(known, is_checked)) {}
NamesAround::~NamesAround() = default;
const Surroundings& NamesAround::around() const { return evaluator_->around; }

std::string AtItsPlace(const std::string& text, int first_line) {
  const bool indented = text.starts_with(' ') || text.starts_with('\t');
  const size_t lines_above = static_cast<size_t>(std::max(0, first_line - (indented ? 2 : 1)));
  return std::string(lines_above, '\n') + (indented ? "class Module:\n" : "") + text;
}

}  // namespace lathe::python
