// Numbers for addresses, 0, 1, 2 ... in the order in which they come up: a flat hash table, without a node for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe {

class PointerIndex {
 public:
  int Add(const void* pointer) {  // Its number, a new one if it has none.
    if (2 * pointers_.size() >= slots_.size()) Grow();
    int& slot = slots_[SlotOf(pointer)];
    if (slot < 0) {
      slot = static_cast<int>(pointers_.size());
      pointers_.push_back(pointer);
    }
    return slot;
  }
  int Find(const void* pointer) const { return slots_.empty() ? -1 : slots_[SlotOf(pointer)]; }  // -1: it has none.
  size_t size() const { return pointers_.size(); }
  const void* operator[](int number) const { return pointers_[static_cast<size_t>(number)]; }

 private:
  size_t SlotOf(const void* pointer) const {  // Where it is, or would be.
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>((reinterpret_cast<uintptr_t>(pointer) * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (slots_[at] >= 0 && pointers_[static_cast<size_t>(slots_[at])] != pointer) at = (at + 1) & mask;
    return at;
  }
  void Grow() {
    slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), -1);
    for (size_t i = 0; i < pointers_.size(); ++i) slots_[SlotOf(pointers_[i])] = static_cast<int>(i);
  }

  std::vector<const void*> pointers_;
  std::vector<int> slots_;  // A power of two, at most half of them taken.
};

}  // namespace lathe
