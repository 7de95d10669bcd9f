#include "compiler/schedule/description_matcher.h"

#include <fmt/core.h>

#include <algorithm>

namespace lathe {

bool DescriptionMatcher::Differ(std::string what) {
  if (difference_.empty()) difference_ = std::move(what);
  return false;
}

bool DescriptionMatcher::Match(const BlockRealize& realize, const BlockRealize& description) {
  const BlockNode &a = *realize.block, &b = *description.block;
  for (const IterVar& iter : a.iter_vars) analyzer_.Bind(iter.var, iter.domain);
  if (!Same(realize.predicate, description.predicate))
    return Differ("it runs under a predicate, that of the description is another");
  if (!a.match_buffers.empty()) return Differ("it looks at buffers through views of its own");
  return SameRegions(a.writes, b.writes) && SameRegions(a.reads, b.reads) && Same(a.body, b.body);
}

const Buffer* DescriptionMatcher::BufferFor(const Buffer& described) const {
  const auto found = buffers_.find(described.get());
  return found == buffers_.end() ? nullptr : &found->second;
}

void DescriptionMatcher::Pair(const Var& a, const Var& b, const Range& domain) {
  vars_.insert_or_assign(b.get(), a);
  analyzer_.Bind(a, domain);
}

// ---- Statements

bool DescriptionMatcher::Same(const Stmt& a, const Stmt& b) {
  if (a.node().value.index() != b.node().value.index()) return Differ("its statements are of other kinds");
  return std::visit([&](const auto& x) { return SameNode(x, std::get<std::decay_t<decltype(x)>>(b.node().value)); },
                    a.node().value);
}
bool DescriptionMatcher::SameNode(const For& a, const For& b) {
  if (!SameIndex(a.min, b.min) || !SameIndex(a.extent, b.extent))
    return Differ(fmt::format("loop \"{}\" runs over other values than \"{}\"", a.loop_var.name(), b.loop_var.name()));
  if (a.kind != b.kind || a.thread != b.thread || !(a.annotations == b.annotations))
    return Differ(fmt::format("loop \"{}\" is marked in another way", a.loop_var.name()));
  Pair(a.loop_var, b.loop_var, {a.min, a.extent});
  return Same(a.body, b.body);
}
bool DescriptionMatcher::SameNode(const BlockRealize& a, const BlockRealize& b) {
  const bool is_same = a.iter_values.size() == b.iter_values.size() &&
                       std::equal(a.iter_values.begin(), a.iter_values.end(), b.iter_values.begin(),
                                  [&](const Expr& x, const Expr& y) { return SameIndex(x, y); }) &&
                       Same(a.predicate, b.predicate);
  if (!is_same) return Differ(fmt::format("block \"{}\" is bound or guarded in another way", a.block->name));
  return SameBlock(*a.block, *b.block);
}
// Annotations of a block are for tuners; TVM compares none.
bool DescriptionMatcher::SameBlock(const BlockNode& a, const BlockNode& b) {
  const bool is_plain =
      a.match_buffers.empty() && b.match_buffers.empty() && a.alloc_buffers.empty() && b.alloc_buffers.empty();
  if (!is_plain) return Differ(fmt::format("block \"{}\" has buffers of its own", a.name));
  if (a.init.has_value() != b.init.has_value() || a.iter_vars.size() != b.iter_vars.size())
    return Differ(fmt::format("block \"{}\" has another init or other iter vars", a.name));
  for (size_t i = 0; i < a.iter_vars.size(); ++i) {
    const IterVar &x = a.iter_vars[i], &y = b.iter_vars[i];
    if (x.kind != y.kind || !SameIndex(x.domain.min, y.domain.min) || !SameIndex(x.domain.extent, y.domain.extent))
      return Differ(
          fmt::format("iter var \"{}\" is of another kind or domain than \"{}\"", x.var.name(), y.var.name()));
    Pair(x.var, y.var, x.domain);
  }
  return SameRegions(a.writes, b.writes) && SameRegions(a.reads, b.reads) && (!a.init || Same(*a.init, *b.init)) &&
         Same(a.body, b.body);
}
bool DescriptionMatcher::SameNode(const BufferStore& a, const BufferStore& b) {
  return SameAccess(a.buffer, a.indices, b.buffer, b.indices) && Same(a.value, b.value) &&
         Same(a.predicate, b.predicate);
}
bool DescriptionMatcher::SameNode(const LetStmt& a, const LetStmt& b) {
  if (!Same(a.value, b.value) || a.var.dtype() != b.var.dtype()) return Differ("it lets variables be something else");
  vars_.insert_or_assign(b.var.get(), a.var);
  return Same(a.body, b.body);
}
bool DescriptionMatcher::SameNode(const Seq& a, const Seq& b) {
  if (a.stmts.size() != b.stmts.size()) return Differ("it has another number of statements");
  return std::equal(a.stmts.begin(), a.stmts.end(), b.stmts.begin(),
                    [&](const Stmt& x, const Stmt& y) { return Same(x, y); });
}
bool DescriptionMatcher::SameNode(const IfThenElse& a, const IfThenElse& b) {
  if (a.else_case.has_value() != b.else_case.has_value() || !Same(a.condition, b.condition))
    return Differ("it branches in another way");
  return Same(a.then_case, b.then_case) && (!a.else_case || Same(*a.else_case, *b.else_case));
}

// ---- Expressions

template <typename Node>
bool DescriptionMatcher::SameFields(const Node& a, const Node& b) {
  return std::apply([&](const auto&... field) { return (Same(a.*(field.member), b.*(field.member)) && ...); },
                    Node::Fields());
}

bool DescriptionMatcher::Same(const Expr& a, const Expr& b) {
  const auto pair = vars_.find(b.get());
  if (pair != vars_.end()) return pair->second.same_as(a);
  const bool is_same =
      a.dtype() == b.dtype() && a.node().value.index() == b.node().value.index() && VisitNode(a, [&](const auto& x) {
        using Node = std::decay_t<decltype(x)>;
        const Node& y = *b.As<Node>();
        if constexpr (std::is_same_v<Node, VarName>)
          return a.same_as(b);
        else if constexpr (std::is_same_v<Node, BufferLoad>)
          return SameAccess(x.buffer, x.indices, y.buffer, y.indices) && Same(x.predicate, y.predicate);
        else if constexpr (std::is_same_v<Node, Reduce> || std::is_same_v<Node, Let>)
          return false;
        else
          return SameFields(x, y);
      });
  return is_same || Differ("it computes another expression");
}
bool DescriptionMatcher::Same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Expr& x, const Expr& y) { return Same(x, y); });
}
bool DescriptionMatcher::Same(const std::optional<Expr>& a, const std::optional<Expr>& b) {
  return a.has_value() == b.has_value() && (!a || Same(*a, *b));
}

bool DescriptionMatcher::SameIndex(const Expr& a, const Expr& b) const {
  const Expr described = Substitute(b, vars_);
  if (described.dtype().lanes != a.dtype().lanes) return false;
  return analyzer_.CanProveEqual(a, MakeCast(a.dtype(), described));
}

bool DescriptionMatcher::SameAccess(const Buffer& a, const std::vector<Expr>& at, const Buffer& b,
                                    const std::vector<Expr>& described) {
  const auto base = bases_.find(a.get());
  if (!SameBuffer(a, b) || base == bases_.end() || at.size() < described.size())
    return Differ(fmt::format("buffer \"{}\" is no region of the block, or not where \"{}\" is", a->name, b->name));
  const size_t in_front = at.size() - described.size();
  for (size_t i = 0; i < at.size(); ++i) {
    const Expr wanted = i < in_front ? Expr(0) : described[i - in_front];
    if (!SameIndex(at[i] - base->second[i], wanted))
      return Differ(fmt::format("buffer \"{}\" is accessed at other indices", a->name));
  }
  return true;
}

// ---- Buffers

bool DescriptionMatcher::SameBuffer(const Buffer& a, const Buffer& b) {
  if (const Buffer* known = BufferFor(b)) return known->same_as(a) || Differ("buffers take other places");
  const bool is_taken =
      std::any_of(buffers_.begin(), buffers_.end(), [&](const auto& entry) { return MayAlias(entry.second, a); });
  if (is_taken) return Differ(fmt::format("buffer \"{}\" is where the description has two", a->name));
  if (a->dtype != b->dtype)
    return Differ(fmt::format("buffer \"{}\" is {}, \"{}\" of the description is {}", a->name, a->dtype.ToString(),
                              b->name, b->dtype.ToString()));
  if (a->scope != b->scope && !any_scope_)
    return Differ(fmt::format("buffer \"{}\" has scope \"{}\", \"{}\" of the description has scope \"{}\"", a->name,
                              a->scope, b->name, b->scope));
  buffers_.emplace(b.get(), a);
  return true;
}

bool DescriptionMatcher::SameRegions(const std::vector<BufferRegion>& a, const std::vector<BufferRegion>& b) {
  if (a.size() != b.size()) return Differ(fmt::format("it touches {} regions, the description {}", a.size(), b.size()));
  return std::equal(a.begin(), a.end(), b.begin(),
                    [&](const BufferRegion& x, const BufferRegion& y) { return SameRegion(x, y); });
}

// The first region of a buffer says where it begins.
bool DescriptionMatcher::Begin(const BufferRegion& a, const BufferRegion& b) {
  std::vector<Expr> base;
  const size_t in_front = a.region.size() - b.region.size();
  for (size_t i = 0; i < a.region.size(); ++i) {
    const Expr& min = a.region[i].min;
    base.push_back(i < in_front ? min : analyzer_.Simplify(min - MakeCast(min.dtype(), b.region[i - in_front].min)));
  }
  bases_.emplace(a.buffer.get(), std::move(base));
  return true;
}

bool DescriptionMatcher::SameRegion(const BufferRegion& a, const BufferRegion& b) {
  if (!SameBuffer(a.buffer, b.buffer)) return false;
  const std::string& name = a.buffer->name;
  if (a.region.size() < b.region.size())
    return Differ(fmt::format("buffer \"{}\" has fewer dimensions than \"{}\"", name, b.buffer->name));
  if (!bases_.contains(a.buffer.get())) Begin(a, b);
  const std::vector<Expr>& base = bases_.at(a.buffer.get());
  const size_t in_front = a.region.size() - b.region.size();
  for (size_t i = 0; i < a.region.size(); ++i) {
    const Range wanted = i < in_front ? Range{0, 1} : b.region[i - in_front];
    if (!SameIndex(a.region[i].extent, wanted.extent))
      return Differ(fmt::format("dimension {} of its region of buffer \"{}\" has another extent", i, name));
    if (!SameIndex(a.region[i].min - base[i], wanted.min))
      return Differ(fmt::format("its regions of buffer \"{}\" begin at different places", name));
  }
  return true;
}

}  // namespace lathe
