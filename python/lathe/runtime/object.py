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


def register_plain(type_key):
    """Makes the decorated class, of Python alone, known to make_node."""
    return lambda cls: _classes.setdefault(type_key, cls)


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

    def script(self, **options):
        """The TVMScript of this node. Of TVM's options count name, syntax_sugar, tir_prefix, ir_prefix, indent_spaces,
        int_dtype, float_dtype, buffer_dtype, verbose_expr, print_line_numbers; s_tir: in the words of today's TVM
        (T.sblock)."""
        text = _lib.script(self, options)
        return _lib.print(self) if text is None else text

    def show(self, style=None, black_format=None, **options):
        print(self.script(**options))

    def __repr__(self):
        return Object.script(self)

    def __str__(self):
        return repr(self)

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(_lib.field_names(self)))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        from lathe.ir.json_io import load_json, save_json
        return load_json, (save_json(self),)
