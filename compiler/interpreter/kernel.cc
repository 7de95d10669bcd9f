#include "compiler/interpreter/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace lathe {

SharedBy SharedByOf(const std::string& storage_scope) {
  if (storage_scope.starts_with("shared")) return SharedBy::kBlock;
  const bool is_of_warp = storage_scope == "warp" || storage_scope.starts_with("wmma.");
  return is_of_warp ? SharedBy::kWarp : SharedBy::kThread;
}

Kernel::Kernel(Machine& machine, const std::array<int64_t, kNumAxes>& extents,
               const std::vector<const Site*>& statements)
    : machine_(machine), extents_(extents), statements_(statements), first_serial_(machine.num_blocks_run + 1) {}

int64_t Kernel::Coordinate(int axis) const {
  const int first = axis < 3 ? 0 : 3;
  int64_t rest = axis < 3 ? block_ : current_;
  for (int i = first; i < axis; ++i) rest /= extents_[i];
  return rest % extents_[axis];
}

std::string Kernel::NameOfThread(int thread) const {
  return fmt::format("thread ({}, {}, {})", thread % extents_[3], thread / extents_[3] % extents_[4],
                     thread / extents_[3] / extents_[4]);
}

std::string Kernel::NameOfBlock(int64_t block) const {
  return fmt::format("block ({}, {}, {})", block % extents_[0], block / extents_[0] % extents_[1],
                     block / extents_[0] / extents_[1]);
}

Threads Kernel::AllThreads() const {
  Threads threads(num_threads());
  for (int i = 0; i < num_threads(); ++i) threads[i] = i;
  return threads;
}

bool Kernel::BeginBlock(int64_t block, const std::vector<ScopedView>& scoped, const Site& site) {
  SwitchTo(-1);
  block_ = block;
  ++epoch_;
  ++machine_.num_blocks_run;
  threads_.assign(num_threads(), Thread{machine_.registers, machine_.views, {}});
  for (const ScopedView& view : scoped) {
    const Storage* outer = machine_.views[view.slot].storage;
    if (outer == nullptr) continue;
    const int64_t num_elements = static_cast<int64_t>(outer->cells.size()) / view.lanes;
    std::vector<int> slots;  // All that look at this memory.
    for (size_t i = 0; i < machine_.views.size(); ++i)
      if (machine_.views[i].storage == outer) slots.push_back(static_cast<int>(i));
    if (!Allocate(view.slot, num_elements, view.lanes, view.shared_by, AllThreads(), site, owned_)) return false;
    SwitchTo(-1);
    for (Thread& thread : threads_)
      for (const int slot : slots) thread.views[slot].storage = thread.views[view.slot].storage;
  }
  return true;
}

void Kernel::EndBlock() {
  SwitchTo(-1);
  if (machine_.has_failed) return;                       // What is in flight may have lost its memory.
  for (Thread& thread : threads_) thread.copies.Drop();  // Nobody is left to see them arrive.
  for (std::unique_ptr<Storage>& storage : owned_) machine_.ReleaseStorage(std::move(storage));
  owned_.clear();
}

void Kernel::SwitchTo(int thread) {
  if (thread == current_) return;
  const auto swap = [&](Thread& other) {
    std::swap(machine_.registers, other.registers);
    std::swap(machine_.views, other.views);
    std::swap(machine_.copies, other.copies);
  };
  if (current_ >= 0) swap(threads_[current_]);
  if (thread >= 0) swap(threads_[thread]);
  current_ = thread;
}

bool Kernel::Allocate(int slot, int64_t num_elements, int lanes, SharedBy shared_by, const Threads& threads,
                      const Site& site, std::vector<std::unique_ptr<Storage>>& owned) {
  std::map<int, Storage*> shared;  // By warp, thread, or one for all.
  for (const int thread : threads) {
    const int key = shared_by == SharedBy::kThread ? thread : shared_by == SharedBy::kWarp ? thread / kWarpSize : 0;
    Storage*& storage = shared[key];
    if (storage == nullptr) {
      owned.push_back(machine_.NewStorage(num_elements, lanes, /*is_initialized=*/false, site));
      if (owned.back() == nullptr) return false;
      storage = owned.back().get();
      storage->shared_by = shared_by;
    }
    SwitchTo(thread);
    machine_.views[slot].storage = storage;
  }
  return true;
}

void Kernel::PassWarpBarrier(const Threads& threads) {
  for (const int thread : threads) ++threads_[thread].warp_epoch;
}

Threads Kernel::MissingOfWarps(const Threads& threads) const {
  Threads missing;
  for (const int thread : threads) {
    const int first = thread / kWarpSize * kWarpSize, last = std::min(first + kWarpSize, num_threads());
    for (int other = first; other < last; ++other)
      if (!std::binary_search(threads.begin(), threads.end(), other)) missing.push_back(other);
  }
  return missing;
}

std::string Kernel::Describe(const Storage& storage, const Touch& other, const Touch& now) const {
  const std::string did = other.is_write ? "written" : "read";
  if (other.block != now.block)
    return fmt::format("{} by {}; blocks run in any order", did, NameOfBlock(other.block - first_serial_));
  const std::string& block = statements_[other.statement]->block;
  const std::string by = fmt::format("{} by {}{}", did, NameOfThread(other.thread),
                                     block.empty() ? "" : fmt::format(" in block \"{}\"", block));
  if (other.statement == now.statement) return by + " at once";
  return fmt::format("{}; a barrier is missing between, T.tvm_storage_sync(\"{}\")", by,
                     storage.shared_by == SharedBy::kWarp ? "warp" : "shared");
}

std::string Kernel::Note(Storage& storage, int64_t cell, Machine::Access access, int statement) {
  if (storage.shared_by == SharedBy::kThread || current_ < 0) return "";
  if (storage.history.empty()) storage.history.resize(storage.cells.size());
  const Touch now{.block = first_serial_ + static_cast<uint32_t>(block_),
                  .epoch = epoch_,
                  .warp_epoch = threads_[current_].warp_epoch,
                  .thread = current_,
                  .statement = statement,
                  .is_write = access != Machine::Access::kRead,
                  .is_atomic = access == Machine::Access::kAtomic};
  const Touch race = storage.history[cell].Note(now, first_serial_);
  return race.block == 0 ? "" : Describe(storage, race, now);
}

}  // namespace lathe
