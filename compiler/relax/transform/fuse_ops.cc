#include "compiler/relax/transform/fuse_ops.h"

#include <algorithm>
#include <numeric>

#include "compiler/relax/op.h"
#include "compiler/relax/slices.h"
#include "compiler/relax/transform/annotate_tir_op_pattern.h"
#include "compiler/relax/transform/row_functions.h"
#include "compiler/relax/visitor.h"
#include "runtime/kernel_abi.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// One binding; of call_tir, or something that never fuses.
struct Node {
  const Binding* binding;
  const PrimFunc* func = nullptr;  // Null: no call_tir.
  OpPatternKind pattern = OpPatternKind::kOpaque;
  int depth = 0;  // Bindings on the longest way from a parameter.
};

// The shape of what a call reduces along its last dimension, which stays as 1: [8, 1] from [8, 64]; nullopt: another
// call.
std::optional<std::vector<int64_t>> RowsReducedBy(const Call& call_tir, const StructInfo& result) {
  const std::vector<Expr>& args = call_tir.args[1].As<TupleExpr>()->fields;
  if (args.size() != 1) return std::nullopt;
  std::optional<std::vector<int64_t>> from = ConstantShapeOf(args[0].struct_info()), to = ConstantShapeOf(result);
  if (!from || !to || from->empty() || from->size() != to->size() || from->back() == 1) return std::nullopt;
  return std::equal(from->begin(), from->end() - 1, to->begin()) && to->back() == 1 ? from : std::nullopt;
}

std::vector<Expr> TirArgs(const Expr& call_tir) { return call_tir.As<Call>()->args[1].As<TupleExpr>()->fields; }

// Whether what the binding makes is rows of float32 by whole vectors, of which some, with as many that they are made
// from, lie in half of the second cache, and all do not: only these would go through memory.
bool IsWorthBlocksOfRows(const Binding& binding, const LayoutTarget& target) {
  constexpr int64_t kRows = 16, kRowsOfTile = 4;
  const std::optional<std::vector<int64_t>> shape = ConstantShapeOf(binding.var.struct_info());
  const DataType type = binding.var.struct_info().As<TensorStructInfo>()->dtype;
  if (!shape || shape->size() < 2 || type != DataType::Float(32)) return false;
  const int64_t rows = (*shape)[shape->size() - 2], columns = shape->back();
  const int64_t elements = std::accumulate(shape->begin(), shape->end(), int64_t{1}, std::multiplies<>());
  const int64_t most = target.cache_bytes / 2 / (2 * type.bits / 8);
  return rows >= kRows && rows % kRowsOfTile == 0 && columns % target.lanes == 0 && kRows * columns <= most &&
         elements > most;
}

// Which bindings go together. Every group has one result: that of its last member.
class Grouping {
 public:
  Grouping(const IRModule& module, const Function& func, const LayoutTarget& target) : uses_(CountUses(func)) {
    VisitBindings(func, [&](const Binding& binding) { AddNode(module, binding); });
    parent_.resize(nodes_.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    kind_.reserve(nodes_.size());
    for (const Node& node : nodes_) {
      kind_.push_back(node.pattern);
      rows_.push_back(node.pattern == OpPatternKind::kCommReduce
                          ? RowsReducedBy(*node.binding->value.As<Call>(), node.binding->var.struct_info())
                          : std::nullopt);
    }
    for (size_t i = 0; i < nodes_.size(); ++i) JoinProducers(i);
    for (size_t i = 0; i < nodes_.size(); ++i) JoinProductOfReducedRows(i, target);
  }

  // The members of each group of two or more, in order; keyed by the last member's variable.
  std::unordered_map<const ExprNode*, std::vector<const Binding*>> Groups() {
    std::map<size_t, std::vector<const Binding*>> by_root;
    for (size_t i = 0; i < nodes_.size(); ++i) by_root[Find(i)].push_back(nodes_[i].binding);
    std::unordered_map<const ExprNode*, std::vector<const Binding*>> groups;
    for (auto& [root, members] : by_root) {
      const ExprNode* last = members.back()->var.get();
      if (members.size() > 1) groups.emplace(last, std::move(members));
    }
    return groups;
  }

 private:
  void AddNode(const IRModule& module, const Binding& binding) {
    Node node{&binding};
    const Call* call = binding.value.As<Call>();
    if (call != nullptr && call->op == &CallTirOp()) {
      node.func = module.Find(call->args[0].As<GlobalVar>()->name);
      if (node.func != nullptr && !IsMadeInPlace(*call)) node.pattern = OpPatternOf(*node.func);
    }
    VisitVars(binding.value, [&](const Var& var) {
      users_[var.get()].push_back(nodes_.size());
      const auto found = position_.find(var.get());
      if (found != position_.end()) node.depth = std::max(node.depth, nodes_[found->second].depth + 1);
    });
    position_.emplace(binding.var.get(), nodes_.size());
    nodes_.push_back(node);
  }

  // `e`, or what it is a view of, if a kernel makes it, else null.
  const ExprNode* MadeByKernel(Expr e) const {
    for (auto found = position_.find(e.get()); found != position_.end(); found = position_.find(e.get())) {
      const Node& node = nodes_[found->second];
      if (node.func != nullptr) return e.get();
      const Call* call = node.binding->value.As<Call>();
      if (call == nullptr || !IsView(*call)) break;
      e = call->args[0];
    }
    return nullptr;
  }

  // A concatenation of results of kernels, each of which can be written to where it belongs, will be no kernel. Fused
  // with a producer or a consumer it would copy the others.
  bool IsMadeInPlace(const Call& call_tir) const {
    const std::vector<int64_t> joined_at = IntsAttr(call_tir.attrs, kJoinedAtAttr);
    std::unordered_set<const ExprNode*> makers;
    for (const Expr& arg : call_tir.args[1].As<TupleExpr>()->fields) {
      const ExprNode* maker = MadeByKernel(arg);
      if (maker == nullptr || !makers.insert(maker).second) return false;
    }
    return !joined_at.empty() && std::all_of(joined_at.begin(), joined_at.end(),
                                             [](int64_t offset) { return offset % LATHE_BUFFER_ALIGNMENT == 0; });
  }

  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t later, size_t earlier) {
    const size_t a = Find(later), b = Find(earlier);
    if (a == b) return;
    parent_[b] = a;
    kind_[a] = std::max(kind_[a], kind_[b]);
    if (!rows_[a]) rows_[a] = rows_[b];
  }

  // Producers of arguments that nobody else uses.
  std::vector<size_t> SoleProducers(size_t i) const {
    std::vector<size_t> producers;
    for (const Expr& arg : TirArgs(nodes_[i].binding->value)) {
      const auto found = position_.find(arg.get());
      if (found == position_.end() || nodes_[found->second].func == nullptr) continue;
      const auto uses = uses_.find(arg.get());
      if (uses != uses_.end() && uses->second == 1) producers.push_back(found->second);
    }
    return producers;
  }

  void JoinProducers(size_t i) {
    const Node& node = nodes_[i];
    if (node.func == nullptr || (node.pattern > OpPatternKind::kInjective && !rows_[i])) return;
    const std::vector<size_t> producers = SoleProducers(i);
    if (rows_[i]) return JoinRows(i, producers);
    if (node.pattern <= OpPatternKind::kBroadcast) {
      std::optional<size_t> deepest;
      for (const size_t p : producers) {
        const bool is_chain = kind_[Find(p)] == OpPatternKind::kOutEWiseFusable;
        if (!is_chain || !Equal(nodes_[p].binding->var.struct_info(), node.binding->var.struct_info())) continue;
        if (!deepest || nodes_[p].depth >= nodes_[*deepest].depth) deepest = p;
      }
      if (deepest) return Join(i, *deepest);
    }
    for (const size_t p : producers) {
      if (kind_[Find(p)] <= OpPatternKind::kInjective) Join(i, p);
    }
    if (node.pattern > OpPatternKind::kBroadcast) return;
    JoinRows(i, producers);
    JoinWhereAllUsersMeet(i);
  }

  // What a binding makes has the rows: all of each, or one value for each.
  bool HasRows(size_t i, std::vector<int64_t> rows) const {
    const std::optional<std::vector<int64_t>> shape = ConstantShapeOf(nodes_[i].binding->var.struct_info());
    if (shape == rows) return true;
    rows.back() = 1;
    return shape == rows;
  }

  // Reductions along rows and what is computed element by element before and behind them, as norms are written.
  void JoinRows(size_t i, const std::vector<size_t>& producers) {
    for (const size_t p : producers) {
      const auto& rows = rows_[Find(p)] ? rows_[Find(p)] : rows_[Find(i)];
      const bool is_of_rows = kind_[Find(p)] <= OpPatternKind::kBroadcast || rows_[Find(p)];
      if (is_of_rows && rows && HasRows(p, *rows) && HasRows(i, *rows)) Join(i, p);
    }
  }

  // A producer whose users all end up in one group, as y * sigmoid(y), is part of it as well.
  void JoinWhereAllUsersMeet(size_t i) {
    const auto is_met = [&](size_t user) { return Find(user) == Find(i); };
    for (const Expr& arg : TirArgs(nodes_[i].binding->value)) {
      const auto found = position_.find(arg.get());
      if (found == position_.end() || Find(found->second) == Find(i)) continue;
      const size_t p = found->second;
      const std::vector<size_t>& users = users_[arg.get()];
      const bool is_result = uses_.at(arg.get()) > static_cast<int>(users.size());
      const OpPatternKind most = rows_[Find(i)] ? OpPatternKind::kBroadcast : OpPatternKind::kOutEWiseFusable;
      const bool is_of_rows = rows_[Find(i)] && rows_[Find(p)];
      const bool may_join = nodes_[p].func != nullptr && (kind_[Find(p)] <= most || is_of_rows) &&
                            (kind_[Find(p)] != OpPatternKind::kCommReduce || is_of_rows) &&
                            Equal(nodes_[p].binding->var.struct_info(), nodes_[i].binding->var.struct_info());
      if (may_join && !is_result && std::all_of(users.begin(), users.end(), is_met)) Join(i, p);
    }
  }

  // The binding that makes an argument of `i`, if nobody else uses that.
  std::optional<size_t> SoleProducer(size_t i, size_t arg) const {
    const Expr value = TirArgs(nodes_[i].binding->value)[arg];
    const auto found = position_.find(value.get());
    if (found == position_.end() || nodes_[found->second].func == nullptr) return std::nullopt;
    return uses_.at(value.get()) == 1 ? std::optional(found->second) : std::nullopt;
  }

  // The contraction that p's group is a chain of.
  std::optional<size_t> ContractionOf(size_t p) {
    if (kind_[Find(p)] != OpPatternKind::kOutEWiseFusable) return std::nullopt;
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (Find(i) == Find(p) && nodes_[i].pattern == OpPatternKind::kOutEWiseFusable) return i;
    return std::nullopt;
  }

  bool IsProductOfRows(size_t i) const {
    return nodes_[i].pattern == OpPatternKind::kOutEWiseFusable && MultipliesRows(*nodes_[i].func, 0);
  }

  // What another layout of one tensor gives, a transpose, and nothing else.
  bool IsCopyOfOne(size_t i) {
    if (nodes_[i].pattern != OpPatternKind::kInjective || TirArgs(nodes_[i].binding->value).size() != 1) return false;
    for (size_t j = 0; j < nodes_.size(); ++j)
      if (j != i && Find(j) == Find(i)) return false;
    return true;
  }

  // Products, what reduces their rows, and products of that.
  void JoinProductOfReducedRows(size_t last, const LayoutTarget& target) {
    if (nodes_[last].func == nullptr || !IsProductOfRows(last)) return;
    const std::optional<size_t> rows = SoleProducer(last, 0);
    if (!rows || Find(*rows) != *rows || !ReducesRows(*nodes_[*rows].func)) return;
    const std::optional<size_t> chain = SoleProducer(*rows, 0);
    const std::optional<size_t> first = chain ? ContractionOf(*chain) : std::nullopt;
    if (!first || !IsProductOfRows(*first) || !IsWorthBlocksOfRows(*nodes_[*rows].binding, target)) return;
    const std::optional<size_t> factor = SoleProducer(*first, 1);
    if (factor && IsCopyOfOne(*factor)) Join(last, *factor);
    Join(last, *first);
    Join(last, *rows);
  }

  std::unordered_map<const ExprNode*, int> uses_;
  std::vector<Node> nodes_;
  std::unordered_map<const ExprNode*, size_t> position_;
  std::unordered_map<const ExprNode*, std::vector<size_t>> users_;  // A node for each use in it.
  std::vector<size_t> parent_;
  // Of the group, at its root.
  std::vector<OpPatternKind> kind_;
  std::vector<std::optional<std::vector<int64_t>>> rows_;  // The shape of the rows that it reduces, if it does.
};

// A group as a function: what it takes from outside, and the arguments to call it with.
struct GroupFunction {
  Function func;
  std::vector<Expr> args;
};

GroupFunction MakeGroupFunction(const std::vector<const Binding*>& members) {
  BlockBuilder builder;
  ExprMap inside;
  std::vector<Expr> args;
  std::string name = "fused";
  for (const Binding* member : members) {
    const std::string callee = member->value.As<Call>()->args[0].As<GlobalVar>()->name;
    name += "_" + BaseName(callee);
    std::vector<Expr> inner_args;
    for (const Expr& arg : TirArgs(member->value)) {
      const auto found = inside.find(arg.get());
      if (found != inside.end()) {
        inner_args.push_back(found->second);
        continue;
      }
      const Var param = builder.Param(IsVar(arg) ? Var(arg).name() : "param", arg.struct_info());
      if (IsVar(arg)) inside.emplace(arg.get(), param);
      args.push_back(arg);
      inner_args.push_back(param);
    }
    inside.insert_or_assign(member->var.get(),
                            builder.Emit(MakeCallTir(callee, inner_args, member->var.struct_info())));
  }
  const Expr result = inside.at(members.back()->var.get());
  return {builder.Finish(name, result, {{kPrimitiveAttr, 1}}), std::move(args)};
}

}  // namespace

std::string BaseName(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool has_number = end != std::string_view::npos && end + 1 < name.size() && name[end] == '_' && end > 0;
  return std::string(has_number ? name.substr(0, end) : name);
}

StatusOr<IRModule> FuseOps(IRModule module, const LayoutTarget& target) {
  std::vector<Function> groups;
  std::unordered_set<std::string> names;
  for (const PrimFunc& func : module.prim_funcs) names.insert(func.name);
  for (const Function& func : module.functions) names.insert(func.name);
  for (Function& func : module.functions) {
    Grouping grouping(module, func, target);
    const auto members = grouping.Groups();
    std::unordered_map<const ExprNode*, Expr> outputs;
    ASSIGN_OR_RETURN(
        func,
        RewriteBindings(func, [&](const Binding& original, const Expr& value, BlockBuilder& builder) -> StatusOr<Expr> {
          const auto found = members.find(original.var.get());
          if (found == members.end()) return value;  // Inner members stay, unused: DeadCodeElimination drops them.
          GroupFunction group = MakeGroupFunction(found->second);
          const std::string base = group.func.name;
          for (int i = 1; !names.insert(group.func.name).second; ++i) group.func.name = base + "_" + std::to_string(i);
          std::vector<Expr> args = {MakeGlobalVar(group.func.name)};
          args.insert(args.end(), group.args.begin(), group.args.end());
          groups.push_back(std::move(group.func));
          return Expr::Make(value.struct_info(), Call{nullptr, std::move(args), {}});
        }));
  }
  for (Function& group : groups) module.functions.push_back(std::move(group));
  return module;
}

}  // namespace lathe::relax
