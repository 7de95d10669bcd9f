"""What schedules inline without being told: te.schedule.AutoInlineElemWise and its like."""
from lathe.te.tensor import ComputeOp
from lathe.tir.expr import BufferLoad, Reduce
from lathe.tir.stmt_functor import post_order_visit


def _indices_read(op):
    """Those of each load."""
    found = []
    for value in op.body:
        post_order_visit(value, lambda node: isinstance(node, BufferLoad) and found.append(list(node.indices)))
    return found


def _is_injective(op):
    return isinstance(op, ComputeOp) and not isinstance(op.body[0], Reduce)


def _is_broadcast(op):
    """Whether the indices of each load are axes, in their order."""
    return _is_injective(op) and all(_are_axes_in_order(indices, op.axis) for indices in _indices_read(op))


def _are_axes_in_order(indices, axes):
    rest = iter(axes)
    return all(any(index.same_as(axis.var) for axis in rest) for index in indices)


def _is_elemwise(op):
    """Whether each load is of all axes."""
    return _is_broadcast(op) and all(len(indices) == len(op.axis) for indices in _indices_read(op))


def _is_scheduled(stage):
    """Whether it has a place, or other loops than its operation; what is only said of them does not count."""
    return stage.attach_type != 1 or any(said[0] in ("split", "fuse", "reorder") for said in stage.said_of_loops())


def _inline(schedule, is_wanted):
    for stage in schedule.stages:
        if is_wanted(stage.op) and not stage.is_output and not _is_scheduled(stage):
            stage.compute_inline()


def AutoInlineElemWise(schedule):
    """Inlines what is computed element by element."""
    _inline(schedule, _is_elemwise)


def AutoInlineBroadcast(schedule):
    """Inlines what is computed element by element, also of inputs with fewer dimensions."""
    _inline(schedule, _is_broadcast)


def AutoInlineInjective(schedule):
    """Inlines what is no reduction."""
    _inline(schedule, _is_injective)
