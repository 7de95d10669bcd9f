"""The operators of Python as functions."""
from lathe import _lib


def add(lhs, rhs, span=None):
    return _lib.to_expr(lhs) + rhs


def subtract(lhs, rhs, span=None):
    return _lib.to_expr(lhs) - rhs


def multiply(lhs, rhs, span=None):
    return _lib.to_expr(lhs) * rhs


def divide(lhs, rhs, span=None):
    return _lib.to_expr(lhs) / rhs


def floordiv(lhs, rhs, span=None):
    return _lib.to_expr(lhs) // rhs


def cast(src, dtype, span=None):
    return _lib.to_expr(src).astype(dtype)
