"""Making tensors."""
import inspect

from lathe import _lib
from lathe.ir import Range
from lathe.te.tag import tag_or_scope
from lathe.te.tensor import Tensor, TensorSlice
from lathe.tir.buffer import decl_buffer
from lathe.tir.expr import BufferLoad, PrimExpr, SizeVar, Var
from lathe.tir.stmt import BufferStore, Evaluate, Stmt, stmt_seq
from lathe.tir.stmt_functor import post_order_visit


def var(name="tindex", dtype="int32", span=None):
    """A variable."""
    return Var(name, dtype)


def size_var(name="size", dtype="int32", span=None):
    """A variable that is no less than 0."""
    return SizeVar(name, dtype)


def _list(value):
    return list(value) if isinstance(value, (list, tuple)) or hasattr(value, "__iter__") else [value]


def placeholder(shape, dtype=None, name="placeholder"):
    """A tensor that is given from outside."""
    return _lib.te.placeholder(_list(shape), dtype or "float32", name)


def _range(dom):
    if dom is None or isinstance(dom, Range):
        return dom
    if not isinstance(dom, (list, tuple)):
        raise TypeError(f"axis: expected a Range or (begin, end), got {dom!r}")
    if len(dom) != 2:
        raise ValueError("axis: expected a Range or (begin, end)")
    return Range(dom[0], dom[1])


def reduce_axis(dom, name="rv", thread_tag="", span=None):
    """An axis to reduce over: a Range, or (begin, end)."""
    return _lib.te.reduce_axis(_range(dom), name)


def thread_axis(dom=None, tag="", name="", span=None):
    """An axis of threads."""
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        raise ValueError("thread_axis: it needs a tag, as \"threadIdx.x\"")
    dom = (0, dom) if isinstance(dom, int) else dom
    return _lib.te.thread_axis(_range(dom), tag, name)


def _names(fcompute, ndim, varargs_names):
    """What the function calls its arguments."""
    names = []
    for parameter in inspect.signature(fcompute).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += varargs_names or [f"i{i}" for i in range(len(names), ndim)]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    if not inspect.signature(fcompute).parameters:
        names = [f"i{i}" for i in range(ndim)]
    if len(names) != ndim:
        raise ValueError(f"compute: fcompute takes {len(names)} arguments, the shape has {ndim} dimensions")
    return names


def _value(value):
    return value.asobject() if isinstance(value, TensorSlice) else value


def compute(shape, fcompute, name="compute", tag="", attrs=None, varargs_names=None):
    """The tensor, or the tensors, whose elements fcompute gives at each index."""
    shape = _list(shape)
    names = _names(fcompute, len(shape), varargs_names)
    axes = _lib.te.axes(shape, names)
    takes_none = not inspect.signature(fcompute).parameters
    body = fcompute(*([] if takes_none else [axis.var for axis in axes]))
    is_several = isinstance(body, (list, tuple))
    body = [_value(each) for each in body] if is_several else [_value(body)]
    outputs = _lib.te.compute(axes, body, name, tag_or_scope(tag), attrs)
    return tuple(outputs) if is_several and len(outputs) > 1 else outputs[0]


def scan(init, update, state_placeholder, inputs=None, name="scan", tag="", attrs=None):
    """The states of a loop over the first dimension."""
    is_several = isinstance(init, (list, tuple))
    outputs = _lib.te.scan(*[_list(each) if isinstance(each, (list, tuple)) else [each]
                             for each in (init, update, state_placeholder)],
                           list(inputs or []), name, tag_or_scope(tag), attrs)
    return outputs if is_several else outputs[0]


def _body(result):
    if isinstance(result, Stmt):
        return result
    if isinstance(result, (list, tuple)):
        return stmt_seq(*result)
    if not isinstance(result, PrimExpr):
        raise ValueError(f"extern: fcompute gives a statement or an expression, not {result!r}")
    return Evaluate(result)


def extern(shape, inputs, fcompute, name="extern", dtype=None, in_buffers=None, out_buffers=None, tag="", attrs=None):
    """The tensor, or the tensors, that a statement over buffers computes: fcompute(inputs, results)."""
    shapes = [shape] if isinstance(shape, tuple) or not isinstance(shape, (list, tuple)) or not shape or not isinstance(
        shape[0], (list, tuple)) else shape
    shapes = [_list(each) for each in shapes]
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if dtype is None:
        types = {tensor.dtype for tensor in inputs}
        if len(types) != 1:
            raise ValueError("extern: the type of the result is not that of all inputs; give dtype")
        dtype = types.pop()
    dtypes = [dtype] * len(shapes) if isinstance(dtype, str) else list(dtype)
    ins = list(in_buffers) if isinstance(in_buffers, (list, tuple)) else [in_buffers] if in_buffers else [
        decl_buffer(tensor.shape, tensor.dtype, tensor.op.name, elem_offset=Var("elem_offset", "int32")) for tensor in inputs]
    outs = list(out_buffers) if isinstance(out_buffers, (list, tuple)) else [out_buffers] if out_buffers else [
        decl_buffer(each, kind, name, elem_offset=Var("elem_offset", "int32")) for each, kind in zip(shapes, dtypes)]
    outputs = _lib.te.extern(inputs, ins, outs, _body(fcompute(ins, outs)), name, tag_or_scope(tag), attrs)
    return outputs[0] if len(outputs) == 1 else outputs


def _accessed_parameters(primfunc):
    """The buffers that it only reads, and those that it writes, as they stand among its parameters."""
    nodes = []
    post_order_visit(primfunc.body, nodes.append)
    buffers = [primfunc.buffer_map[param] for param in primfunc.params if param in primfunc.buffer_map]
    written = [buffer for buffer in buffers if _touches(nodes, BufferStore, buffer)]
    read = [buffer for buffer in buffers if _touches(nodes, BufferLoad, buffer)]
    return [buffer for buffer in read if not any(buffer.same_as(each) for each in written)], written


def _touches(nodes, kind, buffer):
    return any(isinstance(node, kind) and node.buffer.same_as(buffer) for node in nodes)


def extern_primfunc(input_tensors, primfunc, **kwargs):
    """The tensor, or the tensors, that a function over buffers computes: what it reads and does not write is input."""
    read, written = _accessed_parameters(primfunc)
    if len(read) != len(input_tensors):
        raise ValueError(f"extern_primfunc: the function reads {len(read)} buffers, {len(input_tensors)} tensors are given")
    return extern([list(buffer.shape) for buffer in written], list(input_tensors), lambda ins, outs: primfunc.body,
                  name=primfunc.attrs.get("global_symbol", "main"), dtype=[buffer.dtype for buffer in written],
                  in_buffers=read, out_buffers=written, **kwargs)


def create_prim_func(ops, index_dtype_override=None):
    """The function of these tensors and variables: its parameters, in this order."""
    return _lib.te.create_prim_func([ops] if isinstance(ops, Tensor) else list(ops), index_dtype_override)
