#include "tuner/measure/input_ranges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/bounds.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

struct IndexUse {
  Expr index;
  int64_t extent;
};

// What the whole function says about its variables, memory and indices.
class IndexCollector : public StmtExprVisitor {
 public:
  std::unordered_map<const ExprNode*, Range> domains;             // Of loop variables and iter vars.
  std::unordered_map<const ExprNode*, std::vector<Expr>> stored;  // By the buffer's data; inits left out.
  std::vector<IndexUse> uses;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    domains.emplace(loop.loop_var.get(), Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    for (const IterVar& iter : realize.block->iter_vars) domains.emplace(iter.var.get(), iter.domain);
    VisitStmt(realize.block->body);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Note(store.buffer, store.indices);
    stored[store.buffer->data.get()].push_back(store.value);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Note(load.buffer, load.indices);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void Note(const Buffer& buffer, const std::vector<Expr>& indices) {
    for (size_t i = 0; i < indices.size() && i < buffer->shape.size(); ++i) {
      const int64_t* extent = AsIntConst(buffer->shape[i]);
      if (extent != nullptr && *extent > 0) uses.push_back({indices[i], *extent});
    }
  }
};

using Params = std::unordered_map<const ExprNode*, uint32_t>;  // Integer ones, by variable or data.

// An index in terms of variables alone: one for each element of a parameter that it names, whatever came between.
class ElementNamer : public StmtExprMutator {
 public:
  ElementNamer(const IndexCollector& function, const Params& params) : function_(function), params_(params) {}

  // Variables whose value a parameter is, and which.
  const std::map<uint32_t, std::vector<Var>>& elements() const { return elements_; }
  // Loop variables and iter vars in what was named, each after those that its domain names.
  const std::vector<std::pair<Var, Range>>& bound() const { return bound_; }

 protected:
  Expr VisitVar(const Expr& var) override {
    if (const auto param = params_.find(var.get()); param != params_.end()) Note(param->second, Var(var));
    const auto domain = function_.domains.find(var.get());
    if (domain == function_.domains.end() || !seen_.insert(var.get()).second) return var;
    Range range{VisitExpr(domain->second.min), VisitExpr(domain->second.extent)};
    bound_.emplace_back(Var(var), std::move(range));
    return var;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const ExprNode* data = load.buffer->data.get();
    if (const auto param = params_.find(data); param != params_.end()) return NameOf(self, param->second);
    const auto stored = function_.stored.find(data);
    constexpr int kMostSteps = 16;
    if (stored == function_.stored.end() || stored->second.size() != 1 || depth_ == kMostSteps)
      return StmtExprMutator::VisitBufferLoad(self, load);
    ++depth_;
    Expr value = VisitExpr(stored->second.front());
    --depth_;
    return value;
  }

 private:
  Expr NameOf(const Expr& load, uint32_t param) {
    for (const auto& [known, var] : names_)
      if (StructuralEqual(known, load)) return var;
    const Var var("element", load.dtype());
    names_.emplace_back(load, var);
    Note(param, var);
    return var;
  }
  void Note(uint32_t param, const Var& var) {
    std::vector<Var>& known = elements_[param];
    if (std::none_of(known.begin(), known.end(), [&](const Var& other) { return other.same_as(var); }))
      known.push_back(var);
  }

  const IndexCollector& function_;
  const Params& params_;
  std::map<uint32_t, std::vector<Var>> elements_;
  std::vector<std::pair<Expr, Var>> names_;
  std::vector<std::pair<Var, Range>> bound_;
  std::unordered_set<const ExprNode*> seen_;
  int depth_ = 0;
};

bool IsInRange(const Expr& index, int64_t extent, const ElementNamer& namer, int64_t high) {
  Analyzer analyzer;
  for (const auto& [param, vars] : namer.elements())
    for (const Var& var : vars) analyzer.Bind(var, Range{IntConst(var.dtype(), 0), IntConst(var.dtype(), high + 1)});
  for (const auto& [var, range] : namer.bound()) analyzer.Bind(var, range);
  const Expr value = analyzer.Simplify(index);
  return analyzer.CanProve(LessEqual(IntConst(value.dtype(), 0), value)) &&
         analyzer.CanProve(Less(value, IntConst(value.dtype(), extent)));
}

// The largest number of its parameters with which the index is shown to be in range.
int64_t HighestFor(const Expr& index, int64_t extent, const ElementNamer& namer) {
  int64_t highest = extent - 1;
  for (const auto& [param, vars] : namer.elements())
    for (const Var& var : vars) highest = std::min(highest, TypeBound(var.dtype()).max - 1);
  for (int64_t high = highest;; high /= 2) {
    if (IsInRange(index, extent, namer, high)) return high;
    if (high == 0) return highest;
  }
}

Params IntegerParams(const PrimFunc& func) {
  Params params;
  uint32_t number = 0;
  for (const Param& param : ParamsOf(func)) {
    const auto* buffer = std::get_if<Buffer>(&param);
    const DataType type = buffer != nullptr ? (*buffer)->dtype : std::get<Var>(param).dtype();
    if (type.is_int()) params.emplace(buffer != nullptr ? (*buffer)->data.get() : std::get<Var>(param).get(), number);
    ++number;
  }
  return params;
}

}  // namespace

std::vector<ParamRange> InputRangesOf(const PrimFunc& func) {
  const Params params = IntegerParams(func);
  if (params.empty()) return {};
  IndexCollector function;
  function(func.body);
  std::map<uint32_t, int64_t> highest;
  for (const auto& [index, extent] : function.uses) {
    ElementNamer namer(function, params);
    const Expr named = namer(index);
    if (namer.elements().empty()) continue;
    const int64_t high = HighestFor(named, extent, namer);
    for (const auto& [param, vars] : namer.elements()) {
      const auto [known, is_new] = highest.emplace(param, high);
      known->second = std::min(known->second, high);
    }
  }
  std::vector<ParamRange> ranges;
  for (const auto& [param, high] : highest) ranges.push_back({param, {0, high}});
  return ranges;
}

}  // namespace lathe
