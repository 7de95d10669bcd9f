#include "compiler/transform/unroll_loop.h"

#include "compiler/ir/number_attr.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/remove_no_op.h"

namespace lathe {
namespace {

constexpr int64_t kMaxRegisters =
    64;  // A longer loop over a register tile cannot be in registers; the code generator says so.
constexpr int64_t kMaxCopies = 1 << 16;  // A longer kUnrolled loop stays a loop: its copies would not fit any cache.

int64_t IntAnnotation(const AttrMap& annotations, const char* key, int64_t otherwise) {
  const auto found = annotations.find(key);
  if (found == annotations.end()) return otherwise;
  if (const std::optional<int64_t> value = IntOf(found->second)) return *value;
  if (const bool* value = std::get_if<bool>(&found->second)) return *value;
  return otherwise;
}

// Registers have no addresses: only indices that are known once the loop is unrolled can name them.
class RegisterIndexFinder : public StmtExprVisitor {
 public:
  explicit RegisterIndexFinder(const ExprNode* var) : var_(var) {}
  bool is_found = false;

 protected:
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Check(store.buffer, store.indices);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Check(load.buffer, load.indices);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void Check(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (buffer->scope != "register") return;
    for (const Expr& index : indices) is_found |= UsesVar(index, var_);
  }
  const ExprNode* var_;
};

bool IndexesRegister(const For& loop) {
  RegisterIndexFinder finder(loop.loop_var.get());
  finder(loop.body);
  return finder.is_found;
}

Stmt Copies(const For& loop, int64_t extent) {
  std::vector<Stmt> copies;
  for (int64_t i = 0; i < extent; ++i) {
    const Expr value = loop.min + IntConst(loop.loop_var.dtype(), i);
    const Stmt body = Substitute(loop.body, {{loop.loop_var.get(), value}});
    copies.push_back(i == 0 ? body : Clone(body));  // Definitions inside stay unique.
  }
  return MakeSeq(std::move(copies));
}

class Unroller : public StmtExprMutator {
 public:
  explicit Unroller(const UnrollOptions& options) : options_(options) {}
  const Status& status() const { return status_; }

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const UnrollOptions outer = options_;
    if (options_.for_codegen) {
      options_.auto_max_step = IntAnnotation(loop.annotations, kMaxStep, options_.auto_max_step);
      options_.explicit_unroll = IntAnnotation(loop.annotations, kExplicit, options_.explicit_unroll) != 0;
    }
    For now = *VisitChildren(self).As<For>();
    if (options_.for_codegen) now.annotations.erase(kMaxStep), now.annotations.erase(kExplicit);
    const Stmt result = Decide(std::move(now));
    options_ = outer;
    return result;
  }

  Stmt VisitStmt(const Stmt& stmt) override {
    if (stmt.As<BufferStore>() != nullptr) ++steps_;
    if (stmt.As<Evaluate>() != nullptr && !options_.for_codegen) ++steps_;
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) return VisitAttr(stmt, *attr);
    if (const Seq* seq = stmt.As<Seq>()) return VisitSeq(*seq);
    return StmtExprMutator::VisitStmt(stmt);
  }
  Expr VisitExpr(const Expr& e) override { return e; }

 private:
  Stmt VisitSeq(const Seq& seq) {
    int64_t steps = 0, normal_depth = 0, unrolled_depth = 0;
    std::vector<Stmt> stmts;
    for (const Stmt& child : seq.stmts) {
      steps_ = 0, normal_depth_ = 0, unrolled_depth_ = 0;
      Stmt visited = VisitStmt(child);
      if (visited.same_as(child) || !IsNothing(visited)) stmts.push_back(std::move(visited));
      steps += steps_;
      normal_depth = std::max(normal_depth, normal_depth_);
      unrolled_depth = std::max(unrolled_depth, unrolled_depth_);
    }
    steps_ = steps, normal_depth_ = normal_depth, unrolled_depth_ = unrolled_depth;
    return stmts.empty() ? Stmt(Evaluate{Expr(0)}) : MakeSeq(std::move(stmts));
  }

  Stmt VisitAttr(const Stmt& self, const AttrStmt& attr) {
    const int64_t* value = AsIntConst(attr.value);
    if (value == nullptr || (attr.attr_key != kMaxStep && attr.attr_key != kExplicit))
      return StmtExprMutator::VisitStmt(self);
    const UnrollOptions outer = options_;
    if (attr.attr_key == kMaxStep)
      options_.auto_max_step = *value;
    else
      options_.explicit_unroll = *value != 0;
    Stmt body = VisitStmt(attr.body);
    options_ = outer;
    return body;
  }

  // steps_ and the depths describe the loop's body so far.
  Stmt Decide(For loop) {
    const int64_t* extent = AsIntConst(loop.extent);
    if (extent != nullptr && *extent < 1) return Evaluate{Expr(0)};
    const bool is_asked =
        loop.kind == ForKind::kUnrolled || (options_.for_codegen && loop.kind == ForKind::kSerial &&
                                            extent != nullptr && *extent <= kMaxRegisters && IndexesRegister(loop));
    if (is_asked && extent == nullptr && !options_.for_codegen)
      status_ = InvalidArgument("unroll_loop: the extent of unrolled loop \"" + loop.loop_var.name() +
                                "\" is no constant; unroll loops of constant extent");
    const ForKind kind = loop.kind;
    if (is_asked) loop.kind = ForKind::kSerial;
    if (extent == nullptr || *extent > kMaxCopies || !(is_asked || IsSmall(loop, *extent))) {
      ++normal_depth_;
      return loop;
    }
    steps_ *= *extent;
    ++unrolled_depth_;
    const bool is_unit = options_.auto_max_extent == 1 && *extent == 1;
    if (options_.explicit_unroll || is_unit || (is_asked && options_.for_codegen)) return Copies(loop, *extent);
    if (!options_.for_codegen)
      loop.kind = ForKind::kUnrolled;
    else
      loop.kind = kind, loop.annotations.insert_or_assign("pragma_unroll", true);
    return loop;
  }

  bool IsSmall(const For& loop, int64_t extent) const {
    return loop.kind == ForKind::kSerial && normal_depth_ == 0 && unrolled_depth_ <= options_.auto_max_depth &&
           (std::max(extent, extent * steps_) <= options_.auto_max_step || extent <= options_.auto_max_extent);
  }

  static constexpr const char* kMaxStep = "pragma_auto_unroll_max_step";
  static constexpr const char* kExplicit = "pragma_unroll_explicit";
  UnrollOptions options_;
  int64_t steps_ = 0, normal_depth_ = 0, unrolled_depth_ = 0;
  Status status_;
};

}  // namespace

StatusOr<PrimFunc> UnrollLoopWith(PrimFunc func, const UnrollOptions& options) {
  Unroller unroller(options);
  func.body = unroller(func.body);
  if (!unroller.status().ok()) return unroller.status();
  return func;
}

PrimFunc UnrollLoop(PrimFunc func) {
  func.body = Unroller({.for_codegen = true})(func.body);
  return func;
}

}  // namespace lathe
