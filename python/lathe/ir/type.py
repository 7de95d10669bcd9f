"""Types of variables: what a handle points to, and where."""


class Type:
    """Base of the types. Two are equal where they say the same."""

    __slots__ = ()

    def _key(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other):
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self):
        return hash((type(self).__name__, self._key()))

    def comparable(self):
        """What structural_equal compares."""
        return [type(self).__name__, *self._key()]

    def __repr__(self):
        return f"{type(self).__name__}{self._key()!r}"

    def script(self, **options):
        return repr(self)


class PrimType(Type):
    """A number's type."""

    __slots__ = ("dtype",)

    def __init__(self, dtype):
        self.dtype = str(dtype)

    def __repr__(self):
        return f"T.{self.dtype}"


class PointerType(Type):
    """Elements of one type in memory of one scope."""

    __slots__ = ("element_type", "storage_scope")

    def __init__(self, element_type, storage_scope=""):
        self.element_type, self.storage_scope = element_type, storage_scope

    def __repr__(self):
        scope = f', "{self.storage_scope}"' if self.storage_scope else ""
        return f'T.handle("{self.element_type.dtype}"{scope})'


class FuncType(Type):
    """What a function takes and gives."""

    __slots__ = ("arg_types", "ret_type")

    def __init__(self, arg_types, ret_type):
        self.arg_types, self.ret_type = tuple(arg_types), ret_type


class TupleType(Type):
    """Several types; of none: nothing."""

    __slots__ = ("fields",)

    def __init__(self, fields):
        self.fields = tuple(fields)

    def __repr__(self):
        return f"T.Tuple({', '.join(map(repr, self.fields))})" if self.fields else "None"
