"""Tensors by name as bytes, as TVM's deployed programs keep them."""
import math
import struct

import numpy

from lathe.error import TVMError
from lathe.runtime.data_type import DataType, DataTypeCode
from lathe.runtime.ndarray import array

_LIST_MAGIC, _ARRAY_MAGIC = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
_HEAD = struct.Struct("<QQ")  # The magic number, and nothing.
_ARRAY = struct.Struct("<iiiBBH")  # Device, its number, dimensions; code, bits and lanes of the elements.
_CPU = 1


def _bytes_of(tensor):
    dtype = DataType(tensor.dtype)
    data = tensor.numpy().tobytes()
    return b"".join([_HEAD.pack(_ARRAY_MAGIC, 0),
                     _ARRAY.pack(_CPU, 0, tensor.ndim, dtype.type_code, dtype.bits, dtype.lanes),
                     struct.pack(f"<{tensor.ndim}qq", *tensor.shape, len(data)), data])


def save_param_dict(params):
    """The bytes of a dict of tensors; load_param_dict reads them, and so does TVM."""
    names = [name.encode() for name in params]
    return bytearray(b"".join([
        _HEAD.pack(_LIST_MAGIC, 0),
        struct.pack("<Q", len(names)), *(struct.pack("<Q", len(name)) + name for name in names),
        struct.pack("<Q", len(names)), *map(_bytes_of, map(array, params.values()))]))


class _Reader:
    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def take(self, size):
        if size < 0 or size > len(self.data) - self.at:
            raise TVMError(f"load_param_dict: expected {size} bytes from byte {self.at} on of {len(self.data)}")
        self.at += size
        return self.data[self.at - size:self.at]

    def unpack(self, form):
        form = struct.Struct(form)
        return form.unpack(self.take(form.size))

    def begin(self, magic, what):
        if self.unpack(_HEAD.format)[0] != magic:
            raise TVMError(f"load_param_dict: expected {what} at byte {self.at - _HEAD.size}")

    def names(self):
        return [self.take(*self.unpack("<Q")).decode() for _ in range(*self.unpack("<Q"))]

    def tensor(self):
        self.begin(_ARRAY_MAGIC, "a tensor")
        _, _, ndim, code, bits, lanes = self.unpack(_ARRAY.format)
        *shape, size = self.unpack(f"<{max(ndim, 0)}qq")
        if lanes != 1:
            raise TVMError(f"load_param_dict: expected numbers, got vectors of {lanes}")
        kind = _numpy_type(code, bits)
        if size % kind.itemsize:
            raise TVMError(f"load_param_dict: expected elements of {kind.itemsize} bytes, got {size} bytes")
        elements = numpy.frombuffer(self.take(size), kind)
        if min(shape, default=0) < 0 or elements.size != math.prod(shape):
            raise TVMError(f"load_param_dict: expected a tensor of shape {tuple(shape)}, got {elements.size} elements")
        return array(elements.reshape(shape))


def _numpy_type(code, bits):
    if code == DataTypeCode.BOOL or (code, bits) == (DataTypeCode.UINT, 1):
        return numpy.dtype("bool")
    names = {DataTypeCode.INT: "int", DataTypeCode.UINT: "uint", DataTypeCode.FLOAT: "float"}
    if code not in names:
        raise TVMError(f"load_param_dict: expected numbers that numpy has, got type code {code}")
    try:
        return numpy.dtype(f"{names[code]}{bits}")
    except TypeError:
        raise TVMError(f"load_param_dict: expected numbers that numpy has, got {names[code]}{bits}") from None


def load_param_dict(param_bytes):
    """The tensors by name that save_param_dict wrote, TVM's or this one."""
    from lathe.ir.container import Map
    reader = _Reader(param_bytes)
    reader.begin(_LIST_MAGIC, "parameters")
    names = reader.names()
    count, = reader.unpack("<Q")
    if count != len(names):
        raise TVMError(f"load_param_dict: {len(names)} names, {count} tensors")
    return Map({name: reader.tensor() for name in names})
