"""The blocking client."""
from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Iterator, List, Optional, Sequence, Type

import grpc

from lathe_client import _calls, _schema, errors, types


class Client:
    """A connection to `lathe up`. Connects when first used; safe to use from several threads, not after a fork.

    `token` is what `lathe token create` printed (default: $LATHE_TOKEN): who asks, and the certificate by which a farm on another machine is known.
    `deadline_s` is of each call; a call that nobody answers is tried again by itself. Methods raise `errors.LatheError`."""

    def __init__(self, server: str = "", *, token: str = "", deadline_s: float = _calls.DEADLINE_S, patience_s: float = _calls.PATIENCE_S) -> None:
        self.server = _calls.address_of(server)
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._channel = _calls.open_channel(grpc, self.server, token)
        self._bound = _calls.bind(self._channel)

    def __repr__(self) -> str:
        return f"Client({self.server!r})"

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def _call(self, name: str, request: Any) -> Any:
        try:
            return self._bound[name](request, timeout=self._deadline_s)
        except grpc.RpcError as error:
            raise errors.from_grpc(name, error) from None

    def submit(self, tasks: _calls.Tasks, *, target: str = "auto", device: str, name: str = "", trials: int = 0, trials_per_task: int = 64,
               time_limit_s: float = 0, seed: int = 0, space: str = "", request_id: str = "") -> types.Job:
        """A job of kernels (TVMScript, or `TaskSpec`s) for devices with the key `device`. The same `request_id` again is the same job."""
        request = _calls.submit_request(tasks, target=target, device=device, name=name, trials=trials, trials_per_task=trials_per_task,
                                        time_limit_s=time_limit_s, seed=seed, space=space, request_id=request_id)
        return types.job_of(self._call("SubmitJob", request).job)

    def job(self, job_id: int) -> types.Job:
        return types.job_of(self._call("GetJob", _schema.message("GetJobRequest")(job_id=job_id)).job)

    def jobs(self) -> Iterator[types.Job]:
        """All, oldest first, without their tasks."""
        request = _schema.message("ListJobsRequest")()
        while True:
            page = self._call("ListJobs", request)
            yield from (types.job_of(job) for job in page.jobs)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def cancel(self, job_id: int, reason: str = "") -> types.Job:
        return types.job_of(self._call("CancelJob", _schema.message("CancelJobRequest")(job_id=job_id, reason=reason)).job)

    def watch(self, job_id: int, *, after: int = 0) -> Iterator[types.Update]:
        """What happens to a job until it has ended, from the cursor `after` on. A lost connection is taken up again where it was, for up to
        `patience_s` without a server."""
        give_up = time.monotonic() + self._patience_s
        while True:
            stream = self._bound["WatchJob"](_calls.watch_request(job_id, after))
            try:
                for message in stream:
                    after = message.cursor
                    give_up = time.monotonic() + self._patience_s
                    yield types.update_of(message)
                return
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() >= give_up:
                    raise errors.from_grpc("WatchJob", error) from None
            finally:
                stream.cancel()
            time.sleep(_calls.RESUME_INTERVAL_S)

    def wait(self, job_id: int) -> types.Job:
        """The job once it has ended, with its tasks."""
        for _ in self.watch(job_id):
            pass
        return self.job(job_id)

    def best(self, workloads: Sequence[str], *, target: str, device: str) -> List[types.Best]:
        """The best schedule of each workload: 64 hex digits, or TVMScript. `target` is canonical, as a task of a job has it."""
        return [types.best_of(answer) for answer in self._call("QueryBest", _calls.best_request(workloads, target, device)).answers]

    def devices(self, key: str = "") -> List[types.Device]:
        response = self._call("ListDevices", _schema.message("ListDevicesRequest")(key=key))
        return [types.Device(device.name, device.key, device.lease_holder) for device in response.devices]
