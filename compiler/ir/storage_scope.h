// Where memory is, as the text of a scope says it: "global", "shared.dyn", "local", "wmma.matrix_a" ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// From what everybody sees to what one thread has for itself, as TVM orders them.
enum class StorageRank : uint8_t { kGlobal, kShared, kWarp, kLocal, kFragment, kTexture };

struct StorageScope {
  StorageRank rank = StorageRank::kGlobal;
  std::string tag;       // What follows: ".dyn" of "shared.dyn"; a memory of its own kind.
  std::string fragment;  // "wmma.matrix_a" ..., of such registers.
  // Memory of a special kind is one allocation, in which buffers have places.
  bool is_special() const { return !tag.empty() && tag != ".dyn" && tag != ".workspace" && tag != ".vtcm"; }
  bool operator==(const StorageScope&) const = default;
};
// InvalidArgument: no scope has that name. Empty text is "global".
StatusOr<StorageScope> ParseStorageScope(std::string_view text);
std::string_view ScopeOf(const Var& data);  // As it was written; "global" where nothing is known.

}  // namespace lathe
