"""Statements of TensorIR."""
import enum

from lathe import _lib
from lathe.ir.expr import Range
from lathe.runtime.ndarray import NDArray
from lathe.runtime.object import Object, register_object
from lathe.tir.buffer import Buffer, BufferRegion, MatchBufferRegion
from lathe.tir.expr import IterVar


class ForKind(enum.IntEnum):
    """How a loop runs."""

    SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD_BINDING = range(5)


class Stmt(Object):
    """Base of the statements."""

    __slots__ = ()


@register_object("tir.For")
class For(Stmt):
    """A loop."""

    __slots__ = ()

    def __new__(cls, loop_var, min, extent, kind, body, thread_binding=None, annotations=None, span=None):
        return _lib.For(loop_var, min, extent, int(kind), body, thread_binding, annotations or {})


@register_object("tir.While")
class While(Stmt):
    """A loop that runs while its condition holds."""

    __slots__ = ()

    def __new__(cls, condition, body, span=None):
        return _lib.While(condition, body)


@register_object("tir.LetStmt")
class LetStmt(Stmt):
    """A statement in which a variable has a value."""

    __slots__ = ()

    def __new__(cls, var, value, body, span=None):
        return _lib.LetStmt(var, value, body)


@register_object("tir.AssertStmt")
class AssertStmt(Stmt):
    """A condition without which the kernel ends."""

    __slots__ = ()

    def __new__(cls, condition, message, body, span=None):
        return _lib.AssertStmt(condition, message, body)


@register_object("tir.BufferStore")
class BufferStore(Stmt):
    """Writes one element."""

    __slots__ = ()

    def __new__(cls, buffer, value, indices, predicate=None, span=None):
        return _lib.BufferStore(buffer, value, indices, predicate)


@register_object("tir.IfThenElse")
class IfThenElse(Stmt):
    """A branch."""

    __slots__ = ()

    def __new__(cls, condition, then_case, else_case=None, span=None):
        return _lib.IfThenElse(condition, then_case, else_case)


@register_object("tir.SeqStmt")
class SeqStmt(Stmt):
    """Statements in order."""

    __slots__ = ()

    def __new__(cls, seq, span=None):
        return _lib.SeqStmt(seq)

    def __getitem__(self, i):
        return self.seq[i]

    def __len__(self):
        return len(self.seq)


@register_object("tir.Evaluate")
class Evaluate(Stmt):
    """An expression evaluated for its effect."""

    __slots__ = ()

    def __new__(cls, value, span=None):
        return _lib.Evaluate(value)


@register_object("tir.AttrStmt")
class AttrStmt(Stmt):
    """A statement under an attribute of a value, a buffer or an axis."""

    __slots__ = ()

    def __new__(cls, node, attr_key, value, body, span=None):
        return _lib.AttrStmt(node, attr_key, value, body)


@register_object("tir.Allocate")
class Allocate(Stmt):
    """Memory for a statement."""

    __slots__ = ()

    def __new__(cls, buffer_var, dtype, extents, condition, body, annotations=None, span=None):
        return _lib.Allocate(buffer_var, dtype, extents, condition, body, annotations or {})


@register_object("tir.AllocateConst")
class AllocateConst(Stmt):
    """Memory that holds constants, in row-major order."""

    __slots__ = ()

    def __new__(cls, buffer_var, dtype, extents, data_or_idx, body, annotations=None, span=None):
        return _lib.AllocateConst(buffer_var, dtype, extents, [*_flat(data_or_idx)], body, annotations or {})

    @property
    def data(self):
        """What it holds, as a tensor."""
        return NDArray.of_numbers(_lib.node_field(self, "data"), self.dtype, self.extents)

    @property
    def irmod_storage_idx(self):
        """Where in the "constants" of its module the data are, after ExtractPrimFuncConstants."""
        return self.annotations.get("irmod_storage_idx")


@register_object("tir.DeclBuffer")
class DeclBuffer(Stmt):
    """A buffer over memory that is there."""

    __slots__ = ()

    def __new__(cls, buffer, body, span=None):
        return _lib.DeclBuffer(buffer, body)


@register_object("tir.BufferRealize")
class BufferRealize(Stmt):
    """A buffer that lives during a statement, which touches no more of it than the bounds."""

    __slots__ = ()

    def __new__(cls, buffer, bounds, condition, body, span=None):
        return _lib.BufferRealize(buffer, bounds, condition, body)


@register_object("tir.Prefetch")
class Prefetch(Stmt):
    """A hint that a box of a buffer is read soon."""

    __slots__ = ()

    def __new__(cls, buffer, bounds, span=None):
        return _lib.Prefetch(buffer, bounds)


@register_object("tir.BlockRealize")
class BlockRealize(Stmt):
    """Runs a block with values for its iter vars, where a predicate holds."""

    __slots__ = ()

    def __new__(cls, iter_values, predicate, block, span=None):
        return _lib.BlockRealize(iter_values, predicate, block)


@register_object("tir.Block")
class Block(Stmt):
    """The unit that a schedule moves."""

    __slots__ = ()

    def __new__(cls, iter_vars, reads, writes, name_hint, body, init=None, alloc_buffers=None, match_buffers=None,
                annotations=None, span=None):
        return _lib.Block(iter_vars, reads, writes, name_hint, body, init, alloc_buffers or [], match_buffers or [],
                          annotations or {})


def stmt_seq(*args):
    """One statement of several."""
    return _lib.SeqStmt([_as_stmt(arg) for arg in args]) if len(args) > 1 else _as_stmt(args[0])


def stmt_list(stmt):
    """The statements of a sequence, flat."""
    if isinstance(stmt, SeqStmt):
        return [inner for item in stmt for inner in stmt_list(item)]
    return [stmt]


def _flat(data):
    """The numbers of an array, or of lists in lists."""
    data = data.numpy() if hasattr(data, "numpy") else data
    data = data.reshape(-1).tolist() if hasattr(data, "reshape") else data
    for item in data:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


def _as_stmt(node):
    return node if isinstance(node, Stmt) else Evaluate(node)
