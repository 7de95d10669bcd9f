# An iter var that reduces is divided in two that do.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.transform_block_layout(block=b0, index_map=lambda i, k: (i, k // 8, k % 8,))
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
def expected(A: T.Buffer((14, 32), "int32"), B: T.Buffer((14,), "int32")):
    for ax0, ax1, ax2 in T.grid(14, 4, 8):
        with T.block("B"):
            v0, v1, v2 = T.axis.remap("SRR", [ax0, ax1, ax2])
            T.reads(A[v0, v1 * 8 + v2])
            T.writes(B[v0])
            with T.init():
                B[v0] = 0
            B[v0] = B[v0] + A[v0, v1 * 8 + v2]
