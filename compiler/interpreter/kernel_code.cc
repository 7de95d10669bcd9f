#include "compiler/interpreter/kernel_code.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe {
namespace {

constexpr int64_t kMaxThreads = 4096;  // Of one block.

class LaunchCode : public StmtCode {
 public:
  LaunchCode(LaunchPlan plan, StmtCodePtr body, const FuncCode& func, const Site* site)
      : plan_(std::move(plan)), body_(std::move(body)), func_(func), site_(site) {}

  void Run(Machine& machine) const override {
    std::array<int64_t, kNumAxes> extents;
    for (int axis = 0; axis < kNumAxes; ++axis)
      extents[axis] =
          plan_.extents[axis] == nullptr ? 1 : std::max<int64_t>(plan_.extents[axis]->Eval(machine, 0).i, 0);
    if (machine.has_failed || !IsSane(machine, extents)) return;
    Kernel kernel(machine, extents, func_.statements);
    machine.kernel = &kernel;
    const Threads threads = kernel.AllThreads();
    for (int64_t block = 0; !threads.empty() && block < kernel.num_blocks() && !machine.has_failed; ++block) {
      if (!kernel.BeginBlock(block, plan_.scoped, *site_)) break;
      body_->RunInStep(machine, threads);
      kernel.EndBlock();
    }
    machine.kernel = nullptr;
  }

 private:
  bool IsSane(Machine& machine, const std::array<int64_t, kNumAxes>& extents) const {
    __int128 blocks = 1, threads = 1;
    for (int axis = 0; axis < kNumAxes; ++axis) (axis < 3 ? blocks : threads) *= extents[axis];
    if (threads <= kMaxThreads && blocks < UINT32_MAX) return true;
    machine.Fail(StatusCode::kResourceExhausted, *site_,
                 fmt::format("a kernel of {} blocks of {} threads, at most {} threads are run", int64_t(blocks),
                             int64_t(threads), kMaxThreads));
    return false;
  }

  LaunchPlan plan_;
  StmtCodePtr body_;
  const FuncCode& func_;
  const Site* site_;
};

class AxisCode : public StmtCode {
 public:
  AxisCode(int axis, int slot, ExprCodePtr min, ExprCodePtr extent, StmtCodePtr body, const Site* site)
      : axis_(axis),
        slot_(slot),
        min_(std::move(min)),
        extent_(std::move(extent)),
        body_(std::move(body)),
        site_(site) {}
  void Run(Machine& machine) const override {
    if (Enter(machine)) body_->Run(machine);
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    for (const int thread : threads) {
      machine.kernel->SwitchTo(thread);
      if (!Enter(machine)) return;
    }
    body_->RunInStep(machine, threads);
  }

 private:
  bool Enter(Machine& machine) const {
    const int64_t extent = extent_->Eval(machine, 0).i, launched = machine.kernel->extent(axis_);
    machine.registers[slot_].i = min_->Eval(machine, 0).i + machine.kernel->Coordinate(axis_);
    if (extent != launched) {
      machine.Fail(
          StatusCode::kInvalidArgument, *site_,
          fmt::format("{} has extent {} here and {} elsewhere in the kernel", kAxisTags[axis_], extent, launched));
    }
    return !machine.has_failed && machine.CountStep(*site_);
  }

  int axis_, slot_;
  ExprCodePtr min_, extent_;
  StmtCodePtr body_;
  const Site* site_;
};

class BarrierCode : public StmtCode {
 public:
  BarrierCode(bool is_warp, const Site* site) : is_warp_(is_warp), site_(site) {}
  void Run(Machine& machine) const override {  // Reached alone: by the only thread of a block.
    RunInStep(machine, {0});
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    if (threads.empty() || !machine.CountStep(*site_)) return;
    const Threads missing = is_warp_ ? machine.kernel->MissingOfWarps(threads) : MissingOfBlock(machine, threads);
    const char* const where = is_warp_ ? "T.tvm_storage_sync(\"warp\")" : "T.tvm_storage_sync(\"shared\")";
    if (!missing.empty()) return FailOfDivergence(machine, *site_, where, threads, missing.front());
    if (is_warp_)
      machine.kernel->PassWarpBarrier(threads);
    else
      machine.kernel->PassBarrier();
  }

 private:
  static Threads MissingOfBlock(Machine& machine, const Threads& threads) {
    for (int thread = 0; thread < machine.kernel->num_threads(); ++thread) {
      if (thread >= static_cast<int>(threads.size()) || threads[thread] != thread) return {thread};
    }
    return {};
  }
  bool is_warp_;
  const Site* site_;
};

class ExchangeCode : public StmtCode {
 public:
  ExchangeCode(std::vector<WarpExchange> exchanges, StmtCodePtr body)
      : exchanges_(std::move(exchanges)), body_(std::move(body)) {}
  void Run(Machine& machine) const override { RunInStep(machine, {0}); }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    for (const WarpExchange& exchange : exchanges_) {
      Exchange(machine, exchange, threads);
      if (machine.has_failed) return;
    }
    body_->RunInStep(machine, threads);
  }

 private:
  // All give before one takes.
  static void Exchange(Machine& machine, const WarpExchange& exchange, const Threads& threads) {
    std::vector<Value> given(machine.kernel->num_threads());
    for (const int thread : threads) {
      machine.kernel->SwitchTo(thread);
      given[thread] = exchange.value->Eval(machine, 0);
      if (machine.has_failed) return;
    }
    for (const int thread : threads) {
      machine.kernel->SwitchTo(thread);
      const int first = thread / kWarpSize * kWarpSize;
      int source = first + exchange.Source(thread - first, exchange.lane->Eval(machine, 0).i,
                                           exchange.width->Eval(machine, 0).i);
      if (source >= machine.kernel->num_threads()) source = thread;  // The last warp of the block is not full.
      if (!std::binary_search(threads.begin(), threads.end(), source))
        return FailOfDivergence(machine, *exchange.site, exchange.name.c_str(), threads, source);
      machine.registers[exchange.result_slot] = given[source];
    }
  }

  std::vector<WarpExchange> exchanges_;
  StmtCodePtr body_;
};

}  // namespace

void FailOfDivergence(Machine& machine, const Site& site, const char* where, const Threads& here, int missing) {
  machine.kernel->SwitchTo(here.front());
  machine.Fail(StatusCode::kFailedPrecondition, site,
               fmt::format("barrier divergence: {} and {} more of {} reach {}, {} does not; take it out of the "
                           "condition or loop that only some pass",
                           machine.kernel->NameOfThread(here.front()), here.size() - 1, machine.kernel->NameOfBlock(),
                           where, machine.kernel->NameOfThread(missing)));
}

void StmtCode::RunInStep(Machine& machine, const Threads& threads) const {
  for (const int thread : threads) {
    machine.kernel->SwitchTo(thread);
    Run(machine);
    if (machine.has_failed) return;
  }
  if (machine.options.implies_barriers) machine.kernel->PassBarrier();
}

OwnedMemory::~OwnedMemory() {
  for (const auto& [storage, buffer] : owned_) {
    if (storage != nullptr && IsAnyInFlight(*storage)) {
      machine_.Fail(StatusCode::kFailedPrecondition, *buffer->site,
                    fmt::format("the memory of \"{}\" ends while a copy of it is in flight; wait for its group first",
                                buffer->name));
    }
  }
  for (auto& [storage, buffer] : owned_) machine_.ReleaseStorage(std::move(storage));
}

bool OwnedMemory::Add(const BufferCode& buffer) {
  const int64_t num_elements = buffer.Shape(machine_);
  if (machine_.has_failed) return false;
  std::unique_ptr<Storage> storage =
      machine_.NewStorage(num_elements, buffer.lanes, /*is_initialized=*/false, *buffer.site);
  if (storage == nullptr) return false;
  if (machine_.kernel != nullptr) storage->shared_by = buffer.shared_by;
  machine_.views[buffer.slot].storage = storage.get();
  owned_.emplace_back(std::move(storage), &buffer);
  return true;
}

bool OwnedMemory::Add(const BufferCode& buffer, const Threads& threads) {
  int64_t num_elements = 0;
  for (const int thread : threads) {
    machine_.kernel->SwitchTo(thread);
    num_elements = std::max(num_elements, buffer.Shape(machine_));
    if (machine_.has_failed) return false;
  }
  std::vector<std::unique_ptr<Storage>> owned;
  const bool is_done = machine_.kernel->Allocate(buffer.slot, num_elements, buffer.lanes, buffer.shared_by, threads,
                                                 *buffer.site, owned);
  for (std::unique_ptr<Storage>& storage : owned) owned_.emplace_back(std::move(storage), &buffer);
  return is_done;
}

int WarpExchange::Source(int lane_of_thread, int64_t by, int64_t in_group_of) const {
  const int width = static_cast<int>(std::clamp<int64_t>(in_group_of, 1, kWarpSize));
  const int begin = lane_of_thread / width * width, end = begin + width;
  const int64_t source = kind == Kind::kIndexed ? begin + ((by % width) + width) % width
                         : kind == Kind::kUp    ? lane_of_thread - by
                         : kind == Kind::kDown  ? lane_of_thread + by
                                                : lane_of_thread ^ by;
  const bool is_there = source < end && (source >= begin || (kind == Kind::kXor && source >= 0));
  return is_there ? static_cast<int>(source) : lane_of_thread;
}

StmtCodePtr MakeLaunchCode(LaunchPlan plan, StmtCodePtr body, const FuncCode& func, const Site* site) {
  return StmtCodePtr(new LaunchCode(std::move(plan), std::move(body), func, site));
}

StmtCodePtr MakeAxisCode(int axis, int slot, ExprCodePtr min, ExprCodePtr extent, StmtCodePtr body, const Site* site) {
  return StmtCodePtr(new AxisCode(axis, slot, std::move(min), std::move(extent), std::move(body), site));
}

StmtCodePtr MakeBarrierCode(bool is_warp, const Site* site) { return StmtCodePtr(new BarrierCode(is_warp, site)); }

StmtCodePtr MakeExchangeCode(std::vector<WarpExchange> exchanges, StmtCodePtr body) {
  return StmtCodePtr(new ExchangeCode(std::move(exchanges), std::move(body)));
}

}  // namespace lathe
