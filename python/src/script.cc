// TVMScript in and out.
#include <fmt/format.h>

#include "compiler/script/printer.h"
#include "compiler/script/python_ast.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/evaluator.h"

namespace lathe::python {
namespace {

// A class is a module, a function alone is itself.
py::object ParseAny(const std::string& text, const std::string& file_name, int first_line, const py::object& known) {
  const std::string placed = AtItsPlace(text, first_line);
  const NamesAround names(known);
  const Source source{file_name, placed};
  const PyFile file = Value(ParsePython(source), ErrorKind::kParse);
  const bool has_class = std::any_of(file.body.begin(), file.body.end(),
                                     [](const PyStmt* line) { return line->kind == PyStmtKind::kClass; });
  IRModule module = Value(ParseModule(placed, file_name, names.around()), ErrorKind::kParse);
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
  module.def("parse_module",
             [](const std::string& text, const std::string& file_name, int first_line, const py::object& known) {
               const NamesAround names(known);
               return std::make_shared<IRModule>(
                   Value(ParseModule(AtItsPlace(text, first_line), file_name, names.around()), ErrorKind::kParse));
             });
  module.def(
      "parse_func",
      [](const std::string& text, const std::string& file_name, int first_line, const py::object& known) -> FuncPtr {
        const NamesAround names(known);
        return std::make_shared<const PrimFunc>(
            Value(ParsePrimFunc(AtItsPlace(text, first_line), file_name, names.around()), ErrorKind::kParse));
      });
  module.def("parse_any", &ParseAny);
  module.def("print", [](const FuncPtr& func) { return Print(*func); });
  module.def("print", [](const ModulePtr& m) { return Print(*m); });
  module.def("print_today", [](const FuncPtr& func) { return Print(*func, Spelling::kToday); });
  module.def("print_today", [](const ModulePtr& m) { return Print(*m, Spelling::kToday); });
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
