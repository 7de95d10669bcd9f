#include "compiler/transform/unique_names.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class Renamer : public StmtExprMutator {
 public:
  // Parameters keep name and identity.
  void Reserve(const std::string& name) { taken_.insert(name); }
  void ReserveVar(const Expr& e) {
    if (!IsVar(e)) return;
    seen_.insert(e.get());
    taken_.insert(Var(e).name());
  }

 protected:
  Var VisitVarDef(const Var& var) override {
    std::string name = Take(var.name());
    const bool is_first = seen_.insert(var.get()).second;
    if (is_first && name == var.name()) {
      vars_.erase(var.get());
      return var;
    }
    const Var fresh = var.CopyWithName(std::move(name));
    vars_.insert_or_assign(var.get(), fresh);
    return fresh;
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override {
    BufferNode node = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); }).value_or(*buffer);
    node.name = Take(buffer->name);
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }

 private:
  std::string Take(const std::string& name) {
    std::string candidate = name;
    for (int& i = next_[name]; !taken_.insert(candidate).second;) candidate = name + "_" + std::to_string(++i);
    return candidate;
  }
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
  std::unordered_set<const ExprNode*> seen_;
  VarMap vars_;
  BufferMap buffers_;
};

}  // namespace

PrimFunc UniqueNames(PrimFunc func) {
  Renamer renamer;
  for (const Var& param : func.params) renamer.ReserveVar(param);
  for (const ParamBuffer& entry : func.buffer_map) {
    const Buffer& buffer = entry.buffer;
    renamer.Reserve(buffer->name);
    for (const Expr& extent : buffer->shape) PostOrderVisit(extent, [&](const Expr& e) { renamer.ReserveVar(e); });
    for (const Expr& stride : buffer->strides) PostOrderVisit(stride, [&](const Expr& e) { renamer.ReserveVar(e); });
    PostOrderVisit(buffer->elem_offset, [&](const Expr& e) { renamer.ReserveVar(e); });
  }
  func.body = renamer(func.body);
  return func;
}

}  // namespace lathe
