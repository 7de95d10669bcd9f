#include "tests/compiler/random_schedule/random_primitive.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "compiler/ir/structural.h"
#include "compiler/schedule/add_unit_loop.h"
#include "compiler/schedule/analysis.h"
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
#include "compiler/schedule/tensor_intrin.h"
#include "compiler/schedule/tensorize.h"
#include "compiler/schedule/transform_block_layout.h"
#include "compiler/schedule/transform_layout.h"
#include "compiler/schedule/unsafe_hide_buffer_access.h"
#include "compiler/schedule/unsafe_set_dtype.h"
#include "compiler/script/parser.h"

namespace lathe {
namespace {

// What the cases draw arguments from.
class Draw {
 public:
  Draw(Schedule& schedule, Random& random) : schedule(schedule), random_(random) {}

  uint64_t Below(uint64_t n) { return random_.Below(n); }
  bool Percent(uint64_t chance) { return Below(100) < chance; }
  template <typename T>
  const T& Pick(const std::vector<T>& list) {
    return list[Below(list.size())];
  }

  // All blocks but the root, inner ones included.
  std::vector<int> Blocks(const std::function<bool(int)>& fits = nullptr) const {
    std::vector<int> blocks = schedule.ChildBlocksOf(schedule.RootRow());
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (const int child : schedule.ChildBlocksOf(blocks[i])) blocks.push_back(child);
    }
    if (fits != nullptr) std::erase_if(blocks, [&](int row) { return !fits(row); });
    return blocks;
  }
  // -1: none. One in eight fits nothing in particular.
  int Block(const std::function<bool(int)>& fits = nullptr) {
    const std::vector<int> fitting = Blocks(Percent(12) ? nullptr : fits);
    return fitting.empty() ? -1 : Pick(fitting);
  }
  // By its name, or, where others have the same, by way of the block around it.
  BlockRV Handle(int row) {
    const std::string& name = schedule.BlockOf(row).name;
    if (schedule.FindBlock(name) == row) return *GetBlock(schedule, name);
    const int scope = schedule.ScopeOf(row);
    const std::vector<int> siblings = schedule.ChildBlocksOf(scope);
    const std::ptrdiff_t position = std::find(siblings.begin(), siblings.end(), row) - siblings.begin();
    return (*GetChildBlocks(schedule, Handle(scope)))[size_t(position)];
  }
  std::vector<LoopRV> LoopsAround(int row) { return *GetLoops(schedule, Handle(row)); }
  const For& At(LoopRV loop) const { return **schedule.Get(loop); }
  // Around some block; none if there is none.
  std::vector<LoopRV> LoopsOfAny() {
    const int block = Block();
    return block < 0 ? std::vector<LoopRV>() : LoopsAround(block);
  }
  std::optional<BlockRV> AnyBlock(const std::function<bool(int)>& fits = nullptr) {
    const int block = Block(fits);
    return block < 0 ? std::nullopt : std::optional(Handle(block));
  }
  std::optional<LoopRV> PlainLoop() {
    return Loop([&](LoopRV loop) { return IsPlain(loop); });
  }
  bool IsPlain(LoopRV loop) const { return At(loop).kind == ForKind::kSerial && At(loop).annotations.empty(); }

  // Loops of some block, outermost first, that form a chain of single children.
  std::vector<LoopRV> Chain() {
    const int block = Block();
    if (block < 0) return {};
    const std::vector<LoopRV> loops = LoopsAround(block);
    if (loops.empty()) return {};
    size_t first = Below(loops.size()), last = first;
    const auto is_nested = [&](size_t i) { return At(loops[i]).body.As<For>() != nullptr; };
    while (first > 0 && is_nested(first - 1)) --first;
    while (last + 1 < loops.size() && is_nested(last)) ++last;
    return {loops.begin() + std::ptrdiff_t(first), loops.begin() + std::ptrdiff_t(last) + 1};
  }
  std::optional<LoopRV> Loop(const std::function<bool(LoopRV)>& fits = nullptr) {
    const int block = Block();
    if (block < 0) return std::nullopt;
    std::vector<LoopRV> loops = LoopsAround(block);
    if (fits != nullptr && !Percent(12)) std::erase_if(loops, [&](LoopRV loop) { return !fits(loop); });
    if (loops.empty()) return std::nullopt;
    return Pick(loops);
  }

  // Calls the primitive and looks whether a refusal left a trace.
  PrimitiveOutcome Try(std::string_view kind, const std::function<Status()>& call) {
    const PrimFunc before = schedule.func();
    const size_t length = schedule.trace().size();
    PrimitiveOutcome outcome{kind, call()};
    outcome.was_changed_by_refusal =
        !outcome.status.ok() && (schedule.trace().size() != length || !schedule.func().body.same_as(before.body));
    outcome.inconsistency = schedule.Inconsistency();
    return outcome;
  }

  Schedule& schedule;

 private:
  Random& random_;
};

using Outcome = PrimitiveOutcome;
using Factors = std::vector<std::optional<ExprRV>>;

// ---- Asking and sampling

Outcome TryGetBlock(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  return draw.Try("GetBlock", [&] { return GetBlock(draw.schedule, draw.schedule.BlockOf(block).name).status(); });
}
// Calls f with a block.
template <typename F>
Outcome TryOnBlock(Draw& draw, std::string_view kind, F f) {
  const std::optional<BlockRV> block = draw.AnyBlock();
  if (!block) return {};
  return draw.Try(kind, [&] { return f(*block).status(); });
}
template <auto kGet>
Outcome TryGet(Draw& draw, std::string_view kind) {
  return TryOnBlock(draw, kind, [&](BlockRV block) { return kGet(draw.schedule, block); });
}
Outcome TryGetLoops(Draw& draw) { return TryGet<GetLoops>(draw, "GetLoops"); }
Outcome TryGetChildBlocks(Draw& draw) { return TryGet<GetChildBlocks>(draw, "GetChildBlocks"); }
Outcome TryGetProducers(Draw& draw) { return TryGet<GetProducers>(draw, "GetProducers"); }
Outcome TryGetConsumers(Draw& draw) { return TryGet<GetConsumers>(draw, "GetConsumers"); }
Outcome TryGetOutputBlocks(Draw& draw) { return TryGet<GetOutputBlocks>(draw, "GetOutputBlocks"); }

// A tile, mostly used for a split.
Outcome TrySamplePerfectTile(Draw& draw) {
  const std::optional<LoopRV> loop = draw.PlainLoop();
  if (!loop) return {};
  StatusOr<std::vector<VarRV>> tile = std::vector<VarRV>();
  const int parts = 2 + int(draw.Below(2));
  const Outcome sampled = draw.Try("SamplePerfectTile", [&] {
    tile = SamplePerfectTile(draw.schedule, *loop, parts, 8);
    return tile.status();
  });
  if (!sampled.status.ok() || sampled.was_changed_by_refusal || draw.Percent(15)) return sampled;
  Factors factors;
  for (const VarRV& var : *tile) factors.emplace_back(ExprRV(var));
  return draw.Try("Split", [&] { return Split(draw.schedule, *loop, factors).status(); });
}
Outcome TrySampleCategorical(Draw& draw) {
  const std::vector<int64_t> candidates = {0, 4, 16};
  const std::vector<double> probs = {0.25, 0.25, 0.5};
  const int block = draw.Block();
  StatusOr<VarRV> var = VarRV();
  const Outcome sampled = draw.Try("SampleCategorical", [&] {
    var = SampleCategorical(draw.schedule, candidates, probs);
    return var.status();
  });
  if (!sampled.status.ok() || block < 0 || draw.Percent(50)) return sampled;
  const BlockRV handle = draw.Handle(block);
  return draw.Try("Annotate", [&] { return Annotate(draw.schedule, handle, "note", *var); });
}

Outcome TrySamplePartitionedTile(Draw& draw) {
  const std::optional<LoopRV> loop = draw.PlainLoop();
  if (!loop) return {};
  const int parts = 2 + int(draw.Below(2)), factor = 1 + int(draw.Below(3));
  return draw.Try("SamplePartitionedTile",
                  [&] { return SamplePartitionedTile(draw.schedule, *loop, parts, 1, factor).status(); });
}
// A place, mostly used.
Outcome TrySampleComputeLocation(Draw& draw) {
  const std::optional<BlockRV> block = draw.AnyBlock();
  if (!block) return {};
  StatusOr<LoopRV> place = LoopRV();
  const Outcome sampled = draw.Try("SampleComputeLocation", [&] {
    place = SampleComputeLocation(draw.schedule, *block);
    return place.status();
  });
  if (!sampled.status.ok() || sampled.was_changed_by_refusal || draw.Percent(20)) return sampled;
  return draw.Try("ComputeAt", [&] { return ComputeAt(draw.schedule, *block, *place, true); });
}

// ---- Loops

Outcome TrySplit(Draw& draw) {
  const std::optional<LoopRV> loop = draw.PlainLoop();
  if (!loop) return {};
  const ExprRV factor = int64_t(1 + draw.Below(6));
  Factors factors = {std::nullopt, factor};
  if (draw.Percent(30)) std::swap(factors[0], factors[1]);
  if (draw.Percent(15)) factors.emplace_back(ExprRV(int64_t(2)));
  const bool preserve = draw.Percent(50);
  return draw.Try("Split", [&] { return Split(draw.schedule, *loop, factors, preserve).status(); });
}
Outcome TryLoopPartition(Draw& draw) {
  const std::optional<LoopRV> loop = draw.PlainLoop();
  if (!loop) return {};
  Factors factors = {ExprRV(int64_t(1 + draw.Below(3)))};
  if (draw.Percent(30)) factors.emplace_back(ExprRV(int64_t(1)));
  if (draw.Percent(50)) factors.emplace_back(std::nullopt);
  if (draw.Percent(20)) std::swap(factors.front(), factors.back());
  return draw.Try("LoopPartition", [&] { return LoopPartition(draw.schedule, *loop, factors).status(); });
}
Outcome TryFuse(Draw& draw) {
  const std::vector<LoopRV> chain = draw.Chain();
  if (chain.size() < 2 && !draw.Percent(5)) return {};
  if (chain.empty()) return {};
  const size_t first = chain.size() < 2 ? 0 : draw.Below(chain.size() - 1);
  const size_t count = chain.size() < 2 ? 1 : 2 + draw.Below(chain.size() - first - 1);
  const bool preserve = draw.Percent(50);
  return draw.Try("Fuse",
                  [&] { return Fuse(draw.schedule, std::span(chain).subspan(first, count), preserve).status(); });
}
Outcome TryReorder(Draw& draw) {
  std::vector<LoopRV> order = draw.Chain();
  if (order.size() < 2) return {};
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.Below(i)]);
  order.resize(2 + draw.Below(order.size() - 1));
  return draw.Try("Reorder", [&] { return Reorder(draw.schedule, order); });
}
Outcome TryParallel(Draw& draw) {
  const std::vector<LoopRV> loops = draw.LoopsOfAny();
  if (loops.empty()) return {};
  const LoopRV loop = draw.Percent(60) ? loops[0] : draw.Pick(loops);
  return draw.Try("Parallel", [&] { return Parallel(draw.schedule, loop); });
}
Outcome TryVectorize(Draw& draw) {
  const std::vector<LoopRV> loops = draw.LoopsOfAny();
  if (loops.empty()) return {};
  const LoopRV loop = draw.Percent(60) ? loops.back() : draw.Pick(loops);
  return draw.Try("Vectorize", [&] { return Vectorize(draw.schedule, loop); });
}
Outcome TryUnroll(Draw& draw) {
  const std::optional<LoopRV> loop = draw.PlainLoop();
  if (!loop) return {};
  return draw.Try("Unroll", [&] { return Unroll(draw.schedule, *loop); });
}

// Outermost loops: each nest is a kernel of its own then, which waits for those before it.
Outcome TryBind(Draw& draw) {
  const std::vector<LoopRV> loops = draw.LoopsOfAny();
  if (loops.empty() || !draw.IsPlain(loops.front())) return {};
  const char* axis = draw.Percent(50) ? "blockIdx.x" : "threadIdx.x";
  return draw.Try("Bind", [&] { return Bind(draw.schedule, loops.front(), axis); });
}
// Loops at one depth around two blocks, mostly of one extent.
Outcome TryMerge(Draw& draw) {
  const int a = draw.Block(), b = draw.Block();
  if (a < 0 || b < 0) return {};
  const std::vector<LoopRV> first = draw.LoopsAround(a), second = draw.LoopsAround(b);
  std::vector<std::vector<LoopRV>> pairs;
  const bool is_any = draw.Percent(12);
  for (size_t d = 0; d < std::min(first.size(), second.size()); ++d) {
    const bool fits = draw.IsPlain(first[d]) && draw.IsPlain(second[d]) && &draw.At(first[d]) != &draw.At(second[d]) &&
                      StructuralEqual(draw.At(first[d]).extent, draw.At(second[d]).extent);
    if (is_any || fits) pairs.push_back({first[d], second[d]});
  }
  if (pairs.empty()) return {};
  const std::vector<LoopRV> loops = draw.Pick(pairs);
  return draw.Try("Merge", [&] { return Merge(draw.schedule, loops).status(); });
}
Outcome TryAddUnitLoop(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  const std::vector<LoopRV> loops = draw.LoopsAround(block);
  if (!loops.empty() && draw.Percent(50)) {
    const LoopRV loop = draw.Pick(loops);
    return draw.Try("AddUnitLoop", [&] { return AddUnitLoop(draw.schedule, loop).status(); });
  }
  const BlockRV handle = draw.Handle(block);
  return draw.Try("AddUnitLoop", [&] { return AddUnitLoop(draw.schedule, handle).status(); });
}

// ---- Copies

std::string ScopeFor(Draw& draw, const Buffer& buffer) {
  if (!ConstantShape(buffer->shape) || draw.Percent(50)) return "global";
  return "local";
}
// Sometimes some of the others that read the buffer.
std::vector<BlockRV> SomeReaders(Draw& draw, int block, const Buffer& buffer) {
  std::vector<BlockRV> readers;
  if (draw.Percent(60)) return readers;
  for (const int other : draw.Blocks()) {
    if (other != block && Reads(draw.schedule.BlockOf(other), buffer) && draw.Percent(50))
      readers.push_back(draw.Handle(other));
  }
  return readers;
}
Outcome TryCacheRead(Draw& draw) {
  const int block = draw.Block([&](int row) { return !draw.schedule.BlockOf(row).reads.empty(); });
  if (block < 0 || draw.schedule.BlockOf(block).reads.empty()) return {};
  const size_t index = draw.Below(draw.schedule.BlockOf(block).reads.size());
  const Buffer buffer = draw.schedule.BlockOf(block).reads[index].buffer;
  const std::vector<BlockRV> readers = SomeReaders(draw, block, buffer);
  const std::string scope = ScopeFor(draw, buffer);
  const BlockRV handle = draw.Handle(block);
  return draw.Try("CacheRead", [&] { return CacheRead(draw.schedule, handle, int(index), scope, readers).status(); });
}
Outcome TryCacheWrite(Draw& draw) {
  const int block = draw.Block([&](int row) { return !draw.schedule.BlockOf(row).writes.empty(); });
  if (block < 0 || draw.schedule.BlockOf(block).writes.empty()) return {};
  const size_t index = draw.Below(draw.schedule.BlockOf(block).writes.size());
  const Buffer buffer = draw.schedule.BlockOf(block).writes[index].buffer;
  const std::vector<BlockRV> readers = SomeReaders(draw, block, buffer);
  const std::string scope = ScopeFor(draw, buffer);
  const BlockRV handle = draw.Handle(block);
  return draw.Try("CacheWrite", [&] { return CacheWrite(draw.schedule, handle, int(index), scope, readers).status(); });
}

// One store to an element that it loads: others may declare to read what they only write, which nobody has written.
bool UpdatesInPlace(const BlockNode& node) {
  const BufferStore* store = node.body.As<BufferStore>();
  bool loads = false;
  if (store == nullptr) return false;
  PostOrderVisit(store->value, [&](const Expr& part) {
    const BufferLoad* load = part.As<BufferLoad>();
    loads = loads || (load != nullptr && StructuralEqual(part, Load(store->buffer, store->indices)));
  });
  return loads && !node.init;
}
Outcome TryCacheInplace(Draw& draw) {
  const std::vector<int> fitting = draw.Blocks([&](int row) { return UpdatesInPlace(draw.schedule.BlockOf(row)); });
  const int block = fitting.empty() ? -1 : draw.Pick(fitting);
  if (block < 0 || draw.schedule.BlockOf(block).reads.empty()) return {};
  const size_t index = draw.Below(draw.schedule.BlockOf(block).reads.size());
  const std::string scope = ScopeFor(draw, draw.schedule.BlockOf(block).reads[index].buffer);
  const BlockRV handle = draw.Handle(block);
  return draw.Try("CacheInplace", [&] { return CacheInplace(draw.schedule, handle, int(index), scope).status(); });
}
Outcome TryCacheIndex(Draw& draw) {
  const auto call = [&](BlockRV block) { return CacheIndex(draw.schedule, block, "global", int(draw.Below(3))); };
  return TryOnBlock(draw, "CacheIndex", call);
}

// Mostly after its block was put where the first reader's outermost loop is: the tiles of its iterations may overlap.
Outcome TryRollingBuffer(Draw& draw) {
  const int block = draw.Block(
      [&](int row) { return !IsOutputBlock(draw.schedule, row) && ConsumersOf(draw.schedule, row).size() == 1; });
  if (block < 0) return {};
  const BlockRV handle = draw.Handle(block);
  const std::vector<int> readers = ConsumersOf(draw.schedule, block);
  const std::vector<LoopRV> loops = readers.empty() ? std::vector<LoopRV>() : draw.LoopsAround(readers.front());
  if (!loops.empty() && draw.Percent(80)) {
    const Outcome moved = draw.Try("ComputeAt", [&] { return ComputeAt(draw.schedule, handle, loops.front(), false); });
    if (!moved.status.ok() || moved.was_changed_by_refusal) return moved;
  }
  return draw.Try("RollingBuffer", [&] { return RollingBuffer(draw.schedule, handle, 0); });
}
template <auto kCopy>
Outcome TryCopyAt(Draw& draw, std::string_view kind, bool is_read) {
  const int block = draw.Block();
  if (block < 0) return {};
  const std::vector<LoopRV> loops = draw.LoopsAround(block);
  const BlockNode& node = draw.schedule.BlockOf(block);
  const std::vector<BufferRegion>& regions = is_read ? node.reads : node.writes;
  if (loops.empty() || regions.empty()) return {};
  const size_t index = draw.Below(regions.size());
  const std::string scope = ScopeFor(draw, regions[index].buffer);
  const LoopRV loop = draw.Pick(loops);
  const BlockRV handle = draw.Handle(block);
  return draw.Try(kind, [&] { return kCopy(draw.schedule, loop, handle, int(index), scope).status(); });
}
Outcome TryReadAt(Draw& draw) { return TryCopyAt<ReadAt>(draw, "ReadAt", true); }
Outcome TryWriteAt(Draw& draw) { return TryCopyAt<WriteAt>(draw, "WriteAt", false); }
// A parameter that no block of any scope writes.
bool IsPureInput(const Schedule& schedule, const Buffer& buffer) {
  bool is_written = false;
  PostOrderVisit(schedule.func().body, [&](const Stmt& stmt) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    if (realize == nullptr) return;
    for (const BufferRegion& write : realize->block->writes)
      is_written = is_written || write.buffer.same_as(buffer) || MayAlias(write.buffer, buffer);
  });
  const std::vector<Param> params = ParamsOf(schedule.func());
  return !is_written && std::any_of(params.begin(), params.end(), [&](const Param& param) {
    const Buffer* given = std::get_if<Buffer>(&param);
    return given != nullptr && given->same_as(buffer);
  });
}
Outcome TryFuseReductionEpilogue(Draw& draw) {
  const int reduction = draw.Block([&](int row) {
    return draw.schedule.BlockOf(row).init.has_value() && ConsumersOf(draw.schedule, row).size() == 1;
  });
  const std::vector<int> readers = reduction < 0 ? std::vector<int>() : ConsumersOf(draw.schedule, reduction);
  if (readers.empty()) return {};
  const BlockRV sum = draw.Handle(reduction), epilogue = draw.Handle(draw.Pick(readers));
  return draw.Try("FuseReductionEpilogue", [&] { return FuseReductionEpilogue(draw.schedule, sum, epilogue); });
}
int NumReaders(const Schedule& schedule, const Buffer& buffer) {
  int count = 0;
  PostOrderVisit(schedule.func().body, [&](const Stmt& stmt) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    count += realize != nullptr && Reads(*realize->block, buffer);
  });
  return count;
}
// Hides reads of what the function is given, nobody writes and nobody else reads: then the order that is left still is
// the right one, and no primitive that fuses two blocks makes one that declares a part of what it reads, which a copy
// would go by.
Outcome TryUnsafeHideBufferAccess(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  const std::vector<BufferRegion>& reads = draw.schedule.BlockOf(block).reads;
  std::vector<int64_t> inputs;
  for (size_t i = 0; i < reads.size(); ++i)
    if (IsPureInput(draw.schedule, reads[i].buffer) && NumReaders(draw.schedule, reads[i].buffer) == 1)
      inputs.push_back(int64_t(i));
  if (inputs.empty()) return {};
  const BlockRV handle = draw.Handle(block);
  const std::vector<int64_t> hidden{draw.Pick(inputs)};
  return draw.Try("UnsafeHideBufferAccess",
                  [&] { return UnsafeHideBufferAccess(draw.schedule, handle, "read", hidden); });
}
Outcome TryAnnotateBufferAccess(Draw& draw) {
  const int block = draw.Block([&](int row) { return !draw.schedule.BlockOf(row).reads.empty(); });
  if (block < 0) return {};
  const BlockRV handle = draw.Handle(block);
  IndexMap ranges;
  for (const IterVar& iter : draw.schedule.BlockOf(block).iter_vars) ranges.initial_indices.push_back(iter.var);
  for (const Range& dim : draw.schedule.BlockOf(block).reads[0].region) {
    ranges.final_indices.push_back(dim.min);
    ranges.final_indices.push_back(dim.min + dim.extent);
  }
  return draw.Try("AnnotateBufferAccess",
                  [&] { return AnnotateBufferAccess(draw.schedule, handle, 0, BufferSide::kRead, ranges); });
}

Outcome TryReIndex(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  const BufferSide side = draw.Percent(60) ? BufferSide::kRead : BufferSide::kWrite;
  const BlockNode& node = draw.schedule.BlockOf(block);
  const size_t count = side == BufferSide::kRead ? node.reads.size() : node.writes.size();
  const int index = static_cast<int>(draw.Below(count + (draw.Percent(5) ? 1 : 0) + (count == 0 ? 1 : 0)));
  // Local memory of a symbolic size would be refused when it is lowered.
  if (size_t(index) < count && (side == BufferSide::kRead ? node.reads : node.writes)[index].buffer->scope != "global")
    return {};
  const BlockRV handle = draw.Handle(block);
  return draw.Try("ReIndex", [&] { return ReIndex(draw.schedule, handle, index, side).status(); });
}

// ---- Buffers

Outcome TrySetScope(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  const BlockRV handle = draw.Handle(block);
  const auto& writes = draw.schedule.BlockOf(block).writes;
  const std::string scope = writes.empty() ? "global" : ScopeFor(draw, writes[0].buffer);
  return draw.Try("SetScope", [&] { return SetScope(draw.schedule, handle, 0, scope); });
}
Outcome TryStorageAlign(Draw& draw) {
  const std::optional<BlockRV> block = draw.AnyBlock();
  if (!block) return {};
  const int axis = static_cast<int>(draw.Below(4)) - 2;
  return draw.Try("StorageAlign", [&] { return StorageAlign(draw.schedule, *block, 0, axis, 8, 4); });
}
// Values of these programs are small integers: a wider type holds them all.
Outcome TryUnsafeSetDType(Draw& draw) {
  const int block = draw.Block();
  if (block < 0 || draw.schedule.BlockOf(block).writes.empty()) return {};
  const BlockRV handle = draw.Handle(block);
  const bool is_float = draw.schedule.BlockOf(block).writes[0].buffer->dtype.is_float();
  return draw.Try("UnsafeSetDType",
                  [&] { return UnsafeSetDType(draw.schedule, handle, 0, is_float ? "float64" : "int64"); });
}

// (i, j) -> (j, i), (i // f, j, i % f), (i, j // f, j % f) ..., and with indices named twice.
IndexMap DrawMap(Draw& draw, const std::vector<Expr>& extents) {
  IndexMap map = IndexMap::Identity(extents.size(), extents[0].dtype());
  std::vector<Expr> indices = map.final_indices;
  if (draw.Percent(70)) {
    const size_t axis = draw.Below(indices.size());
    const Expr factor = IntConst(extents[0].dtype(), int64_t(2 + draw.Below(3)));
    indices.push_back(FloorMod(indices[axis], factor));
    indices[axis] = FloorDiv(indices[axis], factor);
  }
  for (size_t i = indices.size(); i > 1; --i)
    if (draw.Percent(50)) std::swap(indices[i - 1], indices[draw.Below(i)]);
  if (draw.Percent(5)) indices.pop_back();
  map.final_indices = std::move(indices);
  return map;
}
template <auto kCopy>
Outcome TryReindexCache(Draw& draw, std::string_view kind, BufferSide side) {
  const int block = draw.Block();
  if (block < 0) return {};
  const BlockNode& node = draw.schedule.BlockOf(block);
  const auto& regions = side == BufferSide::kRead ? node.reads : node.writes;
  if (regions.empty() || node.iter_vars.empty()) return {};
  const size_t index = draw.Below(regions.size());
  IndexMap map;  // Of the iter vars that count.
  for (const IterVar& iter : node.iter_vars) {
    map.initial_indices.emplace_back(iter.var.name(), iter.var.dtype());
    const bool counts =
        std::any_of(regions[index].region.begin(), regions[index].region.end(), [&](const Range& range) {
          return UsesVar(range.min, [&](const ExprNode* var) { return var == iter.var.get(); });
        });
    if (counts || draw.Percent(5)) map.final_indices.emplace_back(map.initial_indices.back());
  }
  for (size_t i = map.final_indices.size(); i > 1; --i)
    std::swap(map.final_indices[i - 1], map.final_indices[draw.Below(i)]);
  const BlockRV handle = draw.Handle(block);
  return draw.Try(kind, [&] { return kCopy(draw.schedule, handle, int(index), "global", map).status(); });
}
Outcome TryReindexCacheRead(Draw& draw) {
  return TryReindexCache<ReindexCacheRead>(draw, "ReindexCacheRead", BufferSide::kRead);
}
Outcome TryReindexCacheWrite(Draw& draw) {
  return TryReindexCache<ReindexCacheWrite>(draw, "ReindexCacheWrite", BufferSide::kWrite);
}
// Of buffers that the function allocates: another layout of a parameter is another function to its caller.
Outcome TryTransformLayout(Draw& draw) {
  const int block = draw.Block();
  if (block < 0 || draw.schedule.BlockOf(block).writes.empty()) return {};
  const Buffer& buffer = draw.schedule.BlockOf(block).writes[0].buffer;
  if (buffer->shape.empty() || !WrittenIntermediate(draw.schedule, block, 0, "draw").ok()) return {};
  const IndexMap map = DrawMap(draw, buffer->shape);
  if (map.final_indices.empty()) return {};
  std::optional<IndexMap> pad_value;
  if (draw.Percent(60)) {
    pad_value = IndexMap::Identity(map.final_indices.size());
    pad_value->final_indices = {MakeCast(buffer->dtype, Expr(int64_t(draw.Below(3))))};
  }
  const BlockRV handle = draw.Handle(block);
  return draw.Try("TransformLayout",
                  [&] { return TransformLayout(draw.schedule, handle, 0, BufferSide::kWrite, map, pad_value); });
}
Outcome TrySetAxisSeparator(Draw& draw) {
  const int block = draw.Block();
  if (block < 0 || draw.schedule.BlockOf(block).writes.empty()) return {};
  const size_t rank = draw.schedule.BlockOf(block).writes[0].buffer->shape.size();
  const std::vector<int64_t> separators{int64_t(draw.Below(rank + 1))};
  const BlockRV handle = draw.Handle(block);
  return draw.Try("SetAxisSeparator",
                  [&] { return SetAxisSeparator(draw.schedule, handle, 0, BufferSide::kWrite, separators); });
}

// ---- Blocks

Outcome TryTransformBlockLayout(Draw& draw) {
  const int block = draw.Block();
  if (block < 0 || draw.schedule.BlockOf(block).iter_vars.empty()) return {};
  std::vector<Expr> extents;
  for (const IterVar& iter : draw.schedule.BlockOf(block).iter_vars) extents.push_back(iter.domain.extent);
  const IndexMap map = DrawMap(draw, extents);
  const BlockRV handle = draw.Handle(block);
  return draw.Try("TransformBlockLayout", [&] { return TransformBlockLayout(draw.schedule, handle, map); });
}
// "random.dot<length>_<dtype>": c[0] += the products of a and b, one loop, or the terms one after the other.
std::string DotIntrin(int64_t length, DataType type) {
  const std::string name = fmt::format("random.dot{}_{}", length, type.ToString());
  std::string terms;
  for (int64_t k = 0; k < length; ++k) terms += fmt::format("        C[0] = C[0] + A[{0}] * B[{0}]\n", k);
  const std::string head = fmt::format(R"(@T.prim_func
def dot(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ({0},), "{1}", offset_factor=1)
    B = T.match_buffer(b, ({0},), "{1}", offset_factor=1)
    C = T.match_buffer(c, (1,), "{1}", offset_factor=1)
    with T.block("root"):
        T.reads(C[0], A[0:{0}], B[0:{0}])
        T.writes(C[0])
)",
                                       length, type.ToString());
  const std::string loop = fmt::format(R"(        for k in range({}):
            with T.block("update"):
                v = T.axis.remap("R", [k])
                C[0] = C[0] + A[v] * B[v]
)",
                                       length);
  const auto intrin = MakeTensorIntrin(*ParsePrimFunc(head + loop, "dot"), *ParsePrimFunc(head + terms, "dot"));
  CHECK(intrin.ok()) << intrin.status().ToString();
  CHECK(RegisterTensorIntrin(name, *intrin, /*replaces=*/true).ok());
  return name;
}
// The innermost loop of a sum, mostly with its init apart: what the intrinsic describes if the sum is a plain product.
Outcome TryTensorize(Draw& draw) {
  const int block = draw.Block([&](int row) { return draw.schedule.BlockOf(row).init.has_value(); });
  if (block < 0) return {};
  const std::vector<LoopRV> loops = draw.LoopsAround(block);
  if (loops.empty() || draw.schedule.BlockOf(block).writes.empty()) return {};
  const int64_t* length = AsIntConst(draw.At(loops.back()).extent);
  if (length == nullptr || *length > 16) return {};
  const std::string name = DotIntrin(*length, draw.schedule.BlockOf(block).writes[0].buffer->dtype);
  const BlockRV handle = draw.Handle(block);
  if (draw.schedule.BlockOf(block).init && draw.Percent(90)) {
    const Outcome apart = draw.Try("DecomposeReduction", [&] {
      return DecomposeReduction(draw.schedule, handle, loops[draw.Below(loops.size())]).status();
    });
    if (!apart.status.ok() || apart.was_changed_by_refusal) return apart;
  }
  return draw.Try("Tensorize", [&] { return Tensorize(draw.schedule, loops.back(), name); });
}
Outcome TryReorderBlockIterVar(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  std::vector<int64_t> order(draw.schedule.BlockOf(block).iter_vars.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.Below(i)]);
  if (!order.empty() && draw.Percent(5)) order.pop_back();
  const BlockRV handle = draw.Handle(block);
  return draw.Try("ReorderBlockIterVar", [&] { return ReorderBlockIterVar(draw.schedule, handle, order); });
}
// A block and those after it under the same parent, mostly two.
Outcome TryBlockizeSeveral(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  std::vector<BlockRV> blocks{draw.Handle(block)};
  const std::vector<int> siblings = draw.schedule.ChildBlocksOf(draw.schedule.ScopeOf(block));
  auto next = std::find(siblings.begin(), siblings.end(), block) + 1;
  for (; next != siblings.end() && (blocks.size() < 2 || draw.Percent(30)); ++next)
    blocks.push_back(draw.Handle(*next));
  if (draw.Percent(10)) std::swap(blocks.front(), blocks.back());
  const bool preserve = draw.Percent(50);
  return draw.Try("Blockize", [&] { return Blockize(draw.schedule, blocks, preserve).status(); });
}
Outcome TryBlockize(Draw& draw) {
  if (draw.Percent(30)) return TryBlockizeSeveral(draw);
  const std::optional<LoopRV> loop = draw.Loop();
  if (!loop) return {};
  return draw.Try("Blockize", [&] { return Blockize(draw.schedule, *loop, draw.Percent(50)).status(); });
}
Outcome TryDecomposePadding(Draw& draw) {
  const int block = draw.Block([&](int row) {
    const BufferStore* store = draw.schedule.BlockOf(row).body.As<BufferStore>();
    const Call* call = store != nullptr ? store->value.As<Call>() : nullptr;
    return call != nullptr && call->op == FindOp("if_then_else");
  });
  const std::vector<LoopRV> loops = block < 0 ? std::vector<LoopRV>() : draw.LoopsAround(block);
  if (loops.empty()) return {};
  const BlockRV handle = draw.Handle(block);
  const LoopRV loop = draw.Pick(loops);
  return draw.Try("DecomposePadding", [&] { return DecomposePadding(draw.schedule, handle, loop).status(); });
}
Outcome TryPadEinsum(Draw& draw) {
  const int block = draw.Block();
  if (block < 0) return {};
  std::vector<int64_t> padding;
  for (size_t i = 0; i < draw.schedule.BlockOf(block).iter_vars.size(); ++i)
    padding.push_back(static_cast<int64_t>(1 + draw.Below(4)));
  const BlockRV handle = draw.Handle(block);
  return draw.Try("PadEinsum", [&] { return PadEinsum(draw.schedule, handle, padding); });
}

// ---- Places

int DrawPlace(Draw& draw) { return draw.Percent(70) ? -1 : draw.Percent(70) ? -2 : int(draw.Below(3)); }

template <auto kMove, auto kOthers>
Outcome TryMove(Draw& draw, std::string_view kind) {
  const int block = draw.Block([&](int row) { return !kOthers(draw.schedule, row).empty(); });
  if (block < 0) return {};
  const std::vector<int> others = draw.Percent(5) ? draw.Blocks() : kOthers(draw.schedule, block);
  if (others.empty()) return {};
  const std::vector<LoopRV> loops = draw.LoopsAround(draw.Pick(others));
  if (loops.empty()) return {};
  const LoopRV loop = draw.Pick(loops);
  const BlockRV handle = draw.Handle(block);
  const bool preserve = draw.Percent(50);
  const int place = DrawPlace(draw);
  return draw.Try(kind, [&] { return kMove(draw.schedule, handle, loop, preserve, place); });
}
Outcome TryComputeAt(Draw& draw) { return TryMove<ComputeAt, ConsumersOf>(draw, "ComputeAt"); }
Outcome TryReverseComputeAt(Draw& draw) { return TryMove<ReverseComputeAt, ProducersOf>(draw, "ReverseComputeAt"); }

template <auto kInline, auto kOthers>
Outcome TryInline(Draw& draw, std::string_view kind) {
  const int block = draw.Block([&](int row) {
    const BlockNode& node = draw.schedule.BlockOf(row);
    return !node.init && node.writes.size() == 1 && !kOthers(draw.schedule, row).empty();
  });
  if (block < 0) return {};
  const BlockRV handle = draw.Handle(block);
  return draw.Try(kind, [&] { return kInline(draw.schedule, handle); });
}
Outcome TryComputeInline(Draw& draw) { return TryInline<ComputeInline, ConsumersOf>(draw, "ComputeInline"); }
Outcome TryReverseComputeInline(Draw& draw) {
  return TryInline<ReverseComputeInline, ProducersOf>(draw, "ReverseComputeInline");
}

Outcome TryDecomposeReduction(Draw& draw) {
  const int block = draw.Block([&](int row) { return draw.schedule.BlockOf(row).init.has_value(); });
  if (block < 0) return {};
  const std::vector<LoopRV> loops = draw.LoopsAround(block);
  if (loops.empty()) return {};
  const BlockRV handle = draw.Handle(block);
  const LoopRV loop = draw.Pick(loops);
  return draw.Try("DecomposeReduction", [&] { return DecomposeReduction(draw.schedule, handle, loop).status(); });
}

// A loop that reduces.
Outcome TryRFactor(Draw& draw) {
  const int block = draw.Block([&](int row) { return draw.schedule.BlockOf(row).init.has_value(); });
  const std::vector<LoopRV> loops = block < 0 ? std::vector<LoopRV>() : draw.LoopsAround(block);
  if (loops.empty()) return {};
  const LoopRV loop = draw.Percent(60) ? loops.back() : draw.Pick(loops);
  const std::vector<BufferRegion>& writes = draw.schedule.BlockOf(block).writes;
  // Local memory of a symbolic size would be refused when it is lowered.
  if (AsIntConst(draw.At(loop).extent) == nullptr && !writes.empty() && writes[0].buffer->scope != "global") return {};
  const int axis = static_cast<int>(draw.Below(4)) - 2;
  return draw.Try("RFactor", [&] { return RFactor(draw.schedule, loop, axis).status(); });
}

// ---- Annotations

constexpr const char* kKeys[] = {"pragma_auto_unroll_max_step", "note", "remark"};

Outcome TryAnnotate(Draw& draw) {
  const std::string key = kKeys[draw.Below(3)];
  const Attr value{int64_t(draw.Below(20))};
  const int block = draw.Block();
  if (block < 0) return {};
  const std::vector<LoopRV> loops = draw.LoopsAround(block);
  if (loops.empty() || draw.Percent(60)) {
    const BlockRV handle = draw.Handle(block);
    return draw.Try("Annotate", [&] { return Annotate(draw.schedule, handle, key, value); });
  }
  const LoopRV loop = draw.Pick(loops);
  return draw.Try("Annotate", [&] { return Annotate(draw.schedule, loop, key, value); });
}
Outcome TryUnannotate(Draw& draw) {
  const int block = draw.Block([&](int row) { return !draw.schedule.BlockOf(row).annotations.empty(); });
  const std::optional<LoopRV> loop = draw.Loop([&](LoopRV l) { return !draw.At(l).annotations.empty(); });
  const auto first_key = [&](const AttrMap& attrs) { return attrs.empty() ? "note" : attrs.begin()->first; };
  if (loop && (block < 0 || draw.Percent(60))) {
    const std::string key = first_key(draw.At(*loop).annotations);
    return draw.Try("Unannotate", [&] { return Unannotate(draw.schedule, *loop, key); });
  }
  if (block < 0) return {};
  const std::string key = first_key(draw.schedule.BlockOf(block).annotations);
  const BlockRV handle = draw.Handle(block);
  return draw.Try("Unannotate", [&] { return Unannotate(draw.schedule, handle, key); });
}
Outcome TryEnterPostproc(Draw& draw) {
  return draw.Try("EnterPostproc", [&] { return EnterPostproc(draw.schedule); });
}

template <Outcome (*kTry)(Draw&)>
Outcome Run(Schedule& schedule, Random& random) {
  Draw draw(schedule, random);
  return kTry(draw);
}

constexpr PrimitiveCase kCases[] = {
    {"GetBlock", 1, false, Run<TryGetBlock>},
    {"GetLoops", 1, false, Run<TryGetLoops>},
    {"GetChildBlocks", 1, false, Run<TryGetChildBlocks>},
    {"GetProducers", 1, false, Run<TryGetProducers>},
    {"GetConsumers", 1, false, Run<TryGetConsumers>},
    {"GetOutputBlocks", 1, false, Run<TryGetOutputBlocks>},
    {"SamplePerfectTile", 5, false, Run<TrySamplePerfectTile>},
    {"SampleCategorical", 1, false, Run<TrySampleCategorical>},
    {"SamplePartitionedTile", 1, false, Run<TrySamplePartitionedTile>},
    {"SampleComputeLocation", 3, false, Run<TrySampleComputeLocation>},
    {"Fuse", 8, true, Run<TryFuse>},
    {"Split", 10, true, Run<TrySplit>},
    {"Reorder", 8, true, Run<TryReorder>},
    {"Parallel", 6, true, Run<TryParallel>},
    {"Vectorize", 6, true, Run<TryVectorize>},
    {"Unroll", 3, true, Run<TryUnroll>},
    {"CacheRead", 8, true, Run<TryCacheRead>},
    {"CacheWrite", 8, true, Run<TryCacheWrite>},
    {"CacheInplace", 8, true, Run<TryCacheInplace>},
    {"CacheIndex", 3, true, Run<TryCacheIndex>},
    {"FuseReductionEpilogue", 12, true, Run<TryFuseReductionEpilogue>},
    {"RollingBuffer", 8, true, Run<TryRollingBuffer>},
    {"ReadAt", 2, true, Run<TryReadAt>},
    {"WriteAt", 3, true, Run<TryWriteAt>},
    {"UnsafeHideBufferAccess", 1, true, Run<TryUnsafeHideBufferAccess>},
    {"AnnotateBufferAccess", 0, true, Run<TryAnnotateBufferAccess>},  // Maps in traces name no extent of a function.
    {"LoopPartition", 2, true, Run<TryLoopPartition>},
    {"ComputeAt", 12, true, Run<TryComputeAt>},
    {"ReverseComputeAt", 12, true, Run<TryReverseComputeAt>},
    {"ComputeInline", 8, true, Run<TryComputeInline>},
    {"ReverseComputeInline", 8, true, Run<TryReverseComputeInline>},
    {"DecomposeReduction", 8, true, Run<TryDecomposeReduction>},
    {"Bind", 2, true, Run<TryBind>},
    {"Merge", 12, true, Run<TryMerge>},
    {"AddUnitLoop", 2, true, Run<TryAddUnitLoop>},
    {"ReIndex", 6, true, Run<TryReIndex>},
    {"SetScope", 3, true, Run<TrySetScope>},
    {"StorageAlign", 2, true, Run<TryStorageAlign>},
    {"UnsafeSetDType", 3, true, Run<TryUnsafeSetDType>},
    {"ReorderBlockIterVar", 3, true, Run<TryReorderBlockIterVar>},
    {"Blockize", 5, true, Run<TryBlockize>},
    {"DecomposePadding", 7, true, Run<TryDecomposePadding>},
    {"PadEinsum", 5, true, Run<TryPadEinsum>},
    {"ReindexCacheRead", 4, true, Run<TryReindexCacheRead>},
    {"ReindexCacheWrite", 4, true, Run<TryReindexCacheWrite>},
    {"TransformLayout", 6, true, Run<TryTransformLayout>},
    {"TransformBlockLayout", 4, true, Run<TryTransformBlockLayout>},
    {"SetAxisSeparator", 2, true, Run<TrySetAxisSeparator>},
    {"Tensorize", 6, true, Run<TryTensorize>},
    {"RFactor", 8, true, Run<TryRFactor>},
    {"Annotate", 2, true, Run<TryAnnotate>},
    {"Unannotate", 2, true, Run<TryUnannotate>},
    {"EnterPostproc", 1, false, Run<TryEnterPostproc>},
};

}  // namespace

std::span<const PrimitiveCase> PrimitiveCases() { return kCases; }

PrimitiveOutcome ApplyRandomPrimitive(Schedule& schedule, Random& random) {
  int total = 0;
  for (const PrimitiveCase& one : kCases) total += one.weight;
  int drawn = int(random.Below(uint64_t(total)));
  for (const PrimitiveCase& one : kCases) {
    if ((drawn -= one.weight) < 0) return one.apply(schedule, random);
  }
  return {};
}

}  // namespace lathe
