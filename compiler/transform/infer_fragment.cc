#include "compiler/transform/infer_fragment.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct Fragment {
  int64_t m, n, k;
  std::string layout;  // Empty: nothing says it.
  bool HasShapeOf(const Fragment& other) const { return m == other.m && n == other.n && k == other.k; }
};

class FragmentFinder : public StmtExprVisitor {
 public:
  std::unordered_map<const ExprNode*, Fragment> fragments;  // By the variable of their memory.
  Status status;

  // Those that one product takes have one shape.
  void CheckProducts() {
    for (const Call* product : products_) {
      for (size_t i = 2; i < 8; i += 2) {
        const Fragment *first = Find(product->args[0]), *other = Find(product->args[i]);
        if (first != nullptr && other != nullptr && !first->HasShapeOf(*other))
          Refuse(product->args[i], "another shape than the fragment that the product is added to");
      }
    }
  }

 protected:
  void VisitExpr(const Expr& e) override {
    if (const Call* call = e.As<Call>()) {
      const std::string_view name = call->op->name;
      if (name == "tvm_fill_fragment" && call->args.size() == 6) Add(*call, "");
      if ((name == "tvm_load_matrix_sync" || name == "tvm_store_matrix_sync") && call->args.size() == 8) {
        const StringImm* layout = call->args[7].As<StringImm>();
        Add(*call, layout == nullptr ? "" : layout->value);
      }
      if ((name == "tvm_mma_sync" || name == "tvm_bmma_sync") && call->args.size() == 8) products_.push_back(call);
    }
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  const Fragment* Find(const Expr& data) const {
    const auto found = fragments.find(data.get());
    return found == fragments.end() ? nullptr : &found->second;
  }
  void Refuse(const Expr& data, const char* reason) {
    status = InvalidArgument(
        fmt::format("InferFragment \"{}\": its calls say {}", IsVar(data) ? Var(data).name() : "", reason));
  }
  void Add(const Call& call, const std::string& layout) {
    const int64_t *m = AsIntConst(call.args[1]), *n = AsIntConst(call.args[2]), *k = AsIntConst(call.args[3]);
    if (m == nullptr || n == nullptr || k == nullptr) return Refuse(call.args[0], "a shape that is not constant");
    const Fragment said{*m, *n, *k, layout};
    Fragment& known = fragments.emplace(call.args[0].get(), said).first->second;
    if (!known.HasShapeOf(said)) return Refuse(call.args[0], "several shapes");
    if (known.layout.empty()) known.layout = layout;
    if (!layout.empty() && known.layout != layout) Refuse(call.args[0], "several layouts");
  }
  std::vector<const Call*> products_;
};

class FragmentMarker : public StmtExprMutator {
 public:
  explicit FragmentMarker(const FragmentFinder& found) : found_(found) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (const AllocBuffer* alloc = stmt.As<AllocBuffer>()) return Marked(alloc->buffer->data, std::move(visited));
    if (const Allocate* memory = stmt.As<Allocate>()) return Marked(memory->buffer_var, std::move(visited));
    return visited;
  }

 private:
  Stmt Marked(const Var& data, Stmt memory) const {
    const auto found = found_.fragments.find(data.get());
    if (found == found_.fragments.end()) return memory;
    const Fragment& fragment = found->second;
    const auto mark = [&](const char* key, std::string text, Stmt body) -> Stmt {
      return AttrStmt{key, Expr::Make(DataType::Handle(), StringImm{std::move(text)}), Attr(Expr(data)),
                      std::move(body)};
    };
    memory = mark("fragment_shape", fmt::format("{}, {}, {}", fragment.m, fragment.n, fragment.k), std::move(memory));
    return fragment.layout.empty() ? memory : mark("fragment_layout", fragment.layout, std::move(memory));
  }
  const FragmentFinder& found_;
};

}  // namespace

StatusOr<PrimFunc> InferFragment(PrimFunc func) {
  FragmentFinder finder;
  finder(func.body);
  finder.CheckProducts();
  RETURN_IF_ERROR(finder.status);
  func.body = FragmentMarker(finder)(func.body);
  return func;
}

}  // namespace lathe
