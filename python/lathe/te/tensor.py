"""Tensors, the operations that compute them, and operators on them."""
from lathe import _lib
from lathe.tir.buffer import DataProducer
from lathe.tir.expr import ExprOp

Tensor, Operation = _lib.te.Tensor, _lib.te.Operation
PlaceholderOp, ComputeOp, ScanOp, ExternOp = (getattr(_lib.te, _kind + "Op")
                                              for _kind in ("Placeholder", "Compute", "Scan", "Extern"))
BaseComputeOp = ComputeOp
DataProducer.register(Tensor)

Operation.__repr__ = lambda op: f"{type(op).__name__[:-len('Op')].lower()}({op.name}, 0x{hash(op):x})"
ComputeOp.__repr__ = lambda op: (f"compute({op.name}, body={op.body}, axis={op.axis}, reduce_axis={op.reduce_axis}, "
                                 f"tag={op.tag}, attrs={op.attrs})")


class TensorSlice(ExprOp):
    """A tensor with some of its indices: with the last one it is an element."""

    __slots__ = ("tensor", "indices")

    def __init__(self, tensor, indices):
        self.tensor, self.indices = tensor, indices if isinstance(indices, tuple) else (indices,)

    def __getitem__(self, indices):
        return _slice(self.tensor, self.indices + (indices if isinstance(indices, tuple) else (indices,)))

    def asobject(self):
        return self.tensor(*self.indices)

    @property
    def dtype(self):
        return self.tensor.dtype


def _slice(tensor, indices):
    indices = indices if isinstance(indices, tuple) else (indices,)
    return TensorSlice(tensor, indices) if len(indices) < tensor.ndim else tensor(*indices)


def _operator(name):
    def forward(self, other):
        return getattr(_topi(), name)(self, other)

    return forward


def _reflected(name):
    def backward(self, other):
        return getattr(_topi(), name)(other, self)

    return backward


def _topi():
    from lathe import topi
    return topi


Tensor.__getitem__ = _slice
for _symbol, _name in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"),
                       ("floordiv", "floor_divide"), ("mod", "floor_mod")):
    setattr(Tensor, f"__{_symbol}__", _operator(_name))
    setattr(Tensor, f"__r{_symbol}__", _reflected(_name))
for _symbol, _name in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    setattr(Tensor, f"__{_symbol}__", _operator(_name))
Tensor.__neg__ = lambda self: _topi().negative(self)
Tensor.__eq__ = lambda self, other: isinstance(other, Tensor) and self.same_as(other)
Tensor.astype = lambda self, dtype, span=None: _topi().cast(self, dtype)
