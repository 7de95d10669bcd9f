"""A client of Lathe's server (`lathe up`): submit jobs, watch them, cancel them, ask for the best schedules. Needs grpcio and protobuf only.

    import lathe_client

    with lathe_client.Client("127.0.0.1:7431") as client:
        job = client.submit([open("matmul.py").read()], device="host", trials=64)
        for update in client.watch(job.id):
            print(update.job.state, [task.best_ns for task in update.job.tasks])

`lathe_client.aio.Client` is the same for asyncio. See docs/clients.md.
"""
from lathe_client import aio, errors
from lathe_client.client import Client
from lathe_client.errors import LatheError
from lathe_client.types import Best, Device, Event, Job, Task, TaskSpec, Update

__all__ = ["Best", "Client", "Device", "Event", "Job", "LatheError", "Task", "TaskSpec", "Update", "aio", "errors"]
