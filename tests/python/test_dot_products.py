"""Tensor intrinsics of CPUs run: by the processor's instruction, or by what it means."""
import numpy
import pytest

import lathe as tvm
from lathe import tir
from lathe.script import tir as T


@T.prim_func
def product(A: T.Buffer((4, 16), "uint8"), B: T.Buffer((1, 4, 16, 4), "int8"), C: T.Buffer((4, 16), "int32")):
    for i, j, k in T.grid(4, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj // 16, vk // 4, vj % 16, vk % 4])


def tensorized(intrin):
    sch = tir.Schedule(product)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    outer, inner = sch.split(k, [None, 4])
    sch.reorder(i, outer, j, inner)
    sch.decompose_reduction(block, outer)
    sch.tensorize(j, intrin)
    return sch.mod


@pytest.mark.parametrize("target", ["auto", "llvm"])
def test_tvms_vnni_intrinsic_runs_with_and_without_the_instruction(target):
    a = numpy.arange(64).reshape(4, 16).astype("uint8") * 3
    b = (numpy.arange(256).reshape(1, 4, 16, 4) % 251 - 125).astype("int8")
    run = tvm.build(tensorized("dot_16x4_vnni"), target=target)
    ta, tb, tc = tvm.nd.array(a), tvm.nd.array(b), tvm.nd.empty((4, 16), "int32")
    run(ta, tb, tc)
    plain = b[0].transpose(0, 2, 1).reshape(16, 16).astype("int32")
    numpy.testing.assert_array_equal(tc.numpy(), a.astype("int32") @ plain)


def test_unknown_names_of_llvm_are_refused():
    @T.prim_func
    def func(A: T.Buffer((16,), "int32")):
        A[T.Ramp(0, 1, 16)] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusds.512", A[T.Ramp(0, 1, 16)],
                                                      A[T.Ramp(0, 1, 16)], A[T.Ramp(0, 1, 16)])
    with pytest.raises(tvm.TVMError, match="llvm.x86.avx512.vpdpbusds.512"):
        tvm.build(func, target="llvm")
