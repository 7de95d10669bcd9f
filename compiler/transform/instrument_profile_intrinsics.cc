#include "compiler/transform/instrument_profile_intrinsics.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/child_stmts.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

Stmt Marked(Stmt stmt, int64_t id) {
  const auto mark = [&](const char* op) { return Stmt(Evaluate{MakeCall(DataType::Handle(), op, {Expr(id)})}); };
  return MakeSeq({mark("start_profile_intrinsic"), std::move(stmt), mark("end_profile_intrinsic")});
}

// Of loops: 0 for what holds none.
int HeightOf(const Stmt& stmt) {
  int height = 0;
  ForEachChildStmt(stmt, [&](const Stmt& child) { height = std::max(height, HeightOf(child)); });
  return height + (stmt.As<For>() != nullptr ? 1 : 0);
}

class ProfileMarker : public StmtExprMutator {
 public:
  ProfileMarker(const ProfileOptions& options, int64_t& next_id) : options_(options), next_id_(next_id) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const int64_t id = next_id_++;
    const bool is_sibling = siblings_.contains(self.get());
    const bool is_wanted = options_.only_siblings ? is_sibling : depth_ <= options_.max_depth;
    if (const Seq* body = loop.body.As<Seq>()) AddSiblings(*body);
    ++depth_;
    Stmt visited = StmtExprMutator::VisitFor(self, loop);
    --depth_;
    return is_wanted && HeightOf(self) > options_.min_height ? Marked(std::move(visited), id) : visited;
  }

 private:
  void AddSiblings(const Seq& body) {
    const auto is_loop = [](const Stmt& stmt) { return stmt.As<For>() != nullptr; };
    if (std::count_if(body.stmts.begin(), body.stmts.end(), is_loop) < 2) return;
    for (const Stmt& stmt : body.stmts)
      if (is_loop(stmt)) siblings_.insert(stmt.get());
  }
  const ProfileOptions& options_;
  int64_t& next_id_;
  int64_t depth_ = 0;
  std::unordered_set<const StmtNode*> siblings_;
};

}  // namespace

PrimFunc InstrumentProfileIntrinsics(PrimFunc func, const ProfileOptions& options, int64_t& next_id) {
  const int64_t id = next_id++;
  func.body = ProfileMarker(options, next_id)(func.body);
  if (options.marks_function) func.body = Marked(std::move(func.body), id);
  return func;
}

}  // namespace lathe
