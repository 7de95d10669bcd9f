"""The base of every node, and which class stands for which kind of node."""

from lathe import _lib


_classes = {}


def register_object(type_key):
    """Makes the decorated class the one that nodes of this kind are instances of."""

    def register(cls):
        _lib.register_class(type_key, cls)
        _classes[type_key] = cls
        return cls

    return register


def make_node(type_key, **fields):
    """A node of this kind by its fields, as its class takes them."""
    cls = _classes.get(type_key) or _classes.get("tir." + type_key)
    if cls is None:
        raise ValueError(f'make_node "{type_key}": no node is called that')
    return cls(**fields)


class Object(_lib.Object):
    """A node of the compiler. Fields are attributes, by TVM's names; nothing of it can be changed."""

    __slots__ = ()

    def same_as(self, other):
        return _lib.same_as(self, other)

    def script(self, s_tir=False, **options):
        """The TVMScript of this node. s_tir: of a function or module in the words of today's TVM (T.sblock)."""
        return _lib.print_today(self) if s_tir else _lib.print(self)

    def show(self, *args, **options):
        print(self.script())

    def __repr__(self):
        return _lib.print(self)

    __str__ = __repr__

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(_lib.field_names(self)))

    def __reduce__(self):
        return _from_script, (_lib.type_key(self), self.script())


def _from_script(type_key, text):
    if type_key == "IRModule":
        return _lib.parse_module(text, "<pickle>", 1, None)
    return _lib.parse_func(text, "<pickle>", 1, None)
