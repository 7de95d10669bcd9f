"""What code is made for."""
import threading

from lathe import _lib


# Kinds that functions may name and no code is made for.
_WITHOUT_CODE = ("cuda", "nvptx", "rocm", "opencl", "metal", "vulkan", "webgpu", "hexagon")


class TargetKind:
    """"llvm", "cuda" ..."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


class Target:
    """A target string of TVM's, a tag, or "auto". Inside `with` it is the current one."""

    _active = threading.local()

    def __new__(cls, target="auto", host=None):
        return target if isinstance(target, cls) else super().__new__(cls)

    def __init__(self, target="auto", host=None):
        if isinstance(target, Target):
            return
        if isinstance(target, dict):
            options = (f"-{key}={','.join(value) if isinstance(value, (list, tuple)) else value}"
                       for key, value in target.items() if key != "kind")
            target = " ".join([target["kind"], *options])
        self._written = target
        kind = "cuda" if target.startswith("nvidia/") else target.split()[0] if target.strip() else ""
        self._lib = None if kind in _WITHOUT_CODE else _lib.Target(target)
        self.host = host
        self.kind = TargetKind(kind if self._lib is None else str(self._lib).split()[0])

    mcpu = property(lambda self: self.attrs.get("mcpu", ""))
    num_cores = property(lambda self: self.attrs.get("num-cores"))

    @property
    def attrs(self):
        if self._lib is None:
            return {}
        return {"mcpu": self._lib.mcpu, "mtriple": self._lib.mtriple, "mattr": self._lib.mattr,
                "num-cores": self._lib.num_cores}

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
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def __str__(self):
        return self._written if self._lib is None else str(self._lib)

    __repr__ = __str__
