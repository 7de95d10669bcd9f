"""Statements in the order in which a program emits them: scopes are `with` blocks, buffers are read and written by []."""
from lathe import _lib
from lathe.ir.type import PointerType, PrimType
from lathe.runtime.object import Object
from lathe.tir import op, stmt
from lathe.tir.buffer import decl_buffer
from lathe.tir.expr import BufferLoad, IterVar, StringImm, Var

_KINDS = {"serial": stmt.ForKind.SERIAL, "parallel": stmt.ForKind.PARALLEL, "vectorize": stmt.ForKind.VECTORIZED,
          "vectorized": stmt.ForKind.VECTORIZED, "unroll": stmt.ForKind.UNROLLED, "unrolled": stmt.ForKind.UNROLLED}


class WithScope:
    """What a `with` of the builder holds; its end emits the statement around what was emitted inside."""

    def __init__(self, value, end):
        self._value, self._end = value, end

    def __enter__(self):
        return self._value

    def __exit__(self, kind, value, trace):
        if kind is None:
            self._end()


class BufferVar:
    """A buffer whose elements are loads when read and stores when assigned."""

    def __init__(self, builder, buffer, content_type):
        self._builder, self._buffer, self._content_type = builder, buffer, content_type

    dtype = property(lambda self: self._content_type)

    def asobject(self):
        return self._buffer

    def _indices(self, index):
        index = list(index) if isinstance(index, (tuple, list)) else [index]
        index = [each.var if isinstance(each, IterVar) else each for each in index]
        shape = self._buffer.shape
        if len(index) != 1 or len(shape) == 1:
            return index
        return _unravel(index[0], shape)  # One index counts the elements of all dimensions.

    def __getitem__(self, index):
        return BufferLoad(self._buffer, self._indices(index))

    def __setitem__(self, index, value):
        value = _lib.to_expr(value.asobject() if hasattr(value, "asobject") else value)
        if value.dtype.split("x")[0] != self._content_type.split("x")[0]:
            raise ValueError(f"data type does not match content type {value.dtype} vs {self._content_type}")
        self._builder.emit(stmt.BufferStore(self._buffer, value, self._indices(index)))


class IRBuilder:
    """Collects statements; get() gives what was collected."""

    def __init__(self):
        self._suites, self._loops = [[]], 0

    def _pop(self):
        """The last suite as one statement: what opens a scope holds all that comes after it."""
        suite = self._suites.pop()
        if not suite or callable(suite[-1]):
            suite.append(stmt.Evaluate(0))
        rest = [suite[-1]]
        for line in reversed(suite[:-1]):
            rest = [line(_sequence(rest))] if callable(line) else [line, *rest]
        return _sequence(rest)

    def _scope(self, value, make):
        self._suites.append([])
        return WithScope(value, lambda: self.emit(make(self._pop())))

    def new_scope(self):
        """A scope where attributes and allocations end."""
        return self._scope(None, lambda body: body)

    def emit(self, line):
        """Adds a statement, an expression that is evaluated, or a function from the rest of the scope to a statement."""
        is_value = isinstance(line, Object) and not isinstance(line, stmt.Stmt)
        self._suites[-1].append(stmt.Evaluate(line) if is_value else line)

    def scope_attr(self, node, attr_key, value):
        node = StringImm(node) if isinstance(node, str) else node
        value = _lib.to_expr(value)
        value = op.max(1, value) if attr_key == "thread_extent" else value
        self.emit(lambda body: stmt.AttrStmt(node, attr_key, value, body))

    def for_range(self, begin, end, name="i", dtype=None, kind="serial"):
        """A loop over [begin, end); loops called "i" are i, j, k, i_0 ..."""
        if name == "i":
            name = "ijk"[self._loops] if self._loops < 3 else f"i_{self._loops - 3}"
            self._loops += 1
        end = _lib.to_expr(end)
        extent = end if isinstance(begin, int) and begin == 0 else end - begin
        var = Var(name, dtype or extent.dtype)
        return self._scope(var, lambda body: stmt.For(var, begin, extent, _KINDS[kind], body))

    def while_loop(self, condition):
        return self._scope(None, lambda body: stmt.While(condition, body))

    def if_scope(self, cond):
        return self._scope(None, lambda body: stmt.IfThenElse(cond, body, None))

    def else_scope(self):
        suite = self._suites[-1]
        if not suite or not isinstance(suite[-1], stmt.IfThenElse) or suite[-1].else_case is not None:
            raise RuntimeError("else_scope can only follow an if_scope")
        branch = suite.pop()
        return self._scope(None, lambda body: stmt.IfThenElse(branch.condition, branch.then_case, body))

    def let(self, var_name, value):
        value = _lib.to_expr(value)
        var = Var(var_name, value.dtype)
        self.emit(lambda body: stmt.LetStmt(var, value, body))
        return var

    def allocate(self, dtype, shape, name="buf", axis_separators=None, scope=""):
        data = Var(name, PointerType(PrimType(dtype), scope))
        shape = list(shape) if isinstance(shape, (list, tuple)) or hasattr(shape, "__len__") else [shape]
        self.emit(lambda body: stmt.Allocate(data, dtype, shape, op.const(True), body))
        buffer = decl_buffer(shape, dtype, name, data=data, scope=scope, axis_separators=axis_separators)
        return BufferVar(self, buffer, dtype)

    def pointer(self, content_type, name="ptr", scope=""):
        return BufferVar(self, decl_buffer([1], content_type, name, scope=scope), content_type)

    def buffer_ptr(self, buffer, shape=None):
        return BufferVar(self, buffer, buffer.dtype)

    def likely(self, expr):
        return op.likely(expr)

    def get(self):
        """All that was emitted."""
        if len(self._suites) != 1:
            raise RuntimeError("cannot call get inside construction scope")
        return self._pop()


def _sequence(lines):
    return lines[0] if len(lines) == 1 else stmt.SeqStmt(lines)


def _unravel(index, shape):
    places = []
    for extent in reversed(list(shape)[1:]):
        places.append(op.floormod(index, extent))
        index = op.floordiv(index, extent)
    return [index, *reversed(places)]


def create():
    """An empty builder."""
    return IRBuilder()
