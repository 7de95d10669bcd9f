"""Buffers, and the regions of them that blocks touch."""
from lathe import _lib
from lathe.runtime.object import Object, register_object


@register_object("tir.Buffer")
class Buffer(Object):
    """Typed storage, known by its identity."""

    __slots__ = ()
    READ, WRITE = 1, 2

    def __getitem__(self, indices):
        return _lib.buffer_getitem(self, indices if isinstance(indices, tuple) else (indices,))

    def scope(self):
        return _lib.buffer_scope(self)


def decl_buffer(shape, dtype=None, name="buffer", data=None, strides=None, elem_offset=None, scope="",
                data_alignment=-1, offset_factor=0, buffer_type="", axis_separators=None, span=None):
    """A buffer; without `data` one with memory of its own."""
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return _lib.Buffer(shape, dtype or "float32", name, data, strides or [], elem_offset, scope, data_alignment,
                       offset_factor, buffer_type, axis_separators or [])


@register_object("tir.BufferRegion")
class BufferRegion(Object):
    """A box of a buffer, a range per dimension."""

    __slots__ = ()

    def __new__(cls, buffer, region):
        return _lib.BufferRegion(buffer, region)


@register_object("tir.MatchBufferRegion")
class MatchBufferRegion(Object):
    """A view of a region of a buffer."""

    __slots__ = ()

    def __new__(cls, buffer, source):
        return _lib.MatchBufferRegion(buffer, source)
