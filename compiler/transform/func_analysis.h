// Questions about a function that programs ask before and after passes: TVM's tir.analysis.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// InvalidArgument where a variable or a buffer is introduced twice; names it.
Status CheckSsa(const PrimFunc& func);

// Variables used in the node and not introduced in it, in order of appearance.
std::vector<Var> UndefinedVars(const Stmt& stmt);
std::vector<Var> UndefinedVars(const Expr& expr);

// A variable that `after` uses without introducing it, and `before` did not.
std::optional<Var> NewlyUndefined(const Stmt& before, const Stmt& after);

// The loop or block that is the innermost around every access of a buffer; nullopt: only the function is. A block that
// reduces touches what it writes at the loop outside of its outermost reduction loop.
using AccessScope = std::optional<std::variant<Stmt, Block>>;
std::vector<std::pair<Buffer, AccessScope>> DetectBufferAccessLca(const PrimFunc& func);

// Bytes of allocations of constant size that live at once at most, by scope; each is rounded up to `alignment`.
std::map<std::string, int64_t> AllocatedBytes(const PrimFunc& func, int64_t alignment = 1);

// InvalidArgument where bounds of loops and blocks show that an index leaves its dimension; what is unbounded passes.
Status CheckBounds(const PrimFunc& func);

// InvalidArgument where a function whose target is a GPU touches memory of its parameters outside of a launch of
// threads, where the host would have to; names it.
Status CheckMemory(const PrimFunc& func);

}  // namespace lathe
