"""Names that programs reach for beside the compiler's own."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, tir
from tvm.script import tir as T


@T.prim_func
def add_one(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8,))
    B = T.match_buffer(b, (8,))
    for i in range(8):
        with T.block("add"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0


def _kinds(node, stops_at=""):
    seen = []

    def visit(each):
        seen.append(type(each).__name__)
        return seen[-1] != stops_at

    tir.stmt_functor.pre_order_visit(node, visit)
    return seen


def test_pre_order_visit_shows_parents_first_and_passes_over_what_it_is_told():
    loop = tir.For(tir.Var("i", "int32"), 0, 4, tir.ForKind.SERIAL, tir.Evaluate(tir.Var("x", "int32") * 2))
    assert _kinds(loop) == ["For", "IntImm", "IntImm", "Evaluate", "Mul", "Var", "IntImm"]
    assert _kinds(loop, stops_at="Evaluate") == ["For", "IntImm", "IntImm", "Evaluate"]
    assert _kinds(tir.Var("x", "int32") + 1) == ["Add", "Var", "IntImm"]


def test_extern_primfunc_computes_by_a_function():
    X = te.placeholder((8,), name="X")
    Y = te.extern_primfunc([X], add_one)
    Z = te.compute((8,), lambda i: Y[i] * 2.0, name="Z")
    x, z = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.empty((8,))
    tvm.build(te.create_prim_func([X, Z]), target="llvm")(x, z)
    np.testing.assert_array_equal(z.numpy(), (np.arange(8) + 1) * 2)
    with pytest.raises(ValueError, match="the function reads 1 buffers, 2 tensors are given"):
        te.extern_primfunc([X, X], add_one)


def test_what_runs_here():
    assert tvm.runtime.enabled("llvm") and not tvm.runtime.enabled("cuda")
    assert tvm.runtime.num_threads() >= 1
    assert repr(tvm.opencl(1)) == "opencl(1)" and tvm.device("hexagon") == tvm.hexagon() and not tvm.rocm().exist


def _cubes(x):
    return (x**3).sum()


def test_check_numerical_grads_tells_right_slopes_from_wrong_ones():
    tvm.testing.check_numerical_grads(_cubes, [np.array([1.0, 2.0])], [np.array([3.0, 12.0])])
    with pytest.raises(AssertionError, match="of 'x' .* was given, differences say"):
        tvm.testing.check_numerical_grads(_cubes, {"x": np.array([1.0, 2.0])}, {"x": np.array([3.0, 7.0])})


@tvm.testing.parametrize_targets("llvm", "cuda")
@tvm.testing.exclude_targets("cuda")
def test_excluded_targets_are_skipped(target, dev):
    assert target == "llvm" and dev == tvm.cpu()


@tvm.testing.requires_cudnn
def test_what_needs_cudnn_is_skipped():
    raise AssertionError("there is no cuDNN here")


def test_features_of_the_processor_are_those_of_the_target():
    features = tvm._lib.Target("auto").features
    for mark, name in ((tvm.testing.requires_x86_avx512, "avx512f"), (tvm.testing.requires_aarch64_sve, "sve")):
        assert bool(mark.marks()) == (name not in features)
    for name in ("cublas", "cudagraph", "nvptx", "hipblas", "rocblas"):
        assert getattr(tvm.testing, "requires_" + name).marks()


@tvm.testing.skip_parameterizations("2-b", reason="it is left out")
@pytest.mark.parametrize("text", ["a", "b"])
@pytest.mark.parametrize("number", [1, 2])
def test_parameters_that_are_named_are_skipped(request, number, text):
    assert (number, text) != (2, "b")


@tvm.testing.xfail_parameterizations("3", reason="it is known")
@pytest.mark.parametrize("number", [1, 3])
def test_parameters_that_are_named_are_expected_to_fail(request, number):
    assert number != 3


@pytest.mark.parametrize("text, truth", [("Yes", 1), ("on", 1), ("1", 1), ("F", 0), ("off", 0)])
def test_texts_of_options_are_true_or_false(text, truth):
    assert tvm.testing.strtobool(text) == truth
    with pytest.raises(ValueError, match="invalid truth value 'maybe'"):
        tvm.testing.strtobool("maybe")


def test_functions_for_other_processes():
    assert tvm.testing.identity_after("x", 0.01) == "x"
    with pytest.raises(SystemExit):
        tvm.testing.terminate_self()


@T.prim_func
def touches(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), n: T.int32):
    for i in range(1, 16):
        for j in range(i, 20):
            A[i - 1, j * 2] = B[i + j, i] + A[i, n]


@pytest.mark.parametrize("name, loads, stores, box", [
    ("A", False, True, [(0, 15), (2, 37)]),
    ("A", True, False, [(1, 15), ("n", 1)]),
    ("B", True, True, [(2, 33), (1, 15)]),
    ("B", False, True, []),
])
def test_a_domain_holds_what_is_touched(name, loads, stores, box):
    from tvm.arith import _ffi_api
    buffer = next(buffer for buffer in touches.buffer_map.values() if buffer.name == name)
    ranges = _ffi_api.DomainTouched(touches.body, buffer, loads, stores)
    assert [(str(each.min), str(each.extent)) for each in ranges] == [(str(low), str(extent)) for low, extent in box]


def test_domains_of_vectors_and_threads():
    from tvm.arith import _ffi_api

    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 4)
        A[tx * 8:tx * 8 + 4] = T.broadcast(T.float32(0), 4)
        A[60] = 1.0

    (box,) = _ffi_api.DomainTouched(func.body, func.buffer_map[func.params[0]], True, True)
    assert (int(box.min), int(box.extent)) == (0, 61)


def test_constants_have_bytes():
    data = tir.Var("c", tvm.ir.PointerType(tvm.ir.PrimType("int16")))
    other = tir.Var("d", tvm.ir.PointerType(tvm.ir.PrimType("float32")))
    inner = tir.AllocateConst(other, "float32", [2], [1.0, 2.0], tir.Evaluate(0))
    func = tir.PrimFunc([], tir.AllocateConst(data, "int16", [2, 3], [[1, 2, 3], [4, 5, 6]], inner))
    assert tir.analysis.calculate_constant_bytes(func, 1) == 20
    assert tir.analysis.calculate_constant_bytes(func, 16) == 32


def test_passes_before_memory_is_counted():
    names = [each.info.name for each in tir.analysis.get_vtcm_compaction_passes()]
    assert names[0] == "tir.LowerInitBlock" and names[-1] == "tir.StorageRewrite" and len(names) == 11
