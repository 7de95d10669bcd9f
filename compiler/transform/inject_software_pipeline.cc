#include "compiler/transform/inject_software_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/number_attr.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

const char* const kStageKey = "software_pipeline_stage";
const char* const kOrderKey = "software_pipeline_order";
const char* const kAsyncKey = "software_pipeline_async_stages";

// A statement of the body.
struct PipelinePart {
  Block block;
  int64_t stage, order;
};
using DoubleBuffers = std::unordered_set<const BufferNode*>;

Stmt Realized(Block block, Expr predicate = True()) { return BlockRealize{{}, std::move(predicate), std::move(block)}; }
const BlockRealize* SureBlock(const Stmt& stmt) {
  const BlockRealize* realize = stmt.As<BlockRealize>();
  return realize != nullptr && IsConstInt(realize->predicate, 1) ? realize : nullptr;
}
// The block itself, or one around the statement that says what it touches.
Block AsBlock(const Stmt& body, std::vector<Buffer> alloc_buffers = {}) {
  if (const BlockRealize* realize = SureBlock(body); realize != nullptr && alloc_buffers.empty()) return realize->block;
  BlockNode node{.name = "", .alloc_buffers = std::move(alloc_buffers), .body = body};
  RecomputeRegions(node);
  return Block(std::move(node));
}

// Accesses of buffers with versions go to that of the turn.
class VersionRewriter : public StmtExprMutator {
 public:
  VersionRewriter(const BufferMap& versioned, const For& loop, bool touches_all)
      : versioned_(versioned), turn_(loop.loop_var - loop.min), touches_all_(touches_all) {
    for (const auto& [before, after] : versioned) by_data_.emplace(before->data.get(), before);
  }
  std::string refused;  // A call that is not known to take what it takes.
  Block Rewrite(const Block& block) { return VisitBlock(block); }

 protected:
  Block VisitBlock(const Block& block) override {
    BlockNode node = *StmtExprMutator::VisitBlock(block);
    for (std::vector<BufferRegion>* regions : {&node.reads, &node.writes})
      for (BufferRegion& region : *regions) Versioned(region);
    return Block(std::move(node));
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const Buffer* after = AfterOf(store.buffer);
    if (after == nullptr) return visited;
    BufferStore changed = *visited.As<BufferStore>();
    changed.buffer = *after;
    changed.indices.insert(changed.indices.begin(), Version(*after));
    return changed;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const Buffer* after = AfterOf(load.buffer);
    if (after == nullptr) return visited;
    BufferLoad changed = *visited.As<BufferLoad>();
    changed.buffer = *after;
    changed.indices.insert(changed.indices.begin(), Version(*after));
    return Expr::Make(visited.dtype(), std::move(changed));
  }
  Expr VisitExpr(const Expr& expr) override {
    const Call* call = expr.As<Call>();
    return call == nullptr ? StmtExprMutator::VisitExpr(expr) : VisitCall(expr, *call);
  }
  Expr VisitVar(const Expr& var) override {
    if (by_data_.contains(var.get())) refused = Var(var).name();
    return var;
  }

 private:
  const Buffer* AfterOf(const Buffer& buffer) const {
    const auto found = versioned_.find(buffer.get());
    return found == versioned_.end() ? nullptr : &found->second;
  }
  Expr Version(const Buffer& after) const { return FloorMod(turn_, after->shape[0]); }
  void Versioned(BufferRegion& region) const {
    const Buffer* after = AfterOf(region.buffer);
    if (after == nullptr) return;
    region.buffer = *after;
    const Range version = touches_all_ ? Range{0, (*after)->shape[0]} : Range{Version(*after), 1};
    region.region.insert(region.region.begin(), version);
  }
  // Which arguments are memory; the next ones are where in it.
  static std::vector<size_t> MemoryArgs(const Call& call) {
    if (call.op->name == "tvm_access_ptr") return {1};
    if (call.op->name == "ptx_ldmatrix") return {3};
    if (call.op->name == "ptx_mma") return {6, 8, 10};
    return {};
  }
  Expr VisitCall(const Expr& expr, const Call& call) {
    Call changed = call;
    std::set<size_t> done;
    for (const size_t i : MemoryArgs(call)) {
      if (i + 1 >= call.args.size()) continue;
      const auto found = by_data_.find(call.args[i].get());
      if (found == by_data_.end()) continue;
      const Buffer& after = versioned_.at(found->second);
      Expr stride = 1;
      for (const Expr& extent : found->second->shape) stride = stride * extent;
      if (!after->strides.empty()) stride = after->strides[0];
      changed.args[i + 1] = VisitExpr(call.args[i + 1]) + Version(after) * stride;
      done.insert({i, i + 1});
    }
    for (size_t i = 0; i < call.args.size(); ++i)
      if (!done.contains(i)) changed.args[i] = VisitExpr(call.args[i]);
    return Expr::Make(expr.dtype(), std::move(changed));
  }

  const BufferMap& versioned_;
  std::unordered_map<const ExprNode*, const BufferNode*> by_data_;
  const Expr turn_;
  const bool touches_all_;
};

class PipelineMaker {
 public:
  PipelineMaker(const For& loop, std::vector<PipelinePart> parts, std::vector<Buffer> allocs,
                const DoubleBuffers& double_buffers)
      : loop_(loop), parts_(std::move(parts)), allocs_(std::move(allocs)), double_buffers_(double_buffers) {}

  StatusOr<Stmt> Make() {
    for (const PipelinePart& part : parts_) max_stage_ = std::max(max_stage_, part.stage);
    for (const Buffer& buffer : allocs_) GiveVersions(buffer);
    std::sort(parts_.begin(), parts_.end(),
              [](const PipelinePart& a, const PipelinePart& b) { return a.order < b.order; });
    const Expr end = loop_.min + loop_.extent, full = loop_.min + max_stage_;
    std::vector<Stmt> stmts = {Emit(loop_.min, full, true), Emit(full, end, false), Emit(end, end + max_stage_, true)};
    if (!refused_.empty())
      return InvalidArgument(fmt::format(
          "InjectSoftwarePipeline: {} needs several versions, and is named where no version can be told", refused_));
    for (Buffer& buffer : allocs_)
      if (versioned_.contains(buffer.get())) buffer = versioned_.at(buffer.get());
    return Realized(AsBlock(MakeSeq(std::move(stmts)), std::move(allocs_)));
  }

 private:
  void GiveVersions(const Buffer& buffer) {
    const int64_t num_versions = NumVersions(buffer);
    if (num_versions <= 1) return;
    BufferNode node = *buffer;
    if (!node.strides.empty()) node.strides.insert(node.strides.begin(), node.strides[0] * node.shape[0]);
    node.shape.insert(node.shape.begin(), Expr(num_versions));
    versioned_.emplace(buffer.get(), Buffer(std::move(node)));
  }
  int64_t NumVersions(const Buffer& buffer) const {
    int64_t written = -1, read = -1;
    for (const PipelinePart& part : parts_) {
      if (RegionOfBuffer(part.block->writes, buffer) != nullptr)
        written = written < 0 ? part.stage : std::min(written, part.stage);
      if (RegionOfBuffer(part.block->reads, buffer) != nullptr) read = std::max(read, part.stage);
    }
    if (written < 0) return 1;
    int64_t num_versions = read - written + 1;
    if (num_versions == 2 && !WritesBeforeItIsRead(buffer)) num_versions = 1;
    return num_versions == 1 && double_buffers_.contains(buffer.get()) ? 2 : num_versions;
  }
  // Whether in one turn of the pipeline the next value comes before the last use of the one before.
  bool WritesBeforeItIsRead(const Buffer& buffer) const {
    for (const PipelinePart& writer : parts_) {
      const std::vector<Range>* written = RegionOfBuffer(writer.block->writes, buffer);
      if (written == nullptr) continue;
      for (const PipelinePart& reader : parts_) {
        const std::vector<Range>* read = RegionOfBuffer(reader.block->reads, buffer);
        if (read != nullptr && writer.order < reader.order && writer.stage < reader.stage && MayMeet(*written, *read))
          return true;
      }
    }
    return false;
  }
  static bool MayMeet(const std::vector<Range>& a, const std::vector<Range>& b) {
    const Analyzer analyzer;
    for (size_t d = 0; d < a.size() && d < b.size(); ++d) {
      const Range &x = a[d], &y = b[d];
      if (analyzer.CanProve(LessEqual(x.min + x.extent, y.min)) ||
          analyzer.CanProve(LessEqual(y.min + y.extent, x.min)))
        return false;
    }
    return true;
  }

  // The turns [begin, end) of the pipeline, each statement where it is in the loop. An empty block: there are none.
  Stmt Emit(const Expr& begin, const Expr& end, bool unrolls) {
    const Expr extent = end - begin;
    Analyzer analyzer;
    if (!analyzer.CanProve(Less(0, extent)) && (unrolls || AsIntConst(extent) != nullptr)) return Nothing();
    const bool is_unit = analyzer.CanProveEqual(extent, 1);
    const Var turn = loop_.loop_var.CopyWithName(loop_.loop_var.name());
    if (!is_unit) analyzer.Bind(turn, {begin, extent});
    std::vector<Stmt> stmts;
    for (const PipelinePart& part : parts_) {
      const Expr skewed = (is_unit ? begin : Expr(turn)) - part.stage;
      const Expr has_begun = analyzer.Simplify(LessEqual(loop_.min, skewed));
      Expr is_inside = And(has_begun, Less(skewed, loop_.min + loop_.extent));
      if (analyzer.CanProve(MakeNot(is_inside))) continue;
      stmts.push_back(EmitPart(part.block, is_inside, skewed, is_unit, turn, begin - loop_.min));
    }
    if (stmts.empty()) return Nothing();
    Stmt result = MakeSeq(std::move(stmts));
    if (!is_unit)
      result = For{turn, loop_.min, extent, unrolls ? ForKind::kUnrolled : loop_.kind, "", KeptAnnotations(), result};
    return Realized(AsBlock(result));
  }
  static Stmt Nothing() { return Realized(Block(BlockNode{.name = "", .body = Evaluate{0}})); }
  Stmt EmitPart(const Block& block, Expr predicate, const Expr& skewed, bool is_unit, const Var& turn,
                const Expr& delta) {
    VersionRewriter rewriter(versioned_, loop_, max_stage_ != 1);
    const Block versioned = rewriter.Rewrite(block);
    if (!rewriter.refused.empty()) refused_ = rewriter.refused;
    if (!is_unit) predicate = Substitute(predicate, {{turn.get(), turn + delta}});
    const Expr now = is_unit ? skewed : skewed + delta;
    return Clone(Realized(Substitute(versioned, {{loop_.loop_var.get(), now}}), std::move(predicate)));
  }
  AttrMap KeptAnnotations() const {
    AttrMap kept = loop_.annotations;
    for (const char* key : {kStageKey, kOrderKey, kAsyncKey}) kept.erase(key);
    return kept;
  }

  const For loop_;
  std::vector<PipelinePart> parts_;
  std::vector<Buffer> allocs_;
  const DoubleBuffers& double_buffers_;
  BufferMap versioned_;
  int64_t max_stage_ = -1;
  std::string refused_;
};

StatusOr<std::vector<int64_t>> Numbers(const AttrMap& annotations, const char* key) {
  const std::vector<Attr>* list = std::get_if<std::vector<Attr>>(&annotations.at(key));
  std::vector<int64_t> numbers;
  for (const Attr& item : list == nullptr ? std::vector<Attr>() : *list) {
    const std::optional<int64_t> number = IntOf(item);
    if (number && *number >= 0) numbers.push_back(*number);
  }
  if (list != nullptr && numbers.size() == list->size()) return numbers;
  return InvalidArgument(fmt::format("InjectSoftwarePipeline: \"{}\" is no list of numbers from 0 on", key));
}

// Orders are distinct, and keep what one statement reads of another.
Status CheckParts(const std::vector<PipelinePart>& parts) {
  std::set<int64_t> orders;
  for (const PipelinePart& part : parts)
    if (!orders.insert(part.order).second)
      return InvalidArgument(
          "InjectSoftwarePipeline: Two statements in the software pipeline cannot have the same order");
  for (size_t to = 0; to < parts.size(); ++to) {
    for (size_t from = 0; from < to; ++from) {
      const PipelinePart &writer = parts[from], &reader = parts[to];
      const bool depends = std::any_of(reader.block->reads.begin(), reader.block->reads.end(), [&](const auto& read) {
        return RegionOfBuffer(writer.block->writes, read.buffer) != nullptr;
      });
      if (depends && writer.stage > reader.stage)
        return InvalidArgument(
            fmt::format("InjectSoftwarePipeline: statement in stage {} cannot depend on a statement in "
                        "the later stage {}",
                        reader.stage, writer.stage));
      if (depends && writer.stage == reader.stage && writer.order > reader.order)
        return InvalidArgument(
            "InjectSoftwarePipeline: two statements with buffer access dependency in the same stage of the software "
            "pipeline cannot be reordered");
    }
  }
  return OkStatus();
}

class PipelineInjector : public StmtExprMutator {
 public:
  Status status;

 protected:
  Block VisitBlock(const Block& block) override {
    const auto annotation = block->annotations.find("double_buffer_scope");
    if (annotation != block->annotations.end()) {
      const std::optional<int64_t> index = IntOf(annotation->second);
      if (!index || *index < 0 || *index >= static_cast<int64_t>(block->writes.size()))
        Refuse(
            InvalidArgument("InjectSoftwarePipeline: Index of the buffer exceeds the size of the write regions of the "
                            "block"));
      else
        double_buffers_.insert(block->writes[*index].buffer.get());
    }
    return StmtExprMutator::VisitBlock(block);
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    const bool has_stage = loop.annotations.contains(kStageKey), has_order = loop.annotations.contains(kOrderKey);
    if (has_stage != has_order)
      Refuse(InvalidArgument(fmt::format("InjectSoftwarePipeline: {} of the software pipeline is not defined.",
                                         has_stage ? "Order" : "Stage")));
    if (!has_stage || !has_order || !status.ok()) return visited;
    const StatusOr<Stmt> pipeline = Pipeline(*visited.As<For>());
    if (!pipeline.ok()) Refuse(pipeline.status());
    return pipeline.ok() ? *pipeline : visited;
  }

 private:
  void Refuse(Status why) {
    if (status.ok()) status = std::move(why);
  }
  StatusOr<Stmt> Pipeline(const For& loop) {
    const auto async = loop.annotations.find(kAsyncKey);
    if (async != loop.annotations.end() && async->second != Attr(std::vector<Attr>()))
      return InvalidArgument(
          "InjectSoftwarePipeline: asynchronous stages (software_pipeline_async_stages) are not "
          "supported");
    Stmt body = loop.body;
    std::vector<Buffer> allocs;
    if (const BlockRealize* realize = body.As<BlockRealize>()) {
      RETURN_IF_ERROR(CheckOpaque(*realize, /*must_run=*/true));
      allocs = realize->block->alloc_buffers;
      body = Stmt(realize->block->body);
    }
    const Seq* seq = body.As<Seq>();
    if (seq == nullptr)
      return InvalidArgument(
          "InjectSoftwarePipeline: The body of the software pipeline should be SeqStmt, got one "
          "statement");
    ASSIGN_OR_RETURN(const std::vector<Block> blocks, PartsOf(*seq, allocs));
    ASSIGN_OR_RETURN(const std::vector<int64_t> stages, Numbers(loop.annotations, kStageKey));
    ASSIGN_OR_RETURN(const std::vector<int64_t> orders, Numbers(loop.annotations, kOrderKey));
    if (stages.size() != blocks.size() || orders.size() != blocks.size())
      return InvalidArgument(
          fmt::format("InjectSoftwarePipeline: the body of loop {} has {} statements, and there are {} stages and {} "
                      "orders",
                      loop.loop_var.name(), blocks.size(), stages.size(), orders.size()));
    std::vector<PipelinePart> parts;
    for (size_t i = 0; i < blocks.size(); ++i) parts.push_back({blocks[i], stages[i], orders[i]});
    RETURN_IF_ERROR(CheckParts(parts));
    return PipelineMaker(loop, std::move(parts), std::move(allocs), double_buffers_).Make();
  }
  static Status CheckOpaque(const BlockRealize& realize, bool must_run) {
    const BlockNode& block = *realize.block;
    if (block.iter_vars.empty() && block.match_buffers.empty() && !block.init &&
        (!must_run || IsConstInt(realize.predicate, 1)))
      return OkStatus();
    return InvalidArgument(fmt::format(
        "InjectSoftwarePipeline: block \"{}\" has iter vars, an init, views or a condition; run LowerInitBlock, "
        "ConvertBlocksToOpaque and LowerMatchBuffer before",
        block.name));
  }
  // Statements of a block in the body are the body's own.
  static StatusOr<std::vector<Block>> PartsOf(const Seq& seq, std::vector<Buffer>& allocs) {
    std::vector<Block> blocks;
    for (const Stmt& stmt : seq.stmts) {
      if (const BlockRealize* realize = stmt.As<BlockRealize>()) RETURN_IF_ERROR(CheckOpaque(*realize, false));
      const BlockRealize* nested = SureBlock(stmt);
      const Seq* inner = nested == nullptr ? nullptr : nested->block->body.As<Seq>();
      if (inner == nullptr) {
        blocks.push_back(AsBlock(stmt));
        continue;
      }
      allocs.insert(allocs.end(), nested->block->alloc_buffers.begin(), nested->block->alloc_buffers.end());
      for (const Stmt& each : inner->stmts) blocks.push_back(AsBlock(each));
    }
    return blocks;
  }

  DoubleBuffers double_buffers_;
};

}  // namespace

StatusOr<PrimFunc> InjectSoftwarePipeline(PrimFunc func) {
  PipelineInjector injector;
  func.body = injector(func.body);
  RETURN_IF_ERROR(injector.status);
  return func;
}

}  // namespace lathe
