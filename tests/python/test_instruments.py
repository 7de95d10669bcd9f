"""What watches passes, and which passes a context leaves out."""
import pytest
import tvm
from tvm import tir
from tvm.ir.instrument import DumpIR, PassTimingInstrument, PrintAfterAll, PrintBeforeAll, pass_instrument
from tvm.script import tir as T
from tvm.tir.transform import RemoveNoOp, Simplify


@T.prim_func
def fill(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.float32(1.0)


def _module():
    return tvm.IRModule({"main": fill})


@pass_instrument
class Recorder:
    """Writes down what it is asked and told."""

    def __init__(self, log, name="a", refuses=""):
        self.log, self.name, self.refuses = log, name, refuses

    def enter_pass_ctx(self):
        self.log.append((self.name, "enter"))

    def exit_pass_ctx(self):
        self.log.append((self.name, "exit"))

    def should_run(self, mod, info):
        return info.name != self.refuses

    def run_before_pass(self, mod, info):
        assert isinstance(mod, tvm.IRModule)
        self.log.append((self.name, "before", info.name))

    def run_after_pass(self, mod, info):
        self.log.append((self.name, "after", info.name))


@pass_instrument
class Failing:
    """Fails where it is told to."""

    def __init__(self, where):
        setattr(self, where, self._fail)

    def _fail(self, *args):
        raise RuntimeError("it fails")


def test_all_instruments_see_each_pass_and_the_sequence():
    log = []
    with tvm.transform.PassContext(instruments=[Recorder(log, "a"), Recorder(log, "b")]):
        tvm.transform.Sequential([Simplify(), RemoveNoOp()])(_module())
    of_one = ["enter", "before sequential", "before tir.Simplify", "after tir.Simplify", "before tir.RemoveNoOp",
              "after tir.RemoveNoOp", "after sequential", "exit"]
    assert [" ".join(entry[1:]) for entry in log if entry[0] == "a"] == of_one
    assert [" ".join(entry[1:]) for entry in log if entry[0] == "b"] == of_one
    assert [entry[0] for entry in log] == ["a", "b"] * len(of_one)


def _names_run(**context):
    log = []
    with tvm.transform.PassContext(instruments=[Recorder(log, refuses="tir.Simplify")], **context):
        tvm.transform.Sequential([Simplify(), RemoveNoOp()])(_module())
    return [entry[2] for entry in log if entry[1] == "before"]


def test_an_instrument_refuses_a_pass_that_is_not_required():
    assert _names_run() == ["sequential", "tir.RemoveNoOp"]
    assert _names_run(required_pass=["tir.Simplify"]) == ["sequential", "tir.Simplify", "tir.RemoveNoOp"]
    assert _names_run(disabled_pass=["tir.RemoveNoOp"]) == ["sequential"]


def test_a_disabled_pass_runs_where_it_is_called_itself():
    log = []
    with tvm.transform.PassContext(instruments=[Recorder(log)], disabled_pass=["tir.Simplify"]):
        Simplify()(_module())
    assert ("a", "before", "tir.Simplify") in log


def test_lower_shows_its_passes_and_leaves_out_disabled_ones():
    log = []
    with tvm.transform.PassContext(instruments=[Recorder(log)], disabled_pass=["tir.UnrollLoop"]):
        tvm.lower(_module())
    names = [entry[2] for entry in log if entry[1] == "before"]
    assert "tir.FlattenBuffer" in names and "tir.UnrollLoop" not in names


def test_timing_tells_of_the_context_that_is_open():
    timing = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]) as context:
        tvm.transform.Sequential([Simplify(), RemoveNoOp()])(_module())
        lines = timing.render().splitlines()
        context.override_instruments([])
    assert [line.split(":")[0] for line in lines] == ["sequential", "\ttir.Simplify", "\ttir.RemoveNoOp"]
    assert "(100.00%; 100.00%)" in lines[0]
    assert timing.render() == ""


def test_modules_are_printed_and_written(capsys, tmp_path):
    with tvm.transform.PassContext(instruments=[PrintBeforeAll(), PrintAfterAll(), DumpIR(tmp_path / "ir")]):
        Simplify()(_module())
    printed = capsys.readouterr().out
    assert "Before Running Pass: The meta data of the pass - pass name: tir.Simplify, opt_level: 0" in printed
    assert "After Running Pass:" in printed and printed.count("def main(A") == 2
    assert "def main(A" in (tmp_path / "ir" / "000_tir_Simplify.py").read_text()


def test_where_entering_fails_those_that_entered_exit_and_none_is_left():
    log = []
    context = tvm.transform.PassContext(instruments=[Recorder(log, "a"), Failing("enter_pass_ctx"), Recorder(log, "b")])
    with pytest.raises(RuntimeError, match="it fails"):
        with context:
            pass
    assert log == [("a", "enter"), ("a", "exit")] and context.instruments == []
    assert tvm.transform.PassContext.current() is not context


def test_where_a_pass_or_the_exit_fails_the_context_ends():
    for where in ("run_before_pass", "exit_pass_ctx"):
        log = []
        with pytest.raises(RuntimeError, match="it fails"):
            with tvm.transform.PassContext(instruments=[Recorder(log, "a"), Failing(where)]) as context:
                Simplify()(_module())
        assert log[-1] == ("a", "exit") and tvm.transform.PassContext.current() is not context
