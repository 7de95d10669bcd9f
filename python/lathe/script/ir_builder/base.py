"""The builder and its frames. A frame collects statements; at its end it gives what it makes to the frame around it."""
from lathe import _lib
from lathe.runtime.object import Object
from lathe.tir import stmt
from lathe.tir.buffer import Buffer
from lathe.tir.expr import Var

_builders = []


class IRBuilder:
    """Holds the open frames, and what the outermost one has made."""

    def __init__(self):
        self.frames, self.result, self.names = [], None, {}

    def __enter__(self):
        _builders.append(self)
        return self

    def __exit__(self, kind, value, trace):
        _builders.pop()

    @staticmethod
    def current():
        if not _builders:
            raise ValueError("IRBuilder: no builder in the current scope; open one by `with IRBuilder()`")
        return _builders[-1]

    @staticmethod
    def is_in_scope():
        return bool(_builders)

    def get(self):
        if self.result is None:
            raise IndexError("IRBuilder: there is no result yet; what it builds has to be closed first")
        return self.result

    @staticmethod
    def name(s, v):
        """`v`, a variable or a buffer, which what is built calls `s`."""
        if isinstance(v, (Buffer, Var)):
            IRBuilder.current().names[v] = s
        return v

    @staticmethod
    def name_many(s, vs):
        return [IRBuilder.name(name, value) for name, value in zip(s, vs, strict=True)]

    def find(self, kind, what):
        """The innermost frame of a kind."""
        for frame in reversed(self.frames):
            if isinstance(frame, kind):
                return frame
        raise ValueError(f"{what}: there is no such frame around it")

    def emit(self, line):
        """Adds a statement; a function makes one of all that follows in the frame."""
        if self.frames:
            self.frames[-1].lines.append(line)
        else:
            self.result = line(stmt.Evaluate(0)) if callable(line) and not isinstance(line, Object) else line
            if isinstance(self.result, stmt.Stmt):
                self.result = _lib.renamed(self.result, self.names)


class IRBuilderFrame:
    """`with frame as value`."""

    value = None

    def __init__(self):
        self.lines = []

    def __enter__(self):
        self.builder = IRBuilder.current()
        self.builder.frames.append(self)
        return self.value

    def __exit__(self, kind, value, trace):
        self.builder.frames.remove(self)
        if kind is None:
            self.end()

    def body(self):
        """All lines as one statement."""
        rest = []
        for line in reversed(self.lines):
            opens = callable(line) and not isinstance(line, Object)
            rest = [line(sequence(rest))] if opens else [line, *rest]
        return sequence(rest)

    def end(self):
        raise NotImplementedError


class LinesFrame(IRBuilderFrame):
    """Lines for somebody else's frame."""

    def end(self):
        pass


def emitted_by(call):
    """The statements that `call`, of a script that is read, emits."""
    with IRBuilder() as builder, LinesFrame():
        frame = builder.frames[-1]
        call()
    return frame.lines


def sequence(lines):
    flat = []
    for line in lines:
        flat.extend(line.seq if isinstance(line, stmt.SeqStmt) else [line])
    if not flat:
        return stmt.Evaluate(0)
    return flat[0] if len(flat) == 1 else stmt.SeqStmt(flat)
