#include "compiler/schedule/transform_block_layout.h"

#include <fmt/format.h>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/independence.h"
#include "compiler/script/index_map_text.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kTransformBlockLayout = "transform_block_layout";

// The loops hold nothing but the block, and run over its iter vars' domains.
Status CheckNest(const Schedule& schedule, int row) {
  RETURN_IF_ERROR(CheckIsolated(schedule, row, kTransformBlockLayout));
  const std::vector<int> loops = schedule.LoopsOf(row);
  for (size_t i = 0; i < loops.size(); ++i) {
    const Stmt& body = schedule.LoopOf(loops[i]).body;
    const bool is_next = body.same_as(schedule.StmtOf(i + 1 < loops.size() ? loops[i + 1] : row));
    if (!is_next) return schedule.Error(kTransformBlockLayout, loops[i], "there is more than one block below it");
  }
  if (!IsTriviallyBound(schedule, row) ||
      !IsTrivialBinding(schedule.RealizeOf(row), LoopsBetween(schedule, schedule.ScopeOf(row), row)))
    return schedule.Error(kTransformBlockLayout, row, "an iter var is not bound to a loop variable of its own");
  const BlockNode& block = schedule.BlockOf(row);
  if (loops.size() != block.iter_vars.size())
    return schedule.Error(kTransformBlockLayout, row, "a loop around it is bound to none of its iter vars");
  for (const IterVar& iter : block.iter_vars)
    if (!IsConstInt(iter.domain.min, 0))
      return schedule.Error(kTransformBlockLayout, row,
                            fmt::format("iter var \"{}\" does not start at 0", iter.var.name()));
  if (loops.empty()) return OkStatus();
  if (const WhyNot why = WhyNotWholeDomain(schedule, row); !why.empty())
    return schedule.Error(kTransformBlockLayout, row,
                          fmt::format("its loops do not run over its whole domain: {}", why));
  const WhyNot why = WhyNotPermutable(schedule, loops[0]);
  return why.empty() ? OkStatus() : schedule.Error(kTransformBlockLayout, row, why);
}

// The kind of an iter var that is `index` of the old ones; nullopt if they are of several.
std::optional<IterKind> KindOf(const Expr& index, const std::vector<IterVar>& iters) {
  std::optional<IterKind> kind;
  for (const IterVar& iter : iters) {
    if (!UsesVar(index, iter.var.get())) continue;
    if (kind && *kind != iter.kind) return std::nullopt;
    kind = iter.kind;
  }
  return kind ? kind : IterKind::kSpatial;
}

struct NewIters {
  std::vector<IterVar> iters;
  VarMap old;  // The old iter vars in terms of the new ones.
};

// Indices and regions by way of their iter map, where they have one, as TVM simplifies them; values stay as they are.
class IndexSimplifier : public StmtExprMutator {
 public:
  explicit IndexSimplifier(const std::vector<IterVar>& iters) { Add(iters); }
  void SimplifyRegions(BlockNode& block) const {
    for (auto* regions : {&block.reads, &block.writes})
      for (BufferRegion& one : *regions) Simplify(one.region);
  }

 protected:
  Expr VisitExpr(const Expr& e) override {
    const Call* call = e.As<Call>();
    if (call == nullptr || call->op->name != "if_then_else" || call->args.size() != 3)
      return StmtExprMutator::VisitExpr(e);
    const Expr condition = VisitExpr(call->args[0]);
    const auto under = [&](const Expr& known, const Expr& value) {
      const Expr around = std::exchange(predicate_, And(predicate_, known));
      Expr inner = VisitExpr(value);
      predicate_ = around;
      return inner;
    };
    std::vector<Expr> args{condition, under(condition, call->args[1]), under(MakeNot(condition), call->args[2])};
    return Expr::Make(e.dtype(), Call{call->op, std::move(args)});
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    iters_.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
    Stmt inner = StmtExprMutator::VisitFor(self, loop);
    iters_.pop_back();
    return inner;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad&) override {
    const Expr inner = VisitChildren(self);
    const BufferLoad& load = *inner.As<BufferLoad>();
    return Expr::Make(inner.dtype(), BufferLoad{load.buffer, Simplified(load.indices), load.predicate});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt inner = StmtExprMutator::VisitBufferStore(self, store);
    BufferStore changed = *inner.As<BufferStore>();
    changed.indices = Simplified(std::move(changed.indices));
    return changed;
  }
  Block VisitBlock(const Block& block) override {
    const size_t around = iters_.size();
    Add(block->iter_vars);
    Block inner = StmtExprMutator::VisitBlock(block);
    SimplifyRegions(inner.Mutable());
    iters_.resize(around, iters_.front());
    return inner;
  }

 private:
  void Add(const std::vector<IterVar>& iters) {
    for (const IterVar& iter : iters) iters_.emplace_back(iter.var, iter.domain);
  }
  void Simplify(std::vector<Range>& region) const {
    std::vector<Expr> begins;
    for (const Range& range : region) begins.push_back(range.min);
    begins = Simplified(std::move(begins));
    for (size_t d = 0; d < region.size(); ++d) region[d] = {begins[d], analyzer_.Simplify(region[d].extent)};
  }
  std::vector<Expr> Simplified(std::vector<Expr> indices) const {
    const Expr predicate = HasDivision(predicate_) ? True() : predicate_;  // TVM knows bounds of iterators only.
    std::vector<Expr> simplified = IterMapSimplify(indices, iters_, predicate, {IterMapLevel::kSurjective}, analyzer_);
    for (size_t d = 0; d < indices.size(); ++d)  // A name stays one, also where it has one value.
      if (IsVar(indices[d]) && AsIntConst(simplified[d]) != nullptr) simplified[d] = indices[d];
    return simplified;
  }

  const Analyzer analyzer_;
  IterDomain iters_;
  Expr predicate_ = True();  // What conditions around say.
};

StatusOr<NewIters> MakeIters(const Schedule& schedule, int row, const IndexMap& map) {
  const std::vector<IterVar>& old = schedule.BlockOf(row).iter_vars;
  std::vector<Expr> vars, shape;
  std::vector<Range> ranges;
  for (const IterVar& iter : old) {
    vars.push_back(iter.var);
    shape.push_back(iter.domain.extent);
    ranges.push_back(iter.domain);
  }
  const StatusOr<IndexMap> inverse = map.Inverse(ranges, Analyzer());
  const StatusOr<std::vector<Expr>> extents = map.MapShape(shape, Analyzer());
  if (!inverse.ok() || !extents.ok())
    return schedule.Error(kTransformBlockLayout, row,
                          fmt::format("the index map {} is not bijective affine on its domain", Print(map)));
  ASSIGN_OR_RETURN(const std::vector<Expr> indices, map.MapIndices(vars, KnowingLongIters(old)));
  NewIters made;
  std::vector<Expr> points;
  Analyzer inside;
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::optional<IterKind> kind = KindOf(indices[i], old);
    if (!kind)
      return schedule.Error(
          kTransformBlockLayout, row,
          fmt::format("index {} of the map mixes data-parallel and reduction iter vars: {}", i, Print(indices[i])));
    const DataType type = (*extents)[i].dtype();
    made.iters.push_back({{IntConst(type, 0), (*extents)[i]}, Var(fmt::format("v{}", i), type), *kind});
    points.push_back(made.iters.back().var);
    inside.Bind(made.iters.back().var, made.iters.back().domain);
  }
  ASSIGN_OR_RETURN(const std::vector<Expr> back, inverse->MapIndices(points, inside));
  for (size_t k = 0; k < indices.size(); ++k)  // What has one value has it by name, too.
    if (IsVar(indices[k])) made.old.emplace(indices[k].get(), points[k]);
  for (size_t i = 0; i < old.size(); ++i) made.old.emplace(old[i].var.get(), back[i]);
  return made;
}

}  // namespace

Status TransformBlockLayout(Schedule& schedule, BlockRV block_rv, const IndexMap& index_map) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  if (schedule.ScopeOf(row) < 0) return schedule.Error(kTransformBlockLayout, row, "the root block has no iter vars");
  const BlockNode& node = schedule.BlockOf(row);
  if (node.iter_vars.empty() || index_map.initial_indices.size() != node.iter_vars.size())
    return schedule.Error(kTransformBlockLayout, row,
                          fmt::format("it has {} iter vars, the index map takes {}", node.iter_vars.size(),
                                      index_map.initial_indices.size()));
  RETURN_IF_ERROR(CheckNest(schedule, row));
  const IndexMap map = WithIndexTypes(index_map, TypesOf(node.iter_vars));
  ASSIGN_OR_RETURN(const NewIters made, MakeIters(schedule, row, map));
  BlockNode changed = *Substitute(schedule.RealizeOf(row).block, made.old);
  changed.iter_vars = made.iters;
  IndexSimplifier simplify(made.iters);
  simplify.SimplifyRegions(changed);
  changed.body = simplify(changed.body);
  if (changed.init) changed.init = simplify(*changed.init);
  const Block block(std::move(changed));
  std::vector<Var> loops;
  for (size_t i = 0; i < made.iters.size(); ++i) loops.emplace_back(fmt::format("ax{}", i), made.iters[i].var.dtype());
  Stmt nest = BlockRealize{{loops.begin(), loops.end()}, True(), block};
  for (size_t i = loops.size(); i-- > 0;) nest = MakeFor(loops[i], made.iters[i].domain.extent, nest);
  schedule.Replace(schedule.LoopsOf(row)[0], std::move(nest), {{row, block}});
  schedule.Record("TransformBlockLayout", {block_rv}, {std::make_shared<const IndexMap>(index_map)}, {});
  return OkStatus();
}

}  // namespace lathe
