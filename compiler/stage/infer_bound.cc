#include "compiler/stage/infer_bound.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/arith/int_set.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "compiler/stage/stage_places.h"
#include "compiler/te/scan.h"
#include "support/status_macros.h"

namespace lathe::te {

namespace {

using Ranges = std::unordered_map<const ExprNode*, Range>;  // By the variable of an axis.
using Sets = std::unordered_map<const ExprNode*, IntSet>;
using DimensionSets = std::vector<std::vector<IntSet>>;  // What is read of each dimension.

Range Simplified(const Analyzer& analyzer, const Range& range) {
  return {analyzer.Simplify(range.min), analyzer.Simplify(range.extent)};
}

bool IsOne(const Range& range) { return IsConstInt(range.extent, 1); }

bool SameSet(const IntSet& set, const Range& range, const Analyzer& analyzer) {
  if (!set.is_bounded()) return false;
  return analyzer.CanProveEqual(*set.min(), range.min) &&
         analyzer.CanProveEqual(*set.max(), range.min + range.extent - Expr(1));
}

// What `range` covers while the variables of `vars` run.
IntSet Relaxed(const Range& range, const DomMap& vars, const Analyzer& analyzer) {
  const IntSet first = EvalSet(range.min, vars, analyzer);
  return IsOne(range) ? first : Union(first, EvalSet(range.min + range.extent - Expr(1), vars, analyzer), analyzer);
}

// Loads of inlined tensors as what they are.
class Inliner : public StmtExprMutator {
 public:
  explicit Inliner(const std::unordered_map<const OperationNode*, std::vector<Expr>>& bodies) : bodies_(bodies) {}

 protected:
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const std::optional<Tensor> tensor = Tensor::Of(load.buffer);
    const auto body = tensor ? bodies_.find(tensor->op().get()) : bodies_.end();
    if (body == bodies_.end()) return visited;
    VarMap point;
    const std::vector<IterVar>& axes = tensor->op()->As<ComputeOp>()->axis;
    for (size_t d = 0; d < axes.size(); ++d) point.emplace(axes[d].var.get(), visited.As<BufferLoad>()->indices[d]);
    return Substitute(body->second[tensor->value_index()], point);
  }

 private:
  const std::unordered_map<const OperationNode*, std::vector<Expr>>& bodies_;  // Of those that are inlined.
};

// The axes that an operation is computed over, before they are split and fused.
std::vector<IterVar> RootAxes(const OperationNode& op) {
  std::vector<IterVar> axes;
  if (const ComputeOp* compute = op.As<ComputeOp>()) {
    axes = compute->axis;
    axes.insert(axes.end(), compute->reduce_axis.begin(), compute->reduce_axis.end());
  }
  if (const ScanOp* scan = op.As<ScanOp>()) {
    axes = {scan->scan_axis};
    axes.insert(axes.end(), scan->spatial_axis.begin(), scan->spatial_axis.end());
  }
  return axes;
}

}  // namespace

// Goes from the outputs to the inputs: what is read of a stage gives its axes, its axes give what it reads.
class BoundInference {
 public:
  BoundInference(const std::vector<const Stage*>& stages, const std::vector<Operation>& outputs)
      : stages_(stages), outputs_(outputs), places_(stages) {
    std::unordered_map<const OperationNode*, std::vector<Expr>> inlined;
    for (const Stage* stage : stages_) {
      if (const ComputeOp* compute = stage->op_->As<ComputeOp>()) {
        std::vector<Expr>& bodies = bodies_[stage->op_.get()];
        for (const Expr& body : compute->body) bodies.push_back(Inliner(inlined)(body));
        if (stage->is_inlined_) inlined.emplace(stage->op_.get(), bodies);
      }
    }
  }

  Status Run() {
    for (size_t i = stages_.size(); i-- > 0;) {
      const Stage& stage = *stages_[i];
      if (stage.is_inlined_) continue;
      InferRoot(stage);
      RETURN_IF_ERROR(PassDown(stage));
    }
    return OkStatus();
  }
  std::vector<std::pair<IterVar, Range>> Take() { return std::move(found_); }

 private:
  void Set(const IterVar& axis, const Range& range) {
    const Range simple = Simplified(analyzer_, range);
    ranges_.insert_or_assign(axis.var.get(), simple);
    analyzer_.Bind(axis.var, simple);
    found_.emplace_back(axis, simple);
  }

  StorageRank MemoryOf(const Stage& stage) const {
    const StatusOr<StorageScope> scope = ParseStorageScope(places_.ScopeOf(stage));
    return scope.ok() ? scope->rank : StorageRank::kGlobal;
  }
  // Whether all steps of an axis see the same piece of such memory. `is_around`: the piece is made inside of it.
  bool RunsOver(const IterVar& axis, bool is_around, StorageRank memory) const {
    const std::string& tag = places_.TagOf(axis);
    if (tag.empty()) return !is_around;
    if (memory == StorageRank::kWarp && tag == "threadIdx.x") return true;
    return static_cast<int>(memory) <= static_cast<int>(StagePlaces::RankOf(tag));
  }

  // ---- From what is read to the axes of the operation.
  void InferRoot(const Stage& stage) {
    const bool is_output = std::find(outputs_.begin(), outputs_.end(), stage.op_) != outputs_.end();
    const std::vector<IterVar> axes = RootAxes(*stage.op_);
    if (is_output || places_.PlaceOf(stage).around == nullptr) {
      for (const IterVar& axis : axes) Set(axis, axis.domain);
      return;
    }
    std::vector<DimensionSets> read;  // Per result.
    for (const Tensor& tensor : stage.op_->outputs()) read.emplace_back(tensor.ndim());
    for (const Stage* consumer : stages_) {
      if (consumer->is_inlined_ || !Reads(*consumer, stage.op_)) continue;
      AddReads(*consumer, stage, read);
    }
    Gather(stage, read);
  }
  bool Reads(const Stage& consumer, const Operation& op) const {
    bool is_read = false;
    if (consumer.op_->As<ComputeOp>() != nullptr) {
      ForEachLoad(consumer, [&](const Tensor& tensor, const BufferLoad&) { is_read |= tensor.op() == op; });
      return is_read;
    }
    for (const Tensor& input : consumer.op_->InputTensors()) is_read |= input.op() == op;
    return is_read;
  }
  template <typename F>
  void ForEachLoad(const Stage& consumer, const F& f) const {
    for (const Expr& body : bodies_.at(consumer.op_.get())) {
      PostOrderVisit(body, [&](const Expr& e) {
        const BufferLoad* load = e.As<BufferLoad>();
        const std::optional<Tensor> tensor = load == nullptr ? std::nullopt : Tensor::Of(load->buffer);
        if (tensor) f(*tensor, *load);
      });
    }
  }

  void AddReads(const Stage& consumer, const Stage& stage, std::vector<DimensionSets>& read) const {
    const StorageRank memory = MemoryOf(stage);
    const ExprNode* place = places_.PlaceOf(stage).axis;
    Sets sets;
    bool is_around = false;
    for (size_t i = consumer.leaves_.size(); i-- > 0;) {
      const IterVar& axis = consumer.leaves_[i];
      is_around |= axis.var.get() == place;
      sets.insert_or_assign(axis.var.get(), SetOfLeaf(axis, RunsOver(axis, is_around, memory)));
    }
    DomMap threads;  // Loops around the consumer whose steps share the memory.
    for (const IterVar& axis : places_.PathOf(consumer)) {
      is_around |= axis.var.get() == place;
      const Range& range = ranges_.at(axis.var.get());
      if (!RunsOver(axis, is_around, memory)) continue;
      threads.Add(axis.var, range);
      if (const IterVar* thread = places_.ThreadOf(axis)) threads.Add(thread->var, range);
    }
    PassUp(consumer, sets);
    Propagate(consumer, RootDomains(consumer, sets, threads), stage, read);
  }
  IntSet SetOfLeaf(const IterVar& axis, bool is_whole) const {
    const Range& range = ranges_.at(axis.var.get());
    if (IsOne(range)) return IntSet::Point(range.min);
    if (is_whole) return IntSet::FromRange(range);
    const IterVar* thread = places_.ThreadOf(axis);
    return IntSet::Point(thread == nullptr ? axis.var : thread->var);
  }
  // Of the consumer's axes that run; the others are themselves.
  DomMap RootDomains(const Stage& consumer, const Sets& sets, const DomMap& threads) const {
    DomMap domains;
    for (const IterVar& axis : RootAxes(*consumer.op_)) {
      const auto set = sets.find(axis.var.get());
      const std::optional<Range> covered = set == sets.end() ? std::nullopt : set->second.ToRange(analyzer_);
      const Range range = covered.value_or(axis.domain);
      const bool is_itself = IsOne(range) && range.min.same_as(axis.var);
      if (is_itself) {
        if (const IntSet* set = threads.Find(axis.var.get())) domains.Add(axis.var, *set);
      } else {
        domains.Add(axis.var, threads.empty() ? IntSet::FromRange(range) : Relaxed(range, threads, analyzer_));
      }
    }
    return domains;
  }

  void Propagate(const Stage& consumer, const DomMap& domains, const Stage& stage,
                 std::vector<DimensionSets>& read) const {
    if (const ScanOp* scan = consumer.op_->As<ScanOp>()) return PropagateScan(*scan, domains, stage, read);
    if (consumer.op_->As<ComputeOp>() == nullptr) {  // Written by hand: all of it.
      for (const Tensor& tensor : consumer.op_->InputTensors()) AddWhole(tensor, stage, read);
      return;
    }
    ForEachLoad(consumer, [&](const Tensor& tensor, const BufferLoad& load) {
      if (tensor.op() != stage.op_) return;
      for (size_t d = 0; d < load.indices.size(); ++d) {
        const IntSet set = EvalSet(load.indices[d], domains, analyzer_);
        read[tensor.value_index()][d].push_back(Clipped(set, tensor.shape()[d]));
      }
    });
  }
  // Nothing outside of the tensor is read; both ends are taken from it or none.
  IntSet Clipped(const IntSet& set, const Expr& extent) const {
    const bool is_wider = !set.is_bounded() || (analyzer_.CanProveLess(*set.min(), 1) &&
                                                analyzer_.CanProve(LessEqual(extent - Expr(1), *set.max())));
    return is_wider ? IntSet::Interval(IntConst(extent.dtype(), 0), extent - Expr(1)) : set;
  }
  static void AddWhole(const Tensor& tensor, const Stage& stage, std::vector<DimensionSets>& read) {
    if (tensor.op() != stage.op_) return;
    for (size_t d = 0; d < tensor.ndim(); ++d)
      read[tensor.value_index()][d].push_back(IntSet::FromRange({IntConst(kIndexType, 0), tensor.shape()[d]}));
  }
  void PropagateScan(const ScanOp& scan, const DomMap& domains, const Stage& stage,
                     std::vector<DimensionSets>& read) const {
    const auto set_of = [&](const IterVar& axis) {
      const IntSet* set = domains.Find(axis.var.get());
      return set == nullptr ? IntSet::Point(axis.var) : *set;
    };
    size_t spatial = 0;
    for (size_t i = 0; i < scan.init.size(); ++i) {
      const Tensor &init = scan.init[i], &update = scan.update[i];
      if (init.op() == stage.op_)
        read[init.value_index()][0].push_back(IntSet::FromRange({IntConst(kIndexType, 0), init.shape()[0]}));
      if (update.op() == stage.op_) read[update.value_index()][0].push_back(set_of(scan.scan_axis));
      for (size_t d = 1; d < update.ndim(); ++d, ++spatial) {
        const IntSet set = set_of(scan.spatial_axis[spatial]);
        if (init.op() == stage.op_) read[init.value_index()][d].push_back(set);
        if (update.op() == stage.op_) read[update.value_index()][d].push_back(set);
      }
    }
    for (const Tensor& input : scan.inputs) AddWhole(input, stage, read);
  }

  IntSet UnionOf(const std::vector<IntSet>& sets) const {
    IntSet all = IntSet::Nothing();
    for (const IntSet& set : sets) all = Union(all, set, analyzer_);
    return all;
  }
  Range Covered(const std::vector<IntSet>& sets, const Range& whole) const {
    return UnionOf(sets).ToRange(analyzer_).value_or(whole);
  }
  void Gather(const Stage& stage, const std::vector<DimensionSets>& read) {
    if (const ScanOp* scan = stage.op_->As<ScanOp>()) return GatherScan(*stage.op_, *scan, read);
    const ComputeOp* compute = stage.op_->As<ComputeOp>();
    if (compute == nullptr) return;
    for (size_t d = 0; d < compute->axis.size(); ++d) {
      std::vector<IntSet> sets;
      for (const DimensionSets& one : read) sets.insert(sets.end(), one[d].begin(), one[d].end());
      Set(compute->axis[d], Covered(sets, compute->axis[d].domain));
    }
    for (const IterVar& axis : compute->reduce_axis) Set(axis, axis.domain);
  }
  // All steps up to the last that is read. An axis that each step takes as it is may be cut, others are whole.
  void GatherScan(const OperationNode& op, const ScanOp& scan, const std::vector<DimensionSets>& read) {
    std::vector<IntSet> steps;
    for (const DimensionSets& one : read) steps.insert(steps.end(), one[0].begin(), one[0].end());
    const Range covered = Covered(steps, scan.scan_axis.domain);
    const Expr first = scan.scan_axis.domain.min;
    Set(scan.scan_axis, {first, covered.min + covered.extent - first});
    const std::vector<bool> fixed = ScanFixPoints(op);
    size_t spatial = 0;
    for (size_t i = 0; i < scan.update.size(); ++i) {
      for (size_t d = 1; d < scan.update[i].ndim(); ++d, ++spatial) {
        const IterVar& axis = scan.spatial_axis[spatial];
        Set(axis, fixed[spatial] ? Covered(read[i][d], axis.domain) : axis.domain);
      }
    }
  }

  // ---- From the axes of the operation to those that were made from them.
  Status PassDown(const Stage& stage) {
    const std::vector<const ExprNode*> bound = AxesUnderThreads(stage);
    if (stage.layout_) RETURN_IF_ERROR(PassDownLayout(*stage.layout_, *stage.op_->As<ComputeOp>()));
    for (const Stage::Step& step : stage.steps_) {
      if (step.kind == Stage::Step::kSplit) SplitRange(step, bound);
      if (step.kind == Stage::Step::kSingleton) Set(step.to[0], {IntConst(kIndexType, 0), IntConst(kIndexType, 1)});
      if (step.kind != Stage::Step::kFuse) continue;
      Expr extent = ranges_.at(step.from[0].var.get()).extent;
      for (size_t i = 1; i < step.from.size(); ++i) extent = extent * ranges_.at(step.from[i].var.get()).extent;
      Set(step.to[0], {IntConst(extent.dtype(), 0), extent});
    }
    for (const Stage::Step& step : stage.steps_) {
      if (step.kind == Stage::Step::kBind) RETURN_IF_ERROR(BindThread(stage, step));
    }
    return OkStatus();
  }
  Status PassDownLayout(const Stage::Layout& layout, const ComputeOp& compute) {
    std::vector<Range> own;
    for (const IterVar& axis : compute.axis) own.push_back(ranges_.at(axis.var.get()));
    ASSIGN_OR_RETURN(const std::vector<Range> image, layout.map.MapRanges(own, analyzer_));
    for (size_t i = 0; i < image.size(); ++i) Set(layout.axes[i], image[i]);
    return OkStatus();
  }
  void SplitRange(const Stage::Step& step, const std::vector<const ExprNode*>& bound) {
    const Expr extent = ranges_.at(step.from[0].var.get()).extent;
    const IterVar& given = step.factor ? step.to[1] : step.to[0];  // The part whose extent was said.
    const IterVar& rest = step.factor ? step.to[0] : step.to[1];
    const Expr number = step.factor ? *step.factor : *step.nparts;
    const bool is_under_thread = std::find(bound.begin(), bound.end(), given.var.get()) != bound.end();
    const bool is_all = !is_under_thread && analyzer_.CanProve(Less(extent, number));
    const Expr zero = IntConst(extent.dtype(), 0);
    Set(given, {zero, is_all ? extent : number});
    Set(rest, {zero, FloorDiv(extent + number - Expr(1), number)});
  }
  // Axes of which a part is bound to a thread, whose number may be what others need.
  static std::vector<const ExprNode*> AxesUnderThreads(const Stage& stage) {
    std::vector<const ExprNode*> bound;
    const auto holds = [&](const IterVar& axis) {
      return std::find(bound.begin(), bound.end(), axis.var.get()) != bound.end();
    };
    for (size_t i = stage.steps_.size(); i-- > 0;) {
      const Stage::Step& step = stage.steps_[i];
      const bool is_bound = step.kind == Stage::Step::kBind ||
                            (step.kind == Stage::Step::kSplit && (holds(step.to[0]) || holds(step.to[1]))) ||
                            (step.kind == Stage::Step::kFuse && holds(step.to[0]));
      for (const IterVar& axis : step.from) {
        if (is_bound) bound.push_back(axis.var.get());
      }
    }
    return bound;
  }
  Status BindThread(const Stage& stage, const Stage::Step& step) {
    const IterVar& thread = step.to[0];
    const Range& range = ranges_.at(step.from[0].var.get());
    const auto known = ranges_.find(thread.var.get());
    if (known != ranges_.end() && !analyzer_.CanProveEqual(known->second.extent, range.extent))
      return InvalidArgument("bind, stage \"" + stage.op_->name() + "\": thread axis \"" + thread.thread_tag +
                             "\" is bound to loops of different extents; split them alike");
    if (known == ranges_.end()) Set(thread, range);
    return OkStatus();
  }

  // ---- From sets of the axes that were made to sets of those that they were made from.
  void PassUp(const Stage& stage, Sets& sets) const {
    for (size_t i = stage.steps_.size(); i-- > 0;) {
      const Stage::Step& step = stage.steps_[i];
      if (step.kind == Stage::Step::kSplit) JoinParts(step, sets);
      if (step.kind == Stage::Step::kFuse) TakeApart(step, sets);
    }
    if (stage.layout_) PassUpLayout(*stage.layout_, *stage.op_->As<ComputeOp>(), sets);
  }
  void PassUpLayout(const Stage::Layout& layout, const ComputeOp& compute, Sets& sets) const {
    std::vector<Range> own;
    for (const IterVar& axis : compute.axis) own.push_back(ranges_.at(axis.var.get()));
    const StatusOr<IndexMap> inverse = layout.map.Inverse(own, analyzer_);
    if (!inverse.ok()) return;  // They are whole.
    DomMap image;
    for (size_t i = 0; i < layout.axes.size(); ++i)
      image.Add(inverse->initial_indices[i], sets.at(layout.axes[i].var.get()));
    for (size_t i = 0; i < compute.axis.size(); ++i)
      sets.insert_or_assign(compute.axis[i].var.get(), EvalSet(inverse->final_indices[i], image, analyzer_));
  }
  void JoinParts(const Stage::Step& step, Sets& sets) const {
    const IterVar &outer = step.to[0], &inner = step.to[1];
    const Range &parent = ranges_.at(step.from[0].var.get()), &inner_range = ranges_.at(inner.var.get());
    const IntSet outer_set = sets.at(outer.var.get()), inner_set = sets.at(inner.var.get());
    const bool is_whole =
        SameSet(outer_set, ranges_.at(outer.var.get()), analyzer_) && SameSet(inner_set, inner_range, analyzer_);
    if (is_whole) return (void)sets.insert_or_assign(step.from[0].var.get(), IntSet::FromRange(parent));
    const Var x(outer.var.name(), outer.var.dtype()), y(inner.var.name(), inner.var.dtype());
    DomMap parts;
    parts.Add(x, outer_set);
    parts.Add(y, inner_set);
    const Expr joined = x * inner_range.extent + y + parent.min;
    sets.insert_or_assign(step.from[0].var.get(), EvalSet(joined, parts, analyzer_));
  }
  void TakeApart(const Stage::Step& step, Sets& sets) const {
    IntSet rest = sets.at(step.to[0].var.get());
    bool is_whole = SameSet(rest, ranges_.at(step.to[0].var.get()), analyzer_);
    for (size_t i = step.from.size(); i-- > 0;) {
      const Range& own = ranges_.at(step.from[i].var.get());
      IntSet part = IntSet::FromRange(own);
      if (!is_whole && rest.is_bounded()) part = i == 0 ? Shifted(rest, own.min) : Remainder(rest, own);
      sets.insert_or_assign(step.from[i].var.get(), part);
      if (i == 0 || !rest.is_bounded()) continue;
      rest = IntSet::Interval(analyzer_.Simplify(FloorDiv(*rest.min(), own.extent)),
                              analyzer_.Simplify(FloorDiv(*rest.max(), own.extent)));
    }
  }
  static IntSet Shifted(const IntSet& set, const Expr& by) {
    if (set.is_point()) return IntSet::Point(*set.min() + by);
    return IntSet::Interval(*set.min() + by, *set.max() + by);
  }
  // Of the innermost axis of several fused: all of it, unless the set stays inside of one row.
  IntSet Remainder(const IntSet& fused, const Range& own) const {
    if (analyzer_.CanProveEqual(*fused.min(), *fused.max()))
      return IntSet::Point(analyzer_.Simplify(own.min + FloorMod(*fused.min(), own.extent)));
    const Expr count = analyzer_.Simplify(*fused.max() - *fused.min() + Expr(1));
    const bool is_in_row = analyzer_.CanProveEqual(FloorMod(own.extent, count), 0) &&
                           analyzer_.CanProveEqual(FloorMod(*fused.min(), count), 0);
    if (!is_in_row) return IntSet::FromRange(own);
    return IntSet::Interval(analyzer_.Simplify(own.min + FloorMod(*fused.min(), own.extent)),
                            analyzer_.Simplify(own.min + FloorMod(*fused.max(), own.extent)));
  }

  const std::vector<const Stage*>& stages_;
  const std::vector<Operation>& outputs_;
  const StagePlaces places_;
  std::unordered_map<const OperationNode*, std::vector<Expr>> bodies_;  // Of computes, what is inlined in them.
  Ranges ranges_;
  std::vector<std::pair<IterVar, Range>> found_;
  Analyzer analyzer_;
};

StatusOr<std::vector<std::pair<IterVar, Range>>> InferBounds(const std::vector<const Stage*>& stages,
                                                             const std::vector<Operation>& outputs) {
  BoundInference inference(stages, outputs);
  RETURN_IF_ERROR(inference.Run());
  return inference.Take();
}

}  // namespace lathe::te
