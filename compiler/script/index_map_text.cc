#include "compiler/script/index_map_text.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

#include "compiler/script/expr_builder.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

bool IsName(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// Expressions of variables of one type become the same of another.
class Retyper : public StmtExprMutator {
 public:
  Retyper(const VarMap& vars, DataType from, DataType to) : vars_(vars), from_(from), to_(to) {}

 protected:
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Expr VisitExpr(const Expr& e) override {
    if (const IntImm* number = e.As<IntImm>(); number != nullptr && e.dtype() == from_)
      return IntConst(to_, number->value);
    if (const Binary* binary = e.As<Binary>()) {
      Expr a = VisitExpr(binary->a), b = VisitExpr(binary->b);
      MatchTypes(a, b);
      return MakeBinary(binary->op, a, b);
    }
    return StmtExprMutator::VisitExpr(e);
  }

 private:
  const VarMap& vars_;
  const DataType from_, to_;
};

}  // namespace

namespace {

std::set<std::string> FreeNamesOf(const IndexMap& map) {
  std::set<std::string> names;
  const auto add = [&](const Expr& e) {
    const auto is_it = [&](const Var& var) { return var.same_as(e); };
    if (IsVar(e) && std::none_of(map.initial_indices.begin(), map.initial_indices.end(), is_it))
      names.insert(e.As<VarName>()->name);
  };
  for (const Expr& index : map.final_indices) PostOrderVisit(index, add);
  return names;
}

struct MapText {
  std::string parameters;
  std::vector<std::string> results;
};
MapText TextOf(const IndexMap& map) {
  std::set<std::string> taken = FreeNamesOf(map);
  std::vector<std::string> names, results;
  VarMap vars;
  for (size_t i = 0; i < map.initial_indices.size(); ++i) {
    std::string name = map.initial_indices[i].name();
    if (!IsName(name) || taken.contains(name)) name = fmt::format("i{}", i);
    while (!taken.insert(name).second) name += "_";
    vars.emplace(map.initial_indices[i].get(), map.initial_indices[i].CopyWithName(name));
    names.push_back(std::move(name));
  }
  for (const Expr& index : map.final_indices) results.push_back(Print(Substitute(index, vars)));
  return {fmt::format("{}", fmt::join(names, ", ")), std::move(results)};
}

StatusOr<std::vector<Expr>> BuildResults(const ExprBuilder& exprs, const PyExpr& body) {
  const bool are_pairs =
      body.kind == PyExprKind::kList && !body.items.empty() && body.items[0]->kind == PyExprKind::kTuple;
  if (!are_pairs) return exprs.BuildList(body);
  std::vector<Expr> results;
  for (const PyExpr* pair : body.items) {
    ASSIGN_OR_RETURN(const std::vector<Expr> ends, exprs.BuildList(*pair));
    results.insert(results.end(), ends.begin(), ends.end());
  }
  return results;
}

}  // namespace

std::string Print(const IndexMap& map) {
  const MapText text = TextOf(map);
  return fmt::format("lambda {}: ({}{})", text.parameters, fmt::join(text.results, ", "),
                     text.results.empty() ? "" : ",");
}

std::string PrintRanges(const IndexMap& map) {
  const MapText text = TextOf(map);
  std::string ranges;
  for (size_t i = 0; i + 1 < text.results.size(); i += 2)
    ranges += fmt::format("{}({}, {})", i == 0 ? "" : ", ", text.results[i], text.results[i + 1]);
  return fmt::format("lambda {}: [{}]", text.parameters, ranges);
}

StatusOr<IndexMap> ReadIndexMap(const PyExpr& lambda, const Source& source, std::span<const Var> free,
                                DataType index_type) {
  if (lambda.kind != PyExprKind::kLambda)
    return ErrorAt(source, lambda.offset, "an index map is expected, such as lambda i, j: (j, i)");
  IndexMap map;
  const ConstantTable no_constants;
  NameTable names(no_constants);
  for (const Var& var : free) names.Redefine(var.name(), Expr(var));
  for (std::string_view name : lambda.keywords) {
    map.initial_indices.emplace_back(std::string(name), index_type);
    names.Redefine(name, Expr(map.initial_indices.back()));
  }
  const ScriptContext context;
  ASSIGN_OR_RETURN(map.final_indices, BuildResults(ExprBuilder(source, names, context), *lambda.items[0]));
  const auto is_wider = [&](const Expr& index) {
    return index.dtype().is_signed_int() && index.dtype().bits > index_type.bits;
  };
  const bool counts_wider = std::any_of(map.final_indices.begin(), map.final_indices.end(), is_wider);
  return counts_wider ? ReadIndexMap(lambda, source, free, DataType::Int(64)) : StatusOr<IndexMap>(std::move(map));
}

StatusOr<IndexMap> ParseIndexMap(std::string_view text, std::span<const Var> free, DataType index_type) {
  const Source source{.file_name = "index map", .text = text};
  ASSIGN_OR_RETURN(const PyFile file, ParsePython(source));
  if (file.body.size() != 1 || file.body[0]->kind != PyStmtKind::kExpr || file.body[0]->value == nullptr)
    return InvalidArgument("index map: one lambda is expected");
  return ReadIndexMap(*file.body[0]->value, source, free, index_type);
}

std::vector<Var> HandleNamesIn(std::string_view text) {
  std::vector<Var> vars;
  std::set<std::string> known;
  const auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t begin = 0, end = 0; begin < text.size(); begin = std::max(end, begin + 1)) {
    for (end = begin; end < text.size() && is_of_name(text[end]);) ++end;
    const std::string name(text.substr(begin, end - begin));
    const bool is_handle = name.size() > 1 && name[0] == 'v' && name.find_first_not_of("0123456789", 1) == name.npos;
    if (is_handle && known.insert(name).second) vars.emplace_back(name, kIndexType);
  }
  return vars;
}

namespace {

IndexMap WithIndexType(const IndexMap& map, DataType type) {
  if (map.initial_indices.empty() || map.initial_indices[0].dtype() == type) return map;
  IndexMap result;
  VarMap vars;
  for (const Var& var : map.initial_indices) {
    result.initial_indices.emplace_back(var.name(), type);
    vars.emplace(var.get(), result.initial_indices.back());
  }
  Retyper retype(vars, map.initial_indices[0].dtype(), type);
  for (const Expr& index : map.final_indices) result.final_indices.push_back(retype(index));
  if (map.inverse_index_map != nullptr)
    result.inverse_index_map = std::make_shared<const IndexMap>(WithIndexType(*map.inverse_index_map, type));
  return result;
}

}  // namespace

IndexMap WithIndexTypes(const IndexMap& map, const std::vector<DataType>& types) {
  const auto is_of = [](const Var& var, DataType type) { return var.dtype() == type; };
  if (types.size() != map.initial_indices.size() ||
      std::equal(map.initial_indices.begin(), map.initial_indices.end(), types.begin(), is_of))
    return map;
  const DataType widest = *std::max_element(types.begin(), types.end(),
                                            [](const DataType& a, const DataType& b) { return a.bits < b.bits; });
  IndexMap result = WithIndexType(map, widest);
  VarMap narrow, alone;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == widest) continue;
    Var& index = result.initial_indices[i];
    const Var typed(index.name(), types[i]);
    narrow.emplace(index.get(), MakeCast(widest, typed));
    alone.emplace(index.get(), typed);
    index = typed;
  }
  for (Expr& index : result.final_indices) {
    const auto found = alone.find(index.get());
    index = found != alone.end() ? found->second : Substitute(index, narrow);
  }
  return result;
}

}  // namespace lathe
