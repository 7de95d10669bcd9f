"""The client and its examples against a real `lathe up`, with a device of its own."""
import asyncio
import json
import os
import pathlib
import subprocess
import sys

import pytest

import lathe_client
from lathe_client import errors

BIN = pathlib.Path(os.environ["LATHE_BIN_DIR"])
SOURCE = pathlib.Path(os.environ["LATHE_SOURCE_DIR"])


def matmul(n):
    return MATMUL.replace("SIZE", str(n))


MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((SIZE, SIZE), "float32"), B: T.Buffer((SIZE, SIZE), "float32"), C: T.Buffer((SIZE, SIZE), "float32")):
    for i, j, k in T.grid(SIZE, SIZE, SIZE):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("farm")
    environment = dict(os.environ, LATHE_CPU_LOCKS=str(folder / "locks"))
    cpu = str(min(os.sched_getaffinity(0)))
    command = [BIN / "lathe", "up", "--json", "--db", folder / "lathe.db", "--listen", f"unix:{folder}/server.sock", "--device-listen",
               f"unix:{folder}/devices.sock", "--local-device", "--cpus", cpu]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
        assert "server" in server.stdout.readline()  # Everything is up.
        yield f"unix:{folder}/server.sock"
        server.terminate()
        server.wait()


def test_submit_watch_and_ask(address):
    with lathe_client.Client(address) as client:
        job = client.submit([matmul(32)], device="local", name="matmul", trials=4)
        updates = list(client.watch(job.id))
        assert updates[-1].job.state == "DONE"
        assert [one.cursor for one in updates] == sorted({one.cursor for one in updates})
        task = client.wait(job.id).tasks[0]
        assert task.trials_known >= 4 and task.best_ns > 0
        hit, miss = client.best([task.workload, matmul(48)], target=task.target, device="local")
        assert (hit.lookup, hit.median_ns) == ("HIT", task.best_ns)
        assert (miss.lookup, miss.median_ns) == ("MISS", None) and miss.explanation
        assert [one.id for one in client.jobs()] == [job.id]
        assert [one.key for one in client.devices()] == ["local"]


def test_cancel_and_errors(address):
    with lathe_client.Client(address) as client:
        job = client.submit([matmul(64)], device="local", trials=100_000)
        assert client.cancel(job.id, "enough").state == "CANCELLED"
        assert client.wait(job.id).state == "CANCELLED"
        with pytest.raises(errors.NotFound, match="77"):
            client.job(77)
        with pytest.raises(errors.InvalidArgument, match=r"tasks\[0\].workload"):
            client.submit(["no program"], device="local")


def test_asyncio(address):
    async def run():
        async with lathe_client.aio.Client(address) as client:
            job = await client.submit([matmul(32)], device="local", trials=4)
            ended = await client.wait(job.id)
            return ended.state, [one.key for one in await client.devices()]

    assert asyncio.run(run()) == ("DONE", ["local"])


def test_the_example(address, tmp_path):
    (tmp_path / "matmul.py").write_text(matmul(32), encoding="utf-8")
    run = subprocess.run([sys.executable, SOURCE / "examples/python/tune.py", address, "local", tmp_path / "matmul.py", "4"],
                         capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("HIT ")
    failed = subprocess.run([sys.executable, SOURCE / "examples/python/tune.py", address, "nobody", tmp_path / "matmul.py"],
                            capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "nobody" in failed.stderr


def test_types():
    run = subprocess.run(["/usr/bin/mypy", "--strict", "--ignore-missing-imports", "--cache-dir=/dev/null", "-p", "lathe_client"],
                         cwd=SOURCE / "python", capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def test_a_farm_that_wants_to_know_who_asks(tmp_path):
    database = tmp_path / "lathe.db"
    subprocess.run([BIN / "lathe", "ca", "init", "--db", database], check=True)
    command = [BIN / "lathe", "up", "--json", "--db", database, "--listen", "127.0.0.1:0", "--device-listen", f"unix:{tmp_path}/devices.sock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        address = json.loads(server.stdout.readline())["server"]
        token = subprocess.run([BIN / "lathe", "token", "create", "--user", "vera", "--role", "viewer", "--db", database], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        with lathe_client.Client(address, token=token) as client:
            assert list(client.jobs()) == []
            with pytest.raises(errors.PermissionDenied, match='"vera": .*the role "viewer" may not'):
                client.submit([matmul(32)], device="local")
        stranger = token.replace(token[:20], token[:18] + "".join("b" if c != "b" else "c" for c in token[18:20]))
        with lathe_client.Client(address, token=stranger) as client, pytest.raises(errors.Unauthenticated):
            list(client.jobs())
        server.terminate()
