#include "compiler/schedule/independence.h"

#include <fmt/core.h>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/int_set.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"

namespace lathe {
namespace {

// How many loops of its scope are outside of `loop`.
int DepthOf(const Schedule& schedule, int loop) {
  int depth = 0;
  for (int above = schedule.ParentOf(loop); above >= 0 && schedule.IsLoop(above); above = schedule.ParentOf(above))
    ++depth;
  return depth;
}

// Where a block stores by an index that it reads from memory, its data-parallel iter vars are what promises that
// iterations do not meet.
bool IsScattered(const BlockNode& block, const Buffer& buffer) {
  bool is_scattered = false;
  PostOrderVisit(block.body, [&](const Stmt& stmt) {
    const BufferStore* store = stmt.As<BufferStore>();
    if (store == nullptr || !MayAlias(store->buffer, buffer)) return;
    for (const Expr& index : store->indices) is_scattered = is_scattered || HasLoad(index);
  });
  return is_scattered;
}

// What one iteration of `loop` touches of a buffer, or which data-parallel iterations it runs: in the dimensions that
// the loop has a say in, the others tell no iterations apart.
std::vector<Range> Footprint(const Schedule& schedule, int loop, int block, const BufferRegion& write,
                             const Analyzer& analyzer) {
  const BlockNode& node = schedule.BlockOf(block);
  const BoundRealize realize(schedule, block);
  std::vector<Range> region, full = FullRegion(write.buffer).region;
  if (IsScattered(node, write.buffer)) {
    full.clear();
    for (size_t i = 0; i < node.iter_vars.size(); ++i) {
      const Expr& value = realize->iter_values[i];
      if (node.iter_vars[i].kind == IterKind::kSpatial) region.push_back({value, IntConst(value.dtype(), 1)});
    }
  } else {
    region = BoundRegion(write, *realize);
  }
  const IterDomain inner = LoopsBetween(schedule, loop, block);
  const bool is_box = std::all_of(inner.begin(), inner.end(), [](const auto& item) {
    return AsIntConst(item.second.min) != nullptr && AsIntConst(item.second.extent) != nullptr;
  });
  const ExprNode* loop_var = schedule.LoopOf(loop).loop_var.get();
  for (size_t i = region.size(); is_box && i-- > 0;) {
    if (UsesVar(region[i].min, loop_var)) continue;
    region.erase(region.begin() + static_cast<std::ptrdiff_t>(i));
    if (!full.empty()) full.erase(full.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return RelaxRegion(std::move(region), inner, analyzer, full.empty() ? nullptr : &full);
}

// Whether each iteration of the loop begins at or beyond the end of the one before: what a plain tile does.
bool StepsOver(const Expr& begin, int64_t extent, const Var& loop_var, const Analyzer& analyzer) {
  const LinearForm form = Canonicalizer(analyzer).Form(begin);
  bool steps_over = false;
  for (const Term& term : form.terms) {
    if (term.is_whole() && term.source.same_as(loop_var))
      steps_over = term.scale >= extent || term.scale <= -extent;
    else if (UsesVar(term.source, loop_var.get()))
      return false;
  }
  return steps_over && !form.has_overflowed;
}

bool IsAmong(const std::vector<Expr>& values, const Var& var) {
  return std::any_of(values.begin(), values.end(), [&](const Expr& value) { return value.same_as(var); });
}

// Each loop is one of the values, so that they count the iterations whatever the bounds are: those of a triangle, too.
bool AreAllAmong(const IterDomain& loops, const std::vector<Expr>& values) {
  return std::all_of(loops.begin(), loops.end(), [&](const auto& loop) { return IsAmong(values, loop.first); });
}

// What the iter vars that are indices of the write are bound to.
std::vector<Expr> IndexSteps(const BlockRealize& realize, const BufferRegion& write) {
  std::vector<Expr> steps;
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Var& iter = realize.block->iter_vars[i].var;
    const bool is_index = std::any_of(write.region.begin(), write.region.end(), [&](const Range& range) {
      return range.min.same_as(iter) && IsConstInt(range.extent, 1);
    });
    if (is_index) steps.push_back(realize.iter_values[i]);
  }
  return steps;
}

// The indices of the write, in terms of the loops, where it is an element.
std::vector<Expr> ElementIndices(const BlockRealize& realize, const BufferRegion& write) {
  std::vector<Expr> indices;
  for (const Range& range : BoundRegion(write, realize)) {
    if (!IsConstInt(range.extent, 1)) return {};
    if (AsIntConst(range.min) == nullptr) indices.push_back(range.min);
  }
  return indices;
}

// Whether different iterations of `loop` have different `steps`: these count those of the loops from `top` on that they
// use, which `loop` is one of. What else there is may repeat them.
bool CountsBelow(const Schedule& schedule, int top, int loop, int block, const BlockRealize& realize,
                 const std::vector<Expr>& steps) {
  IterDomain loops = LoopsBetween(schedule, schedule.ParentOf(top), block);
  const auto is_used = [&](const Var& var) {
    return std::any_of(steps.begin(), steps.end(), [&](const Expr& step) { return UsesVar(step, var.get()); });
  };
  if (!is_used(schedule.LoopOf(loop).loop_var)) return false;
  std::erase_if(loops, [&](const auto& item) { return !is_used(item.first); });
  if (AreAllAmong(loops, steps)) return true;
  Analyzer analyzer;
  BindOuterLoops(schedule, top, false, analyzer);
  return HasIterMap(steps, loops, True(), {IterMapLevel::kBijective}, analyzer) ||
         HasIterMap(steps, loops, realize.predicate, {IterMapLevel::kBijective}, analyzer);
}

// Some loops around may have to be counted along: those that a fused one was split into.
bool CountsElements(const Schedule& schedule, int loop, int block, const BufferRegion& write) {
  constexpr int kMostAround = 3;
  const BoundRealize realize(schedule, block);
  const std::vector<Expr> steps = IndexSteps(*realize, write), indices = ElementIndices(*realize, write);
  for (int i = 0, top = loop; i <= kMostAround && schedule.IsLoop(top); ++i, top = schedule.ParentOf(top))
    if (CountsBelow(schedule, top, loop, block, *realize, steps) ||
        CountsBelow(schedule, top, loop, block, *realize, indices))
      return true;
  return false;
}

// Whether the block's predicate leaves one iteration of `loop` for each of what is around it.
bool RunsOnce(const Schedule& schedule, int loop, int block, const Analyzer& around) {
  const BoundRealize realize(schedule, block);
  const For& node = schedule.LoopOf(loop);
  if (IsConstInt(realize->predicate, 1) || !UsesVar(realize->predicate, node.loop_var.get())) return false;
  Analyzer analyzer = Analyzer::Under(around);
  for (const auto& [var, range] : LoopsBetween(schedule, loop, block)) analyzer.Bind(var, range);
  analyzer.Assume(realize->predicate);
  return analyzer.CanProve(LessEqual(node.loop_var, node.min));
}

// Whether no two iterations of `loop` write one element of `write`. `analyzer` knows the loops around, and `loop`.
bool AreRegionsApart(const Schedule& schedule, int loop, int block, const BufferRegion& write,
                     const Analyzer& analyzer) {
  const For& node = schedule.LoopOf(loop);
  if (IsConstInt(node.extent, 1)) return true;
  const std::vector<Range> footprint = Footprint(schedule, loop, block, write, analyzer);
  const auto steps_over = [&](const Range& range) {
    const int64_t* extent = AsIntConst(range.extent);
    return extent != nullptr && *extent >= 1 && StepsOver(range.min, *extent, node.loop_var, analyzer);
  };
  if (std::any_of(footprint.begin(), footprint.end(), steps_over)) return true;
  const IterDomain iterations{{node.loop_var, Range{node.min, node.extent}}};
  std::vector<Expr> indices;
  for (const Range& range : footprint) {
    const int64_t* extent = AsIntConst(range.extent);
    if (extent == nullptr || *extent < 1) continue;
    const auto map = DetectIterMap({range.min}, iterations, True(), {IterMapLevel::kNoCheck}, analyzer);
    const bool is_multiple =
        map.ok() &&
        std::all_of(map->indices[0].args.begin(), map->indices[0].args.end(), [&](const IterSplitExpr& arg) {
          return AsIntConst(arg.scale) != nullptr && *AsIntConst(arg.scale) % *extent == 0;
        });
    if (is_multiple) indices.push_back(range.min);
  }
  return HasIterMap(indices, iterations, True(), {IterMapLevel::kBijective}, analyzer) ||
         CountsElements(schedule, loop, block, write) || RunsOnce(schedule, loop, block, analyzer);
}

// By numbers alone; false: not known.
bool AreNumbersApart(const Schedule& schedule, int loop, int block, const BufferRegion& write) {
  const NestNumbers* nest = schedule.Numbers(block);
  return nest != nullptr && nest->TellsApart(schedule.BlockOf(block), write, DepthOf(schedule, loop));
}

// The same of what the block really writes, where it declares more (as what loop_partition leaves does).
bool AreWritesApart(const Schedule& schedule, int loop, int block, const BufferRegion& write,
                    const Analyzer& analyzer) {
  if (AreRegionsApart(schedule, loop, block, write, analyzer)) return true;
  const BlockNode& node = schedule.BlockOf(block);
  const auto is_element = [](const Range& range) { return IsConstInt(range.extent, 1); };
  const bool is_leaf = node.match_buffers.empty() && schedule.ChildBlocksOf(block).empty();
  if (!is_leaf || std::all_of(write.region.begin(), write.region.end(), is_element)) return false;
  const AccessRegions touched = DetectAccessRegions(node, {{write.buffer->data.get(), write.buffer}});
  return std::any_of(touched.writes.begin(), touched.writes.end(), [&](const BufferRegion& found) {
    return found.buffer.same_as(write.buffer) && AreRegionsApart(schedule, loop, block, found, analyzer);
  });
}

}  // namespace

bool WritesApart(const Schedule& schedule, int loop, int block, const BufferRegion& write) {
  if (AreNumbersApart(schedule, loop, block, write)) return true;
  return AreWritesApart(schedule, loop, block, write, KnowingLoops(schedule, loop));
}

namespace {

// Whether all that reads or writes `buffer` is below `loop`, in blocks.
bool IsUsedOnlyBelow(const Schedule& schedule, int loop, const Buffer& buffer) {
  const int scope_row = schedule.ScopeOf(loop);
  const BlockScope& scope = schedule.Scope(scope_row);
  if (!Allocates(schedule.BlockOf(scope_row), buffer) || !scope.RowsThatReadOutside(buffer).empty()) return false;
  const auto is_below = [&](int block) { return schedule.IsAncestor(loop, block); };
  const std::vector<int> readers = scope.ReadersOf(buffer), writers = scope.WritersOf(buffer);
  return std::all_of(readers.begin(), readers.end(), is_below) && std::all_of(writers.begin(), writers.end(), is_below);
}

// What is known about the loops around `loop` and about itself, once somebody wants to know.
class OuterFacts {
 public:
  OuterFacts(const Schedule& schedule, int loop) : schedule_(schedule), loop_(loop) {}
  const Analyzer& operator()() {
    if (!analyzer_) BindOuterLoops(schedule_, loop_, true, analyzer_.emplace());
    return *analyzer_;
  }

 private:
  const Schedule& schedule_;
  const int loop_;
  std::optional<Analyzer> analyzer_;
};

// Whether each iteration of `loop` makes what it reads of `buffer`, which `block` writes, and nobody else reads it:
// then no matter whether others write the same elements.
bool IsMadeAnew(const Schedule& schedule, int loop, int block, const Buffer& buffer) {
  if (!IsUsedOnlyBelow(schedule, loop, buffer)) return false;
  const std::vector<int> blocks = schedule.ChildBlocksOf(loop);
  return std::all_of(blocks.begin(), blocks.end(), [&](int reader) {
    return reader == block || !Reads(schedule.BlockOf(reader), buffer) || IsCovered(schedule, block, reader, buffer);
  });
}

WhyNot Hides(const Schedule& schedule, int block) {
  return fmt::format("block \"{}\" touches more than it declares", schedule.BlockOf(block).name);
}

// Whether a block reads all of `buffer` that it writes.
bool ReadsWhatItWrites(const BlockNode& block, const Buffer& buffer) {
  const auto is_read = [&](const BufferRegion& write) {
    return !write.buffer.same_as(buffer) ||
           std::any_of(block.reads.begin(), block.reads.end(), [&](const BufferRegion& read) {
             return read.buffer.same_as(buffer) && IsSameBox(read.region, write.region);
           });
  };
  return std::all_of(block.writes.begin(), block.writes.end(), is_read);
}

// Whether it reads nothing of the buffer, or only what it writes.
bool KeepsToItsElements(const BlockNode& block, const Buffer& buffer) {
  return !Reads(block, buffer) || ReadsWhatItWrites(block, buffer);
}

std::vector<int> WritersBelow(const Schedule& schedule, int loop, const Buffer& buffer) {
  std::vector<int> writers = schedule.ChildBlocksOf(loop);
  std::erase_if(writers, [&](int block) { return !Writes(schedule.BlockOf(block), buffer); });
  return writers;
}

// Whether what blocks below `loop` write of `buffer` is one result: those after the first add to what that has made in
// the same iteration, as the update of a reduction does, or write over a part of it, as what is padded does.
bool IsOneResult(const Schedule& schedule, int loop, const Buffer& buffer, OuterFacts& facts) {
  const std::vector<int> writers = WritersBelow(schedule, loop, buffer);
  if (writers.size() < 2 || Reads(schedule.BlockOf(writers[0]), buffer)) return false;
  return std::all_of(writers.begin() + 1, writers.end(), [&](int writer) {
    return KeepsToItsElements(schedule.BlockOf(writer), buffer) &&
           (AreNumbersCovered(schedule, loop, writers[0], writer, buffer, Does::kWrite) ||
            IsCoveredWithin(schedule, loop, writers[0], writer, buffer, facts(), Does::kWrite));
  });
}

// Whether nothing else below `loop` writes the buffer, and `block` adds to its own elements: the update of a reduction
// whose init is elsewhere. Sums at places that are read from memory may meet.
bool IsOwnSum(const Schedule& schedule, int loop, int block, const Buffer& buffer) {
  const BlockNode& node = schedule.BlockOf(block);
  return WritersBelow(schedule, loop, buffer).size() == 1 && ReadsWhatItWrites(node, buffer) &&
         !IsScattered(node, buffer);
}

WhyNot WhyNotOwnBuffer(const Schedule& schedule, int loop, ForKind kind, int block, const BufferRegion& write,
                       OuterFacts& facts) {
  const BlockNode& node = schedule.BlockOf(block);
  const Buffer& buffer = write.buffer;
  const bool are_numbers_apart = AreNumbersApart(schedule, loop, block, write);
  if (!are_numbers_apart && kind != ForKind::kVectorized && IsMadeAnew(schedule, loop, block, buffer)) return "";
  const bool is_apart = are_numbers_apart || WritesApart(schedule, loop, block, write);
  if (!is_apart && !IsUsedOnlyBelow(schedule, loop, buffer))
    return fmt::format("several iterations may write one element of buffer \"{}\" in block \"{}\"", buffer->name,
                       node.name);
  if (!is_apart && kind == ForKind::kVectorized && !WritesOneValuePerElement(node))
    return fmt::format("lanes would write different values to one element of buffer \"{}\" in block \"{}\"",
                       buffer->name, node.name);
  if (IsReadOutsideBlocksBelow(schedule, loop, buffer))
    return fmt::format("a condition, bound or binding below reads buffer \"{}\", which block \"{}\" writes",
                       buffer->name, node.name);
  for (int reader : schedule.ChildBlocksOf(loop)) {
    if (reader == block || !Reads(schedule.BlockOf(reader), buffer)) continue;
    const auto is_made_by = [&](int writer) {
      return (is_apart && AreNumbersCovered(schedule, loop, writer, reader, buffer)) ||
             IsCovered(schedule, writer, reader, buffer) ||
             (is_apart && IsCoveredWithin(schedule, loop, writer, reader, buffer, facts()));
    };
    const bool is_own = is_made_by(block) || (IsOneResult(schedule, loop, buffer, facts) &&
                                              is_made_by(WritersBelow(schedule, loop, buffer)[0]));
    if (!is_own)
      return fmt::format("block \"{}\" may read elements of buffer \"{}\" that another iteration writes",
                         schedule.BlockOf(reader).name, buffer->name);
  }
  return "";
}

WhyNot WhyNotUsable(const Schedule& schedule, int block, int below = -1) {
  const BlockNode& node = schedule.BlockOf(block);
  if (schedule.IsHidingStores(block)) return Hides(schedule, block);
  const WhyNot why = node.init ? WhyNotReduction(schedule, block, below) : WhyNotComplete(schedule, block, below);
  return why.empty() ? "" : fmt::format("block \"{}\" is neither complete nor a reduction: {}", node.name, why);
}
// As a part of what one iteration of `loop` makes.
WhyNot WhyNotUsableBelow(const Schedule& schedule, int loop, int block, OuterFacts& facts) {
  const WhyNot why = WhyNotUsable(schedule, block, loop);
  if (why.empty()) return why;
  const std::vector<BufferRegion>& writes = schedule.BlockOf(block).writes;
  const bool is_part = std::all_of(writes.begin(), writes.end(), [&](const BufferRegion& write) {
    return IsOwnSum(schedule, loop, block, write.buffer) || IsOneResult(schedule, loop, write.buffer, facts);
  });
  return is_part ? "" : why;
}

// Blocks with the regions that they and those in them touch, whatever they declare.
class RegionTeller : public StmtExprMutator {
 public:
  Block operator()(const Block& block) { return VisitBlock(block); }

 protected:
  Block VisitBlock(const Block& self) override {
    Block block = StmtExprMutator::VisitBlock(self);
    RecomputeRegions(block.Mutable());
    return block;
  }
};

// What one iteration of a loop touches of a buffer.
struct Touch {
  Buffer buffer;
  std::vector<Range> footprint;
  bool is_write, is_hidden;
};

void NoteTouches(const Schedule& schedule, int loop, int block, const Analyzer& analyzer, std::vector<Touch>& touches) {
  BlockRealize realize = *BoundRealize(schedule, block);
  const bool is_hidden = schedule.IsHiding(block);
  if (is_hidden) realize.block = RegionTeller()(realize.block);
  const IterDomain inner = LoopsBetween(schedule, loop, block);
  const auto note = [&](const BufferRegion& region, bool is_write) {
    const std::vector<Range> full = FullRegion(region.buffer).region;
    touches.push_back(
        {region.buffer, RelaxRegion(BoundRegion(region, realize), inner, analyzer, &full), is_write, is_hidden});
  };
  for (const BufferRegion& read : realize.block->reads) note(read, false);
  for (const BufferRegion& write : realize.block->writes) note(write, true);
}

// Whether all of `touches`, of one buffer, have in a dimension the same part, which is another one in each iteration.
bool AreApartTogether(const std::vector<const Touch*>& touches, const Var& loop_var, const Analyzer& analyzer) {
  const Touch& first = *touches.front();
  for (size_t d = 0; d < first.footprint.size(); ++d) {
    const Range& part = first.footprint[d];
    const int64_t* extent = AsIntConst(part.extent);
    if (extent == nullptr || *extent < 1 || !StepsOver(part.min, *extent, loop_var, analyzer)) continue;
    const bool is_same = std::all_of(touches.begin(), touches.end(), [&](const Touch* other) {
      return other->buffer.same_as(first.buffer) && IsConstInt(other->footprint[d].extent, *extent) &&
             analyzer.CanProveEqual(other->footprint[d].min, part.min);
    });
    if (is_same) return true;
  }
  return false;
}

// The same of a loop below which blocks hide what they touch, as those do that loop_partition leaves: each iteration
// keeps to itself what they and all others touch of a buffer that is written there.
WhyNot WhyNotApartFromHidden(const Schedule& schedule, int loop, OuterFacts& facts) {
  std::vector<Touch> touches;
  for (int block : schedule.ChildBlocksOf(loop)) {
    if (schedule.IsHiding(block) &&
        (!schedule.BlockOf(block).iter_vars.empty() || !LetsAround(schedule, block).empty()))
      return Hides(schedule, block);
    NoteTouches(schedule, loop, block, facts(), touches);
  }
  for (const Touch& touch : touches) {
    std::vector<const Touch*> of_it;
    bool is_written = false;
    for (const Touch& other : touches) {
      if (!MayAlias(other.buffer, touch.buffer)) continue;
      of_it.push_back(&other);
      is_written = is_written || other.is_write;
    }
    if (touch.is_hidden && is_written && !AreApartTogether(of_it, schedule.LoopOf(loop).loop_var, facts()))
      return fmt::format(
          "several iterations may touch one element of buffer \"{}\" in blocks that touch more than they "
          "declare",
          touch.buffer->name);
  }
  return "";
}

bool Feeds(const Schedule& schedule, int loop, const Expr& value) {
  const ExprNode* loop_var = schedule.LoopOf(loop).loop_var.get();
  return UsesVar(value, loop_var);
}

bool TakesEachStepOnceBelow(const Schedule& schedule, int top, int block) {
  const NestNumbers* nest = schedule.Numbers(block);
  if (nest != nullptr && nest->CountsEachOnce(DepthOf(schedule, top))) return true;
  IterDomain loops = LoopsBetween(schedule, schedule.ParentOf(top), block);
  const BoundRealize realize(schedule, block);
  if (AreAllAmong(loops, realize->iter_values)) return true;
  Analyzer analyzer;
  BindOuterLoops(schedule, top, false, analyzer);
  return HasIterMap(realize->iter_values, loops, True(), {IterMapLevel::kBijective}, analyzer);
}

}  // namespace

// What no two iterations of more loops share, no two of the inner ones do: as below the outer part of a split loop that
// counts two iter vars.
bool TakesEachStepOnce(const Schedule& schedule, int top, int block) {
  for (int above = top; above >= 0 && schedule.IsLoop(above); above = schedule.ParentOf(above))
    if (TakesEachStepOnceBelow(schedule, above, block)) return true;
  return false;
}

namespace {

// As TakesEachStepOnce, of the iterations that the block's predicate leaves.
bool TakesEachLeftStepOnce(const Schedule& schedule, int top, int block) {
  const BoundRealize realize(schedule, block);
  Analyzer analyzer;
  BindOuterLoops(schedule, top, false, analyzer);
  return !IsConstInt(realize->predicate, 1) &&
         HasIterMap(realize->iter_values, LoopsBetween(schedule, schedule.ParentOf(top), block), realize->predicate,
                    {IterMapLevel::kBijective}, analyzer);
}

WhyNot WhyNotAnyOrder(const Schedule& schedule, int top, int block) {
  const BlockNode& node = schedule.BlockOf(block);
  if (schedule.IsHidingStores(block)) return Hides(schedule, block);
  for (const IterVar& iter : node.iter_vars) {
    if (iter.kind != IterKind::kSpatial && iter.kind != IterKind::kReduce)
      return fmt::format("iter var \"{}\" of block \"{}\" is neither data-parallel nor a reduction", iter.var.name(),
                         node.name);
  }
  if (TakesEachStepOnce(schedule, top, block) || TakesEachLeftStepOnce(schedule, top, block)) return "";
  if (WhyNotComplete(schedule, block).empty() && WritesOneValuePerElement(node)) return "";
  return fmt::format("block \"{}\" is not known to compute each element once, or each time the same", node.name);
}

// Two blocks below `top`, `first` before `second`, of which one writes what the other touches.
WhyNot WhyNotOrdered(const Schedule& schedule, int first, int second, const Buffer& buffer) {
  if (Reads(schedule.BlockOf(second), buffer) && IsCovered(schedule, first, second, buffer)) return "";
  return fmt::format("blocks \"{}\" and \"{}\" may use the same elements of buffer \"{}\" in different iterations",
                     schedule.BlockOf(first).name, schedule.BlockOf(second).name, buffer->name);
}

}  // namespace

WhyNot WhyNotConcurrent(const Schedule& schedule, int loop, ForKind kind, bool allow_reduce) {
  OuterFacts facts(schedule, loop);
  const std::vector<int> blocks = schedule.ChildBlocksOf(loop);
  const auto hides = [&](int block) { return schedule.IsHidingStores(block); };
  if (std::any_of(blocks.begin(), blocks.end(), hides))
    if (const WhyNot why = WhyNotApartFromHidden(schedule, loop, facts); !why.empty()) return why;
  for (int block : blocks) {
    if (hides(block)) continue;
    if (const WhyNot why = WhyNotUsableBelow(schedule, loop, block, facts); !why.empty()) return why;
    const BoundRealize realize(schedule, block);
    bool reduces = false;
    for (size_t i = 0; i < realize->iter_values.size(); ++i) {
      const IterVar& iter = realize->block->iter_vars[i];
      if (iter.kind == IterKind::kSpatial || !Feeds(schedule, loop, realize->iter_values[i])) continue;
      if (!allow_reduce || iter.kind != IterKind::kReduce)
        return fmt::format("it feeds iter var \"{}\" of block \"{}\", which is not data-parallel", iter.var.name(),
                           realize->block->name);
      reduces = true;
    }
    for (const BufferRegion& write : realize->block->writes) {
      if (reduces) continue;  // The threads of the group make one result together.
      if (const WhyNot why = WhyNotOwnBuffer(schedule, loop, kind, block, write, facts); !why.empty()) return why;
    }
  }
  return "";
}

Status ReplaceUnderMarks(Schedule& schedule, int row, Stmt replacement, const std::vector<int>& loops,
                         std::string_view primitive, int place, const std::vector<BlockReuse>& reuse) {
  return ChangeUnderMarks(schedule, loops, primitive, place,
                          [&](Schedule& changed) { changed.Replace(row, std::move(replacement), reuse); });
}
Status ChangeUnderMarks(Schedule& schedule, const std::vector<int>& loops, std::string_view primitive, int place,
                        const std::function<void(Schedule&)>& change) {
  const auto is_marked = [&](int loop) { return IsConcurrent(schedule.LoopOf(loop).kind); };
  if (std::none_of(loops.begin(), loops.end(), is_marked)) {
    change(schedule);
    return OkStatus();
  }
  Schedule changed = schedule;
  change(changed);
  const auto is_new = [&](int row) {
    return size_t(row) >= schedule.NumRows() || !schedule.IsLoop(row) ||
           !schedule.LoopOf(row).loop_var.same_as(changed.LoopOf(row).loop_var);
  };
  std::vector<int> asked = loops;
  std::erase_if(asked, [&](int loop) { return !changed.IsLoop(loop); });  // Another nest took the place of theirs.
  for (int row = 0; size_t(row) < changed.NumRows(); ++row) {
    if (changed.ChangedAt(row) <= schedule.NumReplacements()) continue;
    if (changed.IsLoop(row) && is_new(row)) asked.push_back(row);
  }
  for (int loop : asked) {
    const For& node = changed.LoopOf(loop);
    if (!IsConcurrent(node.kind)) continue;
    const WhyNot why = WhyNotConcurrent(changed, loop, node.kind, node.thread.starts_with("threadIdx"));
    if (!why.empty())
      return schedule.Error(primitive, place,
                            fmt::format("loop \"{}\" runs its iterations at once: {}", node.loop_var.name(), why));
  }
  schedule = std::move(changed);
  return OkStatus();
}

WhyNot WhyNotOrdered(const Schedule& schedule, const std::vector<int>& blocks) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (const BufferRegion& write : schedule.BlockOf(blocks[i]).writes) {
      for (size_t k = 0; k < blocks.size(); ++k) {
        const BlockNode& other = schedule.BlockOf(blocks[k]);
        if (k == i || (!Reads(other, write.buffer) && !Writes(other, write.buffer))) continue;
        const WhyNot why = WhyNotOrdered(schedule, blocks[std::min(i, k)], blocks[std::max(i, k)], write.buffer);
        if (!why.empty()) return why;
      }
    }
  }
  return "";
}

WhyNot WhyNotPermutable(const Schedule& schedule, int top) {
  const std::vector<int> blocks = schedule.ChildBlocksOf(top);
  for (int block : blocks) {
    if (const WhyNot why = WhyNotAnyOrder(schedule, top, block); !why.empty()) return why;
    const BlockNode& node = schedule.BlockOf(block);
    for (const BufferRegion& write : node.writes)
      if (IsReadOutsideBlocksBelow(schedule, top, write.buffer))
        return fmt::format("a condition, bound or binding below reads buffer \"{}\", which block \"{}\" writes",
                           write.buffer->name, node.name);
  }
  return WhyNotOrdered(schedule, blocks);
}

namespace {

int OutermostLoop(const Schedule& schedule, int loop) {
  while (schedule.IsLoop(schedule.ParentOf(loop))) loop = schedule.ParentOf(loop);
  return loop;
}

// Whether what is read of `block` below loop `above` was made in the same iteration of all loops around both.
bool IsOfOneRound(const Schedule& schedule, int above, int block) {
  const BlockScope& scope = schedule.Scope(schedule.ScopeOf(block));
  for (const BufferRegion& write : schedule.BlockOf(block).writes)
    for (int reader : scope.ReadersOf(write.buffer))
      if (reader != block && schedule.IsAncestor(above, reader) && !IsCovered(schedule, block, reader, write.buffer))
        return false;
  return true;
}

// Blocks that run between `block` and `target` or in turns with either; what reads what an earlier iteration made has
// all of the loops around both between.
std::vector<int> BlocksCrossed(const Schedule& schedule, int above, int block, int target, Way way) {
  if (way == Way::kDown && schedule.IsLoop(above) && !IsOfOneRound(schedule, above, block)) {
    std::vector<int> others = schedule.ChildBlocksOf(OutermostLoop(schedule, above));
    std::erase(others, block);
    return others;
  }
  const auto [first, last] =
      std::minmax({ChildIndexTowards(schedule, above, block), ChildIndexTowards(schedule, above, target)});
  std::vector<int> crossed = ChildBlocksBetween(schedule, above, first, last);
  std::erase(crossed, block);
  return crossed;
}

WhyNot Conflict(const Schedule& schedule, int other, const char* does, const Buffer& buffer, const char* what) {
  return fmt::format("block \"{}\" on the way {} buffer \"{}\", which it {}", schedule.BlockOf(other).name, does,
                     buffer->name, what);
}

// Whether what `producer` has made when `block` reads it is what is there in the end: it reads nothing that changes
// after, `depth` producers up.
bool IsFinal(const Schedule& schedule, int producer, int block, const Buffer& buffer, int depth = 8) {
  const bool is_made_once = depth > 0 && WritesOneValuePerElement(schedule.BlockOf(producer)) &&
                            WhyNotUsable(schedule, producer).empty() && IsCovered(schedule, producer, block, buffer) &&
                            LoopThatReduces(schedule, producer, CommonAncestor(schedule, producer, block)) < 0;
  if (!is_made_once) return false;
  const int around = CommonAncestor(schedule, producer, block);
  if (!schedule.IsLoop(around)) return true;
  const int above = OutermostLoop(schedule, around);
  for (const BufferRegion& read : schedule.BlockOf(producer).reads)
    for (int writer : schedule.Scope(schedule.ScopeOf(producer)).WritersOf(read.buffer))
      if (schedule.IsAncestor(above, writer) && writer != producer &&
          !IsFinal(schedule, writer, producer, read.buffer, depth - 1))
        return false;
  return true;
}

// Whether `other`, in a loop below `above` with `block`, may read what a later iteration of it makes of the buffer: out
// of that loop, the block makes it before.
bool MayReadWhatComesLater(const Schedule& schedule, int above, int block, int other, const Buffer& buffer) {
  const int shared = CommonAncestor(schedule, block, other);
  return shared != above && schedule.IsLoop(shared) && schedule.IsAncestor(above, shared) &&
         !IsCovered(schedule, block, other, buffer);
}

WhyNot WhyNotAcross(const Schedule& schedule, int above, int block, int other, Way way) {
  const BlockNode &node = schedule.BlockOf(block), &crossed = schedule.BlockOf(other);
  if (schedule.IsHiding(other)) return Hides(schedule, other);
  const bool comes_first = IsBefore(schedule, other, block);
  for (const BufferRegion& read : node.reads) {
    if (!Writes(crossed, read.buffer)) continue;
    const bool is_final = way == Way::kUp || IsFinal(schedule, other, block, read.buffer);
    if (!comes_first || !is_final) return Conflict(schedule, other, "writes", read.buffer, "reads");
  }
  for (const BufferRegion& write : node.writes) {
    if (Writes(crossed, write.buffer)) return Conflict(schedule, other, "writes", write.buffer, "writes");
    if (!Reads(crossed, write.buffer) || way == Way::kDown) continue;
    if (comes_first || !WritesOneValuePerElement(node) ||
        MayReadWhatComesLater(schedule, above, block, other, write.buffer))
      return Conflict(schedule, other, "reads", write.buffer, "writes");
  }
  return "";
}

}  // namespace

WhyNot WhyNotSwappable(const Schedule& schedule, int a, int b) {
  for (const auto& [writer, other] : {std::pair(a, b), std::pair(b, a)}) {
    const BlockNode& node = schedule.BlockOf(other);
    if (schedule.IsHiding(other)) return Hides(schedule, other);
    for (const BufferRegion& write : schedule.BlockOf(writer).writes) {
      if (Reads(node, write.buffer) || Writes(node, write.buffer))
        return fmt::format("block \"{}\" on the way uses buffer \"{}\", which block \"{}\" writes", node.name,
                           write.buffer->name, schedule.BlockOf(writer).name);
    }
  }
  return "";
}

WhyNot WhyNotInTurns(const Schedule& schedule, int first, int second) {
  const BlockNode &a = schedule.BlockOf(first), &b = schedule.BlockOf(second);
  for (int block : {first, second})
    if (schedule.IsHiding(block)) return Hides(schedule, block);
  const auto both = [&](const Buffer& buffer) {
    return fmt::format("blocks \"{}\" and \"{}\" may use the same elements of buffer \"{}\" in different iterations",
                       a.name, b.name, buffer->name);
  };
  for (const BufferRegion& write : a.writes) {
    if (Writes(b, write.buffer)) return both(write.buffer);
    if (Reads(b, write.buffer) && !IsFinal(schedule, first, second, write.buffer)) return both(write.buffer);
  }
  for (const BufferRegion& write : b.writes)
    if (Reads(a, write.buffer)) return both(write.buffer);
  return "";
}

namespace {

// A block that hides something, and is `block` or one of those that it depends on or that depend on it; -1: none.
int HiderAround(const Schedule& schedule, int block) {
  if (!schedule.HidesAny()) return -1;
  if (schedule.IsHiding(block)) return block;
  const BlockScope& scope = schedule.Scope(schedule.ScopeOf(block));
  for (const Dependency& dep : scope.DepsBySrc(block))
    if (schedule.IsHiding(dep.dst)) return dep.dst;
  for (const Dependency& dep : scope.DepsByDst(block))
    if (schedule.IsHiding(dep.src)) return dep.src;
  return -1;
}

}  // namespace

WhyNot WhyNotMovable(const Schedule& schedule, int block, int target, Way way) {
  if (schedule.UsesLoopsDirectly(block)) return "it uses loop variables directly; bind them to iter vars";
  if (const int hider = HiderAround(schedule, block); hider >= 0) return Hides(schedule, hider);
  const BoundRealize realize(schedule, block);
  if (HasLoad(realize->predicate) || std::any_of(realize->iter_values.begin(), realize->iter_values.end(), HasLoad))
    return "its predicate or binding reads memory";
  const int above = CommonAncestor(schedule, block, target);
  for (int other : BlocksCrossed(schedule, above, block, target, way)) {
    if (const WhyNot why = WhyNotAcross(schedule, above, block, other, way); !why.empty()) return why;
  }
  for (const BufferRegion& write : realize->block->writes) {
    if (!schedule.Scope(schedule.ScopeOf(block)).RowsThatReadOutside(write.buffer).empty())
      return fmt::format("a condition, bound or binding reads buffer \"{}\", which it writes", write.buffer->name);
  }
  return "";
}

}  // namespace lathe
