// How a PrimFunc's parameters map to the kernel ABI: which pointers, which scalars, which symbols, in which order.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct SignatureParam {
  std::string name;
  std::optional<Buffer> buffer;  // Either a buffer ...
  std::optional<Var> scalar;     // ... or a scalar.
  bool is_read = false, is_written = false;
  bool is_constant = false;  // A weight (attribute "constant_params" holds its position).
};

struct KernelSignature {
  std::string name;                    // The PrimFunc's.
  std::string symbol;                  // In the ELF file: letters, digits and '_' only.
  std::vector<SignatureParam> params;  // In parameter order.
  std::vector<Var> symbols;            // Symbolic extents in order of appearance.
};

// Refuses what the ABI cannot say: strided or offset parameters, extents that are neither a constant nor a variable,
// unknown types. `position` makes the symbol unique in its module.
StatusOr<KernelSignature> MakeSignature(const PrimFunc& func, size_t position);

}  // namespace lathe
