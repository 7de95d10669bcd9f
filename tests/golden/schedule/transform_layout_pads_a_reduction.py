# Init and update both know the gaps.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.transform_layout(block=b0, buffer=("write", 0), index_map=lambda i: (i // 4, i % 4,), pad_value=lambda i, j: (7,), assume_injective_transform=False)
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
def expected(A: T.Buffer((14, 32), "int32"), B: T.Buffer((4, 4), "int32")):
    for axis0, axis1, k in T.grid(4, 4, 32):
        with T.block("B"):
            v_axis0, v_axis1, vk = T.axis.remap("SSR", [axis0, axis1, k])
            T.reads(A[v_axis0 * 4 + v_axis1, vk])
            T.writes(B[v_axis0, v_axis1])
            with T.init():
                B[v_axis0, v_axis1] = T.if_then_else(v_axis0 == 3 and 2 <= v_axis1, 7, 0)
            B[v_axis0, v_axis1] = T.if_then_else(v_axis0 == 3 and 2 <= v_axis1, 7, B[v_axis0, v_axis1] + A[v_axis0 * 4 + v_axis1, vk])
