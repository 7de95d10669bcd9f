"""What script() writes where a text could be written in several ways: TVM 0.18's forms."""
import tvm
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T


def vectorized(func):
    return tir.transform.VectorizeLoop()(tvm.IRModule({"main": func}))["main"]


def test_lanes_are_slices():
    @T.prim_func
    def add(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(16):
            for j in T.vectorized(4):
                B[i * 4 + j] = A[i * 4 + j] + T.float32(1)

    func = vectorized(add)
    assert "B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] + T.Broadcast(T.float32(1.0), 4)" in func.script()
    assert tvm.ir.structural_equal(tvm.script.from_source(func.script()), func)
    assert "T.Ramp(i * 4, 1, 4)" in func.script(s_tir=True)  # Today's TVM reads no slices as values.


def test_lanes_with_a_stride_have_a_step():
    @T.prim_func
    def even(A: T.Buffer((64,), "float32"), B: T.Buffer((32,), "float32")):
        for j in T.vectorized(4):
            B[j] = A[j * 2]

    func = vectorized(even)
    assert "B[0:4] = A[0:8:2]" in func.script()
    assert tvm.ir.structural_equal(tvm.script.from_source(func.script()), func)


def test_lanes_by_a_variable_stay_a_ramp():
    @T.prim_func
    def strided(A: T.Buffer((64,), "float32"), n: T.int32):
        A[T.Ramp(0, n, 4)] = T.Broadcast(T.float32(0), 4)

    assert "A[T.Ramp(0, n, 4)] =" in strided.script()


@I.ir_module
class Several:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[0] = Several.get(A[1])

    @T.prim_func
    def zero(A: T.Buffer((4,), "int32")):
        A[0] = 0

    @T.prim_func(private=True)
    def get(x: T.int32) -> T.int32:
        return x + 1


def test_functions_stand_in_the_order_of_their_names_and_main_last():
    text = Several.script()
    assert text.index("def get") < text.index("def zero") < text.index("def main")
    assert [var.name_hint for var in Several.get_global_vars()] == ["main", "zero", "get"]


def test_calls_of_functions_say_no_type():
    assert "A[0] = Module.get(A[1])" in Several.script()
    assert tvm.ir.structural_equal(tvm.script.from_source(Several.script()), Several)


def test_a_free_buffer_is_declared_after_its_variables():
    x, y = tir.Var("x", "int32"), tir.Var("y", "float32")
    buffer = tir.decl_buffer((x, 4), "float32", "A")
    lines = tir.BufferStore(buffer, y * 2.0, [x, 0]).script().splitlines()
    assert lines == ["x = T.int32()", "A = T.Buffer((x, 4))", "y = T.float32()", "A[x, 0] = y * T.float32(2.0)"]


def test_the_variables_of_a_value_are_declared_before_those_of_its_place():
    x, y = tir.Var("x", "int32"), tir.Var("y", "float32")
    lines = tir.BufferStore(tir.decl_buffer((4, 4), "float32", "A"), y * 2.0, [x, 0]).script().splitlines()
    assert lines == ["A = T.Buffer((4, 4))", "y = T.float32()", "x = T.int32()", "A[x, 0] = y * T.float32(2.0)"]


def test_only_spatial_and_reduction_axes_are_remapped():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        for i, j in T.grid(16, 4):
            with T.block("o"):
                vi, vk = T.axis.remap("SR", [i, j])
                vo = T.axis.opaque(16, i)
                vs = T.axis.scan(16, i)
                T.reads()
                T.writes(A[vo])
                A[vo] = T.float32(1)

    text = func.script()
    assert 'vi, vk = T.axis.remap("SR", [i, j])' in text
    assert "vo = T.axis.opaque(16, i)" in text and "vs = T.axis.scan(16, i)" in text


def test_parameters_of_which_there_is_more_to_say_are_matched():
    @T.prim_func
    def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32", strides=(16, 1), align=128)):
        for i in range(8):
            B[i, i] = A[i, i]

    assert 'def main(A: T.Buffer((8, 8), "int32"), B_handle: T.handle):' in main.script()
    assert 'B = T.match_buffer(B_handle, (8, 8), "int32", strides=(16, 1), align=128)' in main.script()
    bare = main.script(syntax_sugar=False)
    assert "def main(A_handle: T.handle, B_handle: T.handle):" in bare and 'A = T.match_buffer(A_handle, (8, 8), "int32")' in bare
    for text in (main.script(), bare):
        tvm.ir.assert_structural_equal(tvm.script.from_source(text), main)


def test_a_handle_has_its_name_before_its_buffer():
    A = tir.decl_buffer((tir.Var("n", "int32"),), "float32", name="A")
    handle = tir.Var("A", "handle")
    func = tir.PrimFunc([handle], tir.Evaluate(A[0]), buffer_map={handle: A})
    assert "def main(A: T.handle):" in func.script() and "A_1 = T.match_buffer(A, (n,))" in func.script()
