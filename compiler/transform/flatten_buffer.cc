#include "compiler/transform/flatten_buffer.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/buffer_access.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

const DataType kInt64 = DataType::Int(64);

// Symbolic sizes, which may be beyond int32.
Expr Size(const Expr& e, bool widens) { return widens ? MakeCast(kInt64, e) : e; }

std::vector<Expr> StridesOf(const Buffer& buffer, bool widens) {
  if (!buffer->strides.empty()) return buffer->strides;
  std::vector<Expr> strides(buffer->shape.size(), Expr(1));
  for (size_t d = buffer->shape.size(); d-- > 1;) {
    const int64_t *below = AsIntConst(strides[d]), *extent = AsIntConst(buffer->shape[d]);
    int64_t product;
    if (below != nullptr && extent != nullptr && !__builtin_mul_overflow(*below, *extent, &product)) {
      strides[d - 1] = Expr(product);
    } else {
      strides[d - 1] = Size(strides[d], widens) * Size(buffer->shape[d], widens);
    }
  }
  return strides;
}

// Elements from the first to the last that the buffer reaches.
Expr NumElements(const Buffer& buffer, bool widens) {
  const std::vector<Expr> strides = StridesOf(buffer, widens);
  const auto shape = ConstantShape(buffer->shape), steps = ConstantShape(strides);
  if (shape && steps) {
    __int128 last = 0;
    for (size_t d = 0; d < shape->size(); ++d) {
      if ((*shape)[d] == 0) return 0;
      last += static_cast<__int128>((*shape)[d] - 1) * (*steps)[d];
    }
    return Expr(last >= INT64_MAX ? INT64_MAX : static_cast<int64_t>(last) + 1);
  }
  if (buffer->strides.empty()) {
    Expr size = widens ? IntConst(kInt64, 1) : Expr(1);
    for (const Expr& extent : buffer->shape) size = size * Size(extent, widens);
    return size;
  }
  Expr last = widens ? IntConst(kInt64, 0) : Expr(0);
  for (size_t d = 0; d < strides.size(); ++d)
    last = last + (Size(buffer->shape[d], widens) - 1) * Size(strides[d], widens);
  return last + 1;
}

// TVM's: the first extent times its stride, what lies behind the last row included; more where another stride reaches
// further. A view, which allocates nothing, is as TVM has it where that is not known.
Expr NumElementsAsTvm(const Buffer& buffer, bool is_view) {
  const Expr reached = NumElements(buffer, false);
  if (buffer->strides.empty() || buffer->shape.empty()) return reached;
  const Expr rows = buffer->strides[0] * buffer->shape[0];
  const int64_t *a = AsIntConst(rows), *b = AsIntConst(reached);
  if (a == nullptr || b == nullptr) return is_view ? rows : reached;
  return Expr(std::max(*a, *b));
}

// TVM keeps booleans as bytes.
DataType StoredType(DataType type) { return type.is_bool() ? DataType::Int(8).shaped_as(type) : type; }

bool HasAxes(const Buffer& buffer) {
  return !buffer->axis_separators.empty() && buffer->strides.empty() && IsConstInt(buffer->elem_offset, 0);
}

class Flattener : public StmtExprMutator {
 public:
  explicit Flattener(bool widens) : widens_(widens) {}
  const Status& status() const { return status_; }

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override {
    if (!widens_ && buffer->dtype.is_bool()) GiveType(buffer, DataType::Int(8));
    if (IsOfVectors(buffer)) GiveType(buffer, buffer->dtype.element());
    if (KeepsAxes(buffer)) return Put(buffer, BufferNode(*FlatView(buffer)));
    return Flatten(buffer, widens_ ? NumElements(buffer, true) : NumElementsAsTvm(buffer, false));
  }
  // Starts where the memory does: its indices take the offset.
  Buffer VisitBufferDecl(const Buffer& buffer) override {
    if (KeepsAxes(buffer)) return Put(buffer, BufferNode(*FlatView(buffer)));
    offsets_.emplace(buffer.get(), buffer->elem_offset);
    const Expr size = widens_ ? NumElements(buffer, true) : NumElementsAsTvm(buffer, true);
    return Flatten(buffer, size + buffer->elem_offset);
  }
  Buffer Flatten(const Buffer& buffer, Expr size) {
    BufferNode node = *buffer;
    node.shape = {std::move(size)};
    node.strides.clear();
    node.elem_offset = 0;
    const Buffer flat = Put(buffer, std::move(node));
    if (flat->scope == "register" && AsIntConst(flat->shape[0]) == nullptr) {
      status_ =
          InvalidArgument(fmt::format("flatten_buffer \"{}\": a buffer of scope register needs a constant size; tile "
                                      "by constants or set_scope global",
                                      flat->name));
    }
    return flat;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }
  Expr VisitExpr(const Expr& e) override {
    const Call* call = e.As<Call>();
    const bool is_address = call != nullptr && call->op->name == "address_of" && call->args.size() == 1;
    const BufferLoad* load = is_address ? call->args[0].As<BufferLoad>() : nullptr;
    if (load == nullptr) return StmtExprMutator::VisitExpr(e);
    return Expr::Make(e.dtype(), Call{call->op, {Element(call->args[0], *load)}});
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = memory_.find(var.get());
    return found == memory_.end() ? var : found->second;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr element = Element(self, load);
    return element.dtype() == self.dtype() ? element : MakeCast(self.dtype(), element);
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = VisitChildren(self);
    const BufferStore& now = *visited.As<BufferStore>();
    const bool is_byte = store.buffer->dtype != now.buffer->dtype;
    const Expr value = is_byte ? MakeCast(StoredType(now.value.dtype()), now.value) : now.value;
    return BufferStore{now.buffer, value, FlatIndexFrom(store.buffer, now.indices), now.predicate};
  }

 private:
  Buffer Put(const Buffer& buffer, BufferNode flat) {
    if (!widens_) flat.dtype = StoredType(flat.dtype);
    if (IsOfVectors(buffer)) {
      flat.shape[0] = flat.shape[0] * IntConst(flat.shape[0].dtype(), flat.dtype.lanes);
      flat.dtype = flat.dtype.element();
    }
    const auto memory = memory_.find(buffer->data.get());
    if (memory != memory_.end()) flat.data = Var(memory->second);
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(flat))).first->second;
  }
  void GiveType(const Buffer& buffer, DataType element) {
    const Var data(buffer->data.name(), MakePointerType(element, buffer->scope));
    memory_.insert_or_assign(buffer->data.get(), data);
  }
  // The CPU's memory is of single elements.
  bool IsOfVectors(const Buffer& buffer) const {
    return widens_ && buffer->dtype.lanes > 1 && !buffer->dtype.is_scalable;
  }
  // Of those of the vector at `index`, or of several that follow each other; others stay as they are.
  static Expr ElementsOfVectors(const Expr& vector, int lanes) {
    const Expr index = Analyzer().Simplify(vector);
    const Ramp* ramp = index.As<Ramp>();
    const Expr first = ramp == nullptr ? index : ramp->base;
    const bool follow = ramp == nullptr ? index.dtype().lanes == 1 : IsConstInt(ramp->stride, 1);
    if (!follow || index.dtype().is_scalable) return index;
    const DataType type = first.dtype();
    const int all = index.dtype().lanes * lanes;
    return Expr::Make(type.with_lanes(all), Ramp{first * IntConst(type, lanes), IntConst(type, 1), all});
  }
  Expr Element(const Expr& self, const BufferLoad& load) {
    const Expr visited = VisitChildren(self);
    const BufferLoad& now = *visited.As<BufferLoad>();
    const DataType type = load.buffer->dtype == now.buffer->dtype ? visited.dtype() : StoredType(visited.dtype());
    return Expr::Make(type, BufferLoad{now.buffer, FlatIndexFrom(load.buffer, now.indices), now.predicate});
  }
  // Axis separators cut memory into dimensions of the device's; the CPU's has one.
  bool KeepsAxes(const Buffer& buffer) const { return !widens_ && HasAxes(buffer); }
  std::vector<Expr> FlatIndex(const Buffer& buffer, const std::vector<Expr>& indices) const {
    const std::vector<Expr> strides = StridesOf(buffer, widens_);
    const Expr size = NumElements(buffer, widens_);
    const int64_t* known_size = AsIntConst(size);
    const bool is_wide = widens_ && (known_size == nullptr ? !buffer->shape.empty() : *known_size > INT32_MAX);
    if (indices.empty()) return {Expr(0)};
    if (indices.size() == 1 && buffer->strides.empty()) return indices;
    Expr flat = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      const Expr index = is_wide ? MakeCast(kInt64.shaped_as(indices[d].dtype()), indices[d]) : indices[d];
      flat = flat + index * strides[d];
    }
    return {flat};
  }

  std::vector<Expr> FlatIndexFrom(const Buffer& buffer, const std::vector<Expr>& indices) const {
    if (KeepsAxes(buffer)) return OffsetOf(buffer, indices);
    std::vector<Expr> flat = FlatIndex(buffer, indices);
    const auto offset = offsets_.find(buffer.get());
    if (offset != offsets_.end()) flat[0] = flat[0] + offset->second;
    if (IsOfVectors(buffer)) flat[0] = ElementsOfVectors(flat[0], buffer->dtype.lanes);
    return flat;
  }

  const bool widens_;  // Indices that may be beyond int32 are int64.
  BufferMap buffers_;
  VarMap memory_;  // Of bytes, in the place of that which was of booleans; of elements, of that which was of vectors.
  std::unordered_map<const BufferNode*, Expr> offsets_;
  Status status_;
};

bool IsFlat(const Buffer& buffer) {
  if (buffer->dtype.is_bool()) return false;
  if (HasAxes(buffer)) return FlatView(buffer)->shape.size() == buffer->shape.size();
  return buffer->shape.size() == 1 && buffer->strides.empty() && IsConstInt(buffer->elem_offset, 0);
}

// Simplifies indices by what loops say.
class IndexSimplifier : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    return StmtExprMutator::VisitFor(self, loop);
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad&) override {
    const Expr visited = VisitChildren(self);
    BufferLoad load = *visited.As<BufferLoad>();
    for (Expr& index : load.indices) index = analyzer_.Simplify(index);
    return Expr::Make(visited.dtype(), std::move(load));
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore&) override {
    BufferStore store = *VisitChildren(self).As<BufferStore>();
    for (Expr& index : store.indices) index = analyzer_.Simplify(index);
    return store;
  }

 private:
  Analyzer analyzer_;
};

StatusOr<PrimFunc> Flattened(PrimFunc func, bool widens) {
  Flattener flattener(widens);
  func.body = flattener(func.body);
  if (!flattener.status().ok()) return flattener.status();
  return func;
}

}  // namespace

StatusOr<PrimFunc> FlattenBufferAndParams(PrimFunc func) {
  // Declared first, parameters are flattened as any other view of their memory.
  BufferMap views;
  for (const ParamBuffer& param : func.buffer_map) {
    if (!IsFlat(param.buffer)) views.emplace(param.buffer.get(), Buffer(BufferNode(*param.buffer)));
  }
  func.body = Substitute(func.body, {}, views);
  for (size_t i = func.buffer_map.size(); i-- > 0;) {
    const auto view = views.find(func.buffer_map[i].buffer.get());
    if (view != views.end()) func.body = DeclBuffer{view->second, func.body};
  }
  ASSIGN_OR_RETURN(func, Flattened(std::move(func), false));
  func.body = IndexSimplifier{}(func.body);
  return func;
}

StatusOr<PrimFunc> FlattenBuffer(PrimFunc func) { return Flattened(std::move(func), true); }

}  // namespace lathe
