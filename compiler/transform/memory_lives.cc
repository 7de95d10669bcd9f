#include "compiler/transform/memory_lives.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class LifeFinder : public StmtExprVisitor {
 public:
  explicit LifeFinder(const LifeOptions& options) : options_(options) {}
  MemoryLives lives;
  Status status;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const Allocate* alloc = stmt.As<Allocate>()) {
      if (options_.is_wanted == nullptr || options_.is_wanted(alloc->buffer_var))
        lives.memories[alloc->buffer_var.get()] = {alloc, around_.size()};
      return VisitStmt(alloc->body);
    }
    if (const DeclBuffer* declared = stmt.As<DeclBuffer>()) {
      lives.views[declared->buffer->data.get()].push_back(declared->buffer);
      return VisitStmt(declared->body);
    }
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) return VisitAttr(stmt, *attr);
    if (stmt.As<BufferStore>() != nullptr || stmt.As<Evaluate>() != nullptr) return VisitLeaf(stmt);
    const bool holds = stmt.As<For>() != nullptr || stmt.As<IfThenElse>() != nullptr || stmt.As<While>() != nullptr ||
                       stmt.As<AssertStmt>() != nullptr || (options_.lets_hold && stmt.As<LetStmt>() != nullptr);
    return holds ? VisitScope(stmt) : StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    StmtExprVisitor::VisitBufferStore(self, store);
    Access(store.buffer);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    StmtExprVisitor::VisitBufferLoad(self, load);
    Access(load.buffer);
  }
  void VisitVar(const Expr& var) override { Touch(var.get()); }

 private:
  void VisitAttr(const Stmt& stmt, const AttrStmt& attr) {
    const bool is_launch = attr.attr_key == "thread_extent" && !in_threads_;
    const auto visit = [&] {
      VisitExpr(attr.value);
      VisitStmt(attr.body);
    };
    if (attr.attr_key == "virtual_thread" && in_threads_)
      status = InvalidArgument(
          fmt::format("{}: virtual threads inside of threads; run InjectVirtualThread before", options_.pass));
    if (!is_launch && attr.attr_key != "virtual_thread" && attr.attr_key != "extern_scope") return visit();
    const bool was_in_threads = in_threads_;
    in_threads_ |= attr.attr_key != "extern_scope";
    InScope(stmt, visit);
    in_threads_ = was_in_threads;
  }
  void VisitScope(const Stmt& stmt) {
    InScope(stmt, [&] { StmtExprVisitor::VisitStmt(stmt); });
  }
  template <typename F>
  void InScope(const Stmt& stmt, const F& visit) {
    const size_t begin = lives.points.size();
    lives.points.push_back({.stmt = stmt.get()});
    around_.emplace_back();
    visit();
    const auto length = static_cast<int64_t>(lives.points.size() - begin);
    lives.points.push_back({.stmt = stmt.get(), .to_pair = -length, .touched = std::move(around_.back())});
    around_.pop_back();
    lives.points[begin].to_pair = length;
  }
  void VisitLeaf(const Stmt& stmt) {
    around_.emplace_back();
    StmtExprVisitor::VisitStmt(stmt);
    if (!around_.back().empty()) lives.points.push_back({.stmt = stmt.get(), .touched = std::move(around_.back())});
    around_.pop_back();
  }
  void Access(const Buffer& buffer) {
    lives.accessed.insert(buffer.get());
    const auto found = lives.memories.find(buffer->data.get());
    if (found == lives.memories.end()) return;
    Touch(buffer->data.get());
    const size_t allocated = found->second.alloc->extents.size(), used = buffer->axis_separators.size() + 1;
    if (allocated != used)
      status =
          InvalidArgument(fmt::format("{}: {} is allocated with {} dimensions and accessed as having {} in memory; run "
                                      "FlattenBuffer before",
                                      options_.pass, buffer->name, allocated, used));
  }
  void Touch(DataVar data) {
    const auto found = lives.memories.find(data);
    if (found == lives.memories.end()) return;
    if (found->second.level < around_.size())
      around_[found->second.level].push_back(data);
    else
      status = InvalidArgument(fmt::format("{}: {} is used outside of a statement that could hold it", options_.pass,
                                           found->second.alloc->buffer_var.name()));
  }

  const LifeOptions options_;
  std::vector<std::vector<DataVar>> around_;
  bool in_threads_ = false;
};

// Where memory is touched first and last.
void FindLives(std::vector<LivePoint>& points) {
  std::unordered_set<DataVar> seen;
  for (size_t i = points.size(); i-- > 0;) {
    for (const DataVar data : points[i].touched)
      if (seen.insert(data).second) points[i + std::min<int64_t>(points[i].to_pair, 0)].dead.push_back(data);
  }
  seen.clear();
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].to_pair < 0) continue;
    for (const DataVar data : points[i + points[i].to_pair].touched)
      if (seen.insert(data).second) points[i].born.push_back(data);
  }
}

}  // namespace

int64_t BitsOf(DataType type) { return int64_t{type.bits} * type.lanes; }

int64_t ConstantBits(const Allocate& alloc) {
  const auto shape = ConstantShape(alloc.extents);
  int64_t bits = shape ? BitsOf(alloc.dtype) : 0;
  if (shape)
    for (const int64_t extent : *shape)
      if (__builtin_mul_overflow(bits, extent, &bits)) return 0;
  return bits;
}

StatusOr<MemoryLives> FindMemoryLives(const Stmt& body, const LifeOptions& options) {
  LifeFinder finder(options);
  finder(body);
  RETURN_IF_ERROR(finder.status);
  FindLives(finder.lives.points);
  return std::move(finder.lives);
}

}  // namespace lathe
