#include "compiler/transform/lower_match_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

std::vector<Expr> StridesOfSource(const Buffer& buffer) {
  if (!buffer->strides.empty()) return buffer->strides;
  std::vector<Expr> strides(buffer->shape.size(), Expr(1));
  for (size_t d = buffer->shape.size(); d-- > 1;) strides[d - 1] = strides[d] * buffer->shape[d];
  return strides;
}

class MatchLowerer : public StmtExprMutator {
 public:
  explicit MatchLowerer(bool is_strict) : is_strict_(is_strict) {}
  const Status& status() const { return status_; }

 protected:
  Block VisitBlock(const Block& self) override {
    bound_.clear();
    for (const MatchBufferRegion& match : self->match_buffers) AddView(match);
    Block block = self;
    if (!block->match_buffers.empty()) block.Mutable().match_buffers.clear();
    block = StmtExprMutator::VisitBlock(block);
    const auto is_view = [&](const BufferRegion& region) { return FindView(region.buffer) != nullptr; };
    if (std::any_of(block->reads.begin(), block->reads.end(), is_view) ||
        std::any_of(block->writes.begin(), block->writes.end(), is_view)) {
      for (BufferRegion& read : block.Mutable().reads) read = MovedRegion(read);
      for (BufferRegion& write : block.Mutable().writes) write = MovedRegion(write);
    }
    return block;
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = values_.find(var.get());
    return found == values_.end() ? var : found->second;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad&) override {
    const Expr visited = VisitChildren(self);
    const BufferLoad& load = *visited.As<BufferLoad>();
    const View* view = FindView(load.buffer);
    if (view == nullptr) return visited;
    return Expr::Make(visited.dtype(), BufferLoad{view->source, MoveIndices(*view, load.indices), load.predicate});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore&) override {
    const Stmt visited = VisitChildren(self);
    const BufferStore& store = *visited.As<BufferStore>();
    const View* view = FindView(store.buffer);
    if (view == nullptr) return visited;
    return BufferStore{view->source, store.value, MoveIndices(*view, store.indices), store.predicate};
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override {
    const Expr data = VisitVar(buffer->data);
    if (data.same_as(buffer->data)) return buffer;
    BufferNode node = *buffer;
    node.data = Var(data);
    node.elem_offset = VisitExpr(node.elem_offset);
    return declared_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = declared_.find(buffer.get());
    return found == declared_.end() ? buffer : found->second;
  }

 private:
  struct View {
    Buffer source;
    std::vector<Expr> mins;
  };
  const View* FindView(const Buffer& buffer) const {
    const auto found = views_.find(buffer.get());
    return found == views_.end() ? nullptr : &found->second;
  }
  static std::vector<Expr> MoveIndices(const View& view, const std::vector<Expr>& indices) {
    std::vector<Expr> moved = view.mins;
    const size_t dropped = moved.size() - indices.size();
    for (size_t d = 0; d < indices.size(); ++d) moved[dropped + d] = moved[dropped + d] + indices[d];
    return moved;
  }

  // Of a view, the part of its source.
  BufferRegion MovedRegion(const BufferRegion& region) const {
    const View* view = FindView(region.buffer);
    if (view == nullptr) return region;
    BufferRegion moved{view->source, {}};
    for (const Expr& min : view->mins) moved.region.push_back({min, IntConst(min.dtype(), 1)});
    const size_t dropped = moved.region.size() - region.region.size();
    for (size_t d = 0; d < region.region.size(); ++d) {
      Range& range = moved.region[dropped + d];
      range = {Analyzer().Simplify(range.min + region.region[d].min), region.region[d].extent};
    }
    return moved;
  }

  // Regions are rewritten first: the source may be a view itself.
  void AddView(const MatchBufferRegion& match) {
    std::vector<Expr> mins, extents;
    for (const Range& range : match.source.region) {
      mins.push_back(VisitExpr(range.min));
      extents.push_back(VisitExpr(range.extent));
    }
    const size_t rank = match.buffer->shape.size();
    if (rank > mins.size() || mins.size() != match.source.buffer->shape.size()) {
      status_ =
          InvalidArgument(fmt::format("lower_match_buffer \"{}\": the view has {} dimensions, its source region {}",
                                      match.buffer->name, rank, mins.size()));
      return;
    }
    View view{match.source.buffer, mins};
    if (const View* outer = FindView(view.source)) view = {outer->source, MoveIndices(*outer, mins)};
    const size_t dropped = mins.size() - rank;
    for (size_t d = 0; d < rank; ++d)
      Bind(*match.buffer, fmt::format("extent {}", d), match.buffer->shape[d], extents[dropped + d]);
    BindPlaces(*match.buffer, view);
    values_.insert_or_assign(match.buffer->data.get(), view.source->data);
    views_.insert_or_assign(match.buffer.get(), std::move(view));
  }
  // Strides and offset.
  void BindPlaces(const BufferNode& buffer, const View& view) {
    const std::vector<Expr> strides = StridesOfSource(view.source);
    const size_t dropped = strides.size() - buffer.shape.size();
    for (size_t d = 0; d < buffer.strides.size(); ++d)
      Bind(buffer, fmt::format("stride {}", d), buffer.strides[d], strides[dropped + d]);
    Expr offset = view.source->elem_offset;
    for (size_t d = 0; d < strides.size(); ++d) offset = offset + view.mins[d] * strides[d];
    offset = Analyzer().Simplify(offset);
    if (IsVar(buffer.elem_offset) || is_strict_) Bind(buffer, "offset", buffer.elem_offset, offset);
    const Expr factor = IntConst(offset.dtype(), std::max<int64_t>(buffer.offset_factor, 1));
    if (!Analyzer().CanProveEqual(FloorMod(offset, factor), IntConst(offset.dtype(), 0)))
      Fail(buffer, fmt::format("offset {} is not known to be a multiple of {}", Print(offset), Print(factor)));
  }
  void Fail(const BufferNode& buffer, const std::string& why) {
    if (status_.ok()) status_ = InvalidArgument(fmt::format("lower_match_buffer \"{}\": {}", buffer.name, why));
  }
  // A variable is bound; what is known already has to be what the source has.
  void Bind(const BufferNode& buffer, const std::string& what, const Expr& pattern, const Expr& value) {
    if (IsVar(pattern) && bound_.insert(pattern.get()).second) {
      values_.insert_or_assign(pattern.get(), MakeCast(pattern.dtype(), value));
      return;
    }
    const Expr known = VisitExpr(pattern);
    if (!Analyzer().CanProveEqual(known, value))
      Fail(buffer, fmt::format("{} is {}, of the source {}", what, Print(known), Print(value)));
  }

  const bool is_strict_;
  std::unordered_map<const BufferNode*, View> views_;
  VarMap values_;
  std::unordered_set<const ExprNode*> bound_;  // By views of this block: parts of a loop have the same symbols.
  BufferMap declared_;
  Status status_;
};

StatusOr<PrimFunc> Lowered(PrimFunc func, bool is_strict) {
  MatchLowerer lowerer(is_strict);
  func.body = lowerer(func.body);
  if (!lowerer.status().ok()) return lowerer.status();
  return func;
}

}  // namespace

StatusOr<PrimFunc> LowerMatchBuffer(PrimFunc func) { return Lowered(std::move(func), false); }
StatusOr<PrimFunc> LowerMatchBufferStrictly(PrimFunc func) { return Lowered(std::move(func), true); }

}  // namespace lathe
