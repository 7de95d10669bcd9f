// The table of Relax operators: one row per op says how its result looks, how it fuses and how it becomes a PrimFunc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/ir/stmt.h"
#include "compiler/relax/expr.h"
#include "support/status.h"

namespace lathe::relax {

// TVM's TOpPattern and its numbers.
enum class OpPatternKind : uint8_t {
  kElemWise = 0,   // One output element from the same element of each input.
  kBroadcast = 1,  // The same with broadcast inputs.
  kInjective = 2,  // One output element from one element of each input, anywhere.
  kCommReduce = 3,
  kOutEWiseFusable = 4,  // conv2d, matmul: what follows element by element fuses into it.
  kTuple = 7,
  kOpaque = 8,
};

// What passes that treat several operators alike know them by.
enum class OpFamily : uint8_t {
  kOther,
  kView,        // The same elements in the same order, in another shape.
  kTranspose,   // A view where it moves extents of 1 only.
  kConvolution  // Of an image and weights [O, I, spatial ...].
};

struct Op {
  std::string_view name;  // As TVMScript writes it after "R.", e.g. "nn.conv2d".
  int num_args;           // -1: one tuple of any number of tensors.
  OpPatternKind pattern;
  // The result's struct info. InvalidArgument "nn.conv2d: ..." where arguments do not fit.
  StatusOr<StructInfo> (*infer)(const Call& call);
  // A PrimFunc whose parameters are KernelArgs(call), then the result. Null: the op is none that
  // computes (call_tir), is a view (reshape and the like), or must be rewritten before (batch_norm, dropout).
  StatusOr<PrimFunc> (*legalize)(const Call& call, const StructInfo& result);
  std::string_view kernel_name;  // What the PrimFunc is called: "conv2d".
  OpFamily family = OpFamily::kOther;
};

const Op* FindOp(std::string_view name);  // nullptr if there is none. Rows live for ever; compare by address.
const Op& GetOp(std::string_view name);   // CHECKs that it exists.
const Op& CallTirOp();
std::span<const Op* const> AllOps();

// The op's call with inferred struct info.
StatusOr<Expr> MakeCall(std::string_view op, std::vector<Expr> args, AttrMap attrs = {});
StatusOr<Expr> MakeCall(const Op& op, std::vector<Expr> args, AttrMap attrs = {});

// The tensors among a call's arguments, those of tuples one by one.
std::vector<Expr> TensorArgs(const Call& call);
// A constant without dimensions that an elementwise op's PrimFunc holds as a number instead of taking it as a
// parameter.
bool IsEmbedded(const Call& call, const Expr& arg);
// TensorArgs without the embedded ones: the inputs of the legalized PrimFunc, in order.
std::vector<Expr> KernelArgs(const Call& call);
// Whether the result is the argument's elements in the same order.
bool IsView(const Call& call);
inline bool IsConvolution(const Call& call) { return call.op != nullptr && call.op->family == OpFamily::kConvolution; }

}  // namespace lathe::relax
