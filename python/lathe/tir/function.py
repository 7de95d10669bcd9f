"""PrimFunc, and tensor intrinsics, which are two of them."""
from lathe import _lib
from lathe.ir.container import DictAttrs
from lathe.ir.expr import RelayExpr
from lathe.ir.type import FuncType, PointerType, PrimType, TupleType
from lathe.runtime.object import Object, register_object
from lathe.tir.index_map import IndexMap


@RelayExpr.register
@register_object("tir.PrimFunc")
class PrimFunc(Object):
    """One kernel."""

    __slots__ = ()

    def __new__(cls, params, body, ret_type=None, buffer_map=None, attrs=None, span=None):
        returns = None if isinstance(ret_type, TupleType) else getattr(ret_type, "dtype", ret_type)
        func = _lib.PrimFunc(params, body, returns, buffer_map or {})
        return func.with_attr(dict(attrs)) if attrs else func

    @property
    def attrs(self):
        return DictAttrs(_lib.func_attrs(self))

    @property
    def ret_type(self):
        """A type; TupleType([]) of what returns nothing."""
        dtype = _lib.func_ret_type(self)
        return TupleType([]) if dtype is None else PrimType(dtype)

    @property
    def checked_type(self):
        return FuncType([param.type_annotation for param in self.params], self.ret_type)

    def with_body(self, new_body, span=None):
        """A copy with another body."""
        return PrimFunc(self.params, new_body, self.ret_type, self.buffer_map, self.attrs)

    def with_attr(self, attr_key_or_dict, attr_value=None):
        """A copy with this attribute, or with all of a dict."""
        pairs = attr_key_or_dict.items() if isinstance(attr_key_or_dict, dict) else [(attr_key_or_dict, attr_value)]
        func = self
        for key, value in pairs:
            func = _lib.func_with_attr(func, key, value)
        return func

    def with_attrs(self, attr_map):
        """A copy with all of these attributes."""
        return self.with_attr(dict(attr_map))

    def without_attr(self, attr_key):
        return _lib.func_without_attr(self, attr_key)

    def specialize(self, param_map):
        """The function for fixed values of some parameters: expressions for variables, buffers for handles."""
        return _lib.func_specialize(self, param_map)


class TensorIntrin:
    """What an instruction computes (desc), and the code that does it (impl), by name."""

    __slots__ = ()

    @staticmethod
    def register(name, desc, impl, override=False):
        _lib.register_tensor_intrin(name, desc, impl, override)

    @staticmethod
    def get(name, allow_missing=False):
        """The intrinsic of that name; None if there is none and that is allowed."""
        return _lib.get_tensor_intrin(name, allow_missing)
