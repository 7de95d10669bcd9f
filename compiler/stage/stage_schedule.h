// Classic schedules, as TVM's te.create_schedule: a stage per operation, whose loops, place and memory are said in any
// order. Nothing happens to a program until Lower: then the operations become TensorIR (compiler/te), and what the
// stages say becomes primitives of a TensorIR schedule, consumers before producers. A primitive that refuses is the
// error, with the stage before it.
//
// Axes are known by their variables: those of the operation, and those that split and fuse give.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/arith/index_map.h"
#include "compiler/te/create_prim_func.h"

namespace lathe::te {

class StageGroup;  // compiler/stage/stage_group.h
class StageSchedule;
struct DeclaredIntrin;  // compiler/stage/tensor_intrin.h

// What is said of one operation. Lives as long as its schedule. InvalidArgument where an axis is no loop of the stage
// now; the stage is then as it was.
class Stage {
 public:
  const Operation& op() const { return op_; }
  const Operation& origin_op() const { return origin_; }  // Before caches were put around it.
  // Its loops as they are now, outermost first.
  const std::vector<IterVar>& leaf_iter_vars() const { return leaves_; }
  // Those, and the ones that they were made from: in order of their making.
  std::vector<IterVar> all_iter_vars() const;
  // The memory of its results, as it was said; empty: StagePlaces::ScopeOf decides.
  const std::string& scope() const { return scope_; }
  const StageGroup* group() const { return group_; }  // nullptr: none.
  bool is_inlined() const { return is_inlined_; }
  // A loop of another stage.
  struct Attachment {
    const Stage* consumer;
    IterVar axis;
  };
  const std::optional<Attachment>& attached() const { return attached_; }
  // Where it is computed: what was said of it, else of its groups; nullptr: before all that reads it.
  const Attachment* place() const;
  // Whether what is in `group`, or nullptr, may be computed at that loop of this stage.
  Status CheckTakes(const StageGroup* group, const IterVar& axis) const;

  // What was said of an axis.
  struct AxisAttr {
    IterKind kind;
    std::optional<IterVar> bind_thread;
    std::vector<std::string> pragma_keys;
    std::vector<Attr> pragma_values;
  };
  AxisAttr AttrOf(const IterVar& axis) const;
  // What was said of its loops, in the order in which it was.
  struct Step {
    enum Kind { kSplit, kFuse, kSingleton, kReorder, kSetKind, kBind, kPragma, kTensorize } kind;
    std::vector<IterVar> from, to;  // kBind: `to` is the thread.
    std::optional<Expr> factor, nparts;
    bool disable_predication = false;
    IterKind iter_kind = IterKind::kSpatial;
    std::string key;
    Attr value;
    std::shared_ptr<const DeclaredIntrin> intrin;
  };
  const std::vector<Step>& steps() const { return steps_; }
  // Of its result: TransformLayout's, and what is annotated.
  struct Layout {
    IndexMap map;
    std::vector<int64_t> separators;
    std::vector<IterVar> axes;  // The new ones.
  };
  const std::optional<Layout>& layout() const { return layout_; }
  const AttrMap& annotations() const { return annotations_; }

  // (outer, inner): inner has `factor` steps, or outer has `nparts`. One of the two is given. What does not divide runs
  // under a condition, unless predication is disabled.
  StatusOr<std::pair<IterVar, IterVar>> Split(const IterVar& axis, std::optional<Expr> factor,
                                              std::optional<Expr> nparts = std::nullopt,
                                              bool disable_predication = false);
  // Two by two: neighbours, the outer one first whichever is named first. Of no axes: a new loop of one iteration
  // around the others.
  StatusOr<IterVar> Fuse(const std::vector<IterVar>& axes);
  Status Reorder(const std::vector<IterVar>& axes);
  // (x_outer, y_outer, x_inner, y_inner)
  StatusOr<std::vector<IterVar>> Tile(const IterVar& x, const IterVar& y, int64_t x_factor, int64_t y_factor);
  Status SetKind(const IterVar& axis, IterKind kind);  // kVectorized, kUnrolled, kParallelized.
  Status Bind(const IterVar& axis, const IterVar& thread);
  Status Pragma(const IterVar& axis, const std::string& key, const Attr& value);
  // The loop, and those inside of it, are what the intrinsic computes: its statements run instead. Said last.
  Status Tensorize(const IterVar& axis, std::shared_ptr<const DeclaredIntrin> intrin);
  // Inside a loop of a stage that reads this one's results.
  Status ComputeAt(const Stage& consumer, const IterVar& axis);
  Status ComputeInline();
  void ComputeRoot();
  void SetScope(std::string scope) { scope_ = std::move(scope); }
  void DoubleBuffer() { annotations_.insert_or_assign("double_buffer_scope", Attr(0)); }
  // Where tiles of its result overlap, each is kept for the next: said of a stage that is computed at a loop.
  void RollingBuffer() { rolls_ = true; }
  bool rolls() const { return rolls_; }
  // Its result is laid out by `map` of its dimensions and its loops run over the image, the new axes: before anything
  // else is said of them. `separators`: dimensions of the image before which it is cut when it is flattened.
  StatusOr<std::vector<IterVar>> TransformLayout(IndexMap map, std::vector<int64_t> separators);
  Status StorageAlign(const IterVar& axis, int64_t factor, int64_t offset);

 private:
  friend class StageSchedule;
  friend class StageLowering;
  friend class BoundInference;
  explicit Stage(Operation op);
  void Restart(Operation op);  // Its axes are those of `op`, and nothing was said of them.
  Status Error(const std::string& primitive, const std::string& why) const;
  IterVar FuseNothing();
  StatusOr<IterVar> FusePair(const IterVar& a, const IterVar& b);
  StatusOr<size_t> Find(const std::string& primitive, const IterVar& axis) const;

  Operation op_, origin_;  // Now, and before caches were put around it.
  std::vector<IterVar> leaves_;
  std::vector<Step> steps_;
  std::optional<Layout> layout_;
  std::optional<Attachment> attached_;
  bool is_inlined_ = false, rolls_ = false;
  StageGroup* group_ = nullptr;
  std::string scope_;
  AttrMap annotations_;
};

struct StageForm {
  bool starts_apart = false;  // What reduces starts in a nest of its own, where that is possible, as in TVM.
};

// Whether two axes are one.
bool SameAxis(const IterVar& a, const IterVar& b);

class StageSchedule {
 public:
  ~StageSchedule();
  // Of all operations below `outputs`, placeholders too. What the steps of a scan compute has stages whose first axis
  // is its step.
  static StatusOr<std::unique_ptr<StageSchedule>> Create(std::vector<Operation> outputs);

  // The stage of this operation, also by what it was before a cache was put around it; nullptr: it has none.
  Stage* Find(const Operation& op);
  const std::vector<Operation>& outputs() const { return outputs_; }
  std::vector<Stage*> stages();  // Producers before consumers.

  // The tensor that `readers` read instead of `tensor`: a copy in memory of `scope`.
  StatusOr<Tensor> CacheRead(const Tensor& tensor, const std::string& scope, const std::vector<Operation>& readers);
  // The tensors that are computed instead of `tensors`, all results of one operation, which become copies of them.
  StatusOr<std::vector<Tensor>> CacheWrite(const std::vector<Tensor>& tensors, const std::string& scope);
  // A stage that reduces over everything but `axis`, a loop of the reduction that computes `tensor`: that loop is a
  // dimension of the results, at `factor_axis`. What was there reduces over it. Gives the results of the new stage.
  StatusOr<std::vector<Tensor>> RFactor(const Tensor& tensor, const IterVar& axis, int factor_axis = 0);

  // Of what computes `outputs` from `inputs`: with the operations of `inputs` or without. What was to be computed
  // outside of the group is not any more.
  StatusOr<StageGroup*> CreateGroup(const std::vector<Operation>& outputs, const std::vector<Operation>& inputs,
                                    bool include_inputs);
  StageGroup*& GroupOf(const Operation& op);  // The innermost that it is in; nullptr: none.
  const std::vector<std::unique_ptr<StageGroup>>& groups() const { return groups_; }

  // The function of `args`, scheduled: the outputs among them.
  StatusOr<PrimFunc> Lower(const std::vector<Argument>& args, const std::string& name = "main",
                           const StageForm& form = {}) const;
  // Where each axis of each stage begins, in terms of the loops around, and how many values it takes.
  StatusOr<std::vector<std::pair<IterVar, Range>>> InferBound() const;

 private:
  StageSchedule();
  using GroupCounts = std::unordered_map<StageGroup*, size_t>;
  GroupCounts CountMembers(const std::vector<Operation>& operations, const StageGroup* parent);
  static void MoveInto(StageGroup& group, StageGroup*& place);
  void GroupSteps();
  std::vector<const Stage*> ConstStages() const;
  void Replace(const Operation& from, const Operation& to);
  Status CheckComputeStage(const std::string& primitive, const Tensor& tensor);
  Status CheckCachedResults(const std::vector<Tensor>& tensors);
  StatusOr<std::vector<std::pair<Operation, Operation>>> WithCache(const Tensor& source, const Tensor& cache,
                                                                   const std::vector<Operation>& readers);
  // A stage for `op` in the group of `beside`, right before or after it.
  enum class Side { kBefore, kAfter };
  Stage& Insert(const Operation& op, Side side, const Stage& beside);

  std::vector<Operation> outputs_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<StageGroup>> groups_;
  std::unordered_map<const OperationNode*, StageGroup*> outside_group_;  // Of operations without a stage.
};

}  // namespace lathe::te
