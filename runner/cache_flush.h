// Takes memory out of the caches, so that the next read comes from main memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lathe {

class CacheFlusher {
 public:
  // `flushed` will leave the caches on Flush; `kept` stays in them. Both outlive this. `cpu` names whose caches.
  CacheFlusher(std::vector<std::span<std::byte>> flushed, std::vector<std::span<std::byte>> kept, int cpu);
  // x86-64 and AArch64 flush line by line and leave `kept` alone; elsewhere twice the
  // last level cache is walked through and `kept` is read again.
  void Flush();

 private:
  std::vector<std::span<std::byte>> flushed_, kept_;
  std::vector<std::byte> walked_;  // Empty where lines can be flushed.
};

}  // namespace lathe
