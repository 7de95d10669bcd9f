#include "compiler/transform/func_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/target_attr.h"

namespace lathe {
namespace {

// ---- Definitions. A mutator, since only it is told where variables are introduced; it changes nothing.

class DefinitionFinder : public StmtExprMutator {
 public:
  std::unordered_set<const void*> defined;
  std::vector<Var> undefined;
  std::string twice;  // The name of what is introduced twice.

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* thread = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (thread != nullptr) threads_.insert(thread->var.get());
    return StmtExprMutator::VisitStmt(stmt);
  }
  Var VisitVarDef(const Var& var) override {
    if (threads_.contains(var.get()))
      defined.insert(var.get());  // One thread may be launched several times.
    else
      Define(var.get(), var.name());
    return var;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override {
    Define(buffer.get(), buffer->name);
    defined.insert(buffer->data.get());
    VisitShape(buffer);
    return buffer;
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override {
    Define(buffer.get(), buffer->name);
    VisitVar(buffer->data);
    VisitShape(buffer);
    return buffer;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    if (!defined.contains(buffer.get())) VisitVar(buffer->data);
    return buffer;
  }
  Expr VisitVar(const Expr& var) override {
    if (!defined.contains(var.get()) && seen_.insert(var.get()).second) undefined.push_back(Var(var));
    return var;
  }

 private:
  void VisitShape(const Buffer& buffer) {
    for (const Expr& extent : buffer->shape) VisitExpr(extent);
    for (const Expr& stride : buffer->strides) VisitExpr(stride);
    VisitExpr(buffer->elem_offset);
  }
  void Define(const void* node, const std::string& name) {
    if (!defined.insert(node).second && twice.empty()) twice = name;
  }
  std::unordered_set<const void*> seen_, threads_;
};

// ---- Scopes of accesses.

class LcaFinder : public StmtExprVisitor {
 public:
  std::vector<std::pair<Buffer, AccessScope>> Result() const {
    std::vector<std::pair<Buffer, AccessScope>> result;
    for (const Buffer& buffer : order_) {
      int scope = scope_of_.at(buffer.get());
      if (buffer->scope == "global")  // Memory of all blocks of threads, as TVM has it.
        for (int blocks : block_scopes_) scope = Common(scope, blocks);
      result.emplace_back(buffer, scope < 0 ? std::nullopt : AccessScope(scopes_[scope].node));
    }
    return result;
  }

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    loop_scope_[loop.loop_var.get()] = static_cast<int>(scopes_.size());
    if (loop.kind == ForKind::kThreadBinding && loop.thread.starts_with("blockIdx"))
      block_scopes_.push_back(static_cast<int>(scopes_.size()));
    Inside(self, [&] { StmtExprVisitor::VisitFor(self, loop); });
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    for (const Expr& value : realize.iter_values) VisitExpr(value);
    VisitExpr(realize.predicate);
    NoteReduction(realize);
    Inside(realize.block, [&] {
      for (const MatchBufferRegion& match : realize.block->match_buffers) Note(match.source.buffer, current_);
      if (realize.block->init) VisitStmt(*realize.block->init);
      VisitStmt(realize.block->body);
    });
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Note(store.buffer, current_);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Note(load.buffer, current_);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  struct Scope {
    std::variant<Stmt, Block> node;
    int parent, depth;
  };

  template <typename F>
  void Inside(std::variant<Stmt, Block> node, F&& visit) {
    const int outer = current_;
    scopes_.push_back({std::move(node), outer, outer < 0 ? 0 : scopes_[outer].depth + 1});
    current_ = static_cast<int>(scopes_.size()) - 1;
    visit();
    current_ = outer;
  }
  int Common(int a, int b) const {
    while (a != b && a >= 0 && b >= 0) {
      if (scopes_[a].depth >= scopes_[b].depth)
        a = scopes_[a].parent;
      else
        b = scopes_[b].parent;
    }
    return a == b ? a : -1;
  }
  void Note(const Buffer& buffer, int scope) {
    const auto [found, is_new] = scope_of_.emplace(buffer.get(), scope);
    if (is_new)
      order_.push_back(buffer);
    else
      found->second = Common(found->second, scope);
  }
  // What a reduction writes is carried by its loops.
  void NoteReduction(const BlockRealize& realize) {
    int outermost = -1;
    for (size_t i = 0; i < realize.iter_values.size() && i < realize.block->iter_vars.size(); ++i) {
      if (realize.block->iter_vars[i].kind == IterKind::kSpatial) continue;
      PostOrderVisit(realize.iter_values[i], [&](const Expr& e) {
        const auto loop = loop_scope_.find(e.get());
        if (loop == loop_scope_.end()) return;
        if (outermost < 0 || scopes_[loop->second].depth < scopes_[outermost].depth) outermost = loop->second;
      });
    }
    if (outermost < 0) return;
    for (const BufferRegion& write : realize.block->writes) Note(write.buffer, scopes_[outermost].parent);
  }

  std::vector<Scope> scopes_;
  int current_ = -1;
  std::vector<int> block_scopes_;  // Of loops over blocks of threads.
  std::unordered_map<const ExprNode*, int> loop_scope_;
  std::vector<Buffer> order_;
  std::unordered_map<const BufferNode*, int> scope_of_;
};

// ---- Sizes.

class SizeFinder : public StmtExprVisitor {
 public:
  explicit SizeFinder(int64_t alignment) : alignment_(std::max<int64_t>(alignment, 1)) {}
  std::map<std::string, int64_t> most;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const Allocate* allocate = stmt.As<Allocate>()) {
      const PointerType* pointer = allocate->buffer_var.pointer();
      return Within(pointer == nullptr ? "global" : pointer->scope, allocate->dtype, allocate->extents, stmt);
    }
    if (const AllocateConst* allocate = stmt.As<AllocateConst>())
      return Within("global", allocate->dtype, allocate->extents, stmt);
    if (const AllocBuffer* allocate = stmt.As<AllocBuffer>())
      return Within(allocate->buffer->scope, allocate->buffer->dtype, allocate->buffer->shape, stmt);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBlock(const Block& block) override {
    const std::map<std::string, int64_t> outer = now_;
    for (const Buffer& buffer : block->alloc_buffers) Add(buffer->scope, buffer->dtype, buffer->shape);
    StmtExprVisitor::VisitBlock(block);
    now_ = outer;
  }

 private:
  void Within(const std::string& scope, DataType type, const std::vector<Expr>& extents, const Stmt& stmt) {
    const std::map<std::string, int64_t> outer = now_;
    Add(scope, type, extents);
    StmtExprVisitor::VisitStmt(stmt);
    now_ = outer;
  }
  void Add(const std::string& scope, DataType type, const std::vector<Expr>& extents) {
    const auto shape = ConstantShape(extents);
    if (!shape) return;
    int64_t bytes = (type.bits * type.lanes + 7) / 8;
    for (int64_t extent : *shape) bytes *= extent;
    const std::string name = scope.empty() ? "global" : scope;
    now_[name] += (bytes + alignment_ - 1) / alignment_ * alignment_;
    most[name] = std::max(most[name], now_[name]);
  }
  const int64_t alignment_;
  std::map<std::string, int64_t> now_;
};

// ---- Bounds.

class BoundsChecker : public StmtExprVisitor {
 public:
  Status status;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitBlock(const Block& block) override {
    const FactScope inside(analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    StmtExprVisitor::VisitBlock(block);
  }
  void VisitStmt(const Stmt& stmt) override {
    const IfThenElse* branch = stmt.As<IfThenElse>();
    if (branch == nullptr) return StmtExprVisitor::VisitStmt(stmt);
    VisitExpr(branch->condition);
    {
      const FactScope inside(analyzer_, branch->condition);
      VisitStmt(branch->then_case);
    }
    if (!branch->else_case) return;
    const FactScope inside(analyzer_, MakeNot(branch->condition));
    VisitStmt(*branch->else_case);
  }
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
    for (size_t d = 0; d < indices.size() && d < buffer->shape.size(); ++d) {
      if (!indices[d].dtype().is_scalar()) continue;
      const IntBound index = analyzer_.ConstIntBound(indices[d]), extent = analyzer_.ConstIntBound(buffer->shape[d]);
      const IntBound type = TypeBound(indices[d].dtype());
      const bool is_unknown = index.min <= type.min || index.max >= type.max || !extent.is_const();
      if (is_unknown || !status.ok() || (index.min >= 0 && index.max < extent.max)) continue;
      status =
          InvalidArgument(fmt::format("out of bounds: index {} of buffer {} takes values in [{}, {}], its extent is {}",
                                      d, buffer->name, index.min, index.max, extent.max));
    }
  }
  Analyzer analyzer_;
};

// Accesses to the memory of parameters that no launch is around.
class HostAccessFinder : public StmtExprVisitor {
 public:
  explicit HostAccessFinder(const PrimFunc& func) {
    for (const Var& param : func.params) {
      const Buffer* buffer = FindBuffer(func, param);
      params_.insert(buffer == nullptr ? param.get() : (*buffer)->data.get());
    }
  }
  std::string found;  // The first buffer.

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr && attr->attr_key == "thread_extent") return;
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Note(store.buffer);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Note(load.buffer);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void Note(const Buffer& buffer) {
    if (found.empty() && params_.contains(buffer->data.get())) found = buffer->name;
  }
  std::unordered_set<const ExprNode*> params_;
};

}  // namespace

std::optional<Var> NewlyUndefined(const Stmt& before, const Stmt& after) {
  std::unordered_set<const ExprNode*> known;
  for (const Var& var : UndefinedVars(before)) known.insert(var.get());
  for (const Var& var : UndefinedVars(after))
    if (!known.contains(var.get())) return var;
  return std::nullopt;
}

Status CheckMemory(const PrimFunc& func) {
  static constexpr std::string_view kGpus[] = {"cuda", "metal", "nvptx", "opencl", "rocm", "vulkan", "webgpu"};
  const std::string kind = TargetKind(func.attrs);
  if (std::find(std::begin(kGpus), std::end(kGpus), kind) == std::end(kGpus)) return OkStatus();
  HostAccessFinder finder(func);
  finder(func.body);
  if (finder.found.empty()) return OkStatus();
  return InvalidArgument(fmt::format(
      "verify_memory @{}: variable `{}` is directly accessed by host memory, no launch of threads is around "
      "the access of target {}; Did you forget to bind?",
      func.name, finder.found, kind));
}

Status CheckSsa(const PrimFunc& func) {
  DefinitionFinder finder;
  for (const Var& param : func.params) {
    if (!finder.defined.insert(param.get()).second)
      return InvalidArgument(fmt::format("verify_ssa @{}: {} is introduced twice", func.name, param.name()));
  }
  finder(func.body);
  if (finder.twice.empty()) return OkStatus();
  return InvalidArgument(
      fmt::format("verify_ssa @{}: {} is introduced twice; run ConvertSSA", func.name, finder.twice));
}

std::vector<Var> UndefinedVars(const Stmt& stmt) {
  DefinitionFinder finder;
  finder(stmt);
  return std::move(finder.undefined);
}
std::vector<Var> UndefinedVars(const Expr& expr) {
  DefinitionFinder finder;
  finder(expr);
  return std::move(finder.undefined);
}

std::vector<std::pair<Buffer, AccessScope>> DetectBufferAccessLca(const PrimFunc& func) {
  LcaFinder finder;
  finder(func.body);
  return finder.Result();
}

std::map<std::string, int64_t> AllocatedBytes(const PrimFunc& func, int64_t alignment) {
  SizeFinder finder(alignment);
  finder(func.body);
  return std::move(finder.most);
}

Status CheckBounds(const PrimFunc& func) {
  BoundsChecker checker;
  checker(func.body);
  return checker.status;
}

}  // namespace lathe
