"""What calls take and give, as plain values. Times are nanoseconds; digests 64 hex digits."""
from __future__ import annotations

import dataclasses
from typing import Any, Optional, Tuple

from lathe_client import _schema


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """A kernel to tune: TVMScript of one PrimFunc. `weight`: how often a network calls it."""

    workload: str
    name: str = ""
    weight: int = 1
    trials: int = 0  # 0: what the job says.


@dataclasses.dataclass(frozen=True)
class Task:
    id: int
    name: str
    workload: str
    target: str
    state: str
    trials_known: int
    trial_budget: int
    best_ns: Optional[float]  # None: no time yet.
    untuned_ns: Optional[float]


@dataclasses.dataclass(frozen=True)
class Job:
    """`state`: QUEUED, RUNNING, DONE, FAILED or CANCELLED; `detail` says why it waits, or why it ended."""

    id: int
    name: str
    state: str
    detail: str
    request_id: str
    tasks: Tuple[Task, ...]

    @property
    def has_ended(self) -> bool:
        return self.state in ("DONE", "FAILED", "CANCELLED")


@dataclasses.dataclass(frozen=True)
class Event:
    cursor: int
    at_unix_ns: int
    kind: str  # "job", "task", "trial", "best"
    subject_id: int
    detail: str


@dataclasses.dataclass(frozen=True)
class Update:
    """What happened to a job since the update before, and the job as it is then. `cursor` resumes behind it."""

    cursor: int
    events: Tuple[Event, ...]
    job: Job


@dataclasses.dataclass(frozen=True)
class Best:
    """An answer of `best`: `lookup` is HIT, STALE (of an older code generator) or MISS, with an explanation."""

    lookup: str
    explanation: str
    workload: str
    target: str
    median_ns: Optional[float]
    trace: str  # The schedule, as a trace in TVM's JSON; "" on a miss.


@dataclasses.dataclass(frozen=True)
class Device:
    name: str
    key: str
    lease_holder: str


def _known(ns: float) -> Optional[float]:
    return ns if ns > 0 else None


def job_of(message: Any) -> Job:
    return Job(message.id, message.name, _schema.state_name(message.state), message.detail, message.request_id,
               tuple(task_of(task) for task in message.tasks))


def task_of(message: Any) -> Task:
    return Task(message.id, message.name, message.key.workload.hex(), message.key.target, _schema.state_name(message.state),
                message.trials_known, message.trial_budget, _known(message.best_ns), _known(message.untuned_ns))


def update_of(message: Any) -> Update:
    events = tuple(Event(e.cursor, e.at_unix_ns, e.kind, e.subject_id, e.detail) for e in message.events)
    return Update(message.cursor, events, job_of(message.job))


def best_of(message: Any) -> Best:
    has_time = message.HasField("record") and message.record.HasField("timings")
    return Best(_schema.lookup_name(message.lookup), message.explanation, message.key.workload.hex(), message.key.target,
                message.record.timings.median_ns if has_time else None, message.record.trace_json)
