"""IRModule and the names of its functions."""
from lathe import _lib
from lathe.ir.container import Array, Map
from lathe.ir.expr import RelayExpr
from lathe.runtime.ndarray import NDArray
from lathe.runtime.object import Object, register_object


@RelayExpr.register
class GlobalVar:
    """The name of a function in a module."""

    def __init__(self, name_hint, type_annot=None):
        self.name_hint = name_hint

    def __eq__(self, other):
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self):
        return hash(self.name_hint)

    def same_as(self, other):
        return self == other

    def comparable(self):
        """What structural_equal compares."""
        return ["GlobalVar", self.name_hint]

    def __call__(self, *args):
        """A call of the function, which returns nothing."""
        from lathe import tir
        return tir.call_tir(self, *args)

    def __repr__(self):
        return f'I.GlobalVar("{self.name_hint}")'

    def astext(self):
        return "@" + self.name_hint


def _name(var):
    return var.name_hint if isinstance(var, GlobalVar) else var


@register_object("IRModule")
class IRModule(Object):
    """Functions by name. update, __setitem__ and __delitem__ change the module itself, as TVM's do."""

    __slots__ = ()

    def __new__(cls, functions=None, type_definitions=None, attrs=None, global_infos=None):
        module = _lib.module_new()
        for var, func in (functions or {}).items():
            module[var] = func
        return module.with_attrs(attrs) if attrs else module

    @staticmethod
    def from_expr(expr, functions=None, type_defs=None):
        """The module with this function: under its global symbol, else "main"."""
        name = expr.attrs.get("global_symbol", "main") if expr.attrs else "main"
        return IRModule({**(functions or {}), name: expr})

    def __getitem__(self, var):
        return _lib.module_get(self, _name(var))

    def __setitem__(self, var, func):
        if not isinstance(func, Object) or _lib.type_key(func) != "tir.PrimFunc":
            raise TypeError(f"IRModule: \"{_name(var)}\" is {func!r}; a PrimFunc is required")
        _lib.module_put(self, _name(var), func)

    def __delitem__(self, var):
        _lib.module_remove(self, _name(var))

    def __contains__(self, var):
        return _lib.module_has(self, _name(var))

    def __len__(self):
        return len(_lib.module_names(self))

    def __iter__(self):
        return iter(self.get_global_vars())

    @property
    def functions(self):
        return Map({var: self[var] for var in self.get_global_vars()})

    def functions_items(self):
        return list(self.functions.items())

    def items(self):
        return self.functions.items()

    def get_global_vars(self):
        return [GlobalVar(name) for name in _lib.module_names(self)]

    def get_global_var(self, name):
        self[name]
        return GlobalVar(name)

    def update(self, other):
        """Adds the functions of `other`, a module or a dict; functions of the same name are replaced."""
        for var, func in other.items():
            self[var] = func

    def update_func(self, var, func):
        self[var] = func

    @property
    def global_infos(self):
        """What a module says to graphs, which are not in it."""
        return Map({})

    @property
    def attrs(self):
        """Attributes of the module; what it says of "constants" as tensors."""
        attrs = _lib.module_attrs(self)
        if "constants" in attrs:
            attrs = Map({**attrs, "constants": Array([NDArray.from_attr(each) for each in attrs["constants"]])})
        return attrs or None

    def get_attr(self, attr_key):
        return (self.attrs or {}).get(attr_key)

    def with_attr(self, attr_key, attr_value):
        """A copy with this attribute."""
        return _lib.module_with_attr(self, attr_key, attr_value)

    def with_attrs(self, attr_map):
        """A copy with these attributes, too."""
        module = self
        for key, value in attr_map.items():
            module = module.with_attr(key, value)
        return module

    def without_attr(self, attr_key):
        return _lib.module_without_attr(self, attr_key)

    def clone(self):
        return _lib.module_copy(self)

    __copy__ = clone

    def __deepcopy__(self, memo):
        return self.clone()
