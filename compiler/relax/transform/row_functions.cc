#include "compiler/relax/transform/row_functions.h"

#include <algorithm>

#include "compiler/ir/contraction.h"
#include "compiler/relax/transform/annotate_tir_op_pattern.h"

namespace lathe::relax {
namespace {

// How many dimensions number the rows of what the function makes.
size_t DimsOfRows(const PrimFunc& func) { return BufferParam(func, func.params.size() - 1)->shape.size() - 1; }

// The first `rows` dimensions are the block's first iter vars, one by one, or have one element.
bool FollowsRows(const BlockNode& block, const Buffer& buffer, const std::vector<PrimExpr>& indices, size_t rows) {
  if (block.iter_vars.size() < rows || indices.size() < rows) return false;
  for (size_t d = 0; d < rows; ++d) {
    const bool is_single = IsConstInt(indices[d], 0) && IsConstInt(buffer->shape[d], 1);
    if (block.iter_vars[d].kind != IterKind::kSpatial) return false;
    if (!is_single && !indices[d].same_as(block.iter_vars[d].var)) return false;
  }
  return true;
}

// An element of a row, or the one value that a row has there.
bool IsOfRow(const BlockNode& block, const BufferRegion& region, size_t rows) {
  std::vector<PrimExpr> indices;
  for (const Range& range : region.region) indices.push_back(range.min);
  if (!FollowsRows(block, region.buffer, indices, rows) || indices.size() > rows + 1) return false;
  return indices.size() == rows ||
         std::any_of(block.iter_vars.begin() + static_cast<std::ptrdiff_t>(rows), block.iter_vars.end(),
                     [&](const IterVar& iter) { return iter.var.same_as(indices.back()); });
}

bool ReducesByIterVar(const BlockNode& block, const PrimExpr& index) {
  return std::any_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [&](const IterVar& iter) { return iter.kind == IterKind::kReduce && iter.var.same_as(index); });
}

bool UsesAnyOf(const std::vector<PrimExpr>& indices, const lathe::Var& var) {
  return std::any_of(indices.begin(), indices.end(), [&](const PrimExpr& e) { return lathe::UsesVar(e, var.get()); });
}

}  // namespace

bool ReducesRows(const PrimFunc& func) {
  if (func.params.size() != 2 || BufferParam(func, 1)->shape.empty()) return false;
  const size_t rows = DimsOfRows(func);
  bool reduces = false;
  for (const BlockNode* block : LeafBlocks(func)) {
    const auto is_of_row = [&](const BufferRegion& region) { return IsOfRow(*block, region, rows); };
    const bool is_of_rows = std::all_of(block->reads.begin(), block->reads.end(), is_of_row) &&
                            std::all_of(block->writes.begin(), block->writes.end(), is_of_row);
    if (!is_of_rows) return false;
    reduces = reduces || block->init.has_value();
  }
  return reduces;
}

bool MultipliesRows(const PrimFunc& func, size_t param) {
  const std::vector<const BlockNode*> blocks = LeafBlocks(func);
  if (blocks.size() != 1 || BufferParam(func, func.params.size() - 1)->shape.size() < 2) return false;
  const BlockNode& block = *blocks[0];
  const std::optional<Contraction> product = ContractionOf(block);
  if (!product || !product->is_plain()) return false;
  const BufferLoad& data = product->a->buffer.same_as(BufferParam(func, param)) ? *product->a : *product->b;
  const BufferLoad& other = &data == product->a ? *product->b : *product->a;
  const BufferStore& out = *block.body.As<BufferStore>();
  const size_t rows = DimsOfRows(func);
  return data.buffer.same_as(BufferParam(func, param)) && data.indices.size() == rows + 1 &&
         FollowsRows(block, data.buffer, data.indices, rows) && FollowsRows(block, out.buffer, out.indices, rows) &&
         ReducesByIterVar(block, data.indices.back()) && !UsesAnyOf(other.indices, block.iter_vars[rows - 1].var);
}

}  // namespace lathe::relax
