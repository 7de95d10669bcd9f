"""Parameters, fixtures and targets of tests, as tvm.testing has them."""
import os
import pathlib
import subprocess
import sys

import pytest
import tvm
import tvm.testing
from tvm import te, tir, topi
from tvm.script import tir as T


class TestParametersOfAClass:
    dtype = tvm.testing.parameter("float32", "int32")
    rows, columns = tvm.testing.parameters((2, 3), (4, 5))

    def test_each_is_taken(self, dtype, rows, columns):
        A = te.placeholder((rows, columns), dtype, name="A")
        assert topi.add(A, A).dtype == dtype and columns == rows + 1


class TestParametersReachWhatIsCompared(tvm.testing.CompareBeforeAfter):
    extent = tvm.testing.parameter(1, 4)
    transform = tvm.tir.transform.Simplify()

    def before(self, extent):
        return _evaluates(tir.const(extent, "int32") + 1)

    @pytest.fixture
    def expected(self, extent):
        return _evaluates(tir.const(extent + 1, "int32"))


def _evaluates(value):
    A = tir.decl_buffer((1,), "int32", name="A")
    handle = tir.Var("a", "handle")
    return tir.PrimFunc([handle], tir.BufferStore(A, value, [0]), buffer_map={handle: A})


class TestWhatIsAFixtureStaysOne(tvm.testing.CompareBeforeAfter):

    @pytest.fixture
    def transform(self):
        return tvm.tir.transform.UnrollLoop()

    @tvm.testing.fixture
    def before(self):
        @T.prim_func
        def unrolled(A: T.Buffer((2,), "int32")):
            for i in T.unroll(2):
                A[i] = i

        return unrolled

    def expected(A: T.Buffer((2,), "int32")):
        A[0] = 0
        A[1] = 1


@tvm.testing.parametrize_targets("llvm", "cuda")
def test_targets_that_are_not_here_are_skipped(target, dev):
    assert (target, dev) == ("llvm", tvm.cpu())


@tvm.testing.parametrize_targets("llvm")
def test_the_target_may_be_taken_alone(target):
    assert target == "llvm"


_PACKAGES = str(pathlib.Path(tvm.__file__).parent.parent.absolute())


def _run(folder, test, **environment):
    (folder / "conftest.py").write_text("import lathe.compat\nlathe.compat.install_as('tvm')\n"
                                        "pytest_plugins = ['tvm.testing.plugin']\n")
    (folder / "test_it.py").write_text("import tvm, tvm.testing\n" + test)
    done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "test_it.py"], cwd=folder,
                          env={**os.environ, **environment, "PYTHONPATH": _PACKAGES}, capture_output=True, text=True, check=False)
    return done.stdout


_TAKES_BOTH = "def test_it(target, dev):\n    assert dev == tvm.device(target)\n"
_TAKES_DEV = "def test_it(dev):\n    assert dev == tvm.cpu()\n"
_HAS_ITS_OWN = "target = tvm.testing.parameter('llvm -mcpu=core2')\n" + _TAKES_BOTH
_SAYS_TARGETS = "@tvm.testing.parametrize_targets('llvm', 'cuda')\n" + _TAKES_BOTH


@pytest.mark.parametrize("test, targets, lines", [
    (_TAKES_BOTH, "", ["test_it[llvm] PASSED"]),
    (_TAKES_DEV, "", ["test_it[llvm] PASSED"]),
    (_TAKES_BOTH, "llvm;cuda", ["test_it[llvm] PASSED", "test_it[cuda] SKIPPED"]),
    (_HAS_ITS_OWN, "", ["test_it[llvm -mcpu=core2] PASSED"]),
    (_SAYS_TARGETS, "", ["test_it[llvm] PASSED", "test_it[cuda] SKIPPED"]),
])
def test_the_plugin_gives_tests_their_targets(tmp_path, test, targets, lines):
    shown = _run(tmp_path, test, TVM_TEST_TARGETS=targets)
    assert all(line in shown for line in lines) and shown.count("test_it.py::") == len(lines), shown
