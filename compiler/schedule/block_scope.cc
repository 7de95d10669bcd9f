#include "compiler/schedule/block_scope.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/schedule.h"

namespace lathe {

namespace {

class BodyTouches : public StmtExprVisitor, public TouchedBuffers {
 protected:
  void VisitBufferDef(const Buffer& buffer) override { own_.insert(buffer->data.get()); }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    VisitChildren(self);
    if (!own_.contains(load.buffer->data.get())) loaded.push_back(load.buffer);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    VisitChildren(self);
    if (!own_.contains(store.buffer->data.get())) stored.push_back(store.buffer);
  }
  void VisitBlock(const Block& block) override {  // What a view reaches is what its block says of the source.
    StmtExprVisitor::VisitBlock(block);
    for (const MatchBufferRegion& match : block->match_buffers) {
      if (own_.contains(match.source.buffer->data.get())) continue;
      for (std::vector<Buffer>* touched : {&loaded, &stored}) touched->push_back(match.source.buffer);
    }
  }

 private:
  std::unordered_set<const ExprNode*> own_;
};

}  // namespace

TouchedBuffers BuffersTouchedIn(const BlockNode& block) {
  BodyTouches touches;
  touches(Stmt(BlockRealize{{}, True(), Block(BlockNode(block))}));
  return touches;
}

// Lists what is done below a scope in order of the text. Child blocks are not entered, but for those that are known to
// hide what they do.
class ActorCollector : public StmtExprVisitor {
 public:
  ActorCollector(const Schedule& schedule, int scope_row, const BlockScope* before, BlockScope& scope)
      : schedule_(schedule), scope_row_(scope_row), before_(before), scope_(scope) {}

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const Seq* seq = stmt.As<Seq>();
    if (seq == nullptr) return StmtExprVisitor::VisitStmt(stmt);
    for (const Stmt& child : seq->stmts) VisitStmt(child);
  }
  void VisitFor(const Stmt& self, const For& loop) override {
    if (loop_ == nullptr) return VisitPart(schedule_.RowOf(self), [&] { VisitLoop(self, loop); });
    VisitLoop(self, loop);
  }
  void VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    const int row = schedule_.RowOf(self);
    if (loop_ == nullptr) return VisitPart(row, [&] { VisitRealize(row, realize); });
    VisitRealize(row, realize);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    VisitChildren(self);
    Touch(load.buffer, false);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    VisitChildren(self);
    Touch(store.buffer, true);
  }
  void VisitExpr(const Expr& expr) override {
    if (expr.As<IntImm>() != nullptr || IsVar(expr)) return;
    if (const Call* call = expr.As<Call>(); call != nullptr && !call->op->is_pure) {
      const int actor = block_actor_ >= 0 ? block_actor_ : NewOuterActor();
      scope_.actors_[actor].is_opaque = true;
      scope_.opaque_.push_back(actor);
    }
    StmtExprVisitor::VisitExpr(expr);
  }

 private:
  int NewActor(int row, bool is_block) {
    const int actor = static_cast<int>(scope_.actors_.size());
    scope_.actors_.push_back({row, is_block, false, static_cast<int>(scope_.notes_.size())});
    return actor;
  }
  // A loop or block directly below the scope: as it was before, or as `visit` finds it.
  template <typename F>
  void VisitPart(int row, F visit) {
    const BlockScope::Part* known = before_ != nullptr ? before_->FindPart(row, next_part_) : nullptr;
    const size_t first_actor = scope_.actors_.size(), first_note = scope_.notes_.size();
    if (known != nullptr && schedule_.ChangedAt(row) <= before_->built_at_)
      scope_.TakeOver(*before_, *known);
    else
      visit();
    scope_.parts_.push_back({row, first_actor, scope_.actors_.size(), first_note, scope_.notes_.size()});
  }
  void VisitLoop(const Stmt& self, const For& loop) {
    VisitExpr(loop.min);
    VisitExpr(loop.extent);
    const Stmt* outer = loop_;
    loop_ = &self;
    VisitStmt(loop.body);
    loop_ = outer;
  }
  void VisitRealize(int row, const BlockRealize& realize) {
    block_actor_ = NewActor(row, true);
    scope_.children_.push_back(row);
    for (const Expr& value : realize.iter_values) VisitExpr(value);
    VisitExpr(realize.predicate);
    for (const BufferRegion& read : realize.block->reads) scope_.Note(block_actor_, read.buffer, false, true);
    for (const BufferRegion& write : realize.block->writes) scope_.Note(block_actor_, write.buffer, true, true);
    if (schedule_.IsHiding(row)) NoteBody(realize.block);
    block_actor_ = -1;
  }
  int NewOuterActor() { return NewActor(loop_ != nullptr ? schedule_.RowOf(*loop_) : scope_row_, false); }
  void NoteBody(const Block& block) {
    const TouchedBuffers touches = BuffersTouchedIn(*block);
    for (const Buffer& buffer : touches.loaded) scope_.Note(block_actor_, buffer, false, true);
    for (const Buffer& buffer : touches.stored) scope_.Note(block_actor_, buffer, true, true);
    // Lowering places memory by what blocks declare, also more than they touch.
    PostOrderVisit(block->body, [&](const Stmt& stmt) {
      const BlockRealize* inner = stmt.As<BlockRealize>();
      if (inner == nullptr) return;
      for (const BufferRegion& read : inner->block->reads) scope_.Note(block_actor_, read.buffer, false, true);
      for (const BufferRegion& write : inner->block->writes) scope_.Note(block_actor_, write.buffer, true, true);
    });
  }
  void Touch(const Buffer& buffer, bool is_write) {
    scope_.Note(block_actor_ >= 0 ? block_actor_ : NewOuterActor(), buffer, is_write, false);
  }

  const Schedule& schedule_;
  const int scope_row_;
  const BlockScope* const before_;
  size_t next_part_ = 0;        // Of `before_`: the one that is expected next.
  const Stmt* loop_ = nullptr;  // The innermost around.
  int block_actor_ = -1;        // The block whose predicate and bindings are visited.
  BlockScope& scope_;
};

BlockScope::BlockScope(const Schedule& schedule, int scope_row, const BlockScope* before)
    : built_at_(schedule.NumReplacements()) {
  std::vector<int> around;  // Blocks whose views can be seen here, outermost first.
  for (int block = scope_row; block >= 0; block = schedule.ScopeOf(block)) around.insert(around.begin(), block);
  for (int block : around) {
    for (const MatchBufferRegion& match : schedule.BlockOf(block).match_buffers)
      views_.emplace_back(match.buffer->data.get(), MemoryOf(match.source.buffer));
  }
  if (!views_.empty() || schedule.HidesAny() || (before != nullptr && !before->views_.empty())) before = nullptr;
  if (before != nullptr) memories_ = before->memories_;
  children_.reserve(before != nullptr ? before->children_.size() + 4 : 8);
  actors_.reserve(before != nullptr ? before->actors_.size() + 4 : 8);
  parts_.reserve(before != nullptr ? before->parts_.size() + 4 : 8);
  notes_.reserve(before != nullptr ? before->notes_.size() + 8 : 16);
  noted_.reserve(before != nullptr ? before->noted_.size() + 8 : 16);
  ActorCollector collector(schedule, scope_row, before, *this);
  const BlockNode& block = schedule.BlockOf(scope_row);
  if (block.init) collector(*block.init);
  collector(block.body);
  SortTouches();
  ChainActors(schedule.NumRows());
  has_war_or_opaque_ = !opaque_.empty();
  for (int memory = 0; memory < static_cast<int>(memories_.size()); ++memory) {
    int reader = -1;  // The first actor that reads it.
    for (const Touch& touch : TouchesOf(memory)) {
      if (!touch.is_write && reader < 0) reader = touch.actor;
      if (touch.is_write && reader >= 0 && touch.actor != reader) has_war_or_opaque_ = true;
    }
  }
}

const ExprNode* BlockScope::MemoryOf(const Buffer& buffer) const {
  const ExprNode* data = buffer->data.get();
  for (const auto& [view, memory] : views_)
    if (view == data) return memory;
  return data;
}

std::span<const BlockScope::Touch> BlockScope::TouchesOf(int memory) const {
  const Touch* first = touches_.data() + first_touch_[memory];
  return {first, static_cast<size_t>(first_touch_[memory + 1] - first_touch_[memory])};
}

std::span<const BlockScope::Touch> BlockScope::TouchesOf(const Buffer& buffer) const {
  const int memory = memories_.Find(MemoryOf(buffer));
  return memory < 0 ? std::span<const Touch>() : TouchesOf(memory);
}

void BlockScope::Note(int actor, const Buffer& buffer, bool is_write, bool is_declared) {
  notes_.push_back(memories_.Add(MemoryOf(buffer)));
  noted_.push_back({actor, is_write, is_declared});
}

const BlockScope::Part* BlockScope::FindPart(int row, size_t& hint) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (hint >= parts_.size()) hint = 0;
    if (parts_[hint++].row == row) return &parts_[hint - 1];
  }
  return nullptr;
}

void BlockScope::TakeOver(const BlockScope& before, const Part& part) {
  const int actor_shift = static_cast<int>(actors_.size()) - static_cast<int>(part.first_actor);
  const int note_shift = static_cast<int>(notes_.size()) - static_cast<int>(part.first_note);
  for (size_t i = part.first_actor; i < part.end_actor; ++i) {
    Actor& actor = actors_.emplace_back(before.actors_[i]);
    actor.first_note += note_shift;
    if (actor.is_block) children_.push_back(actor.row);
    if (actor.is_opaque) opaque_.push_back(static_cast<int>(actors_.size()) - 1);
  }
  notes_.insert(notes_.end(), before.notes_.begin() + std::ptrdiff_t(part.first_note),
                before.notes_.begin() + std::ptrdiff_t(part.end_note));
  for (size_t i = part.first_note; i < part.end_note; ++i) noted_.emplace_back(before.noted_[i]).actor += actor_shift;
}

std::set<BlockScope::Fact> BlockScope::Facts() const {
  std::set<Fact> facts;
  for (size_t i = 0; i < notes_.size(); ++i)
    facts.emplace(noted_[i].actor, memories_[notes_[i]], noted_[i].is_write, noted_[i].is_declared);
  for (int actor : opaque_) facts.emplace(actor, nullptr, false, false);
  return facts;
}

bool BlockScope::SaysTheSameAs(const BlockScope& other) const {
  const auto is_same = [](const Actor& a, const Actor& b) { return a.row == b.row && a.is_block == b.is_block; };
  return children_ == other.children_ && has_war_or_opaque_ == other.has_war_or_opaque_ && Facts() == other.Facts() &&
         std::equal(actors_.begin(), actors_.end(), other.actors_.begin(), other.actors_.end(), is_same);
}

// By memory; those of one stay in their order.
void BlockScope::SortTouches() {
  first_touch_.assign(memories_.size() + 1, 0);
  for (int memory : notes_) ++first_touch_[memory + 1];
  for (size_t i = 1; i < first_touch_.size(); ++i) first_touch_[i] += first_touch_[i - 1];
  std::vector<int> next(first_touch_.begin(), first_touch_.end() - 1);
  touches_.resize(noted_.size());
  for (size_t i = 0; i < notes_.size(); ++i) touches_[next[notes_[i]]++] = noted_[i];
}

void BlockScope::ChainActors(size_t num_rows) {
  first_at_.assign(num_rows, -1);
  for (int actor = static_cast<int>(actors_.size()); actor-- > 0;) {
    int& first = first_at_[actors_[actor].row];
    actors_[actor].next_here = first;
    first = actor;
  }
}

std::vector<int> BlockScope::BlocksThat(bool write, const Buffer& buffer) const {
  std::vector<int> rows;
  for (const Touch& touch : TouchesOf(buffer)) {
    const Actor& actor = actors_[touch.actor];
    if (actor.is_block && touch.is_write == write && (rows.empty() || rows.back() != actor.row))
      rows.push_back(actor.row);
  }
  return rows;
}

bool BlockScope::IsWrittenOutside(const Buffer& buffer) const {
  if (std::any_of(opaque_.begin(), opaque_.end(), [&](int actor) { return !actors_[actor].is_block; })) return true;
  const std::span<const Touch> touches = TouchesOf(buffer);
  return std::any_of(touches.begin(), touches.end(), [](const Touch& t) { return t.is_write && !t.is_declared; });
}

std::vector<int> BlockScope::RowsThatReadOutside(const Buffer& buffer) const {
  std::vector<int> rows;
  for (const Touch& touch : TouchesOf(buffer))
    if (!touch.is_write && !touch.is_declared) rows.push_back(actors_[touch.actor].row);
  return rows;
}

namespace {

class BareFinder : public StmtExprVisitor {
 public:
  bool found = false;

 protected:
  void VisitBlock(const Block&) override {}
  void VisitBufferStore(const Stmt&, const BufferStore&) override { found = true; }
  void VisitStmt(const Stmt& stmt) override {
    if (!found) StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& expr) override {
    const Call* call = expr.As<Call>();
    found = found || expr.As<BufferLoad>() != nullptr || (call != nullptr && !call->op->is_pure);
    if (!found) StmtExprVisitor::VisitExpr(expr);
  }
};

}  // namespace

namespace {

bool TouchesMemory(const Expr& e) {
  if (e.As<IntImm>() != nullptr || IsVar(e)) return false;
  if (const Binary* op = e.As<Binary>()) return TouchesMemory(op->a) || TouchesMemory(op->b);
  BareFinder finder;
  finder(e);
  return finder.found;
}

}  // namespace

bool TouchesMemoryOutsideBlocks(const Stmt& stmt) {
  if (const Seq* seq = stmt.As<Seq>())
    return std::any_of(seq->stmts.begin(), seq->stmts.end(), TouchesMemoryOutsideBlocks);
  if (const BlockRealize* realize = stmt.As<BlockRealize>())
    return TouchesMemory(realize->predicate) ||
           std::any_of(realize->iter_values.begin(), realize->iter_values.end(), TouchesMemory);
  if (const For* loop = stmt.As<For>(); loop != nullptr && loop->annotations.empty())
    return TouchesMemory(loop->min) || TouchesMemory(loop->extent) || TouchesMemoryOutsideBlocks(loop->body);
  BareFinder finder;
  finder(stmt);
  return finder.found;
}

namespace {

DepKind KindOf(bool src_writes, bool dst_writes) {
  if (!src_writes) return DepKind::kWAR;
  return dst_writes ? DepKind::kWAW : DepKind::kRAW;
}

}  // namespace

// What `actor` has to do with the others that come later, or earlier: (the other, what the dependence is).
void BlockScope::Relate(int actor, bool later, std::vector<std::pair<int, DepKind>>& found) const {
  const auto begin = notes_.begin() + actors_[actor].first_note;
  const bool is_last = actor + 1 == static_cast<int>(actors_.size());
  const auto end = is_last ? notes_.end() : notes_.begin() + actors_[actor + 1].first_note;
  for (auto note = begin; note != end; ++note) {
    if (std::find(begin, note, *note) != note) continue;
    for (const Touch& mine : TouchesOf(*note)) {
      if (mine.actor != actor) continue;
      for (const Touch& other : TouchesOf(*note)) {
        if (other.actor == actor || (other.actor > actor) != later || !(mine.is_write || other.is_write)) continue;
        found.emplace_back(other.actor,
                           later ? KindOf(mine.is_write, other.is_write) : KindOf(other.is_write, mine.is_write));
      }
    }
  }
  const int first = later ? actor + 1 : 0, stop = later ? static_cast<int>(actors_.size()) : actor;
  for (int other = first; !opaque_.empty() && other < stop; ++other)
    if (actors_[actor].is_opaque || actors_[other].is_opaque) found.emplace_back(other, DepKind::kOpaque);
}

std::vector<Dependency> BlockScope::Deps(int row, bool by_src) const {
  std::vector<Dependency> deps;
  std::vector<std::pair<int, DepKind>> found;
  for (int actor = FirstAt(row); actor >= 0; actor = actors_[actor].next_here) Relate(actor, by_src, found);
  if (by_src) std::sort(found.begin(), found.end());
  for (const auto& [other, kind] : found) {
    const int there = actors_[other].row;
    const Dependency dep = by_src ? Dependency{row, there, kind} : Dependency{there, row, kind};
    if (there != row && std::find(deps.begin(), deps.end(), dep) == deps.end()) deps.push_back(dep);
  }
  return deps;
}

std::vector<Dependency> BlockScope::DepsBySrc(int row) const { return Deps(row, true); }
std::vector<Dependency> BlockScope::DepsByDst(int row) const { return Deps(row, false); }

}  // namespace lathe
