"""The messages and calls of lathe.v1, made at import from the descriptors that the server was built from.

No generated code: it would be tied to one version of protobuf's runtime, and its module `lathe.v1` would be a part of the package `lathe`.
"""
from __future__ import annotations

import pathlib
from typing import Any, Dict, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import]


class Method(NamedTuple):
    path: str  # "/lathe.v1.TuningService/GetJob"
    request: Any
    response: Any
    is_stream: bool  # Of responses.


_FILES = descriptor_pb2.FileDescriptorSet()
_FILES.ParseFromString((pathlib.Path(__file__).parent / "lathe_v1.binpb").read_bytes())
_POOL = descriptor_pool.DescriptorPool()
for _file in _FILES.file:  # Each behind what it imports.
    _POOL.Add(_file)


def _class_of(descriptor: Any) -> Any:
    if hasattr(message_factory, "GetMessageClass"):  # Since protobuf 4.22.
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_POOL).GetPrototype(descriptor)


def message(name: str) -> Any:
    """The class of message lathe.v1.`name`."""
    return _class_of(_POOL.FindMessageTypeByName("lathe.v1." + name))


def methods(service: str) -> Dict[str, Method]:
    """The calls of service lathe.v1.`service`, by name."""
    found: Dict[str, Method] = {}
    for described in (one for file in _FILES.file for one in file.service if one.name == service):
        for method in described.method:
            request, response = (_class_of(_POOL.FindMessageTypeByName(name.lstrip("."))) for name in (method.input_type, method.output_type))
            found[method.name] = Method(f"/lathe.v1.{service}/{method.name}", request, response, method.server_streaming)
    return found


def _enum_name(enum: str, prefix: str, number: int) -> str:
    """A number that this client does not know yet stays one."""
    value = _POOL.FindEnumTypeByName("lathe.v1." + enum).values_by_number.get(number)
    return str(value.name)[len(prefix):] if value is not None else str(number)


def state_name(number: int) -> str:
    """"RUNNING" of JOB_STATE_RUNNING."""
    return _enum_name("JobState", "JOB_STATE_", number)


def lookup_name(number: int) -> str:
    """"HIT", "STALE" or "MISS"."""
    return _enum_name("Lookup", "LOOKUP_", number)
