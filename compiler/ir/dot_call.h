// Calls of LLVM that multiply neighbours and add them up: the dot products of x86-64 and ARM.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compiler/ir/expr.h"

namespace lathe {

// What the call of LLVM's function `name` ("llvm.x86.avx512.vpdpbusd.512", "llvm.aarch64.neon.sdot") computes, in
// operations, for example of the first, on 16 lanes of int32 that hold four bytes each:
//   sum + u8(a, 0) * s8(b, 0) + ... + u8(a, 3) * s8(b, 3)
// nullopt: another function, or arguments of other types than it takes. Arguments stand there several times. Sums of
// bfloat16 go from the last of its neighbours to the first, each rounded to float32; the processor takes numbers below
// the normal ones as 0.
std::optional<Expr> DotCall(std::string_view name, DataType type, std::span<const Expr> args);

// An instruction that a call is, with the feature that has it, by LLVM's name.
struct DotInstruction {
  std::string_view name, feature;
  DataType result, argument;  // Of the sum, which stands first where there is one, and of the two others.
  bool has_sum;
};
struct DotUse {
  const DotInstruction* instruction;
  std::span<const Expr> args;
};
// nullopt: it is none. Of what is returned `args` live as long as the call.
std::optional<DotUse> AsDotInstruction(const Expr& call);

}  // namespace lathe
