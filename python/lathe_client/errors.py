"""What a call fails with: the server's own sentence, and a class per gRPC status code."""
from __future__ import annotations

from typing import Any, Dict, Type


class LatheError(Exception):
    """A call that failed. `code` is gRPC's name of the status ("NOT_FOUND"), `details` the server's words: one line, *operation, place:
    actual and required; next step*; `call` what was asked, e.g. "GetJob"."""

    code = "UNKNOWN"

    def __init__(self, call: str, details: str, code: str = "") -> None:
        super().__init__(f"{call}: {details}")
        self.call = call
        self.details = details
        if code:
            self.code = code


class InvalidArgument(LatheError):
    """A field is wrong; the details name it."""

    code = "INVALID_ARGUMENT"


class NotFound(LatheError):
    """No such job, workload, device or device key."""

    code = "NOT_FOUND"


class AlreadyExists(LatheError):
    """The request id was used for another job."""

    code = "ALREADY_EXISTS"


class FailedPrecondition(LatheError):
    """Legal, but not now."""

    code = "FAILED_PRECONDITION"


class ResourceExhausted(LatheError):
    """A message is too large, or a disk full."""

    code = "RESOURCE_EXHAUSTED"


class Unauthenticated(LatheError):
    """The server does not know who asks."""

    code = "UNAUTHENTICATED"


class PermissionDenied(LatheError):
    """It knows, and they may not."""

    code = "PERMISSION_DENIED"


class Unavailable(LatheError):
    """Nobody answers, also after the retries."""

    code = "UNAVAILABLE"


class DeadlineExceeded(LatheError):
    """No answer in time."""

    code = "DEADLINE_EXCEEDED"


_CLASSES: Dict[str, Type[LatheError]] = {
    kind.code: kind
    for kind in (InvalidArgument, NotFound, AlreadyExists, FailedPrecondition, ResourceExhausted, Unauthenticated, PermissionDenied, Unavailable, DeadlineExceeded)
}


def from_grpc(call: str, error: Any) -> LatheError:
    """Of a grpc.RpcError or grpc.aio.AioRpcError."""
    code = error.code().name
    kind = _CLASSES.get(code, LatheError)
    return kind(call, error.details() or code, code)
