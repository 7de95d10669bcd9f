// Memory for nodes of one size. What a thread gives back it takes again first, without the general allocator: a
// schedule makes and drops thousands of small nodes, and glibc keeps only seven of a size per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace lathe {

// Any thread may give back what another took. Under sanitizers nothing is kept, so that they see every use of a node
// that is gone.
template <size_t kSize>
class NodePool {
 public:
  static void* Take() {
    Free& mine = free_;
    if (mine.first == nullptr) return ::operator new(kSize);
    Link* link = mine.first;
    mine.first = link->next;
    --mine.count;
    return link;
  }
  static void Give(void* memory) {
    Free& mine = free_;
    if (mine.count >= kMost) return ::operator delete(memory);
    mine.first = new (memory) Link{mine.first};
    ++mine.count;
  }

 private:
  struct Link {
    Link* next;
  };
  struct Free {
    Link* first = nullptr;
    uint32_t count = 0;
    ~Free() {
      count = kMost;  // What is freed later in the thread's end is not kept.
      while (first != nullptr) ::operator delete(std::exchange(first, first->next));
    }
  };
#ifdef LATHE_SANITIZE
  static constexpr uint32_t kMost = 0;
#else
  static constexpr uint32_t kMost = 16'384;
#endif
  static inline thread_local constinit Free free_;
};

}  // namespace lathe
