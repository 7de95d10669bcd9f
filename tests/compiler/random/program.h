// Random TensorIR for the tests of schedules, passes and generated code: programs as people write them, with whatever
// makes a schedule hard to get right (tests/compiler/random/features.h lists it and finds it again).
//
// Every program is well-formed and may be executed: accesses are in bounds, nothing is read before it is written, iter
// vars are what they claim to be (instances that differ in a spatial iter var may run in any order). All values are
// integers small enough for their dtype, floats included: no order of a sum and no fused multiply-add changes a bit.
// So before, after and generated code agree bitwise or one of them is wrong.
#pragma once

#include <vector>

#include "compiler/interpreter/tensor.h"
#include "compiler/ir/stmt.h"
#include "support/random.h"

namespace lathe {

// An extent: `scale` times the program's symbolic extent, plus `constant`.
struct Dim {
  int64_t scale = 0, constant = 0;
  bool is_constant() const { return scale == 0; }
  bool is_plain() const { return scale == 0 || constant == 0; }  // What a kernel's parameter may have today.
  int64_t At(int64_t symbol) const { return scale * symbol + constant; }
  bool operator==(const Dim&) const = default;
};
using Shape = std::vector<Dim>;

// What a parameter wants to be given.
struct ParamRole {
  enum class Kind : uint8_t {
    kData,         // Integers of at most `limit` in absolute value.
    kIndex,        // Integers in [0, indexed).
    kPermutation,  // Each of [0, indexed) once.
    kOutput,       // Anything: all of it is written before any of it is read.
    kExtent,       // The symbolic extent, a scalar.
  };
  Kind kind = Kind::kData;
  Shape shape;
  int64_t limit = 0;
  Dim indexed;
};

struct RandomProgram {
  PrimFunc func;
  std::vector<ParamRole> roles;  // One per parameter.
  bool is_symbolic = false;
};

RandomProgram MakeRandomProgram(uint64_t seed);

// Arguments for the symbolic extent `symbol` >= 1 (no matter where the program has none). Outputs hold a pattern and
// count as not initialised.
std::vector<Tensor> MakeArguments(const RandomProgram& program, Random random, int64_t symbol);

}  // namespace lathe
