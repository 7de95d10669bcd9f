"""Tensors in memory, with numpy and DLPack in and out."""
import ctypes

import numpy

from lathe import _lib
from lathe.error import TVMError


class Device:
    """Where a tensor lies. Kernels run on the CPU."""

    kDLCPU, kDLCUDA = 1, 2
    _NAMES = {1: "cpu", 2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 9: "vpi", 10: "rocm", 12: "ext_dev",
              14: "hexagon", 15: "webgpu"}

    def __init__(self, device_type, device_id=0):
        self.device_type, self.device_id = device_type, device_id

    @property
    def exist(self):
        return self.device_type == self.kDLCPU and self.device_id == 0

    # Of a CPU TVM says none of these, and there is no other device.
    device_name = compute_version = max_clock_rate = multi_processor_count = max_thread_dimensions = None
    max_threads_per_block = max_shared_memory_per_block = warp_size = total_global_memory = None
    available_global_memory = l2_cache_size_bytes = api_version = driver_version = None

    def sync(self, stream=None):
        """Nothing is under way when a call has returned."""

    def create_raw_stream(self):
        """A CPU has no queues of calls."""

    def set_raw_stream(self, stream):
        """Nothing waits."""

    free_raw_stream = set_raw_stream

    def texture_spatial_limit(self):
        """A CPU has no textures."""

    def __eq__(self, other):
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self):
        return hash((self.device_type, self.device_id))

    def __repr__(self):
        return f"{self._NAMES[self.device_type]}({self.device_id})"


def device(dev_type, dev_id=0):
    """The device of that name or number."""
    if isinstance(dev_type, str):
        kind = dev_type.split()[0]
        kind = {"llvm": "cpu", "c": "cpu", "nvptx": "cuda"}.get(kind, kind)
        numbers = {name: number for number, name in Device._NAMES.items()}
        if kind not in numbers:
            raise ValueError(f'device: there is no kind "{kind}"; known: {", ".join(numbers)}')
        dev_type = numbers[kind]
    return Device(dev_type, dev_id)


def _maker(kind):
    def make(dev_id=0):
        return device(kind, dev_id)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"A device of the kind \"{kind}\"."
    return make


cpu, cuda, opencl, vulkan, metal, vpi, rocm, ext_dev, hexagon, webgpu = map(_maker, Device._NAMES.values())
gpu = cuda


class NDArray:
    """A tensor in host memory, aligned as kernels want it."""

    def __init__(self, array):
        self._array = array

    @staticmethod
    def of_numbers(numbers, dtype, shape):
        """The tensor of constants of the compiler, in row-major order."""
        values = [getattr(number, "value", number) for number in numbers]
        return array(numpy.array(values, str(dtype)).reshape([int(extent) for extent in shape]))

    @staticmethod
    def from_attr(attr):
        """The tensor that an attribute of a module says."""
        return NDArray.of_numbers(attr["data"], attr["dtype"], attr["shape"])

    def as_attr(self):
        """As an attribute of modules: plain numbers."""
        return {"data": self.numpy().reshape(-1).tolist(), "dtype": str(self.dtype), "shape": list(self.shape)}

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: len(self._array.shape))
    device = ctx = property(lambda self: cpu())

    def numpy(self):
        """A copy as a numpy array."""
        return self._array.numpy()

    asnumpy = numpy

    def copyfrom(self, source):
        self._array.copyfrom(source.numpy() if isinstance(source, NDArray) else source)
        return self

    def copyto(self, target, mem_copy=True):
        """To a device, or to a tensor of as many bytes, whatever they are there."""
        if isinstance(target, Device):
            return array(self.numpy(), target)
        source, place = self._bytes(), target._bytes()
        if source.size != place.size:
            raise TVMError(f"copyto: {source.size} bytes of {self.dtype}{list(self.shape)} do not fit into {place.size} of "
                           f"{target.dtype}{list(target.shape)}; copyfrom converts")
        place[:] = source
        return target

    def _bytes(self):
        """Its memory."""
        return self._array.view_numpy().reshape(-1).view("uint8")

    @property
    def handle(self):
        """Where its memory begins."""
        return ctypes.c_void_p(self._array.view_numpy().ctypes.data)

    def __setitem__(self, index, value):
        """All elements at once, as TVM's: of an array of numpy's, or of a tensor."""
        if not isinstance(index, slice) or index.start is not None or index.stop is not None:
            raise ValueError("NDArray: only a[:] = array sets elements; numpy() gives a copy to change")
        if isinstance(value, NDArray):
            value.copyto(self)
        elif isinstance(value, (numpy.ndarray, numpy.generic)):
            self.copyfrom(value)
        else:
            raise TypeError(f"NDArray: elements are set to an array of numpy's or a tensor, not to {type(value)}")

    def __getitem__(self, index):
        return self._array.numpy()[index]

    def _create_view(self, shape):
        return NDArray(self._array.reshape(list(shape)))

    def __dlpack__(self, stream=None):
        return self._array.view_numpy().__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)

    def to_dlpack(self):
        return self.__dlpack__()

    def same_as(self, other):
        return self._array.same_as(other._array)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<lathe.nd.NDArray shape={self.shape}, {self.device}>\n{self.numpy()!r}"


Tensor = NDArray


def array(arr, device=None, mem_scope=None):
    """A tensor with a copy of what a numpy array, a tensor, a list or a DLPack object holds."""
    if isinstance(arr, NDArray):
        arr = arr.numpy()
    elif not isinstance(arr, numpy.ndarray) and hasattr(arr, "__dlpack__"):
        arr = numpy.from_dlpack(arr)
    elif not isinstance(arr, numpy.ndarray):
        arr = numpy.array(arr)
        arr = arr.astype("float32") if arr.dtype == "float64" else arr
    _require_cpu(device)
    return NDArray(_lib.array_from_numpy(arr))


tensor = array


def empty(shape, dtype="float32", device=None, mem_scope=None):
    """A tensor; what it holds is not defined."""
    _require_cpu(device)
    return NDArray(_lib.array_empty([shape] if isinstance(shape, int) else [int(extent) for extent in shape], dtype))


def from_dlpack(source):
    return array(source if hasattr(source, "__dlpack__") else _Capsule(source))


class _Capsule:
    """A DLPack capsule, for numpy."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, stream=None):
        return self._capsule

    def __dlpack_device__(self):
        return (1, 0)


def numpyasarray(source):
    return array(source)


def _require_cpu(device):
    if device is not None and not device.exist:
        raise RuntimeError(f"make a tensor on {device}: this build has tensors in host memory only; use cpu(0)")
