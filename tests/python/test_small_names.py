"""Small names that programs reach for: registries, what is built in, devices, operators that only move elements."""
import numpy as np
import pytest
import tvm
import tvm._ffi
import tvm.testing
from tvm import te, topi


def test_functions_are_registered_by_the_old_name_of_the_module():

    @tvm._ffi.register_func("test_small_names.twice", override=True)
    def twice(x):
        return x * 2

    assert tvm.get_global_func("test_small_names.twice")(4) == 8


def test_what_is_built_in():
    info = tvm.support.libinfo()
    assert (info["USE_LLVM"], info["USE_CUDA"]) == ("ON", "OFF")
    assert tvm.testing.requires_cutlass.marks()
    major = tvm.target.codegen.llvm_version_major()
    assert not tvm.testing.requires_llvm_minimum_version(major).marks()
    assert tvm.testing.requires_llvm_minimum_version(major + 1).marks()
    assert tvm.runtime.String("text") == "text"


def test_devices_say_what_tvm_says_of_a_cpu():
    assert tvm.cpu().device_name is None and tvm.cpu().warp_size is None
    assert tvm.target.Target.from_device("cpu").kind.name == "llvm"
    with pytest.raises(ValueError, match=r"there is no cuda\(0\) here"):
        tvm.target.Target.from_device(tvm.cuda(0))


def test_operations_stand_after_what_they_read():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4,), lambda i: A[i] * B[i], name="C")
    graph = te.schedule.CreateReadGraph([C.op])
    assert {op.name: [tensor.name for tensor in reads] for op, reads in graph.items()} == {
        "A": [], "B": ["A"], "C": ["A", "B"]}
    assert [op.name for op in te.schedule.PostDFSOrder([C.op], graph)] == ["A", "B", "C"]
    assert isinstance(B.op, te.tensor.BaseComputeOp) and not isinstance(A.op, te.tensor.BaseComputeOp)


def run(result, *inputs):
    tensors, arrays = zip(*inputs)
    out = tvm.nd.empty([int(extent) for extent in result.shape], result.dtype)
    built = tvm.build(te.create_prim_func([*tensors, result]), target="llvm")
    built(*(tvm.nd.array(array) for array in arrays), out)
    return out.numpy()


@pytest.mark.parametrize("seq_axis, batch_axis", [(1, 0), (0, 1), (-2, -1)])
def test_sequences_are_reversed_up_to_their_length(seq_axis, batch_axis):
    data = np.arange(16, dtype="float32").reshape(4, 4)
    lengths = np.array([0, 1, 3, 4], "int64")
    A, L = te.placeholder((4, 4), name="A"), te.placeholder((4,), "int64", name="L")
    expected = data.copy() if seq_axis == 1 else data.T.copy()
    for row, length in zip(expected, lengths):
        row[:length] = row[:length][::-1]
    result = run(topi.reverse_sequence(A, L, seq_axis, batch_axis), (A, data), (L, lengths))
    np.testing.assert_array_equal(result, expected if seq_axis == 1 else expected.T)


@pytest.mark.parametrize("shape, axis, index", [((3,), [0], (None, slice(None))), ((2,), 1, (slice(None), None)),
                                                ((1,), [0, 1], (None,))])
def test_tensors_are_the_same_along_the_axes_that_they_get(shape, axis, index):
    A, like = te.placeholder(shape, name="A"), te.placeholder((2, 3), name="like")
    data = np.random.rand(*shape).astype("float32")
    result = run(topi.expand_like(A, like, axis), (A, data))
    np.testing.assert_array_equal(result, np.broadcast_to(data[index], (2, 3)))
    with pytest.raises(ValueError, match="make no tensor of 2"):
        topi.expand_like(like, like, [0])


def test_bits_are_taken_as_they_are():
    A = te.placeholder((4,), name="A")
    data = np.array([1.0, -2.5, 0.0, 3e8], "float32")
    np.testing.assert_array_equal(run(topi.reinterpret(A, "int32"), (A, data)), data.view("int32"))


def test_constants_of_numpy_become_a_tensor():
    A = te.placeholder((3,), "int32", name="A")
    constant = topi.utils.const_vector(np.array([5, -1, 7], "int32"))
    result = te.compute((3,), lambda i: A[i] + constant[i], name="B")
    np.testing.assert_array_equal(run(result, (A, np.array([1, 2, 3], "int32"))), [6, 1, 10])
    assert int(topi.utils.prod([])) == 1 and topi.utils.prod([2, 3, 4]) == 24


# What TVM writes of {"b": float32 (1, 2), "a": int64 ()}.
PARAMS = bytes.fromhex("b79c04054f8de5f70000000000000000" "0200000000000000" "010000000000000062" "010000000000000061"
                       "0200000000000000"
                       "3fa1b496f0405edd0000000000000000" "010000000000000002000000" "02200100"
                       "01000000000000000200000000000000" "0800000000000000" "0000803f00000040"
                       "3fa1b496f0405edd0000000000000000" "010000000000000000000000" "00400100"
                       "0800000000000000" "0300000000000000")


def test_parameters_are_kept_as_bytes():
    params = {"b": np.array([[1, 2]], "float32"), "a": tvm.nd.array(np.array(3, "int64"))}
    assert bytes(tvm.runtime.save_param_dict(params)) == PARAMS
    again = tvm.runtime.load_param_dict(bytearray(PARAMS))
    assert list(again) == ["b", "a"] and again["b"].numpy().tolist() == [[1, 2]] and again["a"].dtype == "int64"
    kinds = {kind: np.arange(3).astype(kind) for kind in ("bool", "uint8", "int16", "float16", "float64")}
    for kind, tensor in tvm.runtime.load_param_dict(tvm.runtime.save_param_dict(kinds)).items():
        assert tensor.dtype == kind and tensor.numpy().tolist() == kinds[kind].tolist()
    for wrong, why in ((PARAMS[1:], "expected parameters"), (PARAMS[:-1], "expected 8 bytes"), (PARAMS[:40], "bytes from")):
        with pytest.raises(tvm.TVMError, match=why):
            tvm.runtime.load_param_dict(wrong)


def test_divisions_that_are_ambiguous_have_an_error():
    assert isinstance(tvm.tir.expr.div_ambiguity_error(), RuntimeError)


def test_errors_of_operators_are_errors_of_attributes_too():
    assert issubclass(tvm.error.OpAttributeRequired, AttributeError) and issubclass(tvm.error.OpAttributeInvalid, AttributeError)
    assert issubclass(tvm.error.OpAttributeUnImplemented, NotImplementedError)
    assert isinstance(tvm.tir.PrimFunc([], tvm.tir.Evaluate(0)).attrs, tvm.ir.Attrs)


def test_lowered_calls_of_packed_functions():
    for make in (tvm.tir.call_packed_lowered, tvm.tir.call_cpacked_lowered):
        call = make("name", tvm.tir.Var("stack", "handle"), 0, 2)
        assert call.dtype == "int32" and call.op.name == "tir.tvm_" + make.__name__ and call.args[0] == "name"
