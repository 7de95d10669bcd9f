// The commutative reducers that schedules may take apart, TVM's: sum, product, min, max, pairs of sums, argmin, argmax.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// One value per output: x is what is there, y what comes.
struct Reducer {
  std::string_view name;
  size_t arity;
  bool (*is_identity)(const std::vector<Expr>& values);
  std::vector<Expr> (*combine)(const std::vector<Expr>& x, const std::vector<Expr>& y);
};

// A reduction block taken apart: each output becomes `reducer` of itself and its term, from its identity.
struct MatchedReduction {
  const Reducer* reducer;
  std::vector<Buffer> outputs;
  std::vector<std::vector<Expr>> indices;  // By output.
  std::vector<Expr> identities, terms;     // By output; in terms of the block's iter vars.
};

// FailedPrecondition, without a place, if init and body of the block are no known reducer of its outputs. Several
// outputs are computed by lets before the first is stored.
StatusOr<MatchedReduction> MatchReduction(const BlockNode& block);

// The stores of outputs[i] = reducer(outputs[i], terms[i]): several through lets named "v_" and the output.
Stmt MakeUpdate(const Reducer& reducer, const std::vector<Buffer>& outputs,
                const std::vector<std::vector<Expr>>& indices, const std::vector<Expr>& terms);

}  // namespace lathe
