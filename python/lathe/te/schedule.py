"""Classic schedules: a stage per operation, whose loops, place and memory are said in any order before lower or build."""
from lathe import _lib
from lathe.ir import Array, Map
from lathe.te.auto_inline import AutoInlineBroadcast, AutoInlineElemWise, AutoInlineInjective
from lathe.te.tensor import Operation, Tensor
from lathe.tir.buffer import Buffer
from lathe.tir.expr import IterVar
from lathe.tir.index_map import IndexMap

AXIS_SEPARATOR = IndexMap.AXIS_SEPARATOR

Schedule, Stage = _lib.te.Schedule, _lib.te.Stage


class _Relation:
    """How axes became others."""

    def __init__(self, made_from, made, factor=None, nparts=None):
        self.made_from, self.made, self.factor, self.nparts = made_from, made, factor, nparts


class Split(_Relation):
    """Of `parent`: `outer`, `inner`, by `factor` or `nparts`."""

    parent = property(lambda self: self.made_from[0])
    outer, inner = property(lambda self: self.made[0]), property(lambda self: self.made[1])


class Fuse(_Relation):
    """Of `outer`, `inner`: `fused`."""

    outer, inner = property(lambda self: self.made_from[0]), property(lambda self: self.made_from[1])
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
    return Array([kinds[kind](*relation) for kind, *relation in stage.relation_list()])


Stage.relations = property(_relations)
Stage.iter_var_attrs = property(
    lambda stage: Map({axis: IterVarAttr(*stage.attr_of(axis)) for axis in stage.all_iter_vars}))


def create_schedule(ops):
    """The schedule of all operations below `ops`, one operation or several."""
    return _lib.te.create_schedule(list(ops) if isinstance(ops, (list, tuple)) else [ops])


def cache_read(self, tensor, scope, readers):
    """The tensor that `readers` read instead: a copy in memory of `scope`."""
    return self.read_cache(tensor, scope, [readers] if isinstance(readers, (Tensor, Operation)) else list(readers))


def cache_write(self, tensor, scope):
    """The tensor that is computed instead, and then copied; of a list of all results of an operation, one of each."""
    if isinstance(tensor, Tensor):
        return self.write_cache([tensor], scope)[0]
    return Array(self.write_cache(list(tensor), scope))


def rfactor(self, tensor, axis, factor_axis=0):
    """The tensor, or the tensors, in which a loop of a reduction is a dimension."""
    factored = Array(self.factor(tensor, axis, factor_axis))
    return factored[0] if len(factored) == 1 else factored


def _transform_layout(self, mapping_function):
    """The result is laid out by the function of its indices, and the loops run over the new ones: they are the result,
    with te.AXIS_SEPARATOR where it stands."""
    count = len(self.op.axis)
    index_map, separators = IndexMap.from_func_with_separators(mapping_function, count, index_dtype="int32")
    axes = list(self.lay_out(index_map, separators))
    for place in reversed(separators):
        axes.insert(place, AXIS_SEPARATOR)
    return axes


def _prefetch(self, tensor, var, offset):
    """A hint, which changes nothing of what is computed."""
    if not any(var.same_as(axis) for axis in self.leaf_iter_vars):
        raise ValueError(f"prefetch: {var.var.name} is no loop of the stage now")


def _env_threads(self, threads):
    """Threads around a scan: its steps stay one after the other on each."""
    for thread in threads if isinstance(threads, (list, tuple)) else [threads]:
        if not isinstance(thread, IterVar) or not thread.thread_tag:
            raise ValueError("env_threads: expected axes made by thread_axis")


def _set_store_predicate(self, predicate):
    """Which of the threads that have one result store it: they all store the same, so nothing changes."""
    attrs = list(self.iter_var_attrs.items())
    threads = [each.var for axis, attr in attrs if attr.bind_thread is not None for each in (axis, attr.bind_thread)]
    for var in _lib.undefined_vars(predicate):
        if not any(var.same_as(thread) for thread in threads):
            raise ValueError(f"set_store_predicate: {var.name} is no thread of the stage; compute te.if_then_else instead")


def _create_group(self, outputs, inputs, include_inputs=False):
    """What computes `outputs` from `inputs`, as one."""
    listed = [[each] if isinstance(each, (Tensor, Operation)) else list(each) for each in (outputs, inputs)]
    return self.group_of(*listed, include_inputs)


def _as_json(self):
    """How it is pickled: what loads it is an equal one."""
    from lathe.ir.json_io import load_json, save_json
    return load_json, (save_json(self),)


Schedule.__reduce__ = Tensor.__reduce__ = Operation.__reduce__ = _as_json
Stage.transform_layout, Stage.prefetch, Stage.env_threads = _transform_layout, _prefetch, _env_threads
Stage.set_store_predicate = _set_store_predicate
Stage.__repr__ = lambda stage: f"stage({stage.origin_op.name}, {stage.op})"
_lib.te.StageGroup.__repr__ = lambda group: f"group-stage(0x{hash(group):x})"
Schedule.__repr__ = lambda schedule: f"schedule(0x{id(schedule):x})"
Schedule.create_group = _create_group
Schedule.cache_read, Schedule.cache_write, Schedule.rfactor = cache_read, cache_write, rfactor
Schedule.stage_map = property(lambda self: Map({stage.op: stage for stage in self.stages}))
Schedule.normalize = lambda self: self  # Its loops begin where InferBound says.


def InferBound(schedule):
    """Where each axis begins, in terms of the loops around, and how many values it takes."""
    return Map(dict(_lib.te.infer_bound(schedule)))


def CreateReadGraph(ops):
    """What each operation at or below `ops` reads: its tensors by the operation."""
    graph = {}

    def visit(op):
        if op not in graph:
            graph[op] = op.input_tensors
            for tensor in op.input_tensors:
                visit(tensor.op)

    for op in ops:
        visit(op)
    return Map(graph)


def PostDFSOrder(outputs, graph):
    """The operations of a graph that `outputs` need, and these, each after what it reads."""
    ordered = []

    def visit(op):
        if op not in ordered:
            for tensor in graph[op]:
                visit(tensor.op)
            ordered.append(op)

    for op in outputs:
        visit(op)
    return Array(ordered)


def CreateAttachPath(schedule):
    """The loops of other stages that each operation is computed in, innermost first."""
    return Map({stage.op: Array(_path_of(stage)) for stage in schedule.stages})


def _path_of(stage):
    path = []
    while stage is not None and stage.attach_stage is not None:
        axis, stage = stage.attach_ivar, stage.attach_stage
        leaves = list(stage.leaf_iter_vars)
        place = next(i for i, leaf in enumerate(leaves) if leaf.same_as(axis))
        path += reversed(leaves[:place + 1])
    return path


def ScanGetBody(scan_op):
    """The operations that a step of the scan computes."""
    return _lib.te.scan_body(scan_op)


def ScanFixPointAnalysis(scan_op):
    """Of each spatial axis of the scan: 1 where every step reads the states just where it writes, else 0."""
    return Map(dict(_lib.te.scan_fix_points(scan_op)))


def _outside(op, found):
    """The tensors that no operation below `op` computes, in the order in which they are read."""
    for tensor in op.input_tensors:
        if not tensor.op.input_tensors and type(tensor.op).__name__ == "PlaceholderOp":
            if not any(tensor == known for known in found):
                found.append(tensor)
        else:
            _outside(tensor.op, found)
    return found


_statements = []  # What ScheduleOps has made last: the statement, and which tensor each buffer of it is.


def ScheduleOps(schedule, bounds, debug_keep_trivial_loop=False):
    """The loops of all stages as one statement over buffers: TVM's before blocks, without its producers' marks."""
    inputs = []
    for op in schedule.outputs:
        _outside(op, inputs)
    tensors = inputs + [op.output(i) for op in schedule.outputs for i in range(op.num_outputs)]
    variables = _variables(tensors)
    func = schedule.lower(variables + tensors, "main", starts_apart=True)
    func = func.specialize(dict(zip(func.params, variables)))
    func = in_loops(func)
    _statements.append((func.body, [(tensor, func.buffer_map[param]) for tensor, param in zip(tensors, func.params)]))
    del _statements[:-8]
    return func.body


def _variables(tensors):
    """What their shapes name."""
    from lathe.tir.expr import Var
    from lathe.tir.stmt_functor import post_order_visit
    found = []

    def visit(node):
        if isinstance(node, Var) and not any(node.same_as(known) for known in found):
            found.append(node)

    for tensor in tensors:
        for extent in tensor.shape:
            post_order_visit(extent, visit)
    return found


def in_loops(func):
    """The function without blocks, each buffer as large as what there is of it at once."""
    from lathe.ir.module import IRModule
    from lathe.tir import transform
    from lathe.tir.stmt_functor import ir_transform
    module = IRModule({"main": func})
    for name in ("LowerCrossThreadReduction", "LowerInitBlock", "PlanAndUpdateBufferAllocationLocation",
                 "ConvertBlocksToOpaque", "CompactBufferAllocation", "UnifyThreadBinding", "LowerMatchBuffer"):
        module = getattr(transform, name)()(module)
    func = module["main"]
    marked = _lib.te.mark_double_buffers(func.body)
    guarded = ir_transform(marked, None, _with_likely_guards, ["tir.BlockRealize"])
    return transform.LowerOpaqueBlock()(IRModule({"main": func.with_body(guarded)}))["main"]


def _with_likely_guards(realize):
    """What keeps tiles inside their bounds is likely, as TVM's loops of stages say: LoopPartition looks for that."""
    from lathe.tir import And, BlockRealize, IfThenElse, IntImm
    from lathe.tir.op import likely
    if isinstance(realize.predicate, IntImm):
        return None
    guarded, rest = BlockRealize(realize.iter_values, True, realize.block), [realize.predicate]
    while rest:
        condition = rest.pop()
        if isinstance(condition, And):
            rest += [condition.a, condition.b]
        else:
            guarded = IfThenElse(likely(condition), guarded, None)
    return guarded


def SchedulePostProcToPrimFunc(arg_list, body, extern_buffer):
    """The function whose body is a statement of ScheduleOps, or one over the buffers of `arg_list` and `extern_buffer`,
    with `arg_list` as parameters."""
    buffers = next((known for stmt, known in reversed(_statements) if stmt.same_as(body)), None)
    buffers = list((extern_buffer or {}).items()) if buffers is None else buffers
    from lathe.tir.expr import Var
    from lathe.tir.function import PrimFunc
    params, buffer_map = [], {}
    for arg in arg_list:
        buffer = next((held for tensor, held in buffers if isinstance(arg, Tensor) and tensor == arg), None)
        buffer = arg if isinstance(arg, Buffer) else buffer
        if isinstance(arg, Tensor) and buffer is None:
            raise ValueError(f"SchedulePostProcToPrimFunc: the statement does not use tensor {arg.name}")
        params.append(arg if buffer is None else Var(arg.name, "handle"))
        if buffer is not None:
            buffer_map[params[-1]] = buffer
    return PrimFunc(params, body, buffer_map=buffer_map).with_attr("from_legacy_te_schedule", True)


def loops_of(module):
    """A module of stages' functions as `lower` begins with it in TVM: loops, and parameters called as their tensors."""
    from lathe.ir.module import IRModule
    from lathe.tir.expr import Var
    from lathe.tir.function import PrimFunc
    functions = {}
    for variable, func in module.functions.items():
        func = in_loops(func)
        params = [Var(func.buffer_map[param].name, "handle") if param in func.buffer_map else param
                  for param in func.params]
        buffer_map = {param: func.buffer_map[old] for param, old in zip(params, func.params) if old in func.buffer_map}
        named = PrimFunc(params, func.body, buffer_map=buffer_map, attrs=func.attrs)
        functions[variable] = named.with_attr("from_legacy_te_schedule", True)
    return IRModule(functions)
