// Who touched an element that several threads of a kernel see, as far as races ask for it. Private to this folder.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

inline constexpr int kWarpSize = 32;

struct Touch {
  uint32_t block = 0;                  // Counted over all blocks of all kernels of a run, from 1; 0: nobody's.
  uint32_t epoch = 0, warp_epoch = 0;  // How many barriers the block, and the thread's warp, had behind them.
  int thread = 0;
  int statement = 0;  // Of FuncCode::statements.
  bool is_write = false, is_atomic = false;
};

// Up to two touches of the newest epoch that stand for all of it: whatever races with one of these races with one kept.
class Touches {
 public:
  void Add(const Touch& now);
  const Touch* FindRace(const Touch& now, uint32_t first_block) const;

 private:
  Touch first_, second_;
};

class CellHistory {
 public:
  // Remembers `now`. What it races with, or one of no block. `first_block`: that of the running kernel; its blocks run
  // one after the other here, at once on a device.
  Touch Note(const Touch& now, uint32_t first_block);

 private:
  enum Kind : uint8_t { kRead, kWrite, kAtomic, kNumKinds };  // What may meet what depends on nothing else.
  static Kind KindOf(const Touch& touch) { return !touch.is_write ? kRead : touch.is_atomic ? kAtomic : kWrite; }
  Touches touches_[kNumKinds];
  Touch early_[kNumKinds];  // Of an earlier block, for those that follow.
};

}  // namespace lathe
