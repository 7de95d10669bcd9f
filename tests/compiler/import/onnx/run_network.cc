#include "tests/compiler/import/onnx/run_network.h"

#include <onnx/onnx_pb.h>

#include <cstring>

#include "compiler/interpreter/interpreter.h"
#include "compiler/relax/pipeline.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

StatusOr<DataType> TypeOf(reference::DataType type) {
  using From = reference::DataType;
  switch (type) {
    case From::kFloat32:
      return DataType::Float(32);
    case From::kFloat64:
      return DataType::Float(64);
    case From::kFloat16:
      return DataType::Float(16);
    case From::kBfloat16:
      return DataType::BFloat();
    case From::kInt8:
      return DataType::Int(8);
    case From::kInt16:
      return DataType::Int(16);
    case From::kInt32:
      return DataType::Int(32);
    case From::kInt64:
      return DataType::Int(64);
    case From::kUint8:
      return DataType::UInt(8);
    case From::kUint16:
      return DataType::UInt(16);
    case From::kUint32:
      return DataType::UInt(32);
    case From::kUint64:
      return DataType::UInt(64);
    case From::kBool:
      return DataType::Bool();
  }
  return InvalidArgument("unknown type");
}

reference::DataType TypeOf(DataType type) {
  using To = reference::DataType;
  for (int number = 1; number <= 16; ++number) {
    const StatusOr<To> candidate = reference::DataTypeFromOnnx(number);
    if (candidate.ok() && TypeOf(*candidate).ok() && *TypeOf(*candidate) == type) return *candidate;
  }
  return To::kFloat32;
}

// All memory of one run.
class Memory {
 public:
  Memory(const relax::ExecutorPlan& plan, std::vector<Tensor> inputs)
      : plan_(plan), inputs_(std::move(inputs)), constants_(relax::SerializeConstants(plan)) {
    arena_.assign(static_cast<size_t>(plan.arena_bytes),
                  std::byte{0xff});  // NaN for floats: what is read before it is written shows.
    for (const relax::PlanPort& port : plan.outputs)
      outputs_.push_back(std::vector<std::byte>(BytesOf(plan.values[port.value])));
  }
  static size_t BytesOf(const relax::PlanValue& value) {
    return static_cast<size_t>(relax::ElementCount(value.constant_shape()).value() * value.dtype.bytes());
  }

  std::byte* Address(const relax::PlanValue& value) { return BaseOf(value) + value.offset * value.dtype.bytes(); }

  std::byte* BaseOf(const relax::PlanValue& value) {
    switch (value.storage) {
      case LATHE_STORAGE_INPUT:
        return inputs_[value.place].data.data();
      case LATHE_STORAGE_OUTPUT:
        return outputs_[value.place].data();
      case LATHE_STORAGE_CONSTANT:
        return reinterpret_cast<std::byte*>(constants_.data()) + value.place;
      case LATHE_STORAGE_ARENA:
        return arena_.data() + value.place;
      default:
        break;
    }
    return nullptr;
  }

  Status Call(const relax::PlanCall& call, const PrimFunc& func) {
    std::vector<Tensor> args;
    for (const uint32_t arg : call.args) {
      const relax::PlanValue& value = plan_.values[arg];
      const std::byte* data = Address(value);
      args.push_back({value.dtype, value.constant_shape(), std::vector<std::byte>(data, data + BytesOf(value))});
    }
    args.back().is_initialized = false;
    InterpreterOptions options;
    options.check_races = false;
    RETURN_IF_ERROR(Interpret(func, args, options));
    const relax::PlanValue& result = plan_.values[call.args.back()];
    if (BytesOf(result) > 0) std::memcpy(Address(result), args.back().data.data(), BytesOf(result));
    return OkStatus();
  }

  reference::Tensor Output(size_t i) {
    const relax::PlanValue& value = plan_.values[plan_.outputs[i].value];
    const std::byte* data = Address(value);
    const relax::TensorData tensor(value.dtype, value.constant_shape(),
                                   std::vector<std::byte>(data, data + BytesOf(value)));
    const reference::DataType type = TypeOf(value.dtype);
    return reference::IsFloat(type) ? reference::Tensor::Floats(value.constant_shape(), tensor.ToDoubles(), type)
                                    : reference::Tensor::Ints(value.constant_shape(), tensor.ToInts(), type);
  }

 private:
  const relax::ExecutorPlan& plan_;
  std::vector<Tensor> inputs_;
  std::string constants_;
  std::vector<std::byte> arena_;
  std::vector<std::vector<std::byte>> outputs_;
};

}  // namespace

StatusOr<relax::IRModule> ImportAndOptimize(const onnx::ModelProto& model, const RunOptions& options) {
  ASSIGN_OR_RETURN(relax::IRModule module, ImportOnnxBytes(model.SerializeAsString(), "test"));
  return relax::OptimizeForTuning(std::move(module), options.target, options.opt_level);
}

StatusOr<std::vector<reference::Tensor>> RunPlan(const relax::IRModule& module,
                                                 const std::vector<reference::Tensor>& inputs) {
  ASSIGN_OR_RETURN(const relax::ExecutorPlan plan, relax::MakeExecutorPlan(module));
  if (plan.inputs.size() != inputs.size()) return InvalidArgument("wrong number of inputs");
  std::vector<Tensor> tensors;
  for (const reference::Tensor& input : inputs) {
    ASSIGN_OR_RETURN(const DataType type, TypeOf(input.type));
    tensors.push_back(reference::IsFloat(input.type) ? Tensor::FromDoubles(type, input.dims, input.floats)
                                                     : Tensor::FromInts(type, input.dims, input.ints));
  }
  Memory memory(plan, std::move(tensors));
  for (const relax::PlanCall& call : plan.calls)
    RETURN_IF_ERROR(memory.Call(call, *module.Find(call.kernel)).WithContext(call.kernel));
  std::vector<reference::Tensor> outputs;
  for (size_t i = 0; i < plan.outputs.size(); ++i) outputs.push_back(memory.Output(i));
  return outputs;
}

StatusOr<std::vector<reference::Tensor>> RunNetwork(const onnx::ModelProto& model,
                                                    const std::vector<reference::Tensor>& inputs,
                                                    const RunOptions& options) {
  ASSIGN_OR_RETURN(const relax::IRModule module, ImportAndOptimize(model, options));
  return RunPlan(module, inputs);
}

}  // namespace lathe
