#include "compiler/schedule/compute_inline.h"

#include <fmt/core.h>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/structural.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Replaces loads of `buffer`, and computes the regions of inner blocks that read it anew.
class LoadReplacer : public StmtExprMutator {
 public:
  using Replace = std::function<Expr(const BufferLoad&)>;
  LoadReplacer(const Schedule& schedule, const Buffer& buffer, Replace replace)
      : schedule_(schedule), buffer_(buffer), replace_(std::move(replace)) {}

 protected:
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr inner = VisitChildren(self);
    return load.buffer.same_as(buffer_) ? replace_(*inner.As<BufferLoad>()) : inner;
  }
  Block VisitBlock(const Block& block) override {
    Block inner = StmtExprMutator::VisitBlock(block);
    if (Reads(*inner, buffer_)) RecomputeRegions(schedule_, schedule_.RowOf(block), inner.Mutable());
    return inner;
  }

 private:
  const Schedule& schedule_;
  const Buffer& buffer_;
  Replace replace_;
};

// As TVM lists what a block reads once it is changed: first what the old regions read to be known (idx of A[idx[v]]).
void PutIndicesFirst(std::vector<BufferRegion>& reads, const std::vector<BufferRegion>& old) {
  std::vector<Buffer> first;
  for (const BufferRegion& region : old)
    for (const Range& range : region.region)
      PostOrderVisit(range.min, [&](const Expr& e) {
        if (const BufferLoad* load = e.As<BufferLoad>()) first.push_back(load->buffer);
      });
  std::stable_partition(reads.begin(), reads.end(), [&](const BufferRegion& region) {
    return std::any_of(first.begin(), first.end(), [&](const Buffer& b) { return b.same_as(region.buffer); });
  });
}

// What is stored is stored under `condition`.
struct GuardedStore {
  std::optional<Expr> condition;
  BufferStore store;
};
std::optional<GuardedStore> AsGuardedStore(const Stmt& body) {
  if (const BufferStore* store = body.As<BufferStore>()) return GuardedStore{std::nullopt, *store};
  const IfThenElse* branch = body.As<IfThenElse>();
  const BufferStore* store = branch != nullptr && !branch->else_case ? branch->then_case.As<BufferStore>() : nullptr;
  return store != nullptr ? std::optional(GuardedStore{branch->condition, *store}) : std::nullopt;
}

// The single store that is the body of a block that can be inlined; the reason why it cannot.
StatusOr<GuardedStore> InlinableStore(const Schedule& schedule, int row, const char* primitive) {
  if (const WhyNot why = WhyNotComplete(schedule, row); !why.empty())
    return schedule.Error(primitive, row, fmt::format("it is no complete block: {}", why));
  RETURN_IF_ERROR(CheckIsolated(schedule, row, primitive));
  const BlockRealize& realize = schedule.RealizeOf(row);
  if (IsConditional(schedule, schedule.ScopeOf(row), row))
    return schedule.Error(primitive, row, "an if, while or let around it is a condition that would be lost");
  if (realize.block->init) return schedule.Error(primitive, row, "it has an init");
  if (!realize.block->alloc_buffers.empty() || !realize.block->match_buffers.empty())
    return schedule.Error(primitive, row, "it has buffers or views of its own");
  std::optional<GuardedStore> store = AsGuardedStore(realize.block->body);
  if (!store || realize.block->writes.size() != 1) return schedule.Error(primitive, row, "its body is not one store");
  return *std::move(store);
}
// The same where nothing guards the store.
StatusOr<BufferStore> PlainStore(const Schedule& schedule, int row, const char* primitive) {
  ASSIGN_OR_RETURN(GuardedStore guarded, InlinableStore(schedule, row, primitive));
  if (guarded.condition) return schedule.Error(primitive, row, "its body is not one store");
  return std::move(guarded.store);
}

Status CheckHasNoPredicate(const Schedule& schedule, int row, const char* primitive) {
  if (IsConstInt(schedule.RealizeOf(row).predicate, 1)) return OkStatus();
  return schedule.Error(primitive, row, "it has a predicate");
}

void ListTerms(const Expr& e, std::vector<Expr>& terms) {
  const Binary* sum = e.As<Binary>();
  if (sum == nullptr || sum->op != BinaryOp::kAdd) return terms.push_back(e);
  ListTerms(sum->a, terms);
  ListTerms(sum->b, terms);
}

// A sum over `places` as TVM's inverse maps have it: the term of the last place comes first.
Expr LastPlaceFirst(const Expr& sum, const std::vector<Var>& places) {
  std::vector<Expr> terms;
  ListTerms(sum, terms);
  const auto place_of = [&](const Expr& term) {
    size_t last = 0;
    for (size_t i = 0; i < places.size(); ++i)
      if (UsesVar(term, places[i].get())) last = i + 1;
    return last;
  };
  std::stable_sort(terms.begin(), terms.end(), [&](const Expr& a, const Expr& b) { return place_of(a) > place_of(b); });
  Expr result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) result = result + terms[i];
  return result;
}

// Iter vars in terms of `places`, which stand for `indices`: the inverse of an affine map.
StatusOr<VarMap> InverseOf(const std::vector<IterVar>& iters, const std::vector<Expr>& indices,
                           const std::vector<Var>& places) {
  IterDomain domain;
  for (const IterVar& iter : iters) domain.emplace_back(iter.var, iter.domain);
  ASSIGN_OR_RETURN(const IterMapResult map,
                   DetectIterMap(indices, domain, True(), {.level = IterMapLevel::kBijective}, Analyzer()));
  ASSIGN_OR_RETURN(VarMap inverse, InverseAffineIterMap(map.indices, {places.begin(), places.end()}, Analyzer()));
  for (auto& [var, value] : inverse) value = LastPlaceFirst(value, places);
  return inverse;
}

// The iter vars of a block in terms of `places`, the indices at which it stores.
struct StorePlaces {
  std::vector<Var> places;
  VarMap iter_values;
};

// Where each index is an iter var of its own, or 0; whether they are.
bool TakePlainPlaces(const std::vector<Expr>& indices, StorePlaces& stored) {
  std::vector<const ExprNode*> seen;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (IsConstInt(indices[d], 0)) continue;
    if (!IsVar(indices[d]) || std::find(seen.begin(), seen.end(), indices[d].get()) != seen.end()) return false;
    seen.push_back(indices[d].get());
    stored.iter_values.insert_or_assign(indices[d].get(), stored.places[d]);
  }
  return true;
}

StatusOr<StorePlaces> PlacesOf(const Schedule& schedule, int row, const std::vector<Expr>& indices,
                               const char* primitive) {
  const std::vector<IterVar>& iters = schedule.BlockOf(row).iter_vars;
  StorePlaces stored;
  for (const Expr& index : indices) stored.places.emplace_back("at", index.dtype());
  for (const IterVar& iter : iters)
    if (IsConstInt(iter.domain.extent, 1)) stored.iter_values.emplace(iter.var.get(), iter.domain.min);
  if (!TakePlainPlaces(indices, stored)) {
    const StatusOr<VarMap> inverse = InverseOf(iters, indices, stored.places);  // B[vi * 8 + vj]
    if (!inverse.ok())
      return schedule.Error(
          primitive, row,
          fmt::format("its store is not indexed by distinct iter vars, nor can its indices be inverted: {}",
                      inverse.status().message()));
    for (const auto& [var, value] : *inverse) stored.iter_values.insert_or_assign(var, value);
  }
  for (const IterVar& iter : iters) {
    if (stored.iter_values.count(iter.var.get()) == 0)
      return schedule.Error(primitive, row, fmt::format("iter var \"{}\" does not index its store", iter.var.name()));
  }
  return stored;
}

// A view of the buffer would be left without it.
Status CheckIsNotViewed(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive) {
  const int scope = schedule.ScopeOf(row);
  const std::vector<int> nests = schedule.ChildRowsOf(scope);
  const auto is_viewed = [&](int nest) { return IsViewedBy(schedule.Uses(nest), buffer); };
  if (!IsViewedBy(MemoryUsesAroundNests(schedule.StmtOf(scope)), buffer) &&
      std::none_of(nests.begin(), nests.end(), is_viewed))
    return OkStatus();
  return schedule.Error(primitive, scope,
                        fmt::format("it has a view of \"{}\" (match_buffer, decl_buffer or its data)", buffer->name));
}

// Replaces one block per entry below the scope (an empty optional: remove it) and drops `gone` from its allocations.
Status ReplaceInScope(Schedule& schedule, int scope, const char* primitive,
                      const std::vector<std::pair<int, std::optional<BlockRealize>>>& edits, const Buffer& gone) {
  const BlockRealize& realize = schedule.RealizeOf(scope);
  std::vector<BlockReuse> reuse;
  for (const auto& [row, after] : edits)
    if (after) reuse.push_back({row, after->block});
  std::vector<size_t> places;
  for (const auto& [row, after] : edits) places.push_back(ChildIndexTowards(schedule, scope, row));
  std::optional<Stmt> body = RewriteTreeAt(realize.block->body, places, [&](const Stmt& stmt) -> Replacement {
    for (const auto& [row, after] : edits) {
      if (!stmt.same_as(schedule.StmtOf(row))) continue;
      return after ? std::vector<Stmt>{*after} : std::vector<Stmt>{};
    }
    return std::nullopt;
  });
  const int place = edits.front().first;
  std::vector<int> loops;
  for (const auto& [row, after] : edits)
    for (int loop : schedule.LoopsOf(row))  // Those that stay.
      if (after || schedule.ChildBlocksOf(loop).size() > 1) loops.push_back(loop);
  return ReplaceUnderMarks(schedule, scope, WithBody(realize, *std::move(body), {}, {gone}), loops, primitive, place,
                           reuse);
}

}  // namespace

Status InlineBlock(Schedule& schedule, int row) {
  constexpr const char* kName = "compute_inline";
  ASSIGN_OR_RETURN(const BufferStore store, PlainStore(schedule, row, kName));
  ASSIGN_OR_RETURN(const StorePlaces stored, PlacesOf(schedule, row, store.indices, kName));
  if (IsOutputBlock(schedule, row)) return schedule.Error(kName, row, "it writes an output of the scope");
  const std::vector<int> consumers = ConsumersOf(schedule, row);
  if (consumers.empty()) return schedule.Error(kName, row, "nobody reads its result");
  RETURN_IF_ERROR(CheckIsNotViewed(schedule, row, store.buffer, kName));

  const auto value_at = [&](const BufferLoad& load) {
    VarMap at, values;
    for (size_t d = 0; d < load.indices.size(); ++d) at.emplace(stored.places[d].get(), load.indices[d]);
    for (const auto& [var, value] : stored.iter_values) values.emplace(var, Substitute(value, at));
    return Substitute(store.value, values);
  };
  std::vector<std::pair<int, std::optional<BlockRealize>>> edits{{row, std::nullopt}};
  for (int consumer : consumers) {
    if (const WhyNot why = WhyNotMovable(schedule, row, consumer, Way::kDown); !why.empty())
      return schedule.Error(kName, row, why);
    const Stmt after = LoadReplacer(schedule, store.buffer, value_at)(schedule.StmtOf(consumer));
    BlockRealize realize = *after.As<BlockRealize>();
    PutIndicesFirst(realize.block.Mutable().reads, schedule.BlockOf(consumer).reads);
    edits.emplace_back(consumer, std::move(realize));
  }
  return ReplaceInScope(schedule, schedule.ScopeOf(row), kName, edits, store.buffer);
}

Status ComputeInline(Schedule& schedule, BlockRV block_rv) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(InlineBlock(schedule, row));
  schedule.Record("ComputeInline", {block_rv}, {}, {});
  return OkStatus();
}

namespace {

// The one set of indices at which `block` loads `buffer`.
StatusOr<std::vector<Expr>> SoleLoadIndices(const Schedule& schedule, int row, const Buffer& buffer,
                                            const char* primitive) {
  std::optional<std::vector<Expr>> indices;
  bool differs = false;
  PostOrderVisit(schedule.BlockOf(row).body, [&](const Expr& e) {
    const BufferLoad* load = e.As<BufferLoad>();
    if (load == nullptr || !load->buffer.same_as(buffer)) return;
    for (size_t i = 0; indices && i < indices->size(); ++i)
      differs = differs || !StructuralEqual((*indices)[i], load->indices[i]);
    indices = load->indices;
  });
  if (!indices || differs)
    return schedule.Error(primitive, row, fmt::format("it does not read \"{}\" at exactly one place", buffer->name));
  return *std::move(indices);
}

// Of one value only: as the producer names it, where it has a place of its own.
Expr UnitValue(const IterVar& iter, const Buffer& buffer, const std::vector<Expr>& load_indices,
               const std::vector<Expr>& store_indices) {
  for (size_t d = 0; d < load_indices.size(); ++d)
    if (load_indices[d].same_as(iter.var) && IsConstInt(buffer->shape[d], 1)) return store_indices[d];
  return iter.domain.min;
}

// The consumer's iter vars in terms of the producer's store indices.
StatusOr<VarMap> SolveIterVars(const Schedule& schedule, int row, const Buffer& buffer,
                               const std::vector<Expr>& load_indices, const std::vector<Expr>& store_indices,
                               const char* primitive) {
  const std::vector<IterVar>& iters = schedule.BlockOf(row).iter_vars;
  std::vector<Var> places;
  VarMap solved, values;
  for (const IterVar& iter : iters)
    if (IsConstInt(iter.domain.extent, 1))
      solved.emplace(iter.var.get(), UnitValue(iter, buffer, load_indices, store_indices));
  for (const Expr& index : store_indices) {
    places.emplace_back("at", index.dtype());
    values.emplace(places.back().get(), index);
  }
  const StatusOr<VarMap> inverse = InverseOf(iters, load_indices, places);
  if (!inverse.ok())
    return schedule.Error(primitive, row, fmt::format("its read cannot be inverted: {}", inverse.status().message()));
  for (const auto& [var, value] : *inverse) solved.emplace(var, Substitute(value, values));
  return solved;
}

// The indices at which a consumer reads, and its iter vars in terms of what the producer stores.
struct SoleRead {
  std::vector<Expr> indices;
  VarMap iter_values;
};

StatusOr<SoleRead> SoleReadOf(const Schedule& schedule, int row, const BufferStore& stored, const char* primitive) {
  ASSIGN_OR_RETURN(std::vector<Expr> indices, SoleLoadIndices(schedule, row, stored.buffer, primitive));
  ASSIGN_OR_RETURN(VarMap iter_values, SolveIterVars(schedule, row, stored.buffer, indices, stored.indices, primitive));
  return SoleRead{std::move(indices), std::move(iter_values)};
}

// Whether two boxes hold equally many points: symbolic extents pair off, the constant ones have one product.
bool HoldEquallyMany(const std::vector<Expr>& a, std::vector<Expr> b) {
  int64_t constants_a = 1, constants_b = 1;
  for (const Expr& extent : a) {
    if (const int64_t* known = AsIntConst(extent)) {
      constants_a *= *known;
      continue;
    }
    const auto same = std::find_if(b.begin(), b.end(), [&](const Expr& e) { return SameExpr(e, extent); });
    if (same == b.end()) return false;
    b.erase(same);
  }
  for (const Expr& extent : b) {
    const int64_t* known = AsIntConst(extent);
    if (known == nullptr) return false;
    constants_b *= *known;
  }
  return constants_a == constants_b;
}

// The consumer reads every element that the producer makes, no more and no less.
Status CheckCoversBuffer(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive) {
  std::vector<Expr> domains;
  for (const IterVar& iter : schedule.BlockOf(row).iter_vars) domains.push_back(iter.domain.extent);
  if (HoldEquallyMany(buffer->shape, std::move(domains))) return OkStatus();
  return schedule.Error(primitive, row, fmt::format("it does not cover all of buffer \"{}\"", buffer->name));
}

// Whether the consumer reads where `iter_values` are in their domains, and nowhere else: they lead back to the place
// that the producer stores at.
bool IsExact(const BlockNode& producer, const SoleRead& read, const std::vector<Expr>& stored) {
  Analyzer analyzer;
  BindIterVars(producer, analyzer);
  for (size_t d = 0; d < stored.size(); ++d)
    if (!analyzer.CanProveEqual(Substitute(read.indices[d], read.iter_values), stored[d])) return false;
  return true;
}

// `where`, and what the block's predicate says besides.
Expr WithRest(const Schedule& schedule, int row, const Expr& where) {
  Analyzer analyzer;
  BindOuterLoops(schedule, row, false, analyzer);
  analyzer.Assume(where);
  Expr all = where;
  for (const Expr& condition : ConjunctsOf(schedule.RealizeOf(row).predicate))
    if (!analyzer.CanProve(condition)) all = And(all, condition);
  return all;
}

// Where the producer makes what the consumer reads, in terms of the producer's loops.
Expr WhereRead(const Schedule& schedule, int row, int producer, const VarMap& iter_values) {
  const BlockRealize& realize = schedule.RealizeOf(producer);
  Simplifier simplifier;
  VarMap bound;
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& iter = realize.block->iter_vars[i];
    simplifier.Bind(iter.var, iter.domain);
    bound.emplace(iter.var.get(), realize.iter_values[i]);
  }
  Expr where = True();
  for (const IterVar& iter : schedule.BlockOf(row).iter_vars) {
    if (IsConstInt(iter.domain.extent, 1)) continue;
    const Expr& at = iter_values.at(iter.var.get());
    where = And(where, And(LessEqual(iter.domain.min, at), Less(at, iter.domain.min + iter.domain.extent)));
  }
  where = simplifier.Simplify(where);
  if (IsConstInt(where, 1)) return realize.predicate;
  return WithRest(schedule, producer, Simplifier().Simplify(Substitute(where, bound)));
}

// What is beside the buffer nobody would compute.
Status CheckStaysInside(const Schedule& schedule, int row, const Buffer& buffer, const std::vector<Expr>& indices,
                        const char* primitive) {
  Analyzer analyzer;
  BindIterVars(schedule.BlockOf(row), analyzer);
  for (size_t d = 0; d < indices.size(); ++d) {  // A condition may keep it from reading beside it.
    const Expr& extent = buffer->shape[d];
    const auto is_all = [&](const IterVar& iter) {
      return iter.var.same_as(indices[d]) && IsConstInt(iter.domain.min, 0) &&
             analyzer.CanProveEqual(iter.domain.extent, extent);
    };
    const auto& iters = schedule.BlockOf(row).iter_vars;
    if (std::any_of(iters.begin(), iters.end(), is_all)) continue;
    if (!analyzer.CanProveGreaterEqual(indices[d], 0) || !analyzer.CanProve(Less(indices[d], extent)))
      return schedule.Error(
          primitive, row,
          fmt::format("dimension {} of its read is not known to stay inside of \"{}\": nobody would compute what is "
                      "beside it",
                      d, buffer->name));
  }
  return OkStatus();
}

// Visits what is evaluated whatever the conditions inside are.
class AlwaysReads : public StmtExprVisitor {
 public:
  explicit AlwaysReads(const Buffer& buffer) : buffer_(buffer) {}
  bool found = false;

 protected:
  void VisitExpr(const Expr& expr) override {
    const std::optional<Choice> choice = AsChoice(expr);
    choice ? VisitExpr(choice->condition) : StmtExprVisitor::VisitExpr(expr);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    found = found || load.buffer.same_as(buffer_);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  const Buffer& buffer_;
};

// Where a producer stores only under conditions, nothing is made of what it leaves out.
Status CheckReadsWhatIsStored(const Schedule& schedule, int row, int producer, const GuardedStore& stored,
                              const char* primitive) {
  if (!IsConstInt(schedule.RealizeOf(producer).predicate, 1) &&
      !IsCovered(schedule, producer, row, stored.store.buffer))
    return schedule.Error(primitive, producer, "it has a predicate, and not all that is read is known to be written");
  AlwaysReads reads(stored.store.buffer);
  reads(schedule.BlockOf(row).body);
  if (!stored.condition || reads.found) return OkStatus();
  return schedule.Error(primitive, row, "it does not need what its producer stores under a condition");
}

}  // namespace

Status ReverseInlineBlock(Schedule& schedule, int row) {
  constexpr const char* kName = "reverse_compute_inline";
  ASSIGN_OR_RETURN(const BufferStore consumer_store, PlainStore(schedule, row, kName));
  RETURN_IF_ERROR(CheckHasNoPredicate(schedule, row, kName));
  const std::vector<int> producers = ProducersOf(schedule, row);
  if (producers.size() != 1)
    return schedule.Error(kName, row,
                          fmt::format("it has {} producers in this scope, exactly 1 is required", producers.size()));
  const int producer = producers[0];
  ASSIGN_OR_RETURN(const GuardedStore stored, InlinableStore(schedule, producer, kName));
  const Buffer& buffer = stored.store.buffer;
  RETURN_IF_ERROR(CheckReadsWhatIsStored(schedule, row, producer, stored, kName));
  if (IsOutputBlock(schedule, producer)) return schedule.Error(kName, producer, "it writes an output of the scope");
  if (ConsumersOf(schedule, producer).size() != 1) return schedule.Error(kName, producer, "it has other consumers");
  RETURN_IF_ERROR(CheckIsNotViewed(schedule, row, buffer, kName));
  if (!schedule.Scope(schedule.ScopeOf(row)).RowsThatReadOutside(buffer).empty())
    return schedule.Error(
        kName, row,
        fmt::format("a condition, bound or binding reads buffer \"{}\", which would be gone", buffer->name));
  if (const WhyNot why = WhyNotMovable(schedule, row, producer, Way::kUp); !why.empty())
    return schedule.Error(kName, row, why);
  ASSIGN_OR_RETURN(const SoleRead read, SoleReadOf(schedule, row, stored.store, kName));
  if (!IsExact(schedule.BlockOf(producer), read, stored.store.indices) || !IsCovered(schedule, producer, row, buffer))
    RETURN_IF_ERROR(CheckCoversBuffer(schedule, row, buffer, kName));
  RETURN_IF_ERROR(CheckStaysInside(schedule, row, buffer, read.indices, kName));
  if (!RunsForAll(schedule, row, schedule.BlockOf(row).iter_vars))
    return schedule.Error(kName, row, "it is not known to run for all values of its iter vars");

  BlockRealize realize = schedule.RealizeOf(producer);
  realize.predicate = WhereRead(schedule, row, producer, read.iter_values);
  BlockNode& node = realize.block.Mutable();
  BufferStore merged{consumer_store.buffer, consumer_store.value, {}};
  LoadReplacer replace(schedule, buffer, [&](const BufferLoad&) { return stored.store.value; });
  merged.value = replace(Substitute(consumer_store.value, read.iter_values));
  for (const Expr& index : consumer_store.indices)
    merged.indices.push_back(replace(Substitute(index, read.iter_values)));
  node.body = stored.condition ? Stmt(IfThenElse{*stored.condition, std::move(merged), {}}) : Stmt(std::move(merged));
  const std::vector<BufferRegion> old = node.reads;
  RecomputeRegions(node);
  PutIndicesFirst(node.reads, old);
  return ReplaceInScope(schedule, schedule.ScopeOf(row), kName, {{row, std::nullopt}, {producer, std::move(realize)}},
                        buffer);
}

Status ReverseComputeInline(Schedule& schedule, BlockRV block_rv) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(ReverseInlineBlock(schedule, row));
  schedule.Record("ReverseComputeInline", {block_rv}, {}, {});
  return OkStatus();
}

}  // namespace lathe
