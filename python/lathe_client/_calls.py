"""What the blocking and the asynchronous client share: requests, options of the channel, the table of calls."""
from __future__ import annotations

import ipaddress
import json
import os
import uuid
from typing import Any, Dict, List, Sequence, Tuple, Union

import grpc

from lathe_client import _schema
from lathe_client.types import TaskSpec

SERVICES = ("TuningService", "ScheduleService", "FarmService")
DEADLINE_S = 30.0  # Of each call.
PATIENCE_S = 60.0  # So long a watch looks for a server that has gone.
RESUME_INTERVAL_S = 0.2
_MAX_MESSAGE_BYTES = 4 << 20

Tasks = Sequence[Union[str, TaskSpec]]


def address_of(server: str) -> str:
    """`server`, else $LATHE_SERVER: "HOST:PORT" or "unix:PATH"."""
    address = server or os.environ.get("LATHE_SERVER", "")
    if not address:
        raise ValueError('connect: no server named; give Client("127.0.0.1:7431") or set LATHE_SERVER')
    return address


_CERTIFICATE = "-----BEGIN CERTIFICATE-----"
_SERVER_HOST = "server.lathe"  # The name in a server's certificate, wherever it is.


def _is_on_this_machine(address: str) -> bool:
    host = address.rsplit(":", 1)[0]
    if address.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # A name.
        return False


def open_channel(module: Any, address: str, token: str) -> Any:
    """A channel of `grpc` or `grpc.aio`. `token`: what `lathe token create` printed, else $LATHE_TOKEN. With the certificate of the farm's authority in it the
    connection is encrypted and carries the token; without, the server must be on this machine."""
    text = token or os.environ.get("LATHE_TOKEN", "")
    begin = text.find(_CERTIFICATE)
    if begin < 0 or address.startswith("unix:"):
        if not _is_on_this_machine(address):
            raise ValueError(f"connect to {address}: beyond this machine everything is encrypted, which takes what `lathe token create` printed, "
                             "token and certificate; give it as token= or in LATHE_TOKEN")
        return module.insecure_channel(address, options=channel_options())
    credentials = grpc.composite_channel_credentials(grpc.ssl_channel_credentials(text[begin:].encode()),
                                                     grpc.access_token_call_credentials(text[:begin].strip()))
    return module.secure_channel(address, credentials, options=[*channel_options(), ("grpc.ssl_target_name_override", _SERVER_HOST)])


def channel_options() -> List[Tuple[str, Any]]:
    """All calls are harmless to repeat, so each is tried up to 4 times where nobody answers: gRPC's own retries, with its backoff and jitter.
    A call whose deadline has passed is not tried again."""
    retries = {"methodConfig": [{
        "name": [{"service": "lathe.v1." + service} for service in SERVICES],
        "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
                        "retryableStatusCodes": ["UNAVAILABLE"]}}]}
    return [("grpc.enable_retries", 1), ("grpc.service_config", json.dumps(retries)), ("grpc.enable_http_proxy", 0),
            ("grpc.keepalive_time_ms", 20_000), ("grpc.keepalive_timeout_ms", 10_000), ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES)]


def bind(channel: Any) -> Dict[str, Any]:
    """Name of a call -> callable of the channel, blocking or not as that is."""
    calls: Dict[str, Any] = {}
    for service in SERVICES:
        for name, method in _schema.methods(service).items():
            make = channel.unary_stream if method.is_stream else channel.unary_unary
            calls[name] = make(method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString)
    return calls


def submit_request(tasks: Tasks, *, target: str, device: str, name: str, trials: int, trials_per_task: int, time_limit_s: float, seed: int,
                   space: str, request_id: str) -> Any:
    request = _schema.message("SubmitJobRequest")(
        request_id=request_id or uuid.uuid4().hex, name=name or "from Python", target=target, device_key=device, trials=trials, trials_per_task=trials_per_task,
        time_limit_ns=int(time_limit_s * 1e9), seed=seed, space=space)
    for task in tasks:
        spec = TaskSpec(task) if isinstance(task, str) else task
        request.tasks.add(workload=spec.workload, name=spec.name, weight=spec.weight, trial_budget=spec.trials)
    return request


def watch_request(job_id: int, after: int) -> Any:
    return _schema.message("WatchJobRequest")(job_id=job_id, after_cursor=after)


def best_request(workloads: Sequence[str], target: str, device: str) -> Any:
    """A workload is 64 hex digits, or TVMScript."""
    request = _schema.message("QueryBestRequest")()
    for workload in workloads:
        query = request.queries.add(target=target, device_key=device)
        is_digest = len(workload) == 64 and all(c in "0123456789abcdefABCDEF" for c in workload)
        if is_digest:
            query.digest = bytes.fromhex(workload)
        else:
            query.text = workload
    return request
