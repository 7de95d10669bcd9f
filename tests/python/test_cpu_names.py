"""The CPUs that -mcpu may name."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te


def built_for(cpu):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    return tvm.build(te.create_schedule(B.op), [A, B], "llvm -mcpu=" + cpu)


def test_native_is_this_machine():
    a, b = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.empty((8,))
    built_for("native")(a, b)
    tvm.testing.assert_allclose(b.numpy(), np.arange(1, 9))


@pytest.mark.parametrize("cpu", ["core-avx2", "broadwell", "sandybridge", "corei7-avx", "nehalem", "core2", "znver1"])
def test_names_of_llvm_are_taken(cpu):
    built_for(cpu)


def test_an_unknown_name_is_an_error_that_lists_near_ones():
    with pytest.raises(tvm.TVMError, match="not a known CPU .*; near: .*broadwell"):
        built_for("brodwell")
