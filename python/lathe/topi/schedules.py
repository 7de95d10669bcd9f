"""Schedules of stages by the names of topi.generic, topi.x86 and topi.cuda: right for any operators, fast for none in
particular."""
from lathe import te
from lathe.te.tensor import ComputeOp, Tensor
from lathe.topi import tag


def _ops(outs):
    return [each.op for each in ([outs] if isinstance(outs, Tensor) else outs)]


def _inlined(ops):
    """A schedule in which what moves or maps elements is computed where it is read."""
    s = te.create_schedule(ops)
    for stage in s.stages:
        is_output = any(stage.op.same_as(op) for op in s.outputs)
        if isinstance(stage.op, ComputeOp) and tag.is_injective(stage.op.tag) and not is_output:
            stage.compute_inline()
    return s


def _computed(s):
    """The stages with loops of their own."""
    return [stage for stage in s.stages if isinstance(stage.op, ComputeOp) and not _is_inlined(s, stage)]


def _is_inlined(s, stage):
    return tag.is_injective(stage.op.tag) and not any(stage.op.same_as(op) for op in s.outputs)


def plain(outs, *options, **named):
    """The loops as they are."""
    return _inlined(_ops(outs))


def whole(outs, *options, **named):
    """The loops as they are, and every operation a stage."""
    return te.create_schedule(_ops(outs))


def for_cpu(outs, *options, **named):
    """The outermost loops of each stage side by side."""
    s = _inlined(_ops(outs))
    for stage in _computed(s):
        _run_beside(stage, list(stage.op.axis))
    return s


def _run_beside(stage, axes):
    if len(axes) == 1:
        stage.parallel(axes[0])
    elif axes:
        stage.parallel(stage.fuse(*axes[:min(len(axes) - 1, 2)]))


def for_gpu(outs, *options, **named):
    """One thread for each element of each stage."""
    s = _inlined(_ops(outs))
    for stage in _computed(s):
        fused = stage.fuse(*stage.op.axis)
        block, thread = stage.split(fused, factor=64)
        stage.bind(block, te.thread_axis("blockIdx.x"))
        stage.bind(thread, te.thread_axis("threadIdx.x"))
    return s


_NAMES = """
adaptive_pool argsort batch_matmul batch_norm binarize_pack concatenate conv1d_ncw conv1d_nwc conv2d conv2d_NCHWc conv2d_hwcn
conv2d_nchw conv2d_nhwc conv2d_transpose_nchw conv3d_ncdhw conv3d_ndhwc dense depthwise_conv2d_nchw depthwise_conv2d_nhwc
dense_nopack dense_small_batch extern group_conv2d_nchw group_conv2d_nhwc injective l2_normalize lrn matmul pool reduce softmax
topk
"""


def all_by_name(schedule):
    """schedule_injective, schedule_reduce ...: one schedule for all of them."""
    return {"schedule_" + name: schedule for name in _NAMES.split()}
