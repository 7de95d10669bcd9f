"""Nodes as JSON: TVMScript in it, so that what is read has passed every check that a text passes."""
import json

from lathe import _lib
from lathe.ir.container import Array, Map


def save_json(node):
    """A text of a node, or of lists and dicts of nodes; load_json makes equal ones of it."""
    return json.dumps(_encode(node))


def load_json(json_str):
    """What save_json was given. Variables that were free are new ones, of the same names."""
    return _decode(json.loads(json_str))


def _encode(node):
    if node is None or isinstance(node, (bool, int, float, str)):
        return node
    if isinstance(node, (list, tuple)):
        return {"Array": [_encode(item) for item in node]}
    if isinstance(node, dict):
        return {"Map": [[_encode(key), _encode(value)] for key, value in node.items()]}
    kind = _lib.type_key(node)
    if kind in ("IRModule", "tir.PrimFunc"):
        return {kind: node.script()}
    return _encode_part(node)


def _encode_part(node):
    """An expression or a statement, as the body of a function of what is free in it."""
    from lathe import tir
    is_stmt = isinstance(node, tir.Stmt)
    body = node if is_stmt else tir.Evaluate(node)
    return {"stmt" if is_stmt else "expr": tir.PrimFunc(tir.analysis.undefined_vars(body), body).script()}


def _decode(value):
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    if kind == "Array":
        return Array(_decode(item) for item in content)
    if kind == "Map":
        return Map({_decode(key): _decode(item) for key, item in content})
    if kind == "IRModule":
        return _lib.parse_module(content, "<json>", 1, None)
    func = _lib.parse_func(content, "<json>", 1, None)
    return {"tir.PrimFunc": lambda: func, "stmt": lambda: func.body, "expr": lambda: func.body.value}[kind]()
