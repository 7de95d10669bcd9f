// Inference needs neither dropout nor batch normalisation: dropout is its input; batch_norm with constant statistics is
// folded into the weights and the bias of the convolution before it where that has no other consumer, else it becomes a
// multiply and an add. A quotient by square roots of which there are fewer than results (norms of rows) becomes a
// product with their reciprocals. Before LegalizeOps, which knows neither of the two.
#pragma once

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

StatusOr<IRModule> SimplifyInference(IRModule module);

}  // namespace lathe::relax
