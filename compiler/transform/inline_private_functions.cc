#include "compiler/transform/inline_private_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/visitor.h"
#include "compiler/transform/fact_mutator.h"
#include "compiler/transform/return_by_buffer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct Calls {
  std::set<std::string> callees;
  bool returns = false;
};
Calls CallsIn(const Stmt& body) {
  Calls calls;
  PostOrderVisit(body, std::function<void(const Expr&)>([&](const Expr& e) {
                   if (const FuncCall* call = e.As<FuncCall>()) calls.callees.insert(call->callee);
                   calls.returns |= AsCall(e, "ret") != nullptr;
                 }));
  return calls;
}

// The address of an element, whose place is not read from memory.
bool IsAddress(const Expr& e) {
  const Call* call = AsCall(e, "address_of");
  const BufferLoad* load = call != nullptr ? call->args[0].As<BufferLoad>() : nullptr;
  return load != nullptr && std::none_of(load->indices.begin(), load->indices.end(), HasLoad);
}
// The same wherever in the function it is computed.
bool IsFixed(const Expr& e) {
  bool is_fixed = !HasLoad(e);
  PostOrderVisit(e, [&](const Expr& part) {
    const Call* call = part.As<Call>();
    is_fixed &= part.As<FuncCall>() == nullptr && (call == nullptr || call->op->is_pure);
  });
  return is_fixed;
}

// A body with arguments for its parameters.
class ArgumentMaker : public StmtExprMutator {
 public:
  Stmt Make(const PrimFunc& callee, const FuncCall& call) {
    const std::vector<std::pair<Var, Expr>> lets = TakeArguments(callee, call);
    Stmt body = VisitStmt(Clone(callee.body));
    for (size_t i = lets.size(); i-- > 0;) body = LetStmt{lets[i].second, lets[i].first, body};
    return body;
  }
  // Of a function whose body is one return.
  Expr MakeValue(const PrimFunc& callee, const FuncCall& call) {
    const std::vector<std::pair<Var, Expr>> lets = TakeArguments(callee, call);
    const Stmt returned = Clone(callee.body);
    Expr body = VisitExpr(*ReturnedBy(returned));
    for (size_t i = lets.size(); i-- > 0;) body = Expr::Make(body.dtype(), Let{lets[i].second, lets[i].first, body});
    return body;
  }

 protected:
  // A buffer lies over a variable: that of an address begins here.
  Stmt VisitStmt(const Stmt& stmt) override {
    const DeclBuffer* view = stmt.As<DeclBuffer>();
    const auto address = view == nullptr ? addresses_.end() : addresses_.find(view->buffer->data.get());
    if (address == addresses_.end()) return StmtExprMutator::VisitStmt(stmt);
    const Var data = view->buffer->data.CopyWithName(view->buffer->name + "_data");
    values_.insert_or_assign(address->first, data);
    const Stmt body = StmtExprMutator::VisitStmt(stmt);
    values_.erase(address->first);
    return LetStmt{address->second, data, body};
  }
  Expr VisitVar(const Expr& var) override {
    const auto value = values_.find(var.get());
    if (value != values_.end()) return value->second;
    const auto address = addresses_.find(var.get());
    return address == addresses_.end() ? Expr(var) : address->second;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override { return WithArguments(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }

 private:
  // The variables that have to be bound around.
  std::vector<std::pair<Var, Expr>> TakeArguments(const PrimFunc& callee, const FuncCall& call) {
    std::vector<std::pair<Var, Expr>> lets;
    for (size_t i = 0; i < callee.params.size(); ++i) {
      const Var& param = callee.params[i];
      const Expr& arg = call.args[i];
      if (IsAddress(arg)) {
        addresses_.emplace(param.get(), arg);
      } else if (IsFixed(arg)) {
        values_.emplace(param.get(), arg);
      } else {
        lets.emplace_back(param.CopyWithName(param.name()), arg);
        values_.emplace(param.get(), lets.back().first);
      }
    }
    return lets;
  }
  Buffer WithArguments(const Buffer& buffer) {
    BufferNode node = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); }).value_or(*buffer);
    const auto data = values_.find(buffer->data.get());
    if (data != values_.end() && IsVar(data->second)) node.data = Var(data->second);
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }

  VarMap values_, addresses_;
  BufferMap buffers_;
};

class Inliner : public StmtExprMutator {
 public:
  // `takes_all`: not only private functions, and in expressions.
  Inliner(const IRModule& module, bool takes_all) : module_(module), takes_all_(takes_all) {
    for (const PrimFunc& func : module.prim_funcs) calls_.emplace(func.name, CallsIn(func.body));
  }
  PrimFunc Inlined(PrimFunc func) {
    const PrimFunc* const outer = std::exchange(caller_, &func);
    Stmt body = VisitStmt(func.body);
    caller_ = outer;
    func.body = std::move(body);
    return func;
  }
  bool IsInlined(const PrimFunc& func) const {
    return (takes_all_ || func.is_private) && func.buffer_map.empty() && !calls_.at(func.name).returns &&
           !Reaches(func.name, func.name);
  }
  bool IsCalled(const PrimFunc& func) const {
    return std::any_of(calls_.begin(), calls_.end(),
                       [&](const auto& each) { return each.second.callees.contains(func.name); });
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Evaluate* evaluate = stmt.As<Evaluate>();
    const FuncCall* call = evaluate == nullptr ? nullptr : evaluate->value.As<FuncCall>();
    const PrimFunc* callee = call == nullptr ? nullptr : module_.Find(call->callee);
    if (callee != nullptr && IsInlined(*callee) && Fits(*callee, *call))
      return ArgumentMaker().Make(Inlined(*callee), *call);
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const Seq* seq = visited.As<Seq>();
    return seq == nullptr || visited.same_as(stmt) ? visited : MakeSeq(seq->stmts);
  }
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const FuncCall* call = visited.As<FuncCall>();
    const PrimFunc* callee = call == nullptr || !takes_all_ ? nullptr : module_.Find(call->callee);
    if (callee == nullptr || !IsValue(*callee) || !Fits(*callee, *call)) return visited;
    return MakeCast(e.dtype(), ArgumentMaker().MakeValue(Inlined(*callee), *call));
  }

 private:
  bool IsValue(const PrimFunc& func) const {
    return ReturnedBy(func.body) != nullptr && func.buffer_map.empty() && !Reaches(func.name, func.name);
  }
  bool Fits(const PrimFunc& callee, const FuncCall& call) const {
    return IsFor(callee) && call.args.size() == callee.params.size();
  }
  // Whether it is for what its caller is for.
  bool IsFor(const PrimFunc& callee) const {
    const auto mine = caller_->attrs.find("target"), its = callee.attrs.find("target");
    if (its == callee.attrs.end()) return true;
    return mine != caller_->attrs.end() && mine->second == its->second;
  }
  bool Reaches(const std::string& from, const std::string& to) const {
    std::set<std::string> seen;
    std::vector<std::string> open = {from};
    while (!open.empty()) {
      const auto calls = calls_.find(open.back());
      open.pop_back();
      if (calls == calls_.end()) continue;
      for (const std::string& callee : calls->second.callees) {
        if (callee == to) return true;
        if (seen.insert(callee).second) open.push_back(callee);
      }
    }
    return false;
  }

  const IRModule& module_;
  const bool takes_all_;
  std::map<std::string, Calls> calls_;
  const PrimFunc* caller_ = nullptr;
};

// Those that functions call for which `is_kept`, and that those call in turn.
std::set<std::string> Reached(const IRModule& module, const std::function<bool(const PrimFunc&)>& is_kept) {
  std::set<std::string> called;
  for (const PrimFunc& func : module.prim_funcs) {
    if (is_kept(func)) called.merge(CallsIn(func.body).callees);
  }
  for (bool grows = true; grows;) {
    const size_t before = called.size();
    for (const PrimFunc& func : module.prim_funcs) {
      if (called.contains(func.name)) called.merge(CallsIn(func.body).callees);
    }
    grows = called.size() > before;
  }
  return called;
}

// Inlines, and drops the functions for which `may_go` that nothing calls any longer.
IRModule InlineAndDrop(Inliner& inliner, IRModule module, const std::function<bool(const PrimFunc&)>& may_go) {
  for (PrimFunc& func : module.prim_funcs) func = inliner.Inlined(std::move(func));
  const std::set<std::string> called = Reached(module, [&](const PrimFunc& func) { return !may_go(func); });
  std::erase_if(module.prim_funcs, [&](const PrimFunc& func) { return may_go(func) && !called.contains(func.name); });
  return module;
}

}  // namespace

StatusOr<IRModule> InlinePrivateFunctions(IRModule module) {
  Inliner inliner(module, false);
  return InlineAndDrop(inliner, module, [&](const PrimFunc& func) { return inliner.IsInlined(func); });
}

IRModule InlineCalls(IRModule module) {
  Inliner inliner(module, true);
  return InlineAndDrop(inliner, module,
                       [&](const PrimFunc& func) { return func.is_private && inliner.IsCalled(func); });
}

}  // namespace lathe
