"""Programs find us under TVM's name, and under our own."""
import os
import runpy
import subprocess
import sys

import lathe
import pytest
import tvm

PROGRAM = '''
import tvm
import tvm.testing
from tvm import te, tir
from tvm.script import ir as I, tir as T

@T.prim_func
def func(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = 0.0

def test_loop():
    assert func.body.extent == 8

def test_fails_when_asked():
    assert "{word}" != "fail"

if __name__ == "__main__":
    tvm.testing.main()
'''


@pytest.mark.parametrize("word, status", [("pass", 0), ("fail", 1)])
def test_a_program_of_tests_runs_itself(tmp_path, word, status):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("{word}", word))
    runner = ("import runpy, sys, lathe.compat; lathe.compat.install_as('tvm'); "
              f"sys.argv = [{str(program)!r}, '-p', 'no:cacheprovider']; "
              f"runpy.run_path({str(program)!r}, run_name='__main__')")
    package = os.path.dirname(os.path.dirname(os.path.abspath(lathe.__file__)))
    done = subprocess.run([sys.executable, "-B", "-c", runner], env={**os.environ, "PYTHONPATH": package}, capture_output=True,
                          text=True, cwd=tmp_path)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("1 failed, 1 passed" if status else "2 passed") in done.stdout


def test_both_names_are_the_same_modules():
    import tvm.tir.schedule.testing
    assert tvm is lathe and tvm.tir is lathe.tir
    assert sys.modules["tvm.tir.schedule"] is sys.modules["lathe.tir.schedule"]
    assert tvm.tir.__spec__.name == "lathe.tir"
    with pytest.raises(ModuleNotFoundError):
        import tvm.no_such_module  # noqa: F401


def test_import_lathe_as_tvm_is_enough(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("import tvm.testing\n", "").replace("import tvm\n", "import lathe as tvm\n")
                       .replace("from tvm", "from lathe"))
    assert runpy.run_path(str(program))["func"].body.extent == 8


def test_functions_are_registered_by_name():
    @tvm.register_func("test.add_one")
    def add_one(x):
        return x + 1

    assert tvm.get_global_func("test.add_one")(2) == 3
    assert tvm.get_global_func("test.no_such", allow_missing=True) is None
    with pytest.raises(ValueError, match="test.no_such"):
        tvm.get_global_func("test.no_such")
    with pytest.raises(ValueError, match="registered already"):
        tvm.register_func("test.add_one", add_one)


def test_types_know_their_parts():
    kind = tvm.DataType("float16x8")
    assert kind == "float16x8" and (kind.bits, kind.lanes, kind.itemsize) == (16, 8, 16)
    assert tvm.DataType("bool") == "bool"


def test_convert_makes_nodes():
    assert isinstance(tvm.runtime.convert(3), tvm.tir.IntImm) and tvm.runtime.convert("x") == "x"
    items = tvm.runtime.convert([1, 2.5])
    assert isinstance(items, tvm.container.Array) and isinstance(items[1], tvm.tir.FloatImm)


def test_paths_are_equal_by_their_steps():
    root = tvm.runtime.ObjectPath.root()
    path = root.attr("body").attr("seq").array_index(1)
    assert str(path) == "<root>.body.seq[1]" and path == tvm.runtime.ObjectPath.parse(".body.seq[1]")
    assert path.parent == root.attr("body").attr("seq") and root.is_prefix_of(path) and path != path.parent


if __name__ == "__main__":
    tvm.testing.main()
