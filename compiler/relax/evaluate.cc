#include "compiler/relax/evaluate.h"

#include <algorithm>

#include "compiler/interpreter/interpreter.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

constexpr int64_t kMaxSteps =
    int64_t{1} << 28;  // Of one call, some seconds of the interpreter: what takes longer is left to run time.

// Moves bytes; weights are transposed this way much faster than by the interpreter.
TensorData Transpose(const TensorData& data, const std::vector<int64_t>& axes, const std::vector<int64_t>& shape) {
  const size_t rank = shape.size(), size = static_cast<size_t>(data.dtype().bytes());
  std::vector<int64_t> strides(rank, 1), step(rank);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * data.shape()[i];
  for (size_t i = 0; i < rank; ++i) step[i] = strides[axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i]];
  std::vector<std::byte> bytes(data.bytes().size());
  std::vector<int64_t> index(rank, 0);
  int64_t from = 0;
  for (size_t to = 0; to < bytes.size(); to += size) {
    std::memcpy(bytes.data() + to, data.bytes().data() + static_cast<size_t>(from) * size, size);
    for (size_t i = rank; i-- > 0;) {
      from += step[i];
      if (++index[i] < shape[i]) break;
      from -= step[i] * shape[i];
      index[i] = 0;
    }
  }
  return TensorData(data.dtype(), shape, std::move(bytes));
}

StatusOr<TensorData> RunKernel(const Call& call, const StructInfo& result, DataType dtype,
                               const std::vector<int64_t>& shape, EvaluationBudget& budget) {
  for (const Expr& arg : KernelArgs(call)) budget.steps_left -= AsConstant(arg)->num_elements();
  if (budget.steps_left <= 0) return ResourceExhausted("no steps are left");
  ASSIGN_OR_RETURN(const PrimFunc func, call.op->legalize(call, result));
  std::vector<Tensor> args;
  for (const Expr& arg : KernelArgs(call)) {
    const TensorData& data = *AsConstant(arg);
    args.push_back({data.dtype(), data.shape(), std::vector<std::byte>(data.bytes().begin(), data.bytes().end())});
  }
  args.push_back(Tensor::Uninitialized(dtype, shape));
  int64_t taken = 0;
  InterpreterOptions options;
  options.check_races = false;
  options.max_steps = std::min(kMaxSteps, budget.steps_left);
  options.steps_taken = &taken;
  const Status status = Interpret(func, args, options);
  budget.steps_left -= taken;
  RETURN_IF_ERROR(status);
  args.back().data.resize(static_cast<size_t>(ElementCount(shape).value_or(0) * dtype.bytes()));
  return TensorData(dtype, shape, std::move(args.back().data));
}

}  // namespace

StatusOr<std::optional<TensorData>> EvaluateCall(const Call& call, const StructInfo& result, EvaluationBudget& budget) {
  const TensorStructInfo* info = result.As<TensorStructInfo>();
  const std::optional<std::vector<int64_t>> shape = ConstantShapeOf(result);
  if (call.op == nullptr || info == nullptr || !shape) return std::optional<TensorData>();
  const std::vector<Expr> args = TensorArgs(call);
  if (args.empty() ||
      !std::all_of(args.begin(), args.end(), [](const Expr& arg) { return AsConstant(arg) != nullptr; }))
    return std::optional<TensorData>();
  const std::optional<int64_t> count = ElementCount(*shape);
  if (!count || *count > budget.max_bytes / info->dtype.bytes()) return std::optional<TensorData>();
  if (IsView(call)) return std::optional(AsConstant(args[0])->Reshaped(*shape));
  if (call.op->name == "permute_dims")
    return std::optional(Transpose(*AsConstant(args[0]), IntsAttr(call.attrs, "axes"), *shape));
  if (call.op->legalize == nullptr) return std::optional<TensorData>();
  StatusOr<TensorData> data = RunKernel(call, result, info->dtype, *shape, budget);
  if (data.ok()) return std::optional(*std::move(data));
  const bool is_too_much =
      data.code() == StatusCode::kDeadlineExceeded || data.code() == StatusCode::kResourceExhausted;
  return is_too_much ? StatusOr<std::optional<TensorData>>(std::optional<TensorData>()) : data.status();
}

}  // namespace lathe::relax
