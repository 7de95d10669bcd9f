#include "compiler/transform/lower_thread_allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/func_analysis.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using Exprs = std::vector<Expr>;

// What the target says of its threads.
struct Device {
  std::string kind;
  int64_t warp_size = 1;
  int64_t max_threads = -1;  // Of a group; negative: not known.
  bool has_masks() const { return kind != "metal"; }
};

Stmt SyncOf(const char* scope) {
  const Expr text = Expr::Make(DataType::Handle(), StringImm{scope});
  return Evaluate{Expr::Make(DataType::Int(32), Call{FindOp("tvm_storage_sync"), {text}})};
}

// One reduction, taken apart.
struct Allreduce {
  const CommReducer* combiner;
  Exprs values;  // Of this thread.
  std::vector<Buffer> outputs;
  Expr reduce_index = 0, group_index = 0;  // Among the threads that reduce together; of which such group.
  int64_t reduce_extent = 1, group_extent = 1;
  int64_t contiguous = 1;  // How many threads that lie side by side reduce together.
  size_t size() const { return values.size(); }
  DataType type(size_t i) const { return values[i].dtype(); }
  DataType index_type() const { return reduce_index.dtype(); }
};

// The statements of a reduction, and what its results are afterwards.
class AllreduceMaker {
 public:
  AllreduceMaker(const Allreduce& all, const Device& device) : all_(all), device_(device) {}
  Exprs results;

  Stmt Make() {
    if (!IsOfWarps())
      ThroughSharedMemory();
    else if (all_.reduce_extent <= device_.warp_size)
      InOneWarp();
    else
      InManyWarps();
    Stmt body = MakeSeq(std::move(stmts_));
    for (const Buffer& buffer : memory_) body = AllocBuffer{buffer, std::move(body)};
    return body;
  }

 private:
  bool HasShuffles() const {
    for (size_t i = 0; i < all_.size(); ++i) {
      const DataType type = all_.type(i);
      if (device_.kind == "rocm" && type.bits * type.lanes != 32) return false;
      if (type == DataType::Float(16) || type == DataType::Float(16).with_lanes(2)) continue;
      if (type.lanes != 1 || type.bytes() < 4 || type.bytes() > 8) return false;
    }
    return device_.kind == "cuda" || device_.kind == "rocm" || device_.kind == "metal";
  }
  bool IsOfWarps() const {
    const int64_t extent = all_.reduce_extent, warp = device_.warp_size;
    if (!HasShuffles() || all_.contiguous != extent) return false;
    if (device_.kind == "rocm") return extent == warp;
    const bool is_part_of_warp = warp % extent == 0;
    const bool is_many_warps = device_.max_threads != -1 && device_.max_threads <= warp * warp && extent % warp == 0;
    return is_part_of_warp || is_many_warps || (all_.group_extent == 1 && extent <= warp);
  }
  Expr Index(int64_t value) const { return IntConst(all_.index_type(), value); }
  static Buffer LocalOf(const std::string& name, DataType type) { return MakeBuffer(name, {1}, type, "local"); }
  Buffer Shared(const std::string& name, size_t i, int64_t extent) const {
    return MakeBuffer(name, {Index(extent)}, all_.type(i), "shared");
  }
  static Expr First(const Buffer& buffer) { return Load(buffer, {0}); }
  Exprs Combined(const Exprs& a, const Exprs& b) const {
    VarMap vars;
    for (size_t i = 0; i < all_.size(); ++i) {
      vars.emplace(all_.combiner->lhs[i].get(), a[i]);
      vars.emplace(all_.combiner->rhs[i].get(), b[i]);
    }
    Exprs made;
    for (const Expr& result : all_.combiner->result) made.push_back(Substitute(result, vars));
    return made;
  }
  void Do(Stmt stmt) { stmts_.push_back(std::move(stmt)); }
  void DoIf(const Expr& condition, std::vector<Stmt> then) {
    Do(IfThenElse{condition, MakeSeq(std::move(then)), std::nullopt});
  }
  Expr Shuffled(const char* op, const std::optional<Buffer>& mask, const Expr& value, const Expr& by) const {
    const Expr width = device_.warp_size;
    return Expr::Make(value.dtype(), Call{FindOp(op), {mask ? First(*mask) : Expr(0), value, by, width, width}});
  }

  // What a warp makes: results, and memory that is needed for them.
  struct OfWarp {
    std::vector<Buffer> results, scratch;
    std::optional<Buffer> mask;
  };
  // `extent` threads of a warp reduce `values`, which are there where `predicate` holds. The first of them has it all.
  OfWarp ReduceInWarp(const Exprs& values, int64_t extent, const std::optional<Expr>& predicate) {
    OfWarp warp;
    std::vector<Stmt> loads;
    for (size_t i = 0; i < values.size(); ++i) {
      warp.results.push_back(LocalOf("red_buf" + std::to_string(i), values[i].dtype()));
      warp.scratch.push_back(LocalOf("t" + std::to_string(i), values[i].dtype()));
      loads.push_back(MakeStore(warp.results[i], values[i], {0}));
    }
    if (predicate)
      DoIf(*predicate, std::move(loads));
    else
      stmts_.insert(stmts_.end(), loads.begin(), loads.end());
    if (device_.has_masks()) {
      const DataType type = DataType::UInt(32);
      warp.mask = LocalOf("mask", type);
      Do(MakeStore(*warp.mask, MakeCall(type, "tvm_warp_activemask", {}), {0}));
    }
    int64_t offset = 1;
    while (offset * 2 < extent) offset *= 2;
    for (; offset > 0; offset /= 2) ShuffleStep(warp, offset, extent);
    if (warp.mask) warp.scratch.push_back(*warp.mask);
    return warp;
  }
  // No shuffle stands inside of another expression, which might not be evaluated by all.
  void ShuffleStep(const OfWarp& warp, int64_t offset, int64_t extent) {
    Exprs a, b;
    for (size_t i = 0; i < warp.results.size(); ++i) {
      a.push_back(First(warp.results[i]));
      Do(MakeStore(warp.scratch[i], Shuffled("tvm_warp_shuffle_down", warp.mask, a[i], offset), {0}));
      b.push_back(First(warp.scratch[i]));
    }
    const Exprs values = Combined(a, b);
    std::vector<Stmt> stores;
    for (size_t i = 0; i < values.size(); ++i) stores.push_back(MakeStore(warp.results[i], values[i], {0}));
    if (offset * 2 > extent)  // Threads behind the last have nothing to add.
      DoIf(Less(all_.reduce_index + Index(offset), Index(extent)), std::move(stores));
    else
      Do(MakeSeq(std::move(stores)));
  }

  void InOneWarp() {
    const OfWarp warp = ReduceInWarp(all_.values, all_.reduce_extent, std::nullopt);
    memory_ = warp.scratch;
    const Expr first_lane = Index(all_.reduce_extent) * all_.group_index;
    for (const Buffer& result : warp.results) {
      Do(MakeStore(result, Shuffled("tvm_warp_shuffle", warp.scratch.back(), First(result), first_lane), {0}));
      results.push_back(First(result));
    }
  }
  // Each warp reduces, then the first warp what they made.
  void InManyWarps() {
    const int64_t num_warps = all_.reduce_extent / device_.warp_size;
    std::vector<Buffer> staging;
    for (size_t i = 0; i < all_.size(); ++i)
      staging.push_back(Shared("red_buf_staging", i, num_warps * all_.group_extent));
    memory_ = staging;
    const OfWarp first = ReduceInWarp(all_.values, device_.warp_size, std::nullopt);
    Keep(first.scratch);
    Keep(first.results);
    const Expr of_group = all_.group_index * Index(num_warps), warp_size = Index(device_.warp_size);
    std::vector<Stmt> stores;
    for (size_t i = 0; i < all_.size(); ++i)
      stores.push_back(
          MakeStore(staging[i], First(first.results[i]), {of_group + FloorDiv(all_.reduce_index, warp_size)}));
    DoIf(Equal(FloorMod(all_.reduce_index, warp_size), Index(0)), std::move(stores));
    Do(SyncOf("shared"));
    Exprs values;
    for (const Buffer& one : staging) values.push_back(Load(one, {of_group + all_.reduce_index}));
    const OfWarp second = ReduceInWarp(values, num_warps, Less(all_.reduce_index, Index(num_warps)));
    Keep(second.scratch);
    Keep(second.results);
    stores.clear();
    for (size_t i = 0; i < all_.size(); ++i) {
      const Buffer result = Shared("red_result", i, all_.group_extent);
      stores.push_back(MakeStore(result, First(second.results[i]), {all_.group_index}));
      results.push_back(Load(result, {all_.group_index}));
    }
    DoIf(Equal(all_.reduce_index, Index(0)), std::move(stores));
    Do(SyncOf("shared"));
  }
  void Keep(const std::vector<Buffer>& buffers) { memory_.insert(memory_.end(), buffers.begin(), buffers.end()); }

  Expr Place(const Expr& index) {
    if (IsConstInt(all_.group_index, 0)) return index;
    return analyzer_.Simplify(all_.group_index * Index(all_.reduce_extent) + index);
  }
  void ThroughSharedMemory() {
    Do(SyncOf("shared"));  // Who reads what was there before is done.
    for (size_t i = 0; i < all_.size(); ++i) {
      const int64_t extent = all_.group_extent * all_.reduce_extent;
      shared_.push_back(Shared("red_buf" + std::to_string(i), i, extent));
      Do(MakeStore(shared_[i], all_.values[i], {Place(all_.reduce_index)}));
    }
    Do(SyncOf("shared"));
    ReduceShared();
    for (const Buffer& one : shared_) results.push_back(Load(one, {Place(Index(0))}));
  }
  // shared[index] with shared[index + offset].
  Exprs WithOffset(int64_t offset) {
    Exprs a, b;
    for (const Buffer& one : shared_) {
      a.push_back(Load(one, {Place(all_.reduce_index)}));
      b.push_back(Load(one, {Place(all_.reduce_index + Index(offset))}));
    }
    return Combined(a, b);
  }
  std::vector<Stmt> StoresOf(const Exprs& values) {
    std::vector<Stmt> stores;
    for (size_t i = 0; i < values.size(); ++i)
      stores.push_back(MakeStore(shared_[i], values[i], {Place(all_.reduce_index)}));
    return stores;
  }
  void StepOfGroup(int64_t num_threads, int64_t offset) {
    DoIf(Less(all_.reduce_index, Index(num_threads)), StoresOf(WithOffset(offset)));
    Do(SyncOf("shared"));
  }
  void ReduceShared() {
    const int64_t extent = all_.reduce_extent;
    int64_t width = 1;
    while (width < extent) width *= 2;
    if (width > extent) {
      width /= 2;
      StepOfGroup(extent - width, width);
    }
    const bool warps_fit = all_.group_extent == 1 || all_.contiguous % device_.warp_size == 0;
    while (width > 1 && (width > all_.contiguous || width > device_.warp_size || !warps_fit)) {
      width /= 2;
      StepOfGroup(width, width);
    }
    if (width == 1) return;
    const Expr in_warp = Less(all_.reduce_index, Index(width / 2));
    std::vector<Stmt> steps;
    while (width > 1) {
      width /= 2;
      steps.push_back(StepOfWarp(width));
    }
    DoIf(in_warp, std::move(steps));
    Do(SyncOf("shared"));
  }
  // One thread may read what another writes in the same step: all read before.
  Stmt StepOfWarp(int64_t offset) {
    const Exprs values = WithOffset(offset);
    std::vector<Var> vars;
    Exprs kept;
    for (size_t i = 0; i < values.size(); ++i) {
      vars.emplace_back(fmt::format("w_{}_{}", offset, i), values[i].dtype());
      kept.push_back(vars.back());
    }
    std::vector<Stmt> stmts = StoresOf(kept);
    stmts.insert(stmts.begin(), SyncOf("warp"));
    stmts.push_back(SyncOf("warp"));
    Stmt body = MakeSeq(std::move(stmts));
    for (size_t i = 0; i < values.size(); ++i) body = LetStmt{values[i], vars[i], std::move(body)};
    return body;
  }

  const Allreduce& all_;
  const Device& device_;
  Analyzer analyzer_;
  std::vector<Stmt> stmts_;
  std::vector<Buffer> memory_;  // Allocated around the statements, the last outermost.
  std::vector<Buffer> shared_;
};

struct ThreadAxis {
  Var var;
  std::string_view tag;
  int64_t extent;
};

class AllreduceLowerer : public StmtExprMutator {
 public:
  explicit AllreduceLowerer(Device device) : device_(std::move(device)) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) return VisitAttr(stmt, *attr);
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (const Evaluate* evaluate = visited.As<Evaluate>()) {
      const Call* call = evaluate->value.As<Call>();
      return call != nullptr && call->op->name == "tvm_thread_allreduce" ? Lowered(visited, *call) : visited;
    }
    if (const Allocate* alloc = visited.As<Allocate>()) return Reallocated(visited, *alloc);
    const DeclBuffer* declared = visited.As<DeclBuffer>();
    if (declared == nullptr || !replaced_.contains(declared->buffer->data.get())) return visited;
    return DeclBuffer{VisitBufferUse(declared->buffer), declared->body};
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const auto found = replaced_.find(load.buffer->data.get());
    if (found == replaced_.end()) return StmtExprMutator::VisitBufferLoad(self, load);
    for (const Expr& index : load.indices)
      if (!IsConstInt(index, 0)) Refuse(fmt::format("\"{}\" has more than one element", load.buffer->name));
    return found->second.result;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = replaced_.find(buffer->data.get());
    if (found == replaced_.end()) return buffer;
    const Replaced& by = found->second;
    if (by.output.same_as(buffer)) return by.buffer;
    const auto [view, is_new] = views_.try_emplace(buffer.get(), buffer);
    if (is_new) {
      BufferNode node = *buffer;
      node.data = by.buffer->data;
      node.scope = by.buffer->scope;
      view->second = Buffer(std::move(node));
    }
    return view->second;
  }

 private:
  struct Replaced {
    Buffer output, buffer;
    Expr result;
  };

  static const CommReducer* ReducerOf(const AttrStmt& scope) {
    const Attr* value = std::get_if<Attr>(&scope.node);
    const Expr* e = value == nullptr ? nullptr : std::get_if<Expr>(value);
    const Reduce* reduce = e == nullptr ? nullptr : e->As<Reduce>();
    return reduce == nullptr ? nullptr : &reduce->combiner;
  }
  void Refuse(const std::string& why) {
    if (status.ok()) status = InvalidArgument("LowerThreadAllreduce: " + why);
  }
  Stmt VisitAttr(const Stmt& stmt, const AttrStmt& attr) {
    const CommReducer* reducer = attr.attr_key == "reduce_scope" ? ReducerOf(attr) : nullptr;
    const IterVar* axis = attr.attr_key == "thread_extent" ? std::get_if<IterVar>(&attr.node) : nullptr;
    if (reducer != nullptr) reducers_.push_back(reducer);
    if (axis != nullptr) launches_.push_back(&attr);
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (reducer != nullptr) reducers_.pop_back();
    if (axis != nullptr) launches_.pop_back();
    return visited;
  }
  // Memory of a result becomes that of what stands for it.
  Stmt Reallocated(const Stmt& self, const Allocate& alloc) {
    const auto found = replaced_.find(alloc.buffer_var.get());
    if (found == replaced_.end()) return self;
    const Buffer& buffer = found->second.buffer;
    Allocate copy = alloc;
    copy.buffer_var = buffer->data;
    copy.dtype = buffer->dtype;
    copy.extents = buffer->shape;
    copy.condition = True();
    if (buffer->scope == "shared") copy.body = AttrStmt{"volatile_scope", 1, Attr(Expr(buffer->data)), copy.body};
    return copy;
  }

  Stmt Lowered(const Stmt& self, const Call& call) {
    std::optional<Allreduce> all = TakenApart(call);
    if (!all) return self;
    if (all->reduce_extent == 1) {
      std::vector<Stmt> stores;
      for (size_t i = 0; i < all->size(); ++i) stores.push_back(MakeStore(all->outputs[i], all->values[i], {0}));
      return MakeSeq(std::move(stores));
    }
    AllreduceMaker maker(*all, device_);
    Stmt made = maker.Make();
    for (size_t i = 0; i < all->size(); ++i) {
      const Buffer& output = all->outputs[i];
      const Replaced by{output, maker.results[i].As<BufferLoad>()->buffer, maker.results[i]};
      if (!replaced_.emplace(output->data.get(), by).second)
        Refuse(fmt::format("several reductions write \"{}\"; give each memory of its own", output->name));
    }
    return made;
  }
  // T.tvm_thread_allreduce(n, n values, a condition, n results, threads ...)
  std::optional<Allreduce> TakenApart(const Call& call) {
    const size_t size = reducers_.empty() ? 0 : reducers_.back()->result.size();
    if (size == 0 || call.args.size() < 2 + 2 * size || !IsConstInt(call.args[0], int64_t(size))) {
      Refuse("a reduction needs a \"reduce_scope\" around it, and values, a condition and results as that says");
      return std::nullopt;
    }
    Allreduce all{.combiner = reducers_.back(), .values = {}, .outputs = {}};
    const Expr& condition = call.args[size + 1];
    for (size_t i = 0; i < size; ++i) {
      Expr value = call.args[1 + i], output = call.args[2 + size + i];
      if (!IsConstInt(condition, 1)) value = MakeSelect(condition, value, all.combiner->identity_element[i]);
      if (const Cast* cast = output.As<Cast>()) output = Expr(cast->value);
      const BufferLoad* load = output.As<BufferLoad>();
      if (load == nullptr) {
        Refuse("a result is no element of a buffer");
        return std::nullopt;
      }
      all.values.push_back(std::move(value));
      all.outputs.push_back(load->buffer);
    }
    std::unordered_set<const ExprNode*> reduced;
    for (size_t i = 2 + 2 * size; i < call.args.size(); ++i)
      if (!IsConstInt(call.args[i], 0)) reduced.insert(call.args[i].get());  // 0: of an axis of one thread.
    FindThreads(all, reduced);
    return all;
  }
  void FindThreads(Allreduce& all, const std::unordered_set<const ExprNode*>& reduced) {
    std::vector<ThreadAxis> threads;
    for (const AttrStmt* launch : launches_) {
      const IterVar& axis = std::get<IterVar>(launch->node);
      if (axis.thread_tag.starts_with("blockIdx.")) continue;
      const int64_t* extent = AsIntConst(launch->value);
      if (!axis.thread_tag.starts_with("threadIdx."))
        Refuse(fmt::format("virtual threads such as \"{}\" do not reduce together", axis.var.name()));
      else if (extent == nullptr)
        Refuse(fmt::format("thread \"{}\" needs a constant extent", axis.var.name()));
      else
        threads.push_back({axis.var, axis.thread_tag, *extent});
    }
    const auto is_reduced = [&](const ThreadAxis& axis) { return reduced.contains(axis.var.get()); };
    if (size_t(std::count_if(threads.begin(), threads.end(), is_reduced)) != reduced.size())
      Refuse("Not all reduce index are presented in the context: launch the threads around the reduction");
    std::erase_if(threads, [](const ThreadAxis& axis) { return axis.extent == 1; });
    std::stable_sort(threads.begin(), threads.end(),
                     [](const ThreadAxis& a, const ThreadAxis& b) { return a.tag < b.tag; });
    bool is_contiguous = true;
    for (const ThreadAxis& axis : threads) {
      const bool reduces = is_reduced(axis);
      Expr& index = reduces ? all.reduce_index : all.group_index;
      int64_t& extent = reduces ? all.reduce_extent : all.group_extent;
      index = extent == 1 ? Expr(axis.var) : index + Expr(axis.var) * IntConst(axis.var.dtype(), extent);
      extent *= axis.extent;
      is_contiguous &= reduces;
      if (is_contiguous) all.contiguous *= axis.extent;
    }
  }

  const Device device_;
  std::vector<const AttrStmt*> launches_;
  std::vector<const CommReducer*> reducers_;
  std::unordered_map<const ExprNode*, Replaced> replaced_;  // By the data of a result.
  BufferMap views_;
};

}  // namespace

StatusOr<PrimFunc> LowerThreadAllreduce(PrimFunc func) {
  ASSIGN_OR_RETURN(const std::optional<TargetDescription> target, DescriptionOf(func.attrs));
  if (!target)
    return InvalidArgument(
        fmt::format("LowerThreadAllreduce @{}: Require the target attribute; run BindTarget before", func.name));
  const auto number = [&](const char* name, int64_t otherwise) {
    const auto found = target->attrs.find(name);
    const int64_t* value = found == target->attrs.end() ? nullptr : std::get_if<int64_t>(&found->second);
    return value == nullptr ? otherwise : *value;
  };
  const Device device{target->kind, std::max<int64_t>(1, number("thread_warp_size", 1)), number("max_num_threads", -1)};
  const Stmt split = SplitAllocBuffers(func.body);
  AllreduceLowerer lowerer(device);
  Stmt body = lowerer(split);
  RETURN_IF_ERROR(lowerer.status);
  if (const std::optional<Var> lost = NewlyUndefined(split, body))
    return InvalidArgument(fmt::format("LowerThreadAllreduce @{}: \"{}\" is used before the reduction that writes it",
                                       func.name, lost->name()));
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
