// Tensor intrinsics as te declares them: an operation over small tensors, and the statements that compute it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/te/operation.h"

namespace lathe::te {

struct DeclaredIntrin {
  std::string name;
  Operation op;                       // A compute of one result.
  std::vector<Buffer> buffers;        // What the statements call the operation's inputs, in order, then its result.
  Stmt body;                          // Of a reduction: all of it, from its start.
  std::optional<Stmt> reset, update;  // Its start, and one more part of it.
};

// Registers the intrinsic, and that of its reset where it has one, for tensorize: gives their names. InvalidArgument
// where the operation is no compute of one result or the buffers are not one for each of its tensors.
struct IntrinNames {
  std::string update;
  std::optional<std::string> reset;
};
StatusOr<IntrinNames> RegisterIntrin(const DeclaredIntrin& intrin);

}  // namespace lathe::te
