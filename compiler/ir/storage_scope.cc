#include "compiler/ir/storage_scope.h"

#include <fmt/format.h>

namespace lathe {

namespace {

struct ScopeRow {
  std::string_view prefix;  // A tag may follow.
  StorageRank rank;
};
constexpr ScopeRow kScopes[] = {{"global", StorageRank::kGlobal},
                                {"local", StorageRank::kLocal},
                                {"register", StorageRank::kLocal},
                                {"shared", StorageRank::kShared},
                                {"warp", StorageRank::kWarp},
                                {"wmma.matrix_a", StorageRank::kFragment},
                                {"wmma.matrix_b", StorageRank::kFragment},
                                {"wmma.accumulator", StorageRank::kFragment},
                                {"m16n8k8.matrix", StorageRank::kFragment},
                                {"texture", StorageRank::kTexture},
                                {"amx.tmm", StorageRank::kFragment},
                                {"metal.simdgroup", StorageRank::kFragment}};

}  // namespace

StatusOr<StorageScope> ParseStorageScope(std::string_view text) {
  if (text.empty()) return StorageScope{};
  std::string known;
  for (const auto& [prefix, rank] : kScopes) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", prefix);
    if (!text.starts_with(prefix)) continue;
    if (rank == StorageRank::kFragment) return StorageScope{rank, "", std::string(text)};
    return StorageScope{rank, std::string(text.substr(prefix.size())), ""};
  }
  return InvalidArgument(fmt::format("\"{}\" is no storage scope; a scope begins with one of: {}", text, known));
}

std::string_view ScopeOf(const Var& data) {
  const bool is_known = data.pointer() != nullptr && !data.pointer()->scope.empty();
  return is_known ? std::string_view(data.pointer()->scope) : "global";
}

}  // namespace lathe
