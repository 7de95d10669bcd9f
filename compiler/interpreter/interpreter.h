// The oracle: what a PrimFunc means, at any stage between the user's text and lowered loops. Schedules, passes and
// generated code are compared with it.
//
// Meaning: integers wrap to their width; every float operation is rounded to its dtype (transcendental functions are
// computed in double and rounded); float to int truncates, NaN to 0, too large to the nearest end; Select evaluates all
// its operands, T.if_then_else only the chosen one, and/or the right one unless it reads memory and the left one
// decides. Every fault ends the run with a Status that names
// buffer, indices, block and loops:
//   - kOutOfRange: an access outside a buffer's shape, an iter var outside its domain;
//   - kFailedPrecondition: a read of an element nobody wrote (where an assignment copies it into an allocation, the
//     copy is what nobody wrote); a data race (two iterations of one parallel or vectorized loop, two threads without a
//     barrier between or two blocks touch one element, and one of them writes it); a barrier or shuffle that only some
//     threads reach; a touch of what an asynchronous copy has not finished with; a failed assert;
//   - kInvalidArgument: integer division by zero; malformed IR; arguments that do not fit the parameters;
//   - kDeadlineExceeded: the step limit; kResourceExhausted: the memory limit;
//   - kUnimplemented: operations outside compiler/ir/op.cc's table, and a buffer that reads the memory of another as
//     another type.
// The outermost loop bound to blockIdx or threadIdx is a kernel (docs/decisions/0026-kernels-run-in-step.md): its
// blocks run one after the other, the threads of a block in step, each statement for all of them before the next.
// Shared memory is one per block, warp memory one per 32 threads, any other allocation is a thread's own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "compiler/interpreter/tensor.h"
#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Which arithmetic floats follow.
enum class FloatMode : uint8_t {
  kExact,    // Each dtype's own rounding.
  kFloat64,  // No rounding anywhere, intermediate buffers included; arguments keep their dtype, or are float64 tensors.
};

struct InterpreterOptions {
  FloatMode float_mode = FloatMode::kExact;
  bool check_uninitialized = true;
  // Allocations must stand where they are lowered to: a buffer at the root that a parallel loop reuses in each
  // iteration races before PlanAndUpdateBufferAllocationLocation and not after it.
  bool check_races = true;
  // A function whose barriers are not placed yet: each statement of a kernel ends for all threads of a block before the
  // next one begins.
  bool implies_barriers = false;
  int64_t max_steps = int64_t{1} << 40;     // Statements executed.
  int64_t max_elements = int64_t{1} << 28;  // In all buffers together.
  int64_t* steps_taken = nullptr;           // If set, raised by the statements executed, after a fault as well.
};

// A PrimFunc made ready to run: variables in slots, buffers with strides. Immutable; runs may share it between threads.
class InterpretedFunc {
 public:
  static StatusOr<InterpretedFunc> Compile(const PrimFunc& func, FloatMode float_mode = FloatMode::kExact);
  InterpretedFunc(InterpretedFunc&&) noexcept;
  InterpretedFunc& operator=(InterpretedFunc&&) noexcept;
  ~InterpretedFunc();

  // One tensor per parameter in order; a scalar parameter is a tensor without dimensions. Symbolic extents are taken
  // from the tensors' shapes. On error `args` are as they were. `options.float_mode` must be that of Compile.
  Status Run(std::span<Tensor> args, const InterpreterOptions& options = {}) const;

 private:
  struct Impl;
  explicit InterpretedFunc(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Compiles and runs once.
Status Interpret(const PrimFunc& func, std::span<Tensor> args, const InterpreterOptions& options = {});

}  // namespace lathe
