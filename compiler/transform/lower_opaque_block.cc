#include "compiler/transform/lower_opaque_block.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

bool IsPragma(const std::string& key) { return key.starts_with("pragma_"); }

std::optional<Expr> AsValue(const Attr& attr) {
  if (const Expr* e = std::get_if<Expr>(&attr)) return *e;
  if (const int64_t* number = std::get_if<int64_t>(&attr)) return Expr(*number);
  if (const bool* flag = std::get_if<bool>(&attr)) return IntConst(DataType::Bool(), *flag);
  if (const std::string* text = std::get_if<std::string>(&attr))
    return Expr::Make(DataType::Handle(), StringImm{*text});
  return std::nullopt;
}

// `body` below what `annotations` say about `node`.
Stmt UnderPragmas(const AttrMap& annotations, const Attr& node, Stmt body) {
  for (auto item = annotations.rbegin(); item != annotations.rend(); ++item) {
    const std::optional<Expr> value = IsPragma(item->first) ? AsValue(item->second) : std::nullopt;
    if (value) body = AttrStmt{item->first, *value, node, body};
  }
  return body;
}

bool IsSizedByMemory(const Buffer& buffer) { return std::any_of(buffer->shape.begin(), buffer->shape.end(), HasLoad); }

class BlockRemover : public StmtExprMutator {
 public:
  explicit BlockRemover(bool makes_attrs) : makes_attrs_(makes_attrs) {}

 protected:
  Stmt VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    const BlockNode& block = *realize.block;
    CHECK(block.iter_vars.empty() && block.match_buffers.empty() && !block.init)
        << "block " << block.name << " is not opaque";
    Stmt body = VisitStmt(block.body);
    const Expr& predicate = realize.predicate;
    // What says how much memory there is may itself be there under the condition only.
    const bool is_sized_inside = std::any_of(block.alloc_buffers.begin(), block.alloc_buffers.end(), IsSizedByMemory);
    const auto add_condition = [&] {
      if (!IsConstInt(predicate, 1)) body = IfThenElse{predicate, body, std::nullopt};
    };
    if (!is_sized_inside) add_condition();
    for (size_t i = block.alloc_buffers.size(); i-- > 0;) body = AllocBuffer{block.alloc_buffers[i], body};
    if (is_sized_inside) add_condition();
    return makes_attrs_ ? UnderPragmas(block.annotations, Attr(0), body) : body;
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const bool is_gone = IsConstInt(loop.extent, 1) && loop.kind != ForKind::kThreadBinding && loop.annotations.empty();
    if (is_gone) return VisitStmt(loop.body);
    return makes_attrs_ ? WithAttrs(*StmtExprMutator::VisitFor(self, loop).As<For>())
                        : StmtExprMutator::VisitFor(self, loop);
  }

 private:
  static Stmt WithAttrs(For loop) {
    const AttrMap annotations = std::exchange(loop.annotations, {});
    for (const auto& [key, value] : annotations) {
      if (!IsPragma(key)) loop.annotations.emplace(key, value);
    }
    const Attr var(Expr(loop.loop_var));
    if (loop.kind != ForKind::kThreadBinding) return UnderPragmas(annotations, var, loop);
    const bool is_virtual = loop.thread.starts_with("vthread");
    const IterVar axis{{loop.min, loop.extent}, loop.loop_var, IterKind::kThreadIndex, loop.thread};
    return UnderPragmas(annotations, var,
                        AttrStmt{is_virtual ? "virtual_thread" : "thread_extent", loop.extent, axis, loop.body});
  }

  const bool makes_attrs_;
};

// The values of the variables of loops of one iteration.
class UnitLoops : public StmtExprVisitor {
 public:
  explicit UnitLoops(const Stmt& body) { VisitStmt(body); }
  const VarMap& values() const { return values_; }

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    if (IsConstInt(loop.extent, 1)) values_.emplace(loop.loop_var.get(), Substitute(loop.min, values_));
    VisitChildren(self);
  }

 private:
  VarMap values_;
};

// Their variables are replaced also in the sizes of what is allocated below them.
PrimFunc WithoutBlocks(PrimFunc func, bool makes_attrs) {
  func.body = BlockRemover(makes_attrs)(Substitute(func.body, UnitLoops(func.body).values()));
  return func;
}

}  // namespace

PrimFunc LowerOpaqueBlock(PrimFunc func) { return WithoutBlocks(std::move(func), false); }
PrimFunc LowerOpaqueBlockToAttrs(PrimFunc func) { return WithoutBlocks(std::move(func), true); }

}  // namespace lathe
