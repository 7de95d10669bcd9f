#include "compiler/interpreter/block_code.h"

#include <fmt/format.h>

#include "compiler/interpreter/kernel_code.h"

namespace lathe {
namespace {

class MatchCode : public StmtCode {
 public:
  MatchCode(BufferCode view, int source, std::vector<ExprCodePtr> mins, std::vector<ExprCodePtr> extents,
            ParamCode bindings)
      : view_(std::move(view)),
        source_(source),
        mins_(std::move(mins)),
        extents_(std::move(extents)),
        bindings_(std::move(bindings)) {}
  void Run(Machine& machine) const override {
    const View& source = machine.views[source_];
    int64_t offset = source.offset;
    const size_t rank = view_.shape.size(), dropped = mins_.size() - rank;
    std::vector<int64_t> extents, strides;
    for (size_t d = 0; d < mins_.size(); ++d) {
      const int64_t min = mins_[d]->Eval(machine, 0).i, extent = extents_[d]->Eval(machine, 0).i;
      if (min < 0 || extent < 0 || min + extent > source.shape[d]) {
        return machine.Fail(StatusCode::kOutOfRange, *view_.site,
                            fmt::format("match_buffer \"{}\": [{}, {}) is outside of dimension {} of extent {}",
                                        view_.name, min, min + extent, d, source.shape[d]));
      }
      if (d < dropped && extent != 1) {
        return machine.Fail(StatusCode::kInvalidArgument, *view_.site,
                            fmt::format("match_buffer \"{}\": it lacks dimension {} of the source, whose extent is {}",
                                        view_.name, d, extent));
      }
      offset += min * source.strides[d];
      if (d < dropped) continue;
      extents.push_back(extent);
      strides.push_back(source.strides[d]);
    }
    for (size_t d = 0; d < rank; ++d) {
      if (!Bind(machine, bindings_.shape[d], extents[d], "extent", d)) return;
    }
    for (size_t d = 0; d < bindings_.strides.size(); ++d) {
      if (!Bind(machine, bindings_.strides[d], strides[d], "stride", d)) return;
    }
    if (bindings_.offset.slot >= 0) machine.registers[bindings_.offset.slot].i = offset;
    Storage* storage = source.storage;
    View& view = machine.views[view_.slot];
    view = {storage, offset, extents, strides};
  }

 private:
  bool Bind(Machine& machine, const BindingCode& binding, int64_t actual, const char* what, size_t d) const {
    if (binding.slot >= 0) {
      machine.registers[binding.slot].i = actual;
      return true;
    }
    const int64_t expected = binding.expected->Eval(machine, 0).i;
    if (expected == actual) return true;
    machine.Fail(
        StatusCode::kInvalidArgument, *view_.site,
        fmt::format("match_buffer \"{}\": {} {} is {}, the source has {}", view_.name, what, d, expected, actual));
    return false;
  }
  BufferCode view_;
  int source_;
  std::vector<ExprCodePtr> mins_, extents_;
  ParamCode bindings_;
};

class BlockCode : public StmtCode {
 public:
  BlockCode(ExprCodePtr predicate, std::vector<IterCode> iters, std::vector<BufferCode> allocations,
            std::vector<StmtCodePtr> matches, StmtCodePtr init, StmtCodePtr body, const Site* outer, const Site* inner)
      : predicate_(std::move(predicate)),
        iters_(std::move(iters)),
        allocations_(std::move(allocations)),
        matches_(std::move(matches)),
        init_(std::move(init)),
        body_(std::move(body)),
        outer_(outer),
        inner_(inner) {}

  void Run(Machine& machine) const override {
    bool is_first = true;
    if (!Enter(machine, is_first)) return;
    OwnedMemory memory(machine);
    for (const BufferCode& allocation : allocations_)
      if (!memory.Add(allocation)) return;
    if (!Match(machine)) return;
    if (init_ != nullptr && is_first) init_->Run(machine);
    if (!machine.has_failed) body_->Run(machine);
  }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    Threads inside, first;
    for (const int thread : threads) {
      machine.kernel->SwitchTo(thread);
      bool is_first = true;
      if (Enter(machine, is_first)) inside.push_back(thread);
      if (machine.has_failed) return;
      if (is_first && !inside.empty() && inside.back() == thread) first.push_back(thread);
    }
    if (inside.empty()) return;
    OwnedMemory memory(machine);
    for (const BufferCode& allocation : allocations_)
      if (!memory.Add(allocation, inside)) return;
    for (const int thread : inside) {
      machine.kernel->SwitchTo(thread);
      if (!Match(machine)) return;
    }
    if (init_ != nullptr && !first.empty()) init_->RunInStep(machine, first);
    if (!machine.has_failed) body_->RunInStep(machine, inside);
  }

 private:
  // Binds the iter vars. False: the predicate does not hold, or a fault.
  bool Enter(Machine& machine, bool& is_first) const {
    if (predicate_->Eval(machine, 0).i == 0 || machine.has_failed) return false;
    if (!machine.CountStep(*outer_)) return false;
    for (const IterCode& iter : iters_) {
      const int64_t value = iter.value->Eval(machine, 0).i, min = iter.min->Eval(machine, 0).i,
                    extent = iter.extent->Eval(machine, 0).i;
      if (machine.has_failed) return false;
      if (value < min || value >= min + extent) {
        machine.Fail(StatusCode::kOutOfRange, *inner_,
                     fmt::format("iter var \"{}\" is {}, outside of [{}, {})", iter.name, value, min, min + extent));
        return false;
      }
      machine.registers[iter.slot].i = value;
      if (iter.is_reduction && value != min) is_first = false;
    }
    return true;
  }
  bool Match(Machine& machine) const {
    for (const StmtCodePtr& match : matches_) {
      match->Run(machine);
      if (machine.has_failed) return false;
    }
    return true;
  }

  ExprCodePtr predicate_;
  std::vector<IterCode> iters_;
  std::vector<BufferCode> allocations_;
  std::vector<StmtCodePtr> matches_;
  StmtCodePtr init_, body_;
  const Site *outer_, *inner_;
};

}  // namespace

int64_t BufferCode::Shape(Machine& machine) const {
  View& view = machine.views[slot];
  const size_t rank = shape.size();
  view.shape.resize(rank);
  view.strides.resize(rank);
  __int128 compact = 1;
  for (size_t d = rank; d-- > 0;) {
    view.shape[d] = shape[d]->Eval(machine, 0).i;
    view.strides[d] = strides.empty() ? static_cast<int64_t>(compact) : strides[d]->Eval(machine, 0).i;
    compact *= std::max<int64_t>(view.shape[d], 0);
    if (view.shape[d] < 0 || view.strides[d] < 0 || compact > INT64_MAX) {
      machine.Fail(StatusCode::kInvalidArgument, *site,
                   fmt::format("buffer \"{}\": dimension {} has extent {} and stride {}", name, d, view.shape[d],
                               view.strides[d]));
      return -1;
    }
  }
  view.offset = offset->Eval(machine, 0).i;
  if (compact == 0) return 0;
  __int128 size = static_cast<__int128>(view.offset) + 1;
  for (size_t d = 0; d < rank; ++d) size += static_cast<__int128>(view.shape[d] - 1) * view.strides[d];
  if (view.offset < 0 || size > INT64_MAX) {
    machine.Fail(StatusCode::kInvalidArgument, *site,
                 fmt::format("buffer \"{}\": offset {} and strides reach beyond memory", name, view.offset));
    return -1;
  }
  return static_cast<int64_t>(size);
}

StmtCodePtr MakeMatchCode(BufferCode view, int source, std::vector<ExprCodePtr> mins, std::vector<ExprCodePtr> extents,
                          ParamCode bindings) {
  return StmtCodePtr(new MatchCode(std::move(view), source, std::move(mins), std::move(extents), std::move(bindings)));
}

StmtCodePtr MakeBlockCode(ExprCodePtr predicate, std::vector<IterCode> iters, std::vector<BufferCode> allocations,
                          std::vector<StmtCodePtr> matches, StmtCodePtr init, StmtCodePtr body, const Site* outer,
                          const Site* inner) {
  return StmtCodePtr(new BlockCode(std::move(predicate), std::move(iters), std::move(allocations), std::move(matches),
                                   std::move(init), std::move(body), outer, inner));
}

}  // namespace lathe
