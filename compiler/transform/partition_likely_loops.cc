#include "compiler/transform/partition_likely_loops.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/arith/deduce_bound.h"
#include "compiler/transform/fact_mutator.h"
#include "compiler/transform/loop_partition.h"

namespace lathe {
namespace {

constexpr char kHint[] = "pragma_loop_partition_hint";
using NodeSet = std::unordered_set<const ExprNode*>;

const IterVar* AsLaunch(const AttrStmt& attr) {
  return attr.attr_key == "thread_extent" ? std::get_if<IterVar>(&attr.node) : nullptr;
}
bool IsThread(const IterVar& axis) { return axis.thread_tag.starts_with("threadIdx"); }
const ExprNode* HintedVar(const AttrStmt& attr) {
  const Attr* node = attr.attr_key == kHint ? std::get_if<Attr>(&attr.node) : nullptr;
  const Expr* var = node == nullptr ? nullptr : std::get_if<Expr>(node);
  return var == nullptr ? nullptr : var->get();
}
IntSet DomainOf(const Expr& min, const Expr& extent) {
  return IntSet::Interval(min, min + extent - IntConst(extent.dtype(), 1));
}

// The loops and launches below a statement that are to be split.
class CandidateSelector : public StmtExprVisitor {
 public:
  CandidateSelector(bool takes_constants, NodeSet& hinted, std::unordered_set<const StmtNode*>& candidates)
      : takes_constants_(takes_constants), hinted_(hinted), candidates_(candidates) {}

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr == nullptr) return StmtExprVisitor::VisitStmt(stmt);
    if (const ExprNode* var = HintedVar(*attr)) hinted_.insert(var);
    const IterVar* axis = AsLaunch(*attr);
    const bool is_open = axis != nullptr && axis->thread_tag.starts_with("blockIdx") && Takes(attr->value);
    Within(stmt, is_open ? axis->var.get() : nullptr);
  }
  void VisitFor(const Stmt& self, const For& loop) override {
    const bool is_hinted = hinted_.contains(loop.loop_var.get());
    const bool is_open = is_hinted || Takes(loop.min) || Takes(loop.extent);
    Within(self, is_open && loop.kind != ForKind::kThreadBinding ? loop.loop_var.get() : nullptr);
    if (is_hinted && !is_whole_) candidates_.insert(self.get());
  }
  void VisitExpr(const Expr& e) override {
    is_whole_ |= AsCall(e, "tvm_thread_allreduce") != nullptr;
    if (AsCall(e, "likely") != nullptr)
      PostOrderVisit(e, [&](const Expr& part) { likely_.insert(part.get()); });
    else
      StmtExprVisitor::VisitExpr(e);
  }

 private:
  bool Takes(const Expr& bound) const { return takes_constants_ || AsIntConst(bound) == nullptr; }
  // The statement is a candidate where a likely condition below it names `var`, and nothing there needs all threads.
  void Within(const Stmt& self, const ExprNode* var) {
    const bool outer = std::exchange(is_whole_, false);
    VisitChildren(self);
    if (var != nullptr && likely_.contains(var) && !is_whole_) candidates_.insert(self.get());
    is_whole_ |= outer;
  }

  const bool takes_constants_;
  NodeSet& hinted_;
  std::unordered_set<const StmtNode*>& candidates_;
  NodeSet likely_;  // What likely conditions consist of.
  bool is_whole_ = false;
};

// Where a condition is `value`, whatever runs inside of the loop.
struct Guard {
  Expr condition;
  bool value;
  IntSet where;
};

std::optional<Expr> Inverse(const Expr& condition) {
  if (const Not* negation = condition.As<Not>()) return negation->a;
  const Binary* op = condition.As<Binary>();
  if (op == nullptr) return std::nullopt;
  const auto with = [&](BinaryOp inverse) { return MakeBinary(inverse, op->a, op->b); };
  switch (op->op) {
    case BinaryOp::kLT:
      return with(BinaryOp::kGE);
    case BinaryOp::kLE:
      return with(BinaryOp::kGT);
    case BinaryOp::kGT:
      return with(BinaryOp::kLE);
    case BinaryOp::kGE:
      return with(BinaryOp::kLT);
    case BinaryOp::kEQ:
      return with(BinaryOp::kNE);
    case BinaryOp::kNE:
      return with(BinaryOp::kEQ);
    default:
      return std::nullopt;
  }
}

class GuardFinder : public StmtExprVisitor {
 public:
  GuardFinder(const Var& var, DomMap hints, DomMap relax, bool is_hinted)
      : var_(var), hints_(std::move(hints)), relax_(std::move(relax)), is_hinted_(is_hinted) {}
  std::vector<Guard> guards;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr ? nullptr : AsLaunch(*attr);
    if (axis != nullptr) return Within(stmt, axis->var, IntConst(attr->value.dtype(), 0), attr->value);
    if (const For* loop = stmt.As<For>()) return Within(stmt, loop->loop_var, loop->min, loop->extent);
    if (const LetStmt* let = stmt.As<LetStmt>()) unknown_.insert(let->var.get());
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) AddHinted(branch->condition);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBlock(const Block& block) override {
    for (const IterVar& iter : block->iter_vars) unknown_.insert(iter.var.get());
    StmtExprVisitor::VisitBlock(block);
  }
  void VisitExpr(const Expr& e) override {
    if (const Let* let = e.As<Let>()) unknown_.insert(let->var.get());
    if (const Call* likely = AsCall(e, "likely")) Add(likely->args[0]);
    if (const Call* choice = AsCall(e, "if_then_else")) AddHinted(choice->args[0]);
    if (const Select* choice = e.As<Select>()) AddHinted(choice->condition);
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  bool IsKnown(const Expr& e) const {
    return !HasLoad(e) && !UsesVar(e, [&](const ExprNode* used) { return unknown_.contains(used); });
  }
  void Within(const Stmt& self, const Var& inner, const Expr& min, const Expr& extent) {
    const DomMap hints = hints_, relax = relax_;
    const auto changes = [&](const ExprNode* used) { return used == var_.get() || relax_.Find(used) != nullptr; };
    if (IsKnown(min) && IsKnown(extent) && !UsesVar(min, changes) && !UsesVar(extent, changes)) {
      hints_.Add(inner, DomainOf(min, extent));
      relax_.Add(inner, DomainOf(min, extent));
    } else {
      unknown_.insert(inner.get());
    }
    VisitChildren(self);
    hints_ = hints;
    relax_ = relax;
  }
  // Each part of what is joined by "and" and "or" is decided by itself.
  void AddHinted(const Expr& condition) {
    if (!is_hinted_) return;
    const Binary* op = condition.As<Binary>();
    const Call* likely = AsCall(condition, "likely");
    if (likely != nullptr) return Add(likely->args[0]);
    if (op == nullptr || (op->op != BinaryOp::kAnd && op->op != BinaryOp::kOr)) return Add(condition);
    AddHinted(op->a);
    AddHinted(op->b);
  }
  void Add(const Expr& condition) {
    const bool is_seen = std::any_of(guards.begin(), guards.end(),
                                     [&](const Guard& guard) { return guard.condition.same_as(condition); });
    if (is_seen || !condition.dtype().is_scalar() || !UsesVar(condition, var_.get()) || !IsKnown(condition)) return;
    AddWhere(condition, true, condition);
    if (const std::optional<Expr> inverse = Inverse(condition)) AddWhere(condition, false, *inverse);
  }
  void AddWhere(const Expr& condition, bool value, const Expr& solved) {
    const IntSet where = DeduceBound(var_, solved, hints_, relax_);
    if (where.is_nothing()) return;
    // A single iteration that there is not says nothing, as in TVM.
    if (where.is_point() && Intersect(where, *hints_.Find(var_.get()), Analyzer()).is_nothing()) return;
    guards.push_back({condition, value, where});
  }

  const Var& var_;
  DomMap hints_, relax_;
  const bool is_hinted_;
  NodeSet unknown_;  // Variables without a domain that is the same in all iterations.
};

// The iterations in which all conditions of the set have the value, which are all that have it somewhere in the loop.
struct Middle {
  IntSet where;
  NodeSet conditions;
  bool value = true;
};

Middle MiddleOf(const std::vector<Guard>& guards, const IntSet& domain, bool value, const Analyzer& analyzer) {
  Middle middle{IntSet::Nothing(), {}, value};
  for (const Guard& guard : guards) {
    if (guard.value != value || Intersect(guard.where, domain, analyzer).is_nothing()) continue;
    middle.where = middle.conditions.empty() ? guard.where : Intersect(middle.where, guard.where, analyzer);
    middle.conditions.insert(guard.condition.get());
  }
  return middle;
}
// The first condition that holds somewhere, where no iteration is good for all.
Middle FirstMiddle(const std::vector<Guard>& guards, const IntSet& domain, const Analyzer& analyzer) {
  for (const Guard& guard : guards) {
    if (guard.value && !Intersect(guard.where, domain, analyzer).is_nothing())
      return {guard.where, {guard.condition.get()}, true};
  }
  return {IntSet::Nothing(), {}, true};
}

class ConditionDecider : public StmtExprMutator {
 public:
  explicit ConditionDecider(const Middle& middle) : middle_(middle) {}

 protected:
  Expr VisitExpr(const Expr& e) override {
    if (middle_.conditions.contains(e.get())) return IntConst(DataType::Bool(), middle_.value);
    return StmtExprMutator::VisitExpr(e);
  }

 private:
  const Middle& middle_;
};

// Chooses between the decided and the whole body in the innermost launch.
Stmt ChooseInLaunch(const AttrStmt& attr, const Expr& condition, const Middle& middle) {
  AttrStmt launch = attr;
  const AttrStmt* inner = attr.body.As<AttrStmt>();
  if (inner != nullptr && AsLaunch(*inner) != nullptr)
    launch.body = ChooseInLaunch(*inner, condition, middle);
  else
    launch.body = IfThenElse{condition, ConditionDecider(middle)(attr.body), attr.body};
  return launch;
}

// Where the middle begins and ends in the loop.
struct Cut {
  Expr begin, end;
  bool has_pre = false, has_post = false;      // Something is left before it, after it.
  bool splits_pre = true, splits_post = true;  // Which is known to be no shorter than nothing.
  Expr post_extent;
};

class LikelyPartitioner : public FactMutator {
 public:
  explicit LikelyPartitioner(const LoopPartitionOptions& options) : options_(options) {}
  PrimFunc Partition(PrimFunc func) {
    for (const ParamBuffer& param : func.buffer_map) {
      for (const Expr& extent : param.buffer->shape)
        if (IsVar(extent)) facts_.Assume(LessEqual(IntConst(extent.dtype(), 0), extent));
    }
    func.body = AgainBelow(func.body);
    return func;
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr && attr->attr_key == kHint) return VisitStmt(attr->body);
    if (attr != nullptr && AsLaunch(*attr) != nullptr) return VisitLaunch(stmt, *attr, *AsLaunch(*attr));
    const Stmt visited = FactMutator::VisitStmt(stmt);
    const Seq* seq = visited.As<Seq>();
    return seq == nullptr || visited.same_as(stmt) ? visited : MakeSeq(seq->stmts);
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (candidates_.contains(self.get())) {
      if (std::optional<Stmt> parts = TryPartition(loop)) return *parts;
    }
    const DomMap outer = hints_;
    hints_.Add(loop.loop_var, DomainOf(loop.min, loop.extent));
    Stmt visited = FactMutator::VisitFor(self, loop);
    hints_ = outer;
    return visited;
  }

 private:
  Stmt VisitLaunch(const Stmt& self, const AttrStmt& attr, const IterVar& axis) {
    if (candidates_.contains(self.get())) {
      if (std::optional<Stmt> parts = TryLaunch(attr, axis)) return *parts;
    }
    DomMap& domains = IsThread(axis) ? relax_ : hints_;
    const DomMap outer = domains;
    domains.Add(axis.var, DomainOf(IntConst(attr.value.dtype(), 0), attr.value));
    Stmt visited = FactMutator::VisitStmt(self);
    domains = outer;
    return visited;
  }
  Stmt AgainBelow(const Stmt& stmt) {
    alive_.push_back(stmt);
    CandidateSelector select(options_.partition_const_loop, hinted_, candidates_);
    select(stmt);
    return VisitStmt(stmt);
  }

  std::vector<Guard> GuardsOf(const Var& var, const IntSet& domain, const Stmt& body) const {
    DomMap hints = hints_;
    hints.Add(var, domain);
    GuardFinder finder(var, std::move(hints), relax_, hinted_.contains(var.get()));
    finder(body);
    return std::move(finder.guards);
  }
  Middle FindMiddle(const Var& var, const std::vector<Guard>& guards, const IntSet& domain) {
    Middle middle = MiddleOf(guards, domain, true, facts_.analyzer());
    if (middle.where.is_nothing()) middle = MiddleOf(guards, domain, false, facts_.analyzer());
    if (middle.where.is_nothing() && hinted_.contains(var.get()))
      middle = FirstMiddle(guards, domain, facts_.analyzer());
    return middle;
  }

  std::optional<Stmt> TryPartition(const For& loop) {
    const IntSet domain = DomainOf(loop.min, loop.extent);
    const std::vector<Guard> guards = GuardsOf(loop.loop_var, domain, loop.body);
    if (guards.empty()) return std::nullopt;
    const Middle middle = FindMiddle(loop.loop_var, guards, domain);
    if (!middle.where.is_nothing()) return Parts(loop, middle, CutOf(middle.where, loop.min, *domain.max()));
    const bool unrolls = options_.unroll_loop_with_partition_hint_no_interval && hinted_.contains(loop.loop_var.get());
    if (!unrolls) return std::nullopt;
    For unrolled = loop;
    unrolled.kind = ForKind::kUnrolled;
    unrolled.body = VisitStmt(loop.body);
    return unrolled;
  }

  Cut CutOf(const IntSet& where, const Expr& min, const Expr& max) {
    const Expr one = IntConst(max.dtype(), 1), behind = max + one;
    Cut cut{min, behind, false, false, true, true, behind};
    if (where.min()) {
      cut.begin = facts_.Simplify(*where.min());
      cut.has_pre = !facts_.CanProve(Equal(cut.begin, min));
      if (cut.has_pre) cut.splits_pre = KeepIn(cut.begin, min, behind, true);
    }
    if (where.max()) {
      cut.end = facts_.Simplify(*where.max() + one);
      cut.has_post = !facts_.CanProve(Equal(*where.max(), max));
      cut.post_extent = facts_.Simplify(max - cut.end + one);
      const bool is_after = facts_.CanProve(LessEqual(cut.begin, cut.end));
      if (cut.has_post) cut.splits_post = KeepIn(cut.end, cut.begin, behind, false);
      // An extent below 0 is none; one that begins before what comes first is too long.
      if (cut.has_post && !is_after) cut.post_extent = behind - cut.end;
    }
    return cut;
  }
  // False: the place had to be held between the two, as was not known.
  bool KeepIn(Expr& place, const Expr& min, const Expr& behind, bool is_begin) {
    const Expr after = LessEqual(min, place), before = LessEqual(place, behind);
    const bool is_after = facts_.CanProve(after), is_before = facts_.CanProve(before);
    // TVM asks no more of the place that is held on one side, and splits the part only where it sees this at once.
    const bool splits = IsConstInt(facts_.RewriteSimplify(is_begin ? after : before), 1);
    if (is_begin && !is_after) place = Max(place, min);
    if (!is_before) place = Min(place, behind);
    if (!is_begin && !is_after) place = Max(place, min);
    return splits && is_after && is_before;
  }

  Stmt Parts(const For& loop, const Middle& middle, const Cut& cut) {
    std::vector<Stmt> parts;
    const auto add = [&](const Expr& begin, const Expr& extent, const Stmt& body, bool splits) {
      const Stmt part = Part(loop, begin, extent, body);
      parts.push_back(splits ? AgainBelow(part) : part);
    };
    if (cut.has_pre) add(loop.min, cut.begin - loop.min, loop.body, cut.splits_pre);
    add(cut.begin, cut.end - cut.begin, ConditionDecider(middle)(loop.body), true);
    if (cut.has_post) add(cut.end, cut.post_extent, loop.body, cut.splits_post);
    return MakeSeq(std::move(parts));
  }
  Stmt Part(const For& loop, const Expr& begin, const Expr& extent, const Stmt& body) {
    const bool is_one = !options_.no_unroll_loop_with_extent_one && loop.annotations.empty() &&
                        facts_.CanProve(Equal(extent, IntConst(extent.dtype(), 1)));
    const ExprNode* const old = loop.loop_var.get();
    if (is_one) return Substitute(body, {{old, begin}});
    For part = loop;
    part.loop_var = loop.loop_var.CopyWithName(loop.loop_var.name());
    part.min = IntConst(begin.dtype(), 0);
    part.extent = extent;
    part.body = Substitute(body, {{old, part.loop_var + begin}});
    if (hinted_.contains(old)) hinted_.insert(part.loop_var.get());
    alive_.push_back(part);
    return part;
  }

  std::optional<Stmt> TryLaunch(const AttrStmt& attr, const IterVar& axis) {
    const Expr zero = IntConst(attr.value.dtype(), 0);
    const IntSet domain = DomainOf(zero, attr.value);
    const Simplifier::Scope inside(facts_, axis.var, Range{zero, attr.value});
    const Middle middle = FindMiddle(axis.var, GuardsOf(axis.var, domain, attr.body), domain);
    if (middle.where.is_nothing()) return std::nullopt;
    const Cut cut = CutOf(middle.where, zero, *domain.max());
    Expr condition = True();
    if (cut.has_pre) condition = LessEqual(cut.begin, axis.var);
    if (cut.has_post) condition = And(condition, Less(axis.var, cut.end));
    if (cut.has_pre || cut.has_post) return ChooseInLaunch(attr, condition, middle);
    AttrStmt decided = attr;
    decided.body = ConditionDecider(middle)(attr.body);
    return decided;
  }

  const LoopPartitionOptions options_;
  DomMap hints_, relax_;  // Of the loops and threads around.
  NodeSet hinted_;
  std::unordered_set<const StmtNode*> candidates_;
  std::vector<Stmt> alive_;  // What those belong to: an address means one node only while it lives.
};

class HintRemover : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    return attr != nullptr && attr->attr_key == kHint ? VisitStmt(attr->body) : StmtExprMutator::VisitStmt(stmt);
  }
};

}  // namespace

PrimFunc PartitionLikelyLoops(PrimFunc func, const LoopPartitionOptions& options) {
  const Stmt before = func.body;
  func = LikelyPartitioner(options).Partition(std::move(func));
  func.body = HintRemover{}(func.body);
  if (!func.body.same_as(before)) func.body = Clone(func.body);  // Parts define the same loops and buffers.
  return RemoveLikely(std::move(func));
}

}  // namespace lathe
