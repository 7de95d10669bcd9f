"""What builds and kernels do to the process around them: interrupts, temporary files, threads."""
import os
import signal
import subprocess
import sys
import time

import pytest

PRELUDE = """
import os, sys
import lathe.compat
lathe.compat.install_as("tvm")
import numpy, tvm
from tvm import tir
from tvm.script import tir as T

@T.prim_func
def rows(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i in T.parallel(64):
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0

def threads():
    return len(os.listdir("/proc/self/task"))
"""


@pytest.fixture
def start(tmp_path):
    """A program in a process of its own, whose temporary files are in the folder "temporary"."""
    (tmp_path / "temporary").mkdir()

    def started(program, prefix=(), temporary="temporary"):
        (tmp_path / "program.py").write_text(PRELUDE + program)
        return subprocess.Popen([*prefix, sys.executable, str(tmp_path / "program.py")], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path / temporary)})

    return started


UNROLLED = """
@T.prim_func
def product(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    for i, j, k in T.grid(128, 128, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

sch = tir.Schedule(product)
for loop in sch.get_loops("C"):
    sch.unroll(loop)
print("begins", flush=True)
try:
    tvm.build(sch.mod, target="llvm")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_build(start, tmp_path):
    child = start(UNROLLED)
    try:
        assert child.stdout.readline() == "begins\n"
        while not os.listdir(tmp_path / "temporary"):  # A build makes a folder first.
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        assert child.communicate()[0] == "interrupted\n"
    finally:
        child.kill()
        child.wait()
    assert os.listdir(tmp_path / "temporary") == []


def test_a_folder_for_temporary_files_that_is_not_there_is_named(start, tmp_path):
    _, words = start("tvm.build(rows, target='llvm')", temporary="none").communicate()
    assert f"build: make folder {tmp_path}/none/lathe-build-" in words
    assert "No such file or directory; set TMPDIR to one that can be written" in words


def test_a_full_folder_for_temporary_files_is_named(start, tmp_path):
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("a full disk needs a mount namespace, which this user may not have")
    script = 'mount -t tmpfs -o size=4k none "$TMPDIR" && echo > "$TMPDIR/page" && "$@"; ls -A "$TMPDIR"'
    out, words = start("tvm.build(rows, target='llvm')", prefix=["unshare", "-rm", "sh", "-c", script, "sh"]).communicate()
    assert f"build: write {tmp_path}/temporary/lathe-build-" in words
    assert "No space left on device; free some space or choose another output path; TMPDIR says where that is" in words
    assert out.split() == ["page"]


CALL = """
run = tvm.build(rows, target={target!r})
a, b = tvm.nd.array(numpy.ones((64, 64), "float32")), tvm.nd.empty((64, 64))
before = threads()
run(a, b)
assert (b.numpy() == 2).all()
print(threads() - before)
"""


@pytest.fixture
def threads_made(start):
    def made(target, cpus):
        out, words = start(f"os.sched_setaffinity(0, {cpus})\n" + CALL.format(target=target)).communicate()
        return int(out) if out else pytest.fail(words)

    return made


def test_kernels_use_as_many_threads_as_the_target_has_cores(threads_made):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    assert threads_made("llvm -num-cores=1", cpus) == 0
    assert threads_made("llvm -num-cores=2", cpus) == len(cpus) - 1


def test_kernels_use_no_more_threads_than_the_process_has_cpus(threads_made):
    cpus = sorted(os.sched_getaffinity(0))[:1]
    assert threads_made("llvm", cpus) == 0
    assert threads_made("llvm -num-cores=64", cpus) == 0
