// TVMScript in and out.
#include <fmt/format.h>

#include <deque>

#include "compiler/script/printer.h"
#include "compiler/script/python_ast.h"
#include "compiler/script/surroundings.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

// `text` stands from line `first_line` of its file on, indented or not: errors then name the file's own lines and
// columns. An indented text becomes the body of a class, which needs the line before it.
std::string AtItsPlace(const std::string& text, int first_line) {
  const bool indented = text.starts_with(' ') || text.starts_with('\t');
  const size_t lines_above = static_cast<size_t>(std::max(0, first_line - (indented ? 2 : 1)));
  return std::string(lines_above, '\n') + (indented ? "class Module:\n" : "") + text;
}

// What a program's names mean to the parser. Values that no expression can hold are left out: a text that uses them is
// told that it does not know the name.
struct NamesAround {
  explicit NamesAround(const py::dict& known) {
    const py::object dialect = py::module_::import("lathe.script.tir");
    for (const auto& [key, value] : known) {
      const std::string& name = names.emplace_back(py::cast<std::string>(key));
      if (value.is(dialect))
        around.tir_names.insert(name);
      else if (PyUnicode_Check(value.ptr()))
        around.constants.emplace(name, Attr(py::cast<std::string>(value)));
      else if (const Buffer* buffer = UnwrapAs<Buffer>(value))
        around.constants.emplace(name, *buffer);
      else if (std::optional<Expr> e = ToExpr(value))
        around.constants.emplace(name, *std::move(e));
    }
  }
  std::deque<std::string> names;  // What the keys of `around` point into.
  Surroundings around;
};

// A class is a module, a function alone is itself.
py::object ParseAny(const std::string& text, const std::string& file_name, int first_line, const py::dict& known) {
  const std::string placed = AtItsPlace(text, first_line);
  const Source source{file_name, placed};
  const PyFile file = Value(ParsePython(source), ErrorKind::kParse);
  const bool has_class = std::any_of(file.body.begin(), file.body.end(),
                                     [](const PyStmt* line) { return line->kind == PyStmtKind::kClass; });
  IRModule module = Value(ParseModule(placed, file_name, NamesAround(known).around), ErrorKind::kParse);
  if (has_class || module.prim_funcs.size() != 1) return Wrap(std::make_shared<IRModule>(std::move(module)));
  return Wrap(std::make_shared<const PrimFunc>(std::move(module.prim_funcs[0])));
}

std::string PrintBlock(const Block& block) {
  std::vector<Expr> values;
  for (const IterVar& iter : block->iter_vars) values.push_back(iter.var);
  return Print(Stmt(BlockRealize{values, True(), block}));
}
std::string PrintRange(const Range& range) {
  return fmt::format("I.Range({}, {})", Print(range.min), Print(range.min + range.extent));
}
std::string PrintBuffer(const Buffer& buffer) {
  std::vector<std::string> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(Print(extent));
  return fmt::format("{}: T.Buffer(({}{}), \"{}\")", buffer->name, fmt::join(shape, ", "), shape.size() == 1 ? "," : "",
                     buffer->dtype.ToString());
}

}  // namespace

void BindScript(py::module_& module) {
  module.def(
      "parse_module", [](const std::string& text, const std::string& file_name, int first_line, const py::dict& known) {
        return std::make_shared<IRModule>(
            Value(ParseModule(AtItsPlace(text, first_line), file_name, NamesAround(known).around), ErrorKind::kParse));
      });
  module.def(
      "parse_func",
      [](const std::string& text, const std::string& file_name, int first_line, const py::dict& known) -> FuncPtr {
        return std::make_shared<const PrimFunc>(Value(
            ParsePrimFunc(AtItsPlace(text, first_line), file_name, NamesAround(known).around), ErrorKind::kParse));
      });
  module.def("parse_any", &ParseAny);
  module.def("print", [](const FuncPtr& func) { return Print(*func); });
  module.def("print", [](const ModulePtr& m) { return Print(*m); });
  module.def("print", [](const Expr& e) { return Print(e); });
  module.def("print", [](const Stmt& s) { return Print(s); });
  module.def("print", &PrintBlock);
  module.def("print", &PrintBuffer);
  module.def("print", &PrintRange);
  module.def("print", [](const IterVar& iter) {
    return fmt::format("T.iter_var({}, {})", Print(iter.var), PrintRange(iter.domain));
  });
  module.def("print", [](const MatchBufferRegion& match) {
    return fmt::format("{} = {}", match.buffer->name, Print(match.source));
  });
  module.def("print", [](const BufferRegion& region) { return Print(region); });
}

}  // namespace lathe::python
