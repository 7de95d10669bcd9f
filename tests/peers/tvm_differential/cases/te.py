"""What te.create_prim_func makes."""
from tvm import te, tir, topi


def case_matmul_and_add():
    A, B = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((16, 16), lambda i, j: C[i, j] + 1, name="D")
    return te.create_prim_func([A, B, D])


def case_symbolic_with_attributes():
    n, m = te.var("n"), te.var("m")
    X = te.placeholder((n, m), name="X", dtype="float16")
    Y = te.compute((n, m), lambda *i: X(*i) * 2, name="Y", tag="elem", attrs={"foo": "bar", "v": 3, "l": [1, 2]})
    return te.create_prim_func([X, Y])


def case_several_results():
    X = te.placeholder((8, 2), name="X", dtype="float16")
    P, Q = te.compute((8,), lambda i: (X[i, 0] + 1, X[i, 1] * 2), name="PQ")
    return te.create_prim_func([X, P, Q])


def case_argmax_by_a_tuple_reducer():
    idx, val = te.placeholder((4, 5), name="idx", dtype="int32"), te.placeholder((4, 5), name="val")

    def fcombine(x, y):
        return te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])

    def fidentity(t0, t1):
        return tir.const(-1, t0), te.min_value(t1)

    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    k = te.reduce_axis((0, 5), name="k")
    T0, T1 = te.compute((4,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    return te.create_prim_func([idx, val, T0, T1])


def case_custom_reducer():
    val = te.placeholder((4, 5), name="val")
    mul = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, dtype=t), name="mul")
    k = te.reduce_axis((0, 5), name="k3")
    return te.create_prim_func([val, te.compute((4,), lambda i: mul(val[i, k], axis=k), name="M")])


def case_scalar_result_and_begin():
    val = te.placeholder((4, 5), name="val")
    k = te.reduce_axis((1, 5), name="k4")
    return te.create_prim_func([val, te.compute((), lambda: te.max(val[0, k], axis=k), name="M")])


def case_one_name_twice():
    val = te.placeholder((4, 5), name="val")
    C = te.compute((4, 5), lambda i, j: val[i, j] + 1, name="C")
    return te.create_prim_func([val, te.compute((4, 5), lambda i, j: C[i, j] + 1, name="C")])


def case_int64_extents():
    A = te.placeholder((tir.const(4, "int64"), 5), name="A")
    return te.create_prim_func([A, te.compute(A.shape, lambda i, j: A[i, j], name="G")])


def case_index_from_a_tensor():
    val, idx = te.placeholder((4, 5), name="val"), te.placeholder((4,), "int32", name="idx")
    return te.create_prim_func([val, idx, te.compute((4,), lambda i: val[idx[i], 0], name="gather")])


def case_a_reduction_inside_an_expression_is_refused():
    val = te.placeholder((4, 5), name="val")
    k = te.reduce_axis((0, 5), name="k")
    return te.create_prim_func([val, te.compute((4,), lambda i: te.sum(val[i, k], axis=k) + 1, name="bad")])
