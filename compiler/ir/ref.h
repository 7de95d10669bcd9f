// Counted handles: one pointer wide, never null, cheap to copy, safe to share between threads. Only compiler/ir/
// counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace lathe {

// Base of every shared node. A node that lives for ever has a count from `kImmortal` on: it is not counted, so threads
// that use it do not meet in its memory.
struct Counted {
  static constexpr uint32_t kImmortal = uint32_t{1} << 31;
  Counted() = default;
  Counted(const Counted&) {}  // A copy of a node is a new node: nobody refers to it yet.
  Counted& operator=(const Counted&) { return *this; }
  mutable std::atomic<uint32_t> refs{0};
};

// Owns one count of `Node`. Readers see a constant node. `Mutable` gives the node itself to its only owner, or else a
// copy: so nothing ever changes under another reader. A moved-from Ref may only be assigned to or destroyed.
template <typename Node>
class Ref {
 public:
  explicit Ref(Node* node) : node_(node) { Take(); }
  Ref(const Ref& other) : node_(other.node_) { Retain(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Ref& operator=(const Ref& other) {
    Ref copy(other);
    std::swap(node_, copy.node_);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() { Release(); }

  const Node* get() const { return node_; }
  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_; }
  bool same_as(const Ref& other) const { return node_ == other.node_; }
  bool unique() const { return node_->refs.load(std::memory_order_acquire) == 1; }
  Node& Mutable() {
    if (!unique()) *this = Ref(new Node(*node_));
    return *node_;
  }

 private:
  // A new node, which nobody else has yet, needs no atomic change.
  void Take() const {
    if (node_->refs.load(std::memory_order_relaxed) == 0)
      node_->refs.store(1, std::memory_order_relaxed);
    else
      Retain();
  }
  void Retain() const {
    if (node_ != nullptr && node_->refs.load(std::memory_order_relaxed) < Counted::kImmortal)
      node_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void Release() {
    if (node_ == nullptr) return;
    // Nobody else can take or give a reference while this is the only one: no atomic change either.
    const auto refs = node_->refs.load(std::memory_order_acquire);
    if (refs >= Counted::kImmortal) return;
    if (refs == 1 || node_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node_;
  }
  Node* node_;
};

}  // namespace lathe
