// What a target string or dict of TVM's says, of every kind that programs name, whether or not code is generated for it
// here: kinds, keys and attributes with their defaults. Target (target.h) is what code generation needs of it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/status.h"

namespace lathe {

using TargetAttr = std::variant<bool, int64_t, std::string, std::vector<std::string>>;
using TargetAttrs = std::map<std::string, TargetAttr>;

struct TargetDescription {
  std::string kind, tag;
  std::string host;               // Of a tag: the target of the CPU beside the device, or "".
  std::vector<std::string> keys;  // "cuda", "gpu"
  TargetAttrs attrs;              // Defaults included; neither keys nor tag.

  // "cuda -arch=sm_80 -max_threads_per_block=1024", or a tag. InvalidArgument: an unknown kind, tag or attribute, or a
  // value of another type.
  static StatusOr<TargetDescription> Parse(std::string_view text);
  // {"kind": "cuda", "arch": "sm_80"}; values that are texts are read as the attribute's type.
  static StatusOr<TargetDescription> FromAttrs(TargetAttrs attrs);
  // "cuda -keys=cuda,gpu -arch=sm_80 -max_num_threads=1024 -thread_warp_size=32"
  std::string ToString() const;
};

std::vector<std::string> KnownTargetKinds();

}  // namespace lathe
