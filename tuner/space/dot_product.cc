#include "tuner/space/dot_product.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/blockize.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/tensorize.h"
#include "compiler/schedule/transform_layout.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"

namespace lathe {
namespace {

// The two factors of C = C + A * B.
struct Product {
  const BufferLoad *a, *b;
};

const BufferLoad* CastLoad(const Expr& e, DataType type) {
  const Cast* cast = e.As<Cast>();
  return cast != nullptr && e.dtype() == type ? cast->value.As<BufferLoad>() : nullptr;
}

std::optional<Product> ProductOf(const BlockNode& block) {
  const BufferStore* store = block.body.As<BufferStore>();
  const Binary* sum = store == nullptr ? nullptr : store->value.As<Binary>();
  if (sum == nullptr || sum->op != BinaryOp::kAdd || store->predicate) return std::nullopt;
  for (const auto& [old, added] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
    const BufferLoad* before = old.As<BufferLoad>();
    const Binary* times = added.As<Binary>();
    if (before == nullptr || !before->buffer.same_as(store->buffer) || times == nullptr || times->op != BinaryOp::kMul)
      continue;
    const Product product{CastLoad(times->a, store->buffer->dtype), CastLoad(times->b, store->buffer->dtype)};
    if (product.a != nullptr && product.b != nullptr) return product;
  }
  return std::nullopt;
}

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

std::optional<size_t> ReadOf(const BlockNode& block, const Buffer& buffer) {
  for (size_t i = 0; i < block.reads.size(); ++i)
    if (block.reads[i].buffer.same_as(buffer)) return i;
  return std::nullopt;
}

// With `lane` and `reduce` as the instruction's lanes and parts.
std::optional<DotTiling> TilingOf(const BlockNode& block, const DotIntrin& intrin, const Product& product, size_t lane,
                                  size_t reduce) {
  const IterVar &lanes = block.iter_vars[lane], &parts = block.iter_vars[reduce];
  if (ExtentOf(lanes) % intrin.lanes != 0 || ExtentOf(parts) % intrin.parts != 0) return std::nullopt;
  if (Uses(product.a->indices, lanes.var)) return std::nullopt;
  const std::vector<Expr>& written = block.body.As<BufferStore>()->indices;
  const auto lane_of_c = DimOf(written, lanes.var);
  const auto a_dim = DimOf(product.a->indices, parts.var), b_dim = DimOf(product.b->indices, parts.var);
  const auto b_lane_dim = DimOf(product.b->indices, lanes.var);
  const auto a_read = ReadOf(block, product.a->buffer), b_read = ReadOf(block, product.b->buffer);
  if (!lane_of_c || *lane_of_c + 1 != written.size() || !a_dim || !b_dim || !b_lane_dim || !a_read || !b_read)
    return std::nullopt;
  return DotTiling{
      intrin, lane, reduce, *a_read, *b_read, *a_dim, *b_dim, *b_lane_dim, *a_dim + 1 != product.a->indices.size()};
}

}  // namespace

std::vector<DotTiling> DotTilingsOf(const BlockNode& block, const Target& target) {
  std::vector<DotTiling> tilings;
  const std::optional<Product> found = ProductOf(block);
  if (!found || found->a->buffer.same_as(found->b->buffer)) return tilings;
  for (const Product& product : {*found, Product{found->b, found->a}}) {
    for (size_t lane = 0; lane < block.iter_vars.size(); ++lane) {
      for (size_t reduce = 0; reduce < block.iter_vars.size(); ++reduce) {
        if (block.iter_vars[lane].kind != IterKind::kSpatial || block.iter_vars[reduce].kind != IterKind::kReduce)
          continue;
        for (const DotIntrin& intrin : DotIntrins()) {
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
  const size_t b_rank = before.reads[dot.b_read].region.size();
  ASSIGN_OR_RETURN(const BlockRV panels, PackRead(schedule, block, dot.b_read, Panels(b_rank, dot)));
  copies.push_back(panels);
  if (!dot.packs_a) return copies;
  const size_t a_rank = before.reads[dot.a_read].region.size();
  ASSIGN_OR_RETURN(const BlockRV rows,
                   PackRead(schedule, block, dot.a_read, PartsLast(a_rank, dot.a_dim, dot.intrin.parts)));
  copies.push_back(rows);
  return copies;
}

Status MarkDot(Schedule& schedule, LoopRV lanes, const DotTiling& dot) {
  ASSIGN_OR_RETURN(const BlockRV block, Blockize(schedule, lanes));
  return Annotate(schedule, block, kAutoTensorize, std::string(dot.intrin.name));
}

}  // namespace lathe
