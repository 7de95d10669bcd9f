"""What goes wrong, by TVM's names. The text is the compiler's own: operation, place, what was required, what to do."""


class TVMError(RuntimeError):
    """Base of everything that the compiler refuses."""


class InternalError(TVMError):
    """A fault of Lathe itself."""


class DiagnosticError(TVMError):
    """A program that is not well formed."""


class ParseError(DiagnosticError):
    """TVMScript that cannot be read; the text starts with file, line and column."""


class ScheduleError(TVMError):
    """A primitive that may not be applied; the schedule is as it was."""


class RPCError(TVMError):
    """A failure of a remote device."""


class OpError(TVMError):
    """Base of errors of operators."""


class OpNotImplemented(OpError, NotImplementedError):
    """An operator that no target implements."""


# What C++ raises where Python has a class of its own.
ValueError = ValueError
TypeError = TypeError
KeyError = KeyError
IndexError = IndexError
AttributeError = AttributeError
