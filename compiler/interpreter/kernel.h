// A kernel being run: the threads of one block at a time. Private to this folder.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "compiler/interpreter/machine.h"

namespace lathe {

inline constexpr int kNumAxes = 6;
inline constexpr const char* kAxisTags[kNumAxes] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                                    "threadIdx.x", "threadIdx.y", "threadIdx.z"};
using Threads = std::vector<int>;  // Numbers of threads in their block, threadIdx.x fastest; ascending.

SharedBy SharedByOf(const std::string& storage_scope);

// Memory that was allocated around the kernel and that each block, warp or thread has for itself.
struct ScopedView {
  int slot;
  int lanes;
  SharedBy shared_by;
};

class Kernel {
 public:
  // `machine` runs what is around the kernel; its registers and views are what each thread begins with.
  Kernel(Machine& machine, const std::array<int64_t, kNumAxes>& extents, const std::vector<const Site*>& statements);

  int64_t num_blocks() const { return extents_[0] * extents_[1] * extents_[2]; }
  int num_threads() const { return static_cast<int>(extents_[3] * extents_[4] * extents_[5]); }
  int64_t extent(int axis) const { return extents_[axis]; }
  int64_t Coordinate(int axis) const;  // Of the block, or of the thread that runs.
  std::string NameOfThread(int thread) const;
  std::string NameOfBlock() const { return NameOfBlock(block_); }

  // The threads of block `block`, at their start. False: out of memory.
  bool BeginBlock(int64_t block, const std::vector<ScopedView>& scoped, const Site& site);
  void EndBlock();
  void SwitchTo(int thread);  // -1: to what is around the kernel.
  Threads AllThreads() const;

  // One storage for all those of `threads` that share it, set as the view of slot `slot`; `owned` gets it. The thread
  // that runs has given the view its shape. False: out of memory.
  bool Allocate(int slot, int64_t num_elements, int lanes, SharedBy shared_by, const Threads& threads, const Site& site,
                std::vector<std::unique_ptr<Storage>>& owned);

  void PassBarrier() { ++epoch_; }
  void PassWarpBarrier(const Threads& threads);
  // The others of the warps of `threads`; empty: none is missing.
  Threads MissingOfWarps(const Threads& threads) const;

  // What the access races with: "", or how it goes on after "data race: X is read here".
  std::string Note(Storage& storage, int64_t cell, Machine::Access access, int statement);

 private:
  struct Thread {
    std::vector<Value> registers;
    std::vector<View> views;
    AsyncCopies copies;
    uint32_t warp_epoch = 0;
  };
  std::string NameOfBlock(int64_t block) const;
  std::string Describe(const Storage& storage, const Touch& other, const Touch& now) const;

  Machine& machine_;
  const std::array<int64_t, kNumAxes> extents_;
  const std::vector<const Site*>& statements_;
  const uint32_t first_serial_;
  int64_t block_ = 0;
  uint32_t epoch_ = 1;
  int current_ = -1;
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<Storage>> owned_;  // By the block that runs.
};

}  // namespace lathe
