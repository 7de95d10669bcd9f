#include "compiler/schedule/trace_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// 5 of "v5".
std::optional<VarRV> SampledNamed(std::string_view name) {
  int id = -1;
  if (!name.starts_with('v')) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), id);
  const bool is_number = error == std::errc() && end == name.data() + name.size() && id >= 0 && id < kMaxHandles;
  return is_number ? std::optional(VarRV{id}) : std::nullopt;
}

}  // namespace

IndexMap Substituted(const IndexMap& map, const VarMap& vars) {
  if (vars.empty()) return map;
  IndexMap result{map.initial_indices, {}, nullptr};
  for (const Expr& index : map.final_indices) result.final_indices.push_back(Substitute(index, vars));
  if (map.inverse_index_map != nullptr)
    result.inverse_index_map = std::make_shared<const IndexMap>(Substituted(*map.inverse_index_map, vars));
  return result;
}

TraceMap::TraceMap(const IndexMap& index_map) : map(std::make_shared<const IndexMap>(index_map)) {}

std::vector<Var> FreeVarsOf(const IndexMap& map) {
  std::vector<Var> vars = map.initial_indices;
  const auto add = [&](const Expr& e) {
    const bool is_known = std::any_of(vars.begin(), vars.end(), [&](const Var& var) { return var.same_as(e); });
    if (IsVar(e) && !is_known) vars.emplace_back(e);
  };
  for (const Expr& index : map.final_indices) PostOrderVisit(index, add);
  vars.erase(vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(map.initial_indices.size()));
  return vars;
}

std::string NameOf(VarRV var) { return var.id < 0 ? "_" : fmt::format("v{}", var.id); }

IndexMap WithNames(const TraceMap& map) {
  VarMap names;
  for (const auto& [var, sampled] : map.sampled) names.emplace(var.get(), var.CopyWithName(NameOf(sampled)));
  return Substituted(*map, names);
}

StatusOr<TraceMap> WithSampled(IndexMap map) {
  TraceMap result(map);
  for (const Var& var : FreeVarsOf(map)) {
    const std::optional<VarRV> sampled = SampledNamed(var.name());
    if (!sampled)
      return InvalidArgument(
          fmt::format("an index map uses \"{}\", which is no index of it and no sampled variable "
                      "such as v2",
                      var.name()));
    result.sampled.emplace_back(var, *sampled);
  }
  return result;
}

StatusOr<IndexMap> MapInNumbers(const Schedule& schedule, const TraceMap& map) {
  VarMap numbers;
  for (const auto& [var, sampled] : map.sampled) {
    ASSIGN_OR_RETURN(const int64_t number, schedule.Get(ExprRV(sampled)));
    numbers.emplace(var.get(), IntConst(var.dtype(), number));
  }
  return Substituted(*map, numbers);
}

}  // namespace lathe
