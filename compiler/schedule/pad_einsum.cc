#include "compiler/schedule/pad_einsum.h"

#include <fmt/format.h>

#include <set>

#include "compiler/arith/linear.h"
#include "compiler/ir/may_trap.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/reducer.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kPadEinsum = "pad_einsum";

bool IsMultiple(const Expr& extent, int64_t of) {
  return Analyzer().CanProveEqual(FloorMod(extent, IntConst(extent.dtype(), of)), IntConst(extent.dtype(), 0));
}

// The loop that iter var `iter` alone is bound to, over its domain; nullopt if there is none.
std::optional<int> OwnLoop(const Schedule& schedule, int block, size_t iter) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const Range& domain = realize.block->iter_vars[iter].domain;
  for (int row : schedule.LoopsOf(block)) {
    const For& loop = schedule.LoopOf(row);
    if (!loop.loop_var.same_as(realize.iter_values[iter])) continue;
    bool is_own =
        IsConstInt(domain.min, 0) && IsConstInt(loop.min, 0) && Analyzer().CanProveEqual(loop.extent, domain.extent);
    for (size_t i = 0; i < realize.iter_values.size(); ++i)
      is_own = is_own && (i == iter || !UsesVar(realize.iter_values[i], loop.loop_var.get()));
    for (int other : schedule.LoopsOf(block))
      is_own = is_own && !UsesVar(schedule.LoopOf(other).extent, loop.loop_var.get());
    return is_own ? std::optional(row) : std::nullopt;
  }
  return std::nullopt;
}

// Whether the loops that no iter var has to itself run once over the domains of the iter vars that have none.
bool AreOthersCounted(const Schedule& schedule, int block, const std::set<int>& own, const Expr& others) {
  Expr iterations = 1;
  for (int row : schedule.LoopsOf(block))
    if (!own.contains(row)) iterations = iterations * schedule.LoopOf(row).extent;
  return Analyzer().CanProveEqual(iterations, others) && TakesEachStepOnce(schedule, schedule.LoopsOf(block)[0], block);
}

Status CheckEinsumNest(const Schedule& schedule, int block, std::span<const int64_t> padding) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const size_t count = realize.iter_values.size();
  const bool are_positive = std::all_of(padding.begin(), padding.end(), [](int64_t p) { return p > 0; });
  if (padding.size() != count || !are_positive)
    return schedule.Error(kPadEinsum, block,
                          fmt::format("padding [{}] is no list of {} positive numbers, one for each iter var",
                                      fmt::join(padding, ", "), count));
  RETURN_IF_ERROR(CheckIsolated(schedule, block, kPadEinsum));
  if (const WhyNot why = WhyNotSchedulable(schedule, block); !why.empty())
    return schedule.Error(kPadEinsum, block, why);
  const std::vector<int> loops = schedule.LoopsOf(block);
  if (loops.empty() || schedule.ChildBlocksOf(loops[0]).size() != 1 || IsConditional(schedule, loops[0], block))
    return schedule.Error(kPadEinsum, block, "it does not have its nest for itself");
  std::set<int> own;
  Expr others = 1;
  for (size_t i = 0; i < count; ++i) {
    const IterVar& iter = realize.block->iter_vars[i];
    if (const std::optional<int> loop = OwnLoop(schedule, block, i)) {
      own.insert(*loop);
      continue;
    }
    if (padding[i] != 1 && !IsMultiple(iter.domain.extent, padding[i]))
      return schedule.Error(kPadEinsum, block,
                            fmt::format("iter var \"{}\" is not bound to a loop over its domain", iter.var.name()));
    others = others * iter.domain.extent;
  }
  if (!IsConstInt(realize.predicate, 1) || !AreOthersCounted(schedule, block, own, others))
    return schedule.Error(kPadEinsum, block,
                          "its loops are not known to take each step of it once, under no predicate");
  return OkStatus();
}

// The domains' new extents.
std::vector<Expr> PaddedExtents(const BlockNode& block, std::span<const int64_t> padding) {
  std::vector<Expr> extents;
  for (size_t i = 0; i < padding.size(); ++i) {
    const Expr& extent = block.iter_vars[i].domain.extent;
    const Expr unit = IntConst(extent.dtype(), padding[i]), rest = IntConst(extent.dtype(), padding[i] - 1);
    extents.push_back(Analyzer().Simplify(FloorDiv(extent + rest, unit) * unit));
  }
  return extents;
}

// A buffer of the block and what it becomes; `bounds` by dimension, where that is padded.
struct PaddedBuffer {
  Buffer from, to;
  std::vector<std::optional<Expr>> bounds;
  bool is_padded() const {
    return std::any_of(bounds.begin(), bounds.end(), [](const auto& bound) { return bound.has_value(); });
  }
};

bool Divides(const Expr& e) {
  const Binary* op = e.As<Binary>();
  return op != nullptr && IsDivision(op->op);
}

class Padder {
 public:
  Padder(const Schedule& schedule, int block, std::span<const int64_t> padding)
      : schedule_(schedule), row_(block), block_(schedule.BlockOf(block)), extents_(PaddedExtents(block_, padding)) {}

  bool IsPadded(size_t iter) const {
    return !Analyzer().CanProveEqual(extents_[iter], block_.iter_vars[iter].domain.extent);
  }
  const Expr& extent(size_t iter) const { return extents_[iter]; }

  StatusOr<PaddedBuffer> Pad(const Buffer& buffer) const {
    ASSIGN_OR_RETURN(const std::vector<Expr> indices, IndicesInto(buffer));
    std::vector<Expr> shape = buffer->shape;
    PaddedBuffer padded{buffer, buffer, std::vector<std::optional<Expr>>(shape.size())};
    bool is_whole = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::optional<size_t> iter = IterOf(indices[d]);
      if (!iter && AsIntConst(indices[d]) == nullptr)
        return schedule_.Error(
            kPadEinsum, row_,
            fmt::format("index {} of buffer \"{}\" is neither an iter var nor a constant", d, buffer->name));
      if (!IsInside(indices[d], iter, shape[d]))
        return schedule_.Error(
            kPadEinsum, row_,
            fmt::format("index {} of buffer \"{}\" is inside under a condition alone", d, buffer->name));
      if (!iter || !IsPadded(*iter)) {
        is_whole =
            is_whole && Analyzer().CanProveEqual(shape[d], iter ? block_.iter_vars[*iter].domain.extent : Expr(1));
        continue;
      }
      if (!Analyzer().CanProveEqual(shape[d], block_.iter_vars[*iter].domain.extent))
        return schedule_.Error(kPadEinsum, row_,
                               fmt::format("iter var \"{}\" does not run over dimension {} of buffer \"{}\"",
                                           block_.iter_vars[*iter].var.name(), d, buffer->name));
      padded.bounds[d] = shape[d];
      shape[d] = extents_[*iter];
    }
    if (padded.is_padded() && !is_whole && IsAllocatedAround(buffer))
      return schedule_.Error(
          kPadEinsum, row_,
          fmt::format("it uses a part of buffer \"{}\", the rest of which may not be written yet", buffer->name));
    if (padded.is_padded())
      padded.to = MakeBuffer(buffer->name + "_pad", std::move(shape), buffer->dtype, buffer->scope);
    return padded;
  }

  // What is computed from padding is written beside the output, not over it.
  Status CheckOutputIndices() const {
    for (size_t i = 0; i < extents_.size(); ++i) {
      if (block_.iter_vars[i].kind != IterKind::kSpatial || !IsPadded(i)) continue;
      const auto& region = block_.writes[0].region;
      if (std::none_of(region.begin(), region.end(), [&](const Range& at) { return IterOf(at.min) == i; }))
        return schedule_.Error(
            kPadEinsum, row_,
            fmt::format("iter var \"{}\" is no index of what it writes", block_.iter_vars[i].var.name()));
    }
    return OkStatus();
  }

  // What is behind the bounds of a padded reduction adds nothing.
  Status CheckSums() const {
    for (size_t i = 0; i < extents_.size(); ++i) {
      if (block_.iter_vars[i].kind == IterKind::kSpatial || !IsPadded(i)) continue;
      const StatusOr<MatchedReduction> reduction = MatchReduction(block_);
      const bool is_sum = reduction.ok() && reduction->reducer->name == "add" && IsFiniteOfZeros(reduction->terms[0]);
      if (!is_sum || !VanishesWith(reduction->terms[0], block_.iter_vars[i].var))
        return schedule_.Error(
            kPadEinsum, row_,
            fmt::format("padding of reduction iter var \"{}\" is no sum of products that zeros leave "
                        "as it is",
                        block_.iter_vars[i].var.name()));
    }
    return OkStatus();
  }

 private:
  // Where the body loads and stores it, everywhere alike.
  StatusOr<std::vector<Expr>> IndicesInto(const Buffer& buffer) const {
    const BufferStore& store = *block_.body.As<BufferStore>();
    std::optional<std::vector<Expr>> indices;
    bool differs = false;
    const auto note = [&](const Buffer& used, const std::vector<Expr>& at) {
      if (!used.same_as(buffer)) return;
      if (!indices) indices = at;
      differs = differs || !std::equal(at.begin(), at.end(), indices->begin(), indices->end(), SameExpr);
    };
    note(store.buffer, store.indices);
    const auto note_load = [&](const Expr& e) {
      if (const BufferLoad* load = e.As<BufferLoad>()) note(load->buffer, load->indices);
    };
    PostOrderVisit(store.value, note_load);
    if (block_.init) PostOrderVisit(*block_.init, note_load);
    if (indices && !differs) return *indices;
    return schedule_.Error(
        kPadEinsum, row_,
        fmt::format("buffer \"{}\" is used at several places; give each use a copy (cache_read) first", buffer->name));
  }
  // Wherever the iter vars are, in their domains or in the padding.
  bool IsInside(const Expr& index, std::optional<size_t> iter, const Expr& extent) const {
    const Expr last = iter ? block_.iter_vars[*iter].domain.extent - 1 : index;
    return (iter || Analyzer().CanProveGreaterEqual(index, 0)) && Analyzer().CanProve(Less(last, extent));
  }
  bool IsAllocatedAround(const Buffer& buffer) const {
    for (int scope = schedule_.ScopeOf(row_); scope >= 0; scope = schedule_.ScopeOf(scope))
      if (Allocates(schedule_.BlockOf(scope), buffer)) return true;
    return false;
  }
  std::optional<size_t> IterOf(const Expr& index) const {
    for (size_t i = 0; i < block_.iter_vars.size(); ++i)
      if (block_.iter_vars[i].var.same_as(index)) return i;
    return std::nullopt;
  }
  // 0 * (0 / 0) would not vanish.
  static bool IsFiniteOfZeros(const Expr& term) {
    bool is_finite = true;
    PostOrderVisit(term, [&](const Expr& e) { is_finite = is_finite && e.As<Call>() == nullptr && !Divides(e); });
    return is_finite;
  }
  static bool VanishesWith(const Expr& term, const Var& iter) {
    if (const Cast* cast = term.As<Cast>()) return VanishesWith(cast->value, iter);
    if (const Binary* op = term.As<Binary>())
      return op->op == BinaryOp::kMul && (VanishesWith(op->a, iter) || VanishesWith(op->b, iter));
    const BufferLoad* load = term.As<BufferLoad>();
    return load != nullptr && std::any_of(load->indices.begin(), load->indices.end(),
                                          [&](const Expr& index) { return index.same_as(iter); });
  }

  const Schedule& schedule_;
  const int row_;
  const BlockNode& block_;
  const std::vector<Expr> extents_;
};

// Zeros are computed with, too: no integers may be divided by them, nothing may go elsewhere. What floats become of
// them is not copied back.
Status CheckEinsumBody(const Schedule& schedule, int block) {
  const BlockNode& node = schedule.BlockOf(block);
  if (node.writes.size() != 1 || node.body.As<BufferStore>() == nullptr || !node.match_buffers.empty() ||
      !node.alloc_buffers.empty())
    return schedule.Error(kPadEinsum, block, "its body is no single store");
  bool is_plain = true;
  std::optional<Buffer> hidden;
  const auto check = [&](const Expr& e) {
    const BufferLoad* load = e.As<BufferLoad>();
    if (load != nullptr && !Reads(node, load->buffer) && !load->buffer.same_as(node.writes[0].buffer))
      hidden = load->buffer;
    const Call* call = e.As<Call>();
    is_plain = is_plain && (call == nullptr || call->op->is_pure) && IntegerDivisor(e) == nullptr;
  };
  PostOrderVisit(node.body, std::function<void(const Expr&)>(check));
  if (node.init) PostOrderVisit(*node.init, std::function<void(const Expr&)>(check));
  if (hidden)
    return schedule.Error(kPadEinsum, block,
                          fmt::format("its reads do not name buffer \"{}\", which it loads", (*hidden)->name));
  return is_plain ? OkStatus()
                  : schedule.Error(
                        kPadEinsum, block,
                        "it divides integers or calls what may do more than compute, which zeros may not be good for");
}

// for i... { block <to>_pad: to[v...] = value } over `shape`.
Stmt MakeStage(const Schedule& schedule, int row, const std::string& name, const std::vector<Expr>& shape,
               const Buffer& to, const std::function<Expr(const std::vector<Expr>&)>& value) {
  std::vector<Var> loops;
  std::vector<Expr> values, indices;
  BlockNode block{.name = schedule.FreshBlockName(row, name), .body = Evaluate{Expr(0)}};
  for (size_t d = 0; d < shape.size(); ++d) {
    const DataType type = shape[d].dtype();
    loops.emplace_back(fmt::format("i{}", d), type);
    const Var iter(fmt::format("v{}", d), type);
    block.iter_vars.push_back({Range{IntConst(type, 0), shape[d]}, iter, IterKind::kSpatial});
    values.push_back(loops.back());
    indices.push_back(iter);
  }
  block.body = MakeStore(to, value(indices), indices);
  RecomputeRegions(block);
  Stmt nest = BlockRealize{std::move(values), True(), Block(std::move(block))};
  for (size_t d = shape.size(); d-- > 0;) nest = MakeFor(loops[d], shape[d], nest);
  return nest;
}

Expr ZeroOf(DataType type) { return type.is_float() ? FloatConst(type, 0) : IntConst(type, 0); }

Stmt PadStage(const Schedule& schedule, int row, const PaddedBuffer& padded) {
  return MakeStage(schedule, row, padded.to->name, padded.to->shape, padded.to, [&](const std::vector<Expr>& at) {
    Expr inside = True();
    for (size_t d = 0; d < at.size(); ++d)
      if (padded.bounds[d]) inside = And(inside, Less(at[d], *padded.bounds[d]));
    return MakeCall(padded.to->dtype, "if_then_else", {inside, Load(padded.from, at), ZeroOf(padded.to->dtype)});
  });
}

// The output is written as a whole, or the copy back would write what nobody made.
Status CheckOutput(const Schedule& schedule, int block, const PaddedBuffer& output) {
  const BufferRegion& write = schedule.BlockOf(block).writes[0];
  for (size_t d = 0; d < write.region.size(); ++d) {
    const Expr& index = write.region[d].min;
    bool is_whole = IsConstInt(index, 0) && IsConstInt(output.from->shape[d], 1);
    for (const IterVar& iter : schedule.BlockOf(block).iter_vars)
      is_whole =
          is_whole || (iter.var.same_as(index) && Analyzer().CanProveEqual(iter.domain.extent, output.from->shape[d]));
    if (!is_whole)
      return schedule.Error(kPadEinsum, block,
                            fmt::format("it does not write all of buffer \"{}\"", output.from->name));
  }
  return OkStatus();
}

// The nest with the new extents around `block`.
Stmt PaddedNest(const Schedule& schedule, int row, const BlockRealize& block, const Padder& padder) {
  Stmt nest = block;
  const std::vector<int> loops = schedule.LoopsOf(row);
  for (size_t l = loops.size(); l-- > 0;) {
    For loop = schedule.LoopOf(loops[l]);
    for (size_t i = 0; i < block.iter_values.size(); ++i)
      if (block.iter_values[i].same_as(loop.loop_var)) loop.extent = padder.extent(i);
    loop.body = std::move(nest);
    nest = std::move(loop);
  }
  return nest;
}

}  // namespace

Status PadEinsum(Schedule& schedule, BlockRV block_rv, std::span<const int64_t> padding) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckEinsumNest(schedule, row, padding));
  RETURN_IF_ERROR(CheckEinsumBody(schedule, row));
  const Padder padder(schedule, row, padding);
  RETURN_IF_ERROR(padder.CheckOutputIndices());
  RETURN_IF_ERROR(padder.CheckSums());
  std::vector<Stmt> children;
  std::vector<Buffer> made;
  BufferMap buffers;
  for (const BufferRegion& read : schedule.BlockOf(row).reads) {
    ASSIGN_OR_RETURN(const PaddedBuffer padded, padder.Pad(read.buffer));
    if (!padded.is_padded()) continue;
    children.push_back(PadStage(schedule, row, padded));
    made.push_back(padded.to);
    buffers.emplace(padded.from.get(), padded.to);
  }
  ASSIGN_OR_RETURN(const PaddedBuffer output, padder.Pad(schedule.BlockOf(row).writes[0].buffer));
  if (output.is_padded()) {
    RETURN_IF_ERROR(CheckOutput(schedule, row, output));
    made.push_back(output.to);
    buffers.emplace(output.from.get(), output.to);
  }
  BlockRealize realize = schedule.RealizeOf(row);
  realize.block = Substitute(realize.block, {}, buffers);
  for (size_t i = 0; i < padding.size(); ++i)
    if (padder.IsPadded(i)) realize.block.Mutable().iter_vars[i].domain.extent = padder.extent(i);
  children.push_back(PaddedNest(schedule, row, realize, padder));
  if (output.is_padded())
    children.push_back(MakeStage(schedule, row, output.to->name, output.from->shape, output.from,
                                 [&](const std::vector<Expr>& at) { return Load(output.to, at); }));
  const int scope = schedule.ScopeOf(row);
  const Stmt top = schedule.StmtOf(schedule.LoopsOf(row)[0]);
  const Stmt body = *RewriteTree(schedule.BlockOf(scope).body, [&](const Stmt& stmt) -> Replacement {
    return stmt.same_as(top) ? Replacement(children) : std::nullopt;
  });
  schedule.Replace(scope, WithBody(schedule.RealizeOf(scope), body, made), {{row, realize.block}});
  schedule.Record("PadEinsum", {block_rv}, {Attr(std::vector<Attr>(padding.begin(), padding.end()))}, {});
  return OkStatus();
}

}  // namespace lathe
