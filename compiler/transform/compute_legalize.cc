#include "compiler/transform/compute_legalize.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_set>

#include "compiler/ir/memory.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/float_conversion.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

bool IsBFloat(DataType type) { return type.code == DataType::Code::kBFloat; }
bool IsFloat8(DataType type) { return type.is_narrow_float() && type.bits == 8; }

struct Promotion {
  bool (*is_narrow)(DataType);
  DataType wider;
  DataType Of(DataType type) const { return is_narrow(type) ? wider.shaped_as(type) : type; }
};

// What looks at memory itself, or names a type for those who do.
bool LooksAtMemory(const Call& call) {
  return call.op->name == "address_of" || call.op->name == "tvm_access_ptr" || call.op->name == "type_annotation";
}

// Memory that is allocated here, of constant size, and only loaded and stored.
class OwnMemoryFinder : public StmtExprVisitor {
 public:
  explicit OwnMemoryFinder(const Promotion& promotion) : promotion_(promotion) {}
  std::unordered_set<const ExprNode*> Found(const Stmt& body) {
    VisitStmt(body);
    for (const ExprNode* data : seen_) found_.erase(data);
    return std::move(found_);
  }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const Allocate* alloc = stmt.As<Allocate>(); alloc != nullptr && promotion_.is_narrow(alloc->dtype)) {
      if (ConstantShape(alloc->extents)) found_.insert(alloc->buffer_var.get());
    }
    const DeclBuffer* declared = stmt.As<DeclBuffer>();
    if (declared == nullptr) return StmtExprVisitor::VisitStmt(stmt);
    if (!promotion_.is_narrow(declared->buffer->dtype)) seen_.insert(declared->buffer->data.get());
    VisitStmt(declared->body);
  }
  void VisitExpr(const Expr& e) override {
    const Call* call = e.As<Call>();
    const BufferLoad* load =
        call == nullptr || call->op->name != "address_of" ? nullptr : call->args[0].As<BufferLoad>();
    if (load != nullptr) seen_.insert(load->buffer->data.get());
    StmtExprVisitor::VisitExpr(e);
  }
  void VisitVar(const Expr& var) override { seen_.insert(var.get()); }

 private:
  const Promotion& promotion_;
  std::unordered_set<const ExprNode*> found_, seen_;
};

class ComputeLegalizer : public StmtExprMutator {
 public:
  ComputeLegalizer(const Promotion& promotion, std::unordered_set<const ExprNode*> memory)
      : promotion_(promotion), memory_(std::move(memory)) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (const LetStmt* let = visited.As<LetStmt>(); let != nullptr && promotion_.is_narrow(let->value.dtype()))
      return LetStmt{Promoted(let->value), let->var, let->body};
    const Allocate* alloc = visited.As<Allocate>();
    if (alloc == nullptr || !memory_.contains(alloc->buffer_var.get())) return visited;
    Allocate copy = *alloc;
    copy.dtype = promotion_.Of(copy.dtype);
    copy.buffer_var = DataOf(alloc->buffer_var);
    return copy;
  }
  Var VisitVarDef(const Var& var) override {
    if (!promotion_.is_narrow(var.dtype())) return var;  // What lets bind has the type of their values.
    const Var wider(var.name(), promotion_.Of(var.dtype()));
    vars_.insert_or_assign(var.get(), wider);
    return wider;
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    if (!memory_.contains(buffer->data.get())) return buffer;
    const auto [found, is_new] = buffers_.try_emplace(buffer.get(), buffer);
    if (is_new) {
      BufferNode node = *buffer;
      node.dtype = promotion_.Of(node.dtype);
      node.data = DataOf(buffer->data);
      found->second = Buffer(std::move(node));
    }
    return found->second;
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return VisitBufferUse(buffer); }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const BufferStore& now = *visited.As<BufferStore>();
    const bool is_narrow = promotion_.is_narrow(now.buffer->dtype);
    if (is_narrow == promotion_.is_narrow(now.value.dtype())) return visited;
    if (!is_narrow && !promotion_.is_narrow(store.buffer->dtype)) return visited;
    BufferStore copy = now;
    copy.value =
        is_narrow ? Converted(now.value, store.buffer->dtype.shaped_as(now.value.dtype())) : Promoted(now.value);
    return copy;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const BufferLoad* now = visited.As<BufferLoad>();
    if (now->buffer.same_as(load.buffer)) return visited;
    return Expr::Make(promotion_.Of(self.dtype()), *now);
  }
  Expr VisitExpr(const Expr& e) override {
    if (const Call* call = e.As<Call>()) return VisitCall(e, *call);
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const DataType type = promotion_.Of(visited.dtype());
    if (const FloatImm* number = visited.As<FloatImm>(); number != nullptr && type != visited.dtype())
      return FloatConst(type, number->value);
    if (const Cast* cast = visited.As<Cast>()) {
      const Expr value = Promoted(cast->value);
      return value.dtype() == type ? value : MakeCast(type, value);
    }
    if (const Binary* op = visited.As<Binary>())
      return Changed(visited, {&op->a, &op->b}, [&](auto values) { return FoldBinary(op->op, values[0], values[1]); });
    if (const Select* op = visited.As<Select>())
      return Changed(visited, {&op->true_value, &op->false_value},
                     [&](auto values) { return MakeSelect(op->condition, values[0], values[1]); });
    if (const Broadcast* op = visited.As<Broadcast>())
      return Changed(visited, {&op->value},
                     [&](auto values) { return Expr::Make(type, Broadcast{values[0], op->lanes}); });
    if (const Let* let = visited.As<Let>(); let != nullptr && !visited.same_as(e))
      return Expr::Make(let->body.dtype(), Let{Promoted(let->value), let->var, let->body});
    if (const Shuffle* shuffle = visited.As<Shuffle>(); shuffle != nullptr && type != visited.dtype()) {
      Shuffle copy = *shuffle;
      for (Expr& vector : copy.vectors) vector = Promoted(vector);
      return Expr::Make(type, std::move(copy));
    }
    return visited;
  }

 private:
  // make(values, promoted), where that changes anything.
  template <typename F>
  Expr Changed(const Expr& self, std::vector<const Expr*> values, const F& make) {
    bool is_changed = promotion_.is_narrow(self.dtype());
    std::vector<Expr> promoted;
    for (const Expr* value : values) {
      promoted.push_back(Promoted(*value));
      is_changed |= !promoted.back().same_as(*value);
    }
    return is_changed ? make(promoted) : self;
  }
  Expr VisitCall(const Expr& self, const Call& call) {
    const Expr visited = StmtExprMutator::VisitExpr(self);
    if (call.op->name == "reinterpret" || LooksAtMemory(call)) return visited;
    Call copy = *visited.As<Call>();
    bool is_changed = promotion_.is_narrow(self.dtype());
    for (Expr& arg : copy.args) {
      const Expr promoted = Promoted(arg);
      is_changed |= !promoted.same_as(arg);
      arg = promoted;
    }
    return is_changed ? Expr::Make(promotion_.Of(self.dtype()), std::move(copy)) : visited;
  }
  Expr Promoted(const Expr& value) {
    return promotion_.is_narrow(value.dtype()) ? Converted(value, promotion_.Of(value.dtype())) : value;
  }
  Expr Converted(const Expr& value, DataType type) {
    const StatusOr<Expr> converted = ConvertFloat(value, type);
    if (converted.ok()) return *converted;
    status = converted.status();
    return value;
  }
  Var DataOf(const Var& data) {
    const auto [found, is_new] = data_.try_emplace(data.get(), data);
    if (is_new && data.pointer() != nullptr)
      found->second = Var(data.name(), MakePointerType(promotion_.Of(data.pointer()->element), data.pointer()->scope));
    return Var(found->second);
  }

  const Promotion& promotion_;
  const std::unordered_set<const ExprNode*> memory_;
  VarMap vars_, data_;
  BufferMap buffers_;
};

// Whether the target computes with them: cuda from an architecture on.
bool IsComputedBy(const PrimFunc& func, int from_sm) {
  const StatusOr<std::optional<TargetDescription>> target = DescriptionOf(func.attrs);
  if (!target.ok() || !*target || (*target)->kind != "cuda") return false;
  const auto found = (*target)->attrs.find("arch");
  const std::string* arch = found == (*target)->attrs.end() ? nullptr : std::get_if<std::string>(&found->second);
  int number = 0;
  if (arch != nullptr && arch->starts_with("sm_"))
    std::from_chars(arch->data() + 3, arch->data() + arch->size(), number);
  return number >= from_sm;
}

StatusOr<PrimFunc> ComputeLegalized(PrimFunc func, const Promotion& promotion) {
  const Stmt body = SplitAllocBuffers(func.body);
  ComputeLegalizer legalizer(promotion, OwnMemoryFinder(promotion).Found(body));
  Stmt legal = legalizer(body);
  RETURN_IF_ERROR(legalizer.status);
  func.body = std::move(legal);
  return func;
}

}  // namespace

bool ComputesWithBF16(const PrimFunc& func) { return IsComputedBy(func, 80); }
bool ComputesWithFP8(const PrimFunc& func) { return IsComputedBy(func, 89); }

StatusOr<PrimFunc> BF16ComputeLegalize(PrimFunc func) {
  if (ComputesWithBF16(func)) return func;
  return ComputeLegalized(std::move(func), {IsBFloat, DataType::Float(32)});
}

StatusOr<PrimFunc> FP8ComputeLegalize(PrimFunc func, DataType wider) {
  if (wider != DataType::Float(16) && wider != DataType::Float(32))
    return InvalidArgument(
        fmt::format("FP8ComputeLegalize: expected float16 or float32 to compute with, got {}", wider.ToString()));
  if (ComputesWithFP8(func)) return func;
  return ComputeLegalized(std::move(func), {IsFloat8, wider});
}

}  // namespace lathe
