// Runs a compiled network: the kernels of an artifact in the order of its section `.lathe.graph`, on one arena.
//
// Extents that the inputs decide (symbols) may differ from run to run, within the limits that the artifact states;
// states (such as a key/value cache) live from run to run, one copy per executor.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/graph.h"
#include "runtime/ndarray.h"

namespace lathe {

struct TensorInfo {
  std::string name;  // What the model calls it.
  DType dtype;
  std::vector<Extent> dims;  // A symbol is the one with that number of `Executor::symbols`.

  // The extents where all are numbers, else nullopt.
  std::optional<std::vector<int64_t>> ConstantShape() const;
};

// The time of one kernel call of one run.
struct KernelTime {
  const std::string* kernel;  // Lives as long as the executor.
  int64_t nanoseconds = 0;
};

// Serves one Run at a time; several executors of one artifact are independent.
class Executor {
 public:
  // Loads the artifact and its constants, takes the arena, and checks every call against its kernel's metadata. `pool`
  // outlives the executor.
  static RuntimeResult<Executor> Load(const std::string& path, ThreadPool& pool,
                                      uint64_t workspace_limit_bytes = uint64_t{1} << 30);
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::vector<GraphSymbol>& symbols() const;
  // As after Load: zeros, or what the artifact says.
  void ResetStates();

  // The outputs for `inputs` in order, in memory that no array of an earlier run has any more. Inputs that kernels
  // cannot read in place (strides, an offset, an address that is not aligned) are copied. With `times`, one row per
  // kernel call.
  RuntimeResult<std::vector<NDArray>> Run(std::span<const TensorView> inputs, std::vector<KernelTime>* times = nullptr);
  // The same, with one view per output: one that has `data` is compact memory of the caller's that the output is
  // written to (in place where it is aligned to LATHE_BUFFER_ALIGNMENT), and that overlaps no other tensor of the call;
  // the array of that output is this memory. One without `data` is as in Run.
  RuntimeResult<std::vector<NDArray>> RunInto(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                                              std::vector<KernelTime>* times = nullptr);

 private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lathe
