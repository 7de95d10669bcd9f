#include "compiler/transform/specialize.h"

#include <fmt/core.h>

#include <algorithm>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

std::string Refusal(const Var& param, std::string_view why) {
  return fmt::format("specialize parameter \"{}\": {}", param.name(), why);
}
Status Refuse(const Var& param, std::string_view why) { return InvalidArgument(Refusal(param, why)); }

// What the variables of a function are to be.
class Binding {
 public:
  explicit Binding(const PrimFunc& func) : func_(func) {}

  Status Add(const Specialization& entry) {
    const auto& params = func_.params;
    const auto is_it = [&](const Var& param) { return param.same_as(entry.param); };
    if (std::none_of(params.begin(), params.end(), is_it)) return Refuse(entry.param, "the function has no such one");
    const Buffer* own = FindBuffer(func_, entry.param);
    if (const Expr* value = std::get_if<Expr>(&entry.value)) {
      if (own != nullptr) return Refuse(entry.param, "it stands for a buffer, a buffer is required");
      return Bind(entry.param, entry.param, *value);
    }
    if (own == nullptr) return Refuse(entry.param, "it stands for no buffer, an expression is required");
    return AddBuffer(entry.param, **own, *std::get<Buffer>(entry.value));
  }

  const VarMap& values() const { return values_; }

 private:
  Status AddBuffer(const Var& param, const BufferNode& own, const BufferNode& given) {
    if (own.dtype != given.dtype)
      return Refuse(param, fmt::format("{} required, {} given", own.dtype.ToString(), given.dtype.ToString()));
    RETURN_IF_ERROR(AddAll(param, "dimensions", own.shape, given.shape));
    RETURN_IF_ERROR(AddAll(param, "strides", own.strides, given.strides));
    return Match(param, own.elem_offset, given.elem_offset);
  }

  Status AddAll(const Var& param, const char* what, const std::vector<Expr>& own, const std::vector<Expr>& given) {
    if (own.size() != given.size())
      return Refuse(param, fmt::format("{} {} required, {} given", own.size(), what, given.size()));
    for (size_t i = 0; i < own.size(); ++i) RETURN_IF_ERROR(Match(param, own[i], given[i]));
    return OkStatus();
  }

  Status Match(const Var& param, const Expr& own, const Expr& given) {
    if (IsVar(own)) return Bind(param, Var(own), given);
    if (StructuralEqual(own, given)) return OkStatus();
    return FailedPrecondition(Refusal(
        param,
        fmt::format("{} required, {} given: only a variable alone takes another value", Print(own), Print(given))));
  }

  Status Bind(const Var& param, const Var& var, const Expr& value) {
    if (var.dtype() != value.dtype())
      return Refuse(param, fmt::format("{} required for \"{}\", {} given", var.dtype().ToString(), var.name(),
                                       value.dtype().ToString()));
    const auto [known, is_new] = values_.emplace(var.get(), value);
    if (is_new || StructuralEqual(known->second, value)) return OkStatus();
    return Refuse(param, fmt::format("\"{}\" is {} already, {} given", var.name(), Print(known->second), Print(value)));
  }

  const PrimFunc& func_;
  VarMap values_;
};

// Puts the values in, into buffers too, and folds.
class Specializer : public StmtExprMutator {
 public:
  explicit Specializer(const VarMap& values) : values_(values) {}

  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto [entry, is_new] = buffers_.emplace(buffer.get(), buffer);
    if (is_new) entry->second = With(buffer);
    return entry->second;
  }

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override { return VisitBufferUse(buffer); }
  Expr VisitVar(const Expr& var) override {
    const auto found = values_.find(var.get());
    return found == values_.end() ? var : found->second;
  }
  // What a value changes is folded, what it leaves stays as it was written.
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    if (visited.same_as(e)) return e;
    if (const Binary* binary = visited.As<Binary>()) return FoldBinary(binary->op, binary->a, binary->b);
    const Not* negation = visited.As<Not>();
    return negation == nullptr ? visited : MakeNot(negation->a);
  }

 private:
  Buffer With(const Buffer& buffer) {
    std::optional<BufferNode> mapped = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); });
    return mapped ? Buffer(*std::move(mapped)) : buffer;
  }

  const VarMap& values_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

StatusOr<PrimFunc> Specialize(PrimFunc func, const std::vector<Specialization>& values) {
  Binding binding(func);
  for (const Specialization& entry : values) RETURN_IF_ERROR(binding.Add(entry));
  Specializer specializer(binding.values());
  for (ParamBuffer& entry : func.buffer_map) entry.buffer = specializer.VisitBufferUse(entry.buffer);
  std::erase_if(func.params, [&](const Var& param) { return binding.values().count(param.get()) != 0; });
  func.body = specializer(func.body);
  return func;
}

}  // namespace lathe
