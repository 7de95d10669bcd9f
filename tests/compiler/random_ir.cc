#include "tests/compiler/random_ir.h"

#include "tests/compiler/random/program.h"

namespace lathe {

PrimFunc RandomAnyPrimFunc(uint64_t seed, bool symbolic);  // random_any_ir.cc

PrimFunc RandomPrimFunc(uint64_t seed, RandomIrMode mode) {
  return mode == RandomIrMode::kSchedulable ? MakeRandomProgram(seed).func : RandomAnyPrimFunc(seed, false);
}
PrimFunc RandomSymbolicPrimFunc(uint64_t seed) { return RandomAnyPrimFunc(seed, true); }

}  // namespace lathe
