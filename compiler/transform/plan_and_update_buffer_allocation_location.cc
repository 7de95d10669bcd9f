#include "compiler/transform/plan_and_update_buffer_allocation_location.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "compiler/arith/dataflow.h"
#include "compiler/arith/guarded_region.h"
#include "compiler/arith/linear.h"
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
  void VisitVar(const Expr& var) override {
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

// What a function may write, by whatever name: who has an address, or looks through a view, may write there.
class ChangeCollector : public StmtExprVisitor {
 public:
  ChangingMemory memory;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const BufferStore* store = stmt.As<BufferStore>()) memory.insert(store->buffer->data.get());
    if (const DeclBuffer* other = stmt.As<DeclBuffer>()) memory.insert(other->buffer->data.get());
    if (const BlockRealize* realize = stmt.As<BlockRealize>())
      for (const MatchBufferRegion& match : realize->block->match_buffers)
        memory.insert(match.source.buffer->data.get()), memory.insert(match.buffer->data.get());
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitVar(const Expr& var) override {
    if (var.dtype().code == DataType::Code::kHandle) memory.insert(var.get());
  }
  void VisitExpr(const Expr& expr) override {
    if (const Call* call = AsCall(expr, "address_of"))
      if (const BufferLoad* load = call->args[0].As<BufferLoad>()) memory.insert(load->buffer->data.get());
    StmtExprVisitor::VisitExpr(expr);
  }
};

// How many of the first `depth` scopes are loops.
size_t NumLoops(const std::vector<Scope>& path, size_t depth) {
  return static_cast<size_t>(
      std::count_if(path.begin(), path.begin() + depth, [](const Scope& scope) { return scope.loop != nullptr; }));
}

DataflowAccess InstancesOf(const Access& access) {
  DataflowAccess instances{.region = access.region, .loops = {}, .conditions = {}};
  for (const Scope& scope : access.path)
    if (scope.loop != nullptr)
      instances.loops.push_back({scope.loop->loop_var, *scope.range, !IsConcurrent(scope.loop->kind)});
  for (const Condition& condition : access.conditions)
    instances.conditions.push_back({condition.id, condition.says, NumLoops(access.path, condition.depth)});
  for (const auto& [value, first] : access.first_steps)
    instances.conditions.push_back({.says = Equal(value, CastIndex(value.dtype(), first))});
  return instances;
}

// Every read finds its value written earlier in the same iteration of the loop that is scope `depth` - 1 of all paths.
bool IsPrivate(const Allocation& allocation, size_t depth, const Analyzer& analyzer, const ChangingMemory& changing) {
  const std::vector<Range> full = FullRegion(allocation.buffer).region;
  const std::vector<Access>& accesses = allocation.accesses;
  const auto is_private = [&](const Access& read) {
    std::vector<DataflowSource> sources;
    for (const Access& write : accesses) {
      if (!write.is_write || !write.is_known) continue;
      const auto end = std::mismatch(write.path.begin(), write.path.end(), read.path.begin(), read.path.end()).first;
      sources.push_back({.write = InstancesOf(write),
                         .num_same = NumLoops(read.path, depth),
                         .num_common = NumLoops(read.path, static_cast<size_t>(end - write.path.begin())),
                         .is_before = &write < &read});
    }
    return IsAlwaysWritten(InstancesOf(read), sources, full, analyzer, changing);
  };
  return std::all_of(accesses.begin(), accesses.end(),
                     [&](const Access& access) { return access.is_write || is_private(access); });
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

// How many scopes all accesses of the allocation and what looks at it are in.
size_t CommonDepth(const Allocation& allocation) {
  const std::vector<Scope>& path = allocation.accesses.front().path;
  size_t common = path.size();
  const auto meet = [&](const std::vector<Scope>& other) {
    size_t same = 0;
    while (same < std::min(common, other.size()) && other[same] == path[same]) ++same;
    common = same;
  };
  for (const Access& access : allocation.accesses) meet(access.path);
  for (const std::vector<Scope>& view_path : allocation.view_paths) meet(view_path);
  return common;
}

// How many scopes of the common path the allocation may enter. From inside, as what is private in an inner loop is so
// in those around.
size_t FindDepth(const Allocation& allocation, const PrimFunc& func, const ChangingMemory& changing) {
  const size_t home = allocation.path.size();
  if (allocation.accesses.empty()) return home;
  Analyzer analyzer;
  AssumeShapes(func, analyzer);
  const std::vector<Scope>& path = allocation.accesses.front().path;
  size_t open = CommonDepth(allocation);  // All scopes from `depth` to here only have to be entered.
  for (size_t depth = open; depth > home; --depth) {
    const For* loop = path[depth - 1].loop;
    if (loop == nullptr) continue;
    if (IsPrivate(allocation, depth, analyzer, changing)) return open;
    if (!HandsNothingOn(*loop, allocation.buffer) && !IsSharedBy(*loop, allocation.buffer)) open = depth - 1;
  }
  return open;
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
  ChangeCollector changes;
  changes(func.body);
  Places places;
  for (const Allocation& allocation : collector.allocations) {
    const size_t depth = FindDepth(allocation, func, changes.memory);
    const std::vector<Scope>& path =
        depth == allocation.path.size() ? allocation.path : allocation.accesses.front().path;
    places[path[depth - 1].id].push_back(allocation.buffer);
  }
  func.body = AllocationMover(places)(func.body);
  return func;
}

}  // namespace lathe
