#include "compiler/transform/storage_scope.h"

#include <fmt/format.h>

namespace lathe {

StatusOr<StorageScope> ParseStorageScope(std::string_view text) {
  static constexpr std::pair<std::string_view, StorageRank> kPrefixes[] = {{"global", StorageRank::kGlobal},
                                                                           {"shared", StorageRank::kShared},
                                                                           {"warp", StorageRank::kWarp},
                                                                           {"local", StorageRank::kLocal},
                                                                           {"wmma.", StorageRank::kFragment},
                                                                           {"m16n8k8.", StorageRank::kFragment},
                                                                           {"texture", StorageRank::kTexture},
                                                                           {"amx.tmm", StorageRank::kFragment},
                                                                           {"metal.simdgroup", StorageRank::kFragment}};
  if (text.empty()) return StorageScope{};
  for (const auto& [prefix, rank] : kPrefixes) {
    if (!text.starts_with(prefix)) continue;
    if (rank == StorageRank::kFragment) return StorageScope{rank, "", std::string(text)};
    return StorageScope{rank, std::string(text.substr(prefix.size())), ""};
  }
  return InvalidArgument(fmt::format("unknown storage scope \"{}\"", text));
}

std::string_view ScopeOf(const Var& data) {
  const bool is_known = data.pointer() != nullptr && !data.pointer()->scope.empty();
  return is_known ? std::string_view(data.pointer()->scope) : "global";
}

}  // namespace lathe
