// Which Python class stands for which node: TVM's names.
#include "python/src/bind.h"
#include "python/src/node.h"

namespace lathe::python {
namespace {

std::string_view KeyOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "tir.Add";
    case BinaryOp::kSub:
      return "tir.Sub";
    case BinaryOp::kMul:
      return "tir.Mul";
    case BinaryOp::kDiv:
      return "tir.Div";
    case BinaryOp::kFloorDiv:
      return "tir.FloorDiv";
    case BinaryOp::kFloorMod:
      return "tir.FloorMod";
    case BinaryOp::kTruncMod:
      return "tir.Mod";
    case BinaryOp::kMin:
      return "tir.Min";
    case BinaryOp::kMax:
      return "tir.Max";
    case BinaryOp::kEQ:
      return "tir.EQ";
    case BinaryOp::kNE:
      return "tir.NE";
    case BinaryOp::kLT:
      return "tir.LT";
    case BinaryOp::kLE:
      return "tir.LE";
    case BinaryOp::kGT:
      return "tir.GT";
    case BinaryOp::kGE:
      return "tir.GE";
    case BinaryOp::kAnd:
      return "tir.And";
    case BinaryOp::kOr:
      return "tir.Or";
  }
  return "tir.PrimExpr";
}

struct KeyVisitor {
  std::string_view operator()(const IntImm&) const { return "tir.IntImm"; }
  std::string_view operator()(const FloatImm&) const { return "tir.FloatImm"; }
  std::string_view operator()(const StringImm&) const { return "tir.StringImm"; }
  std::string_view operator()(const VarName& var) const { return var.is_size ? "tir.SizeVar" : "tir.Var"; }
  std::string_view operator()(const Binary& e) const { return KeyOf(e.op); }
  std::string_view operator()(const Not&) const { return "tir.Not"; }
  std::string_view operator()(const Cast&) const { return "tir.Cast"; }
  std::string_view operator()(const Select&) const { return "tir.Select"; }
  std::string_view operator()(const BufferLoad&) const { return "tir.BufferLoad"; }
  std::string_view operator()(const Ramp&) const { return "tir.Ramp"; }
  std::string_view operator()(const Broadcast&) const { return "tir.Broadcast"; }
  std::string_view operator()(const Call&) const { return "tir.Call"; }
  std::string_view operator()(const FuncCall&) const { return "tir.Call"; }
  std::string_view operator()(const Let&) const { return "tir.Let"; }
  std::string_view operator()(const Shuffle&) const { return "tir.Shuffle"; }
  std::string_view operator()(const Reduce&) const { return "tir.Reduce"; }

  std::string_view operator()(const For&) const { return "tir.For"; }
  std::string_view operator()(const BlockRealize&) const { return "tir.BlockRealize"; }
  std::string_view operator()(const BufferStore&) const { return "tir.BufferStore"; }
  std::string_view operator()(const IfThenElse&) const { return "tir.IfThenElse"; }
  std::string_view operator()(const Seq&) const { return "tir.SeqStmt"; }
  std::string_view operator()(const Evaluate&) const { return "tir.Evaluate"; }
  std::string_view operator()(const LetStmt&) const { return "tir.LetStmt"; }
  std::string_view operator()(const AllocBuffer&) const { return "tir.AllocBuffer"; }
  std::string_view operator()(const DeclBuffer&) const { return "tir.DeclBuffer"; }
  std::string_view operator()(const Allocate&) const { return "tir.Allocate"; }
  std::string_view operator()(const AllocateConst&) const { return "tir.AllocateConst"; }
  std::string_view operator()(const AttrStmt&) const { return "tir.AttrStmt"; }
  std::string_view operator()(const BufferRealize&) const { return "tir.BufferRealize"; }
  std::string_view operator()(const Prefetch&) const { return "tir.Prefetch"; }
  std::string_view operator()(const AssertStmt&) const { return "tir.AssertStmt"; }
  std::string_view operator()(const While&) const { return "tir.While"; }

  std::string_view operator()(const Expr& e) const { return VisitNode(e, *this); }
  std::string_view operator()(const Stmt& s) const { return std::visit(*this, s.node().value); }
  std::string_view operator()(const Block&) const { return "tir.Block"; }
  std::string_view operator()(const Buffer&) const { return "tir.Buffer"; }
  std::string_view operator()(const BufferRegion&) const { return "tir.BufferRegion"; }
  std::string_view operator()(const MatchBufferRegion&) const { return "tir.MatchBufferRegion"; }
  std::string_view operator()(const Range&) const { return "Range"; }
  std::string_view operator()(const IterVar&) const { return "tir.IterVar"; }
  std::string_view operator()(const CommReducer&) const { return "tir.CommReducer"; }
  std::string_view operator()(const Op*) const { return "Op"; }
  std::string_view operator()(const FuncPtr&) const { return "tir.PrimFunc"; }
  std::string_view operator()(const ModulePtr&) const { return "IRModule"; }
};

struct IdentityVisitor {
  std::vector<const void*> ids;

  void operator()(const Expr& e) { ids.push_back(e.get()); }
  void operator()(const Stmt& s) { ids.push_back(s.get()); }
  void operator()(const Block& b) { ids.push_back(b.get()); }
  void operator()(const Buffer& b) { ids.push_back(b.get()); }
  void operator()(const Range& r) {
    (*this)(r.min);
    (*this)(r.extent);
  }
  void operator()(const BufferRegion& r) {
    (*this)(r.buffer);
    for (const Range& dim : r.region) (*this)(dim);
  }
  void operator()(const MatchBufferRegion& m) {
    (*this)(m.buffer);
    (*this)(m.source);
  }
  void operator()(const IterVar& v) {
    (*this)(v.var);
    (*this)(v.domain);
  }
  void operator()(const CommReducer& r) {
    for (const std::vector<Var>* side : {&r.lhs, &r.rhs}) {
      for (const Var& var : *side) (*this)(var);
    }
    for (const std::vector<Expr>* values : {&r.result, &r.identity_element}) {
      for (const Expr& value : *values) (*this)(value);
    }
  }
  void operator()(const Op* op) { ids.push_back(op); }
  // A module keeps a function under a name of its own: it is the same one where it holds the same.
  void operator()(const FuncPtr& f) {
    ids.push_back(f->body.get());
    for (const Var& param : f->params) (*this)(param);
    for (const ParamBuffer& entry : f->buffer_map) (*this)(entry.buffer);
  }
  void operator()(const ModulePtr& m) { ids.push_back(m.get()); }
};

bool SayTheSame(const PrimFunc& a, const PrimFunc& b) { return a.ret_type == b.ret_type && AttrsOf(a) == AttrsOf(b); }

}  // namespace

std::string_view TypeKey(const Node& node) { return std::visit(KeyVisitor(), node); }

std::vector<const void*> Identity(const Node& node) {
  IdentityVisitor visitor;
  std::visit([&](const auto& value) { visitor(value); }, node);
  return std::move(visitor.ids);
}

bool SameNode(const Node& a, const Node& b) {
  if (a.index() != b.index() || Identity(a) != Identity(b)) return false;
  const FuncPtr* func = std::get_if<FuncPtr>(&a);
  return func == nullptr || SayTheSame(**func, *std::get<FuncPtr>(b));
}

}  // namespace lathe::python
