#include "compiler/arith/scalable.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr int64_t kMostVscale = 16;  // 2048 bits.

class VscaleReplacer : public StmtExprMutator {
 public:
  explicit VscaleReplacer(int64_t value) : value_(value) {}
  bool has_found = false;

 protected:
  Expr VisitExpr(const Expr& e) override {
    const Call* call = e.As<Call>();
    if (call == nullptr || call->op->name != "vscale") return StmtExprMutator::VisitExpr(e);
    has_found = true;
    return IntConst(e.dtype(), value_);
  }

 private:
  const int64_t value_;
};

}  // namespace

bool CanProveForEachVscale(const Analyzer& analyzer, const Expr& condition) {
  for (int64_t value = 1; value <= kMostVscale; ++value) {
    VscaleReplacer replacer(value);
    const Expr replaced = replacer(condition);
    if (!replacer.has_found || !analyzer.CanProve(replaced)) return false;
  }
  return true;
}

}  // namespace lathe
