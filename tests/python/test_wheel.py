"""deploy/wheel makes a package that works from where it is unpacked, the builder included."""
import os
import pathlib
import subprocess
import sys
import zipfile

import lathe
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy
import lathe
from lathe.script import tir as T

@T.prim_func
def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] * 2.0

a, b = lathe.nd.array(numpy.ones(8, "float32")), lathe.nd.empty((8,))
lathe.build(double)(a, b)
assert (b.numpy() == 2).all()
print(lathe.__file__)
"""


def test_a_wheel_brings_all_that_a_program_needs(tmp_path):
    pytest.importorskip("wheel", reason="python3-wheel is not installed")
    build = pathlib.Path(lathe._lib.__file__).resolve().parents[2]
    if not (build / "bin" / "lathe-builder").exists():
        pytest.skip("lathe-builder is not built")
    subprocess.run([sys.executable, ROOT / "deploy" / "wheel", "--no-build", build, "--dist", tmp_path],
                   check=True, capture_output=True)
    (wheel,) = tmp_path.glob("lathe-*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "site" / "lathe" / "bin" / "lathe-builder").chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, program], env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) in done.stdout
