"""Smaller names and fields of tvm.ir, tvm.tir and the dialect T."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tir as B


@T.prim_func
def fill(A: T.Buffer((4,), "float32")):
    A[0] = T.float32(1)


@T.prim_func
def returning(x: T.int32) -> T.int32:
    return x


def test_functions_have_types():
    assert fill.ret_type == tvm.ir.TupleType([]) and returning.ret_type == tvm.ir.PrimType("int32")
    assert returning.checked_type == tvm.ir.FuncType([tvm.ir.PrimType("int32")], tvm.ir.PrimType("int32"))
    again = tir.PrimFunc(fill.params, fill.body, fill.ret_type, fill.buffer_map, fill.attrs)
    tvm.ir.assert_structural_equal(again, fill)
    assert returning.with_body(returning.body).ret_type == returning.ret_type


def test_attributes_have_a_class_of_their_own():
    assert isinstance(fill.attrs, tvm.ir.DictAttrs) and dict(fill.attrs) == {"global_symbol": "fill"}
    assert tvm.ir.make_node("DictAttrs", x=1, name="xyz")["name"] == "xyz"


def test_functions_of_a_module_are_called_by_their_names():
    x, callee = tir.Var("x", "int32"), tvm.ir.GlobalVar("foo")
    for call in (callee(x, 1), tir.call_tir(callee, x, 1), tir.Call("void", callee, [x, 1])):
        assert isinstance(call, tir.Call) and call.op == callee and call.dtype == "void" and call.args[0].same_as(x)


def test_a_pass_for_some_functions_sees_no_others():
    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def marked(func, mod, context):
        return func.with_attr("marked", len(mod.get_global_vars()))

    mod = tvm.IRModule({"main": fill, "other": fill})
    after = tvm.ir.transform.ApplyPassToFunction(marked, "ma.*")(mod)
    assert after["main"].attrs["marked"] == 1 and "marked" not in after["other"].attrs
    with pytest.raises(tvm.TVMError, match="no function is called nothing"):
        tvm.ir.transform.ApplyPassToFunction(marked, "nothing", True)(mod)


def test_passes_say_their_level():
    for decorator in (tvm.tir.transform.prim_func_pass, tvm.transform.module_pass):
        with pytest.raises(ValueError, match="opt_level"):
            decorator(lambda func, mod, context: func)


def test_small_names(capsys):
    x = tir.Var("x", "int32")
    assert tvm.runtime.String("abc") == "abc" and isinstance(tvm.runtime.String("abc"), str)
    tvm.transform.PrintIR("before", False)(tvm.IRModule({"main": fill}))
    assert capsys.readouterr().out.startswith("before\n")
    assert tir.dp4a(tir.Var("a", "int8x4"), tir.Var("b", "int8x4")).args[2] == 0
    assert isinstance(tir.add(x, 1), tir.Add) and isinstance(tir.subtract(x, 1), tir.Sub)
    assert isinstance(tir.multiply(x, 2), tir.Mul) and tir.generic.cast(x, "float32").dtype == "float32"
    assert tir.CallEffectKind.Pure.value == 1 and tir.CallEffectKind.Opaque.value == 3


def test_names_of_t_have_values_outside_of_functions():
    assert T.int4(1).dtype == "int4" and T.uint1(1).dtype == "uint1"
    reducer = T.comm_reducer(lambda x, y: x + y, [T.float32(0)])
    assert isinstance(reducer, tir.CommReducer) and isinstance(reducer.result[0], tir.Add)
    assert T.target("llvm").kind.name == "llvm"
    assert T.iter_var(tir.Var("v", "int32"), (0, 4), "CommReduce", "").iter_type == tir.IterVar.CommReduce
    assert len(T.index_map(lambda i: [i // 4, i % 4]).final_indices) == 2


def test_threads_of_the_environment_are_launched():
    with IRBuilder() as ib:
        with B.prim_func():
            B.func_name("main")
            A = B.arg("A", B.Buffer((4,), "float32"))
            tx = B.env_thread("threadIdx.x")
            with B.launch_thread(tx, 4):
                B.buffer_store(A, 1.0, [tx])

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        tx = T.launch_thread("threadIdx.x", 4)
        A[tx] = T.float32(1)

    tvm.ir.assert_structural_equal(ib.get(), main)


def test_functions_and_their_names_are_of_graphs():
    module = tvm.IRModule({"main": fill})
    assert isinstance(module.get_global_var("main"), tvm.ir.RelayExpr) and isinstance(fill, tvm.ir.RelayExpr)
    assert len(module.global_infos) == 0
    packed = tir.transform.MakePackedAPI()(tvm.IRModule({"main": fill.with_attr("target", tvm.target.Target("llvm", host="llvm"))}))
    assert packed["main"].attrs["calling_conv"] == tvm.ir.CallingConv.C_PACKED_FUNC
