#include "compiler/ir/visitor.h"

#include <algorithm>

#include "compiler/ir/integer.h"
#include "compiler/ir/may_trap.h"

namespace lathe {
namespace {

template <typename T>
concept Walkable = requires { T::Fields(); };

}  // namespace

// ---- Visitor ----------------------------------------------------------------------------------------------------

namespace {

// Hands every field of a node to the visitor's methods, whatever the field's type.
template <typename OnExpr, typename OnStmt, typename OnBlock, typename OnBufferDef>
struct FieldWalker {
  OnExpr on_expr;
  OnStmt on_stmt;
  OnBlock on_block;
  OnBufferDef on_buffer_def;

  template <typename Node>
  void WalkNode(const Node& node) {
    ForEachField(node, [&](const auto& field, const auto& value) { Walk(value, field.role); });
  }
  void Walk(const Expr& e, FieldRole) { on_expr(e); }
  void Walk(const Var& v, FieldRole role) {
    if (role == FieldRole::kUse) on_expr(v);
  }
  void Walk(const Stmt& s, FieldRole) { on_stmt(s); }
  void Walk(const Block& b, FieldRole) { on_block(b); }
  void Walk(const Buffer& b, FieldRole role) {
    if (role == FieldRole::kDeclare) on_expr(b->data);
    if (role != FieldRole::kUse) on_buffer_def(b);
  }
  void Walk(const AttrTarget& target, FieldRole role) {
    std::visit([&](const auto& one) { Walk(one, role); }, target);
  }
  void Walk(const AttrMap& attrs, FieldRole role) {
    for (const auto& [key, value] : attrs) Walk(value, role);
  }
  void Walk(const Attr& attr, FieldRole role) {
    std::visit([&](const auto& one) { Walk(one, role); }, static_cast<const AttrVariant&>(attr));
  }
  template <typename T>
  void Walk(const std::vector<T>& items, FieldRole role) {
    for (const T& item : items) Walk(item, role);
  }
  template <typename T>
  void Walk(const std::optional<T>& item, FieldRole role) {
    if (item) Walk(*item, role);
  }
  template <Walkable T>
  void Walk(const T& node, FieldRole) {
    WalkNode(node);
  }
  template <typename T>
  void Walk(const T&, FieldRole) {}  // Numbers, names, enums, annotations.
};
template <typename... F>
FieldWalker(F...) -> FieldWalker<F...>;

}  // namespace

void StmtExprVisitor::VisitChildren(const Stmt& stmt) {
  FieldWalker walker{[&](const Expr& e) { VisitExpr(e); }, [&](const Stmt& s) { VisitStmt(s); },
                     [&](const Block& b) { VisitBlock(b); }, [&](const Buffer& b) { VisitBufferDef(b); }};
  std::visit([&](const auto& node) { walker.WalkNode(node); }, stmt.node().value);
}
void StmtExprVisitor::VisitChildren(const Expr& expr) {
  FieldWalker walker{[&](const Expr& e) { VisitExpr(e); }, [](const Stmt&) {}, [](const Block&) {},
                     [](const Buffer&) {}};
  VisitNode(expr, [&](const auto& node) { walker.WalkNode(node); });
}
void StmtExprVisitor::VisitStmt(const Stmt& stmt) {
  if (const For* loop = stmt.As<For>()) return VisitFor(stmt, *loop);
  if (const BlockRealize* realize = stmt.As<BlockRealize>()) return VisitBlockRealize(stmt, *realize);
  if (const BufferStore* store = stmt.As<BufferStore>()) return VisitBufferStore(stmt, *store);
  VisitChildren(stmt);
}
void StmtExprVisitor::VisitExpr(const Expr& expr) {
  if (expr.As<IntImm>() != nullptr) return;
  if (const Binary* op = expr.As<Binary>()) {  // What VisitChildren does, without a detour: most of an index.
    VisitExpr(op->a);
    return VisitExpr(op->b);
  }
  if (const BufferLoad* load = expr.As<BufferLoad>()) return VisitBufferLoad(expr, *load);
  if (IsVar(expr)) return VisitVar(expr);
  VisitChildren(expr);
}
void StmtExprVisitor::VisitFor(const Stmt& self, const For&) { VisitChildren(self); }
void StmtExprVisitor::VisitBlockRealize(const Stmt& self, const BlockRealize&) { VisitChildren(self); }
void StmtExprVisitor::VisitBlock(const Block& block) {
  FieldWalker walker{[&](const Expr& e) { VisitExpr(e); }, [&](const Stmt& s) { VisitStmt(s); },
                     [&](const Block& b) { VisitBlock(b); }, [&](const Buffer& b) { VisitBufferDef(b); }};
  walker.WalkNode(*block);
}
void StmtExprVisitor::VisitBufferStore(const Stmt& self, const BufferStore&) { VisitChildren(self); }
void StmtExprVisitor::VisitBufferLoad(const Expr& self, const BufferLoad&) { VisitChildren(self); }
void StmtExprVisitor::VisitVar(const Expr&) {}
void StmtExprVisitor::VisitBufferDef(const Buffer& buffer) {
  for (const Expr& extent : buffer->shape) VisitExpr(extent);
  for (const Expr& stride : buffer->strides) VisitExpr(stride);
  VisitExpr(buffer->elem_offset);
}

// ---- Mutator ----------------------------------------------------------------------------------------------------

namespace {

// Rewrites the fields of a node; nullopt where nothing changed, so that unchanged nodes are never copied.
template <typename OnExpr, typename OnStmt, typename OnBlock, typename OnVarDef, typename OnBufferDef,
          typename OnBufferDecl, typename OnBufferUse>
struct FieldRewriter {
  OnExpr on_expr;
  OnStmt on_stmt;
  OnBlock on_block;
  OnVarDef on_var_def;
  OnBufferDef on_buffer_def;
  OnBufferDecl on_buffer_decl;
  OnBufferUse on_buffer_use;

  template <typename Node>
  std::optional<Node> RewriteNode(const Node& node) {
    std::optional<Node> copy;
    ForEachField(node, [&](const auto& field, const auto& value) {
      auto rewritten = Rewrite(value, field.role);
      if (!rewritten) return;
      if (!copy) copy.emplace(node);
      (*copy).*(field.member) = std::move(*rewritten);
    });
    return copy;
  }
  template <typename T>
  static std::optional<T> IfChanged(const T& before, T after) {
    if (before.same_as(after)) return std::nullopt;
    return after;
  }
  std::optional<Expr> Rewrite(const Expr& e, FieldRole) { return IfChanged(e, on_expr(e)); }
  std::optional<Var> Rewrite(const Var& v, FieldRole role) {
    return IfChanged(v, role == FieldRole::kDef ? on_var_def(v) : Var(on_expr(v)));
  }
  std::optional<Stmt> Rewrite(const Stmt& s, FieldRole) { return IfChanged(s, on_stmt(s)); }
  std::optional<Block> Rewrite(const Block& b, FieldRole) { return IfChanged(b, on_block(b)); }
  std::optional<Buffer> Rewrite(const Buffer& b, FieldRole role) {
    if (role == FieldRole::kUse) return IfChanged(b, on_buffer_use(b));
    return IfChanged(b, role == FieldRole::kDef ? on_buffer_def(b) : on_buffer_decl(b));
  }
  // The alternative of a variant, rewritten.
  template <typename Variant, typename Result = Variant>
  std::optional<Result> RewriteVariant(const Variant& value, FieldRole role) {
    return std::visit(
        [&](const auto& one) -> std::optional<Result> {
          auto rewritten = Rewrite(one, role);
          if (!rewritten) return std::nullopt;
          return Result(std::move(*rewritten));
        },
        value);
  }
  std::optional<AttrTarget> Rewrite(const AttrTarget& target, FieldRole role) { return RewriteVariant(target, role); }
  std::optional<Attr> Rewrite(const Attr& attr, FieldRole role) {
    return RewriteVariant<AttrVariant, Attr>(attr, role);
  }
  std::optional<AttrMap> Rewrite(const AttrMap& attrs, FieldRole role) {
    std::optional<AttrMap> copy;
    for (const auto& [key, value] : attrs) {
      std::optional<Attr> rewritten = Rewrite(value, role);
      if (!rewritten) continue;
      if (!copy) copy.emplace(attrs);
      copy->insert_or_assign(key, *std::move(rewritten));
    }
    return copy;
  }
  template <typename T>
  std::optional<std::vector<T>> Rewrite(const std::vector<T>& items, FieldRole role) {
    std::optional<std::vector<T>> copy;
    for (size_t i = 0; i < items.size(); ++i) {
      auto rewritten = Rewrite(items[i], role);
      if (!rewritten) continue;
      if (!copy) copy.emplace(items);
      (*copy)[i] = std::move(*rewritten);
    }
    return copy;
  }
  template <typename T>
  std::optional<std::optional<T>> Rewrite(const std::optional<T>& item, FieldRole role) {
    if (!item) return std::nullopt;
    auto rewritten = Rewrite(*item, role);
    if (!rewritten) return std::nullopt;
    return std::optional<std::optional<T>>(std::move(rewritten));
  }
  template <Walkable T>
  std::optional<T> Rewrite(const T& node, FieldRole) {
    return RewriteNode(node);
  }
  template <typename T>
  std::optional<T> Rewrite(const T&, FieldRole) {
    return std::nullopt;
  }
};
template <typename... F>
FieldRewriter(F...) -> FieldRewriter<F...>;

}  // namespace

namespace {

// A statement may have become several: no sequence stands in another.
Stmt Spliced(Seq seq) {
  const bool is_flat =
      std::none_of(seq.stmts.begin(), seq.stmts.end(), [](const Stmt& child) { return child.As<Seq>() != nullptr; });
  return is_flat ? Stmt(std::move(seq)) : MakeSeq(std::move(seq.stmts));
}

}  // namespace

Stmt StmtExprMutator::VisitChildren(const Stmt& stmt) {
  FieldRewriter rewriter{
      [&](const Expr& e) { return VisitExpr(e); },        [&](const Stmt& s) { return VisitStmt(s); },
      [&](const Block& b) { return VisitBlock(b); },      [&](const Var& v) { return VisitVarDef(v); },
      [&](const Buffer& b) { return VisitBufferDef(b); }, [&](const Buffer& b) { return VisitBufferDecl(b); },
      [&](const Buffer& b) { return VisitBufferUse(b); }};
  return std::visit(
      [&](const auto& node) -> Stmt {
        auto rewritten = rewriter.RewriteNode(node);
        if (!rewritten) return stmt;
        if constexpr (std::is_same_v<decltype(rewritten), std::optional<Seq>>) return Spliced(*std::move(rewritten));
        return Stmt(std::move(*rewritten));
      },
      stmt.node().value);
}
Expr StmtExprMutator::VisitChildren(const Expr& expr) {
  FieldRewriter rewriter{[&](const Expr& e) { return VisitExpr(e); },
                         [](const Stmt& s) { return s; },
                         [](const Block& b) { return b; },
                         [&](const Var& v) { return VisitVarDef(v); },
                         [](const Buffer& b) { return b; },
                         [](const Buffer& b) { return b; },
                         [&](const Buffer& b) { return VisitBufferUse(b); }};
  return VisitNode(expr, [&](const auto& node) -> Expr {
    auto rewritten = rewriter.RewriteNode(node);
    return rewritten ? Expr::Make(expr.dtype(), std::move(*rewritten)) : expr;
  });
}
Stmt StmtExprMutator::VisitStmt(const Stmt& stmt) {
  if (const For* loop = stmt.As<For>()) return VisitFor(stmt, *loop);
  if (const BlockRealize* realize = stmt.As<BlockRealize>()) return VisitBlockRealize(stmt, *realize);
  if (const BufferStore* store = stmt.As<BufferStore>()) return VisitBufferStore(stmt, *store);
  return VisitChildren(stmt);
}
Expr StmtExprMutator::VisitExpr(const Expr& expr) {
  if (expr.As<IntImm>() != nullptr) return expr;
  if (const Binary* op = expr.As<Binary>()) {
    Expr a = VisitExpr(op->a), b = VisitExpr(op->b);
    if (a.same_as(op->a) && b.same_as(op->b)) return expr;
    return Expr::Make(expr.dtype(), Binary{op->op, std::move(a), std::move(b)});
  }
  if (const BufferLoad* load = expr.As<BufferLoad>()) return VisitBufferLoad(expr, *load);
  if (IsVar(expr)) return VisitVar(expr);
  return VisitChildren(expr);
}
Stmt StmtExprMutator::VisitFor(const Stmt& self, const For&) { return VisitChildren(self); }
Stmt StmtExprMutator::VisitBlockRealize(const Stmt& self, const BlockRealize&) { return VisitChildren(self); }
Block StmtExprMutator::VisitBlock(const Block& block) {
  FieldRewriter rewriter{
      [&](const Expr& e) { return VisitExpr(e); },        [&](const Stmt& s) { return VisitStmt(s); },
      [&](const Block& b) { return VisitBlock(b); },      [&](const Var& v) { return VisitVarDef(v); },
      [&](const Buffer& b) { return VisitBufferDef(b); }, [&](const Buffer& b) { return VisitBufferDecl(b); },
      [&](const Buffer& b) { return VisitBufferUse(b); }};
  auto rewritten = rewriter.RewriteNode(*block);
  return rewritten ? Block(std::move(*rewritten)) : block;
}
Stmt StmtExprMutator::VisitBufferStore(const Stmt& self, const BufferStore&) { return VisitChildren(self); }
Expr StmtExprMutator::VisitBufferLoad(const Expr& self, const BufferLoad&) { return VisitChildren(self); }
Expr StmtExprMutator::VisitVar(const Expr& var) { return var; }
Var StmtExprMutator::VisitVarDef(const Var& var) { return var; }
Buffer StmtExprMutator::VisitBufferDef(const Buffer& buffer) { return buffer; }
Buffer StmtExprMutator::VisitBufferDecl(const Buffer& buffer) { return VisitBufferDef(buffer); }
Buffer StmtExprMutator::VisitBufferUse(const Buffer& buffer) { return buffer; }

// ---- Functions --------------------------------------------------------------------------------------------------

namespace {

class StmtLister : public StmtExprVisitor {
 public:
  explicit StmtLister(const std::function<void(const Stmt&)>& f) : f_(f) {}

 protected:
  void VisitStmt(const Stmt& stmt) override {
    StmtExprVisitor::VisitStmt(stmt);
    f_(stmt);
  }
  void VisitExpr(const Expr&) override {}

 private:
  const std::function<void(const Stmt&)>& f_;
};

class ExprLister : public StmtExprVisitor {
 public:
  explicit ExprLister(const std::function<void(const Expr&)>& f) : f_(f) {}

 protected:
  void VisitExpr(const Expr& expr) override {
    StmtExprVisitor::VisitExpr(expr);
    f_(expr);
  }

 private:
  const std::function<void(const Expr&)>& f_;
};

const Buffer& Mapped(const BufferMap& buffers, const Buffer& buffer) {
  const auto found = buffers.find(buffer.get());
  return found == buffers.end() ? buffer : found->second;
}

class Substituter : public StmtExprMutator {
 public:
  Substituter(const VarMap& vars, const BufferMap* buffers) : vars_(vars), buffers_(buffers) {}
  Block Rewrite(const Block& block) { return VisitBlock(block); }

 protected:
  // An integer of another width takes the variable's: what is around it was made for that.
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    if (found == vars_.end()) return buffers_ != nullptr && var.dtype() == DataType::Handle() ? DataOf(Var(var)) : var;
    const Expr& value = found->second;
    const DataType type = var.dtype();
    if (value.dtype() == type || !type.is_int() || !value.dtype().is_int() || !value.dtype().has_shape_of(type))
      return value;
    const int64_t* constant = AsIntConst(value);
    const bool fits = constant != nullptr && WrapToWidth(*constant, type.bits, type.is_signed_int()) == *constant;
    return fits ? IntConst(type, *constant) : MakeCast(type, value);
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const Buffer& redefined = Mapped(redefined_, buffer);
    return buffers_ == nullptr || !redefined.same_as(buffer) ? redefined : Mapped(*buffers_, buffer);
  }
  Buffer VisitBufferDef(const Buffer& buffer) override { return Redefined(buffer, buffer->data); }
  // A declaration over replaced memory moves with it.
  Buffer VisitBufferDecl(const Buffer& buffer) override {
    const Expr data = VisitVar(buffer->data);
    return Redefined(buffer, IsVar(data) ? Var(data) : buffer->data);
  }

 private:
  Expr DataOf(const Var& data) const {
    for (const auto& [before, after] : *buffers_) {
      if (before->data.same_as(data)) return after->data;
    }
    return data;
  }
  Buffer Redefined(const Buffer& buffer, const Var& data) {
    const std::optional<BufferNode> mapped = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); });
    if (!mapped && data.same_as(buffer->data)) return buffer;
    BufferNode node = mapped ? *mapped : *buffer;
    node.data = data;
    return redefined_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }

  const VarMap& vars_;
  const BufferMap* buffers_;
  BufferMap redefined_;
};

// Gives every definition a new identity and follows it in the uses.
class Cloner : public StmtExprMutator {
 public:
  Var DefineVar(const Var& var) {
    const Var fresh = var.CopyWithName(var.name());
    vars_.insert_or_assign(var.get(), fresh);
    return fresh;
  }
  Buffer DefineBuffer(const Buffer& buffer, bool is_over_known_data = false) {
    BufferNode node = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); }).value_or(*buffer);
    node.data = is_over_known_data ? Var(VisitVar(buffer->data)) : DefineVar(buffer->data);
    Buffer fresh(std::move(node));
    buffers_.insert_or_assign(buffer.get(), fresh);
    return fresh;
  }
  bool IsDefined(const Expr& var) const { return vars_.count(var.get()) != 0; }

 protected:
  Var VisitVarDef(const Var& var) override { return DefineVar(var); }
  Buffer VisitBufferDef(const Buffer& buffer) override { return DefineBuffer(buffer); }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return DefineBuffer(buffer, true); }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  // One that nothing declares is over the new memory, too.
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const bool is_undeclared = !buffers_.contains(buffer.get()) && IsDefined(buffer->data);
    return is_undeclared ? DefineBuffer(buffer, true) : Mapped(buffers_, buffer);
  }

 private:
  VarMap vars_;
  BufferMap buffers_;
};

class UseFinder : public StmtExprVisitor {
 public:
  explicit UseFinder(const std::function<bool(const ExprNode*)>& is_wanted) : is_wanted_(is_wanted) {}
  bool found() const { return found_; }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (!found_) StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& expr) override {
    if (found_ || expr.As<IntImm>() != nullptr) return;
    if (IsVar(expr))
      found_ = is_wanted_(expr.get());
    else
      StmtExprVisitor::VisitExpr(expr);
  }

 private:
  const std::function<bool(const ExprNode*)>& is_wanted_;
  bool found_ = false;
};

}  // namespace

std::optional<BufferNode> MapDims(const Buffer& buffer, const std::function<Expr(const Expr&)>& f) {
  BufferNode node = *buffer;
  bool is_changed = false;
  const auto map = [&](Expr& part) {
    Expr after = f(part);
    is_changed |= !after.same_as(part);
    part = std::move(after);
  };
  std::for_each(node.shape.begin(), node.shape.end(), map);
  std::for_each(node.strides.begin(), node.strides.end(), map);
  map(node.elem_offset);
  return is_changed ? std::optional(std::move(node)) : std::nullopt;
}
void PostOrderVisit(const Stmt& stmt, const std::function<void(const Stmt&)>& f) { StmtLister{f}(stmt); }
void PostOrderVisit(const Stmt& stmt, const std::function<void(const Expr&)>& f) { ExprLister{f}(stmt); }
void PostOrderVisit(const Expr& expr, const std::function<void(const Expr&)>& f) { ExprLister{f}(expr); }
Expr Substitute(const Expr& expr, const VarMap& vars) {
  return vars.empty() || expr.As<IntImm>() != nullptr ? expr : Substituter(vars, nullptr)(expr);
}
Stmt Substitute(const Stmt& stmt, const VarMap& vars) { return Substituter(vars, nullptr)(stmt); }
Block Substitute(const Block& block, const VarMap& vars) { return Substituter(vars, nullptr).Rewrite(block); }
Stmt Substitute(const Stmt& stmt, const VarMap& vars, const BufferMap& buffers) {
  return Substituter(vars, &buffers)(stmt);
}
Block Substitute(const Block& block, const VarMap& vars, const BufferMap& buffers) {
  return Substituter(vars, &buffers).Rewrite(block);
}
Stmt Clone(const Stmt& stmt) { return Cloner{}(stmt); }

PrimFunc Clone(const PrimFunc& func) {
  Cloner cloner;
  PrimFunc copy = func;
  for (Var& param : copy.params) param = cloner.DefineVar(param);
  const auto define_symbols = [&](const Expr& e) {  // Introduced by the first buffer that has them.
    PostOrderVisit(e, [&](const Expr& part) {
      if (IsVar(part) && !cloner.IsDefined(part)) cloner.DefineVar(Var(part));
    });
  };
  for (ParamBuffer& entry : copy.buffer_map) {
    for (const Expr& extent : entry.buffer->shape) define_symbols(extent);
    for (const Expr& stride : entry.buffer->strides) define_symbols(stride);
    define_symbols(entry.buffer->elem_offset);
    entry = {Var(cloner(entry.param)), cloner.DefineBuffer(entry.buffer, cloner.IsDefined(entry.buffer->data))};
  }
  copy.body = cloner(func.body);
  return copy;
}

bool DividesByParts(const Expr& e) {
  if (IsVar(e) || e.As<IntImm>() != nullptr) return false;
  if (MayTrap(e)) return true;
  if (const Binary* op = e.As<Binary>()) return DividesByParts(op->a) || DividesByParts(op->b);
  bool divides = false;
  PostOrderVisit(e, [&](const Expr& part) { divides |= MayTrap(part); });
  return divides;
}

bool HasLoad(const Expr& expr) {
  if (expr.As<IntImm>() != nullptr || IsVar(expr)) return false;
  if (const Binary* op = expr.As<Binary>()) return HasLoad(op->a) || HasLoad(op->b);
  bool has_load = false;
  PostOrderVisit(expr, [&](const Expr& part) { has_load |= part.As<BufferLoad>() != nullptr; });
  return has_load;
}
bool HasOp(const Expr& expr, std::initializer_list<BinaryOp> ops) {
  bool found = false;
  PostOrderVisit(expr, [&](const Expr& part) {
    const auto* binary = part.As<Binary>();
    found |= binary != nullptr && std::find(ops.begin(), ops.end(), binary->op) != ops.end();
  });
  return found;
}
bool UsesVarInside(const Expr& expr, const ExprNode* var) {
  if (const Binary* op = expr.As<Binary>()) return UsesVar(op->a, var) || UsesVar(op->b, var);
  return UsesVar(expr, [var](const ExprNode* used) { return used == var; });
}
bool UsesVar(const Stmt& stmt, const ExprNode* var) {
  return UsesVar(stmt, [var](const ExprNode* used) { return used == var; });
}
bool UsesVar(const Expr& expr, const std::function<bool(const ExprNode*)>& is_wanted) {
  if (expr.As<IntImm>() != nullptr) return false;
  if (IsVar(expr)) return is_wanted(expr.get());
  if (const Binary* op = expr.As<Binary>()) return UsesVar(op->a, is_wanted) || UsesVar(op->b, is_wanted);
  UseFinder finder(is_wanted);
  finder(expr);
  return finder.found();
}
bool UsesVar(const Stmt& stmt, const std::function<bool(const ExprNode*)>& is_wanted) {
  UseFinder finder(is_wanted);
  finder(stmt);
  return finder.found();
}

}  // namespace lathe
