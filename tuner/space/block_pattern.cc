#include "tuner/space/block_pattern.h"

#include <algorithm>

#include "compiler/arith/index_space.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"

namespace lathe {
namespace {

constexpr int64_t kFewestMasked = 5;  // Lanes of which the others are left out.
constexpr int64_t kLeastUses = 16;    // Of an element, for which a copy of it pays.
constexpr int64_t kMaskedBits = 512;  // Of a vector with lanes left out, in one register or several.

}  // namespace

namespace {

// Elements between what the block touches at value 0 of iter `iter` and at others, all other iters at 0, for one region
// of it.
class LaneOffsets {
 public:
  LaneOffsets(const BlockNode& block, const BufferRegion& region, size_t iter)
      : loop_(space_.AddIters(block)[iter]), place_(space_.FlatPlace(region)) {}
  bool is_known() const { return place_.has_value(); }  // Plain integer arithmetic, a constant shape.
  int64_t Of(int64_t lane) const { return space_.At(*place_, loop_, lane) - space_.At(*place_, loop_, 0); }

 private:
  IndexSpace space_;
  const int loop_;
  const std::optional<AffineForm> place_;
};

}  // namespace

Stride StrideOf(const BlockNode& block, const BufferRegion& region, size_t iter, int64_t lanes) {
  const LaneOffsets offsets(block, region, iter);
  const int64_t step = offsets.is_known() ? offsets.Of(1) : -1;
  if (step < 0 || step > kMaxLoadStride) return Stride::kOther;
  for (int64_t lane = 2; lane < lanes; ++lane)
    if (offsets.Of(lane) != lane * step) return Stride::kOther;
  return step == 0 ? Stride::kZero : step == 1 ? Stride::kOne : Stride::kShort;
}

Vectors VectorsFor(const BlockNode& block, const Target& target) {
  const RegisterFile& registers = target.register_file();
  const int lanes = registers.lanes(block.writes[0].buffer->dtype.bits);
  return {lanes, std::max<int64_t>(lanes, kMaskedBits / block.writes[0].buffer->dtype.bits)};
}

std::vector<size_t> VectorizableIters(const BlockNode& block, const Vectors& vectors) {
  std::vector<size_t> with_unit_writes, others, apart;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const int64_t extent = ExtentOf(block.iter_vars[i]);
    if (block.iter_vars[i].kind != IterKind::kSpatial || extent < 2) continue;
    const int64_t used = ChooseLanes(extent, vectors);
    if (used == 1) continue;
    bool usable = true, moves = false, is_apart = false;
    for (const BufferRegion& read : block.reads) {
      const Stride stride = StrideOf(block, read, i, used);
      usable = usable && stride != Stride::kOther;
      moves = moves || stride != Stride::kZero;
      is_apart = is_apart || stride == Stride::kShort;
    }
    if (!usable || !moves) continue;
    const bool unit_writes = std::all_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& w) {
      return StrideOf(block, w, i, used) == Stride::kOne;
    });
    (is_apart ? apart : unit_writes ? with_unit_writes : others).push_back(i);
  }
  for (const std::vector<size_t>* more : {&others, &apart})
    with_unit_writes.insert(with_unit_writes.end(), more->begin(), more->end());
  return with_unit_writes;
}

namespace {

// How often an element of the read is used: iterations of the data-parallel iters that do not move it.
int64_t UsesOf(const BlockNode& block, const BufferRegion& read) {
  int64_t uses = 1;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::kSpatial && !Moves(read, iter.var)) uses *= ExtentOf(iter);
  }
  return uses;
}

// The one dimension in whose index the iter stands; nullopt where it stands in several.
std::optional<size_t> DimOfIter(const BufferRegion& read, const Var& iter) {
  std::optional<size_t> found;
  for (size_t dim = 0; dim < read.region.size(); ++dim) {
    if (!UsesVar(read.region[dim].min, iter.get())) continue;
    if (found) return std::nullopt;
    found = dim;
  }
  return found;
}

int64_t BytesOf(const Buffer& buffer) {
  const std::optional<std::vector<int64_t>> shape = ConstantShape(buffer->shape);
  int64_t bytes = shape ? std::max(1, buffer->dtype.bits / 8) : 0;
  for (size_t i = 0; shape && i < shape->size(); ++i) bytes *= (*shape)[i];
  return bytes;
}

}  // namespace

std::optional<std::vector<PackedRead>> ReadsToPack(const BlockNode& block, size_t iter, int64_t lanes,
                                                   int64_t many_bytes) {
  std::vector<PackedRead> packed;
  for (size_t i = 0; i < block.reads.size(); ++i) {
    const BufferRegion& read = block.reads[i];
    const Var& var = block.iter_vars[iter].var;
    const Stride stride = StrideOf(block, read, iter, lanes);
    const std::optional<size_t> dim = DimOfIter(read, var);
    const bool pays = dim && UsesOf(block, read) >= kLeastUses;
    const bool is_alone = pays && read.region[*dim].min.same_as(var);
    if (stride == Stride::kOther && !is_alone) return std::nullopt;
    const bool has_far_rows = stride == Stride::kOne && BytesOf(read.buffer) >= many_bytes;
    if (stride == Stride::kOther || (has_far_rows && is_alone)) packed.push_back({i, *dim});
    if (stride == Stride::kShort && pays && *dim + 1 == read.region.size())
      packed.push_back({i, *dim, LaneOffsets(block, read, iter).Of(1)});
  }
  return packed;
}

int64_t ChooseLanes(int64_t extent, const Vectors& vectors) {
  int64_t whole = 1;
  for (int64_t n = 4; n <= vectors.lanes; n *= 2)
    if (extent % n == 0) whole = n;
  if (extent > vectors.masked_lanes) return whole > 1 ? whole : vectors.lanes;
  if (extent < kFewestMasked || whole == vectors.lanes) return whole;
  int64_t single = 4;
  while (single < extent) single *= 2;
  // A vector some of whose lanes are left out costs a little more than a whole one.
  return whole == 1 || 2 * whole <= extent ? single : whole;
}

bool Moves(const BufferRegion& region, const Var& iter) {
  return std::any_of(region.region.begin(), region.region.end(),
                     [&](const Range& range) { return UsesVar(range.min, iter.get()); });
}

std::optional<size_t> PositionOfRead(const BlockNode& block, const Buffer& buffer) {
  for (size_t i = 0; i < block.reads.size(); ++i)
    if (block.reads[i].buffer.same_as(buffer)) return i;
  return std::nullopt;
}

bool IsPlain(const Schedule& schedule, int row) {
  const BlockNode& block = schedule.BlockOf(row);
  return WhyNotSchedulable(schedule, row).empty() && IsTriviallyBound(schedule, row) && block.writes.size() == 1 &&
         schedule.ChildBlocksOf(row).empty() && !schedule.LoopsOf(row).empty();
}

bool HasDataReuse(const BlockNode& block) {
  return std::any_of(block.reads.begin(), block.reads.end(),
                     [&](const BufferRegion& read) { return UsesOf(block, read) > 1; });
}

bool StreamsOnce(const BlockNode& block, int64_t bytes) {
  const auto largest = std::max_element(
      block.reads.begin(), block.reads.end(),
      [](const BufferRegion& a, const BufferRegion& b) { return BytesOf(a.buffer) < BytesOf(b.buffer); });
  return largest != block.reads.end() && BytesOf(largest->buffer) >= bytes && UsesOf(block, *largest) == 1;
}

bool HasBranch(const BlockNode& block) {
  bool found = false;
  PostOrderVisit(block.body, [&](const Expr& e) {
    const Call* call = e.As<Call>();
    found = found || e.As<Select>() != nullptr || (call != nullptr && call->op == FindOp("if_then_else"));
  });
  return found;
}

bool IsLight(const BlockNode& block) {
  constexpr int kMostOperations = 4;
  int operations = 0;
  PostOrderVisit(block.body, [&](const Expr& e) {
    operations += e.As<Binary>() != nullptr && e.dtype() == block.writes[0].buffer->dtype ? 1 : 0;
    operations += e.As<Call>() != nullptr ? kMostOperations + 1 : 0;
  });
  const bool is_emulated = block.writes[0].buffer->dtype.is_float() && block.writes[0].buffer->dtype.bits < 32;
  return operations <= kMostOperations && !is_emulated;
}

int64_t ExtentOf(const IterVar& iter) {
  const int64_t* extent = AsIntConst(iter.domain.extent);
  return extent == nullptr ? 1 : std::max<int64_t>(1, *extent);
}

}  // namespace lathe
