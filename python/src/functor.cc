// tir.stmt_functor: walks, substitutions.
#include "compiler/ir/visitor.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

enum class Order { kChildrenFirst, kChildrenLast };

// Calls f for every node below and including `root`, once each, however many places it stands at. Where f comes before
// the children, they are passed over when it answers False.
class Walker : public StmtExprVisitor {
 public:
  Walker(const py::function& f, Order order) : f_(f), order_(order) {}
  using StmtExprVisitor::operator();
  void operator()(const Block& block) { VisitBlock(block); }

 private:
  void VisitStmt(const Stmt& stmt) override {
    Show(stmt, [&] { StmtExprVisitor::VisitStmt(stmt); });
  }
  void VisitExpr(const Expr& expr) override {
    Show(expr, [&] { StmtExprVisitor::VisitExpr(expr); });
  }
  void VisitBlock(const Block& block) override {
    Show(block, [&] { StmtExprVisitor::VisitBlock(block); });
  }
  template <typename T, typename Below>
  void Show(const T& node, const Below& go_below) {
    if (!seen_.insert(node.get()).second) return;
    if (order_ == Order::kChildrenFirst || py::bool_(f_(node))) go_below();
    if (order_ == Order::kChildrenFirst) f_(node);
  }
  const py::function& f_;
  const Order order_;
  std::unordered_set<const void*> seen_;
};

// tir.stmt_functor.ir_transform: preorder may replace a node or None: go below; postorder may replace what came of it.
class Transformer : public StmtExprMutator {
 public:
  Transformer(py::object preorder, py::object postorder, std::optional<std::vector<std::string>> only)
      : preorder_(std::move(preorder)), postorder_(std::move(postorder)), only_(std::move(only)) {}
  using StmtExprMutator::operator();
  Block operator()(const Block& block) { return VisitBlock(block); }

 private:
  template <typename T>
  bool IsWanted(const T& node) const {
    return !only_ || std::find(only_->begin(), only_->end(), TypeKey(Node(node))) != only_->end();
  }
  template <typename T>
  std::optional<T> Ask(const py::object& f, const T& node) const {
    if (f.is_none() || !IsWanted(node)) return std::nullopt;
    const py::object answer = f(node);
    return answer.is_none() ? std::nullopt : std::optional<T>(py::cast<T>(answer));
  }
  template <typename T, typename Below>
  T Rewrite(const T& node, const Below& rewrite_below) const {
    if (std::optional<T> early = Ask(preorder_, node)) return *early;
    const T below = rewrite_below();
    return Ask(postorder_, below).value_or(below);
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    return Rewrite(stmt, [&] { return StmtExprMutator::VisitStmt(stmt); });
  }
  Expr VisitExpr(const Expr& expr) override {
    return Rewrite(expr, [&] { return StmtExprMutator::VisitExpr(expr); });
  }
  Block VisitBlock(const Block& block) override {
    return Rewrite(block, [&] { return StmtExprMutator::VisitBlock(block); });
  }
  const py::object preorder_, postorder_;
  const std::optional<std::vector<std::string>> only_;
};

void Visit(const py::object& node, const py::function& f, Order order) {
  Walker walker(f, order);
  if (const Stmt* stmt = UnwrapAs<Stmt>(node)) return walker(*stmt);
  if (const Expr* expr = UnwrapAs<Expr>(node)) return walker(*expr);
  if (const Block* block = UnwrapAs<Block>(node)) return walker(*block);
  const FuncPtr* func = UnwrapAs<FuncPtr>(node);
  if (func == nullptr) throw Failure(ErrorKind::kType, "visit: expected a statement, expression or function");
  walker((*func)->body);
}

// Gives variables and buffers other names, which makes them others.
class Renamer : public StmtExprMutator {
 public:
  explicit Renamer(const py::dict& names) {
    for (const auto& [node, text] : names) {
      const std::string name = py::cast<std::string>(text);
      const Buffer* buffer = UnwrapAs<Buffer>(node);
      const Var var = buffer == nullptr ? py::cast<Var>(node) : (*buffer)->data;
      vars_.insert_or_assign(var.get(), var.CopyWithName(name));
      if (buffer != nullptr) names_.insert_or_assign(buffer->get(), name);
    }
  }
  FuncPtr operator()(const PrimFunc& func) {
    auto copy = std::make_shared<PrimFunc>(func);
    for (Var& param : copy->params) param = VisitVarDef(param);
    for (ParamBuffer& entry : copy->buffer_map) entry = {VisitVarDef(entry.param), VisitBufferUse(entry.buffer)};
    copy->body = StmtExprMutator::operator()(func.body);
    return copy;
  }
  using StmtExprMutator::operator();

 private:
  Var VisitVarDef(const Var& var) override { return Var(VisitVar(var)); }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override { return VisitBufferUse(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    if (const auto known = buffers_.find(buffer.get()); known != buffers_.end()) return known->second;
    const auto name = names_.find(buffer.get());
    const Var data = VisitVarDef(buffer->data);
    std::optional<BufferNode> node = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); });
    if (!node && name == names_.end() && data.same_as(buffer->data)) return buffer;
    if (!node) node = *buffer;
    node->data = data;
    if (name != names_.end()) node->name = name->second;
    return buffers_.emplace(buffer.get(), Buffer(*std::move(node))).first->second;
  }

  VarMap vars_;
  std::unordered_map<const BufferNode*, std::string> names_;
  BufferMap buffers_;
};

VarMap ToVarMap(const py::dict& items) {
  VarMap vars;
  for (const auto& [key, value] : items) vars.emplace(py::cast<Var>(key).get(), py::cast<Expr>(value));
  return vars;
}

}  // namespace

void BindFunctor(py::module_& module) {
  module.def("post_order_visit",
             [](const py::object& node, const py::function& f) { Visit(node, f, Order::kChildrenFirst); });
  module.def("pre_order_visit",
             [](const py::object& node, const py::function& f) { Visit(node, f, Order::kChildrenLast); });
  module.def("ir_transform", [](const py::object& node, const py::object& preorder, const py::object& postorder,
                                const std::optional<std::vector<std::string>>& only) {
    Transformer transformer(preorder, postorder, only);
    const Block* block = UnwrapAs<Block>(node);
    return block == nullptr ? Wrap(transformer(py::cast<Stmt>(node))) : Wrap(transformer(*block));
  });
  module.def("substitute", [](const Stmt& stmt, const py::dict& vars) { return Substitute(stmt, ToVarMap(vars)); });
  module.def("substitute", [](const Expr& expr, const py::dict& vars) { return Substitute(expr, ToVarMap(vars)); });
  module.def("renamed", [](const FuncPtr& func, const py::dict& names) { return Renamer(names)(*func); });
  module.def("renamed", [](const Stmt& stmt, const py::dict& names) { return Renamer(names)(stmt); });
  module.def("clone_func", [](const FuncPtr& func) -> FuncPtr { return std::make_shared<PrimFunc>(Clone(*func)); });
}

}  // namespace lathe::python
