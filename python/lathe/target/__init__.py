"""What code is made for."""
import json
import threading

from lathe import _lib
from lathe.error import TVMError
from lathe.ir.container import Map
from lathe.runtime.ndarray import device
from lathe.runtime.object import register_plain
from lathe.target import codegen
from lathe.target.generic_func import GenericFunc, generic_func, get_native_generic_func, override_native_generic_func


class TargetKind:
    """"llvm", "cuda" ..."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


class TargetFeatures:
    """What the processor of a target can, by TVM's names: features.has_sve; None where that says nothing of it."""

    _ARM = {"has_asimd": "neon", "has_dotprod": "dotprod", "has_matmul_i8": "i8mm", "has_fp16_simd": "fullfp16",
            "has_sve": "sve", "has_sme": "sme"}

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        if name == "is_aarch64":
            return self._target._is_aarch64()
        if name not in self._ARM or not self._target._is_aarch64():
            return None
        feature, said = self._ARM[name], self._target.mattr
        return "+" + feature in said or (feature == "neon" and "-neon" not in said)


class Target:
    """A target as TVM writes it: a string, a tag, a dict; also "auto". Inside `with` it is the current one. Kernels are
    built for CPUs only, other kinds describe what a function is meant for."""

    _active = threading.local()

    def __new__(cls, target="auto", host=None):
        return target if isinstance(target, cls) and host is None else super().__new__(cls)

    def __init__(self, target="auto", host=None):
        if target is self:
            return
        if isinstance(target, str) and target.lstrip().startswith("{"):
            target = json.loads(target)
        self._written = target._written if isinstance(target, Target) else target
        host = host or (target.get("host") if isinstance(target, dict) else None)
        self._description = _describe(target)
        host = host or self._description.host
        self.host = Target(host) if host else None
        self.kind = TargetKind(self._description.kind)

    attrs = property(lambda self: Map(self._description.attrs))
    keys = property(lambda self: list(self._description.keys))
    tag = property(lambda self: self._description.tag)
    device_name = property(lambda self: str(self.attrs.get("device", "")))
    model = property(lambda self: str(self.attrs.get("model", "unknown")))
    libs = property(lambda self: list(self.attrs.get("libs", [])))
    mattr = property(lambda self: list(self.attrs.get("mattr", [])))
    mcpu = property(lambda self: str(self.attrs.get("mcpu", "")))
    arch = property(lambda self: str(self.attrs.get("arch", "")))
    num_cores = property(lambda self: self._for_cpu().num_cores)
    max_num_threads = property(lambda self: self._number("max_num_threads"))
    thread_warp_size = property(lambda self: self._number("thread_warp_size"))
    max_block_size_x = max_block_size_y = max_num_threads
    max_shared_memory_per_block = property(lambda self: self._number("max_shared_memory_per_block"))
    vtcm_capacity = property(lambda self: int(self.attrs.get("vtcm-capacity", 0)))
    max_function_args = property(lambda self: self._number("max_function_args", -1))

    features = property(TargetFeatures)

    @property
    def supports_integer_dot_product(self):
        """What is said of it; of CUDA it is so from sm_61 on."""
        said = self.attrs.get("supports_integer_dot_product")
        if said is not None or self.kind.name != "cuda":
            return bool(said)
        digits = "".join(each for each in self.arch if each.isdigit())
        return bool(digits) and int(digits) >= 61

    def _is_aarch64(self):
        return str(self.attrs.get("mtriple", "")).startswith(("aarch64", "arm64"))

    def _number(self, name, default=None):
        value = self.attrs.get(name, default)
        if value is None:
            raise TVMError(f"{self}: it says nothing about {name}")
        return int(value)

    def _for_cpu(self):
        return _lib.Target(self.build_text())

    def build_text(self):
        """What code generation reads: of a CPU only what decides about code. C is for the same CPUs."""
        if self.kind.name not in ("llvm", "c"):
            return self.kind.name
        known = {name: self.attrs[name] for name in ("mattr", "mcpu", "mtriple", "num-cores") if name in self.attrs}
        values = ((name, value if isinstance(value, (str, int)) else ",".join(value)) for name, value in known.items())
        return " ".join(["llvm", *(f"-{name}={value}" for name, value in values)])

    def export(self):
        """As a dict, from which Target makes it again."""
        host = {"host": self.host.export()} if self.host else {}
        return {"kind": self.kind.name, "tag": self.tag, "keys": self.keys, **dict(self.attrs.items()), **host}

    def with_host(self, host):
        return Target(self, host)

    def get_target_device_type(self):
        """The number of the devices that it runs on."""
        kind = self.kind.name
        return device({"composite": "cpu", "stackvm": "cpu", "test": "cpu"}.get(kind, kind)).device_type

    @staticmethod
    def canon_target(target):
        """As a Target; None stays."""
        return None if target is None else Target(target)

    @staticmethod
    def canon_target_and_host(target, target_host=None):
        """The target with its host, and the host: the one that is given, or its own."""
        if target is None:
            return None, Target.canon_target(target_host)
        target = Target(target, target_host) if target_host else Target(target)
        return target, target.host

    @staticmethod
    def from_device(dev):
        """The target of a device, or of its name: of the CPU, the only one that is there."""
        dev = device(dev) if isinstance(dev, str) else dev
        if not dev.exist:
            raise ValueError(f"Target.from_device: there is no {dev} here; kernels run on the CPU")
        return Target("llvm")

    @staticmethod
    def list_kinds():
        return _lib.target_kinds()

    def as_attr(self):
        """As an attribute of functions: what T.target(...) in a text says."""
        host = {"host": Target(self.host).as_attr()} if self.host else {}
        return {"T.target": self._written, **host}

    @staticmethod
    def from_attr(attr):
        """The target that the attribute says; the attribute itself where it is of a kind that Lathe does not know."""
        try:
            written = attr["T.target"]
            return Target(written if isinstance(written, str) else dict(written), attr.get("host"))
        except (ValueError, KeyError):
            return attr

    def __enter__(self):
        self._stack().append(self)
        return self

    def __exit__(self, *exception):
        self._stack().pop()

    @classmethod
    def _stack(cls):
        if not hasattr(cls._active, "stack"):
            cls._active.stack = []
        return cls._active.stack

    @classmethod
    def current(cls, allow_none=True):
        if cls._stack():
            return cls._stack()[-1]
        if allow_none:
            return None
        raise ValueError("Target.current: no target is set; write `with Target(...)`")

    def __eq__(self, other):
        return isinstance(other, Target) and (str(self), self.host) == (str(other), other.host)

    def __hash__(self):
        return hash(str(self))

    def same_as(self, other):
        """Whether both are one object."""
        return self is other

    def comparable(self):
        """What structural_equal compares."""
        return ["Target", str(self), self.host]

    def __str__(self):
        return str(self._description)

    __repr__ = __str__


def _describe(target):
    if isinstance(target, Target):
        return target._description
    if isinstance(target, dict):
        return _lib.TargetDescription({key: value for key, value in target.items() if key != "host"})
    if not isinstance(target, str):
        raise ValueError(f"Target: {target!r} is none; give a string, a dict or a Target")
    is_of_cpu = target.split()[:1] == ["auto"] or target.split()[0] in _lib.cpu_target_tags()
    return _lib.TargetDescription(str(_lib.Target(target)) if is_of_cpu else target)


def list_tags():
    """The targets that have a tag, by it."""
    return {tag: Target(tag) for tag in sorted([*_lib.cpu_target_tags(), *_lib.device_tags()])}


def riscv_cpu(model="sifive-u54", options=None):
    """The target of a model that has a tag "riscv/MODEL", with options as a text or a list of them."""
    return Target(" ".join([f"riscv/{model}", *_listed(options)]))


def _maker(name, kind):
    def make(model="unknown", options=None):
        return Target(" ".join([kind, f"-model={model}", *_listed(options)]))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The target \"{kind}\" of a model, with options as a text or a list of them."
    return make


def _listed(options):
    return options.split() if isinstance(options, str) else options or []


rocm, opencl, metal, vulkan = (_maker(kind, kind) for kind in ("rocm", "opencl", "metal", "vulkan"))
mali, arm_cpu = _maker("mali", "opencl -device=mali"), _maker("arm_cpu", "llvm -device=arm_cpu")


def cuda(model="unknown", arch=None, options=None):
    """The target "cuda" of a model and an architecture ("sm_80")."""
    return Target(" ".join(["cuda", f"-model={model}", *([f"-arch={arch}"] if arch else []), *_listed(options)]))


@register_plain("MemoryInfo")
class MemoryInfo:
    """What is special about a memory, from "tvm.info.mem.<scope>": bits that an address counts, where it begins."""

    def __init__(self, unit_bits, max_num_bits=0, max_simd_bits=0, head_address=None):
        self.unit_bits, self.max_num_bits, self.max_simd_bits = int(unit_bits), int(max_num_bits), int(max_simd_bits)
        self.head_address = head_address
