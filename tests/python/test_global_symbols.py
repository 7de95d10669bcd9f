"""A function keeps its global symbol, whatever a module calls it; facts that TVM confirmed."""
import tvm
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T


@T.prim_func
def ones(A: T.Buffer((8,), "int32")):
    T.func_attr({"global_symbol": "kernel", "tir.noalias": T.bool(True)})
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = 1


@I.ir_module
class Named:
    @T.prim_func
    def one(A: T.Buffer((8,), "int32")):
        T.func_attr({"global_symbol": "uno"})
        for i in range(8):
            with T.block("a"):
                vi = T.axis.spatial(8, i)
                A[vi] = 1

    @T.prim_func
    def two(A: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block("a"):
                vi = T.axis.spatial(8, i)
                A[vi] = 2


def test_functions_of_modules_are_found_by_their_names():
    assert [Named[name].attrs["global_symbol"] for name in ("one", "two")] == ["uno", "two"]


def test_modules_show_and_read_the_symbol():
    text = Named.script()
    assert "def one(" in text and 'T.func_attr({"global_symbol": "uno"})' in text
    again = tvm.script.from_source(text)
    assert again["one"].attrs["global_symbol"] == "uno" and again.script() == text


def test_a_lone_function_is_shown_by_its_symbol():
    text = Named["one"].script()
    assert "def uno(" in text and "global_symbol" not in text


def test_a_schedule_calls_it_main_and_keeps_the_symbol():
    sch = tir.Schedule(ones)
    sch.parallel(sch.get_loops("A")[0])
    assert [var.name_hint for var in sch.mod.get_global_vars()] == ["main"]
    assert sch.mod["main"].attrs["global_symbol"] == "kernel"
    assert tir.ScheduleState(ones).mod["main"].attrs["global_symbol"] == "kernel"


def test_symbols_are_put_and_taken():
    func = Named["one"].with_attr("global_symbol", "other")
    assert func.attrs["global_symbol"] == "other" and "def other(" in func.script()
    assert "global_symbol" not in Named["one"].without_attr("global_symbol").attrs


def test_symbols_are_not_compared():
    tvm.ir.assert_structural_equal(tir.Schedule(ones).mod["main"], ones.with_attr("global_symbol", "main"))
    assert tvm.ir.structural_hash(Named["one"]) == tvm.ir.structural_hash(Named["one"].with_attr("global_symbol", "x"))


def test_lines_are_numbered():
    plain, numbered = (ones.script(print_line_numbers=flag).split("\n") for flag in (False, True))
    assert numbered == [f"{i:>{len(str(len(plain)))}} {line}" for i, line in enumerate(plain, 1)]
