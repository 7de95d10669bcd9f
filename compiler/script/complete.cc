#include "compiler/script/complete.h"

#include <fmt/core.h>

#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "compiler/script/dialect.h"

namespace lathe {
namespace {

void CollectBlockNames(const Stmt& body, std::unordered_set<std::string>& names, bool& has_duplicates) {
  const std::function<void(const Stmt&)> collect = [&](const Stmt& stmt) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    if (realize != nullptr && !names.insert(realize->block->name).second) has_duplicates = true;
  };
  PostOrderVisit(body, collect);
}

// Outer blocks keep their names before inner ones, earlier ones before later ones.
class BlockRenamer : public StmtExprMutator {
 public:
  explicit BlockRenamer(std::unordered_set<std::string> taken) : taken_(std::move(taken)) {}

 protected:
  Block VisitBlock(const Block& block) override {
    if (seen_.insert(block->name).second) return StmtExprMutator::VisitBlock(block);
    std::string fresh;
    for (int i = 1; fresh.empty() || !taken_.insert(fresh).second; ++i) fresh = fmt::format("{}_{}", block->name, i);
    Block renamed = StmtExprMutator::VisitBlock(block);
    renamed.Mutable().name = fresh;
    return renamed;
  }

 private:
  std::unordered_set<std::string> taken_;  // Names that the text has or that have been given.
  std::unordered_set<std::string> seen_;
};

}  // namespace

PrimFunc Complete(PrimFunc func, std::vector<Buffer> root_allocs, LoneBlock lone) {
  const BlockRealize* realize = func.body.As<BlockRealize>();
  const bool is_child = lone == LoneBlock::kIsChild && realize != nullptr && realize->block->name != kRootBlockName;
  if (!root_allocs.empty() || is_child || NeedsRootBlock(func.body)) {
    func.body = BlockRealize{
        {},
        True(),
        Block(BlockNode{
            .name = std::string(kRootBlockName), .alloc_buffers = std::move(root_allocs), .body = func.body})};
  }
  return func;
}

PrimFunc WithUniqueBlockNames(PrimFunc func) {
  std::unordered_set<std::string> names;
  bool has_duplicates = false;
  CollectBlockNames(func.body, names, has_duplicates);
  if (has_duplicates) func.body = BlockRenamer(std::move(names))(func.body);
  return func;
}

}  // namespace lathe
