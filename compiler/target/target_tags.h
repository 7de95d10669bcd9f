// What the tags of devices stand for that TargetDescription reads and Target (cpu_table.h) does not: GPUs, boards, and
// CPUs that nothing is built for.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace lathe {

struct TaggedTarget {
  std::string text, host;  // "cuda -arch=sm_72 ..."; "" or the target of the CPU beside it.
};
using TargetTags = std::map<std::string, TaggedTarget, std::less<>>;
const TargetTags& DeviceTags();

}  // namespace lathe
