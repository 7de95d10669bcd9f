#include "compiler/transform/plan_and_update_buffer_allocation_location.h"

#include <cstdlib>
#include <unordered_set>
#include <utility>

#include "compiler/arith/guarded_region.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/linear_equation.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"

namespace lathe {
namespace {

// A loop or block around an access.
struct Scope {
  const void* id;                             // StmtNode of a loop, BlockNode of a block.
  const For* loop = nullptr;                  // nullptr: a block.
  std::optional<Range> range = std::nullopt;  // Of a loop, in terms of loop variables.
  bool operator==(const Scope& other) const { return id == other.id; }
};

// What a block or branch around an access asks, below its first `depth` scopes.
struct Condition {
  int id;  // Of this block or branch alone.
  Expr says;
  size_t depth;
};

// One use of an allocated buffer, in order of the text. Everything is in terms of loop variables.
struct Access {
  bool is_write = false;
  bool is_known = true;               // False: where it happens, or whether at all, cannot be said.
  std::vector<Range> region;          // An element, or what the block declares of an access by address.
  std::vector<Condition> conditions;  // Outermost first.
  // A write of an init happens where the first are equal to the second.
  std::vector<std::pair<Expr, Expr>> first_steps;
  std::vector<Scope> path;  // Outermost first.
};

struct Allocation {
  Buffer buffer;
  std::vector<Scope> path;  // Of the block that allocates, itself included.
  std::vector<Access> accesses;
  // Of the blocks that look at it through a view or declare it, themselves not included.
  std::vector<std::vector<Scope>> view_paths;
};

class AccessCollector : public StmtExprVisitor {
 public:
  std::vector<Allocation> allocations;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    VisitExpr(loop.min);
    VisitExpr(loop.extent);
    path_.push_back({self.get(), &loop, Range{Expand(loop.min), Expand(loop.extent)}});
    VisitStmt(loop.body);
    path_.pop_back();
  }
  void VisitStmt(const Stmt& stmt) override {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VisitIf(*branch);
    if (const LetStmt* let = stmt.As<LetStmt>()) {
      values_.insert_or_assign(let->var.get(), Expand(let->value));
      PostOrderVisit(let->value, [this](const Expr& e) {
        if (IsVar(e)) NoteEscape(Var(e));
      });
    }
    if (const DeclBuffer* other = stmt.As<DeclBuffer>()) NoteEscape(other->buffer->data);
    const While* repeat = stmt.As<While>();
    num_unknown_ += repeat != nullptr;
    StmtExprVisitor::VisitStmt(stmt);
    num_unknown_ -= repeat != nullptr;
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    const BlockNode& block = *realize.block;
    for (const Expr& value : realize.iter_values) VisitExpr(value);
    VisitExpr(realize.predicate);
    const Expr predicate = Expand(realize.predicate);
    std::vector<std::pair<Expr, Expr>> steps;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Expr value = Expand(realize.iter_values[i]);
      values_.insert_or_assign(block.iter_vars[i].var.get(), value);
      if (block.iter_vars[i].kind == IterKind::kReduce)
        steps.emplace_back(value, Expand(block.iter_vars[i].domain.min));
    }
    NoteLoadsInRegions(block);
    const std::vector<size_t> before = AccessesOf(block);
    path_.push_back({realize.block.get()});
    const BlockNode* outer = std::exchange(block_, &block);
    VisitUnder(predicate, [&] { VisitInside(block, std::move(steps)); });
    block_ = outer;
    path_.pop_back();
    NoteMentions(block, before);
  }
  void VisitVar(const Var& var) override {
    if (const auto found = by_data_.find(var.get()); found != by_data_.end() && !NoteByAddress(found->second))
      NoteRegion(FullRegion(found->second), /*is_write=*/false);  // Who has the address may read all of it.
  }
  void VisitExpr(const Expr& expr) override {
    if (const Call* call = AsCall(expr, "address_of")) return VisitAddress(call->args[0]);
    if (const Call* call = AsCall(expr, "if_then_else")) return VisitChoice(*call);
    if (const Call* call = AsCall(expr, "tvm_thread_allreduce")) return VisitAllReduce(*call);
    StmtExprVisitor::VisitExpr(expr);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    StmtExprVisitor::VisitBufferStore(self, store);
    Note(store.buffer, store.indices, /*is_write=*/true);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    StmtExprVisitor::VisitBufferLoad(self, load);
    Note(load.buffer, load.indices, /*is_write=*/false);
  }

 private:
  // A view and what it shows, in terms of loop variables.
  struct View {
    Buffer source;
    std::vector<Expr> mins;
  };

  Expr Expand(const Expr& e) const { return Substitute(e, values_); }

  template <typename F>
  void ForEachMention(const BlockNode& block, F f) {
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions)
        if (const auto found = positions_.find(region.buffer.get()); found != positions_.end()) f(found->second);
    }
  }
  // How often what a block declares has been touched so far.
  std::vector<size_t> AccessesOf(const BlockNode& block) {
    std::vector<size_t> counts;
    ForEachMention(block, [&](size_t place) { counts.push_back(allocations[place].accesses.size()); });
    return counts;
  }
  // What a block declares may name memory that says how much it touches: around the block.
  void NoteLoadsInRegions(const BlockNode& block) {
    const auto note = [&](const Expr& part) {
      const BufferLoad* load = part.As<BufferLoad>();
      const auto found = load == nullptr ? positions_.end() : positions_.find(load->buffer.get());
      if (found != positions_.end()) allocations[found->second].view_paths.push_back(path_);
    };
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        for (const Range& range : region.region) {
          PostOrderVisit(range.min, note);
          PostOrderVisit(range.extent, note);
        }
      }
    }
  }
  // What a block declares and does not touch is there nevertheless.
  void NoteMentions(const BlockNode& block, const std::vector<size_t>& before) {
    size_t i = 0;
    ForEachMention(block, [&](size_t place) {
      if (i < before.size() && allocations[place].accesses.size() == before[i])
        allocations[place].view_paths.push_back(path_);
      ++i;
    });
  }
  void VisitInside(const BlockNode& block, std::vector<std::pair<Expr, Expr>> steps) {
    for (const Buffer& buffer : block.alloc_buffers) {
      positions_[buffer.get()] = allocations.size();
      by_data_.insert_or_assign(buffer->data.get(), buffer);
      allocations.push_back({buffer, path_, {}});
    }
    for (const MatchBufferRegion& match : block.match_buffers) AddView(match);
    if (block.init) {
      first_steps_.swap(steps);
      VisitStmt(*block.init);
      first_steps_.swap(steps);
    }
    VisitStmt(block.body);
  }
  // What a branch says that LowerInitBlock has made of an init: if vk == 0; nothing if it says something else.
  std::vector<std::pair<Expr, Expr>> FirstStepsOf(const IfThenElse& branch) const {
    std::vector<std::pair<Expr, Expr>> steps;
    if (block_ == nullptr || branch.else_case) return {};
    for (const Expr& part : ConjunctsOf(branch.condition)) {
      const Binary* op = part.As<Binary>();
      if (op == nullptr || op->op != BinaryOp::kEQ) return {};
      const auto is_first = [&](const IterVar& iter) {
        return iter.kind == IterKind::kReduce && iter.var.same_as(op->a) && SameExpr(iter.domain.min, op->b);
      };
      if (std::none_of(block_->iter_vars.begin(), block_->iter_vars.end(), is_first)) return {};
      steps.emplace_back(Expand(op->a), Expand(op->b));
    }
    return steps;
  }
  void VisitIf(const IfThenElse& branch) {
    VisitExpr(branch.condition);
    if (auto steps = FirstStepsOf(branch); !steps.empty() && first_steps_.empty()) {
      first_steps_.swap(steps);
      VisitStmt(branch.then_case);
      first_steps_.swap(steps);
      return;
    }
    const Expr condition = Expand(branch.condition);
    VisitUnder(condition, [&] { VisitStmt(branch.then_case); });
    if (branch.else_case) VisitUnder(MakeNot(condition), [&] { VisitStmt(*branch.else_case); });
  }
  template <typename F>
  void VisitUnder(const Expr& condition, F visit) {
    conditions_.push_back({num_conditions_++, condition, path_.size()});
    visit();
    conditions_.pop_back();
  }
  void AddView(const MatchBufferRegion& match) {
    View view{match.source.buffer, {}};
    for (const Range& range : match.source.region) {
      VisitExpr(range.min);  // Memory may say which part it is.
      VisitExpr(range.extent);
      view.mins.push_back(Expand(range.min));
    }
    if (const auto found = positions_.find(match.source.buffer.get()); found != positions_.end())
      allocations[found->second].view_paths.emplace_back(path_.begin(), path_.end() - 1);
    views_.insert_or_assign(match.buffer.get(), std::move(view));
    by_data_.insert_or_assign(match.buffer->data.get(), match.buffer);
  }
  void Note(const Buffer& buffer, const std::vector<Expr>& indices, bool is_write) {
    std::vector<Range> element;
    for (const Expr& index : indices) element.push_back({Expand(index), IntConst(index.dtype().element(), 1)});
    NoteRegion({buffer, std::move(element)}, is_write);
  }
  void VisitChoice(const Call& choice) {
    VisitExpr(choice.args[0]);
    const Expr condition = Expand(choice.args[0]);
    VisitUnder(condition, [&] { VisitExpr(choice.args[1]); });
    VisitUnder(MakeNot(condition), [&] { VisitExpr(choice.args[2]); });
  }
  // How many values, these, a condition, as many results by address, the threads.
  void VisitAllReduce(const Call& reduce) {
    const int64_t* num_values = AsIntConst(reduce.args[0]);
    const size_t results = num_values == nullptr ? reduce.args.size() : static_cast<size_t>(*num_values) + 2;
    for (size_t i = 0; i < reduce.args.size(); ++i)
      i < results ? VisitExpr(reduce.args[i]) : VisitAddress(reduce.args[i]);
  }
  // Of `address`, a load, nothing is read here but its indices.
  void VisitAddress(const Expr& address) {
    const BufferLoad* load = address.As<BufferLoad>();
    if (load == nullptr) return VisitExpr(address);
    for (const Expr& index : load->indices) VisitExpr(index);
    if (!NoteByAddress(load->buffer)) Note(load->buffer, load->indices, /*is_write=*/false);
  }
  // A name for the memory, used wherever it is known.
  void NoteEscape(const Var& data) {
    if (const auto found = by_data_.find(data.get()); found != by_data_.end())
      NoteRegion(FullRegion(found->second), /*is_write=*/false);
  }
  // The innermost block takes the buffer's address: it reads and writes what it declares, a reduction what it updates,
  // too. False: it declares nothing.
  bool NoteByAddress(const Buffer& buffer) {
    if (block_ == nullptr) return false;
    const Buffer memory = Shown({buffer, {}}).buffer;
    const auto is_reduce = [](const IterVar& iter) { return iter.kind == IterKind::kReduce; };
    const bool updates = std::any_of(block_->iter_vars.begin(), block_->iter_vars.end(), is_reduce);
    bool is_declared = false;
    const auto note = [&](const std::vector<BufferRegion>& regions, bool is_write) {
      for (const BufferRegion& region : regions) {
        BufferRegion shown = Shown(Expanded(region));
        if (!shown.buffer.same_as(memory)) continue;
        is_declared = true;
        NoteRegion(std::move(shown), is_write);
      }
    };
    note(block_->reads, false);
    if (updates) note(block_->writes, false);
    note(block_->writes, true);
    return is_declared;
  }
  BufferRegion Expanded(BufferRegion region) const {
    for (Range& range : region.region) range = {Expand(range.min), Expand(range.extent)};
    return region;
  }
  // The memory behind views. A view may lack leading dimensions.
  BufferRegion Shown(BufferRegion region) const {
    for (auto view = views_.find(region.buffer.get()); view != views_.end(); view = views_.find(region.buffer.get())) {
      const std::vector<Expr>& mins = view->second.mins;
      std::vector<Range> shown;
      const size_t missing = mins.size() - std::min(mins.size(), region.region.size());
      for (size_t d = 0; d < missing; ++d) shown.push_back({mins[d], IntConst(mins[d].dtype(), 1)});
      for (size_t d = missing; d < mins.size(); ++d) {
        const Range& part = region.region[d - missing];
        shown.push_back({mins[d] + part.min, part.extent});
      }
      region = {view->second.source, std::move(shown)};
    }
    return region;
  }
  // What `region`, in terms of loop variables, takes of an allocation.
  void NoteRegion(BufferRegion region, bool is_write) {
    region = Shown(std::move(region));
    const auto found = positions_.find(region.buffer.get());
    if (found == positions_.end()) return;
    std::optional<std::vector<Range>> declared;  // Asked for where memory says which element.
    const std::vector<Range> full = FullRegion(region.buffer).region;
    bool is_known = num_unknown_ == 0 || !is_write;
    for (size_t d = 0; d < full.size(); ++d) {
      Range& range = region.region[d];
      if (range.min.dtype().is_scalar() && !HasLoad(range.min) && !HasLoad(range.extent)) continue;
      is_known = false;
      if (!declared) declared = is_write ? std::vector<Range>{} : DeclaredRead(region.buffer);
      range = d < declared->size() ? (*declared)[d] : full[d];
    }
    allocations[found->second].accesses.push_back(
        {is_write, is_known, std::move(region.region), conditions_, first_steps_, path_});
  }
  // What the innermost block says that it reads of the buffer, if it says so once and without memory.
  std::vector<Range> DeclaredRead(const Buffer& buffer) const {
    std::vector<Range> declared;
    if (block_ == nullptr) return declared;
    for (const BufferRegion& read : block_->reads) {
      if (!read.buffer.same_as(buffer)) continue;
      if (!declared.empty()) return {};
      for (const Range& range : read.region) declared.push_back({Expand(range.min), Expand(range.extent)});
    }
    const auto is_loaded = [](const Range& range) { return HasLoad(range.min) || HasLoad(range.extent); };
    return std::any_of(declared.begin(), declared.end(), is_loaded) ? std::vector<Range>{} : declared;
  }

  std::vector<Scope> path_;
  VarMap values_;                     // Of iter vars and lets.
  const BlockNode* block_ = nullptr;  // The innermost.
  std::vector<Condition> conditions_;
  int num_conditions_ = 0;  // So far.
  std::vector<std::pair<Expr, Expr>> first_steps_;
  int num_unknown_ = 0;  // Conditions around that nothing is known about.
  std::unordered_map<const BufferNode*, size_t> positions_;
  std::unordered_map<const ExprNode*, Buffer> by_data_;  // Allocations and views.
  std::unordered_map<const BufferNode*, View> views_;
};

// Loops of `path` below its first `depth` scopes, outermost first, with values put in for variables.
IterDomain InnerLoops(const std::vector<Scope>& path, size_t depth, const VarMap& values) {
  IterDomain loops;
  for (size_t d = depth; d < path.size(); ++d) {
    if (path[d].loop == nullptr) continue;
    const Range& range = *path[d].range;
    loops.emplace_back(path[d].loop->loop_var, Range{Substitute(range.min, values), Substitute(range.extent, values)});
  }
  return loops;
}

// All that the blocks and branches around an access ask, but for the outermost `count`.
Expr PredicateOf(const Access& access, size_t count) {
  Expr predicate = True();
  for (size_t i = count; i < access.conditions.size(); ++i) predicate = And(predicate, access.conditions[i].says);
  return predicate;
}

bool Feeds(const Var& loop_var, const Access& write) {
  return std::any_of(write.first_steps.begin(), write.first_steps.end(),
                     [&](const auto& step) { return UsesVar(step.first, loop_var.get()); });
}

// What a write and a read have around them.
struct Meeting {
  size_t common;  // Scopes whose iteration is the same for both; but what an init writes in the first iteration of a
                  // loop is there in all later ones.
  VarMap first;   // Those loops and their first values.
  size_t shared;  // Conditions, the outermost ones, that both go by in one evaluation.
};

// In one iteration of the loop that is scope `depth` - 1. Of `begun`, a loop around both whose iterations follow each
// other, too, counts what the write does in the first. nullopt: a later iteration may reach what none made first.
std::optional<Meeting> Meet(const Access& write, const Access& read, size_t depth, const For* begun = nullptr) {
  Meeting meeting{.common = depth, .first = {}, .shared = 0};
  size_t& common = meeting.common;
  while (common < std::min(write.path.size(), read.path.size()) && write.path[common] == read.path[common]) ++common;
  size_t steady = common;  // The scopes of which both are in the same iteration.
  for (size_t d = depth; d < write.path.size(); ++d) {
    if (write.path[d].loop == nullptr) continue;
    const Range& range = *write.path[d].range;
    const auto is_fed = [&](const ExprNode* var) { return meeting.first.contains(var); };
    if (d < common && (UsesVar(range.min, is_fed) || UsesVar(range.extent, is_fed))) return std::nullopt;
    const Var& var = write.path[d].loop->loop_var;
    if (write.path[d].loop != begun && !Feeds(var, write)) continue;
    meeting.first.emplace(var.get(), Substitute(range.min, meeting.first));
    steady = std::min(steady, d);
  }
  const auto is_shared = [&](const Condition& mine, const Condition& other) {
    return mine.id == other.id && mine.depth <= steady;
  };
  const std::vector<Condition>&of_write = write.conditions, &of_read = read.conditions;
  const auto end = std::mismatch(of_write.begin(), of_write.end(), of_read.begin(), of_read.end(), is_shared).first;
  meeting.shared = static_cast<size_t>(end - of_write.begin());
  return meeting;
}

// What an access touches in one iteration of its first `common` scopes, where its outermost `num_known` conditions
// hold, with values put in for variables.
GuardedAccess WithValues(const Access& access, size_t common, size_t num_known, const VarMap& values) {
  GuardedAccess guarded{access.region, InnerLoops(access.path, common, values),
                        Substitute(PredicateOf(access, num_known), values)};
  for (Range& range : guarded.region) range = {Substitute(range.min, values), Substitute(range.extent, values)};
  return guarded;
}

// What an init writes where loops of its own feed its reduction, as those do into which it was fused: elements and
// steps are combined in all ways, so that every element has a first step. nullopt: that is not so, or not known.
std::optional<GuardedAccess> WithEveryFirstStep(const Access& write, const Meeting& meeting, const Analyzer& analyzer) {
  VarMap values = meeting.first;
  for (size_t d = meeting.common; d < write.path.size(); ++d)
    if (write.path[d].loop != nullptr) values.erase(write.path[d].loop->loop_var.get());
  GuardedAccess access = WithValues(write, meeting.common, meeting.shared, values);
  std::vector<Expr> indices;
  for (const auto& step : write.first_steps) indices.push_back(Substitute(step.first, values));
  for (const Range& range : access.region) indices.push_back(range.min);
  const auto is_element = [](const Range& range) { return IsConstInt(range.extent, 1); };
  if (UsesAny(access.predicate, access.loops) || !std::all_of(access.region.begin(), access.region.end(), is_element))
    return std::nullopt;
  IterDomain used = access.loops;
  std::erase_if(used, [&](const auto& loop) {
    return std::none_of(indices.begin(), indices.end(), [&](const Expr& e) { return UsesVar(e, loop.first.get()); });
  });
  const auto map = DetectIterMap(indices, used, True(), {.level = IterMapLevel::kBijective}, analyzer);
  if (!map.ok()) return std::nullopt;
  for (size_t i = 0; i < write.first_steps.size(); ++i)
    if (!analyzer.CanProveEqual(map->indices[i].base, write.first_steps[i].second)) return std::nullopt;
  return access;
}

// What a write touches for certain where it meets a read. An init counts only where the first step of its reduction is
// the first iteration of loops around it. `analyzer` knows the common loops.
std::optional<GuardedRegion> WrittenForCertain(const Access& write, const Meeting& meeting, const Analyzer& analyzer) {
  if (!write.is_known) return std::nullopt;
  const bool is_first = std::all_of(write.first_steps.begin(), write.first_steps.end(), [&](const auto& step) {
    return analyzer.CanProveEqual(Substitute(step.first, meeting.first), step.second);
  });
  const std::optional<GuardedAccess> access = is_first
                                                  ? WithValues(write, meeting.common, meeting.shared, meeting.first)
                                                  : WithEveryFirstStep(write, meeting, analyzer);
  return access ? TouchedForCertain(*access, analyzer) : std::nullopt;
}

// Without loops that run once.
void PutInUnitLoops(GuardedAccess& access) {
  VarMap only;
  for (const auto& [var, range] : access.loops)
    if (IsConstInt(range.extent, 1)) only.emplace(var.get(), range.min);
  if (only.empty()) return;
  const Analyzer analyzer;
  const auto put_in = [&](const Expr& e) { return analyzer.Simplify(Substitute(e, only)); };
  for (Range& range : access.region) range = {put_in(range.min), put_in(range.extent)};
  access.predicate = put_in(access.predicate);
}

// A loop from `range` as far as `conjunct`, a < b, a <= b or a == b, lets it run.
void CutLoop(const Var& var, const Binary& conjunct, Range& range) {
  const int64_t *min = AsIntConst(range.min), *extent = AsIntConst(range.extent);
  const int64_t *low = AsIntConst(conjunct.a), *high = AsIntConst(conjunct.b);
  const auto is_far = [](const int64_t* number) { return number != nullptr && std::abs(*number) > INT32_MAX; };
  if (min == nullptr || extent == nullptr || is_far(low) || is_far(high)) return;
  const int64_t is_strict = conjunct.op == BinaryOp::kLT;
  int64_t first = *min, end = *min + *extent;
  const bool is_equation = conjunct.op == BinaryOp::kEQ;
  const auto cut = [&](const Expr& side, const int64_t* other, bool from_below) {
    if (other == nullptr || !var.same_as(side)) return;
    if (from_below || is_equation) first = std::max(first, *other + is_strict);
    if (!from_below || is_equation) end = std::min(end, *other + 1 - is_strict);
  };
  cut(conjunct.b, low, true);
  cut(conjunct.a, high, false);
  range = {IntConst(range.min.dtype(), first), IntConst(range.extent.dtype(), std::max<int64_t>(0, end - first))};
}

// With loops that begin and stop where the predicate says 1 <= j and j < 2.
GuardedAccess Narrowed(GuardedAccess access, const Analyzer& analyzer) {
  PutInUnitLoops(access);
  Analyzer inside = Analyzer::Under(analyzer);
  for (const auto& [var, range] : access.loops) inside.Bind(var, range);
  access.predicate = inside.Simplify(access.predicate);
  for (const Expr& conjunct : ConjunctsOf(access.predicate)) {
    const Binary* bound = conjunct.As<Binary>();
    if (bound == nullptr || (bound->op != BinaryOp::kLT && bound->op != BinaryOp::kLE && bound->op != BinaryOp::kEQ))
      continue;
    for (auto& [var, range] : access.loops) CutLoop(var, *bound, range);
  }
  PutInUnitLoops(access);
  return access;
}

// What a read touches at most in one iteration of its first `common` scopes, with values put in for variables.
GuardedRegion WantedBy(const Access& read, size_t common, const VarMap& values, const std::vector<Range>& full,
                       const Analyzer& analyzer) {
  return TouchedAtMost(Narrowed(WithValues(read, common, 0, values), analyzer), full, analyzer);
}

// Knows the loops around `access` from scope `depth` to scope `end`.
Analyzer KnowingLoops(const Access& access, size_t depth, size_t end, const Analyzer& outer) {
  Analyzer analyzer = Analyzer::Under(outer);
  for (size_t d = depth; d < end; ++d)
    if (access.path[d].loop != nullptr) analyzer.Bind(access.path[d].loop->loop_var, *access.path[d].range);
  return analyzer;
}

// Where what is around a read says i_0 * 3 + i_1 < 4 of loops around the write, too, that sum as a number of its own:
// i_1 in terms of it, with its range. There is no read where the condition fails.
struct NumberOfLoops {
  Var loop, number;
  Expr value;
  Range range;
};

std::optional<NumberOfLoops> NumberIn(const Expr& condition, const std::vector<Var>& loops, const Analyzer& analyzer) {
  const Binary* less = condition.As<Binary>();
  const int64_t* end = less != nullptr && less->op == BinaryOp::kLT ? AsIntConst(less->b) : nullptr;
  if (end == nullptr || HasLoad(less->a) || !analyzer.CanProveGreaterEqual(less->a, 0)) return std::nullopt;
  const std::vector<Expr> scales = DetectLinearEquation(less->a, loops);
  for (size_t i = 0; i + 1 < scales.size(); ++i) {
    if (!IsConstInt(scales[i], 1) || less->a.same_as(loops[i]) || loops[i].dtype() != less->a.dtype()) continue;
    const DataType type = loops[i].dtype();
    const Var number("x", type);
    const Expr rest = Substitute(less->a, {{loops[i].get(), IntConst(type, 0)}});
    return NumberOfLoops{loops[i], number, number - rest, Range{IntConst(type, 0), IntConst(type, *end)}};
  }
  return std::nullopt;
}

// Whether the read finds its value written by `write` where they meet.
bool ProvidesThere(const Access& write, const Access& read, const Meeting& meeting, size_t depth,
                   const std::vector<Range>& full, const Analyzer& outer) {
  const Analyzer analyzer = KnowingLoops(write, depth, meeting.common, outer);
  const auto provides = [&](const Meeting& there, const VarMap& values, const Analyzer& known) {
    const std::optional<GuardedRegion> written = WrittenForCertain(write, there, known);
    return written && Covers(*written, WantedBy(read, there.common, values, full, known), full, known);
  };
  if (provides(meeting, {}, analyzer)) return true;
  std::vector<Var> loops;
  for (size_t d = 0; d < meeting.common; ++d)
    if (write.path[d].loop != nullptr && !meeting.first.contains(write.path[d].loop->loop_var.get()))
      loops.push_back(write.path[d].loop->loop_var);
  const std::vector<Expr> conjuncts = ConjunctsOf(PredicateOf(read, 0));
  return std::any_of(conjuncts.begin(), conjuncts.end(), [&](const Expr& condition) {
    const std::optional<NumberOfLoops> number = NumberIn(condition, loops, analyzer);
    if (!number) return false;
    Meeting there = meeting;
    there.first.emplace(number->loop.get(), number->value);
    Analyzer known = Analyzer::Under(analyzer);
    known.Bind(number->number, number->range);
    return provides(there, {{number->loop.get(), number->value}}, known);
  });
}

// Whether `read` is what an update reads of its own init, whose every element begins in the same iteration of the loop
// that is scope `depth` - 1: the steps of an element follow each other as their digits count.
bool ReadsOwnInit(const Access& write, const Access& read, size_t depth, const Analyzer& outer) {
  const auto is_same = [](const Range& a, const Range& b) { return SameExpr(a.min, b.min); };
  if (write.first_steps.empty() || write.path != read.path || write.region.size() != read.region.size() ||
      !std::equal(write.region.begin(), write.region.end(), read.region.begin(), is_same))
    return false;
  Meeting meeting{.common = depth, .first = {}, .shared = 0};
  for (const Condition& condition : write.conditions) meeting.shared += condition.depth <= depth;
  return write.is_known && WithEveryFirstStep(write, meeting, outer).has_value();
}

// Whether the read finds its value written by `write`, which stands before it, in the same iteration of the loop that
// is scope `depth` - 1 of both paths: in the same iterations of those inside, or, as what is rolled, in the first of
// one of them, in which it writes more than later.
bool Provides(const Access& write, const Access& read, size_t depth, const std::vector<Range>& full,
              const Analyzer& outer) {
  const std::optional<Meeting> meeting = write.is_write ? Meet(write, read, depth) : std::nullopt;
  if (!meeting) return false;
  if (ProvidesThere(write, read, *meeting, depth, full, outer)) return true;
  if (ReadsOwnInit(write, read, depth, outer)) return true;
  if (write.conditions.empty()) return false;
  for (size_t d = depth; d < meeting->common; ++d) {
    const For* loop = write.path[d].loop;
    if (loop == nullptr || loop->kind != ForKind::kSerial) continue;
    const std::optional<Meeting> first = Meet(write, read, depth, loop);
    if (first && ProvidesThere(write, read, *first, depth, full, outer)) return true;
  }
  return false;
}

// Puts the box `b` to `a`, which it lies beside in one dimension; whether it does.
bool JoinBox(std::vector<Range>& a, const std::vector<Range>& b, const Analyzer& analyzer) {
  std::optional<size_t> beside;
  for (size_t d = 0; d < a.size(); ++d) {
    const bool is_same = analyzer.CanProveEqual(a[d].min, b[d].min) && analyzer.CanProveEqual(a[d].extent, b[d].extent);
    if (!is_same && std::exchange(beside, d)) return false;
  }
  if (!beside) return true;
  Range& range = a[*beside];
  const Range& other = b[*beside];
  const bool is_before = analyzer.CanProveEqual(other.min + other.extent, range.min);
  if (!is_before && !analyzer.CanProveEqual(range.min + range.extent, other.min)) return false;
  if (is_before) range.min = other.min;
  range.extent = analyzer.Simplify(range.extent + other.extent);
  return true;
}

// Whether several writes, none of them alone, provide the read: the parts of a nest that was partitioned.
bool ProvideTogether(std::vector<Access>::const_iterator first, std::vector<Access>::const_iterator read, size_t depth,
                     const std::vector<Range>& full, const Analyzer& outer) {
  std::optional<size_t> common;
  std::vector<std::vector<Range>> boxes;
  const auto is_uncut = [](const GuardedRegion& region) {
    const auto is_none = [](const std::vector<Expr>& guards) { return guards.empty(); };
    return region.conditions.empty() && std::all_of(region.from.begin(), region.from.end(), is_none) &&
           std::all_of(region.below.begin(), region.below.end(), is_none);
  };
  for (auto write = first; write != read; ++write) {
    const std::optional<Meeting> here = write->is_write ? Meet(*write, *read, depth) : std::nullopt;
    if (!here || here->common != common.value_or(here->common)) continue;
    const auto written = WrittenForCertain(*write, *here, KnowingLoops(*write, depth, here->common, outer));
    if (!written || !is_uncut(*written)) continue;
    common = here->common;
    boxes.push_back(written->box);
  }
  if (boxes.size() < 2) return false;
  const Analyzer analyzer = KnowingLoops(*read, depth, *common, outer);
  for (size_t i = 1; i < boxes.size(); ++i) JoinBox(boxes[0], boxes[i], analyzer);
  return Covers(WholeBox(boxes[0]), WantedBy(*read, *common, {}, full, analyzer), full, analyzer);
}

// Every read finds its value written earlier in the same iteration of the loop that is scope `depth` - 1 of all paths.
bool IsPrivate(const Allocation& allocation, size_t depth, const Analyzer& analyzer) {
  const std::vector<Range> full = FullRegion(allocation.buffer).region;
  const std::vector<Access>& accesses = allocation.accesses;
  for (auto read = accesses.begin(); read != accesses.end(); ++read) {
    const auto provides = [&](const Access& write) { return Provides(write, *read, depth, full, analyzer); };
    if (read->is_write || std::any_of(accesses.begin(), read, provides)) continue;
    if (!ProvideTogether(accesses.begin(), read, depth, full, analyzer)) return false;
  }
  return true;
}

// Memory of a block of threads is one for all of them, wherever in the loops over them it is allocated.
bool IsSharedBy(const For& loop, const Buffer& buffer) {
  return loop.kind == ForKind::kThreadBinding && loop.thread.starts_with("threadIdx") &&
         buffer->scope.starts_with("shared");
}

// Iterations that run beside each other hand nothing to each other: who reads there wrote there. Threads of a block
// may, but not by memory that is a thread's or, as fragments are, a warp's own.
bool HandsNothingOn(const For& loop, const Buffer& buffer) {
  const bool is_own = buffer->scope == "local" || buffer->scope.starts_with("wmma.");
  const bool is_apart = loop.kind == ForKind::kThreadBinding && (is_own || loop.thread.starts_with("blockIdx"));
  return is_apart || loop.kind == ForKind::kParallel || loop.kind == ForKind::kVectorized || IsConstInt(loop.extent, 1);
}

// How many scopes of the common path the allocation may enter.
size_t FindDepth(const Allocation& allocation, const PrimFunc& func) {
  const size_t home = allocation.path.size();
  Analyzer analyzer;  // Knows the loops that all accesses are in.
  AssumeShapes(func, analyzer);
  const auto enter = [&](const Scope& scope) {
    if (scope.loop != nullptr) analyzer.Bind(scope.loop->loop_var, *scope.range);
  };
  for (const Scope& scope : allocation.path) enter(scope);
  if (allocation.accesses.empty()) return home;
  const std::vector<Scope>& path = allocation.accesses.front().path;
  size_t common = path.size();
  const auto meet = [&](const std::vector<Scope>& other) {
    size_t same = 0;
    while (same < std::min(common, other.size()) && other[same] == path[same]) ++same;
    common = same;
  };
  for (const Access& access : allocation.accesses) meet(access.path);
  for (const std::vector<Scope>& view_path : allocation.view_paths) meet(view_path);
  size_t depth = home;
  bool is_private = true;  // In the scopes so far; shown of an inner loop, it holds for those around, too.
  for (size_t d = home; d < common; ++d) {
    enter(path[d]);
    if (const For* loop = path[d].loop; loop != nullptr) {
      const bool is_open = HandsNothingOn(*loop, allocation.buffer) || IsSharedBy(*loop, allocation.buffer);
      is_private = (is_private && is_open) || IsPrivate(allocation, d + 1, analyzer);
    }
    if (is_private) depth = d + 1;
  }
  return depth;
}

using Places = std::unordered_map<const void*, std::vector<Buffer>>;  // Scope -> what lives in it.

class AllocationMover : public StmtExprMutator {
 public:
  explicit AllocationMover(const Places& places) : places_(places) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    const std::vector<Buffer> here = BuffersOf(self.get());
    if (here.empty()) return visited;
    For copy = *visited.As<For>();
    BlockNode block{.name = "", .body = copy.body};
    block.alloc_buffers = here;
    RecomputeRegions(block);
    copy.body = BlockRealize{{}, True(), Block(std::move(block))};
    return copy;
  }
  Block VisitBlock(const Block& self) override {
    Block block = StmtExprMutator::VisitBlock(self);
    const std::vector<Buffer> here = BuffersOf(self.get());
    if (!here.empty() || !self->alloc_buffers.empty()) block.Mutable().alloc_buffers = here;
    const auto is_inside = [this](const BufferRegion& region) { return inside_.count(region.buffer.get()) != 0; };
    if (std::any_of(block->reads.begin(), block->reads.end(), is_inside) ||
        std::any_of(block->writes.begin(), block->writes.end(), is_inside)) {
      std::erase_if(block.Mutable().reads, is_inside);
      std::erase_if(block.Mutable().writes, is_inside);
    }
    return block;
  }

 private:
  std::vector<Buffer> BuffersOf(const void* scope) {
    const auto found = places_.find(scope);
    if (found == places_.end()) return {};
    for (const Buffer& buffer : found->second) inside_.insert(buffer.get());
    return found->second;
  }

  const Places& places_;
  std::unordered_set<const BufferNode*> inside_;  // Allocated by what has been visited: nobody around it names them.
};

}  // namespace

PrimFunc PlanAndUpdateBufferAllocationLocation(PrimFunc func) {
  AccessCollector collector;
  collector(func.body);
  Places places;
  for (const Allocation& allocation : collector.allocations) {
    const size_t depth = FindDepth(allocation, func);
    const std::vector<Scope>& path =
        depth == allocation.path.size() ? allocation.path : allocation.accesses.front().path;
    places[path[depth - 1].id].push_back(allocation.buffer);
  }
  func.body = AllocationMover(places)(func.body);
  return func;
}

}  // namespace lathe
