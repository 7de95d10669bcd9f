#include "tuner/space/contraction.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "tuner/space/block_pattern.h"

namespace lathe {
namespace {

bool Moves(const BufferRegion& region, const Var& iter) {
  return std::any_of(region.region.begin(), region.region.end(),
                     [&](const Range& range) { return UsesVar(range.min, iter.get()); });
}

// The loads of `store`'s value, if it is C + a * b; nullopt otherwise.
std::optional<std::pair<Buffer, Buffer>> FactorsOf(const BufferStore& store) {
  const Binary* sum = store.value.As<Binary>();
  if (sum == nullptr || sum->op != BinaryOp::kAdd) return std::nullopt;
  const BufferLoad* before = sum->a.As<BufferLoad>();
  const Binary* product = sum->b.As<Binary>();
  if (before == nullptr || !before->buffer.same_as(store.buffer) || product == nullptr || product->op != BinaryOp::kMul)
    return std::nullopt;
  const BufferLoad *a = product->a.As<BufferLoad>(), *b = product->b.As<BufferLoad>();
  if (a == nullptr || b == nullptr || a->buffer.same_as(b->buffer)) return std::nullopt;
  return std::pair(a->buffer, b->buffer);
}

std::optional<size_t> PositionOfRead(const BlockNode& block, const Buffer& buffer) {
  for (size_t i = 0; i < block.reads.size(); ++i)
    if (block.reads[i].buffer.same_as(buffer)) return i;
  return std::nullopt;
}

// The data-parallel iter vars that stand in an index of the data beside `iter`.
std::vector<size_t> Companions(const BlockNode& block, const BufferRegion& data, const Var& iter) {
  std::vector<size_t> found;
  for (const Range& range : data.region) {
    if (!UsesVar(range.min, iter.get())) continue;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::kSpatial && UsesVar(range.min, block.iter_vars[i].var.get()))
        found.push_back(i);
    }
  }
  return found;
}

}  // namespace

std::vector<size_t> Contraction::LongOnes(const BlockNode& block, AxisRole role, std::optional<size_t> without) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == role && i != without && ExtentOf(block.iter_vars[i]) > 1) found.push_back(i);
  return found;
}

bool Contraction::Has(AxisRole role) const { return std::find(roles.begin(), roles.end(), role) != roles.end(); }

std::optional<Contraction> ContractionOf(const BlockNode& block) {
  const BufferStore* store = block.body.As<BufferStore>();
  if (!block.init || block.writes.size() != 1 || store == nullptr) return std::nullopt;
  const auto factors = FactorsOf(*store);
  if (!factors) return std::nullopt;
  const auto data = PositionOfRead(block, factors->first), weight = PositionOfRead(block, factors->second);
  if (!data || !weight) return std::nullopt;
  Contraction found{*data, *weight, {}, {}, block.writes[0].region.size()};
  for (const IterVar& iter : block.iter_vars) {
    const bool moves_weight = Moves(block.reads[*weight], iter.var);
    if (iter.kind == IterKind::kSpatial) {
      const bool moves_data = Moves(block.reads[*data], iter.var);
      found.roles.push_back(!moves_weight ? AxisRole::kData : moves_data ? AxisRole::kBoth : AxisRole::kWeight);
      continue;
    }
    const std::vector<size_t> pixels = Companions(block, block.reads[*data], iter.var);
    found.roles.push_back(pixels.empty() ? AxisRole::kReduce : AxisRole::kWindow);
    found.pixels.insert(found.pixels.end(), pixels.begin(), pixels.end());
  }
  std::sort(found.pixels.begin(), found.pixels.end());
  found.pixels.erase(std::unique(found.pixels.begin(), found.pixels.end()), found.pixels.end());
  return found;
}

}  // namespace lathe
