"""Buffers, and the regions of them that blocks touch."""
import abc

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

    def vload(self, begin, dtype=None, predicate=None):
        """The vector of this type from `begin` on, along the last dimension."""
        load = _lib.buffer_vector_at(self, _indices(begin), dtype or self.dtype)
        return _lib.BufferLoad(self, load.indices, predicate)

    def vstore(self, begin, value, predicate=None):
        """Writes a vector from `begin` on."""
        value = _lib.to_expr(value)
        place = _lib.buffer_vector_at(self, _indices(begin), value.dtype)
        return _lib.BufferStore(self, value, place.indices, predicate)

    def access_ptr(self, access_mask, ptr_type="handle", content_lanes=1, offset=0, extent=None):
        """The address of the elements from `offset` on, for Buffer.READ, Buffer.WRITE or "r", "w", "rw"."""
        if isinstance(access_mask, str):
            if set(access_mask) - {"r", "w"}:
                raise ValueError(f"access_ptr: expected \"r\", \"w\" or \"rw\", got {access_mask!r}")
            access_mask = (Buffer.READ if "r" in access_mask else 0) | (Buffer.WRITE if "w" in access_mask else 0)
        return _lib.buffer_access_ptr(self, access_mask, ptr_type, content_lanes, offset, extent)

    def offset_of(self, indices):
        """Where the element stands in the flat buffer."""
        return _lib.buffer_offset_of(self, _indices(indices))

    def get_flattened_buffer(self):
        """The same memory with one dimension, or with as many as axis_separators leave."""
        return _lib.buffer_flat(self)


def _indices(given):
    return list(given) if isinstance(given, (list, tuple)) else [given]


def decl_buffer(shape, dtype=None, name="buffer", data=None, strides=None, elem_offset=None, scope="",
                data_alignment=-1, offset_factor=0, buffer_type="", axis_separators=None, span=None):
    """A buffer; without `data` one with memory of its own."""
    is_array = getattr(shape, "ndim", 0) == 1  # Of numpy.
    shape = tuple(shape) if is_array else shape if isinstance(shape, (tuple, list)) else (shape,)
    return _lib.Buffer(shape, dtype or "float32", name, data, strides or [], elem_offset, scope, data_alignment,
                       offset_factor, buffer_type, axis_separators or [])


class DataProducer(abc.ABC):
    """What is read by indices and no buffer yet: tensors of te."""


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
