// How a PrimFunc's parameters map to the kernel ABI: which pointers, which scalars, which symbols, in which order.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct SignatureParam {
  std::string name;
  std::optional<Buffer> buffer;          // Either a buffer ...
  std::optional<Var> scalar;             // ... or a scalar ...
  std::optional<Var> address;            // ... or memory that the function declares buffers over,
  DataType pointee = DataType::UInt(8);  // of elements of this type.
  bool is_read = false, is_written = false;
  bool is_constant = false;  // A weight (attribute "constant_params" holds its position).
  bool may_alias = false;    // May overlap other parameters that say so.
};

struct KernelSignature {
  std::string name;                    // The PrimFunc's.
  std::string symbol;                  // In the ELF file: letters, digits and '_' only.
  std::vector<SignatureParam> params;  // In parameter order.
  std::vector<Var> symbols;            // What tensors tell: extents, strides, offsets that are variables of their own.
};

// Refuses what the ABI cannot say: vector elements, unknown types. Extents may be expressions over symbols and scalar
// parameters (metadata.h refuses others). `position` makes the symbol unique in its module.
StatusOr<KernelSignature> MakeSignature(const PrimFunc& func, size_t position);

}  // namespace lathe
