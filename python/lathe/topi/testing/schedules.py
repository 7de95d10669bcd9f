"""The schedules and operators of a target."""
from lathe._lib import topi as _topi
from lathe.target import Target
from lathe.topi import cuda, generic, x86


def dispatch(target, dispatch_map):
    """The entry of the first of the target's keys that is there, or "generic"."""
    target = target if isinstance(target, Target) else Target(target)
    return next((dispatch_map[key] for key in target.keys if key in dispatch_map), dispatch_map.get("generic"))


def _by_target(name):
    return {"generic": getattr(generic, name), "cpu": getattr(x86, name), "gpu": getattr(cuda, name)}


def get_elemwise_schedule(target):
    return get_injective_schedule(target)


def get_broadcast_schedule(target):
    return get_injective_schedule(target)


def get_injective_schedule(target):
    return dispatch(target, _by_target("schedule_injective"))


def get_reduce_schedule(target):
    return dispatch(target, _by_target("schedule_reduce"))


def get_conv2d_nchw_implement(target):
    """The operator and its schedule."""
    return _topi.nn.conv2d_nchw, dispatch(target, _by_target("schedule_conv2d_nchw"))


def get_conv2d_nhwc_implement(target):
    """The operator and its schedule."""
    return _topi.nn.conv2d_nhwc, dispatch(target, _by_target("schedule_conv2d_nhwc"))
