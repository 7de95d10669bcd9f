"""Schedules of stages as JSON: what is computed as TVMScript in it, and what was said of each stage."""
from lathe import _lib
from lathe.te import schedule as stages
from lathe.te.tensor import ComputeOp, ExternOp, PlaceholderOp, ScanOp


def _after_inputs(op, found):
    """The operations below `op`, and it, each after what it reads."""
    if any(op == known for known in found):
        return
    for tensor in _tensors_of(op):
        _after_inputs(tensor.op, found)
    found.append(op)


def _tensors_of(op):
    if isinstance(op, ScanOp):
        return [*op.init, *op.update, *op.state_placeholder, *op.inputs]
    return list(op.inputs if isinstance(op, ExternOp) else op.input_tensors)


class _Graph:
    """Operations, and one function of all expressions: its parameters are what is free in them, and the buffers."""

    def __init__(self, ops):
        self.ops, self.buffers, self.free, self.parts = ops, [], [], []
        for op in ops:
            self.buffers += [op.output(i).buffer for i in range(op.num_outputs)]
            if isinstance(op, ComputeOp):
                self.parts.append(_nest(op))
            if isinstance(op, ExternOp):
                self.buffers += [*op.input_placeholders, *op.output_placeholders]
                self.parts.append(op.body)

    def index(self, op):
        return next(i for i, known in enumerate(self.ops) if known == op)

    def tensor(self, tensor):
        return [self.index(tensor.op), tensor.value_index]

    def function(self):
        from lathe import tir
        body = tir.SeqStmt([tir.Evaluate(0), *self.parts, tir.Evaluate(0)])
        handles = [tir.Var(buffer.name, "handle") for buffer in self.buffers]
        data = [buffer.data for buffer in self.buffers]
        shapes = tir.SeqStmt([tir.Evaluate(extent) for buffer in self.buffers for extent in buffer.shape] + [body])
        self.free = [var for var in tir.analysis.undefined_vars(shapes) if not any(var.same_as(each) for each in data)]
        return tir.PrimFunc([*self.free, *handles], body, buffer_map=dict(zip(handles, self.buffers)))


def _nest(op):
    """A compute as loops over its axes with its values in them."""
    from lathe import tir
    body = tir.SeqStmt([tir.Evaluate(0), *[tir.Evaluate(value) for value in op.body]])
    for axis in reversed(op.axis):
        body = tir.For(axis.var, axis.dom.min, axis.dom.extent, tir.ForKind.SERIAL, body)
    return body


def _encode_op(op, graph):
    from lathe.ir.json_io import _encode
    names = {"name": op.name, "tag": op.tag, "attrs": _encode(dict(op.attrs))}
    if isinstance(op, ComputeOp):
        return {"kind": "compute", **names, "axis": [axis.var.name for axis in op.axis],
                "reduce_axis": [axis.var.name for axis in op.reduce_axis],
                "layout_free": [graph.tensor(tensor) for tensor in op.layout_free]}
    if isinstance(op, ScanOp):
        parts = {key: [graph.tensor(tensor) for tensor in tensors] for key, tensors in (
            ("init", op.init), ("update", op.update), ("state", op.state_placeholder), ("inputs", op.inputs))}
        return {"kind": "scan", **names, **parts}
    if isinstance(op, ExternOp):
        return {"kind": "extern", **names, "inputs": [graph.tensor(tensor) for tensor in op.inputs],
                "num_outputs": op.num_outputs}
    return {"kind": "placeholder", **names}


class _Reader:
    """The operations of an encoded graph."""

    def __init__(self, content):
        from lathe import tir
        from lathe.ir.json_io import _function_of
        func = _function_of(content["program"])
        count = len(content["free"])
        made = [(tir.SizeVar if is_size else tir.Var)(name, var.dtype)
                for (name, is_size), var in zip(content["free"], func.params)]
        self.vars = dict(zip(func.params[:count], made))
        self.buffers = [func.buffer_map[param] for param in func.params[count:]]
        self.parts, self.tensor_of, self.ops = list(func.body.seq)[1:-1], {}, []
        for encoded in content["ops"]:
            outputs = getattr(self, "_" + encoded["kind"])(encoded)
            self.ops.append(outputs[0].op)

    def tensors(self, places):
        return [self.ops[op].output(i) for op, i in places]

    def expr(self, expr, values=()):
        """Over the variables and tensors that there are now."""
        from lathe import tir
        from lathe.tir.stmt_functor import ir_transform, substitute
        expr = substitute(expr, {**self.vars, **dict(values)})
        return ir_transform(tir.Evaluate(expr), None, self._load, ["tir.BufferLoad"]).value

    def _load(self, load):
        tensor = self.tensor_of.get(load.buffer)
        return None if tensor is None else tensor(*load.indices)

    def _take(self, outputs):
        for output in outputs:
            self.tensor_of[self.buffers.pop(0)] = output
        return outputs

    def _attrs(self, encoded):
        from lathe.ir.json_io import _decode
        return dict(_decode(encoded["attrs"]))

    def _placeholder(self, encoded):
        buffer = self.buffers[0]
        return self._take([_lib.te.placeholder([self.expr(extent) for extent in buffer.shape], buffer.dtype,
                                               encoded["name"])])

    def _compute(self, encoded):
        stmt, loops = self.parts.pop(0), []
        for _ in encoded["axis"]:
            loops.append(stmt)
            stmt = stmt.body
        axes = _lib.te.axes([self.expr(loop.extent) for loop in loops], encoded["axis"])
        values = {loop.loop_var: axis.var for loop, axis in zip(loops, axes)}
        bodies = [part.value for part in list(stmt.seq)[1:]]
        if encoded["reduce_axis"]:
            reduced = [_lib.te.reduce_axis(self._range(axis.dom, values), name)
                       for axis, name in zip(bodies[0].axis, encoded["reduce_axis"])]
            bodies = [self._reduction(body, reduced, values) for body in bodies]
        else:
            bodies = [self.expr(body, values) for body in bodies]
        attrs = self._attrs(encoded)
        if encoded["layout_free"]:
            attrs["layout_free_placeholders"] = self.tensors(encoded["layout_free"])
        return self._take(_lib.te.compute(axes, bodies, encoded["name"], encoded["tag"], attrs))

    def _range(self, dom, values):
        from lathe.ir import Range
        return Range.from_min_extent(self.expr(dom.min, values), self.expr(dom.extent, values))

    def _reduction(self, reduce, axes, values):
        from lathe import tir
        values = {**values, **{old.var: axis.var for old, axis in zip(reduce.axis, axes)}}
        return tir.Reduce(reduce.combiner, [self.expr(each, values) for each in reduce.source], axes,
                          self.expr(reduce.condition, values), reduce.value_index,
                          [self.expr(each, values) for each in reduce.init])

    def _scan(self, encoded):
        parts = [self.tensors(encoded[key]) for key in ("init", "update", "state", "inputs")]
        return self._take(_lib.te.scan(*parts, encoded["name"], encoded["tag"], self._attrs(encoded)))

    def _extern(self, encoded):
        from lathe.tir.stmt_functor import substitute
        outputs, inputs = encoded["num_outputs"], self.tensors(encoded["inputs"])
        own, rest = self.buffers[:outputs], self.buffers[outputs:]
        ins, outs = rest[:len(inputs)], rest[len(inputs):len(inputs) + outputs]
        body = substitute(self.parts.pop(0), self.vars)
        made = _lib.te.extern(inputs, ins, outs, body, encoded["name"], encoded["tag"], self._attrs(encoded))
        self.buffers = own + rest[len(inputs) + outputs:]
        return self._take(made)


def _encode_graph(ops):
    from lathe import tir
    graph = _Graph(ops)
    program = graph.function().script()
    free = [[var.name, isinstance(var, tir.SizeVar)] for var in graph.free]
    return graph, {"program": program, "free": free, "ops": [_encode_op(op, graph) for op in ops]}


# ---- What was said of stages. An axis is its number among those that a stage had so far.


def _axes_of(op):
    if isinstance(op, ScanOp):
        return [op.scan_axis]
    return [*op.axis, *op.reduce_axis] if isinstance(op, ComputeOp) else []


def _number(axes, axis):
    return next(i for i, known in enumerate(axes) if known.var.same_as(axis.var))


class _Writer:
    """What was said of the stages of a schedule."""

    def __init__(self, schedule, graph):
        self.schedule, self.graph, self.threads = schedule, graph, []
        self.stages = [schedule[op] for op in graph.ops if not isinstance(op, PlaceholderOp)]
        self.axes = [_axes_of(stage.op) for stage in self.stages]

    def encoded(self):
        from lathe.ir.json_io import _encode
        said = [self._stage(stage, axes) for stage, axes in zip(self.stages, self.axes)]
        return {"outputs": [self.graph.index(op) for op in self.schedule.outputs], "stages": said,
                "groups": [self._group(group) for group in self.schedule.groups if group.attach_type != 5],
                "places": [self._place(stage) for stage in self.stages],
                "threads": [[axis.thread_tag, axis.var.name, axis.dom and _encode(axis.dom.extent)]
                            for axis in self.threads]}

    def _stage(self, stage, axes):
        from lathe import tir
        steps, layout = [], stage.said_of_layout()
        if layout is not None:
            axes += layout[2]
        for method, named, rest, made in stage.said_of_loops():
            if method == "tensorize":
                raise TypeError(f"save_json: stage {stage.op.name} runs a tensor intrinsic, which has no text")
            variable = next((value for value in rest if isinstance(value, tir.Var)), None)
            if variable is not None:
                raise TypeError(f"save_json: stage {stage.op.name} is {method} by {variable}; save it with numbers")
            steps.append([method, [_number(axes, axis) for axis in named], [self._value(value) for value in rest]])
            axes += made
        result = {key: self._value(value) for key, value in dict(stage.said_of_result()).items()}
        return {"layout": None if layout is None else _encode_layout(*layout[:2]), "steps": steps, "scope": stage.scope,
                "result": result, **({"rolls": True} if stage.rolls else {})}

    def _value(self, value):
        from lathe import tir
        from lathe.ir.json_io import _encode
        if not isinstance(value, tir.IterVar):
            return _encode(value)
        if not any(value.same_as(known) for known in self.threads):
            self.threads.append(value)
        return {"thread": next(i for i, known in enumerate(self.threads) if value.same_as(known))}

    def _place(self, stage_or_group):
        if stage_or_group.attach_type == 2:
            return "inline"
        if stage_or_group.attach_type != 4:
            return None
        around = next(i for i, stage in enumerate(self.stages) if stage == stage_or_group.attach_stage)
        return [around, _number(self.axes[around], stage_or_group.attach_ivar)]

    def _group(self, group):
        members = [i for i, op in enumerate(self.graph.ops) if self._is_in(self.schedule.group_with(op), group)]
        return {"members": members, "place": self._place(group)}

    @staticmethod
    def _is_in(inner, group):
        while inner is not None and inner != group:
            inner = inner.group
        return inner is not None


def _encode_layout(index_map, separators):
    from lathe import tir
    body = tir.SeqStmt([tir.Evaluate(0), *[tir.Evaluate(index) for index in index_map.final_indices]])
    return [tir.PrimFunc(list(index_map.initial_indices), body).script(), list(separators)]


def _lay_out(stage, encoded):
    from lathe import tir
    from lathe.ir.json_io import _function_of
    func = _function_of(encoded[0])
    return stage.lay_out(tir.IndexMap(func.params, [part.value for part in list(func.body.seq)[1:]]), encoded[1])


def _say(stage, said, threads):
    """Says it again, and gives all axes that the stage ever has."""
    from lathe.ir.json_io import _decode
    axes = _axes_of(stage.op)
    if said["layout"] is not None:
        axes += _lay_out(stage, said["layout"])
    for method, named, rest in said["steps"]:
        values = [threads[value["thread"]] if isinstance(value, dict) and "thread" in value else _decode(value)
                  for value in rest]
        made = getattr(stage, method)(*[axes[number] for number in named], *values)
        axes += [] if made is None else list(made) if isinstance(made, tuple) else [made]
    stage.set_scope(said["scope"])
    if said.get("rolls"):
        stage.rolling_buffer()
    if "double_buffer_scope" in said["result"]:
        stage.double_buffer()
    for _, dim, factor, offset in _decode(said["result"].get("buffer_dim_align", {"Array": []})):
        stage.storage_align(stage.op.axis[int(dim)], int(factor), int(offset))
    return axes


def encode(node):
    """A schedule, a tensor or an operation."""
    if isinstance(node, stages.Schedule):
        outputs = list(node.outputs)
    else:
        outputs = [node.op if hasattr(node, "op") else node]
    ops = []
    for op in outputs:
        _after_inputs(op, ops)
    graph, content = _encode_graph(ops)
    if isinstance(node, stages.Schedule):
        return {"te.Schedule": {**content, **_Writer(node, graph).encoded()}}
    if hasattr(node, "op"):
        return {"te.Tensor": {**content, "index": node.value_index}}
    return {"te.Operation": content}


def schedule_of(content):
    from lathe.ir.json_io import _decode
    from lathe.te.operation import thread_axis
    ops = _Reader(content).ops
    schedule = stages.create_schedule([ops[i] for i in content["outputs"]])
    threads = [thread_axis(None if extent is None else (0, _decode(extent)), tag, name)
               for tag, name, extent in content["threads"]]
    found = [schedule[op] for op in ops if not isinstance(op, PlaceholderOp)]
    axes = [_say(stage, said, threads) for stage, said in zip(found, content["stages"])]
    groups = []
    for group in content["groups"]:
        members = [ops[i] for i in group["members"]]
        groups.append(schedule.group_of(members, members, True))
    places = [*content["places"], *[group["place"] for group in content["groups"]]]
    for each, place in zip([*found, *groups], places):
        if place == "inline":
            each.compute_inline()
        elif place is not None:
            each.compute_at(found[place[0]], axes[place[0]][place[1]])
    return schedule


def operation_of(content):
    return _Reader(content).ops[-1]


def tensor_of(content):
    return operation_of(content).output(content["index"])
