#include "tuner/space/dot_product.h"

#include <algorithm>
#include <numeric>

#include "compiler/arith/linear.h"
#include "compiler/ir/contraction.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/blockize.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/split.h"
#include "compiler/schedule/tensorize.h"
#include "compiler/schedule/transform_layout.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"

namespace lathe {
namespace {

// The one dimension whose index is the variable, which stands in no other; nullopt: there is none.
std::optional<size_t> DimOf(const std::vector<Expr>& indices, const Var& var) {
  std::optional<size_t> found;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!UsesVar(indices[d], var.get())) continue;
    if (found || !indices[d].same_as(var)) return std::nullopt;
    found = d;
  }
  return found;
}

bool Uses(const std::vector<Expr>& indices, const Var& var) {
  return std::any_of(indices.begin(), indices.end(), [&](const Expr& e) { return UsesVar(e, var.get()); });
}

// Whether the indices are those of panels: the lanes and the parts last, and nothing else of them but which panel.
bool AreInPanels(const std::vector<Expr>& indices, const Var& lane, const Var& part, const DotIntrin& intrin) {
  const Expr lanes = IntConst(lane.dtype(), intrin.lanes), parts = IntConst(part.dtype(), intrin.parts);
  if (indices.size() < 4 || !SameExpr(indices[indices.size() - 2], FloorMod(lane, lanes)) ||
      !SameExpr(indices.back(), FloorMod(part, parts)))
    return false;
  int panels = 0, steps = 0;
  for (size_t d = 0; d + 2 < indices.size(); ++d) {
    if (SameExpr(indices[d], FloorDiv(lane, lanes)))
      ++panels;
    else if (SameExpr(indices[d], FloorDiv(part, parts)))
      ++steps;
    else if (UsesVar(indices[d], lane.get()) || UsesVar(indices[d], part.get()))
      return false;
  }
  return panels == 1 && steps == 1;
}

// With `lane` and `reduce` as the instruction's lanes and parts.
std::optional<DotTiling> TilingOf(const BlockNode& block, const DotIntrin& intrin, const Contraction& product,
                                  size_t lane, size_t reduce) {
  const IterVar &lanes = block.iter_vars[lane], &parts = block.iter_vars[reduce];
  if (ExtentOf(lanes) % intrin.lanes != 0 || ExtentOf(parts) % intrin.parts != 0) return std::nullopt;
  if (Uses(product.a->indices, lanes.var)) return std::nullopt;
  const std::vector<Expr>& written = block.body.As<BufferStore>()->indices;
  const std::vector<Expr>&a = product.a->indices, &b = product.b->indices;
  const auto lane_of_c = DimOf(written, lanes.var), a_dim = DimOf(a, parts.var);
  const auto a_read = PositionOfRead(block, product.a->buffer), b_read = PositionOfRead(block, product.b->buffer);
  if (!lane_of_c || *lane_of_c + 1 != written.size() || !a_dim || !a_read || !b_read) return std::nullopt;
  DotTiling tiling{.intrin = intrin, .lane_iter = lane, .reduce_iter = reduce, .a_read = *a_read, .b_read = *b_read};
  tiling.a_dim = *a_dim;
  tiling.packs_a = *a_dim + 1 != a.size();
  tiling.packs_b = !AreInPanels(b, lanes.var, parts.var, intrin);
  if (!tiling.packs_b) return tiling;
  const auto b_dim = DimOf(b, parts.var), b_lane_dim = DimOf(b, lanes.var);
  if (!b_dim || !b_lane_dim) return std::nullopt;
  tiling.b_dim = *b_dim;
  tiling.b_lane_dim = *b_lane_dim;
  return tiling;
}

}  // namespace

std::vector<DotTiling> DotTilingsOf(const BlockNode& block, const Target& target, std::span<const DotIntrin> intrins) {
  std::vector<DotTiling> tilings;
  const std::optional<Contraction> found = ContractionOf(block);
  if (!found || !found->converts_a || !found->converts_b) return tilings;
  for (const Contraction& product : {*found, Contraction{found->b, found->a}}) {
    for (size_t lane = 0; lane < block.iter_vars.size(); ++lane) {
      for (size_t reduce = 0; reduce < block.iter_vars.size(); ++reduce) {
        if (block.iter_vars[lane].kind != IterKind::kSpatial || block.iter_vars[reduce].kind != IterKind::kReduce)
          continue;
        for (const DotIntrin& intrin : intrins) {
          if (!target.Has(intrin.feature) || intrin.a != product.a->buffer->dtype ||
              intrin.b != product.b->buffer->dtype || intrin.c != block.writes[0].buffer->dtype)
            continue;
          const std::optional<DotTiling> tiling = TilingOf(block, intrin, product, lane, reduce);
          if (!tiling) continue;
          tilings.push_back(*tiling);
          break;
        }
      }
    }
  }
  return tilings;
}

namespace {

// A dimension in two: (.., k, ..) -> (.., k // parts, .., k % parts).
IndexMap PartsLast(size_t ndim, size_t dim, int parts) {
  IndexMap map = IndexMap::Identity(ndim);
  const Expr index = map.final_indices[dim], size = IntConst(index.dtype(), parts);
  map.final_indices[dim] = FloorDiv(index, size);
  map.final_indices.push_back(FloorMod(index, size));
  return map;
}

// (.., n, .., k, ..) -> (.., n // lanes, k // parts, n % lanes, k % parts): a panel of lanes after the other.
IndexMap Panels(size_t ndim, const DotTiling& dot) {
  IndexMap map = IndexMap::Identity(ndim);
  const Expr n = map.final_indices[dot.b_lane_dim], k = map.final_indices[dot.b_dim];
  for (const size_t dim : {std::max(dot.b_dim, dot.b_lane_dim), std::min(dot.b_dim, dot.b_lane_dim)})
    map.final_indices.erase(map.final_indices.begin() + static_cast<std::ptrdiff_t>(dim));
  const Expr lanes = IntConst(n.dtype(), dot.intrin.lanes), parts = IntConst(k.dtype(), dot.intrin.parts);
  for (const Expr& index : {FloorDiv(n, lanes), FloorDiv(k, parts), FloorMod(n, lanes), FloorMod(k, parts)})
    map.final_indices.push_back(index);
  return map;
}

StatusOr<BlockRV> PackRead(Schedule& schedule, BlockRV block, size_t read, const IndexMap& map) {
  ASSIGN_OR_RETURN(const BlockRV copy, CacheRead(schedule, block, static_cast<int>(read), "global"));
  RETURN_IF_ERROR(TransformLayout(schedule, copy, 0, BufferSide::kWrite, map));
  return copy;
}

}  // namespace

StatusOr<std::vector<BlockRV>> PackForDot(Schedule& schedule, BlockRV block, const DotTiling& dot) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const BlockNode before = schedule.BlockOf(row);
  std::vector<BlockRV> copies;
  if (dot.packs_b) {
    const size_t b_rank = before.reads[dot.b_read].region.size();
    ASSIGN_OR_RETURN(const BlockRV panels, PackRead(schedule, block, dot.b_read, Panels(b_rank, dot)));
    copies.push_back(panels);
  }
  if (!dot.packs_a) return copies;
  const size_t a_rank = before.reads[dot.a_read].region.size();
  ASSIGN_OR_RETURN(const BlockRV rows,
                   PackRead(schedule, block, dot.a_read, PartsLast(a_rank, dot.a_dim, dot.intrin.parts)));
  copies.push_back(rows);
  return copies;
}

namespace {

constexpr int64_t kLineBytes = 64;
using SplitFactors = std::vector<std::optional<ExprRV>>;

// What is read runs along the parts: they are copied as they are.
Status CopyParts(Schedule& schedule, std::vector<LoopRV> loops, int64_t parts) {
  const SplitFactors by_parts{std::nullopt, ExprRV(parts)};
  ASSIGN_OR_RETURN(const std::vector<LoopRV> last, Split(schedule, loops.back(), by_parts));
  RETURN_IF_ERROR(Vectorize(schedule, last[1]));
  loops.back() = last[0];
  ASSIGN_OR_RETURN(const LoopRV rows, Fuse(schedule, loops));
  return Parallel(schedule, rows);
}

// What is read runs along something else, of which `size` elements go apart by the parts: the steps of the reduction
// that lie between them are taken one after the other.
Status CopyApart(Schedule& schedule, std::vector<LoopRV> loops, size_t reduce_dim, int64_t parts, int64_t at_once,
                 int64_t size, bool are_panels) {
  const SplitFactors by_parts{std::nullopt, ExprRV(parts)}, by_lanes{std::nullopt, ExprRV(at_once), ExprRV(size)};
  ASSIGN_OR_RETURN(const std::vector<LoopRV> steps, Split(schedule, loops[reduce_dim], by_parts));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> lanes, Split(schedule, loops.back(), by_lanes));
  loops.pop_back();
  loops[reduce_dim] = steps[0];
  if (are_panels) {
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(reduce_dim));
    loops.push_back(lanes[0]);
    loops.push_back(steps[0]);
  }
  std::vector<LoopRV> order = loops;
  order.push_back(steps[1]);
  if (!are_panels) order.push_back(lanes[0]);
  order.insert(order.end(), {lanes[1], lanes[2]});
  RETURN_IF_ERROR(Reorder(schedule, order));
  for (const LoopRV loop : {steps[1], lanes[1]}) RETURN_IF_ERROR(Unroll(schedule, loop));
  if (size > 1) RETURN_IF_ERROR(Vectorize(schedule, lanes[2]));
  ASSIGN_OR_RETURN(const LoopRV rows, Fuse(schedule, loops));
  return Parallel(schedule, rows);
}

Status SchedulePack(Schedule& schedule, BlockRV copy, const DotTiling& dot, size_t reduce_dim, bool are_panels) {
  ASSIGN_OR_RETURN(std::vector<LoopRV> loops, GetLoops(schedule, copy));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(copy));
  const BlockNode& block = schedule.BlockOf(row);
  if (loops.size() != block.iter_vars.size()) return schedule.Error("pack", row, "its loops are not its iter vars");
  if (reduce_dim + 1 == loops.size()) return CopyParts(schedule, std::move(loops), dot.intrin.parts);
  const int64_t extent = ExtentOf(block.iter_vars.back());
  const int64_t size = ChooseLanes(extent, {dot.intrin.lanes, dot.intrin.lanes});
  const int64_t in_line = std::max<int64_t>(1, kLineBytes * 8 / (size * block.writes[0].buffer->dtype.bits));
  const int64_t at_once = are_panels ? std::gcd(in_line, extent / size) : 1;
  return CopyApart(schedule, std::move(loops), reduce_dim, dot.intrin.parts, at_once, size, are_panels);
}

}  // namespace

Status SchedulePacks(Schedule& schedule, const std::vector<BlockRV>& copies, const DotTiling& dot) {
  for (size_t i = 0; i < copies.size(); ++i) {
    const bool are_panels = dot.packs_b && i == 0;
    RETURN_IF_ERROR(SchedulePack(schedule, copies[i], dot, are_panels ? dot.b_dim : dot.a_dim, are_panels));
  }
  return OkStatus();
}

Status MarkDot(Schedule& schedule, LoopRV lanes, const DotTiling& dot) {
  ASSIGN_OR_RETURN(const BlockRV block, Blockize(schedule, lanes));
  return Annotate(schedule, block, kAutoTensorize, std::string(dot.intrin.name));
}

}  // namespace lathe
