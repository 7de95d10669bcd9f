"""Lists and maps of nodes: they cannot be changed."""
import json

from lathe.runtime.object import register_plain


def _text(item):
    return json.dumps(item) if isinstance(item, str) else str(item)


class Array(tuple):
    """A list of nodes."""

    __slots__ = ()

    def __add__(self, other):
        return Array(tuple(self) + tuple(other))

    def __radd__(self, other):
        return Array(tuple(other) + tuple(self))

    def __getitem__(self, index):
        item = super().__getitem__(getattr(index, "value", index))
        return list(item) if isinstance(index, slice) else item

    def __repr__(self):
        return "[" + ", ".join(map(_text, self)) + "]"

    __str__ = __repr__

    def same_as(self, other):
        return len(self) == len(other) and all(a is b or _same(a, b) for a, b in zip(self, other))


class Map(dict):
    """A map from names or nodes to nodes."""

    def __setitem__(self, key, value):
        raise TypeError("a Map cannot be changed")

    def __delitem__(self, key):
        raise TypeError("a Map cannot be changed")

    def __repr__(self):
        return "{" + ", ".join(f"{_text(key)}: {_text(value)}" for key, value in dict.items(self)) + "}"

    def same_as(self, other):
        return self.keys() == other.keys() and all(_same(value, other[key]) for key, value in dict.items(self))


class Attrs(Map):
    """Base of what nodes say by name."""


@register_plain("DictAttrs")
class DictAttrs(Attrs):
    """Attributes of a function or a module, by name."""

    def __init__(self, items=(), **named):
        super().__init__(items, **named)


def _same(a, b):
    return a.same_as(b) if hasattr(a, "same_as") else a == b
