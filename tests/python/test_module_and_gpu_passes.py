"""Passes and analyses for constants of modules, launches of threads, special memory and limits of GPUs. Limits, loads
under a predicate and VTCM as TVM 0.27 has them; the others as TVM 0.18 documents them (0.27 has none)."""
import numpy
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Constants:
    @T.prim_func
    def ones(A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
        K_data = T.allocate_const([1, 1, 1], "int32", [3])
        K = T.Buffer((3,), "int32", data=K_data)
        for i in range(3):
            B[i] = A[i] + K[i]

    @T.prim_func
    def twos(A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
        K_data = T.allocate_const([2, 2, 2], "int32", [3])
        K = T.Buffer((3,), "int32", data=K_data)
        L_data = T.allocate_const([1, 1, 1], "int32", [3])
        L = T.Buffer((3,), "int32", data=L_data)
        for i in range(3):
            B[i] = A[i] * K[i] + L[i]


def _constants_of(func):
    found = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda node: found.append(node) if isinstance(node, tir.AllocateConst) else None)
    return found


def test_constants_of_all_functions_are_in_one_list():
    mod = tir.transform.ExtractPrimFuncConstants()(Constants)
    constants = mod.attrs["constants"]
    assert [list(each.numpy()) for each in constants] == [[2, 2, 2], [1, 1, 1]] or \
        [list(each.numpy()) for each in constants] == [[1, 1, 1], [2, 2, 2]]
    used = [node for name in ("ones", "twos") for node in _constants_of(mod[name])]
    assert len(used) == 3
    for node in used:
        numpy.testing.assert_array_equal(node.data.numpy(), constants[int(node.irmod_storage_idx)].numpy())
    assert all(node.irmod_storage_idx is None for node in _constants_of(Constants["twos"]))


def test_constants_are_extracted_once():
    extract = tir.transform.ExtractPrimFuncConstants()
    mod = extract(Constants)
    tvm.ir.assert_structural_equal(extract(mod), mod)
    known = Constants.with_attr("constants", [tvm.nd.array(numpy.array([7.0], "float32"))])
    assert [each.dtype for each in extract(known).attrs["constants"]] == ["float32", "int32", "int32"]
    tvm.lower(mod)


def _context(device):
    dev_type = tir.Var("dev_type", "int32")
    value = tir.call_extern("handle", "device_context", dev_type, device)
    return dev_type, value, tir.Call("handle", "tir.tvm_thread_context", [value])


def _combined(param, body):
    return tir.transform.CombineContextCall()(tvm.IRModule({"main": tir.PrimFunc([param], body)}))


def _uses(context):
    return tir.Evaluate(tir.call_extern("int32", "use", context))


def test_contexts_are_cached_in_each_thread():
    dev_type, value, context = _context(0)
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    inner = tir.For(j, 0, 10, tir.ForKind.PARALLEL, tir.SeqStmt([_uses(context), _uses(context)]))
    body = tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.SeqStmt([_uses(context), inner]))
    mod = _combined(dev_type, body)

    def cached(make):
        cache = tir.Var("cache", "handle")
        return tir.LetStmt(cache, value, make(cache))

    inner = tir.For(j, 0, 10, tir.ForKind.PARALLEL, cached(lambda c: tir.SeqStmt([_uses(c), _uses(c)])))
    body = cached(lambda c: tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.SeqStmt([_uses(c), inner])))
    tvm.ir.assert_structural_equal(mod["main"].body, tir.PrimFunc([dev_type], body).body, map_free_vars=True)


def test_a_context_of_what_is_not_there_yet_stays_in_its_place():
    i = tir.Var("i", "int32")
    dev_type = tir.Var("dev_type", "int32")
    value = tir.call_extern("handle", "device_context", dev_type, i)
    body = tir.For(i, 0, 4, tir.ForKind.SERIAL, _uses(tir.Call("handle", "tir.tvm_thread_context", [value])))
    mod = _combined(dev_type, body)
    expected = tir.PrimFunc([dev_type], tir.For(i, 0, 4, tir.ForKind.SERIAL, _uses(value)))
    tvm.ir.assert_structural_equal(mod["main"].body, expected.body, map_free_vars=True)


def _memory_info(**fields):
    return tvm.ir.make_node("MemoryInfo", **{"unit_bits": 8, "max_simd_bits": 32, "max_num_bits": 128, **fields})


tvm.register_func("tvm.info.mem.global.addressed", lambda: _memory_info(
    head_address=tir.call_extern("handle", "head_address")))
tvm.register_func("tvm.info.mem.global.counted", lambda: _memory_info(unit_bits=64, head_address=None))


class _LowersAccess(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerDeviceStorageAccessInfo()


class TestMemoryBeginsAtItsAddress(_LowersAccess):
    def before():
        ptr = T.allocate([16], "float32", "global.addressed")
        T.evaluate(ptr)

    def expected():
        ptr: T.handle("float32", "global.addressed") = T.call_extern("handle", "head_address")
        T.evaluate(ptr)


class TestMemoryWithoutAnAddressIsNotAllocated(_LowersAccess):
    def before():
        ptr = T.allocate([16], "float32", "global.counted")
        buf = T.decl_buffer(16, "float32", data=ptr, scope="global.counted")
        T.evaluate(0)

    def expected():
        T.evaluate(0)


class TestOtherMemoryStays(_LowersAccess):
    def before():
        ptr = T.allocate([16], "float32", "shared.dyn")
        T.evaluate(ptr)

    expected = before


class TestAccessPointersAreAddresses(_LowersAccess):
    def before():
        ptr = T.allocate([16], "float32")
        T.evaluate(T.tvm_access_ptr(T.type_annotation("float32"), ptr, 3, 8, 1))

    def expected():
        ptr = T.allocate([16], "float32")
        buf = T.decl_buffer(4, "float32", data=ptr)
        T.evaluate(T.address_of(buf[3]))


def test_access_as_a_number_counts_units():
    data = tir.Var("data", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global.counted"))
    i = tir.Var("i", "int32")
    access = tir.Call("int32", "tir.tvm_access_ptr", [tir.type_annotation("float32"), data, i * 2 + 4, 8, 1])
    body = tir.Allocate(data, "float32", [64], tir.const(True, "bool"), tir.Evaluate(access))
    lower = tir.transform.LowerDeviceStorageAccessInfo()
    func = lower(tvm.IRModule({"main": tir.PrimFunc([i], body)}))["main"]
    tvm.ir.assert_structural_equal(func.body.value, func.params[0] + 2)


def test_memory_that_nobody_knows_is_refused():
    @T.prim_func
    def func():
        ptr = T.allocate([16], "float32", "global.unknown")
        T.evaluate(ptr)

    with pytest.raises(tvm.TVMError, match="tvm.info.mem.global.unknown"):
        tir.transform.LowerDeviceStorageAccessInfo()(tvm.IRModule({"main": func}))


class _InjectsLoads(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectPTXLDG32()


class TestAReadUnderAConditionIsALoadUnderAPredicate(_InjectsLoads):
    def before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        L = T.decl_buffer((4,), "float32", scope="local")
        for i in range(4):
            L[i] = T.if_then_else(tx * 4 + i < 30, A[tx * 4 + i], T.float32(0))
        B[tx] = L[0] + T.float32(1)

    def expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        predicate = T.decl_buffer((1,), "bool", scope="local")
        addr = T.decl_buffer((2,), "int32", scope="local")
        L = T.decl_buffer((4,), "float32", scope="local")
        for i in range(4):
            addr[0] = tx * 4 + i
            addr[1] = i
            predicate[0] = tx * 4 + i < 30
            L[addr[1]] = T.float32(0)
            T.evaluate(T.ptx_ldg32("float32", L.data, predicate[0], A[addr[0]], addr[1]))
        B[tx] = L[0] + T.float32(1)


class TestWhatIsWrittenIsNotReadThroughTheReadOnlyCache(_InjectsLoads):
    def before(A: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        L = T.decl_buffer((4,), "float32", scope="local")
        L[0] = T.if_then_else(tx < 30, A[tx], T.float32(0))
        A[tx] = L[0] + T.float32(1)

    expected = before


class TestOtherRestsAreNoZeros(_InjectsLoads):
    """TVM 0.27 makes a load of each of the three, which gives 0 where 1 or an element is wanted."""

    def before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        L = T.decl_buffer((4,), "float32", scope="local")
        L[0] = T.if_then_else(tx < 30, A[tx], T.float32(1))
        L[1] = T.if_then_else(tx < 30, T.float32(0), A[tx])
        B[tx] = L[0] + L[1]

    expected = before


def test_loads_are_not_injected_unless_asked_for():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            B[i] = T.if_then_else(i < 30, A[i], T.float32(0))

    mod = tvm.IRModule({"main": func})
    assert tir.transform.InjectPTXLDG32(False)(mod).same_as(mod)
    assert "ptx_ldg32" in tir.transform.InjectPTXLDG32(True)(mod).script()


def _axis(tag, name):
    return tir.IterVar((0, 32), tir.Var(name, "int32"), tir.IterVar.ThreadIndex, tag)


def test_thread_axes_are_remapped():
    @T.prim_func
    def before(A: T.Buffer((32,), "float32")):
        T.func_attr({"tir.kernel_launch_params": ["blockIdx.x", "threadIdx.x"]})
        bx = T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 32)
        A[bx * 32 + tx] = T.float32(1)

    @T.prim_func
    def expected(A: T.Buffer((32,), "float32")):
        T.func_attr({"tir.kernel_launch_params": ["blockIdx.x", "threadIdx.y"]})
        bx = T.launch_thread("blockIdx.x", 1)
        ty = T.launch_thread("threadIdx.y", 32)
        A[bx * 32 + ty] = T.float32(1)

    remap = tir.transform.RemapThreadAxis({"threadIdx.x": _axis("threadIdx.y", "ty")})
    after = remap(tvm.IRModule({"main": before}))["main"]
    assert after.body.body.node.thread_tag == "threadIdx.y"
    assert list(after.attrs["tir.kernel_launch_params"]) == ["blockIdx.x", "threadIdx.y"]
    tvm.ir.assert_structural_equal(after.body.body.body, expected.body.body.body, map_free_vars=True)


def test_one_axis_is_not_launched_inside_of_itself():
    @T.prim_func
    def func(A: T.Buffer((1024,), "float32")):
        ty = T.launch_thread("threadIdx.y", 32)
        tx = T.launch_thread("threadIdx.x", 32)
        A[ty * 32 + tx] = T.float32(1)

    axis = _axis("threadIdx.z", "tz")
    with pytest.raises(tvm.TVMError, match="launched around it already"):
        tir.transform.RemapThreadAxis({"threadIdx.x": axis, "threadIdx.y": axis})(tvm.IRModule({"main": func}))


@T.prim_func
def kernel(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    with T.launch_thread("blockIdx.x", 4) as bx:
        tx = T.launch_thread("threadIdx.x", 32)
        ty = T.launch_thread("threadIdx.y", 4)
        S = T.decl_buffer((100,), "float32", scope="shared")
        L = T.decl_buffer((10,), "float32", scope="local")
        S[tx] = A[tx]
        L[0] = S[tx]
        B[tx * 4:tx * 4 + 4] = A[tx * 4:tx * 4 + 4]
    with T.launch_thread("blockIdx.x", 4) as bx:
        tx = T.launch_thread("threadIdx.x", 64)
        B[tx] = A[tx]


@pytest.mark.parametrize("name, most", [
    ("max_shared_memory_per_block", 400), ("max_local_memory_per_block", 40), ("max_threads_per_block", 128),
    ("max_thread_x", 64), ("max_thread_y", 4), ("max_vector_bytes", 16), ("max_kernels", 2)])
def test_a_kernel_fits_its_limits_exactly(name, most):
    verify = tir.analysis.verify_gpu_code
    assert verify(kernel, {name: most}) and verify(kernel, {})
    assert not verify(kernel, {name: most - 1})
    mod = tvm.IRModule({"main": kernel})
    assert tir.transform.VerifyGPUCode({name: most})(mod).same_as(mod)
    with pytest.raises(tvm.TVMError, match=f"{most}, at most {most - 1} are allowed"):
        tir.transform.VerifyGPUCode({name: most - 1})(mod)


def test_unknown_limits_are_refused():
    with pytest.raises(tvm.TVMError, match="Invalid check item: max_fun"):
        tir.analysis.verify_gpu_code(kernel, {"max_fun": 1})


@pytest.mark.parametrize("second, fits", [(32, True), (16, False)])
def test_an_axis_has_one_length_in_a_kernel(second, fits):
    @T.prim_func
    def func(A: T.Buffer((1024,), "float32")):
        with T.launch_thread("blockIdx.x", 4) as bx:
            with T.launch_thread("threadIdx.x", 32) as tx:
                A[tx] = T.float32(0)
            with T.launch_thread("threadIdx.x", second) as tx:
                A[tx] = T.float32(1)

    assert tir.analysis.verify_gpu_code(func, {}) is fits


def test_virtual_threads_are_limited():
    @T.prim_func
    def func(A: T.Buffer((1024,), "float32")):
        with T.launch_thread("vthread.x", 4) as v:
            with T.launch_thread("threadIdx.x", 32) as tx:
                A[v * 32 + tx] = T.float32(0)

    assert tir.analysis.verify_gpu_code(func, {"max_vthread": 4})
    assert not tir.analysis.verify_gpu_code(func, {"max_vthread": 3})


@pytest.mark.parametrize("of_function, default, fits", [
    (None, None, True), (None, 4095, False), (None, 4096, True), (4095, None, False), (4096, None, True),
    (4096, 4095, True), (0, 4095, True)])
def test_vtcm_of_a_function_is_limited(of_function, default, fits):
    @T.prim_func
    def func(A: T.Buffer((1024,), "float32")):
        S = T.decl_buffer((1024,), "float32", scope="global.vtcm")
        S[0] = A[0]

    if of_function is not None:
        func = func.with_attr("target", tvm.target.Target(f"hexagon -vtcm-capacity={of_function}"))
    target = None if default is None else tvm.target.Target(f"hexagon -vtcm-capacity={default}")
    verify, mod = tir.transform.VerifyVTCMLimit(target), tvm.IRModule({"main": func})
    if fits:
        assert verify(mod).same_as(mod)
    else:
        with pytest.raises(tvm.TVMError, match="limit has been exceeded .*allocated: 4096, limit: 4095"):
            verify(mod)


class TestVtcmComesFromTheRuntime(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerVtcmAlloc()

    def before(A: T.Buffer((4, 8), "float32")):
        C = T.decl_buffer((4, 8), "float32", scope="global.vtcm")
        D_data = T.allocate([16], "float32", "global.vtcm")
        E = T.decl_buffer((4, 8), "float32", scope="local")
        for i, j in T.grid(4, 8):
            C[i, j] = A[i, j]
            E[i, j] = C[i, j]
        T.evaluate(D_data)

    def expected(A: T.Buffer((4, 8), "float32")):
        C_data: T.handle("float32", "global.vtcm") = T.nd_mem_alloc_with_scope(
            "global.vtcm", T.int64(2), T.tvm_stack_make_shape(4, 8))
        C = T.decl_buffer((4, 8), "float32", data=C_data, scope="global.vtcm")
        D_data: T.handle("float32", "global.vtcm") = T.nd_mem_alloc_with_scope(
            "global.vtcm", T.int64(1), T.tvm_stack_make_shape(16))
        E = T.decl_buffer((4, 8), "float32", scope="local")
        for i, j in T.grid(4, 8):
            C[i, j] = A[i, j]
            E[i, j] = C[i, j]
        T.evaluate(D_data)


if __name__ == "__main__":
    tvm.testing.main()
