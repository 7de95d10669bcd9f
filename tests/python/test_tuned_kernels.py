"""docs/python.md, "From lathe tune to a kernel": its program, run as it stands."""
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from lathe import _lib

ROOT = pathlib.Path(__file__).parents[2]
BIN = pathlib.Path(_lib.__file__).resolve().parents[2] / "bin"

MATMUL = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    if not (BIN / "lathe").exists():
        pytest.skip("the target lathe is not built")
    (tmp_path / "matmul.py").write_text(MATMUL)
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_DATA_HOME", "LATHE_CPU_LOCKS"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).mkdir()
    monkeypatch.delenv("LATHE_DB", raising=False)
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
    return tmp_path


def test_the_documented_program_builds_what_was_tuned(folder):
    section = (ROOT / "docs" / "python.md").read_text().split("## From `lathe tune` to a kernel")[1]
    command, program = re.search(r"^    (lathe tune .*?)(?:  +#.*)?$", section, re.M)[1], re.search(r"```python\n(.*?)```", section, re.S)[1]
    subprocess.run([*command.split(), "--trials", "2", "--cpus", "0"], check=True, capture_output=True, timeout=200)
    names = {}
    exec(program, names)
    a, b = np.random.default_rng(1).random((2, 32, 32), dtype="float32")
    c = names["tvm"].nd.empty((32, 32))
    names["run"](names["tvm"].nd.array(a), names["tvm"].nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)


def test_what_show_prints_of_a_workload_can_be_tuned(folder):
    del folder
    subprocess.run(["lathe", "tune", "matmul.py", "--trials", "1", "--cpus", "0"], check=True, capture_output=True, timeout=200)
    shown = subprocess.run(["lathe", "show", "matmul.py"], check=True, capture_output=True, text=True).stdout
    pathlib.Path("shown.py").write_text(shown)
    listed = [subprocess.run(["lathe", "tune", name, "--list-tasks", "--json"], check=True, capture_output=True, text=True).stdout
              for name in ("matmul.py", "shown.py")]
    assert listed[0] == listed[1]


def test_a_program_is_not_a_script(folder):
    program = folder / "program.py"
    program.write_text(MATMUL + '\nif __name__ == "__main__":\n    print(main)\n')
    made = subprocess.run(["lathe", "tune", str(program)], capture_output=True, text=True, check=False)
    assert made.returncode != 0
    assert "the file is read, not run: only T.prim_func and I.ir_module belong in it; save func.script()" in made.stderr


@pytest.mark.parametrize("text, words", [
    ('@T.prim_func\ndef main(B: T.Buffer((8,), "float32")):\n    for i in range(8):\n        B[i] = 1.0\n',
     "tune @main: its statements are in no block; put each into `with T.block(...)`"),
    (MATMUL.replace("def main(A: T.Buffer((32, 32)", "def main(A: T.Buffer((n, 32)").replace("def main(", "def main(n: T.int32, "),
     'tune @main: buffer "A" has symbolic extents; write its shape with numbers'),
])
def test_what_cannot_be_tuned_is_said_at_once(folder, text, words):
    (folder / "bad.py").write_text(text)
    made = subprocess.run(["lathe", "tune", "bad.py"], capture_output=True, text=True, check=False)
    assert words in made.stderr
    assert not made.stdout
