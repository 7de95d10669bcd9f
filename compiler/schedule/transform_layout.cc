#include "compiler/schedule/transform_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/arith/iter_map.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/buffer_site.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/layout_padding.h"
#include "compiler/script/index_map_text.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kTransformLayout = "transform_layout";

std::vector<Range> RangesOf(const std::vector<Expr>& shape) {
  std::vector<Range> ranges;
  for (const Expr& extent : shape) ranges.push_back({IntConst(extent.dtype(), 0), extent});
  return ranges;
}

// Everybody loads and stores by the map.
class LayoutRewriter : public StmtExprMutator {
 public:
  LayoutRewriter(const Schedule& schedule, const Buffer& from, const Buffer& to, const IndexMap& map,
                 const PaddingPlan& plan)
      : schedule_(schedule), from_(from), to_(to), map_(map), plan_(plan) {}
  std::vector<BlockReuse> reuse;

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override { return buffer.same_as(from_) ? to_ : buffer; }
  Buffer VisitBufferUse(const Buffer& buffer) override { return buffer.same_as(from_) ? to_ : buffer; }
  Stmt VisitStmt(const Stmt& stmt) override {
    const auto found = plan_.replacements.find(stmt.get());
    Stmt visited = StmtExprMutator::VisitStmt(found == plan_.replacements.end() ? stmt : found->second);
    const bool is_anchor = plan_.anchor && plan_.anchor->same_as(stmt);
    return is_anchor ? MakeSeq({std::move(visited), *plan_.epilogue}) : visited;
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    iters_.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
    Stmt visited = StmtExprMutator::VisitFor(self, loop);
    iters_.pop_back();
    return visited;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    if (!load.buffer.same_as(from_)) return visited;
    const BufferLoad& made = *visited.As<BufferLoad>();
    return Expr::Make(self.dtype(), BufferLoad{made.buffer, Mapped(made.indices), made.predicate});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    if (!store.buffer.same_as(from_)) return visited;
    const BufferStore& made = *visited.As<BufferStore>();
    return BufferStore{made.buffer, made.value, Mapped(made.indices), made.predicate};
  }
  Block VisitBlock(const Block& block) override {
    const size_t outside = iters_.size();
    for (const IterVar& iter : block->iter_vars) iters_.emplace_back(iter.var, iter.domain);
    const auto known = plan_.places.find(block.get());
    const PaddingPlan::Place* around = std::exchange(place_, known == plan_.places.end() ? nullptr : &known->second);
    const auto original = plan_.originals.find(block.get());
    const Block& old = original == plan_.originals.end() ? block : original->second;
    const bool touches = Reads(*block, from_) || Writes(*block, from_);
    Block changed = StmtExprMutator::VisitBlock(block);
    iters_.erase(iters_.begin() + static_cast<std::ptrdiff_t>(outside), iters_.end());
    place_ = around;
    if (schedule_.ScopeOf(schedule_.RowOf(old)) >= 0 && (touches || !old.same_as(block)))
      RecomputeRegions(schedule_, schedule_.RowOf(old), changed.Mutable());
    if (!changed.same_as(old)) reuse.push_back({schedule_.RowOf(old), changed});
    return changed;
  }

 private:
  // In TVM's form: by the map alone, then through the iterators around; what is a variable then stays one.
  std::vector<Expr> Mapped(const std::vector<Expr>& indices) const {
    if (place_ != nullptr && std::equal(indices.begin(), indices.end(), place_->from.begin(), place_->from.end(),
                                        [](const Expr& a, const Expr& b) { return StructuralEqual(a, b); }))
      return place_->to;
    std::vector<Expr> mapped = *map_.ValuesAt(indices);
    for (Expr& index : mapped) index = Simplifier().Simplify(index);
    std::vector<Expr> through = IterMapSimplify(mapped, iters_, True(), {}, Analyzer());
    for (size_t i = 0; i < mapped.size(); ++i)
      if (IsVar(mapped[i]) && AsIntConst(through[i]) != nullptr) through[i] = mapped[i];
    return through;
  }

  const Schedule& schedule_;
  const Buffer &from_, &to_;
  const IndexMap& map_;
  const PaddingPlan& plan_;
  IterDomain iters_;  // Around.
  const PaddingPlan::Place* place_ = nullptr;
};

// ---- May we?

Status CheckPadValue(const Schedule& schedule, int row, const Buffer& buffer, const IndexMap& pad_value, size_t rank) {
  const bool fits = pad_value.final_indices.size() == 1 && pad_value.initial_indices.size() == rank;
  if (!fits)
    return schedule.Error(kTransformLayout, row,
                          fmt::format("the pad value takes {} indices and gives {} values; {} and 1 are required",
                                      pad_value.initial_indices.size(), pad_value.final_indices.size(), rank));
  const Expr& value = pad_value.final_indices[0];
  if (value.dtype() != buffer->dtype)
    return schedule.Error(kTransformLayout, row,
                          fmt::format("buffer \"{}\" has elements of type {}, but the padding is of type {}",
                                      buffer->name, buffer->dtype.ToString(), value.dtype().ToString()));
  bool loads = false;
  PostOrderVisit(value, [&](const Expr& part) { loads = loads || part.As<BufferLoad>() != nullptr; });
  if (!loads) return OkStatus();
  return schedule.Error(kTransformLayout, row, "the pad value loads from a buffer");
}

// Going there and back gives the index.
bool IsInjective(const IndexMap& map, const IndexMap& inverse, const std::vector<Range>& ranges) {
  Analyzer analyzer;
  for (size_t i = 0; i < ranges.size(); ++i) analyzer.Bind(map.initial_indices[i], ranges[i]);
  const StatusOr<std::vector<Expr>> there =
      map.MapIndices({map.initial_indices.begin(), map.initial_indices.end()}, analyzer);
  if (!there.ok()) return false;
  const StatusOr<std::vector<Expr>> back = inverse.MapIndices(*there, analyzer);
  if (!back.ok() || back->size() != ranges.size()) return false;
  for (size_t i = 0; i < ranges.size(); ++i)
    if (!analyzer.CanProveEqual((*back)[i], map.initial_indices[i])) return false;
  return true;
}

StatusOr<PaddedIndexMap> InverseOf(const Schedule& schedule, int row, const Buffer& buffer, const IndexMap& map) {
  const std::vector<Range> ranges = RangesOf(buffer->shape);
  StatusOr<PaddedIndexMap> inverse = map.NonSurjectiveInverse(ranges, Analyzer());
  if (inverse.ok() && (map.inverse_index_map != nullptr || IsInjective(map, inverse->map, ranges))) return inverse;
  return schedule.Error(
      kTransformLayout, row,
      fmt::format("the map {} is not known to give each element of buffer \"{}\" a place of its "
                  "own; assume_injective_transform takes your word for it{}",
                  Print(map), buffer->name, inverse.ok() ? "" : fmt::format(" ({})", inverse.status().message())));
}

StatusOr<Buffer> TransformedBuffer(const Schedule& schedule, int row, const Buffer& buffer, const IndexMap& map) {
  if (!buffer->strides.empty())
    return schedule.Error(kTransformLayout, row, fmt::format("buffer \"{}\" has strides", buffer->name));
  StatusOr<std::vector<Expr>> shape = map.MapShape(buffer->shape, Analyzer());
  if (!shape.ok()) return schedule.Error(kTransformLayout, row, std::string(shape.status().message()));
  BufferNode node = *buffer;
  node.shape = *std::move(shape);
  std::erase_if(node.axis_separators, [&](int64_t axis) { return axis > static_cast<int64_t>(node.shape.size()); });
  return Buffer(std::move(node));
}

// What fills gaps is written beside those who read and write.
Status CheckAnchor(const Schedule& schedule, int row, const PaddingPlan& plan) {
  if (!plan.anchor || plan.anchor->As<BufferStore>() != nullptr) return OkStatus();
  for (int above : schedule.LoopsOf(schedule.RowOf(*plan.anchor))) {
    if (schedule.LoopOf(above).kind != ForKind::kSerial)
      return schedule.Error(kTransformLayout, row,
                            fmt::format("the padding would be filled inside of loop \"{}\", which is not serial",
                                        schedule.LoopOf(above).loop_var.name()));
  }
  return OkStatus();
}

// Around any block below `block`.
std::vector<int> LoopsBelow(const Schedule& schedule, int block) {
  std::vector<int> loops;
  for (int child : schedule.ChildBlocksOf(block)) {
    for (int loop : schedule.LoopsOf(child)) loops.push_back(loop);
    for (int loop : LoopsBelow(schedule, child)) loops.push_back(loop);
  }
  return loops;
}

StatusOr<PaddingPlan> PaddingOf(const Schedule& schedule, int row, const BufferSite& site, const Buffer& to,
                                const IndexMap& map, const std::optional<IndexMap>& pad_value) {
  ASSIGN_OR_RETURN(PaddedIndexMap inverse, InverseOf(schedule, row, site.buffer, map));
  if (IsConstInt(inverse.padding_predicate, 0)) return PaddingPlan{};
  if (!pad_value)
    return schedule.Error(kTransformLayout, row,
                          fmt::format("the map {} of buffer \"{}\" would introduce padding wherever {} is true; give a "
                                      "pad_value",
                                      Print(map), site.buffer->name, Print(inverse.padding_predicate)));
  PaddingPlan plan = PlanPadding(schedule.StmtOf(site.row), {site.buffer, to, std::move(inverse), *pad_value});
  RETURN_IF_ERROR(CheckAnchor(schedule, row, plan));
  return plan;
}

}  // namespace

Status TransformLayout(Schedule& schedule, BlockRV block, int buffer_index, BufferSide side, const TraceMap& given,
                       const std::optional<IndexMap>& pad_value, bool assume_injective_transform) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  ASSIGN_OR_RETURN(const IndexMap index_map, MapInNumbers(schedule, given));
  ASSIGN_OR_RETURN(const BufferSite site, SiteOf(schedule, row, buffer_index, side, kTransformLayout));
  const Buffer& buffer = site.buffer;
  if (buffer->shape.empty() || index_map.initial_indices.size() != buffer->shape.size())
    return schedule.Error(kTransformLayout, row,
                          fmt::format("buffer \"{}\" has {} dimensions, the index map takes {}", buffer->name,
                                      buffer->shape.size(), index_map.initial_indices.size()));
  if (index_map.final_indices.empty()) return schedule.Error(kTransformLayout, row, "the index map gives no index");
  RETURN_IF_ERROR(CheckOnlyElements(schedule, site, row, kTransformLayout));
  std::vector<DataType> types;
  for (const Expr& extent : buffer->shape) types.push_back(extent.dtype());
  const IndexMap map = WithIndexTypes(index_map, types);
  ASSIGN_OR_RETURN(const Buffer to, TransformedBuffer(schedule, row, buffer, map));
  if (pad_value) RETURN_IF_ERROR(CheckPadValue(schedule, row, buffer, *pad_value, to->shape.size()));
  PaddingPlan plan;
  if (!assume_injective_transform) {
    ASSIGN_OR_RETURN(plan, PaddingOf(schedule, row, site, to, map, pad_value));
  }
  LayoutRewriter rewrite(schedule, buffer, to, map, plan);
  Stmt body = rewrite(schedule.StmtOf(site.row));
  if (plan.prologue) {
    BlockRealize& realize = body.Mutable<BlockRealize>();
    const Stmt first = *plan.prologue, rest = realize.block->body;
    realize.block.Mutable().body = MakeSeq({first, rest});
    if (!rewrite.reuse.empty()) rewrite.reuse.back() = {site.row, realize.block};
  }
  // Memory that each iteration of a loop had for itself may be seen by what fills the gaps, and is no longer known by
  // indices that are themselves in memory.
  RETURN_IF_ERROR(
      ChangeUnderMarks(schedule, LoopsBelow(schedule, site.row), kTransformLayout, row,
                       [&](Schedule& changed) { ReplaceAtSite(changed, site, to, std::move(body), rewrite.reuse); }));
  schedule.Record("TransformLayout", {block, given},
                  {int64_t{buffer_index}, int64_t{side == BufferSide::kWrite},
                   pad_value ? Attr(std::make_shared<const IndexMap>(*pad_value)) : Attr(std::monostate()),
                   int64_t{assume_injective_transform}},
                  {});
  return OkStatus();
}

}  // namespace lathe
