"""Types of elements as objects; everywhere a plain string does as well."""
from lathe import _lib


class DataTypeCode:
    INT, UINT, FLOAT, HANDLE, BFLOAT, BOOL = 0, 1, 2, 3, 4, 6


class DataType(str):
    """A type's name that knows its parts: bits, lanes, type_code, itemsize."""

    def __new__(cls, name):
        self = super().__new__(cls, _lib.dtype_name(name))
        self.type_code, self.bits, self.lanes = _lib.dtype_parts(self)
        return self

    @property
    def itemsize(self):
        return self.bits * self.lanes // 8

    def __repr__(self):
        return f'DataType("{self}")'
