"""Types of elements as objects; everywhere a plain string does as well."""
from lathe import _lib


class DataTypeCode:
    INT, UINT, FLOAT, HANDLE, BFLOAT, BOOL = 0, 1, 2, 3, 4, 6


class _Bytes(int):
    """A number, which v0.18 gives by a method and later versions as it is."""

    def __call__(self):
        return int(self)


class DataType(str):
    """A type's name that knows its parts: bits, lanes, type_code, itemsize."""

    def __new__(cls, name):
        self = super().__new__(cls, _known(_plain(name)))
        self.type_code, self.bits, self.lanes = _lib.dtype_parts(self)
        if self.startswith("bool"):  # As DLPack says it: a number of one bit.
            self.type_code, self.bits = DataTypeCode.UINT, 1
        return self

    @property
    def itemsize(self):
        return _Bytes((self.bits * self.lanes + 7) // 8)

    def __eq__(self, other):
        return str.__eq__(self, _plain(other))

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self):
        return f'DataType("{self}")'


def _plain(name):
    """TVM's other name for bool is uint1."""
    is_one_bit = isinstance(name, str) and (name == "uint1" or name.startswith("uint1x"))
    return "bool" + name[len("uint1"):] if is_one_bit else name


def _known(name):
    try:
        return _lib.dtype_name(name)
    except TypeError as error:
        raise ValueError(f'DataType: there is no type "{name}"') from error
