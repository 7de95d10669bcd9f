"""Comparing and hashing nodes."""
from lathe import _lib
from lathe.runtime.object import Object, register_plain
from lathe.runtime.object_path import ObjectPath

Node = Object


def structural_equal(lhs, rhs, map_free_vars=False):
    """Whether both mean the same: equal up to the names of what they define."""
    return _lib.structural_equal(lhs, rhs, map_free_vars)


def get_first_structural_mismatch(lhs, rhs, map_free_vars=False):
    """The paths of the first difference in both, or None."""
    paths = _lib.first_difference(lhs, rhs, map_free_vars)
    return None if paths is None else tuple(ObjectPath.parse(path) for path in paths)


def assert_structural_equal(lhs, rhs, map_free_vars=False):
    """Raises ValueError with both texts and the path of the first difference unless both mean the same."""
    _lib.assert_structural_equal(lhs, rhs, map_free_vars)


def structural_hash(node, map_free_vars=False):
    """Equal for nodes that are structurally equal."""
    return _lib.structural_hash(node, map_free_vars)


@register_plain("SourceName")
class SourceName:
    """The name of a text."""

    def __init__(self, name):
        self.name = name


@register_plain("Span")
class Span:
    """A place in a text. Constructors of nodes take one and keep none."""

    def __init__(self, source_name, line, end_line, column, end_column):
        self.source_name, self.line, self.end_line = source_name, line, end_line
        self.column, self.end_column = column, end_column
