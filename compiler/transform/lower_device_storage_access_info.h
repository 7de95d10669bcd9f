#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// A memory of its own kind ("local.in_buffer").
struct MemoryInfo {
  int64_t unit_bits = 0;             // What an address counts.
  std::optional<Expr> head_address;  // Where it begins; nullopt: it is not addressed.
};
using MemoryInfoOf = std::function<std::optional<MemoryInfo>(const std::string& scope)>;

// Memory of such a kind is not allocated: its variable is the address where it begins, or nothing is left of it.
//   p = T.allocate([16], "float32", "global.mine")  -->  with T.LetStmt(head_address) as p
// T.tvm_access_ptr becomes T.address_of an element; of such memory, where a number is wanted, the number of the unit.
// InvalidArgument: nothing is known of a scope, or its units do not hold whole elements.
StatusOr<PrimFunc> LowerDeviceStorageAccessInfo(PrimFunc func, const MemoryInfoOf& info_of);

}  // namespace lathe
