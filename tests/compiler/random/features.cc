#include "tests/compiler/random/features.h"

#include <algorithm>
#include <map>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr std::string_view kFeatures[] = {"in-place parameter",
                                          "several writers",
                                          "several outputs",
                                          "nested block",
                                          "block without iter vars",
                                          "loop in a block",
                                          "if in a block",
                                          "let in a block",
                                          "buffer of a block",
                                          "match_buffer",
                                          "strided view",
                                          "T.where",
                                          "if around a block",
                                          "else",
                                          "let around a block",
                                          "condition that loads",
                                          "bound that loads",
                                          "bound of a loop",
                                          "symbolic extent",
                                          "scalar extent",
                                          "gather",
                                          "scatter",
                                          "strided store",
                                          "shifted store",
                                          "mirrored store",
                                          "int64 loop",
                                          "index // c",
                                          "index % c",
                                          "halo",
                                          "if_then_else",
                                          "select",
                                          "sum",
                                          "max",
                                          "min",
                                          "product",
                                          "accumulation",
                                          "opaque or scan iter",
                                          "tiled binding",
                                          "fused binding",
                                          "shifted binding",
                                          "mirrored binding",
                                          "loaded binding",
                                          "loop that starts later",
                                          "domain that starts later",
                                          "unit extent",
                                          "loop of several blocks",
                                          "loop without iter var",
                                          "block of equal name",
                                          "unnamed block",
                                          "float16 or bfloat16",
                                          "int8",
                                          "cast",
                                          "two reduce iters",
                                          "temporary of a loop"};

bool HasOp(const Expr& e, BinaryOp op) {
  bool found = false;
  PostOrderVisit(e, std::function<void(const Expr&)>([&](const Expr& part) {
                   const auto* binary = part.As<Binary>();
                   found |= binary != nullptr && binary->op == op;
                 }));
  return found;
}

class Finder : public StmtExprVisitor {
 public:
  std::set<std::string_view> found;

  void Run(const PrimFunc& func) {
    for (const Param& param : ParamsOf(func)) {
      if (const auto* buffer = std::get_if<Buffer>(&param)) {
        params_.insert(buffer->get());
        for (const Expr& extent : (*buffer)->shape) {
          if (AsIntConst(extent) == nullptr) found.insert("symbolic extent");
        }
      } else {
        found.insert("scalar extent");
      }
    }
    (*this)(func.body);
    int num_outputs = 0;
    for (const auto& [buffer, uses] : uses_) {
      const bool is_param = params_.count(buffer) != 0;
      num_outputs += is_param && uses.num_writers > 0;
      if (is_param && uses.num_writers > 0 && uses.is_read) found.insert("in-place parameter");
      if (uses.num_writers > 1) found.insert("several writers");
    }
    if (num_outputs > 1) found.insert("several outputs");
  }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const auto* let = stmt.As<LetStmt>()) {
      found.insert(in_body_ ? "let in a block" : "let around a block");
      in_let_ = true;
      (void)let;
    }
    if (const auto* branch = stmt.As<IfThenElse>()) {
      found.insert(in_body_ ? "if in a block" : "if around a block");
      if (branch->else_case) found.insert("else");
      if (HasLoad(branch->condition)) found.insert("condition that loads");
    }
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitFor(const Stmt& self, const For& loop) override {
    if (in_body_) found.insert("loop in a block");
    if (loop.loop_var.dtype() == DataType::Int(64)) found.insert("int64 loop");
    if (HasLoad(loop.extent)) found.insert("bound that loads");
    const bool depends = UsesVar(loop.extent, [&](const ExprNode* var) { return loop_vars_.count(var) != 0; });
    if (depends) found.insert("bound of a loop");
    if (!IsConstInt(loop.min, 0)) found.insert("loop that starts later");
    if (IsConstInt(loop.extent, 1)) found.insert("unit extent");
    if (loop.loop_var.name()[0] == 'r') found.insert("loop without iter var");
    loop_vars_.insert(loop.loop_var.get());
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    const BlockNode& block = *realize.block;
    if (block.name != "root") {
      if (!IsConstInt(realize.predicate, 1)) found.insert("T.where");
      if (depth_ > 1) found.insert("nested block");
      if (block.iter_vars.empty()) found.insert("block without iter vars");
      if (block.name.empty()) found.insert("unnamed block");
      if (!names_.insert(block.name).second) found.insert("block of equal name");
      for (const Expr& value : realize.iter_values) SeeBinding(value);
    }
    ++depth_;
    const bool was_in_body = std::exchange(in_body_, block.name != "root");
    StmtExprVisitor::VisitBlockRealize(self, realize);
    in_body_ = was_in_body;
    --depth_;
  }
  void VisitBlock(const Block& block) override {
    if (block->name == "root") return StmtExprVisitor::VisitBlock(block);
    int num_reduce = 0;
    for (const IterVar& iter : block->iter_vars) {
      if (iter.kind == IterKind::kOpaque || iter.kind == IterKind::kScan) found.insert("opaque or scan iter");
      if (!IsConstInt(iter.domain.min, 0)) found.insert("domain that starts later");
      num_reduce += iter.kind == IterKind::kReduce;
    }
    if (num_reduce > 1) found.insert("two reduce iters");
    if (num_reduce > 0 && !block->init && !HasInnerBlock(block->body)) found.insert("accumulation");
    if (!block->alloc_buffers.empty()) found.insert("buffer of a block");
    if (!block->match_buffers.empty()) SeeViews(*block);
    if (block->init) SeeReduction(block->body);
    // A nested block counts as its outer one does.
    if (depth_ == 2) CountUses(*block);
    StmtExprVisitor::VisitBlock(block);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    for (const Expr& index : store.indices) {
      if (HasLoad(index)) found.insert("scatter");
      SeeStoreIndex(index);
    }
    if (store.buffer->dtype == DataType::Float(16) || store.buffer->dtype == DataType::BFloat())
      found.insert("float16 or bfloat16");
    if (store.buffer->dtype == DataType::Int(8)) found.insert("int8");
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    for (const Expr& index : load.indices) {
      if (HasLoad(index)) found.insert("gather");
      if (HasOp(index, BinaryOp::kFloorDiv)) found.insert("index // c");
      if (HasOp(index, BinaryOp::kFloorMod)) found.insert("index % c");
      const auto* sum = index.As<Binary>();
      if (sum != nullptr && (sum->op == BinaryOp::kAdd || sum->op == BinaryOp::kMin || sum->op == BinaryOp::kMax))
        found.insert("halo");
    }
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitExpr(const Expr& e) override {
    if (const auto* call = e.As<Call>(); call != nullptr && call->op->name == "if_then_else")
      found.insert("if_then_else");
    if (e.As<Select>() != nullptr) found.insert("select");
    if (e.As<Cast>() != nullptr) found.insert("cast");
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  struct Uses {
    int num_writers = 0;
    bool is_read = false;
  };
  static bool HasInnerBlock(const Stmt& stmt) {
    bool has = false;
    PostOrderVisit(stmt,
                   std::function<void(const Stmt&)>([&](const Stmt& s) { has |= s.As<BlockRealize>() != nullptr; }));
    return has;
  }
  void CountUses(const BlockNode& block) {
    for (const BufferRegion& region : block.writes) ++uses_[region.buffer.get()].num_writers;
    for (const BufferRegion& region : block.reads) uses_[region.buffer.get()].is_read = true;
  }
  void SeeBinding(const Expr& value) {
    if (HasLoad(value)) found.insert("loaded binding");
    const auto* binary = value.As<Binary>();
    if (binary == nullptr) return;
    if (binary->op == BinaryOp::kFloorDiv || binary->op == BinaryOp::kFloorMod) found.insert("fused binding");
    if (binary->op == BinaryOp::kAdd)
      found.insert(binary->a.As<Binary>() != nullptr ? "tiled binding" : "shifted binding");
    if (binary->op == BinaryOp::kSub) found.insert(IsVar(binary->b) ? "mirrored binding" : "shifted binding");
  }
  void SeeViews(const BlockNode& block) {
    found.insert("match_buffer");
    for (const MatchBufferRegion& match : block.match_buffers) {
      if (!match.buffer->strides.empty()) found.insert("strided view");
    }
  }
  void SeeReduction(const Stmt& body) {
    const auto* store = body.As<BufferStore>();
    const auto* update = store != nullptr ? store->value.As<Binary>() : nullptr;
    if (update == nullptr) return;
    if (update->op == BinaryOp::kAdd) found.insert("sum");
    if (update->op == BinaryOp::kMax) found.insert("max");
    if (update->op == BinaryOp::kMin) found.insert("min");
    if (update->op == BinaryOp::kMul) found.insert("product");
  }
  void SeeStoreIndex(const Expr& index) {
    const auto* binary = index.As<Binary>();
    if (binary == nullptr) return;
    if (HasOp(index, BinaryOp::kMul)) found.insert("strided store");
    if (binary->op == BinaryOp::kAdd && !HasOp(index, BinaryOp::kMul)) found.insert("shifted store");
    if (binary->op == BinaryOp::kSub && IsVar(binary->b)) found.insert("mirrored store");
  }

  std::set<const BufferNode*> params_;
  std::map<const BufferNode*, Uses> uses_;
  std::set<const ExprNode*> loop_vars_;
  std::set<std::string> names_;
  int depth_ = 0;
  bool in_body_ = false, in_let_ = false;
};

// Loops with several blocks directly below, and what is written and read by them alone.
class SharedLoopFinder : public StmtExprVisitor {
 public:
  bool has_shared_loop = false, has_temporary = false;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    std::vector<const BlockNode*> blocks;
    PostOrderVisit(loop.body, std::function<void(const Stmt&)>([&](const Stmt& s) {
                     if (const auto* realize = s.As<BlockRealize>()) blocks.push_back(realize->block.get());
                   }));
    has_shared_loop |= blocks.size() > 1;
    for (const BlockNode* block : blocks) {
      for (const BufferRegion& region : block->writes) {
        const bool is_fixed = std::all_of(region.region.begin(), region.region.end(), [&](const Range& range) {
          return !UsesVar(range.min, [&](const ExprNode* var) {
            return !block->iter_vars.empty() && var == block->iter_vars[0].var.get();
          });
        });
        has_temporary |= blocks.size() > 1 && is_fixed && !block->iter_vars.empty();
      }
    }
    StmtExprVisitor::VisitFor(self, loop);
  }
};

}  // namespace

std::set<std::string_view> FeaturesOf(const PrimFunc& func) {
  Finder finder;
  finder.Run(func);
  SharedLoopFinder shared;
  shared(func.body);
  if (shared.has_shared_loop) finder.found.insert("loop of several blocks");
  if (shared.has_temporary) finder.found.insert("temporary of a loop");
  return std::move(finder.found);
}

std::span<const std::string_view> AllFeatures() { return kFeatures; }

}  // namespace lathe
