// FuncBuilder: macros.
#include <fmt/core.h>

#include <algorithm>

#include "compiler/script/func_builder_detail.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kMaxMacroDepth = 64;

// @T.macro(hygienic=False)
bool IsHygienic(const PyStmt& macro) {
  for (const PyExpr* decorator : macro.decorators) {
    for (size_t i = 0; i < decorator->keywords.size(); ++i) {
      const size_t at = decorator->items.size() - decorator->keywords.size() + i;
      if (decorator->keywords[i] == "hygienic" && decorator->items[at]->kind == PyExprKind::kFalse) return false;
    }
  }
  return true;
}

}  // namespace

// Here, where ParsedMacro is known.
FuncBuilder::FuncBuilder(const Source& source, const ConstantTable& constants, const ScriptContext& context)
    : names_(constants), exprs_(source, names_, context) {
  exprs_.SetBound(&bound_);
}
FuncBuilder::~FuncBuilder() = default;

// The macro that `e` calls.
StatusOr<FuncBuilder::MacroUse> FuncBuilder::FindMacro(const PyExpr& e) {
  if (e.kind != PyExprKind::kCall) return MacroUse();
  const PyExpr& callee = *e.items[0];
  const NamedValue* known = callee.kind == PyExprKind::kName ? names_.Find(callee.text) : nullptr;
  if (callee.kind == PyExprKind::kAttribute && !exprs_.FuncName(callee).empty()) return MacroUse();
  if (callee.kind == PyExprKind::kName && known == nullptr) {
    const auto here = exprs_.context().macros.find(callee.text);
    if (here != exprs_.context().macros.end()) return MacroUse{here->second};
  }
  if (known == nullptr && exprs_.context().evaluator != nullptr && exprs_.IsOutside(callee)) {
    ASSIGN_OR_RETURN(const ScriptValue value, exprs_.Foreign(callee));
    const auto* macro = std::get_if<std::shared_ptr<const ScriptMacro>>(&value);
    return macro == nullptr ? MacroUse() : Parsed(callee, *macro);
  }
  const auto* macro = known == nullptr ? nullptr : std::get_if<std::shared_ptr<const ScriptMacro>>(known);
  return macro == nullptr ? MacroUse() : Parsed(callee, *macro);
}

StatusOr<FuncBuilder::MacroUse> FuncBuilder::Parsed(const PyExpr& at, std::shared_ptr<const ScriptMacro> macro) {
  for (const auto& before : parsed_) {
    if (before->macro == macro) return MacroUse{before->definition, before.get()};
  }
  auto parsed = std::make_unique<ParsedMacro>();
  parsed->macro = std::move(macro);
  const ScriptMacro& what = *parsed->macro;
  parsed->source = {what.file_name, what.text};
  ASSIGN_OR_RETURN(parsed->file, ParsePython(parsed->source));
  std::vector<const PyStmt*> lines = parsed->file.body;
  if (lines.size() == 1 && lines[0]->kind == PyStmtKind::kClass) lines = lines[0]->body;
  if (lines.size() != 1 || lines[0]->kind != PyStmtKind::kFunction)
    return Error(at, fmt::format("expected the text of one macro in {}", what.file_name));
  parsed->definition = lines[0];
  parsed->context.tir_names.insert(what.tir_names.begin(), what.tir_names.end());
  parsed->context.tir_members = what.tir_members;
  parsed->context.evaluator = what.evaluator.get();
  if (what.constants != nullptr) {
    for (const auto& [name, value] : *what.constants) parsed->context.around.insert(name);
  }
  parsed_.push_back(std::move(parsed));
  return MacroUse{parsed_.back()->definition, parsed_.back().get()};
}

// Literals stay Python's, so that a macro can decide by them.
StatusOr<NamedValue> FuncBuilder::BuildMacroArg(const PyExpr& e) {
  const bool is_literal = ExprBuilder::IsLiteral(e) || e.kind == PyExprKind::kString || e.kind == PyExprKind::kNone;
  if (!is_literal) return exprs_.BuildValue(e);
  ASSIGN_OR_RETURN(Attr value, exprs_.BuildAttr(e));
  return NamedValue(std::move(value));
}

// What `*rest` takes out of `call`, whose first `num_plain` arguments are others'.
StatusOr<std::vector<NamedValue>> FuncBuilder::TakeRest(const PyParam& rest, size_t num_plain, PyExpr& call) {
  const auto end = call.items.end() - std::ptrdiff_t(call.keywords.size());
  const auto begin = call.items.begin() + std::ptrdiff_t(std::min<size_t>(1 + num_plain, end - call.items.begin()));
  if (begin != end && rest.name.empty()) return Error(**begin, "expected the name of the argument before its value");
  std::vector<NamedValue> values;
  for (auto item = begin; item != end; ++item) {
    ASSIGN_OR_RETURN(NamedValue value, BuildMacroArg(**item));
    values.push_back(std::move(value));
  }
  call.items.erase(begin, end);
  return values;
}

// What `**options` takes out of `call`: the keywords that are no others' `names`, as a dict of the program.
StatusOr<NamedValue> FuncBuilder::TakeKeywords(std::span<const std::string_view> names, PyExpr& call) {
  ScriptEvaluator* const evaluator = exprs_.context().evaluator;
  if (evaluator == nullptr) return Error(call, "expected a macro without **: a dict needs Python");
  PyExpr rest = call;
  const size_t begin = call.items.size() - call.keywords.size();
  rest.items.resize(begin);
  rest.keywords.clear();
  std::string dict;
  ScriptScope scope;
  for (size_t i = 0; i < call.keywords.size(); ++i) {
    const std::string_view name = call.keywords[i];
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      rest.items.push_back(call.items[begin + i]);
      rest.keywords.push_back(name);
      continue;
    }
    ASSIGN_OR_RETURN(NamedValue value, BuildMacroArg(*call.items[begin + i]));
    scope.emplace_back(name, std::move(value));
    dict += fmt::format("\"{0}\": {0}, ", name);
  }
  call = std::move(rest);
  return evaluator->Evaluate("{" + dict + "}", call.offset, scope);
}

// The value of each parameter after the object; none where the default counts.
StatusOr<std::vector<std::optional<NamedValue>>> FuncBuilder::BindMacro(const PyStmt& definition, size_t num_given,
                                                                        PyExpr call) {
  const std::span<const PyParam> params = std::span(definition.params).subspan(num_given);
  std::vector<std::string_view> names;
  NamedValue rest = Attr(), keywords = Attr();
  for (const PyParam& param : params) {
    if (param.kind == PyParamKind::kRest) {
      ASSIGN_OR_RETURN(rest, TakeRest(param, names.size(), call));
    } else if (param.kind == PyParamKind::kKeywords) {
      ASSIGN_OR_RETURN(keywords, TakeKeywords(names, call));
    } else {
      names.push_back(param.name);
    }
  }
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, names, 0, true));
  std::vector<std::optional<NamedValue>> values;
  for (size_t next = 0; const PyParam& param : params) {
    if (param.kind == PyParamKind::kRest || param.kind == PyParamKind::kKeywords) {
      values.emplace_back(param.kind == PyParamKind::kRest ? rest : keywords);
      continue;
    }
    const PyExpr* arg = args[next++];
    if (arg == nullptr && param.otherwise == nullptr)
      return Error(call, fmt::format("expected the argument \"{}\" of {}, got none", param.name, definition.text));
    values.emplace_back();
    if (arg == nullptr) continue;
    ASSIGN_OR_RETURN(values.back(), BuildMacroArg(*arg));
  }
  return values;
}

// The macro's lines, where it is called.
Status FuncBuilder::BuildMacroCall(const MacroUse& macro, const PyExpr& call, Suite& suite) {
  const PyStmt& definition = *macro.definition;
  if (macro_depth_ >= kMaxMacroDepth)
    return Error(call, fmt::format("macro \"{}\" expands itself too often", definition.text));
  std::vector<std::optional<NamedValue>> values;
  if (macro.elsewhere != nullptr) {
    const std::vector<ScriptValue>& first = macro.elsewhere->macro->first_args;
    values.assign(first.begin(), first.end());
  }
  if (values.size() > definition.params.size())
    return Error(call, fmt::format("expected a parameter of \"{}\" for the object", definition.text));
  ASSIGN_OR_RETURN(auto given, BindMacro(definition, values.size(), call));
  std::move(given.begin(), given.end(), std::back_inserter(values));
  return Expand(macro, std::move(values), suite);
}

// A hygienic macro sees its parameters and what is known where it stands, another one the names around the call, too.
Status FuncBuilder::Expand(const MacroUse& macro, std::vector<std::optional<NamedValue>> args, Suite& suite) {
  const Source& source = exprs_.source();
  const ScriptContext& context = exprs_.context();
  const bool is_hygienic = IsHygienic(*macro.definition);
  NameTable::Hidden hidden =
      names_.BeginMacro(is_hygienic, macro.elsewhere == nullptr ? nullptr : macro.elsewhere->macro->constants);
  if (macro.elsewhere != nullptr)
    exprs_.Enter(macro.elsewhere->source, is_hygienic ? macro.elsewhere->context : context);
  ++macro_depth_;
  Status status;
  for (size_t i = 0; i < args.size() && status.ok(); ++i) {
    const PyParam& param = macro.definition->params[i];
    StatusOr<NamedValue> value =
        args[i] ? StatusOr<NamedValue>(*std::move(args[i])) : exprs_.BuildValue(*param.otherwise);
    status = value.status();
    if (value.ok()) names_.Redefine(param.name, *std::move(value));
  }
  for (const PyStmt* line : macro.definition->body) {
    if (status.ok()) status = BuildStmt(*line, suite);
  }
  --macro_depth_;
  exprs_.Enter(source, context);
  names_.EndMacro(std::move(hidden));
  return status;
}

}  // namespace lathe
