# Nobody writes the parameter: its caller fills the gaps.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.transform_layout(block=b0, buffer=("read", 0), index_map=lambda i, k: (i // 4, i % 4, k,), pad_value=lambda i, j, k: (7,), assume_injective_transform=False)
# before and expected:
@T.prim_func
def before(A: T.Buffer((14, 32), "int32"), B: T.Buffer((14,), "int32")):
    for i, k in T.grid(14, 32):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(B[vi])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
@T.prim_func
def expected(A: T.Buffer((4, 4, 32), "int32"), B: T.Buffer((14,), "int32")):
    for axis0, axis1, k in T.grid(4, 4, 32):
        with T.block("buffer_A_assumptions"):
            v_axis0, v_axis1, v_k = T.axis.remap("SSS", [axis0, axis1, k])
            T.reads(A[v_axis0, v_axis1, v_k])
            T.writes()
            T.evaluate(T.assume(not (v_axis0 == 3 and 2 <= v_axis1) or A[v_axis0, v_axis1, v_k] == 7))
    for i, k in T.grid(14, 32):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi // 4, vi % 4, vk])
            T.writes(B[vi])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi // 4, vi % 4, vk]
