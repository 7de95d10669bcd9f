// The table of primitives: how a trace calls each. To add one: its pair of files, and a row here.
#include <fmt/core.h>

#include "compiler/schedule/add_unit_loop.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/annotate_buffer_access.h"
#include "compiler/schedule/blockize.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/cache_index.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/copy_at.h"
#include "compiler/schedule/decompose_padding.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/fuse_reduction_epilogue.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/loop_partition.h"
#include "compiler/schedule/merge.h"
#include "compiler/schedule/pad_einsum.h"
#include "compiler/schedule/reindex.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/reorder_block_iter_var.h"
#include "compiler/schedule/rfactor.h"
#include "compiler/schedule/rolling_buffer.h"
#include "compiler/schedule/sample_compute_location.h"
#include "compiler/schedule/sampling.h"
#include "compiler/schedule/set_axis_separator.h"
#include "compiler/schedule/set_scope.h"
#include "compiler/schedule/split.h"
#include "compiler/schedule/storage_align.h"
#include "compiler/schedule/tensorize.h"
#include "compiler/schedule/trace_map.h"
#include "compiler/schedule/transform_block_layout.h"
#include "compiler/schedule/transform_layout.h"
#include "compiler/schedule/unsafe_hide_buffer_access.h"
#include "compiler/schedule/unsafe_set_dtype.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using Inputs = std::span<const TraceInput>;
using Attrs = std::span<const Attr>;
using Outputs = StatusOr<std::vector<int>>;

// ---- Reading what a trace or a call holds; a trace may come from anywhere, so nothing is taken for granted.

// Who applies the instruction says which.
Status Malformed(const char* what) { return InvalidArgument(what); }

template <typename RV>
StatusOr<RV> InputAs(Inputs inputs, size_t i, const char* what) {
  if (i >= inputs.size() || !std::holds_alternative<RV>(inputs[i])) return Malformed(what);
  return std::get<RV>(inputs[i]);
}
StatusOr<BlockRV> BlockAt(Inputs inputs, size_t i) {
  return InputAs<BlockRV>(inputs, i, "an input is no block handle");
}
StatusOr<LoopRV> LoopAt(Inputs inputs, size_t i) { return InputAs<LoopRV>(inputs, i, "an input is no loop handle"); }

template <typename RV>
StatusOr<std::vector<RV>> InputsFrom(Inputs inputs, size_t first, const char* what) {
  std::vector<RV> handles;
  for (size_t i = first; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const RV handle, InputAs<RV>(inputs, i, what));
    handles.push_back(handle);
  }
  return handles;
}

StatusOr<int64_t> IntAttr(Attrs attrs, size_t i) {
  if (i >= attrs.size()) return Malformed("an attribute is missing");
  if (const int64_t* value = std::get_if<int64_t>(&attrs[i])) return *value;
  if (const bool* flag = std::get_if<bool>(&attrs[i])) return int64_t{*flag};
  return Malformed("an attribute is no integer");
}
// An attribute that counts something small: an index, an axis, a factor.
StatusOr<int> SmallAttr(Attrs attrs, size_t i) {
  ASSIGN_OR_RETURN(const int64_t value, IntAttr(attrs, i));
  if (value < -(1 << 30) || value > (1 << 30)) return Malformed("a number is out of range");
  return static_cast<int>(value);
}
StatusOr<std::vector<int64_t>> IntsAttr(Attrs attrs, size_t i) {
  const auto* items = i < attrs.size() ? std::get_if<std::vector<Attr>>(&attrs[i]) : nullptr;
  if (items == nullptr) return Malformed("an attribute is no list");
  std::vector<int64_t> numbers;
  for (const Attr& item : *items) {
    const int64_t* number = std::get_if<int64_t>(&item);
    if (number == nullptr || *number < -(1 << 30) || *number > (1 << 30))
      return Malformed("a list holds more than integers, or large ones");
    numbers.push_back(*number);
  }
  return numbers;
}
StatusOr<BufferSide> SideAttr(Attrs attrs, size_t i) {
  ASSIGN_OR_RETURN(const int64_t side, IntAttr(attrs, i));
  if (side != 0 && side != 1) return Malformed("a side of a buffer is neither 0, read, nor 1, written");
  return side == 0 ? BufferSide::kRead : BufferSide::kWrite;
}
StatusOr<std::string> StringAttr(Attrs attrs, size_t i) {
  if (i >= attrs.size() || !std::holds_alternative<std::string>(attrs[i]))
    return Malformed("an attribute is no string");
  return std::get<std::string>(attrs[i]);
}

template <typename RV>
std::vector<int> Ids(const std::vector<RV>& handles) {
  std::vector<int> ids;
  for (const RV& handle : handles) ids.push_back(handle.id);
  return ids;
}
template <typename RV>
Outputs Handles(const StatusOr<std::vector<RV>>& made) {
  if (!made.ok()) return made.status();
  return Ids(*made);
}
template <typename RV>
Outputs Handles(const StatusOr<RV>& made) {
  if (!made.ok()) return made.status();
  return std::vector<int>{made->id};
}
Outputs None(const Status& status) {
  if (!status.ok()) return status;
  return std::vector<int>();
}

// ---- One function per row.

Outputs ApplyGetBlock(Schedule& s, Inputs, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const std::string name, StringAttr(attrs, 0));
  ASSIGN_OR_RETURN(const std::string func_name, StringAttr(attrs, 1));
  return Handles(GetBlock(s, name, func_name));
}
Outputs ApplyGetLoops(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  return Handles(GetLoops(s, block));
}
template <StatusOr<std::vector<BlockRV>> (*kFind)(Schedule&, BlockRV)>
Outputs ApplyFindBlocks(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  return Handles(kFind(s, block));
}
Outputs ApplyGetChildBlocks(Schedule& s, Inputs in, Attrs, const Decision*) {
  if (!in.empty() && std::holds_alternative<LoopRV>(in[0]))
    return Handles(GetLoopChildBlocks(s, std::get<LoopRV>(in[0])));
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  return Handles(GetChildBlocks(s, block));
}
Outputs ApplySamplePerfectTile(Schedule& s, Inputs in, Attrs attrs, const Decision* decision) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  ASSIGN_OR_RETURN(const int64_t n, IntAttr(attrs, 0));
  ASSIGN_OR_RETURN(const int64_t max_innermost, IntAttr(attrs, 1));
  if (n < 1 || n > 16 || max_innermost < -1 || max_innermost > INT32_MAX)
    return Status(StatusCode::kOutOfRange, "sample_perfect_tile: a tile count or limit is out of range");
  return Handles(SamplePerfectTile(s, loop, static_cast<int>(n), static_cast<int>(max_innermost), decision));
}
Outputs ApplySamplePartitionedTile(Schedule& s, Inputs in, Attrs attrs, const Decision* decision) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  ASSIGN_OR_RETURN(const int n, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const int partition_pos, SmallAttr(attrs, 1));
  ASSIGN_OR_RETURN(const int innerpart_factor, SmallAttr(attrs, 2));
  if (n > 16) return Malformed("a tile count is out of range");
  return Handles(SamplePartitionedTile(s, loop, n, partition_pos, innerpart_factor, decision));
}
Outputs ApplySampleComputeLocation(Schedule& s, Inputs in, Attrs, const Decision* decision) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  return Handles(SampleComputeLocation(s, block, decision));
}
Outputs ApplySampleCategorical(Schedule& s, Inputs, Attrs attrs, const Decision* decision) {
  if (attrs.size() != 2) return Malformed("SampleCategorical has two attributes");
  std::vector<int64_t> candidates;
  std::vector<double> probs;
  for (int list = 0; list < 2; ++list) {
    const auto* items = std::get_if<std::vector<Attr>>(&attrs[list]);
    if (items == nullptr) return Malformed("SampleCategorical takes two lists");
    for (const Attr& item : *items) {
      const int64_t* number = std::get_if<int64_t>(&item);
      const double* real = std::get_if<double>(&item);
      if (list == 0 ? number == nullptr : number == nullptr && real == nullptr)
        return Malformed("a candidate or probability is no number");
      if (list == 0)
        candidates.push_back(*number);
      else
        probs.push_back(number != nullptr ? static_cast<double>(*number) : *real);
    }
  }
  return Handles(SampleCategorical(s, candidates, probs, decision));
}
StatusOr<std::vector<std::optional<ExprRV>>> FactorsFrom(Inputs in, size_t first) {
  std::vector<std::optional<ExprRV>> factors;
  for (size_t i = first; i < in.size(); ++i) {
    if (std::holds_alternative<std::monostate>(in[i]))
      factors.push_back(std::nullopt);
    else if (const int64_t* literal = std::get_if<int64_t>(&in[i]))
      factors.emplace_back(*literal);
    else if (const VarRV* var = std::get_if<VarRV>(&in[i]))
      factors.emplace_back(*var);
    else if (const Attr* value = std::get_if<Attr>(&in[i]); value != nullptr && std::holds_alternative<Expr>(*value))
      factors.emplace_back(std::get<Expr>(*value));
    else
      return Malformed("a split factor is no number");
  }
  return factors;
}
Outputs ApplyLoopPartition(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  ASSIGN_OR_RETURN(const std::vector<std::optional<ExprRV>> factors, FactorsFrom(in, 1));
  ASSIGN_OR_RETURN(const int64_t preserve_unit_iters, IntAttr(attrs, 0));
  return Handles(LoopPartition(s, loop, factors, preserve_unit_iters != 0));
}
Outputs ApplyCacheInplace(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const std::string scope, StringAttr(attrs, 1));
  return Handles(CacheInplace(s, block, index, scope));
}
Outputs ApplyFuseReductionEpilogue(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV reduction, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const BlockRV epilogue, BlockAt(in, 1));
  return None(FuseReductionEpilogue(s, reduction, epilogue));
}
Outputs ApplyRollingBuffer(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  return None(RollingBuffer(s, block, index));
}
template <StatusOr<BlockRV> (*kCopy)(Schedule&, LoopRV, BlockRV, int, const std::string&)>
Outputs ApplyCopyAt(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 1));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const std::string scope, StringAttr(attrs, 1));
  return Handles(kCopy(s, loop, block, index, scope));
}
Outputs ApplyUnsafeHideBufferAccess(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const std::string buf_type, InputAs<std::string>(in, 1, "the kind of access is no string"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                   InputAs<std::vector<int64_t>>(in, 2, "the numbers of buffers are no list of integers"));
  return None(UnsafeHideBufferAccess(s, block, buf_type, indices));
}
Outputs ApplyCacheIndex(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const std::string scope, StringAttr(attrs, 0));
  ASSIGN_OR_RETURN(const int cse_thresh, SmallAttr(attrs, 1));
  return Handles(CacheIndex(s, block, scope, cse_thresh));
}
Outputs ApplySplit(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  ASSIGN_OR_RETURN(const std::vector<std::optional<ExprRV>> factors, FactorsFrom(in, 1));
  ASSIGN_OR_RETURN(const int64_t preserve_unit_iters, IntAttr(attrs, 0));
  int64_t disable_predication = 0;
  if (attrs.size() > 1) {
    ASSIGN_OR_RETURN(disable_predication, IntAttr(attrs, 1));
  }
  return Handles(Split(s, loop, factors, preserve_unit_iters != 0, disable_predication != 0));
}
Outputs ApplyFuse(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, InputsFrom<LoopRV>(in, 0, "an input is no loop handle"));
  ASSIGN_OR_RETURN(const int64_t preserve_unit_iters, IntAttr(attrs, 0));
  return Handles(Fuse(s, loops, preserve_unit_iters != 0));
}
Outputs ApplyReorder(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, InputsFrom<LoopRV>(in, 0, "an input is no loop handle"));
  return None(Reorder(s, loops));
}
template <Status (*kMark)(Schedule&, LoopRV)>
Outputs ApplyForKind(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  return None(kMark(s, loop));
}
template <StatusOr<BlockRV> (*kCache)(Schedule&, BlockRV, int, const std::string&, std::span<const BlockRV>)>
Outputs ApplyCache(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const std::vector<BlockRV> others, InputsFrom<BlockRV>(in, 1, "an input is no block handle"));
  ASSIGN_OR_RETURN(const int64_t index, IntAttr(attrs, 0));
  ASSIGN_OR_RETURN(const std::string scope, StringAttr(attrs, 1));
  if (index < 0 || index > 1000) return Malformed("a buffer index is out of range");
  return Handles(kCache(s, block, static_cast<int>(index), scope, others));
}
template <Status (*kMove)(Schedule&, BlockRV, LoopRV, bool, int)>
Outputs ApplyComputeAt(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 1));
  ASSIGN_OR_RETURN(const int64_t preserve_unit_loops, IntAttr(attrs, 0));
  int64_t index = -1;
  if (attrs.size() > 1) {
    ASSIGN_OR_RETURN(index, IntAttr(attrs, 1));
  }
  return None(
      kMove(s, block, loop, preserve_unit_loops != 0, static_cast<int>(std::clamp<int64_t>(index, -3, 1 << 20))));
}
template <Status (*kInline)(Schedule&, BlockRV)>
Outputs ApplyInline(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  return None(kInline(s, block));
}
Outputs ApplyDecomposeReduction(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 1));
  return Handles(DecomposeReduction(s, block, loop));
}
Outputs ApplyRFactor(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  ASSIGN_OR_RETURN(const int factor_axis, SmallAttr(attrs, 0));
  return Handles(RFactor(s, loop, factor_axis));
}
Outputs ApplyBlockize(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const int64_t preserve_unit_iters, IntAttr(attrs, 0));
  if (const auto* blocks = in.empty() ? nullptr : std::get_if<std::vector<BlockRV>>(&in[0])) {
    return Handles(Blockize(s, *blocks, preserve_unit_iters != 0));
  }
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  return Handles(Blockize(s, loop, preserve_unit_iters != 0));
}
Outputs ApplyDecomposePadding(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 1));
  return Handles(DecomposePadding(s, block, loop));
}
Outputs ApplyReIndex(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const BufferSide side, SideAttr(attrs, 1));
  return Handles(ReIndex(s, block, index, side));
}
Outputs ApplyUnsafeSetDType(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const std::string dtype, StringAttr(attrs, 1));
  return None(UnsafeSetDType(s, block, index, dtype));
}
Outputs ApplyPadEinsum(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> padding, IntsAttr(attrs, 0));
  return None(PadEinsum(s, block, padding));
}
Outputs ApplyTensorize(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const std::string intrin, StringAttr(attrs, 0));
  int64_t preserve_unit_iters = 1;
  if (attrs.size() > 1) {
    ASSIGN_OR_RETURN(preserve_unit_iters, IntAttr(attrs, 1));
  }
  if (!in.empty() && std::holds_alternative<BlockRV>(in[0]))
    return None(Tensorize(s, std::get<BlockRV>(in[0]), intrin, preserve_unit_iters != 0));
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  return None(Tensorize(s, loop, intrin, preserve_unit_iters != 0));
}
StatusOr<TraceMap> MapAt(Inputs in, size_t i) { return InputAs<TraceMap>(in, i, "an input is no index map"); }
// None is nullopt.
StatusOr<std::optional<IndexMap>> MapAttr(Attrs attrs, size_t i) {
  if (i >= attrs.size() || std::holds_alternative<std::monostate>(attrs[i])) return std::optional<IndexMap>();
  const auto* map = std::get_if<std::shared_ptr<const IndexMap>>(&attrs[i]);
  if (map == nullptr) return Malformed("an attribute is no index map");
  return std::optional<IndexMap>(**map);
}
template <StatusOr<BlockRV> (*kCopy)(Schedule&, BlockRV, int, const std::string&, const TraceMap&)>
Outputs ApplyReindexCache(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const TraceMap map, MapAt(in, 1));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const std::string scope, StringAttr(attrs, 1));
  return Handles(kCopy(s, block, index, scope, map));
}
// 0 or 1, or by name, as Python gives it.
StatusOr<BufferSide> SideAt(Inputs in, size_t i) {
  const std::string* name = i < in.size() ? std::get_if<std::string>(&in[i]) : nullptr;
  if (name != nullptr && *name == "read") return BufferSide::kRead;
  if (name != nullptr && *name == "write") return BufferSide::kWrite;
  ASSIGN_OR_RETURN(const int64_t side, InputAs<int64_t>(in, i, "the kind of access is neither read nor write"));
  return SideAttr(std::vector<Attr>{side}, 0);
}
Outputs ApplyAnnotateBufferAccess(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int64_t index, InputAs<int64_t>(in, 1, "the number of a buffer is no integer"));
  ASSIGN_OR_RETURN(const BufferSide side, SideAt(in, 2));
  ASSIGN_OR_RETURN(const TraceMap ranges, MapAt(in, 3));
  if (index < 0 || index > INT32_MAX) return Malformed("the number of a buffer is out of range");
  return None(AnnotateBufferAccess(s, block, static_cast<int>(index), side, ranges));
}
Outputs ApplyTransformLayout(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const TraceMap map, MapAt(in, 1));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const BufferSide side, SideAttr(attrs, 1));
  ASSIGN_OR_RETURN(const std::optional<IndexMap> pad_value, MapAttr(attrs, 2));
  ASSIGN_OR_RETURN(const int64_t assume_injective, IntAttr(attrs, 3));
  return None(TransformLayout(s, block, index, side, map, pad_value, assume_injective != 0));
}
Outputs ApplyTransformBlockLayout(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const std::optional<IndexMap> map, MapAttr(attrs, 0));
  if (!map) return Malformed("an index map is missing");
  return None(TransformBlockLayout(s, block, *map));
}
Outputs ApplySetAxisSeparator(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const BufferSide side, SideAttr(attrs, 1));
  std::vector<int64_t> separators;
  if (attrs.size() > 2 && !std::holds_alternative<std::monostate>(attrs[2])) {
    ASSIGN_OR_RETURN(separators, IntsAttr(attrs, 2));
  }
  return None(SetAxisSeparator(s, block, index, side, separators));
}
template <typename RV>
Outputs AnnotateHandle(Schedule& s, RV handle, const std::string& key, const TraceInput& value) {
  if (const int64_t* number = std::get_if<int64_t>(&value)) return None(Annotate(s, handle, key, Attr(*number)));
  if (const std::string* text = std::get_if<std::string>(&value)) return None(Annotate(s, handle, key, Attr(*text)));
  if (const VarRV* var = std::get_if<VarRV>(&value)) return None(Annotate(s, handle, key, *var));
  if (const Attr* any = std::get_if<Attr>(&value)) return None(Annotate(s, handle, key, *any));
  if (const TraceItems* items = std::get_if<TraceItems>(&value)) return None(Annotate(s, handle, key, *items));
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value))
    return None(Annotate(s, handle, key, Attr(std::vector<Attr>(numbers->begin(), numbers->end()))));
  return Malformed("the value of an annotation is a handle or None");
}
Outputs ApplyAnnotate(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const std::string key, StringAttr(attrs, 0));
  if (in.size() != 2) return Malformed("Annotate has two inputs");
  if (const BlockRV* block = std::get_if<BlockRV>(&in[0])) return AnnotateHandle(s, *block, key, in[1]);
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  return AnnotateHandle(s, loop, key, in[1]);
}
Outputs ApplyUnannotate(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const std::string key, StringAttr(attrs, 0));
  if (in.empty()) return Malformed("Unannotate has one input");
  if (const BlockRV* block = std::get_if<BlockRV>(&in[0])) return None(Unannotate(s, *block, key));
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  return None(Unannotate(s, loop, key));
}
Outputs ApplyBind(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  ASSIGN_OR_RETURN(const std::string axis, StringAttr(attrs, 0));
  return None(Bind(s, loop, axis));
}
Outputs ApplyMerge(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, InputsFrom<LoopRV>(in, 0, "an input is no loop handle"));
  return Handles(Merge(s, loops));
}
Outputs ApplyAddUnitLoop(Schedule& s, Inputs in, Attrs, const Decision*) {
  if (!in.empty() && std::holds_alternative<BlockRV>(in[0])) {
    return Handles(AddUnitLoop(s, std::get<BlockRV>(in[0])));
  }
  ASSIGN_OR_RETURN(const LoopRV loop, LoopAt(in, 0));
  return Handles(AddUnitLoop(s, loop));
}
Outputs ApplyReorderBlockIterVar(Schedule& s, Inputs in, Attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> order,
                   InputAs<std::vector<int64_t>>(in, 1, "the new order is no list of integers"));
  return None(ReorderBlockIterVar(s, block, order));
}
Outputs ApplySetScope(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const std::string scope, StringAttr(attrs, 1));
  return None(SetScope(s, block, index, scope));
}
Outputs ApplyStorageAlign(Schedule& s, Inputs in, Attrs attrs, const Decision*) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockAt(in, 0));
  ASSIGN_OR_RETURN(const int index, SmallAttr(attrs, 0));
  ASSIGN_OR_RETURN(const int axis, SmallAttr(attrs, 1));
  ASSIGN_OR_RETURN(const int factor, SmallAttr(attrs, 2));
  ASSIGN_OR_RETURN(const int offset, SmallAttr(attrs, 3));
  return None(StorageAlign(s, block, index, axis, factor, offset));
}
Outputs ApplyEnterPostproc(Schedule& s, Inputs, Attrs, const Decision*) { return None(EnterPostproc(s)); }

constexpr InstructionKind kKinds[] = {
    {"GetBlock", false, 'b', ApplyGetBlock},
    {"GetLoops", false, 'l', ApplyGetLoops},
    {"GetChildBlocks", false, 'b', ApplyGetChildBlocks},
    {"GetProducers", false, 'b', ApplyFindBlocks<GetProducers>},
    {"GetConsumers", false, 'b', ApplyFindBlocks<GetConsumers>},
    {"GetOutputBlocks", false, 'b', ApplyFindBlocks<GetOutputBlocks>},
    {"SamplePerfectTile", true, 'v', ApplySamplePerfectTile},
    {"SamplePartitionedTile", true, 'v', ApplySamplePartitionedTile},
    {"SampleComputeLocation", true, 'l', ApplySampleComputeLocation},
    {"SampleCategorical", true, 'v', ApplySampleCategorical},
    {"Fuse", false, 'l', ApplyFuse},
    {"Split", false, 'l', ApplySplit},
    {"Reorder", false, '-', ApplyReorder},
    {"Parallel", false, '-', ApplyForKind<Parallel>},
    {"Vectorize", false, '-', ApplyForKind<Vectorize>},
    {"Unroll", false, '-', ApplyForKind<Unroll>},
    {"Bind", false, '-', ApplyBind},
    {"Merge", false, 'l', ApplyMerge},
    {"AddUnitLoop", false, 'l', ApplyAddUnitLoop},
    {"ReorderBlockIterVar", false, '-', ApplyReorderBlockIterVar},
    {"SetScope", false, '-', ApplySetScope},
    {"StorageAlign", false, '-', ApplyStorageAlign},
    {"CacheRead", false, 'b', ApplyCache<CacheRead>},
    {"CacheWrite", false, 'b', ApplyCache<CacheWrite>},
    {"CacheInplace", false, 'b', ApplyCacheInplace},
    {"CacheIndex", false, 'b', ApplyCacheIndex},
    {"FuseReductionEpilogue", false, '-', ApplyFuseReductionEpilogue},
    {"RollingBuffer", false, '-', ApplyRollingBuffer},
    {"ReadAt", false, 'b', ApplyCopyAt<ReadAt>},
    {"WriteAt", false, 'b', ApplyCopyAt<WriteAt>},
    {"UnsafeHideBufferAccess", false, '-', ApplyUnsafeHideBufferAccess},
    {"AnnotateBufferAccess", false, '-', ApplyAnnotateBufferAccess},
    {"LoopPartition", false, 'l', ApplyLoopPartition},
    {"ComputeAt", false, '-', ApplyComputeAt<ComputeAt>},
    {"ReverseComputeAt", false, '-', ApplyComputeAt<ReverseComputeAt>},
    {"ComputeInline", false, '-', ApplyInline<ComputeInline>},
    {"ReverseComputeInline", false, '-', ApplyInline<ReverseComputeInline>},
    {"DecomposeReduction", false, 'b', ApplyDecomposeReduction},
    {"RFactor", false, 'b', ApplyRFactor},
    {"Blockize", false, 'b', ApplyBlockize},
    {"DecomposePadding", false, 'b', ApplyDecomposePadding},
    {"ReIndex", false, 'b', ApplyReIndex},
    {"UnsafeSetDType", false, '-', ApplyUnsafeSetDType},
    {"PadEinsum", false, '-', ApplyPadEinsum},
    {"Tensorize", false, '-', ApplyTensorize},
    {"ReindexCacheRead", false, 'b', ApplyReindexCache<ReindexCacheRead>},
    {"ReindexCacheWrite", false, 'b', ApplyReindexCache<ReindexCacheWrite>},
    {"TransformLayout", false, '-', ApplyTransformLayout},
    {"TransformBlockLayout", false, '-', ApplyTransformBlockLayout},
    {"SetAxisSeparator", false, '-', ApplySetAxisSeparator},
    {"Annotate", false, '-', ApplyAnnotate},
    {"Unannotate", false, '-', ApplyUnannotate},
    {"EnterPostproc", false, '-', ApplyEnterPostproc},
};

}  // namespace

const InstructionKind* FindInstructionKind(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const InstructionKind*> kinds;
    for (const InstructionKind& kind : kKinds) kinds.emplace(kind.name, &kind);
    return kinds;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}
std::span<const InstructionKind> InstructionKinds() { return kKinds; }

}  // namespace lathe
