"""Nodes as JSON: TVMScript in it, so that what is read has passed every check that a text passes."""
import importlib
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
    if isinstance(node, (_lib.te.Schedule, _lib.te.Tensor, _lib.te.Operation)):
        from lathe.te import schedule_json
        return schedule_json.encode(node)
    name = type(node).__name__
    if name in _PLAIN:
        return {name: _encode(_PLAIN[name](node))}
    kind = _lib.type_key(node)
    if kind in ("IRModule", "tir.PrimFunc"):
        return {kind: node.script()}
    return _encode_by_fields(kind, node) if kind in _FIELDS else _encode_part(kind, node)


_FIELDS = {"Range": ("min", "extent"), "tir.IterVar": ("dom", "var", "iter_type", "thread_tag"),
           "tir.BufferRegion": ("buffer", "region"), "tir.MatchBufferRegion": ("buffer", "source"), "Op": ("name",)}


# What is no node of the IR, by its class: what to keep of it.
_PLAIN = {
    "Target": lambda target: target.as_attr(),
    "GlobalVar": lambda var: [var.name_hint],
    "Layout": lambda layout: [layout.name, layout.dtype],
    "IndexMap": lambda index_map: index_map.__getstate__(),
    "PrimType": lambda each: [each.dtype],
    "PointerType": lambda each: [each.element_type, each.storage_scope],
    "TupleType": lambda each: [each.fields],
    "FuncType": lambda each: [each.arg_types, each.ret_type],
}


def _encode_by_fields(kind, node):
    return {kind: [_encode(getattr(node, name)) for name in _FIELDS[kind]]}


def _encode_part(kind, node):
    """A buffer, an expression or a statement, as a part of a function of what is free in it."""
    from lathe import tir
    if kind == "tir.CommReducer":
        raise TypeError("save_json: a reducer alone has no text; save the expression that it is in")
    if kind == "tir.Buffer":
        return {kind: _function(tir.Evaluate(0), [node]).script()}
    if kind == "tir.Block":
        return {kind: _encode(tir.BlockRealize([var.dom.min for var in node.iter_vars], True, node))}
    body = node if isinstance(node, tir.Stmt) else tir.Evaluate(node)
    text = _function(body, _free_buffers(body)).script()
    if body is not node:
        return {"expr": text}
    is_added = _is_root(_function_of(text).body) and not _is_root(node)
    return {"stmt in a root block" if is_added else "stmt": text}


def _is_root(stmt):
    from lathe import tir
    return isinstance(stmt, tir.BlockRealize) and stmt.block.name_hint == "root"


def _function(body, buffers):
    from lathe import tir
    handles = [tir.Var(buffer.name, "handle") for buffer in buffers]
    matched = [buffer.data for buffer in buffers] + [extent for buffer in buffers for extent in buffer.shape]
    free = [var for var in tir.analysis.undefined_vars(body) if not any(var.same_as(each) for each in matched)]
    return tir.PrimFunc([*handles, *free], body, buffer_map=dict(zip(handles, buffers)))


def _free_buffers(body):
    """The buffers that a statement touches and does not make."""
    from lathe import tir
    touched = {}

    def visit(node):
        if isinstance(node, (tir.BufferLoad, tir.BufferStore)):
            touched[node.buffer] = None
        if isinstance(node, tir.Block):
            touched.update((region.buffer, None) for region in (*node.reads, *node.writes))

    tir.stmt_functor.post_order_visit(body, visit)
    free = tir.analysis.undefined_vars(body)
    return [buffer for buffer in touched if any(buffer.data.same_as(var) for var in free)]


def _function_of(text):
    return _lib.parse_func(text, "<json>", 1, None, True)


def _decode(value):
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    return _READERS[kind](content)


def _of_fields(make):
    return lambda content: make(*map(_decode, content))


def _buffer_of(text):
    func = _function_of(text)
    return func.buffer_map[func.params[0]]


def _of_stages(name):
    def read(content):
        from lathe.te import schedule_json
        return getattr(schedule_json, name)(content)

    return read


def _index_map_of(content):
    from lathe.tir.index_map import IndexMap
    index_map = IndexMap.__new__(IndexMap)
    index_map.__setstate__(_decode(content))
    return index_map


def _target_of(content):
    from lathe.target import Target
    attr = dict(_decode(content))
    return Target.from_attr({**attr, "host": Target.from_attr(attr["host"])} if "host" in attr else attr)


def _plain(module, name):
    return lambda content: getattr(importlib.import_module(module), name)(*_decode(content))


_READERS = {
    "Target": _target_of,
    "IndexMap": _index_map_of,
    "GlobalVar": _plain("lathe.ir.module", "GlobalVar"),
    "Layout": _plain("lathe.tir.data_layout", "Layout"),
    **{name: _plain("lathe.ir.type", name) for name in ("PrimType", "PointerType", "TupleType", "FuncType")},
    "te.Schedule": _of_stages("schedule_of"),
    "te.Tensor": _of_stages("tensor_of"),
    "te.Operation": _of_stages("operation_of"),
    "Array": lambda content: Array(_decode(item) for item in content),
    "Map": lambda content: Map({_decode(key): _decode(item) for key, item in content}),
    "IRModule": lambda content: _lib.parse_module(content, "<json>", 1, None, True),
    "tir.PrimFunc": _function_of,
    "tir.Buffer": _buffer_of,
    "tir.Block": lambda content: _decode(content).block,
    "tir.IterVar": _of_fields(lambda *fields: _lib.IterVar(*fields)),
    "tir.BufferRegion": _of_fields(lambda *fields: _lib.BufferRegion(*fields)),
    "tir.MatchBufferRegion": _of_fields(lambda *fields: _lib.MatchBufferRegion(*fields)),
    "Range": _of_fields(lambda *fields: _lib.Range(*fields)),
    "Op": _of_fields(lambda *fields: _lib.op_get("tir." + fields[0].removeprefix("tir."))),
    "stmt": lambda content: _function_of(content).body,
    "stmt in a root block": lambda content: _function_of(content).body.block.body,
    "expr": lambda content: _function_of(content).body.value,
}
