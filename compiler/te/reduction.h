// Reductions over axes: the expressions that a compute may be as a whole.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/expr.h"
#include "support/status.h"

namespace lathe::te {

IterVar ReduceAxis(Range domain, std::string name = "rv");
IterVar ReduceAxisTo(const Expr& extent, std::string name);  // From 0.
// threadIdx.x and the like. Without a domain the extent is what is bound to it.
IterVar ThreadAxis(std::optional<Range> domain, std::string tag, std::string name = "");

// What a combiner is made from: how two tuples combine, and which tuple changes nothing, for elements of these types.
using CombineValues = std::function<std::vector<Expr>(const std::vector<Expr>& lhs, const std::vector<Expr>& rhs)>;
using IdentityValues = std::function<std::vector<Expr>(const std::vector<DataType>& types)>;
// InvalidArgument where either gives another number of values or another type.
StatusOr<CommReducer> MakeReducer(const std::vector<DataType>& types, const CombineValues& combine,
                                  const IdentityValues& identity, const std::string& name = "reduce");

// One expression per component of `source`: the same reduction with another value_index. `init`, unless empty, is what
// the reduction starts from instead of the identity; elements where `condition` does not hold are left out.
// Without an axis the source joins once. InvalidArgument where an axis is no reduction's, or the numbers of values
// differ.
StatusOr<std::vector<Expr>> MakeReduce(const CommReducer& combiner, const std::vector<Expr>& source,
                                       const std::vector<IterVar>& axis, const std::vector<Expr>& init = {},
                                       std::optional<Expr> condition = std::nullopt,
                                       const std::string& name = "reduce");

// The named combiners of one value of type `type`. kSum: identity 0; kProd: 1; kMin: the greatest value; kMax: the
// least; kAll: true; kAny: false.
enum class Combiner : uint8_t { kSum, kProd, kMin, kMax, kAll, kAny };
CommReducer NamedReducer(Combiner combiner, DataType type);
// `source` combined over `axis`.
Expr ReduceOver(Combiner combiner, const Expr& source, const std::vector<IterVar>& axis);

// As literals, as TVM writes them. CHECK that the type has such values.
Expr MinValue(DataType type);
Expr MaxValue(DataType type);

}  // namespace lathe::te
