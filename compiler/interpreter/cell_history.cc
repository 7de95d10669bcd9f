#include "compiler/interpreter/cell_history.h"

namespace lathe {
namespace {

bool IsSameWarp(const Touch& a, const Touch& b) { return a.thread / kWarpSize == b.thread / kWarpSize; }

// Whether nothing keeps the two apart: they come from different threads with no barrier between.
bool IsUnordered(const Touch& old, const Touch& now) {
  if (old.block != now.block || old.epoch != now.epoch || old.thread == now.thread) return false;
  return !IsSameWarp(old, now) || old.warp_epoch == now.warp_epoch;
}

bool MayMeet(const Touch& a, const Touch& b) { return (!a.is_write && !b.is_write) || (a.is_atomic && b.is_atomic); }

}  // namespace

void Touches::Add(const Touch& now) {
  if (!IsUnordered(first_, now)) {
    first_ = now;
    if (!IsUnordered(second_, now)) second_ = Touch{};
  } else if (!IsUnordered(second_, now) || (IsSameWarp(first_, second_) && !IsSameWarp(first_, now))) {
    second_ = now;  // One of each of two warps stands for more than two of one warp.
  }
}

const Touch* Touches::FindRace(const Touch& now, uint32_t first_block) const {
  for (const Touch* old : {&first_, &second_}) {
    if (old->block >= first_block && IsUnordered(*old, now) && !MayMeet(*old, now)) return old;
  }
  return nullptr;
}

Touch CellHistory::Note(const Touch& now, uint32_t first_block) {
  Touch race;
  for (int kind = 0; kind < kNumKinds; ++kind) {
    const Touch& early = early_[kind];
    if (early.block >= first_block && early.block != now.block && !MayMeet(early, now)) race = early;
    if (const Touch* old = touches_[kind].FindRace(now, first_block)) race = *old;
  }
  touches_[KindOf(now)].Add(now);
  Touch& early = early_[KindOf(now)];
  if (early.block < first_block) early = now;
  return race;
}

}  // namespace lathe
