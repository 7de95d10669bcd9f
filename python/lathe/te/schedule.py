"""Classic schedules: a stage per operation, whose loops, place and memory are said in any order before lower or build."""
from lathe import _lib
from lathe.ir import Array, Map
from lathe.te.tensor import Operation, Tensor
from lathe.tir.buffer import Buffer
from lathe.tir.expr import IterVar

Schedule, Stage = _lib.te.Schedule, _lib.te.Stage


class _Relation:
    """How axes became others."""

    def __init__(self, made_from, made):
        self.made_from, self.made = made_from, made


class Split(_Relation):
    """Of `parent`: `outer`, `inner`."""

    parent = property(lambda self: self.made_from[0])
    outer, inner = property(lambda self: self.made[0]), property(lambda self: self.made[1])


class Fuse(_Relation):
    """Of `outer`, `inner` (the last of several): `fused`."""

    outer, inner = property(lambda self: self.made_from[0]), property(lambda self: self.made_from[-1])
    fused = property(lambda self: self.made[0])


class Singleton(_Relation):
    """Of nothing: `iter`."""

    iter = property(lambda self: self.made[0])


class IterVarAttr:
    """What a stage says about an axis."""

    def __init__(self, iter_type, bind_thread, pragma_keys, pragma_values):
        self.iter_type, self.bind_thread = iter_type, bind_thread
        self.pragma_keys, self.pragma_values = pragma_keys, pragma_values


def _relations(stage):
    kinds = {"Split": Split, "Fuse": Fuse, "Singleton": Singleton}
    return Array([kinds[kind](made_from, made) for kind, made_from, made in stage.relation_list()])


Stage.relations = property(_relations)
Stage.iter_var_attrs = property(
    lambda stage: Map({axis: IterVarAttr(*stage.attr_of(axis)) for axis in stage.all_iter_vars}))


def create_schedule(ops):
    """The schedule of all operations below `ops`, one operation or several."""
    return _lib.te.create_schedule(list(ops) if isinstance(ops, (list, tuple)) else [ops])


def cache_read(self, tensor, scope, readers):
    """The tensor that `readers` read instead: a copy in memory of `scope`."""
    return self.read_cache(tensor, scope, [readers] if isinstance(readers, (Tensor, Operation)) else list(readers))


def rfactor(self, tensor, axis, factor_axis=0):
    """The tensor, or the tensors, in which a loop of a reduction is a dimension."""
    factored = Array(self.factor(tensor, axis, factor_axis))
    return factored[0] if len(factored) == 1 else factored


Schedule.cache_read, Schedule.rfactor = cache_read, rfactor
Schedule.stage_map = property(lambda self: Map({stage.op: stage for stage in self.stages}))
Schedule.normalize = lambda self: self  # Its loops begin where InferBound says.


def InferBound(schedule):
    """Where each axis begins, in terms of the loops around, and how many values it takes."""
    return Map(dict(_lib.te.infer_bound(schedule)))
