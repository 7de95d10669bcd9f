"""TensorIR in an IRBuilder: what TVM's frames are called. Names that open no frame are those of the dialect T."""
from lathe import _lib
from lathe.ir.expr import Range
from lathe.ir.type import PointerType, PrimType
from lathe.script import tir as _dialect
from lathe.script.ir_builder.base import IRBuilder, IRBuilderFrame
from lathe.script.ir_builder.ir import IRModuleFrame
from lathe.tir import stmt
from lathe.tir.buffer import BufferRegion, MatchBufferRegion, decl_buffer as _decl_buffer
from lathe.tir.expr import BufferLoad, IterVar, StringImm, Var
from lathe.tir.function import PrimFunc


def __getattr__(name):
    return getattr(_dialect, name)


def _current():
    return IRBuilder.current()


# ---- Functions


class PrimFuncFrame(IRBuilderFrame):
    def __init__(self, is_private):
        super().__init__()
        self.is_private, self.name, self.params, self.attrs = is_private, None, [], {}
        self.ret_type, self.root_alloc_buffers, self.buffer_map, self.env_threads = None, [], {}, {}

    def end(self):
        func = PrimFunc(self.params, self.body(), self.ret_type, self.buffer_map)
        for key, value in self.attrs.items():
            func = func.with_attr(key, value)
        if self.name is not None and not self.is_private:
            func = func.with_attr("global_symbol", self.attrs.get("global_symbol", self.name))
        func = _lib.renamed(_lib.func_complete(func, self.root_alloc_buffers), self.builder.names)
        around = self.builder.frames[-1] if self.builder.frames else None
        if isinstance(around, IRModuleFrame):
            around.functions[self.name or "main"] = func
        else:
            self.builder.emit(func)


def prim_func(is_private=False):
    return PrimFuncFrame(is_private)


def _func(what):
    return _current().find(PrimFuncFrame, what)


def func_name(name):
    _func("T.func_name").name = name


def func_attr(attrs):
    _func("T.func_attr").attrs.update(attrs)


def func_ret(ret_type):
    ret_type = getattr(ret_type, "dtype", ret_type)
    _func("T.func_ret").ret_type = ret_type
    return ret_type


def _with_name(obj, name):
    if isinstance(obj, Var):
        return Var(name, getattr(obj, "type_annotation", None) or obj.dtype)
    return _decl_buffer(obj.shape, obj.dtype, name, None, obj.strides or None, obj.elem_offset, obj.scope(), obj.data_alignment,
                        obj.offset_factor, "", obj.axis_separators)


def arg(name, obj):
    """A parameter."""
    func, value = _func("T.arg"), _with_name(obj() if callable(obj) else obj, name)
    func.params.append(value)
    return value


def match_buffer(param, shape=None, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", align=-1,
                 offset_factor=0, buffer_type="default", axis_separators=None):
    """A parameter as a buffer; in a block a view of a part of one."""
    dtype = getattr(dtype, "dtype", dtype)
    if shape is None and isinstance(param, BufferRegion):
        shape = [each.extent for each in param.region]
    buffer = _decl_buffer(shape, dtype, getattr(param, "name", None) or "buffer", data, strides, elem_offset, scope, align,
                          offset_factor, buffer_type, axis_separators)
    if isinstance(param, Var):
        _func("T.match_buffer").buffer_map[param] = buffer
    else:
        _block("T.match_buffer").match_buffers.append(MatchBufferRegion(buffer, _region(param)))
    return buffer


# ---- Blocks


class BlockFrame(IRBuilderFrame):
    def __init__(self, name, no_realize):
        super().__init__()
        self.name, self.no_realize = name, no_realize
        self.iter_vars, self.iter_values, self.predicate, self.init = [], [], None, None
        self.reads, self.writes, self.annotations = None, None, None
        self.alloc_buffers, self.match_buffers = [], []

    def made(self, reads, writes):
        return stmt.Block(self.iter_vars, reads, writes, self.name, self.body(), self.init, self.alloc_buffers,
                          self.match_buffers, self.annotations or {})

    def end(self):
        reads, writes = self.reads, self.writes
        if reads is None or writes is None:
            found = _lib.block_regions(self.made([], []))
            reads = found[0] if reads is None else reads
            writes = found[1] if writes is None else writes
        block = self.made(reads, writes)
        if self.no_realize:
            return self.builder.emit(block)
        predicate = _lib.cast("bool", True) if self.predicate is None else self.predicate
        self.builder.emit(stmt.BlockRealize(self.iter_values, predicate, block))


class BlockInitFrame(IRBuilderFrame):
    def end(self):
        _block("T.init").init = self.body()


def block(name="", no_realize=False):
    return BlockFrame(name, no_realize)


sblock = block


def init():
    return BlockInitFrame()


def _block(what):
    return _current().find(BlockFrame, what)


def where(predicate):
    frame = _block("T.where")
    if frame.predicate is not None:
        raise ValueError("T.where: the block has a predicate already")
    frame.predicate = predicate


def _region(source):
    if isinstance(source, BufferRegion):
        return source
    if isinstance(source, BufferLoad):
        return BufferRegion(source.buffer, [Range.from_min_extent(index, 1) for index in source.indices])
    return BufferRegion(source, [Range(0, extent) for extent in source.shape])


def _regions(slices):
    return [_region(each) for group in slices for each in (group if isinstance(group, (list, tuple)) else [group])]


def reads(*buffer_slices):
    _block("T.reads").reads = _regions(buffer_slices)


def writes(*buffer_slices):
    _block("T.writes").writes = _regions(buffer_slices)


def block_attr(attrs):
    frame = _block("T.block_attr")
    frame.annotations = {**(frame.annotations or {}), **attrs}


sblock_attr = block_attr


def alloc_buffer(shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", align=-1,
                 offset_factor=0, buffer_type="default", axis_separators=None):
    """Of the block around; else of the root block."""
    buffer = _decl_buffer(shape, getattr(dtype, "dtype", dtype), "buffer", data, strides, elem_offset, scope, align,
                          offset_factor, buffer_type, axis_separators)
    frames = [frame for frame in _current().frames if isinstance(frame, BlockFrame)]
    (frames[-1].alloc_buffers if frames else _func("T.alloc_buffer").root_alloc_buffers).append(buffer)
    return buffer


sblock_alloc_buffer = alloc_buffer


class axis:  # noqa: N801: TVM's name
    """Iter vars of the block around."""

    @staticmethod
    def _push(dom, binding, kind, dtype):
        frame, binding = _block("T.axis"), _lib.to_expr(binding)
        if not isinstance(dom, Range):
            dom = Range(*dom) if isinstance(dom, (list, tuple)) else Range(0, dom)
        var = Var("v", dom.extent.dtype if dtype is None else dtype)
        frame.iter_vars.append(IterVar(dom, var, kind))
        frame.iter_values.append(binding)
        return var

    @staticmethod
    def spatial(dom, binding, dtype=None):
        return axis._push(dom, binding, IterVar.DataPar, dtype)

    @staticmethod
    def reduce(dom, binding, dtype=None):
        return axis._push(dom, binding, IterVar.CommReduce, dtype)

    @staticmethod
    def scan(dom, binding, dtype=None):
        return axis._push(dom, binding, IterVar.Ordered, dtype)

    @staticmethod
    def opaque(dom, binding, dtype=None):
        return axis._push(dom, binding, IterVar.DimInfo, dtype)

    @staticmethod
    def remap(kinds, bindings, dtype=None):
        make = {"S": axis.spatial, "R": axis.reduce}
        if len(kinds) != len(bindings):
            raise ValueError(f"T.axis.remap: {len(kinds)} kinds and {len(bindings)} loops")
        loops = {loop: extent for frame in _current().frames for loop, extent in getattr(frame, "ranges", [])}
        values = [make[kind](loops[loop], loop, dtype) for kind, loop in zip(kinds, bindings)]
        return values[0] if len(values) == 1 else values

    S, R = spatial, reduce


# ---- Loops


class ForFrame(IRBuilderFrame):
    def __init__(self, ranges, kind, annotations=None, thread=None):
        super().__init__()
        self.kind, self.annotations, self.thread = kind, annotations, thread
        self.ranges = [(Var("v", each.extent.dtype), each) for each in ranges]
        variables = [var for var, _ in self.ranges]
        self.value = variables[0] if len(variables) == 1 else variables

    def end(self):
        body = self.body()
        for var, each in reversed(self.ranges):
            thread = None if self.thread is None else IterVar(each, Var("", var.dtype), IterVar.ThreadIndex, self.thread)
            body = stmt.For(var, each.min, each.extent, self.kind, body, thread, self.annotations or {})
        self.builder.emit(body)


def _loop(kind):
    def make(start, stop=None, *, annotations=None):
        ends = (0, start) if stop is None else (start, stop)
        return ForFrame([Range(*ends)], kind, annotations)
    return make


serial, parallel = _loop(stmt.ForKind.SERIAL), _loop(stmt.ForKind.PARALLEL)
vectorized, unroll = _loop(stmt.ForKind.VECTORIZED), _loop(stmt.ForKind.UNROLLED)


def thread_binding(start, stop=None, thread=None, *, annotations=None):
    if thread is None:
        if not isinstance(stop, str):
            raise ValueError("T.thread_binding: it needs the name of a thread")
        start, stop, thread = 0, start, stop
    ends = (0, start) if stop is None else (start, stop)
    return ForFrame([Range(*ends)], stmt.ForKind.THREAD_BINDING, annotations, thread)


def grid(*extents):
    return ForFrame([Range(0, extent) for extent in extents], stmt.ForKind.SERIAL)


# ---- Other statements


class StmtFrame(IRBuilderFrame):
    """Makes one statement of its body."""

    def __init__(self, make, value=None):
        super().__init__()
        self.make, self.value = make, value

    def end(self):
        self.builder.emit(self.make(self.body()))


class IfFrame(IRBuilderFrame):
    def __init__(self, condition):
        super().__init__()
        self.condition, self.branches = condition, {}

    def end(self):
        if "then" not in self.branches:
            raise ValueError("T.If: it needs a T.Then")
        self.builder.emit(stmt.IfThenElse(self.condition, self.branches["then"], self.branches.get("else")))


class BranchFrame(IRBuilderFrame):
    def __init__(self, which):
        super().__init__()
        self.which = which

    def end(self):
        self.builder.find(IfFrame, "T.Then and T.Else").branches[self.which] = self.body()


def If(condition):  # noqa: N802
    return IfFrame(condition)


def Then():  # noqa: N802
    return BranchFrame("then")


def Else():  # noqa: N802
    return BranchFrame("else")


def While(condition):  # noqa: N802
    return StmtFrame(lambda body: stmt.While(condition, body))


def Assert(condition, message):  # noqa: N802
    message = StringImm(message) if isinstance(message, str) else message
    return StmtFrame(lambda body: stmt.AssertStmt(condition, message, body))


def LetStmt(value, type_annotation=None, *, var=None):  # noqa: N802
    value = _lib.to_expr(value)
    var = Var("v", getattr(type_annotation, "dtype", None) or value.dtype) if var is None else var
    return StmtFrame(lambda body: stmt.LetStmt(var, value, body), var)


def attr(node, attr_key, value):
    node = StringImm(node) if isinstance(node, str) else node
    value = StringImm(value) if isinstance(value, str) else _lib.to_expr(value)
    return StmtFrame(lambda body: stmt.AttrStmt(node, attr_key, value, body))


def allocate(extents, dtype, scope="global", condition=True, annotations=None):
    dtype = getattr(dtype, "dtype", dtype)
    data = Var("v", PointerType(PrimType(dtype), scope))
    condition = _lib.cast("bool", condition)
    return StmtFrame(lambda body: stmt.Allocate(data, dtype, extents, condition, body, annotations or {}), data)


def decl_buffer(shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", align=0,
                offset_factor=0, buffer_type="", axis_separators=None):
    buffer = _decl_buffer(shape, getattr(dtype, "dtype", dtype), "buffer", data, strides, elem_offset, scope, align or -1,
                          offset_factor, buffer_type, axis_separators)
    opened = _lib.AllocBuffer if data is None else stmt.DeclBuffer
    return StmtFrame(lambda body: opened(buffer, body), buffer)


def env_thread(thread_tag, dtype="int32"):
    """A variable that launch_thread makes the number of the thread."""
    var = Var(thread_tag, dtype)
    _func("T.env_thread").env_threads[var] = thread_tag
    return var


def launch_thread(thread, extent):
    """A thread's name or the variable of env_thread."""
    tag = thread if isinstance(thread, str) else _func("T.launch_thread").env_threads[thread]
    var = Var(thread, _lib.to_expr(extent).dtype) if isinstance(thread, str) else thread
    extent = _lib.cast(var.dtype, extent)
    axis_of = IterVar(Range(0, extent), var, IterVar.ThreadIndex, tag)
    key = "virtual_thread" if tag.split(".")[0] == "vthread" else "thread_extent"
    return StmtFrame(lambda body: stmt.AttrStmt(axis_of, key, extent, body), var)


def buffer_store(buffer, value, indices, predicate=None):
    indices = list(indices) if isinstance(indices, (list, tuple)) else [indices]
    value = _lib.cast(buffer.dtype, value) if isinstance(value, (int, float, bool)) else value
    _current().emit(stmt.BufferStore(buffer, value, indices, predicate))


def evaluate(value):
    _current().emit(stmt.Evaluate(StringImm(value) if isinstance(value, str) else _lib.to_expr(value)))
