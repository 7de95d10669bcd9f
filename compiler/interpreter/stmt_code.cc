#include "compiler/interpreter/stmt_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "compiler/interpreter/async_code.h"
#include "compiler/interpreter/block_code.h"
#include "compiler/interpreter/kernel_code.h"
#include "compiler/interpreter/store_code.h"
#include "compiler/interpreter/tile_code.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class SeqCode : public StmtCode {
 public:
  explicit SeqCode(std::vector<StmtCodePtr> stmts) : stmts_(std::move(stmts)) {}
  void Run(Machine& machine) const override {
    for (const StmtCodePtr& stmt : stmts_) {
      stmt->Run(machine);
      if (machine.has_failed) return;
    }
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    for (const StmtCodePtr& stmt : stmts_) {
      stmt->RunInStep(machine, threads);
      if (machine.has_failed) return;
    }
  }

 private:
  std::vector<StmtCodePtr> stmts_;
};

// Those of `threads` for which `condition` holds, and the others. Nobody after a fault.
std::pair<Threads, Threads> SplitThreads(Machine& machine, const Threads& threads, const ExprCode& condition) {
  std::pair<Threads, Threads> sides;
  for (const int thread : threads) {
    machine.kernel->SwitchTo(thread);
    (condition.Eval(machine, 0).i != 0 ? sides.first : sides.second).push_back(thread);
    if (machine.has_failed) return {};
  }
  return sides;
}

class ForCode : public StmtCode {
 public:
  ForCode(int slot, std::string name, ForKind kind, ExprCodePtr min, ExprCodePtr extent, StmtCodePtr body,
          const Site* site)
      : slot_(slot),
        name_(std::move(name)),
        kind_(kind),
        min_(std::move(min)),
        extent_(std::move(extent)),
        body_(std::move(body)),
        site_(site) {}
  void Run(Machine& machine) const override {
    const int64_t min = min_->Eval(machine, 0).i, extent = extent_->Eval(machine, 0).i;
    const bool is_concurrent = kind_ != ForKind::kSerial && kind_ != ForKind::kUnrolled && machine.options.check_races;
    if (is_concurrent) machine.EnterLoop(&name_, kind_);
    for (int64_t i = 0; i < extent && !machine.has_failed; ++i) {
      if (is_concurrent) machine.NextIteration();
      machine.registers[slot_].i = min + i;
      if (!machine.CountStep(*site_)) break;
      body_->Run(machine);
    }
    if (is_concurrent) machine.LeaveLoop();
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    const bool is_serial = kind_ == ForKind::kSerial || kind_ == ForKind::kUnrolled;
    if (!is_serial && !meets) return StmtCode::RunInStep(machine, threads);  // Its iterations are compared.
    std::vector<std::pair<int64_t, int64_t>> ranges;
    int64_t longest = 0;
    for (const int thread : threads) {
      machine.kernel->SwitchTo(thread);
      ranges.emplace_back(min_->Eval(machine, 0).i, extent_->Eval(machine, 0).i);
      longest = std::max(longest, ranges.back().second);
    }
    for (int64_t i = 0; i < longest && !machine.has_failed; ++i) {
      Threads active;
      for (size_t k = 0; k < threads.size() && !machine.has_failed; ++k) {
        if (i >= ranges[k].second) continue;
        machine.kernel->SwitchTo(threads[k]);
        machine.registers[slot_].i = ranges[k].first + i;
        if (machine.CountStep(*site_)) active.push_back(threads[k]);
      }
      if (!machine.has_failed) body_->RunInStep(machine, active);
    }
  }

 private:
  int slot_;
  std::string name_;
  ForKind kind_;
  ExprCodePtr min_, extent_;
  StmtCodePtr body_;
  const Site* site_;
};

class WhileCode : public StmtCode {
 public:
  WhileCode(ExprCodePtr condition, StmtCodePtr body, const Site* site)
      : condition_(std::move(condition)), body_(std::move(body)), site_(site) {}
  void Run(Machine& machine) const override {
    while (condition_->Eval(machine, 0).i != 0 && !machine.has_failed && machine.CountStep(*site_)) body_->Run(machine);
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    Threads active = SplitThreads(machine, threads, *condition_).first;
    while (!active.empty() && !machine.has_failed && machine.CountStep(*site_)) {
      body_->RunInStep(machine, active);
      if (!machine.has_failed) active = SplitThreads(machine, active, *condition_).first;
    }
  }

 private:
  ExprCodePtr condition_;
  StmtCodePtr body_;
  const Site* site_;
};

class IfCode : public StmtCode {
 public:
  IfCode(ExprCodePtr condition, StmtCodePtr then_case, StmtCodePtr else_case)
      : condition_(std::move(condition)), then_case_(std::move(then_case)), else_case_(std::move(else_case)) {}
  void Run(Machine& machine) const override {
    const bool is_true = condition_->Eval(machine, 0).i != 0;
    if (machine.has_failed) return;
    if (is_true)
      then_case_->Run(machine);
    else if (else_case_ != nullptr)
      else_case_->Run(machine);
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    const auto [chosen, others] = SplitThreads(machine, threads, *condition_);
    if (!machine.has_failed && !chosen.empty()) then_case_->RunInStep(machine, chosen);
    if (!machine.has_failed && !others.empty() && else_case_ != nullptr) else_case_->RunInStep(machine, others);
  }

 private:
  ExprCodePtr condition_;
  StmtCodePtr then_case_, else_case_;
};

// A condition per lane (vectorised code): lanes that are off neither load nor store.
class MaskedIfCode : public StmtCode {
 public:
  MaskedIfCode(int lanes, ExprCodePtr condition, StmtCodePtr then_case, StmtCodePtr else_case)
      : lanes_(lanes),
        condition_(std::move(condition)),
        then_case_(std::move(then_case)),
        else_case_(std::move(else_case)) {}
  void Run(Machine& machine) const override {
    const std::vector<bool>* outer = machine.mask;
    std::vector<bool> then_mask(lanes_), else_mask(lanes_);
    for (int lane = 0; lane < lanes_; ++lane) {
      const bool is_on = outer == nullptr || (*outer)[lane];
      const bool is_true = is_on && condition_->Eval(machine, lane).i != 0;
      then_mask[lane] = is_true;
      else_mask[lane] = is_on && !is_true;
    }
    if (machine.has_failed) return;
    RunUnder(then_mask, *then_case_, machine);
    if (else_case_ != nullptr && !machine.has_failed) RunUnder(else_mask, *else_case_, machine);
    machine.mask = outer;
  }

 private:
  // With all lanes off nothing runs, also of what all lanes share.
  static void RunUnder(const std::vector<bool>& mask, const StmtCode& body, Machine& machine) {
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) return;
    machine.mask = &mask;
    body.Run(machine);
  }

  int lanes_;
  ExprCodePtr condition_;
  StmtCodePtr then_case_, else_case_;
};

class EvaluateCode : public StmtCode {
 public:
  EvaluateCode(ExprCodePtr value, int lanes) : value_(std::move(value)), lanes_(lanes) {}
  void Run(Machine& machine) const override {
    for (int lane = 0; lane < lanes_; ++lane) value_->Eval(machine, lane);
  }

 private:
  ExprCodePtr value_;
  int lanes_;
};

class LetCode : public StmtCode {
 public:
  LetCode(int slot, int lanes, ExprCodePtr value, StmtCodePtr body)
      : slot_(slot), lanes_(lanes), value_(std::move(value)), body_(std::move(body)) {}
  void Run(Machine& machine) const override {
    Bind(machine);
    if (!machine.has_failed) body_->Run(machine);
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    for (const int thread : threads) {
      machine.kernel->SwitchTo(thread);
      Bind(machine);
    }
    if (!machine.has_failed) body_->RunInStep(machine, threads);
  }

 private:
  void Bind(Machine& machine) const {
    const std::vector<bool>* mask = lanes_ == 1 ? nullptr : machine.mask;
    for (int lane = 0; lane < lanes_; ++lane) {
      if (mask == nullptr || (*mask)[lane]) machine.registers[slot_ + lane] = value_->Eval(machine, lane);
    }
  }
  int slot_, lanes_;
  ExprCodePtr value_;
  StmtCodePtr body_;
};

class AssertCode : public StmtCode {
 public:
  AssertCode(ExprCodePtr condition, std::string message, const Site* site)
      : condition_(std::move(condition)), message_(std::move(message)), site_(site) {}
  void Run(Machine& machine) const override {
    if (condition_->Eval(machine, 0).i == 0)
      machine.Fail(StatusCode::kFailedPrecondition, *site_, fmt::format("assert failed: {}", message_));
  }

 private:
  ExprCodePtr condition_;
  std::string message_;
  const Site* site_;
};

class AllocateCode : public StmtCode {
 public:
  AllocateCode(BufferCode buffer, StmtCodePtr body) : buffer_(std::move(buffer)), body_(std::move(body)) {}
  void Run(Machine& machine) const override {
    OwnedMemory memory(machine);
    if (memory.Add(buffer_)) body_->Run(machine);
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    OwnedMemory memory(machine);
    if (memory.Add(buffer_, threads)) body_->RunInStep(machine, threads);
  }

 private:
  BufferCode buffer_;
  StmtCodePtr body_;
};

class DeclCode : public StmtCode {
 public:
  DeclCode(BufferCode buffer, int owner, StmtCodePtr body)
      : buffer_(std::move(buffer)), owner_(owner), body_(std::move(body)) {}
  void Run(Machine& machine) const override {
    if (Declare(machine)) body_->Run(machine);
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    for (const int thread : threads) {
      machine.kernel->SwitchTo(thread);
      if (!Declare(machine)) return;
    }
    body_->RunInStep(machine, threads);
  }

 private:
  bool Declare(Machine& machine) const {
    const int64_t reached = buffer_.Shape(machine);
    if (machine.has_failed) return false;
    Storage* const storage = machine.views[owner_].storage;
    const int64_t present = static_cast<int64_t>(storage->cells.size()) / buffer_.lanes;
    if (reached > present) {
      machine.Fail(StatusCode::kOutOfRange, *buffer_.site,
                   fmt::format("buffer \"{}\" reaches {} elements, the memory it is declared over has {}", buffer_.name,
                               reached, present));
      return false;
    }
    machine.views[buffer_.slot].storage = storage;
    return true;
  }
  BufferCode buffer_;
  int owner_;
  StmtCodePtr body_;
};

// ---- From IR to code.
class Compiler : public Scope {
 public:
  Compiler(FuncCode& func, FloatMode mode) : func_(func), mode_(mode) {
    func_.sites.emplace_back();
    site_ = func_.top_site = &func_.sites.back();
    func_.statements.push_back(site_);
  }

  StatusOr<int> VarSlot(const Var& var) override {
    const auto found = vars_.find(var.get());
    if (found != vars_.end()) return found->second;
    return Error(StatusCode::kInvalidArgument, fmt::format("variable \"{}\" is used but not defined", var.name()));
  }
  StatusOr<int> BufferSlot(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    if (found != buffers_.end()) return found->second;
    return Error(StatusCode::kInvalidArgument, fmt::format("buffer \"{}\" is used but not defined", buffer->name));
  }
  const Site* CurrentSite() override { return site_; }
  int CurrentStatement() override { return static_cast<int>(func_.statements.size()) - 1; }
  StatusOr<int> AddExchange(WarpExchange exchange) override;
  Status MeetHere(const std::string& name) override {
    if (launch_ == nullptr)
      return Error(StatusCode::kInvalidArgument, name + " outside of a kernel: no thread axis is around it");
    meets_ = true;
    return OkStatus();
  }
  StatusOr<Buffer> OwnerOf(const Expr& data) override {
    const auto owner = owners_.find(data.get());
    if (owner != owners_.end()) return owner->second;
    return Error(StatusCode::kUnimplemented, "an operation on a pointer other than X.data and T.tvm_access_ptr");
  }
  void BeginLater() override { ++num_later_; }
  void EndLater() override { --num_later_; }
  FloatMode float_mode() const override { return mode_; }
  Status Error(StatusCode code, const std::string& what) override {
    const std::string block = site_->block.empty() ? "" : fmt::format(" block \"{}\"", site_->block);
    std::string loops;
    for (const LoopName& loop : site_->loops)
      loops += fmt::format("{} loop \"{}\"", loops.empty() ? "" : ",", loop.name);
    return Status(code, fmt::format("interpret @{}{}{}: {}", func_.name, block, loops, what));
  }

  Status AddParam(const Param& param);
  StatusOr<StmtCodePtr> Compile(const Stmt& stmt);
  int DefineVar(const Var& var) override {
    const int slot = func_.num_registers;
    func_.num_registers += var.dtype().lanes;
    vars_[var.get()] = slot;
    return slot;
  }

 private:
  StatusOr<BufferCode> DefineBuffer(const Buffer& buffer);
  void EndBuffer(const Buffer& buffer);
  StatusOr<BindingCode> MakeBinding(const Expr& expr);
  StatusOr<ParamCode> BindBuffer(const Buffer& buffer);
  StatusOr<StmtCodePtr> CompileKind(const Stmt& stmt);
  StatusOr<StmtCodePtr> CompileFor(const For& loop);
  StatusOr<StmtCodePtr> CompileAxis(const For& loop, int axis);
  Status AddAxis(const For& loop, int axis);
  StatusOr<StmtCodePtr> CompileAttr(const AttrStmt& attr);
  StatusOr<StmtCodePtr> CompileEvaluate(const Evaluate& evaluate);
  StatusOr<std::pair<Buffer, Expr>> ElementAt(const Expr& pointer, const Expr& offset);
  StatusOr<StmtCodePtr> CompileCpAsync(const Expr& expr, const Call& call);
  StatusOr<StmtCodePtr> CompileAsyncAttr(const AttrStmt& attr);
  StatusOr<StmtCodePtr> CompileBarrier(const Call& call);
  StatusOr<StmtCodePtr> CompileAllocation(const AllocBuffer& allocate);
  StatusOr<StmtCodePtr> CompileStore(const BufferStore& store);
  StatusOr<StmtCodePtr> CompileStartCopy(const BufferStore& store, AccessCode to, ExprCodePtr value, int lanes);
  StatusOr<StmtCodePtr> CompileLet(const LetStmt& let);
  StatusOr<StmtCodePtr> CompileIf(const IfThenElse& branch);
  StatusOr<StmtCodePtr> CompileDeclaration(const DeclBuffer& declaration);
  StatusOr<StmtCodePtr> CompileMatch(const MatchBufferRegion& match);
  StatusOr<StmtCodePtr> CompileRealize(const BlockRealize& realize);
  StatusOr<ExprCodePtr> CompileCondition(const Expr& condition);
  const Site* PushSite(Site site) {
    func_.sites.push_back(std::move(site));
    return std::exchange(site_, &func_.sites.back());
  }

  // What the allocation of `buffer` means for the kernel around or inside.
  void NoteAllocation(const Buffer& buffer, const BufferCode& code);

  FuncCode& func_;
  FloatMode mode_;
  const Site* site_;
  LaunchPlan* launch_ = nullptr;  // Of the kernel around.
  int first_launched_ = 0;        // The first register that is known inside of it only.
  bool meets_ = false;            // Whether threads meet in what has been compiled of the statement.
  bool is_async_ = false;         // Stores start copies.
  int num_later_ = 0;
  std::vector<WarpExchange> exchanges_;  // Of the statement that is being compiled.
  std::vector<ScopedView> scoped_;       // Memory of blocks, warps and threads allocated around.
  int mask_lanes_ = 1;                   // Of the vector conditions around.
  std::unordered_map<const ExprNode*, int> vars_;
  std::vector<const ExprNode*> bound_;  // Lengths, strides and offsets that a buffer gives a value.
  std::unordered_map<const BufferNode*, int> buffers_;
  std::unordered_map<const ExprNode*, Buffer> owners_;  // Of data variables: the buffer that introduced each.
};

StatusOr<BindingCode> Compiler::MakeBinding(const Expr& expr) {
  BindingCode binding;
  if (IsVar(expr) && vars_.count(expr.get()) == 0) {
    binding.slot = DefineVar(Var(expr));
    bound_.push_back(expr.get());
  } else {
    ASSIGN_OR_RETURN(binding.expected, CompileExpr(expr, *this));
  }
  return binding;
}

StatusOr<BufferCode> Compiler::DefineBuffer(const Buffer& buffer) {
  BufferCode code{func_.num_views++, buffer->name, buffer->dtype.lanes,      {}, {},
                  nullptr,           site_,        SharedByOf(buffer->scope)};
  for (const Expr& extent : buffer->shape) {
    ASSIGN_OR_RETURN(ExprCodePtr extent_code, CompileExpr(extent, *this));
    code.shape.push_back(std::move(extent_code));
  }
  for (const Expr& stride : buffer->strides) {
    ASSIGN_OR_RETURN(ExprCodePtr stride_code, CompileExpr(stride, *this));
    code.strides.push_back(std::move(stride_code));
  }
  if (!code.strides.empty() && code.strides.size() != code.shape.size()) {
    return Error(StatusCode::kInvalidArgument, fmt::format("buffer \"{}\" has {} dimensions and {} strides",
                                                           buffer->name, code.shape.size(), code.strides.size()));
  }
  ASSIGN_OR_RETURN(code.offset, CompileExpr(buffer->elem_offset, *this));
  buffers_[buffer.get()] = code.slot;
  owners_.emplace(buffer->data.get(), buffer);
  return code;
}

// What follows the statement that defined it cannot use it: its memory is gone.
void Compiler::EndBuffer(const Buffer& buffer) {
  buffers_.erase(buffer.get());
  const auto owner = owners_.find(buffer->data.get());
  if (owner != owners_.end() && owner->second.same_as(buffer)) owners_.erase(owner);
}

// Extents first, whole variables before expressions of them.
StatusOr<ParamCode> Compiler::BindBuffer(const Buffer& buffer) {
  ParamCode code{buffer->dtype, buffer->name};
  code.shape.resize(buffer->shape.size());
  for (const bool is_var : {true, false}) {
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      const Expr& extent = buffer->shape[d];
      if (IsVar(extent) == is_var) {
        ASSIGN_OR_RETURN(code.shape[d], MakeBinding(extent));
      }
    }
  }
  for (const Expr& stride : buffer->strides) {
    ASSIGN_OR_RETURN(BindingCode binding, MakeBinding(stride));
    code.strides.push_back(std::move(binding));
  }
  ASSIGN_OR_RETURN(code.offset, MakeBinding(buffer->elem_offset));
  return code;
}

Status Compiler::AddParam(const Param& param) {
  if (const Var* var = std::get_if<Var>(&param)) {
    ParamCode code{var->dtype(), var->name()};
    if (vars_.count(var->get()) != 0)
      return Error(StatusCode::kInvalidArgument, fmt::format("parameter \"{}\" is defined twice", var->name()));
    code.scalar_slot = DefineVar(*var);
    func_.params.push_back(std::move(code));
    return OkStatus();
  }
  const Buffer& buffer = std::get<Buffer>(param);
  ASSIGN_OR_RETURN(ParamCode code, BindBuffer(buffer));
  ASSIGN_OR_RETURN(code.buffer, DefineBuffer(buffer));
  func_.params.push_back(std::move(code));
  return OkStatus();
}

StatusOr<ExprCodePtr> Compiler::CompileCondition(const Expr& condition) {
  if (!condition.dtype().is_scalar())
    return Error(StatusCode::kInvalidArgument, fmt::format("a condition of type {}", condition.dtype().ToString()));
  return CompileExpr(condition, *this);
}

StatusOr<StmtCodePtr> Compiler::CompileFor(const For& loop) {
  for (int axis = 0; axis < kNumAxes; ++axis)
    if (loop.kind == ForKind::kThreadBinding && loop.thread == kAxisTags[axis]) return CompileAxis(loop, axis);
  ASSIGN_OR_RETURN(ExprCodePtr min, CompileExpr(loop.min, *this));
  ASSIGN_OR_RETURN(ExprCodePtr extent, CompileExpr(loop.extent, *this));
  const int slot = DefineVar(loop.loop_var);
  Site inner = *site_;
  inner.loops.push_back({loop.loop_var.name(), slot});
  const Site* outer = PushSite(std::move(inner));
  ASSIGN_OR_RETURN(StmtCodePtr body, Compile(loop.body));
  const Site* site = std::exchange(site_, outer);
  return StmtCodePtr(
      new ForCode(slot, loop.loop_var.name(), loop.kind, std::move(min), std::move(extent), std::move(body), site));
}

// The first loop bound to an axis says how far it goes. That has to be known where the kernel begins.
Status Compiler::AddAxis(const For& loop, int axis) {
  if (launch_->extents[axis] != nullptr) return OkStatus();
  bool is_known = true;
  PostOrderVisit(loop.extent, [&](const Expr& part) {
    const auto found = vars_.find(part.get());
    is_known =
        is_known && part.As<BufferLoad>() == nullptr && (found == vars_.end() || found->second < first_launched_);
  });
  if (!is_known) {
    return Error(StatusCode::kInvalidArgument,
                 fmt::format("the extent of {} depends on what is known inside of the kernel only", kAxisTags[axis]));
  }
  ASSIGN_OR_RETURN(launch_->extents[axis], CompileExpr(loop.extent, *this));
  return OkStatus();
}

// The outermost loop bound to an axis begins a kernel.
StatusOr<StmtCodePtr> Compiler::CompileAxis(const For& loop, int axis) {
  LaunchPlan plan;
  const bool begins = launch_ == nullptr;
  if (begins) {
    launch_ = &plan;
    plan.scoped = scoped_;
    first_launched_ = func_.num_registers;
  }
  const Site* const around = site_;
  BeginLater();
  RETURN_IF_ERROR(AddAxis(loop, axis));
  ASSIGN_OR_RETURN(ExprCodePtr min, CompileExpr(loop.min, *this));
  ASSIGN_OR_RETURN(ExprCodePtr extent, CompileExpr(loop.extent, *this));
  EndLater();
  const int slot = DefineVar(loop.loop_var);
  Site inner = *site_;
  inner.loops.push_back({loop.loop_var.name(), slot});
  const Site* outer = PushSite(std::move(inner));
  ASSIGN_OR_RETURN(StmtCodePtr body, Compile(loop.body));
  const Site* site = std::exchange(site_, outer);
  StmtCodePtr code = MakeAxisCode(axis, slot, std::move(min), std::move(extent), std::move(body), site);
  if (!begins) return code;
  launch_ = nullptr;
  code->meets = std::exchange(meets_, false);
  return MakeLaunchCode(std::move(plan), std::move(code), func_, around);
}

StatusOr<int> Compiler::AddExchange(WarpExchange exchange) {
  RETURN_IF_ERROR(MeetHere(exchange.name));
  if (num_later_ > 0) {
    return Error(StatusCode::kUnimplemented,
                 exchange.name + " inside of T.if_then_else, T.let or a while condition; bind it to a variable before");
  }
  exchange.result_slot = func_.num_registers++;
  exchanges_.push_back(std::move(exchange));
  return exchanges_.back().result_slot;
}

void Compiler::NoteAllocation(const Buffer& buffer, const BufferCode& code) {
  if (launch_ != nullptr)
    meets_ = meets_ || code.shared_by != SharedBy::kThread;
  else if (buffer->scope != "global" && !buffer->scope.empty())
    scoped_.push_back({code.slot, code.lanes, code.shared_by});
}

StatusOr<StmtCodePtr> Compiler::CompileAllocation(const AllocBuffer& allocate) {
  ASSIGN_OR_RETURN(BufferCode buffer, DefineBuffer(allocate.buffer));
  const size_t num_scoped = scoped_.size();
  NoteAllocation(allocate.buffer, buffer);
  ASSIGN_OR_RETURN(StmtCodePtr body, Compile(allocate.body));
  scoped_.resize(num_scoped);
  EndBuffer(allocate.buffer);
  return StmtCodePtr(new AllocateCode(std::move(buffer), std::move(body)));
}

StatusOr<StmtCodePtr> Compiler::CompileBarrier(const Call& call) {
  const StringImm* scope = call.args.size() == 1 ? call.args[0].As<StringImm>() : nullptr;
  if (scope == nullptr || (scope->value != "shared" && scope->value != "warp" && scope->value != "shared.dyn")) {
    return Error(StatusCode::kUnimplemented,
                 "T.tvm_storage_sync of something other than \"shared\", \"shared.dyn\" and \"warp\"");
  }
  RETURN_IF_ERROR(MeetHere("T.tvm_storage_sync"));
  return MakeBarrierCode(scope->value == "warp", site_);
}

// The buffer and the element that T.ptx_cp_async names by a pointer and an offset.
StatusOr<std::pair<Buffer, Expr>> Compiler::ElementAt(const Expr& pointer, const Expr& offset) {
  const Call* call = pointer.As<Call>();
  const bool is_access = call != nullptr && call->op->name == "tvm_access_ptr" && call->args.size() == 5;
  ASSIGN_OR_RETURN(const Buffer owner, OwnerOf(is_access ? call->args[1] : pointer));
  return std::pair(owner, is_access ? call->args[2] + offset : offset);
}

// T.ptx_cp_async(type, to, offset, from, offset, bytes[, condition]): element by element; zeros where the condition
// does not hold.
StatusOr<StmtCodePtr> Compiler::CompileCpAsync(const Expr& expr, const Call& call) {
  const int64_t* bytes = call.args.size() == 5 || call.args.size() == 6 ? AsIntConst(call.args[4]) : nullptr;
  const int element_bytes = expr.dtype().bytes();
  if (bytes == nullptr || element_bytes == 0 || (*bytes != 4 && *bytes != 8 && *bytes != 16) ||
      *bytes % element_bytes != 0) {
    return Error(StatusCode::kInvalidArgument,
                 "T.ptx_cp_async takes two pointers, each with an offset, and 4, 8 or 16 bytes of whole elements");
  }
  ASSIGN_OR_RETURN(const auto to, ElementAt(call.args[0], call.args[1]));
  ASSIGN_OR_RETURN(const auto from, ElementAt(call.args[2], call.args[3]));
  std::vector<StmtCodePtr> copies;
  const bool is_async = std::exchange(is_async_, true);
  for (int64_t i = 0; i < *bytes / element_bytes; ++i) {
    Expr value = Load(from.first, {from.second + IntConst(from.second.dtype(), i)});
    if (call.args.size() == 6)
      value = MakeCall(value.dtype(), "if_then_else", {call.args[5], value, MakeCast(value.dtype(), 0)});
    ASSIGN_OR_RETURN(StmtCodePtr copy,
                     CompileStore(BufferStore{to.first, value, {to.second + IntConst(to.second.dtype(), i)}, {}}));
    copies.push_back(std::move(copy));
  }
  is_async_ = is_async;
  return StmtCodePtr(new SeqCode(std::move(copies)));
}

StatusOr<StmtCodePtr> Compiler::CompileEvaluate(const Evaluate& evaluate) {
  if (const Call* call = evaluate.value.As<Call>()) {
    const std::string_view name = call->op->name;
    if (name == "tvm_storage_sync") return CompileBarrier(*call);
    if (IsTileCall(*call)) return CompileTileCall(*call, *this);
    if (name == "ptx_cp_async") return CompileCpAsync(evaluate.value, *call);
    ASSIGN_OR_RETURN(ExprCodePtr queue, CompileExpr(0, *this));
    if (name == "ptx_commit_group") return MakeCommitCode(std::move(queue));
    if (name == "ptx_wait_group" && call->args.size() == 1) {
      ASSIGN_OR_RETURN(ExprCodePtr num_left, CompileExpr(call->args[0], *this));
      return MakeWaitCode(std::move(queue), std::move(num_left));
    }
  }
  ASSIGN_OR_RETURN(ExprCodePtr value, CompileExpr(evaluate.value, *this));
  return StmtCodePtr(new EvaluateCode(std::move(value), evaluate.value.dtype().lanes));
}

// The attributes around asynchronous copies: started by stores, committed after the body, waited for before it.
StatusOr<StmtCodePtr> Compiler::CompileAsyncAttr(const AttrStmt& attr) {
  std::vector<StmtCodePtr> stmts;
  if (attr.attr_key == "async_scope") {
    const bool is_async = std::exchange(is_async_, true);
    ASSIGN_OR_RETURN(StmtCodePtr body, Compile(attr.body));
    is_async_ = is_async;
    return body;
  }
  ASSIGN_OR_RETURN(ExprCodePtr queue, CompileExpr(attr.value, *this));
  if (attr.attr_key == "async_commit_queue_scope") {
    ASSIGN_OR_RETURN(StmtCodePtr body, Compile(attr.body));
    stmts.push_back(std::move(body));
    stmts.push_back(MakeCommitCode(std::move(queue)));
  } else {
    const AttrStmt* count = attr.body.As<AttrStmt>();
    if (count == nullptr || count->attr_key != "async_wait_inflight_count")
      return Error(StatusCode::kInvalidArgument,
                   "T.attr \"async_wait_queue_scope\" has no T.attr \"async_wait_inflight_count\" right inside");
    ASSIGN_OR_RETURN(ExprCodePtr num_left, CompileExpr(count->value, *this));
    ASSIGN_OR_RETURN(StmtCodePtr body, Compile(count->body));
    stmts.push_back(MakeWaitCode(std::move(queue), std::move(num_left)));
    stmts.push_back(std::move(body));
  }
  return StmtCodePtr(new SeqCode(std::move(stmts)));
}

// A launched axis is a loop over its threads; hints for code generators change nothing.
StatusOr<StmtCodePtr> Compiler::CompileAttr(const AttrStmt& attr) {
  const IterVar* axis = std::get_if<IterVar>(&attr.node);
  if (axis != nullptr && (attr.attr_key == "thread_extent" || attr.attr_key == "virtual_thread")) {
    const Expr min = IntConst(axis->var.dtype(), 0);
    return CompileFor(For{axis->var, min, attr.value, ForKind::kThreadBinding, axis->thread_tag, {}, attr.body});
  }
  if (attr.attr_key.starts_with("pragma_")) return Compile(attr.body);
  if (attr.attr_key == "async_scope" || attr.attr_key == "async_commit_queue_scope" ||
      attr.attr_key == "async_wait_queue_scope")
    return CompileAsyncAttr(attr);
  return Error(StatusCode::kUnimplemented, fmt::format("T.attr with \"{}\"", attr.attr_key));
}

StatusOr<StmtCodePtr> Compiler::CompileStore(const BufferStore& store) {
  if (store.predicate) {
    BufferStore plain = store;
    plain.predicate.reset();
    return CompileIf(IfThenElse{*store.predicate, plain, std::nullopt});
  }
  ASSIGN_OR_RETURN(AccessCode access, CompileAccess(store.buffer, store.indices, *this));
  const int index_lanes = store.indices.empty() ? 1 : store.indices.back().dtype().lanes;
  const DataType expected = store.buffer->dtype.with_lanes(store.buffer->dtype.lanes * index_lanes);
  if (store.value.dtype() != expected) {
    return Error(StatusCode::kInvalidArgument,
                 fmt::format("buffer \"{}\" takes {}, a value of {} is stored", store.buffer->name, expected.ToString(),
                             store.value.dtype().ToString()));
  }
  ASSIGN_OR_RETURN(ExprCodePtr value, CompileExpr(store.value, *this));
  if (mask_lanes_ > 1 && mask_lanes_ != expected.lanes) {
    return Error(StatusCode::kInvalidArgument,
                 fmt::format("a store of {} lanes to \"{}\" inside of a condition of {} lanes", expected.lanes,
                             store.buffer->name, mask_lanes_));
  }
  if (is_async_) return CompileStartCopy(store, std::move(access), std::move(value), expected.lanes);
  return MakeStoreCode(store, std::move(access), std::move(value));
}

StatusOr<StmtCodePtr> Compiler::CompileStartCopy(const BufferStore& store, AccessCode to, ExprCodePtr value,
                                                 int lanes) {
  if (mask_lanes_ > 1) return Error(StatusCode::kUnimplemented, "an asynchronous copy under a condition per lane");
  std::optional<AccessCode> from;
  if (const BufferLoad* load = store.value.As<BufferLoad>(); load != nullptr && !load->predicate) {
    ASSIGN_OR_RETURN(from, CompileAccess(load->buffer, load->indices, *this));
  }
  return MakeStartCopyCode(std::move(to), std::move(value), std::move(from), lanes);
}

StatusOr<StmtCodePtr> Compiler::CompileLet(const LetStmt& let) {
  ASSIGN_OR_RETURN(ExprCodePtr value, CompileExpr(let.value, *this));
  const int slot = DefineVar(let.var);
  ASSIGN_OR_RETURN(StmtCodePtr body, Compile(let.body));
  return StmtCodePtr(new LetCode(slot, let.var.dtype().lanes, std::move(value), std::move(body)));
}

StatusOr<StmtCodePtr> Compiler::CompileIf(const IfThenElse& branch) {
  const int lanes = branch.condition.dtype().lanes;
  const int outer_lanes = std::exchange(mask_lanes_, lanes > 1 ? lanes : mask_lanes_);
  if (lanes > 1 && outer_lanes > 1 && outer_lanes != lanes) {
    return Error(StatusCode::kInvalidArgument,
                 fmt::format("a condition of {} lanes inside of one of {}", lanes, outer_lanes));
  }
  ASSIGN_OR_RETURN(ExprCodePtr condition, CompileExpr(branch.condition, *this));
  ASSIGN_OR_RETURN(StmtCodePtr then_case, Compile(branch.then_case));
  StmtCodePtr else_case;
  if (branch.else_case) {
    ASSIGN_OR_RETURN(else_case, Compile(*branch.else_case));
  }
  mask_lanes_ = outer_lanes;
  if (lanes > 1 && meets_)
    return Error(StatusCode::kUnimplemented, "threads that meet, or share memory, under a condition per lane");
  if (lanes > 1)
    return StmtCodePtr(new MaskedIfCode(lanes, std::move(condition), std::move(then_case), std::move(else_case)));
  return StmtCodePtr(new IfCode(std::move(condition), std::move(then_case), std::move(else_case)));
}

StatusOr<StmtCodePtr> Compiler::CompileDeclaration(const DeclBuffer& declaration) {
  const Buffer& buffer = declaration.buffer;
  const auto owner = owners_.find(buffer->data.get());
  if (owner == owners_.end()) {
    return Error(StatusCode::kInvalidArgument,
                 fmt::format("buffer \"{}\" lies over \"{}\", which is the data of no buffer", buffer->name,
                             buffer->data.name()));
  }
  if (buffer->dtype.element() != owner->second->dtype.element()) {
    return Error(StatusCode::kUnimplemented,
                 fmt::format("buffer \"{}\" reads memory of {} as {}; elements here are values, not bytes",
                             buffer->name, owner->second->dtype.ToString(), buffer->dtype.ToString()));
  }
  ASSIGN_OR_RETURN(const int slot, BufferSlot(owner->second));
  ASSIGN_OR_RETURN(BufferCode code, DefineBuffer(buffer));
  ASSIGN_OR_RETURN(StmtCodePtr body, Compile(declaration.body));
  EndBuffer(buffer);
  return StmtCodePtr(new DeclCode(std::move(code), slot, std::move(body)));
}

StatusOr<StmtCodePtr> Compiler::CompileMatch(const MatchBufferRegion& match) {
  ASSIGN_OR_RETURN(const int source, BufferSlot(match.source.buffer));
  std::vector<ExprCodePtr> mins, extents;
  for (const Range& range : match.source.region) {
    ASSIGN_OR_RETURN(ExprCodePtr min, CompileExpr(range.min, *this));
    ASSIGN_OR_RETURN(ExprCodePtr extent, CompileExpr(range.extent, *this));
    mins.push_back(std::move(min));
    extents.push_back(std::move(extent));
  }
  if (mins.size() != match.source.buffer->shape.size() || match.buffer->shape.size() > mins.size()) {
    return Error(
        StatusCode::kInvalidArgument,
        fmt::format("match_buffer \"{}\": ranks {}, {} and {} of view, region and source do not fit",
                    match.buffer->name, match.buffer->shape.size(), mins.size(), match.source.buffer->shape.size()));
  }
  ASSIGN_OR_RETURN(ParamCode bindings, BindBuffer(match.buffer));
  ASSIGN_OR_RETURN(BufferCode view, DefineBuffer(match.buffer));
  return MakeMatchCode(std::move(view), source, std::move(mins), std::move(extents), std::move(bindings));
}

StatusOr<StmtCodePtr> Compiler::CompileRealize(const BlockRealize& realize) {
  const BlockNode& block = *realize.block;
  if (block.iter_vars.size() != realize.iter_values.size()) {
    return Error(StatusCode::kInvalidArgument, fmt::format("block \"{}\" has {} iter vars and {} values", block.name,
                                                           block.iter_vars.size(), realize.iter_values.size()));
  }
  ASSIGN_OR_RETURN(ExprCodePtr predicate, CompileCondition(realize.predicate));
  std::vector<IterCode> iters;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    IterCode code{iter.var.name(), -1, iter.kind == IterKind::kReduce};
    ASSIGN_OR_RETURN(code.value, CompileExpr(realize.iter_values[i], *this));
    ASSIGN_OR_RETURN(code.min, CompileExpr(iter.domain.min, *this));
    ASSIGN_OR_RETURN(code.extent, CompileExpr(iter.domain.extent, *this));
    iters.push_back(std::move(code));
  }
  for (size_t i = 0; i < iters.size(); ++i) iters[i].slot = DefineVar(block.iter_vars[i].var);
  Site inner = *site_;
  inner.block = block.name;
  const Site* outer = PushSite(std::move(inner));
  std::vector<BufferCode> allocations;
  const size_t num_scoped = scoped_.size(), num_bound = bound_.size();
  for (const Buffer& buffer : block.alloc_buffers) {
    ASSIGN_OR_RETURN(BufferCode code, DefineBuffer(buffer));
    NoteAllocation(buffer, code);
    allocations.push_back(std::move(code));
  }
  std::vector<StmtCodePtr> matches;
  for (const MatchBufferRegion& match : block.match_buffers) {
    ASSIGN_OR_RETURN(StmtCodePtr code, CompileMatch(match));
    matches.push_back(std::move(code));
  }
  StmtCodePtr init;
  if (block.init) {
    ASSIGN_OR_RETURN(init, Compile(*block.init));
  }
  ASSIGN_OR_RETURN(StmtCodePtr body, Compile(block.body));
  scoped_.resize(num_scoped);
  for (const Buffer& buffer : block.alloc_buffers) EndBuffer(buffer);
  for (const MatchBufferRegion& match : block.match_buffers) EndBuffer(match.buffer);
  for (; bound_.size() > num_bound; bound_.pop_back()) vars_.erase(bound_.back());  // Another block binds its own.
  const Site* site = std::exchange(site_, outer);
  return MakeBlockCode(std::move(predicate), std::move(iters), std::move(allocations), std::move(matches),
                       std::move(init), std::move(body), outer, site);
}

StatusOr<StmtCodePtr> Compiler::Compile(const Stmt& stmt) {
  func_.statements.push_back(site_);
  const bool met = std::exchange(meets_, false);
  std::vector<WarpExchange> around = std::exchange(exchanges_, {});
  ASSIGN_OR_RETURN(StmtCodePtr code, CompileKind(stmt));
  code->meets = meets_;
  if (!exchanges_.empty()) {
    code = MakeExchangeCode(std::move(exchanges_), std::move(code));
    code->meets = true;
  }
  exchanges_ = std::move(around);
  meets_ = meets_ || met;
  return code;
}

StatusOr<StmtCodePtr> Compiler::CompileKind(const Stmt& stmt) {
  if (const For* loop = stmt.As<For>()) return CompileFor(*loop);
  if (const BlockRealize* realize = stmt.As<BlockRealize>()) return CompileRealize(*realize);
  if (const BufferStore* store = stmt.As<BufferStore>()) return CompileStore(*store);
  if (const IfThenElse* branch = stmt.As<IfThenElse>()) return CompileIf(*branch);
  if (const LetStmt* let = stmt.As<LetStmt>()) return CompileLet(*let);
  if (const Seq* seq = stmt.As<Seq>()) {
    std::vector<StmtCodePtr> stmts;
    for (const Stmt& child : seq->stmts) {
      ASSIGN_OR_RETURN(StmtCodePtr code, Compile(child));
      stmts.push_back(std::move(code));
    }
    return StmtCodePtr(new SeqCode(std::move(stmts)));
  }
  if (const Evaluate* evaluate = stmt.As<Evaluate>()) return CompileEvaluate(*evaluate);
  if (const AllocBuffer* allocate = stmt.As<AllocBuffer>()) return CompileAllocation(*allocate);
  if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) return CompileDeclaration(*declaration);
  if (const AssertStmt* assertion = stmt.As<AssertStmt>()) {
    ASSIGN_OR_RETURN(ExprCodePtr condition, CompileCondition(assertion->condition));
    std::vector<StmtCodePtr> stmts;
    stmts.emplace_back(new AssertCode(std::move(condition), assertion->message, site_));
    ASSIGN_OR_RETURN(StmtCodePtr body, Compile(assertion->body));
    stmts.push_back(std::move(body));
    return StmtCodePtr(new SeqCode(std::move(stmts)));
  }
  if (const While* loop = stmt.As<While>()) {
    BeginLater();
    ASSIGN_OR_RETURN(ExprCodePtr condition, CompileCondition(loop->condition));
    EndLater();
    ASSIGN_OR_RETURN(StmtCodePtr body, Compile(loop->body));
    return StmtCodePtr(new WhileCode(std::move(condition), std::move(body), site_));
  }
  if (const AttrStmt* attr = stmt.As<AttrStmt>()) return CompileAttr(*attr);
  if (const Allocate* allocate = stmt.As<Allocate>()) {
    if (const std::optional<Stmt> plain = AsAllocBuffer(*allocate)) return Compile(*plain);
    return Error(StatusCode::kUnimplemented,
                 fmt::format("T.allocate of \"{}\" under a condition", allocate->buffer_var.name()));
  }
  if (const AllocateConst* allocate = stmt.As<AllocateConst>()) return Compile(AsAllocBuffer(*allocate));
  if (const BufferRealize* realize = stmt.As<BufferRealize>())
    return Compile(AllocBuffer{realize->buffer, IfThenElse{realize->condition, realize->body, std::nullopt}});
  if (stmt.As<Prefetch>() != nullptr) return StmtCodePtr(new SeqCode({}));
  return Error(StatusCode::kUnimplemented, "a statement of unknown kind");
}

}  // namespace

StatusOr<std::unique_ptr<FuncCode>> CompileFunc(const PrimFunc& func, FloatMode float_mode) {
  auto code = std::make_unique<FuncCode>();
  code->name = func.name;
  Compiler compiler(*code, float_mode);
  for (const Param& param : ParamsOf(func)) RETURN_IF_ERROR(compiler.AddParam(param));
  ASSIGN_OR_RETURN(code->body, compiler.Compile(func.body));
  return code;
}

}  // namespace lathe
