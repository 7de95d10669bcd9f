#include "compiler/script/parser.h"

#include <fmt/core.h>

#include "compiler/script/func_builder.h"
#include "compiler/script/surroundings.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class ModuleBuilder {
 public:
  ModuleBuilder(const Source& source, const Surroundings& around) : source_(source), constants_(around.constants) {
    tir_names_.insert(around.tir_names.begin(), around.tir_names.end());
  }

  Status Build(const std::vector<const PyStmt*>& lines) {
    for (const PyStmt* line : lines) RETURN_IF_ERROR(BuildLine(*line));
    return OkStatus();
  }
  IRModule Finish() { return std::move(module_); }

 private:
  Status Error(uint32_t offset, std::string_view message) const { return ErrorAt(source_, offset, message); }

  Status BuildLine(const PyStmt& line) {
    switch (line.kind) {
      case PyStmtKind::kImport:
        for (const auto& [name, alias] : line.names) {
          if (name == "tir" || name == "s_tir" || name == "tirx") tir_names_.insert(alias);
        }
        return OkStatus();
      case PyStmtKind::kPass:
        return OkStatus();
      case PyStmtKind::kClass:
        return Build(line.body);
      case PyStmtKind::kFunction:
        return BuildFunction(line);
      case PyStmtKind::kAssign:
        return line.text.empty() ? BuildConstant(*line.target, *line.value)
                                 : Error(line.offset, "expected NAME = value");
      case PyStmtKind::kExpr:
        if (line.value->kind == PyExprKind::kString) return OkStatus();  // A docstring.
        break;
      default:
        break;
    }
    return Error(line.offset, "expected a function, a class, an import or NAME = value");
  }

  Status BuildConstant(const PyExpr& target, const PyExpr& value) {
    if (target.kind == PyExprKind::kTuple) {
      if (value.kind != PyExprKind::kTuple || value.items.size() != target.items.size())
        return Error(value.offset, fmt::format("expected {} values", target.items.size()));
      for (size_t i = 0; i < target.items.size(); ++i)
        RETURN_IF_ERROR(BuildConstant(*target.items[i], *value.items[i]));
      return OkStatus();
    }
    if (target.kind != PyExprKind::kName) return Error(target.offset, "expected a name before \"=\"");
    const NameTable names(constants_);
    const ExprBuilder exprs(source_, names, tir_names_);
    if (StatusOr<std::string> text = exprs.BuildString(value); text.ok()) {
      constants_.insert_or_assign(target.text, *std::move(text));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Expr built, exprs.Build(value));
    if (built.As<IntImm>() == nullptr && built.As<FloatImm>() == nullptr)
      return Error(value.offset, "expected a number or a string");
    constants_.insert_or_assign(target.text, std::move(built));
    return OkStatus();
  }

  Status BuildFunction(const PyStmt& function) {
    RETURN_IF_ERROR(CheckDecorator(function));
    ASSIGN_OR_RETURN(PrimFunc func, FuncBuilder(source_, constants_, tir_names_).Build(function));
    if (module_.Find(func.name) != nullptr)
      return Error(function.offset, fmt::format("expected one function \"{}\", got a second", func.name));
    module_.prim_funcs.push_back(std::move(func));
    return OkStatus();
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
  std::set<std::string_view> tir_names_ = {"T", "tir"};
  IRModule module_;
};

}  // namespace

StatusOr<IRModule> ParseModule(std::string_view text, std::string_view file_name, const Surroundings& around) {
  const Source source{file_name, text};
  ASSIGN_OR_RETURN(const PyFile file, ParsePython(source));
  ModuleBuilder builder(source, around);
  RETURN_IF_ERROR(builder.Build(file.body));
  return builder.Finish();
}

StatusOr<PrimFunc> ParsePrimFunc(std::string_view text, std::string_view file_name, const Surroundings& around) {
  ASSIGN_OR_RETURN(IRModule module, ParseModule(text, file_name, around));
  if (module.prim_funcs.size() == 1) return std::move(module.prim_funcs[0]);
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
