"""The same client for asyncio."""
from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, AsyncIterator, List, Optional, Sequence, Type

import grpc
import grpc.aio

from lathe_client import _calls, _schema, errors, types


class Client:
    """As `lathe_client.Client`; of the event loop in which it is made."""

    def __init__(self, server: str = "", *, token: str = "", deadline_s: float = _calls.DEADLINE_S, patience_s: float = _calls.PATIENCE_S) -> None:
        self.server = _calls.address_of(server)
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._channel = _calls.open_channel(grpc.aio, self.server, token)
        self._bound = _calls.bind(self._channel)

    def __repr__(self) -> str:
        return f"aio.Client({self.server!r})"

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.close()

    async def close(self) -> None:
        await self._channel.close()

    async def _call(self, name: str, request: Any) -> Any:
        try:
            return await self._bound[name](request, timeout=self._deadline_s)
        except grpc.aio.AioRpcError as error:
            raise errors.from_grpc(name, error) from None

    async def submit(self, tasks: _calls.Tasks, *, target: str = "auto", device: str, name: str = "", trials: int = 0, trials_per_task: int = 64,
                     time_limit_s: float = 0, seed: int = 0, space: str = "", request_id: str = "") -> types.Job:
        request = _calls.submit_request(tasks, target=target, device=device, name=name, trials=trials, trials_per_task=trials_per_task,
                                        time_limit_s=time_limit_s, seed=seed, space=space, request_id=request_id)
        return types.job_of((await self._call("SubmitJob", request)).job)

    async def job(self, job_id: int) -> types.Job:
        return types.job_of((await self._call("GetJob", _schema.message("GetJobRequest")(job_id=job_id))).job)

    async def jobs(self) -> AsyncIterator[types.Job]:
        request = _schema.message("ListJobsRequest")()
        while True:
            page = await self._call("ListJobs", request)
            for job in page.jobs:
                yield types.job_of(job)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def cancel(self, job_id: int, reason: str = "") -> types.Job:
        return types.job_of((await self._call("CancelJob", _schema.message("CancelJobRequest")(job_id=job_id, reason=reason))).job)

    async def watch(self, job_id: int, *, after: int = 0) -> AsyncIterator[types.Update]:
        give_up = time.monotonic() + self._patience_s
        while True:
            stream = self._bound["WatchJob"](_calls.watch_request(job_id, after))
            try:
                async for message in stream:
                    after = message.cursor
                    give_up = time.monotonic() + self._patience_s
                    yield types.update_of(message)
                return
            except grpc.aio.AioRpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() >= give_up:
                    raise errors.from_grpc("WatchJob", error) from None
            finally:
                stream.cancel()
            await asyncio.sleep(_calls.RESUME_INTERVAL_S)

    async def wait(self, job_id: int) -> types.Job:
        async for _ in self.watch(job_id):
            pass
        return await self.job(job_id)

    async def best(self, workloads: Sequence[str], *, target: str, device: str) -> List[types.Best]:
        return [types.best_of(answer) for answer in (await self._call("QueryBest", _calls.best_request(workloads, target, device))).answers]

    async def devices(self, key: str = "") -> List[types.Device]:
        response = await self._call("ListDevices", _schema.message("ListDevicesRequest")(key=key))
        return [types.Device(device.name, device.key, device.lease_holder) for device in response.devices]
