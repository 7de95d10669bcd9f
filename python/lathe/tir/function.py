"""PrimFunc."""
from lathe import _lib
from lathe.runtime.object import Object, register_object


@register_object("tir.PrimFunc")
class PrimFunc(Object):
    """One kernel."""

    __slots__ = ()

    def __new__(cls, params, body, ret_type=None, buffer_map=None, attrs=None, span=None):
        func = _lib.PrimFunc(params, body, getattr(ret_type, "dtype", ret_type), buffer_map or {})
        return func.with_attr(dict(attrs)) if attrs else func

    @property
    def attrs(self):
        return _lib.func_attrs(self)

    def with_attr(self, attr_key_or_dict, attr_value=None):
        """A copy with this attribute, or with all of a dict."""
        pairs = attr_key_or_dict.items() if isinstance(attr_key_or_dict, dict) else [(attr_key_or_dict, attr_value)]
        func = self
        for key, value in pairs:
            func = _lib.func_with_attr(func, key, value)
        return func

    def without_attr(self, attr_key):
        return _lib.func_without_attr(self, attr_key)
