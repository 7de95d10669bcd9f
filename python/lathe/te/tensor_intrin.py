"""Tensor intrinsics of stages: an operation over small tensors, and the statements that compute it."""
from lathe import _lib
from lathe.tir.buffer import decl_buffer
from lathe.tir.stmt import Evaluate, Stmt

TensorIntrin = _lib.te.TensorIntrin


def decl_tensor_intrin(op, fcompute, name="tensor_intrin", binds=None, scalar_params=None, default_buffer_params=None):
    """The intrinsic that computes `op` by what fcompute(inputs, outputs) gives: one statement, or for a reduction all of
    it, its start, and one more part of it. binds: the buffers of its tensors, declared as said otherwise."""
    if scalar_params:
        raise ValueError("decl_tensor_intrin: scalar_params are not supported; write the numbers into the statements")
    given, options = binds or {}, default_buffer_params or {}
    tensors = list(op.input_tensors) + [op.output(i) for i in range(op.num_outputs)]
    buffers = [given[each] if each in given else decl_buffer(each.shape, each.dtype, each.op.name, **options)
               for each in tensors]
    count = len(op.input_tensors)
    body = fcompute(buffers[:count], buffers[count:])
    parts = list(body) if isinstance(body, (list, tuple)) else [body]
    parts = [part if part is None or isinstance(part, Stmt) else Evaluate(part) for part in parts]
    return TensorIntrin(name, op, buffers, *(parts + [None, None])[:3])


def _tensorize(self, var, tensor_intrin):
    """The loop and those inside of it run the intrinsic."""
    self.run_intrin(var, tensor_intrin)


_lib.te.Stage.tensorize = _tensorize
