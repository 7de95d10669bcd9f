#include "compiler/script/parser.h"

#include <fmt/core.h>

#include <algorithm>

#include "compiler/script/expr_printer.h"
#include "compiler/script/func_builder.h"
#include "compiler/script/surroundings.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class ModuleBuilder {
 public:
  ModuleBuilder(const Source& source, const Surroundings& around) : source_(source), constants_(around.constants) {
    context_.tir_names.insert(around.tir_names.begin(), around.tir_names.end());
    context_.tir_members = around.tir_members;
    context_.evaluator = around.evaluator;
    context_.may_be_undefined = around.may_be_undefined;
    for (const auto& [name, value] : around.constants) context_.around.insert(name);
  }

  Status Build(const std::vector<const PyStmt*>& lines) {
    for (const PyStmt* line : lines) RETURN_IF_ERROR(BuildLine(*line));
    return OkStatus();
  }
  IRModule Finish() { return std::move(module_); }
  // Functions and macros may be named before they come.
  void Collect(const std::vector<const PyStmt*>& lines) {
    for (const PyStmt* line : lines) {
      if (line->kind == PyStmtKind::kClass) Collect(line->body);
      if (line->kind != PyStmtKind::kFunction) continue;
      (IsMacro(*line) ? context_.macros : context_.functions).emplace(line->text, line);
    }
  }

 private:
  Status Error(uint32_t offset, std::string_view message) const { return ErrorAt(source_, offset, message); }

  Status BuildLine(const PyStmt& line) {
    switch (line.kind) {
      case PyStmtKind::kImport:
        for (const auto& [name, alias] : line.names) {
          if (line.text.ends_with(".script.tir")) context_.tir_members.insert_or_assign(alias, std::string(name));
          if (name == "tir" || name == "s_tir" || name == "tirx") context_.tir_names.insert(alias);
          if (name == "ir") context_.ir_names.insert(alias);
        }
        return OkStatus();
      case PyStmtKind::kPass:
        return OkStatus();
      case PyStmtKind::kClass:
        context_.modules.insert(line.text);
        context_.is_module = true;
        RETURN_IF_ERROR(Build(line.body));
        context_.is_module = false;
        return OkStatus();
      case PyStmtKind::kFunction:
        return BuildFunction(line);
      case PyStmtKind::kAssign:
        return line.text.empty() ? BuildConstant(*line.target, *line.value)
                                 : Error(line.offset, "expected NAME = value");
      case PyStmtKind::kExpr:
        if (line.value->kind == PyExprKind::kString) return OkStatus();  // A docstring.
        if (line.value->kind == PyExprKind::kCall) return BuildModuleLine(*line.value);
        break;
      default:
        break;
    }
    return Error(line.offset, "expected a function, a class, an import or NAME = value");
  }

  static bool IsMacro(const PyStmt& function) {
    for (const PyExpr* decorator : function.decorators) {
      const PyExpr& name = decorator->kind == PyExprKind::kCall ? *decorator->items[0] : *decorator;
      if (name.kind == PyExprKind::kAttribute && (name.text == "macro" || name.text == "inline")) return true;
    }
    return false;
  }

  // I.module_attrs({...}), I.module_global_infos({...})
  Status BuildModuleLine(const PyExpr& call) {
    const PyExpr& callee = *call.items[0];
    const bool is_ir = callee.kind == PyExprKind::kAttribute && callee.items[0]->kind == PyExprKind::kName &&
                       context_.ir_names.contains(callee.items[0]->text);
    if (!is_ir || (callee.text != "module_attrs" && callee.text != "module_global_infos") || call.items.size() != 2)
      return Error(call.offset, "expected I.module_attrs({...}) or I.module_global_infos({...})");
    const NameTable names(constants_);
    ASSIGN_OR_RETURN(AttrMap attrs, ExprBuilder(source_, names, context_).BuildAttrs(*call.items[1]));
    (callee.text == "module_attrs" ? module_.attrs : module_.global_infos).merge(attrs);
    return OkStatus();
  }

  Status BuildConstant(const PyExpr& target, const PyExpr& value) {
    if (target.kind == PyExprKind::kTuple && value.kind == PyExprKind::kTuple) {
      if (value.items.size() != target.items.size())
        return Error(value.offset, fmt::format("expected {} values", target.items.size()));
      for (size_t i = 0; i < target.items.size(); ++i)
        RETURN_IF_ERROR(BuildConstant(*target.items[i], *value.items[i]));
      return OkStatus();
    }
    if (target.kind != PyExprKind::kName) return Error(target.offset, "expected a name before \"=\"");
    const NameTable names(constants_);
    ASSIGN_OR_RETURN(ScriptValue built, ExprBuilder(source_, names, context_).BuildValue(value));
    if (!IsConstant(built)) return Error(value.offset, "expected a number, a string or a tuple of them");
    if (const Expr* expr = std::get_if<Expr>(&built); expr != nullptr && expr->As<StringImm>() != nullptr)
      built = Attr(expr->As<StringImm>()->value);
    constants_.insert_or_assign(target.text, std::move(built));
    context_.around.erase(target.text);
    return OkStatus();
  }
  static bool IsConstant(const ScriptValue& value) {
    if (const auto* items = std::get_if<std::vector<ScriptValue>>(&value))
      return std::all_of(items->begin(), items->end(), IsConstant);
    const Expr* expr = std::get_if<Expr>(&value);
    return expr == nullptr || expr->As<IntImm>() != nullptr || expr->As<FloatImm>() != nullptr ||
           expr->As<StringImm>() != nullptr;
  }

  Status BuildFunction(const PyStmt& function) {
    if (IsMacro(function)) return OkStatus();  // Read where it is called.
    RETURN_IF_ERROR(CheckDecorator(function));
    ASSIGN_OR_RETURN(PrimFunc func, FuncBuilder(source_, constants_, context_).Build(function));
    func.is_private = IsPrivate(function);
    if (context_.is_module) CallByItsName(function, func);
    if (module_.Find(func.name) != nullptr)
      return Error(function.offset, fmt::format("expected one function \"{}\", got a second", func.name));
    module_.prim_funcs.push_back(std::move(func));
    return OkStatus();
  }
  // In a module a function has its own name, whatever its symbol is. Where that is no name, the printer writes "func".
  static void CallByItsName(const PyStmt& function, PrimFunc& func) {
    if (func.name == function.text || func.name.empty() || !IsIdentifier(func.name)) return;
    func.attrs["global_symbol"] = func.name;
    func.name = function.text;
  }
  static bool IsPrivate(const PyStmt& function) {
    for (const PyExpr* decorator : function.decorators) {
      for (size_t i = 0; i < decorator->keywords.size(); ++i) {
        const size_t at = decorator->items.size() - decorator->keywords.size() + i;
        if (decorator->keywords[i] == "private" && decorator->items[at]->kind == PyExprKind::kTrue) return true;
      }
    }
    return false;
  }
  Status CheckDecorator(const PyStmt& function) const {
    for (const PyExpr* decorator : function.decorators) {
      const PyExpr& name = decorator->kind == PyExprKind::kCall ? *decorator->items[0] : *decorator;
      if (name.kind == PyExprKind::kAttribute && name.text == "prim_func") return OkStatus();
      if (name.kind == PyExprKind::kAttribute && name.text == "function") {
        return Status(
            StatusCode::kUnimplemented,
            Error(decorator->offset, "R.function: graph functions are not read here; remove it or import the model")
                .message());
      }
    }
    return Error(function.offset, fmt::format("expected @T.prim_func before function \"{}\"", function.text));
  }

  const Source& source_;
  ConstantTable constants_;
  ScriptContext context_;
  IRModule module_;
};

}  // namespace

StatusOr<IRModule> ParseModule(std::string_view text, std::string_view file_name, const Surroundings& around) {
  const Source source{file_name, text};
  ASSIGN_OR_RETURN(const PyFile file, ParsePython(source));
  ModuleBuilder builder(source, around);
  builder.Collect(file.body);
  RETURN_IF_ERROR(builder.Build(file.body));
  return builder.Finish();
}

namespace {

// Outside of its module a function has no other name.
PrimFunc CalledBySymbol(PrimFunc func) {
  if (const auto symbol = func.attrs.extract("global_symbol")) func.name = std::get<std::string>(symbol.mapped());
  return func;
}

}  // namespace

StatusOr<PrimFunc> ParsePrimFunc(std::string_view text, std::string_view file_name, const Surroundings& around) {
  ASSIGN_OR_RETURN(IRModule module, ParseModule(text, file_name, around));
  if (module.prim_funcs.size() == 1) return CalledBySymbol(std::move(module.prim_funcs[0]));
  std::string names;
  for (const PrimFunc& func : module.prim_funcs) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", func.name);
  return InvalidArgument(
      fmt::format("read {}: expected one @T.prim_func, got {}", file_name, names.empty() ? "none" : names));
}

StatusOr<IRModule> ParseModule(std::string_view text, std::string_view file_name) {
  return ParseModule(text, file_name, Surroundings());
}
StatusOr<PrimFunc> ParsePrimFunc(std::string_view text, std::string_view file_name) {
  return ParsePrimFunc(text, file_name, Surroundings());
}

}  // namespace lathe
