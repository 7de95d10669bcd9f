#include "compiler/transform/pointer_value_type_rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {

std::optional<int64_t> AlignedLanes(const Analyzer& analyzer, const Expr& index) {
  const Ramp* ramp = index.As<Ramp>();
  if (ramp == nullptr || index.dtype().is_scalable || !IsConstInt(ramp->stride, 1)) return std::nullopt;
  const ModularSet base = analyzer.Modular(ramp->base);
  if (base.coeff % ramp->lanes != 0 || base.base % ramp->lanes != 0) return std::nullopt;
  return ramp->lanes;
}

namespace {

// How memory is introduced and used.
struct PointerUse {
  Var data;
  DataType element;                // A handle where nothing is known.
  Expr extent;                     // Of the last dimension; 0 where it is not known.
  std::vector<Expr> view_extents;  // Of the last dimensions of buffers over it.
  bool may_change;
  std::vector<DataType> accesses;         // Distinct; of as many lanes as one vector could have.
  std::vector<DataType> scalar_elements;  // Of reads of one element, and
  std::vector<int64_t> scalar_multiples;  // what their indices are multiples of, but for a constant.
};

// What memory could be of; the element type as it is where nothing is better.
DataType PreferredType(const PointerUse& use) {
  const DataType element = use.element;
  std::vector<DataType> elements = use.scalar_elements;
  for (const DataType access : use.accesses) elements.push_back(access.element());
  if (!use.may_change || elements.empty() || element.is_bool()) return element;
  const DataType base = elements[0];
  const bool are_one = std::all_of(elements.begin(), elements.end(), [&](DataType type) { return type == base; });
  if (!are_one || base.bits != element.bits || base.is_bool()) return element;
  if (element.lanes != 1 || use.accesses.size() != 1) return base.with_lanes(element.lanes);
  const int lanes = use.accesses[0].lanes;
  const bool reads_fit = std::all_of(use.scalar_multiples.begin(), use.scalar_multiples.end(),
                                     [&](int64_t multiple) { return multiple % lanes == 0; });
  if (!reads_fit) return element;
  const auto is_whole = [&](const Expr& extent) {
    const ModularSet of = Analyzer().Modular(extent);
    return of.coeff % lanes == 0 && of.base % lanes == 0;
  };
  const bool are_whole =
      is_whole(use.extent) && std::all_of(use.view_extents.begin(), use.view_extents.end(), is_whole);
  return base.with_lanes(are_whole ? lanes : 1);
}

class UseCollector : public StmtExprVisitor {
 public:
  UseCollector(const PrimFunc& func, const PointerRewriteOptions& options) : options_(options) {
    for (const ParamBuffer& entry : func.buffer_map) {
      const Buffer& buffer = entry.buffer;
      Introduce(buffer->data, buffer->dtype, buffer->shape.empty() ? Expr(0) : buffer->shape.back(), options.params);
    }
    for (const Var& param : func.params)
      if (param.pointer() != nullptr && FindBuffer(func, param) == nullptr)
        Introduce(param, param.pointer()->element, 0, options.params);
  }
  std::unordered_map<const ExprNode*, PointerUse> uses;
  Status status;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const Allocate* alloc = stmt.As<Allocate>()) {
      Introduce(alloc->buffer_var, alloc->dtype, alloc->extents.empty() ? Expr(1) : alloc->extents.back(), true);
    } else if (const AllocateConst* constant = stmt.As<AllocateConst>()) {
      Introduce(constant->buffer_var, constant->dtype, constant->extents.empty() ? Expr(0) : constant->extents.back(),
                false);
    } else if (const LetStmt* let = stmt.As<LetStmt>()) {
      IntroduceLet(let->var);
    }
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& expr) override {
    if (const Let* let = expr.As<Let>()) IntroduceLet(let->var);
    const Call* call = expr.As<Call>();
    if (call != nullptr && call->op->name == "tvm_access_ptr" && call->args.size() == 5 && IsVar(call->args[1])) {
      Access(Var(call->args[1]), call->args[0].dtype(), {call->args[2]}, false);
    } else if (call != nullptr && call->op->name == "address_of") {
      const BufferLoad* load = call->args[0].As<BufferLoad>();
      if (load != nullptr) Access(load->buffer->data, call->args[0].dtype(), load->indices, false);
    }
    StmtExprVisitor::VisitExpr(expr);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    AccessBuffer(load.buffer, self.dtype(), load.indices, true);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    AccessBuffer(store.buffer, store.value.dtype(), store.indices, false);
    StmtExprVisitor::VisitBufferStore(self, store);
  }

 private:
  void Introduce(const Var& data, DataType element, const Expr& extent, bool may_change) {
    uses.emplace(data.get(), PointerUse{data, element, extent, {}, may_change, {}, {}, {}});
  }
  void IntroduceLet(const Var& var) {
    if (var.dtype() == DataType::Handle())
      Introduce(var, var.pointer() == nullptr ? DataType::Handle() : var.pointer()->element, 0, options_.lets);
  }
  // Whose elements are not where the memory's are.
  void AccessBuffer(const Buffer& buffer, DataType type, const std::vector<Expr>& indices, bool is_load) {
    const auto found = uses.find(buffer->data.get());
    if (found != uses.end() && (!buffer->strides.empty() || !IsConstInt(buffer->elem_offset, 0)))
      found->second.may_change = false;
    if (found != uses.end() && buffer->shape.size() > 1) found->second.view_extents.push_back(buffer->shape.back());
    Access(buffer->data, type, indices, is_load);
  }
  void Access(const Var& data, DataType type, const std::vector<Expr>& indices, bool is_load) {
    const auto found = uses.find(data.get());
    if (found == uses.end()) {
      status = InvalidArgument(
          fmt::format("pointer_value_type_rewrite: {} is used, and nothing introduces it", data.name()));
      return;
    }
    PointerUse& use = found->second;
    if (use.element == DataType::Handle()) use.element = type.element();
    const int index_lanes = indices.empty() ? 1 : indices.back().dtype().lanes;
    int64_t lanes = use.element.lanes;
    if (index_lanes * use.element.lanes != type.lanes) {
      lanes = 1;
      use.element = use.element.element();
    }
    if (type.is_scalable) use.may_change = false;
    if (!indices.empty()) lanes = AlignedLanes(analyzer_, indices.back()).value_or(lanes);
    if (options_.shuffles && is_load && !indices.empty() && index_lanes == 1) {
      use.scalar_elements.push_back(type.element());
      use.scalar_multiples.push_back(analyzer_.Modular(indices.back()).coeff);
      return;
    }
    const DataType access = type.with_lanes(static_cast<int>(lanes));
    if (std::find(use.accesses.begin(), use.accesses.end(), access) == use.accesses.end())
      use.accesses.push_back(access);
  }

  const PointerRewriteOptions options_;
  const Analyzer analyzer_;
};

class PointerRewriter : public StmtExprMutator {
 public:
  explicit PointerRewriter(const UseCollector& collector) {
    for (const auto& [data, use] : collector.uses) {
      const DataType preferred = PreferredType(use);
      if (preferred == use.element) continue;
      const Var after(use.data.name(), MakePointerType(preferred, ScopeOf(use.data)));
      changes_.emplace(data, Change{after, preferred, preferred.lanes / use.element.lanes});
    }
  }
  bool changes() const { return !changes_.empty(); }
  PrimFunc Rewrite(PrimFunc func) {
    for (ParamBuffer& entry : func.buffer_map) entry.buffer = Over(entry.buffer);
    for (Var& param : func.params) param = Var(VisitVar(param));
    func.body = VisitStmt(func.body);
    return func;
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const Allocate* alloc = stmt.As<Allocate>();
    const Change* change = alloc == nullptr ? nullptr : ChangeOf(alloc->buffer_var);
    if (change == nullptr) return visited;
    Allocate changed = *visited.As<Allocate>();
    changed.dtype = change->element;
    changed.extents.back() = Divided(changed.extents.back(), change->factor);
    return changed;
  }
  Expr VisitExpr(const Expr& expr) override {
    const Expr visited = StmtExprMutator::VisitExpr(expr);
    const Call* call = expr.As<Call>();
    const bool is_access = call != nullptr && call->op->name == "tvm_access_ptr" && call->args.size() == 5;
    const Change* change = is_access && IsVar(call->args[1]) ? ChangeOf(Var(call->args[1])) : nullptr;
    if (change == nullptr) return visited;
    Call changed = *visited.As<Call>();
    changed.args[0] = MakeCall(change->element, "type_annotation", {});
    changed.args[2] = Divided(changed.args[2], change->factor);
    changed.args[3] = Divided(changed.args[3], change->factor);
    return Expr::Make(visited.dtype(), std::move(changed));
  }
  Var VisitVarDef(const Var& var) override { return Var(VisitVar(var)); }
  Expr VisitVar(const Expr& var) override {
    const Change* change = ChangeOf(Var(var));
    return change == nullptr ? var : change->data;
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return Over(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override { return Over(buffer); }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const Change* change = ChangeOf(load.buffer->data);
    if (change == nullptr) return visited;
    BufferLoad changed = *visited.As<BufferLoad>();
    const DataType element = changed.buffer->dtype;
    if (change->factor == 1 || load.indices.empty())
      return Expr::Make(element.shaped_as(visited.dtype()), std::move(changed));
    const Expr index = changed.indices.back();
    changed.indices.back() = InVectors(index, change->factor);
    const DataType type = element.with_lanes(element.lanes * changed.indices.back().dtype().lanes);
    const Expr vector = Expr::Make(type, std::move(changed));
    if (index.As<Ramp>() != nullptr) return vector;
    const int64_t lane = ((analyzer_.Modular(index).base % change->factor) + change->factor) % change->factor;
    return Expr::Make(element.element(), Shuffle{{vector}, {Expr(lane)}});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const Change* change = ChangeOf(store.buffer->data);
    if (change == nullptr || change->factor == 1 || store.indices.empty()) return visited;
    BufferStore changed = *visited.As<BufferStore>();
    changed.indices.back() = InVectors(changed.indices.back(), change->factor);
    return changed;
  }

 private:
  struct Change {
    Var data;
    DataType element;
    int factor;  // How many elements one of the new ones is.
  };
  const Change* ChangeOf(const Var& data) const {
    const auto found = changes_.find(data.get());
    return found == changes_.end() ? nullptr : &found->second;
  }
  static Expr Divided(const Expr& e, int64_t factor) {
    return FoldBinary(BinaryOp::kDiv, e, IntConst(e.dtype(), factor));
  }
  static Expr InVectors(const Expr& index, int factor) {
    const Ramp* ramp = index.As<Ramp>();
    if (ramp == nullptr) return Divided(index, factor);
    const Expr first = Divided(ramp->base, ramp->lanes);
    if (ramp->lanes == factor) return first;
    const int64_t lanes = ramp->lanes / factor;
    return Expr::Make(first.dtype().with_lanes(static_cast<int>(lanes)),
                      Ramp{first * IntConst(first.dtype(), lanes), ramp->stride, lanes});
  }
  Buffer Over(const Buffer& buffer) {
    const Change* change = ChangeOf(buffer->data);
    if (change == nullptr) return buffer;
    const auto found = buffers_.find(buffer.get());
    if (found != buffers_.end()) return found->second;
    BufferNode node = *buffer;
    node.data = change->data;
    node.dtype = change->element;
    if (!node.shape.empty()) node.shape.back() = Divided(node.shape.back(), change->factor);
    return buffers_.emplace(buffer.get(), Buffer(std::move(node))).first->second;
  }

  std::unordered_map<const ExprNode*, Change> changes_;
  BufferMap buffers_;
  const Analyzer analyzer_;
};

}  // namespace

StatusOr<PrimFunc> PointerValueTypeRewrite(PrimFunc func, const PointerRewriteOptions& options) {
  PrimFunc split = func;
  split.body = SplitAllocBuffers(func.body);
  UseCollector collector(split, options);
  collector(split.body);
  RETURN_IF_ERROR(collector.status);
  PointerRewriter rewriter(collector);
  return rewriter.changes() ? rewriter.Rewrite(std::move(split)) : func;
}

}  // namespace lathe
