#include "compiler/schedule/compute_at.h"

#include <fmt/core.h>

#include "compiler/arith/int_set.h"
#include "compiler/arith/solve.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "compiler/schedule/thread_scope.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// One move: `block` goes under `loop`; `partners` are the blocks below that loop which it feeds or is fed by.
struct Move {
  const char* primitive;
  bool is_reverse;  // The block is the consumer.
  int block, loop;
  std::vector<int> partners;
};

Status CheckPlaces(const Schedule& schedule, const Move& move) {
  const int scope = schedule.ScopeOf(move.block);
  if (scope < 0) return schedule.Error(move.primitive, move.block, "the root block cannot move");
  if (schedule.ScopeOf(move.loop) != scope)
    return schedule.Error(move.primitive, move.block,
                          fmt::format("loop \"{}\" is in another scope", schedule.LoopOf(move.loop).loop_var.name()));
  if (schedule.IsAncestor(move.loop, move.block))
    return schedule.Error(move.primitive, move.block, "the loop is already around it");
  if (IsConditional(schedule, scope, move.block))
    return schedule.Error(move.primitive, move.block,
                          "an if, while or let around it is a condition that would be lost; move it out of there");
  if (move.is_reverse && IsConditional(schedule, scope, move.loop))
    return schedule.Error(move.primitive, move.block,
                          fmt::format("loop \"{}\" is under an if, while or let: a condition that it does not have",
                                      schedule.LoopOf(move.loop).loop_var.name()));
  const BlockNode& node = schedule.BlockOf(move.block);
  const WhyNot why = node.init ? WhyNotReduction(schedule, move.block) : WhyNotComplete(schedule, move.block);
  if (!why.empty())
    return schedule.Error(move.primitive, move.block, fmt::format("it is neither complete nor a reduction: {}", why));
  if (!move.is_reverse && IsOutputBlock(schedule, move.block))
    return schedule.Error(move.primitive, move.block, "it writes an output of the scope");
  if (move.partners.empty())
    return schedule.Error(move.primitive, move.block,
                          move.is_reverse ? "it has no producer in this scope" : "it has no consumer in this scope");
  for (int partner : move.partners) {
    if (schedule.IsAncestor(move.loop, partner)) continue;
    return schedule.Error(move.primitive, move.block,
                          fmt::format("{} \"{}\" is not below loop \"{}\"", move.is_reverse ? "producer" : "consumer",
                                      schedule.BlockOf(partner).name, schedule.LoopOf(move.loop).loop_var.name()));
  }
  if (const WhyNot partial = WhyNotEachStepOnce(schedule, move.block);
      !partial.empty() && (move.is_reverse || !HasLoopsOfItsOwn(schedule, move.block)))
    return schedule.Error(move.primitive, move.block, fmt::format("its loops are no whole reduction: {}", partial));
  if (move.is_reverse)
    if (const WhyNot partial = WhyNotWholeDomain(schedule, move.block); !partial.empty())
      return schedule.Error(move.primitive, move.block,
                            fmt::format("its loops do not run over its whole domain: {}", partial));
  const WhyNot blocked = WhyNotMovable(schedule, move.block, move.loop, move.is_reverse ? Way::kUp : Way::kDown);
  return blocked.empty() ? OkStatus() : schedule.Error(move.primitive, move.block, blocked);
}

// Where a loop around both goes round, the block reads what its producer makes in the same iteration: not what an
// earlier one left there.
Status CheckReadsOfThisRound(const Schedule& schedule, const Move& move, int producer) {
  const int shared = CommonAncestor(schedule, producer, move.block);
  if (!schedule.IsLoop(shared)) return OkStatus();
  for (const BufferRegion& read : schedule.BlockOf(move.block).reads) {
    if (!Writes(schedule.BlockOf(producer), read.buffer) || IsCovered(schedule, producer, move.block, read.buffer))
      continue;
    return schedule.Error(
        move.primitive, move.block,
        fmt::format("it may read elements of \"{}\" that block \"{}\" makes in another iteration of "
                    "loop \"{}\"",
                    read.buffer->name, schedule.BlockOf(producer).name, schedule.LoopOf(shared).loop_var.name()));
  }
  return OkStatus();
}

// A producer's elements are final after one iteration of `loop` only if no loop at or above it reduces them.
Status CheckProducersAreFinished(const Schedule& schedule, const Move& move) {
  for (int producer : move.partners) {
    const auto is_opaque = [](const IterVar& iter) {
      return iter.kind != IterKind::kSpatial && iter.kind != IterKind::kReduce && !IsConstInt(iter.domain.extent, 1);
    };
    RETURN_IF_ERROR(CheckReadsOfThisRound(schedule, move, producer));
    const std::vector<IterVar>& iters = schedule.BlockOf(producer).iter_vars;
    if (std::any_of(iters.begin(), iters.end(), is_opaque))
      return schedule.Error(move.primitive, move.block,
                            fmt::format("producer \"{}\" has an opaque iter var: an element may change later",
                                        schedule.BlockOf(producer).name));
    const int loop = LoopThatReduces(schedule, producer, move.loop);
    if (loop >= 0)
      return schedule.Error(move.primitive, move.block,
                            fmt::format("loop \"{}\" still reduces producer \"{}\"",
                                        schedule.LoopOf(loop).loop_var.name(), schedule.BlockOf(producer).name));
  }
  return OkStatus();
}

// What a partner touches of `theirs` in one iteration of the loop; in all of the threads that share what the moved
// block makes.
std::vector<Range> RegionOfPartner(const Schedule& schedule, const Move& move, int partner, const BufferRegion& theirs,
                                   const Analyzer& analyzer) {
  std::vector<Range> region = RegionAt(schedule, move.loop, partner, theirs, analyzer);
  if (move.is_reverse) return region;
  const IterDomain threads = ThreadsThatShare(schedule, move.loop, theirs.buffer->scope);
  return threads.empty() ? region : RelaxRegion(std::move(region), threads, analyzer);
}

// For each buffer between the block and its partners: what one iteration of the block touches, and what must be
// covered.
std::vector<RegionDemand> DemandsOf(const Schedule& schedule, const Move& move, const Analyzer& analyzer) {
  const BlockNode& node = schedule.BlockOf(move.block);
  std::vector<RegionDemand> demands;
  for (const BufferRegion& mine : move.is_reverse ? node.reads : node.writes) {
    std::optional<std::vector<Range>> required;
    for (int partner : move.partners) {
      const BlockNode& other = schedule.BlockOf(partner);
      for (const BufferRegion& theirs : move.is_reverse ? other.writes : other.reads) {
        if (!theirs.buffer.same_as(mine.buffer)) continue;
        std::vector<Range> region = RegionOfPartner(schedule, move, partner, theirs, analyzer);
        required = required ? UnionRegion(*required, region, analyzer) : region;
      }
    }
    if (required) demands.push_back(RegionDemand{mine.region, *std::move(required)});
  }
  return demands;
}

// The block in its new loops, outermost first.
struct Nest {
  std::vector<For> loops;
  BlockRealize realize;
};

Stmt ToStmt(Nest nest) {
  Stmt stmt = std::move(nest.realize);
  for (size_t i = nest.loops.size(); i-- > 0;) {
    nest.loops[i].body = std::move(stmt);
    stmt = nest.loops[i];
  }
  return stmt;
}

// The one index that all of the block's writes have in each dimension, with the length of that dimension. Blocks of
// several elements may declare more than there is: of those, dimensions of one element.
std::vector<std::pair<Expr, Expr>> OwnIndices(const BlockNode& block) {
  std::vector<std::pair<Expr, Expr>> indices;
  if (const BufferStore* store = block.body.As<BufferStore>()) {
    for (size_t d = 0; d < store->indices.size(); ++d) indices.emplace_back(store->indices[d], store->buffer->shape[d]);
  } else if (block.writes.size() == 1) {
    const BufferRegion& write = block.writes[0];
    for (size_t d = 0; d < write.region.size(); ++d)
      if (IsConstInt(write.region[d].extent, 1)) indices.emplace_back(write.region[d].min, write.buffer->shape[d]);
  }
  return indices;
}

// What keeps what a block writes inside of its buffer, where only its bindings did.
Expr WhereItsWriteIs(const BlockNode& block, const VarMap& values, const Analyzer& analyzer) {
  Analyzer own = Analyzer::Under(analyzer);
  for (const IterVar& iter : block.iter_vars) own.Bind(iter.var, iter.domain);
  Expr where = True();
  const auto note = [&](const Expr& condition) {
    if (own.CanProve(condition)) return;
    const Expr bound = analyzer.Simplify(Substitute(condition, values));
    if (!IsConstInt(bound, 1)) where = And(where, bound);
  };
  for (const auto& [index, length] : OwnIndices(block)) {
    note(LessEqual(IntConst(index.dtype(), 0), index));
    note(Less(index, length));
  }
  return where;
}

// The values that the iter var takes in a run of the scope before the move, where the scope declares how much of what
// the block reads is there; nullopt: no less than its domain.
std::optional<Range> TakenSoFar(const Schedule& schedule, const Move& move, size_t i, const Analyzer& analyzer) {
  const BlockRealize& realize = schedule.RealizeOf(move.block);
  const Range& domain = realize.block->iter_vars[i].domain;
  const int scope = schedule.ScopeOf(move.block);
  const std::vector<BufferRegion>& reads = realize.block->reads;
  const auto is_declared = [&](const BufferRegion& read) { return Reads(schedule.BlockOf(scope), read.buffer); };
  if (move.is_reverse || std::none_of(reads.begin(), reads.end(), is_declared)) return std::nullopt;
  const Range taken = RelaxRegion({{realize.iter_values[i], IntConst(domain.min.dtype(), 1)}},
                                  LoopsBetween(schedule, scope, move.block), analyzer)[0];
  const bool is_inside = !IsConstInt(taken.extent, 0) && analyzer.CanProve(LessEqual(domain.min, taken.min)) &&
                         analyzer.CanProve(LessEqual(taken.min + taken.extent, domain.min + domain.extent));
  const bool is_all = analyzer.CanProveEqual(domain.extent, taken.extent);
  return is_inside && !is_all ? std::optional(taken) : std::nullopt;
}

// What keeps `value` among those of an iter var.
Expr KeptInside(const SolvedIterVar& solved, const Range& domain, const std::optional<Range>& taken, const Expr& value,
                const Analyzer& analyzer) {
  if (!taken) return GuardPredicate(solved, domain, value, analyzer);
  return analyzer.Simplify(And(LessEqual(taken->min, value), Less(value, taken->min + taken->extent)));
}

// `predicate`: the block's own, in terms of its iter vars.
Nest MakeNest(const Schedule& schedule, const Move& move, const std::vector<SolvedIterVar>& domains,
              const Expr& predicate, bool preserve_unit_loops, Analyzer& analyzer) {
  Nest nest{{}, schedule.RealizeOf(move.block)};
  nest.realize.predicate = True();
  VarMap values;
  for (size_t i = 0; i < domains.size(); ++i) {
    const IterVar& iter = nest.realize.block->iter_vars[i];
    const Range& domain = domains[i].domain;
    Expr value = domain.min;
    if (preserve_unit_loops || !IsConstInt(domain.extent, 1)) {
      const Var ax(fmt::format("ax{}", nest.loops.size()), iter.var.dtype());
      analyzer.Bind(ax, Range{IntConst(ax.dtype(), 0), domain.extent});
      nest.loops.push_back(
          For{ax, IntConst(ax.dtype(), 0), domain.extent, ForKind::kSerial, "", {}, Evaluate{Expr(0)}});
      value = analyzer.Simplify(domain.min) + ax;  // As TVM leaves it.
    }
    nest.realize.iter_values[i] = value;
    values.emplace(iter.var.get(), value);
    const std::optional<Range> taken = TakenSoFar(schedule, move, i, analyzer);
    for (const Expr& part : ConjunctsOf(KeptInside(domains[i], iter.domain, taken, value, analyzer)))
      nest.realize.predicate = And(nest.realize.predicate, part);
  }
  nest.realize.predicate = And(nest.realize.predicate, analyzer.Simplify(Substitute(predicate, values)));
  if (!move.is_reverse)
    nest.realize.predicate = And(nest.realize.predicate, WhereItsWriteIs(*nest.realize.block, values, analyzer));
  return nest;
}

// Conditions of `made` that hold wherever `used`, if it is one element, is there at all.
void DropWhatHolds(const GuardedRegion& used, GuardedRegion& made, const Analyzer& analyzer) {
  Analyzer inside = Analyzer::Under(analyzer);
  for (size_t d = 0; d < used.box.size(); ++d) {
    const Expr& at = used.box[d].min;
    if (!IsConstInt(used.box[d].extent, 1)) continue;
    for (const Expr& from : used.from[d]) inside.Assume(LessEqual(from, at));
    for (const Expr& below : used.below[d]) inside.Assume(Less(at, below));
  }
  std::erase_if(made.conditions, [&](const Expr& condition) { return inside.CanProve(condition); });
}

// Whether some producer writes for certain, in one iteration of the loop, all of `read` over `domains`.
bool IsMade(const Schedule& schedule, const Move& move, const BufferRegion& read, const DomMap& domains,
            const DomMap& own, const Analyzer& analyzer) {
  const std::vector<Range> full = FullRegion(read.buffer).region;
  GuardedRegion used{RelaxRegion(read.region, domains, analyzer, &full), {}, {}, {}};
  for (Range& part : used.box) part.min = analyzer.Simplify(part.min);        // f // 4 * 4 + f % 4 is f.
  for (const Range& most : RelaxRegion(read.region, own, analyzer, &full)) {  // Guards keep it in its own domain.
    used.from.push_back({most.min});
    used.below.push_back({most.min + most.extent});
  }
  return std::any_of(move.partners.begin(), move.partners.end(), [&](int producer) {
    std::vector<GuardedRegion> made = WrittenForCertain(schedule, move.loop, producer, read.buffer, analyzer);
    return std::any_of(made.begin(), made.end(), [&](GuardedRegion& part) {
      DropWhatHolds(used, part, analyzer);
      return Covers(part, used, full, analyzer);
    });
  });
}

// The domains as numbers, in terms of `loops`; nothing where they are something else.
std::optional<std::vector<DigitRange>> NumbersOf(const std::vector<SolvedIterVar>& domains, const LoopChain& loops) {
  std::vector<DigitRange> ranges;
  for (const SolvedIterVar& solved : domains) {
    std::optional<DigitSum> first = loops.Read(solved.domain.min);
    const int64_t* extent = AsIntConst(solved.domain.extent);
    if (!first || extent == nullptr || *extent < 1 || *extent > INT32_MAX) return std::nullopt;
    ranges.push_back({*std::move(first), *extent});
  }
  return ranges;
}

// What IsMade asks for, by numbers alone; false: not known.
bool AreNumbersMade(const Schedule& schedule, const Move& move, const BufferRegion& read,
                    const std::vector<SolvedIterVar>& domains) {
  const std::optional<LoopChain> loops = LoopChain::DownTo(schedule, move.loop);
  const auto ranges = loops ? NumbersOf(domains, *loops) : std::nullopt;
  if (!ranges) return false;
  const std::optional<DigitBox> used =
      NestNumbers::OfDomains(*loops, *ranges).TouchedAtMost(schedule.BlockOf(move.block), read, loops->size());
  return used && std::any_of(move.partners.begin(), move.partners.end(), [&](int producer) {
           const std::optional<DigitBox> made = NumbersWritten(schedule, producer, read.buffer, loops->size());
           return made && Covers(*made, *used, read.buffer->shape);
         });
}

// A consumer under the loop reads nothing but what one iteration of it has made: the rest may not be written yet.
Status CheckReadsOnlyWhatIsMade(const Schedule& schedule, const Move& move, const std::vector<SolvedIterVar>& domains,
                                const Analyzer& analyzer) {
  const BlockNode& node = schedule.BlockOf(move.block);
  const auto is_made = [&](const BufferRegion& read) {
    DomMap solved, own;
    for (size_t i = 0; i < domains.size(); ++i) {
      solved.Add(node.iter_vars[i].var, domains[i].domain);
      own.Add(node.iter_vars[i].var, node.iter_vars[i].domain);
    }
    return IsMade(schedule, move, read, solved, own, analyzer);
  };
  for (const BufferRegion& read : node.reads) {
    const bool is_made_here = std::any_of(move.partners.begin(), move.partners.end(), [&](int producer) {
      return Writes(schedule.BlockOf(producer), read.buffer);
    });
    if (!is_made_here || AreNumbersMade(schedule, move, read, domains) || is_made(read)) continue;
    return schedule.Error(move.primitive, move.block,
                          fmt::format("it may read more of \"{}\" than one iteration of loop \"{}\" has made",
                                      read.buffer->name, schedule.LoopOf(move.loop).loop_var.name()));
  }
  return OkStatus();
}

// Whether a loop around both the block and its new place also makes what the block reads.
bool ReadsWhatASharedLoopMakes(const Schedule& schedule, const Move& move, int shared) {
  const std::vector<int> loops = schedule.LoopsOf(shared);
  const int top = loops.empty() ? shared : loops.front();
  const BlockScope& scope = schedule.Scope(schedule.ScopeOf(move.block));
  for (const BufferRegion& read : schedule.BlockOf(move.block).reads) {
    if (scope.IsWrittenOutside(read.buffer)) return true;
    for (int writer : scope.WritersOf(read.buffer))
      if (schedule.IsAncestor(top, writer)) return true;
  }
  return false;
}

// Whether the scope's block reads from outside what the block reads: as much as it declares has been made there.
bool ReadsFromOutside(const Schedule& schedule, const Move& move) {
  const auto is_made_outside = [&](const BufferRegion& read) {
    for (int inner = schedule.ScopeOf(move.block); schedule.ScopeOf(inner) >= 0; inner = schedule.ScopeOf(inner)) {
      if (Allocates(schedule.BlockOf(inner), read.buffer)) return false;
      for (int writer : schedule.Scope(schedule.ScopeOf(inner)).WritersOf(read.buffer))
        if (writer != inner) return true;
    }
    return false;
  };
  const std::vector<BufferRegion>& reads = schedule.BlockOf(move.block).reads;
  return std::any_of(reads.begin(), reads.end(), is_made_outside);
}

// A producer computes in an iteration of the loops (a run of the scope) that stay around it no more than it did: what
// more would need may not be there yet.
Status CheckComputesNoMore(const Schedule& schedule, const Move& move, const std::vector<SolvedIterVar>& domains,
                           const Analyzer& analyzer) {
  const int shared = CommonAncestor(schedule, move.block, move.loop);
  const bool is_loop = schedule.IsLoop(shared);
  if (is_loop ? !ReadsWhatASharedLoopMakes(schedule, move, shared) : !ReadsFromOutside(schedule, move))
    return OkStatus();
  const BlockRealize& realize = schedule.RealizeOf(move.block);
  const IterDomain inner = LoopsBetween(schedule, shared, move.block);
  for (size_t i = 0; i < domains.size(); ++i) {
    const IterVar& iter = realize.block->iter_vars[i];
    const Range before = RelaxRegion({{realize.iter_values[i], IntConst(iter.var.dtype(), 1)}}, inner, analyzer)[0];
    const Range& after = domains[i].domain;
    const bool is_in = !IsConstInt(before.extent, 0) &&
                       (analyzer.CanProve(LessEqual(before.min, after.min)) ||
                        analyzer.CanProve(LessEqual(before.min, iter.domain.min))) &&
                       (analyzer.CanProve(LessEqual(after.min + after.extent, before.min + before.extent)) ||
                        analyzer.CanProve(LessEqual(iter.domain.min + iter.domain.extent, before.min + before.extent)));
    if (is_in) continue;
    const std::string turn = is_loop
                                 ? fmt::format("an iteration of loop \"{}\"", schedule.LoopOf(shared).loop_var.name())
                                 : fmt::format("a run of block \"{}\"", schedule.BlockOf(shared).name);
    return schedule.Error(
        move.primitive, move.block,
        fmt::format("iter var \"{}\" would take values in {} that it does not take there now, and what the block reads "
                    "may not be made by then",
                    iter.var.name(), turn));
  }
  return OkStatus();
}

// Whether some block of the scope writes all of the buffer for certain.
bool IsMadeWhole(const Schedule& schedule, int scope, const Buffer& buffer) {
  Analyzer analyzer;
  BindIterVars(schedule.BlockOf(scope), analyzer);
  const std::vector<Range> full = FullRegion(buffer).region;
  const GuardedRegion whole = WholeBox(full);
  const std::vector<int> writers = schedule.Scope(scope).WritersOf(buffer);
  return std::any_of(writers.begin(), writers.end(), [&](int writer) {
    const std::vector<GuardedRegion> made = WrittenForCertain(schedule, scope, writer, buffer, analyzer);
    return std::any_of(made.begin(), made.end(),
                       [&](const GuardedRegion& part) { return Covers(part, whole, full, analyzer); });
  });
}

// Whether all that the block reads, over all of its domain, is inside of the buffer.
bool StaysInside(const BlockNode& block, const BufferRegion& read) {
  const Analyzer analyzer;
  DomMap domains;
  for (const IterVar& iter : block.iter_vars) domains.Add(iter.var, iter.domain);
  const std::vector<Range> full = FullRegion(read.buffer).region, box = RelaxRegion(read.region, domains, analyzer);
  for (size_t d = 0; d < full.size(); ++d) {
    const bool is_inside = !IsConstInt(box[d].extent, 0) && analyzer.CanProveGreaterEqual(box[d].min, 0) &&
                           analyzer.CanProve(LessEqual(box[d].min + box[d].extent, full[d].extent));
    if (!is_inside) return false;
  }
  return true;
}

// A block that runs over a part of its domain may do so since no more than that part of what it reads is made, or
// there.
Status CheckPartialInputs(const Schedule& schedule, const Move& move) {
  const int scope = schedule.ScopeOf(move.block);
  if (schedule.IsLoop(CommonAncestor(schedule, move.block, move.loop))) return OkStatus();
  if (WhyNotWholeDomain(schedule, move.block).empty()) return OkStatus();
  for (const BufferRegion& read : schedule.BlockOf(move.block).reads)
    if (Allocates(schedule.BlockOf(scope), read.buffer) &&
        (!IsMadeWhole(schedule, scope, read.buffer) || !StaysInside(schedule.BlockOf(move.block), read)))
      return schedule.Error(
          move.primitive, move.block,
          fmt::format("it runs over a part of its domain, and no more of \"{}\" may be made", read.buffer->name));
  return OkStatus();
}

// From `top`, a loop, outwards: all loops of its scope, outermost first.
IterDomain DomainDownTo(const Schedule& schedule, int top) {
  IterDomain loops = LoopsBetween(schedule, schedule.ScopeOf(top), top);
  loops.emplace_back(schedule.LoopOf(top).loop_var, Range{schedule.LoopOf(top).min, schedule.LoopOf(top).extent});
  return loops;
}

bool Uses(const Range& range, const Var& var) {
  return UsesVar(range.min, var.get()) || UsesVar(range.extent, var.get());
}

// Whether what iterations that follow each other run over touches, in each of `loops`: nothing is left out between the
// first and the last.
bool LeavesNoGaps(Range range, const IterDomain& loops, const Analyzer& analyzer) {
  for (size_t i = loops.size(); i-- > 0;) {
    const Var& var = loops[i].first;
    if (!Uses(range, var)) continue;
    const VarMap next{{var.get(), var + 1}};
    const Range after{Substitute(range.min, next), Substitute(range.extent, next)};
    if (!analyzer.CanProve(LessEqual(after.min, range.min + range.extent)) ||
        !analyzer.CanProve(LessEqual(range.min, after.min + after.extent)))
      return false;
    range = RelaxRegion({range}, IterDomain{loops[i]}, analyzer)[0];
  }
  return true;
}

// Whether no loop moves two of `domains`, or another loop, at a time, and each leaves nothing out.
bool CoverApart(const std::vector<SolvedIterVar>& domains, const IterDomain& loops, const Analyzer& analyzer) {
  for (const auto& loop : loops) {
    if (std::any_of(loops.begin(), loops.end(), [&](const auto& inner) { return Uses(inner.second, loop.first); }))
      return false;
    const auto uses = [&](const SolvedIterVar& solved) { return Uses(solved.domain, loop.first); };
    if (std::count_if(domains.begin(), domains.end(), uses) > 1) return false;
  }
  return std::all_of(domains.begin(), domains.end(),
                     [&](const SolvedIterVar& solved) { return LeavesNoGaps(solved.domain, loops, analyzer); });
}

// Whether the values, each anywhere in its domain, take all there are between the first and the last.
bool CoverTogether(const std::vector<SolvedIterVar>& domains, IterDomain loops, const Analyzer& analyzer) {
  std::vector<Expr> values;
  for (const SolvedIterVar& solved : domains) {
    const Var step("step", solved.domain.extent.dtype());
    loops.emplace_back(step, Range{IntConst(step.dtype(), 0), solved.domain.extent});
    values.push_back(solved.domain.min + step);
  }
  const auto map = DetectIterMap(values, loops, True(), {IterMapLevel::kSurjective}, analyzer);
  return map.ok() && std::all_of(map->indices.begin(), map->indices.end(), [](const IterSumExpr& index) {
           return index.args.empty() || IsConstInt(index.args[0].scale, 1);
         });
}

// value < end, without a quotient.
Expr Below(const Expr& value, const Expr& end) {
  const Binary* op = value.As<Binary>();
  const bool is_quotient = op != nullptr && op->op == BinaryOp::kFloorDiv && AsIntConst(op->b) != nullptr;
  return is_quotient ? Less(op->a, end * op->b) : Less(value, end);
}

// Whether the values, each one in its domain, take all of those of the iter vars before the guards cut off the rest.
bool CoverCutOff(const std::vector<SolvedIterVar>& domains, const std::vector<IterVar>& iters, const IterDomain& loops,
                 const Analyzer& analyzer) {
  GuardedAccess access{{}, loops, True()};
  std::vector<Range> all;
  for (size_t i = 0; i < domains.size(); ++i) {
    const Range& domain = domains[i].domain;
    if (!IsConstInt(domain.extent, 1) || !IsConstInt(iters[i].domain.min, 0)) return false;
    const Expr below = Below(domain.min, iters[i].domain.extent);
    if (!analyzer.CanProve(below)) access.predicate = And(access.predicate, below);
    access.region.push_back(domain);
    all.push_back(iters[i].domain);
  }
  const std::optional<GuardedRegion> certain = TouchedForCertain(access, analyzer);
  return certain && certain->conditions.empty() && Covers(*certain, WholeBox(all), all, analyzer);
}

// Where a loop does not say what the block runs over, the block runs as long as the loop does.
Status CheckLoopsRun(const Schedule& schedule, const Move& move, const IterDomain& loops,
                     const std::vector<SolvedIterVar>& domains) {
  Analyzer analyzer;
  AssumeShapes(schedule.FuncOf(move.block), analyzer);
  for (const auto& [var, range] : loops) {
    const bool is_used =
        std::any_of(domains.begin(), domains.end(), [&](const SolvedIterVar& d) { return Uses(d.domain, var); });
    if (!is_used && !analyzer.CanProveGreaterEqual(range.extent, 1))
      return schedule.Error(move.primitive, move.block,
                            fmt::format("loop \"{}\" is not known to run, so it might not", var.name()));
    analyzer.Bind(var, range);
  }
  return OkStatus();
}

// Over all iterations of the loops around it, the consumer still runs over its whole domain (padding reads less than it
// writes; what no producer makes was there before).
Status CheckCoversItsDomain(const Schedule& schedule, const Move& move, const std::vector<SolvedIterVar>& domains,
                            const Analyzer& analyzer) {
  const IterDomain loops = DomainDownTo(schedule, move.loop);
  const std::vector<IterVar>& iters = schedule.BlockOf(move.block).iter_vars;
  RETURN_IF_ERROR(CheckLoopsRun(schedule, move, loops, domains));
  if (const std::optional<LoopChain> chain = LoopChain::DownTo(schedule, move.loop)) {
    const auto ranges = NumbersOf(domains, *chain);
    if (ranges && RunOver(*chain, *ranges, iters)) return OkStatus();
  }
  for (size_t i = 0; i < domains.size(); ++i) {
    const Range all = RelaxRegion({domains[i].domain}, loops, analyzer)[0], &own = iters[i].domain;
    const bool covers = !IsConstInt(all.extent, 0) && analyzer.CanProve(LessEqual(all.min, own.min)) &&
                        analyzer.CanProve(LessEqual(own.min + own.extent, all.min + all.extent));
    if (!covers)
      return schedule.Error(move.primitive, move.block,
                            fmt::format("iter var \"{}\" would not run over its whole domain", iters[i].var.name()));
  }
  if (CoverApart(domains, loops, analyzer) || CoverTogether(domains, loops, analyzer) ||
      CoverCutOff(domains, iters, loops, analyzer))
    return OkStatus();
  return schedule.Error(move.primitive, move.block,
                        "under that loop its iter vars would leave out values between their first and their last");
}

// An iter var that is no index of what is written, a reduction as a rule, and whose steps are spread over loops outside
// takes each step once, and the one with the init first.
Status CheckStepsOnceInOrder(const Schedule& schedule, const Move& move, const Nest& nest, const Analyzer& analyzer) {
  IterDomain loops = DomainDownTo(schedule, move.loop);
  VarMap first;
  for (const auto& [var, range] : loops) first.emplace(var.get(), range.min);
  const auto is_outer = [outer = first](const ExprNode* var) { return outer.count(var) != 0; };
  for (const For& loop : nest.loops) {
    first.emplace(loop.loop_var.get(), loop.min);
    loops.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
  }
  for (size_t i = 0; i < nest.realize.iter_values.size(); ++i) {
    const IterVar& iter = nest.realize.block->iter_vars[i];
    const Expr& value = nest.realize.iter_values[i];
    if (IsIndexOfAllWrites(*nest.realize.block, iter) || !UsesVar(value, is_outer)) continue;
    const auto map =
        DetectIterMap(nest.realize.iter_values, loops, nest.realize.predicate, {IterMapLevel::kBijective}, analyzer);
    if (!map.ok())
      return schedule.Error(
          move.primitive, move.block,
          fmt::format("iter var \"{}\" might take a step more than once or never under loop \"{}\": {}",
                      iter.var.name(), schedule.LoopOf(move.loop).loop_var.name(), map.status().message()));
    if (!analyzer.CanProveEqual(Substitute(value, first), iter.domain.min))
      return schedule.Error(move.primitive, move.block,
                            fmt::format("iter var \"{}\" would not take the first step first", iter.var.name()));
  }
  return OkStatus();
}

// Where among the loop's children the block may go: [first, last].
struct Places {
  size_t first, last;
};

Places AllowedPlaces(const Schedule& schedule, const Move& move) {
  const Seq* seq = schedule.LoopOf(move.loop).body.As<Seq>();
  Places places{0, seq == nullptr ? 1 : seq->stmts.size()};
  const auto after = [&](int row) {
    places.first = std::max(places.first, ChildIndexTowards(schedule, move.loop, row) + 1);
  };
  const auto before = [&](int row) {
    places.last = std::min(places.last, ChildIndexTowards(schedule, move.loop, row));
  };
  for (int row : ProducersOf(schedule, move.block))
    if (schedule.IsAncestor(move.loop, row)) after(row);
  for (int row : ConsumersOf(schedule, move.block))
    if (schedule.IsAncestor(move.loop, row)) before(row);
  return places;
}

StatusOr<size_t> ChoosePlace(const Schedule& schedule, const Move& move, int index) {
  const Places places = AllowedPlaces(schedule, move);
  if (places.first > places.last)
    return schedule.Error(move.primitive, move.block,
                          "no place below the loop is after its producers and before its consumers");
  if (index == -1) return places.last;
  if (index == -2) return places.first;
  if (index < 0 || size_t(index) < places.first || size_t(index) > places.last) {
    return schedule.Error(move.primitive, move.block,
                          fmt::format("index {} is not among the places {} to {}", index, places.first, places.last));
  }
  return size_t(index);
}

// The scope's body with the block taken from where it was and `nest` put into `loop` at `place`.
Stmt MoveStmt(const Schedule& schedule, const Move& move, Stmt nest, size_t place) {
  const Stmt block = schedule.StmtOf(move.block);
  For loop = schedule.LoopOf(move.loop);
  const Stmt old_loop = schedule.StmtOf(move.loop);
  std::vector<Stmt> children;
  if (const Seq* seq = loop.body.As<Seq>())
    children = seq->stmts;
  else
    children.push_back(loop.body);
  children.insert(children.begin() + place, std::move(nest));
  loop.body = MakeSeq(std::move(children));
  const Stmt new_loop = std::move(loop);
  const int scope = schedule.ScopeOf(move.block);
  const std::vector<size_t> places{ChildIndexTowards(schedule, scope, move.block),
                                   ChildIndexTowards(schedule, scope, move.loop)};
  std::optional<Stmt> body = RewriteTreeAt(schedule.BlockOf(scope).body, places, [&](const Stmt& stmt) -> Replacement {
    if (stmt.same_as(block)) return std::vector<Stmt>{};
    if (stmt.same_as(old_loop)) return std::vector<Stmt>{new_loop};
    return std::nullopt;
  });
  return *std::move(body);
}

Status Run(Schedule& schedule, const Move& move, bool preserve_unit_loops, int index) {
  RETURN_IF_ERROR(CheckPlaces(schedule, move));
  if (move.is_reverse) RETURN_IF_ERROR(CheckProducersAreFinished(schedule, move));
  ASSIGN_OR_RETURN(const size_t place, ChoosePlace(schedule, move, index));
  const std::optional<Expr> predicate = PredicateOnIterVars(schedule, move.block);
  if (!predicate)
    return schedule.Error(move.primitive, move.block, "its predicate is about loops, not about its iter vars");
  Analyzer analyzer = KnowingLoops(schedule, move.loop);
  const std::vector<RegionDemand> demands = DemandsOf(schedule, move, analyzer);
  StatusOr<std::vector<SolvedIterVar>> domains =
      SolveBlockVarDomains(schedule.BlockOf(move.block).iter_vars, demands, analyzer);
  if (!domains.ok()) return schedule.Error(move.primitive, move.block, domains.status().message());
  if (move.is_reverse) {
    RETURN_IF_ERROR(CheckReadsOnlyWhatIsMade(schedule, move, *domains, analyzer));
    RETURN_IF_ERROR(CheckCoversItsDomain(schedule, move, *domains, analyzer));
  } else {
    RETURN_IF_ERROR(CheckComputesNoMore(schedule, move, *domains, analyzer));
    RETURN_IF_ERROR(CheckPartialInputs(schedule, move));
  }
  Nest nest = MakeNest(schedule, move, *domains, *predicate, preserve_unit_loops, analyzer);
  if (move.is_reverse) RETURN_IF_ERROR(CheckStepsOnceInOrder(schedule, move, nest, analyzer));
  const int scope = schedule.ScopeOf(move.block);
  std::vector<int> around = LoopsDownTo(schedule, move.loop);
  for (int loop : schedule.LoopsOf(move.block))  // Those that stay without it.
    if (schedule.ChildBlocksOf(loop).size() > 1) around.push_back(loop);
  Stmt body = MoveStmt(schedule, move, ToStmt(std::move(nest)), place);
  return ReplaceUnderMarks(schedule, scope, WithBody(schedule.RealizeOf(scope), std::move(body)), around,
                           move.primitive, move.block);
}

}  // namespace

Status ComputeAt(Schedule& schedule, BlockRV block_rv, LoopRV loop_rv, bool preserve_unit_loops, int index) {
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  const std::optional<LoopMark> mark = schedule.MarkOf(loop_rv);
  if (mark == LoopMark::kInline) RETURN_IF_ERROR(InlineBlock(schedule, block));
  if (!mark) {
    ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
    Move move{"compute_at", false, block, loop, {}};
    if (schedule.ScopeOf(block) >= 0) move.partners = ConsumersOf(schedule, block);
    RETURN_IF_ERROR(Run(schedule, move, preserve_unit_loops, index));
  }
  schedule.Record("ComputeAt", {block_rv, loop_rv}, {int64_t{preserve_unit_loops}, int64_t{index}}, {});
  return OkStatus();
}

Status ReverseComputeAt(Schedule& schedule, BlockRV block_rv, LoopRV loop_rv, bool preserve_unit_loops, int index) {
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  const std::optional<LoopMark> mark = schedule.MarkOf(loop_rv);
  if (mark == LoopMark::kInline) RETURN_IF_ERROR(ReverseInlineBlock(schedule, block));
  if (!mark) {
    ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
    Move move{"reverse_compute_at", true, block, loop, {}};
    if (schedule.ScopeOf(block) >= 0) move.partners = ProducersOf(schedule, block);
    RETURN_IF_ERROR(Run(schedule, move, preserve_unit_loops, index));
  }
  schedule.Record("ReverseComputeAt", {block_rv, loop_rv}, {int64_t{preserve_unit_loops}, int64_t{index}}, {});
  return OkStatus();
}

}  // namespace lathe
