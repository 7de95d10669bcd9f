"""Named tensors as bytes, in TVM's format."""
import io
import struct

import numpy

from lathe.error import TVMError
from lathe.runtime.data_type import DataType
from lathe.runtime.ndarray import array

_LIST, _TENSOR, _CPU = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F, (1, 0)


def save_param_dict(params):
    """A dict of tensors as bytes: their names, then their types, shapes and elements."""
    out = io.BytesIO()
    out.write(struct.pack("<QQQ", _LIST, 0, len(params)))
    for name in params:
        encoded = name.encode()
        out.write(struct.pack("<Q", len(encoded)) + encoded)
    out.write(struct.pack("<Q", len(params)))
    for tensor in params.values():
        _write(out, array(tensor))
    return bytearray(out.getvalue())


def _write(out, tensor):
    kind, shape, content = DataType(str(tensor.dtype)), tensor.shape, tensor.numpy().tobytes()
    out.write(struct.pack("<QQiii", _TENSOR, 0, *_CPU, len(shape)))
    out.write(struct.pack(f"<BBH{len(shape)}qq", kind.type_code, kind.bits, kind.lanes, *shape, len(content)) + content)


def load_param_dict(param_bytes):
    """The tensors that save_param_dict wrote, by name."""
    source = io.BytesIO(bytes(param_bytes))
    magic, _, count = _read(source, "<QQQ")
    if magic != _LIST:
        raise TVMError("load_param_dict: these bytes are no list of tensors; give what save_param_dict made")
    names = [_taken(source, _read(source, "<Q")[0]).decode() for _ in range(count)]
    if _read(source, "<Q")[0] != count:
        raise TVMError(f"load_param_dict: there are {count} names and another number of tensors")
    return {name: _tensor(source) for name in names}


def _taken(source, count):
    content = source.read(count)
    if len(content) != count:
        raise TVMError(f"load_param_dict: the bytes end {count - len(content)} before a tensor does")
    return content


def _read(source, layout):
    return struct.unpack(layout, _taken(source, struct.calcsize(layout)))


def _tensor(source):
    magic, _, _, _, ndim = _read(source, "<QQiii")
    if magic != _TENSOR or not 0 <= ndim <= 64:
        raise TVMError("load_param_dict: there is no tensor where one is expected")
    code, bits, lanes = _read(source, "<BBH")
    *shape, count = _read(source, f"<{ndim}qq")
    kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
    if code not in kinds or lanes != 1:
        raise TVMError(f"load_param_dict: no tensor has elements of type code {code}, {bits} bits, {lanes} lanes here")
    name = "bool" if (code, bits) == (1, 1) else f"{kinds[code]}{bits}"
    return array(numpy.frombuffer(_taken(source, count), name).reshape(shape))
