"""What goes wrong, by TVM's names. The text is the compiler's own: operation, place, what was required, what to do."""


class TVMError(RuntimeError):
    """Base of everything that the compiler refuses."""


class InternalError(TVMError):
    """What the compiler's checks refuse: TVM's name for what its checks raise."""


class MismatchedTypesError(InternalError, TypeError):
    """Operands of two types where one is needed; TVM's is a TypeError."""


class LiteralError(InternalError, ValueError):
    """A number that its type cannot hold, or a type that there is not; TVM's is a ValueError."""


class PassValueError(InternalError, ValueError):
    """A function that a pass cannot take; TVM's is a ValueError, or none but an InternalError, by its version."""


class UnknownOperationError(InternalError, AttributeError):
    """An operation that is not in the table; TVM's is an AttributeError."""


class DiagnosticError(TVMError):
    """A program that is not well formed."""


class ParseError(DiagnosticError):
    """TVMScript that cannot be read; the text starts with file, line and column."""


class ScheduleError(TVMError):
    """A primitive that may not be applied; the schedule is as it was."""


class StaleHandleError(ScheduleError, ValueError):
    """A handle of a loop or block that is no more; TVM's is a ValueError."""


class UnknownHandleError(ScheduleError, IndexError):
    """A handle that was removed, or of another schedule; TVM's is an IndexError."""


class ScheduleArgumentError(ScheduleError, TypeError):
    """A primitive that is called with something of another type; TVM's is a TypeError."""


class UnknownFunctionError(ScheduleError, ValueError):
    """A function that is not in the module; TVM's is a ValueError."""


class UnknownBufferError(ScheduleError, AssertionError, ValueError):
    """A buffer that the block does not use; TVM's is an AssertionError."""


class ScheduleValueError(ScheduleError, ValueError):
    """Too few loops, candidates or tiles; TVM's is a ValueError."""


class UnknownAnnotationError(ScheduleError, IndexError):
    """An annotation that is not there; TVM's is an IndexError."""


class RPCError(TVMError):
    """A failure of a remote device."""


class OpError(TVMError):
    """Base of errors of operators."""


class OpNotImplemented(OpError, NotImplementedError):
    """An operator that no target implements."""


class OpAttributeRequired(OpError, AttributeError):
    """An operator without an attribute that it needs."""


class OpAttributeInvalid(OpError, AttributeError):
    """An attribute of an operator with a value that it cannot have."""


class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An attribute of an operator that no target implements."""


class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A session with a remote device that took too long."""


def register_error(func_name=None, cls=None):
    """Makes a class of errors known under a name; as a decorator, under its own or the given one."""
    if callable(func_name):
        return register_error(func_name.__name__, func_name)

    def register(error):
        ERROR_TYPE[func_name or error.__name__] = error
        return error

    return register if cls is None else register(cls)


ERROR_TYPE = {}  # By name.

# What C++ raises where Python has a class of its own.
ValueError = ValueError
TypeError = TypeError
KeyError = KeyError
IndexError = IndexError
AttributeError = AttributeError
