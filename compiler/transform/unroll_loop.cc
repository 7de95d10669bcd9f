#include "compiler/transform/unroll_loop.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr int kMaxDepth = 8;  // Nested loops unrolled automatically, as in TVM.
constexpr int64_t kMaxRegisters =
    64;  // A longer loop over a register tile cannot be in registers; the code generator says so.
constexpr int64_t kMaxCopies = 1 << 16;  // A longer kUnrolled loop stays a loop: its copies would not fit any cache.

int64_t IntAnnotation(const AttrMap& annotations, const char* key, int64_t otherwise) {
  const auto found = annotations.find(key);
  if (found == annotations.end()) return otherwise;
  if (const int64_t* value = std::get_if<int64_t>(&found->second)) return *value;
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
    for (const Expr& index : indices) is_found |= UsesVar(index, [this](const ExprNode* node) { return node == var_; });
  }
  const ExprNode* var_;
};

bool IndexesRegister(const For& loop) {
  RegisterIndexFinder finder(loop.loop_var.get());
  finder(loop.body);
  return finder.is_found;
}

class Unroller : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const int64_t outer_max_step = max_step_;
    const bool outer_explicit = is_explicit_;
    max_step_ = IntAnnotation(loop.annotations, "pragma_auto_unroll_max_step", max_step_);
    is_explicit_ = IntAnnotation(loop.annotations, "pragma_unroll_explicit", is_explicit_) != 0;
    For now = *StmtExprMutator::VisitFor(self, loop).As<For>();
    now.annotations.erase("pragma_auto_unroll_max_step");
    now.annotations.erase("pragma_unroll_explicit");
    const Stmt result = Decide(std::move(now));
    max_step_ = outer_max_step;
    is_explicit_ = outer_explicit;
    return result;
  }

  Stmt VisitBufferStore(const Stmt& self, const BufferStore&) override {
    ++steps_;
    return self;
  }

  Stmt VisitStmt(const Stmt& stmt) override {
    const Seq* seq = stmt.As<Seq>();
    if (seq == nullptr) return StmtExprMutator::VisitStmt(stmt);
    int64_t steps = 0;
    int normal_depth = 0, unrolled_depth = 0;
    std::vector<Stmt> stmts;
    for (const Stmt& child : seq->stmts) {
      steps_ = 0, normal_depth_ = 0, unrolled_depth_ = 0;
      stmts.push_back(VisitStmt(child));
      steps += steps_;
      normal_depth = std::max(normal_depth, normal_depth_);
      unrolled_depth = std::max(unrolled_depth, unrolled_depth_);
    }
    steps_ = steps, normal_depth_ = normal_depth, unrolled_depth_ = unrolled_depth;
    return MakeSeq(std::move(stmts));
  }

 private:
  // steps_ and the depths describe the loop's body so far.
  Stmt Decide(For loop) {
    const int64_t* extent = AsIntConst(loop.extent);
    const bool is_asked = loop.kind == ForKind::kUnrolled || (loop.kind == ForKind::kSerial && extent != nullptr &&
                                                              *extent <= kMaxRegisters && IndexesRegister(loop));
    if (is_asked) loop.kind = ForKind::kSerial;
    const bool is_auto = extent != nullptr && loop.kind == ForKind::kSerial && normal_depth_ == 0 &&
                         unrolled_depth_ <= kMaxDepth && *extent <= max_step_ &&
                         *extent * std::max<int64_t>(steps_, 1) <= max_step_;
    if (extent == nullptr || *extent < 1 || *extent > kMaxCopies || !(is_asked || is_auto)) {
      ++normal_depth_;
      return loop;
    }
    steps_ *= *extent;
    ++unrolled_depth_;
    if (is_asked || is_explicit_) return Copies(loop, *extent);
    loop.annotations.insert_or_assign("pragma_unroll", true);
    return loop;
  }

  static Stmt Copies(const For& loop, int64_t extent) {
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < extent; ++i) {
      const Expr value = loop.min + IntConst(loop.loop_var.dtype(), i);
      const Stmt body = Substitute(loop.body, {{loop.loop_var.get(), value}});
      copies.push_back(i == 0 ? body : Clone(body));  // Definitions inside stay unique.
    }
    return MakeSeq(std::move(copies));
  }

  int64_t max_step_ = 0;
  bool is_explicit_ = true;
  int64_t steps_ = 0;
  int normal_depth_ = 0, unrolled_depth_ = 0;
};

}  // namespace

PrimFunc UnrollLoop(PrimFunc func) {
  func.body = Unroller{}(func.body);
  return func;
}

}  // namespace lathe
