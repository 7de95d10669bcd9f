// TVMScript in and out.
#include <fmt/format.h>

#include "compiler/ir/memory.h"
#include "compiler/script/printer.h"
#include "compiler/script/python_ast.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/evaluator.h"

namespace lathe::python {
namespace {

// T.decl_buffer without data makes memory and a buffer over it, two statements in TVM.
PrimFunc AsTvmHasIt(PrimFunc func) {
  func.body = SplitAllocBuffers(func.body);
  return func;
}
IRModule AsTvmHasIt(IRModule module) {
  for (PrimFunc& func : module.prim_funcs) func = AsTvmHasIt(std::move(func));
  return module;
}

// A class is a module, a function alone is itself.
py::object ParseAny(const std::string& text, const std::string& file_name, int first_line, const py::object& known,
                    bool is_checked) {
  const std::string placed = AtItsPlace(text, first_line);
  const NamesAround names(known, is_checked);
  const Source source{file_name, placed};
  const PyFile file = Value(ParsePython(source), ErrorKind::kParse);
  const bool has_class = std::any_of(file.body.begin(), file.body.end(),
                                     [](const PyStmt* line) { return line->kind == PyStmtKind::kClass; });
  IRModule module = AsTvmHasIt(Value(ParseModule(placed, file_name, names.around()), ErrorKind::kParse));
  if (has_class || module.prim_funcs.size() != 1) return Wrap(std::make_shared<IRModule>(std::move(module)));
  return Wrap(std::make_shared<const PrimFunc>(std::move(module.prim_funcs[0])));
}

template <typename T>
void Take(const py::dict& options, const char* name, T& value) {
  if (options.contains(name) && !options[name].is_none()) value = py::cast<T>(options[name]);
}

// What TVM's script() knows. Those that are not read below change nothing here.
void CheckNames(const py::dict& given) {
  static constexpr std::string_view kKnown[] = {"buffer_dtype",
                                                "float_dtype",
                                                "indent_spaces",
                                                "int_dtype",
                                                "ir_prefix",
                                                "module_alias",
                                                "name",
                                                "num_context_lines",
                                                "obj_to_annotate",
                                                "obj_to_underline",
                                                "path_to_annotate",
                                                "path_to_underline",
                                                "print_line_numbers",
                                                "relax_prefix",
                                                "s_tir",
                                                "show_all_struct_info",
                                                "show_meta",
                                                "show_object_address",
                                                "syntax_sugar",
                                                "tir_prefix",
                                                "verbose_expr"};
  for (const auto& [key, value] : given) {
    const std::string name = py::cast<std::string>(py::str(key));
    if (!std::binary_search(std::begin(kKnown), std::end(kKnown), name))
      throw Failure(ErrorKind::kType, fmt::format("script() got an unexpected keyword argument '{}'", name));
  }
}

// Of floats that are written without their type; "void", as TVM's default: of none.
std::optional<DataType> FloatTypeOf(const py::dict& given) {
  DataType type = DataType::Void();
  if (!given.contains("float_dtype") || py::str("void").equal(given["float_dtype"])) return std::nullopt;
  Take(given, "float_dtype", type);
  return type == DataType::Void() ? std::nullopt : std::optional(type);
}

// The options of TVM's script() that change what is printed.
PrintOptions AsTvm(const py::dict& given) {
  CheckNames(given);
  PrintOptions options{.as_tvm = true};
  bool is_today = false;
  Take(given, "s_tir", is_today);
  options.spelling = is_today ? Spelling::kToday : Spelling::kV018;
  Take(given, "syntax_sugar", options.syntax_sugar);
  Take(given, "name", options.name);
  Take(given, "tir_prefix", options.tir_prefix);
  Take(given, "ir_prefix", options.ir_prefix);
  Take(given, "indent_spaces", options.indent_spaces);
  Take(given, "buffer_dtype", options.buffer_dtype);
  Take(given, "int_dtype", options.int_dtype);
  Take(given, "verbose_expr", options.verbose_expr);
  options.float_dtype = FloatTypeOf(given);
  if (options.indent_spaces < 1 || options.indent_spaces > 16)
    throw Failure(ErrorKind::kValue, fmt::format("script: indent_spaces is {}; give 1 to 16", options.indent_spaces));
  return options;
}

// Each line behind its number, as wide as the last one.
std::string WithLineNumbers(const std::string& text) {
  const auto count = std::count(text.begin(), text.end(), '\n') + 1;
  const size_t width = std::to_string(count).size();
  std::string numbered;
  for (size_t number = 1, begin = 0; begin <= text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    numbered += fmt::format("{}{:>{}} {}", number == 1 ? "" : "\n", number, width, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return numbered;
}

// Of what options change the text of; nullopt: of anything else.
std::optional<std::string> TextOf(const py::object& object, const py::dict& options) {
  if (const FuncPtr* func = UnwrapAs<FuncPtr>(object)) return Print(**func, AsTvm(options));
  if (const ModulePtr* module = UnwrapAs<ModulePtr>(object)) return Print(**module, AsTvm(options));
  if (const Stmt* stmt = UnwrapAs<Stmt>(object)) return Print(*stmt, AsTvm(options));
  if (const Block* block = UnwrapAs<Block>(object)) return Print(*block, AsTvm(options));
  if (const Expr* e = UnwrapAs<Expr>(object)) return Print(*e, AsTvm(options));
  if (const IterVar* axis = UnwrapAs<IterVar>(object)) return Print(*axis, AsTvm(options));
  if (const CommReducer* reducer = UnwrapAs<CommReducer>(object)) return Print(*reducer, AsTvm(options));
  if (const Buffer* buffer = UnwrapAs<Buffer>(object)) return Print(*buffer, AsTvm(options));
  if (const BufferRegion* region = UnwrapAs<BufferRegion>(object)) return Print(*region, AsTvm(options));
  if (const MatchBufferRegion* match = UnwrapAs<MatchBufferRegion>(object)) return Print(*match, AsTvm(options));
  return std::nullopt;
}
std::optional<std::string> ScriptOf(const py::object& object, const py::dict& options) {
  std::optional<std::string> text = TextOf(object, options);
  bool has_numbers = false;
  Take(options, "print_line_numbers", has_numbers);
  if (text && has_numbers) text = WithLineNumbers(*text);
  return text;
}

std::string PrintRange(const Range& range) {
  return fmt::format("I.Range({}, {})", Print(range.min), Print(range.min + range.extent));
}
}  // namespace

void BindScript(py::module_& module) {
  module.def("parse_module", [](const std::string& text, const std::string& file_name, int first_line,
                                const py::object& known, bool is_checked) {
    const NamesAround names(known, is_checked);
    return std::make_shared<IRModule>(
        AsTvmHasIt(Value(ParseModule(AtItsPlace(text, first_line), file_name, names.around()), ErrorKind::kParse)));
  });
  module.def("parse_func",
             [](const std::string& text, const std::string& file_name, int first_line, const py::object& known,
                bool is_checked) -> FuncPtr {
               const NamesAround names(known, is_checked);
               return std::make_shared<const PrimFunc>(AsTvmHasIt(
                   Value(ParsePrimFunc(AtItsPlace(text, first_line), file_name, names.around()), ErrorKind::kParse)));
             });
  module.def("parse_any", &ParseAny);
  module.def("script", &ScriptOf);
  module.def("print", &PrintRange);
}

}  // namespace lathe::python
