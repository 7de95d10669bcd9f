"""Each golden of the schedule primitives, called from Python as a program for TVM would."""
import pathlib

import pytest
import tvm
from tvm import tir
from tvm.script import tir as T

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "golden" / "schedule"
GOLDENS = sorted(path.stem for path in FOLDER.glob("*.py"))


def read(name):
    """The calls, the message of a refusal or None, and the functions by name."""
    head, body = (FOLDER / f"{name}.py").read_text().split("# before and expected:\n")
    calls = "\n".join(line for line in head.splitlines() if not line.startswith("#"))
    refusal = [line.removeprefix("# fails: ") for line in head.splitlines() if line.startswith("# fails: ")]
    functions = ["@T.prim_func\n" + text for text in body.split("@T.prim_func\n")[1:]]
    return calls, refusal[0] if refusal else None, [tvm.script.from_source(text) for text in functions]


@pytest.mark.parametrize("name", GOLDENS)
def test_golden(name):
    calls, refusal, functions = read(name)
    sch = tir.Schedule(functions[0])
    if refusal is not None:
        with pytest.raises(tir.ScheduleError) as error:
            exec(calls, {"sch": sch, "tir": tir, "T": T})  # noqa: S102: our own files
        assert refusal.replace("@before ", "@main ") in str(error.value)  # A function alone is the module's main.
        return
    exec(calls, {"sch": sch, "tir": tir, "T": T})  # noqa: S102
    expected = functions[1].without_attr("global_symbol")
    tvm.ir.assert_structural_equal(sch.mod["main"].without_attr("global_symbol"), expected)


def test_goldens_are_found():
    assert len(GOLDENS) > 60
