#include "compiler/interpreter/interpreter.h"

#include <fmt/format.h>

#include "compiler/interpreter/stmt_code.h"
#include "support/status_macros.h"

namespace lathe {

struct InterpretedFunc::Impl {
  std::unique_ptr<FuncCode> code;
  FloatMode float_mode;
};

namespace {

Status ArgumentError(const FuncCode& func, const ParamCode& param, const std::string& what) {
  return InvalidArgument(fmt::format("interpret @{} argument \"{}\": {}", func.name, param.name, what));
}

bool Accepts(DataType param, DataType argument, FloatMode mode) {
  return param == argument ||
         (mode == FloatMode::kFloat64 && param.is_float() && argument == DataType::Float(64, param.lanes));
}

// Gives one value to the variable of `binding`, or demands that it is what is expected.
Status BindOrCompare(Machine& machine, const BindingCode& binding, int64_t actual, const FuncCode& func,
                     const ParamCode& param, size_t dimension) {
  if (binding.slot >= 0) {
    machine.registers[binding.slot].i = actual;
    return OkStatus();
  }
  const int64_t expected = binding.expected->Eval(machine, 0).i;
  if (machine.has_failed) return machine.status();
  if (expected == actual) return OkStatus();
  return ArgumentError(func, param, fmt::format("extent {} is {}, the function wants {}", dimension, actual, expected));
}

Status BindExtents(Machine& machine, const FuncCode& func, const ParamCode& param, const Tensor& arg) {
  for (const bool binds : {true, false}) {
    for (size_t d = 0; d < param.shape.size(); ++d) {
      if ((param.shape[d].slot >= 0) == binds)
        RETURN_IF_ERROR(BindOrCompare(machine, param.shape[d], arg.shape[d], func, param, d));
    }
  }
  int64_t compact = 1;
  for (size_t d = param.strides.size(); d-- > 0;) {
    if (param.strides[d].slot >= 0) machine.registers[param.strides[d].slot].i = compact;
    compact *= arg.shape[d];
  }
  if (param.offset.slot >= 0) machine.registers[param.offset.slot].i = 0;
  return OkStatus();
}

// Copies an argument into cells.
Status LoadArgument(Machine& machine, const FuncCode& func, const ParamCode& param, const Tensor& arg, FloatMode mode,
                    std::unique_ptr<Storage>& storage) {
  if (!Accepts(param.dtype, arg.dtype, mode)) {
    return ArgumentError(
        func, param, fmt::format("dtype is {}, the function wants {}", arg.dtype.ToString(), param.dtype.ToString()));
  }
  if (arg.shape.size() != param.shape.size()) {
    return ArgumentError(func, param,
                         fmt::format("{} dimensions, the function wants {}", arg.shape.size(), param.shape.size()));
  }
  for (const int64_t extent : arg.shape) {
    if (extent < 0) return ArgumentError(func, param, fmt::format("extent {} is negative", extent));
  }
  const DataType element = arg.dtype.element();
  if (param.scalar_slot >= 0) {
    if (arg.data.size() < static_cast<size_t>(element.bytes())) return ArgumentError(func, param, "no data");
    machine.registers[param.scalar_slot] = LoadElement(element, arg.data.data());
    return OkStatus();
  }
  RETURN_IF_ERROR(BindExtents(machine, func, param, arg));
  const int64_t num_elements = param.buffer->Shape(machine);
  if (machine.has_failed) return machine.status();
  if (static_cast<int64_t>(arg.data.size()) / arg.dtype.bytes() < num_elements) {
    return ArgumentError(
        func, param,
        fmt::format("{} bytes, {} elements of {} are needed", arg.data.size(), num_elements, arg.dtype.ToString()));
  }
  storage = machine.NewStorage(num_elements, arg.dtype.lanes, arg.is_initialized, *func.top_site);
  if (storage == nullptr) return machine.status();
  storage->is_argument = true;
  for (size_t i = 0; i < storage->cells.size(); ++i)
    storage->cells[i] = LoadElement(element, arg.data.data() + i * element.bytes());
  machine.views[param.buffer->slot].storage = storage.get();
  return OkStatus();
}

}  // namespace

InterpretedFunc::InterpretedFunc(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InterpretedFunc::InterpretedFunc(InterpretedFunc&&) noexcept = default;
InterpretedFunc& InterpretedFunc::operator=(InterpretedFunc&&) noexcept = default;
InterpretedFunc::~InterpretedFunc() = default;

StatusOr<InterpretedFunc> InterpretedFunc::Compile(const PrimFunc& func, FloatMode float_mode) {
  ASSIGN_OR_RETURN(std::unique_ptr<FuncCode> code, CompileFunc(func, float_mode));
  return InterpretedFunc(std::make_unique<Impl>(Impl{std::move(code), float_mode}));
}

Status InterpretedFunc::Run(std::span<Tensor> args, const InterpreterOptions& options) const {
  const FuncCode& func = *impl_->code;
  CHECK(options.float_mode == impl_->float_mode) << "run in another float mode than compiled for";
  if (args.size() != func.params.size()) {
    return InvalidArgument(fmt::format("interpret @{}: {} arguments, the function has {} parameters", func.name,
                                       args.size(), func.params.size()));
  }
  Machine machine(func.name, options, func.num_registers, func.num_views);
  std::vector<std::unique_ptr<Storage>> storages(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    RETURN_IF_ERROR(LoadArgument(machine, func, func.params[i], args[i], impl_->float_mode, storages[i]));
  }
  func.body->Run(machine);
  if (options.steps_taken != nullptr) *options.steps_taken += machine.steps();
  if (!machine.copies.empty())
    machine.Fail(StatusCode::kFailedPrecondition, *func.top_site,
                 "a copy is still in flight at the end; wait for its group");
  if (!machine.status().ok()) return machine.status();
  for (size_t i = 0; i < args.size(); ++i) {
    if (storages[i] == nullptr) continue;
    const DataType element = args[i].dtype.element();
    for (size_t k = 0; k < storages[i]->cells.size(); ++k)
      StoreElement(element, storages[i]->cells[k], args[i].data.data() + k * element.bytes());
    args[i].is_initialized = true;
  }
  return OkStatus();
}

Status Interpret(const PrimFunc& func, std::span<Tensor> args, const InterpreterOptions& options) {
  ASSIGN_OR_RETURN(const InterpretedFunc compiled, InterpretedFunc::Compile(func, options.float_mode));
  return compiled.Run(args, options);
}

}  // namespace lathe
