// The loops and blocks that compute an operation's results: what everything that makes a program of tensors shares.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "compiler/te/operation.h"

namespace lathe::te {

using ExprRewrite = std::function<Expr(const Expr&)>;

// The axes of a compute by the blocks of its nest, outermost first: a reduction axis stands in a block inside of that
// whose axes its domain depends on after `rewrite`.
std::vector<std::vector<IterVar>> AxisLevels(const ComputeOp& compute, const ExprRewrite& rewrite);
// Of a reduction: which of them has the init.
size_t LevelOfInit(const ComputeOp& compute, const std::vector<std::vector<IterVar>>& levels);

// The nest that stores to `results`, a buffer per result of `op`, which is a compute or an extern. `rewrite` is applied
// to what is stored. What an extern knows of its tensors' buffers, such as where they begin, is that of those that
// `moved` has in their place.
Stmt MakeNest(const OperationNode& op, const std::vector<Buffer>& results, const ExprRewrite& rewrite,
              const BufferMap& moved = {});
// Those of a compute of several results that is no reduction, each with loops of its own.
std::vector<Stmt> MakeNestsApart(const OperationNode& op, const std::vector<Buffer>& results,
                                 const ExprRewrite& rewrite);
// A function of `nests` whose blocks have names of their own; `computed` buffers that are no parameters are allocated
// at its root.
PrimFunc AssembleFunc(std::string name, const std::vector<Param>& params, const std::vector<Stmt>& nests,
                      std::span<const Buffer> computed, AttrMap attrs, LoneBlock lone = LoneBlock::kIsChild);

}  // namespace lathe::te
