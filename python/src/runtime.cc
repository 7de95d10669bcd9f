// Tensors with numpy in and out, and calls of kernels with them.
#include "python/src/runtime.h"

#include <fmt/format.h>
#include <pybind11/numpy.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "compiler/ir/data_type.h"
#include "compiler/target/target.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "runtime/context.h"
#include "runtime/cpu_features.h"
#include "runtime/kernel_call.h"

namespace lathe::python {
namespace {

constexpr uint64_t kWorkspaceLimit = uint64_t{4} << 30;

void CheckRuntime(const RuntimeError& error) {
  if (!error.ok()) throw Failure(ErrorKind::kTvm, error.message);
}
template <typename T>
T ValueOrRaise(RuntimeResult<T> result) {
  if (!result.ok()) CheckRuntime(result.error());
  return *std::move(result);
}

// One for all kernels of the process that may use as many threads, made at the first call.
ThreadPool& PoolOf(int num_threads) {
  static std::mutex mutex;
  static auto* pools = new std::map<int, std::unique_ptr<ThreadPool>>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<ThreadPool>& pool = (*pools)[num_threads];
  if (pool == nullptr) pool = ValueOrRaise(ThreadPool::Create(num_threads));
  return *pool;
}

int ThreadsFor(const ArtifactMeta& artifact) {
  const auto num_cpus = static_cast<int>(AvailableCpus().size());
  const StatusOr<Target> target = Target::Parse(artifact.target);
  return std::clamp(target.ok() ? target->num_cores() : num_cpus, 1, num_cpus);
}

DType ToDType(DataType type) { return {static_cast<DTypeCode>(type.code), type.bits, type.lanes}; }

// numpy has no bfloat16: its bits travel as uint16.
py::dtype NumpyType(DType type) { return py::dtype(type.code == DTypeCode::kBFloat ? "uint16" : type.Name()); }

// The same memory as a numpy array, which keeps the tensor alive.
py::array AsNumpy(const NDArray& array) {
  py::capsule owner(new NDArray(array), [](void* tensor) { delete static_cast<NDArray*>(tensor); });
  return py::array(NumpyType(array.dtype()), array.shape(), array.data(), owner);
}

void CopyFrom(const NDArray& array, const py::object& source) {
  const py::array compact = py::module_::import("numpy").attr("asarray")(
      source, py::arg("dtype") = NumpyType(array.dtype()), py::arg("order") = "C");
  const std::vector<int64_t> shape(compact.shape(), compact.shape() + compact.ndim());
  if (shape != array.shape())
    throw Failure(ErrorKind::kValue, fmt::format("copyfrom: the source has shape [{}], [{}] required; reshape it",
                                                 fmt::join(shape, ", "), fmt::join(array.shape(), ", ")));
  std::memcpy(array.data(), compact.data(), static_cast<size_t>(array.size_bytes()));
}

NDArray FromNumpy(const py::array& source) {
  const std::optional<DataType> type = ToDataType(py::str(source.dtype().attr("name")));
  if (!type || !ToDType(*type).is_supported())
    throw Failure(ErrorKind::kType,
                  "array: elements of numpy type " + py::cast<std::string>(py::str(source.dtype())) + " are not known");
  NDArray array = ValueOrRaise(
      NDArray::Create(ToDType(*type), std::vector<int64_t>(source.shape(), source.shape() + source.ndim())));
  CopyFrom(array, source);
  return array;
}

// The scalar arguments of a call by their bit patterns, as the kernel ABI has them. What its parameter's type does not
// hold is refused: a cut number looks like an answer.
class ScalarArgument {
 public:
  ScalarArgument(const std::string& kernel, size_t position, const ParamMeta& param, py::handle value)
      : kernel_(kernel), position_(position), param_(param), value_(value) {}

  int64_t Bits() const { return param_.dtype.is_floating() ? FloatBits() : IntegerBits(); }

 private:
  [[noreturn]] void Refuse(ErrorKind kind, const std::string& required) const {
    std::string given = py::cast<std::string>(py::repr(value_));
    if (given.size() > 60) given = given.substr(0, 57) + "...";
    throw Failure(kind, fmt::format("call {}: argument {} ({}) is {}; {} required", kernel_, position_, param_.name,
                                    given, required));
  }
  int64_t IntegerBits() const {
    const DType type = param_.dtype;
    if (PyIndex_Check(value_.ptr()) == 0)
      Refuse(ErrorKind::kType, type.code == DTypeCode::kBool ? "a bool" : "an integer");
    const auto number = py::reinterpret_steal<py::int_>(PyNumber_Index(value_.ptr()));
    if (!number) throw py::error_already_set();
    const bool is_signed = type.code == DTypeCode::kInt;
    const int bits = type.code == DTypeCode::kBool ? 1 : type.bits;
    const py::int_ one(1), end = one << py::int_(is_signed ? bits - 1 : bits), begin = is_signed ? -end : py::int_(0);
    if (number < begin || number >= end)
      Refuse(ErrorKind::kValue, fmt::format("{} to {}, all of {},", py::cast<std::string>(py::repr(begin)),
                                            py::cast<std::string>(py::repr(end - one)), type.Name()));
    return is_signed ? py::cast<int64_t>(number) : static_cast<int64_t>(py::cast<uint64_t>(number));
  }
  int64_t FloatBits() const {
    const DType type = param_.dtype;
    const bool is_number = PyFloat_Check(value_.ptr()) != 0 || PyIndex_Check(value_.ptr()) != 0 ||
                           (py::hasattr(value_, "__float__") && !PyComplex_Check(value_.ptr()));
    if (!is_number) Refuse(ErrorKind::kType, "a number");
    const double number = PyFloat_AsDouble(value_.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      Refuse(ErrorKind::kValue, "a number that " + type.Name() + " holds");
    }
    const double stored = type.bits == 64   ? number
                          : type.bits == 32 ? static_cast<float>(number)
                                            : HalfToFloat(FloatToHalf(static_cast<float>(number)));
    if (std::isfinite(number) && !std::isfinite(stored))
      Refuse(ErrorKind::kValue, "a number that " + type.Name() + " holds");
    if (type.bits == 64) return std::bit_cast<int64_t>(number);
    if (type.bits == 32) return std::bit_cast<int32_t>(static_cast<float>(number));
    return FloatToHalf(static_cast<float>(number));
  }

  const std::string& kernel_;
  const size_t position_;
  const ParamMeta& param_;
  const py::handle value_;
};

struct CallArguments {
  std::vector<NDArray> keep;
  std::vector<TensorView> buffers;
  std::vector<int64_t> scalars;
};

// The memory for what it returns is no argument of callers.
bool Returns(const KernelMeta& kernel) { return !kernel.params.empty() && kernel.params.back().name == "return"; }

CallArguments SortArguments(const KernelMeta& kernel, const py::args& args) {
  const size_t num_args = kernel.params.size() - (Returns(kernel) ? 1 : 0);
  if (args.size() != num_args)
    throw Failure(ErrorKind::kTvm,
                  fmt::format("call {}: {} arguments are expected, {} given", kernel.name, num_args, args.size()));
  CallArguments sorted;
  for (size_t i = 0; i < args.size(); ++i) {
    const ParamMeta& param = kernel.params[i];
    if (param.kind == ParamKind::kScalar) {
      sorted.scalars.push_back(ScalarArgument(kernel.name, i, param, args[i]).Bits());
    } else if (!py::isinstance<NDArray>(args[i])) {
      throw Failure(ErrorKind::kType, fmt::format("call {}: argument {} ({}) is no tensor; make one by lathe.nd.array",
                                                  kernel.name, i, param.name));
    } else {
      sorted.keep.push_back(py::cast<NDArray>(args[i]));
    }
  }
  if (Returns(kernel)) sorted.keep.push_back(ValueOrRaise(NDArray::Create(kernel.params.back().dtype, {1})));
  for (const NDArray& array : sorted.keep) sorted.buffers.push_back(array.view());
  return sorted;
}

void RunWithoutPython(const Artifact::Kernel& kernel, const KernelArguments& bound, int num_threads) {
  const py::gil_scoped_release others_may_run;
  KernelContext context(PoolOf(num_threads), kWorkspaceLimit);
  CheckRuntime(CallKernel(kernel, bound, context));
}

void BindArray(py::module_& module) {
  py::class_<NDArray>(module, "NDArray")
      .def_property_readonly("shape", [](const NDArray& a) { return py::tuple(py::cast(a.shape())); })
      .def_property_readonly("dtype", [](const NDArray& a) { return a.dtype().Name(); })
      .def("numpy", [](const NDArray& a) { return AsNumpy(a).attr("copy")(); })
      .def("view_numpy", &AsNumpy)
      .def("copyfrom",
           [](const NDArray& a, const py::object& source) {
             CopyFrom(a, source);
             return a;
           })
      .def("reshape",
           [](const NDArray& a, const std::vector<int64_t>& shape) { return ValueOrRaise(a.Reshape(shape)); })
      .def("same_as", [](const NDArray& a, const NDArray& b) { return a.data() == b.data(); });
  module.def("array_empty", [](const std::vector<int64_t>& shape, DataType type) {
    return ValueOrRaise(NDArray::Create(ToDType(type), shape));
  });
  module.def("array_from_numpy", &FromNumpy);
}

}  // namespace

RuntimeModule::RuntimeModule(Artifact artifact, std::string path, std::shared_ptr<const void> keeps)
    : artifact_(std::move(artifact)),
      path_(std::move(path)),
      keeps_(std::move(keeps)),
      num_threads_(ThreadsFor(artifact_.meta())) {}

std::shared_ptr<RuntimeModule> RuntimeModule::Load(const std::string& path, std::shared_ptr<const void> keeps) {
  return std::shared_ptr<RuntimeModule>(new RuntimeModule(ValueOrRaise(Artifact::Open(path)), path, std::move(keeps)));
}

std::vector<std::string> RuntimeModule::Names() const {
  std::vector<std::string> names;
  for (const KernelMeta& kernel : artifact_.meta().kernels) names.push_back(kernel.name);
  return names;
}

py::object RuntimeModule::Call(const std::string& name, const py::args& args) const {
  const Artifact::Kernel kernel = ValueOrRaise(artifact_.Find(name));
  const CallArguments sorted = SortArguments(*kernel.meta, args);
  const KernelArguments bound = ValueOrRaise(BindArguments(*kernel.meta, sorted.buffers, sorted.scalars));
  RunWithoutPython(kernel, bound, num_threads_);
  return Returns(*kernel.meta) ? AsNumpy(sorted.keep.back()).attr("item")() : py::none();
}

void BindRuntime(py::module_& module) {
  BindArray(module);
  py::class_<RuntimeModule, std::shared_ptr<RuntimeModule>>(module, "RuntimeModule")
      .def("names", &RuntimeModule::Names)
      .def_property_readonly("path", &RuntimeModule::path)
      .def("call", &RuntimeModule::Call);
  module.def("load_module", [](const std::string& path) { return RuntimeModule::Load(path); });
}

}  // namespace lathe::python
